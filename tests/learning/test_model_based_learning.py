"""Agents that learn a model reach the exact values, with fewer real steps than without; and notice a changed maze."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from loops import learned_q, learned_q_everywhere
from probes import chain, exact_q, probes, visited_states

from kousoku.agents import AGENTS
from kousoku.agents.exploration import EpsilonGreedy
from kousoku.agents.planning import value_iteration
from kousoku.agents.tabular.dyna_q import DynaQ
from kousoku.agents.tabular.dyna_q_plus import DynaQPlus
from kousoku.agents.tabular.prioritized_sweeping import PrioritizedSweeping
from kousoku.core.errors import ConfigError
from kousoku.envs.gridworld.env import GridWorld, gridworld
from kousoku.ops.schedules import Harmonic
from kousoku.training.interaction import interact, lane_key, start, step_key
from kousoku.training.tally import Record

DISCOUNT = 0.9
AGENTS_WITH_A_MODEL = {
    "dyna_q": {"planning_steps": 5, "learning_rate": 0.5},
    "dyna_q_plus": {"planning_steps": 5, "learning_rate": 0.5, "kappa": 0.0},
    "prioritized_sweeping": {"planning_steps": 5, "threshold": 1e-6},
}


def make(agent_id: str, exploration: float):
    options = AGENTS_WITH_A_MODEL[agent_id]
    return AGENTS.make(agent_id, discount=DISCOUNT, exploration=EpsilonGreedy(exploration), **options)


@pytest.mark.parametrize("agent_id", AGENTS_WITH_A_MODEL)
def test_probes(agent_id):
    tests = probes(DISCOUNT)
    q = learned_q_everywhere(make(agent_id, 0.5), [probe.env for probe in tests], steps=1000, seeds=3)
    for probe, learned in zip(tests, q, strict=True):
        assert np.abs(learned[:, :2] - probe.q).max() < 1e-4, probe.name


@pytest.mark.parametrize("agent_id", AGENTS_WITH_A_MODEL)
def test_time_limits_do_not_lower_the_values(agent_id):
    """Reward 1 for ever is worth 1 / (1 - 0.9) = 10, however early the clock ends the episode."""
    for limit in (1, 5, 50):
        env = chain(np.zeros((1, 1), int), np.ones((1, 1)), time_limit=limit)
        q = learned_q(make(agent_id, 0.0), env, steps=1000)
        assert abs(q[0, 0, 0] - 10.0) < 1e-3, limit


def random_grid(seed: int, **options) -> GridWorld:
    """A 4 x 5 map with two walls, a pit and a goal that every start leads to."""
    rng = np.random.default_rng(seed)
    while True:
        cells = rng.permutation(list("##GP" + 16 * "S")).reshape(4, 5)
        wind = rng.choice([-1, 0, 0, 0, 1], 5).tolist()
        try:
            return gridworld(cells, wind=wind, step_reward=-0.05, time_limit=20, **options)
        except ConfigError:
            continue


def worst_errors(agent, grids: list[GridWorld], steps: int, seeds: int = 2) -> np.ndarray:
    """Largest error of any action value that an episode needs, for each grid."""
    same = [dataclasses.replace(grid, layouts=grids[0].layouts, rules=grids[0].rules) for grid in grids]
    q = learned_q_everywhere(agent, same, steps, seeds)
    where = [visited_states(grid.model()) for grid in grids]
    exact = [exact_q(grid.model(), DISCOUNT) for grid in grids]
    return np.array([np.abs(q[i][:, where[i]] - exact[i][where[i]]).max() for i in range(len(grids))])


@pytest.mark.parametrize("agent_id", AGENTS_WITH_A_MODEL)
def test_exact_values_on_random_grids_with_wind(agent_id):
    """Nothing is random but the start and the exploration: every action value is exact, to 1e-3."""
    grids = [random_grid(seed) for seed in range(6)]
    assert worst_errors(make(agent_id, 1.0), grids, steps=4000).max() < 1e-3


@pytest.mark.parametrize("kind", [DynaQ, DynaQPlus])
def test_values_on_random_grids_with_slip_and_wind(kind):
    """With four outcomes a pair, as many as slip and wind make. The tolerance is what 40 000 steps leave of chance."""
    grids = [random_grid(seed, slip=0.3) for seed in range(6)]
    options = {"kappa": 0.0} if kind is DynaQPlus else {}
    agent = kind(
        planning_steps=5, learning_rate=Harmonic(0.5, 2000), discount=DISCOUNT, exploration=EpsilonGreedy(1.0),
        outcomes=4, **options,
    )  # fmt: skip
    assert worst_errors(agent, grids, steps=40_000).max() < 0.04
    last_only = dataclasses.replace(agent, outcomes=1)
    assert worst_errors(last_only, grids, steps=40_000).max() > 0.1


MAZE = ["..........G", "..##.......", "..##.......", "S.##.......", "...........", "...........", "..........."]
DYNA_MAZE = [".......#G", "..#....#.", "S.#....#.", "..#......", ".....#...", "........."]


def greedy_steps(q: np.ndarray, env: GridWorld, limit: int = 60) -> int:
    """Steps of the greedy path from the start to the goal; `limit` if it does not arrive."""
    model = env.model()
    s = int(np.argmax(np.asarray(model.start)))
    for step in range(1, limit):
        a = int(np.argmax(q[s]))
        if model.terminated[s, a, 0]:
            return step
        s = int(model.next_state[s, a, 0])
    return limit


def until_optimal(agent, env: GridWorld, steps: int, seed: int) -> tuple[int, int]:
    """(real steps, planning backups) until the greedy path is the shortest one."""

    @jax.jit
    def trace(key):
        def body(learner, step):
            learner, _, _, metrics = interact(agent, env, learner, step_key(key, step))
            return learner, (learner.agent_state.table.q, metrics)

        learner = start(agent, env, step_key(key, jnp.int32(0)), Record(returns=False))
        return lax.scan(body, learner, jnp.arange(1, steps + 1, dtype=jnp.int32))[1]

    q, metrics = trace(lane_key(jnp.int32(seed)))
    q = np.asarray(q)
    shortest = greedy_steps(np.asarray(value_iteration(env.model(), 0.95).q), env)
    changed = np.flatnonzero(np.any(q[1:] != q[:-1], axis=(1, 2))) + 1
    first = next(int(t) for t in changed if greedy_steps(q[t], env) == shortest)
    planned = np.asarray(metrics["backups"])[: first + 1].sum() if "backups" in metrics else agent.planning_steps * first
    return first, int(planned)


def test_planning_spares_real_steps_and_priorities_spare_backups():
    """The Dyna maze (figure 8.2 and example 8.4): steps and backups until the shortest path is known."""
    env = gridworld(DYNA_MAZE)
    common = {"discount": 0.95, "exploration": EpsilonGreedy(0.1)}
    seeds = range(4)
    agents = {
        "without": DynaQ(planning_steps=0, learning_rate=0.5, **common),
        "dyna": DynaQ(planning_steps=10, learning_rate=0.5, **common),
        "sweeping": PrioritizedSweeping(planning_steps=10, learning_rate=1.0, **common),
    }
    found = {name: np.mean([until_optimal(agent, env, 12_000, s) for s in seeds], axis=0) for name, agent in agents.items()}
    print(found)
    assert 3 * found["dyna"][0] < found["without"][0]
    assert 3 * found["sweeping"][1] < found["dyna"][1]


def test_curiosity_finds_a_shortcut():
    """A small figure 8.5: after 1500 steps a short way opens; Dyna-Q+ takes it, Dyna-Q does not."""
    closed = ["......G", ".......", "######.", ".......", "S......"]
    opened = ["......G", ".......", "#.####.", ".......", "S......"]
    opened = ["G......", ".......", "######.", ".......", "S......"], ["G......", ".......", ".#####.", ".......", "S......"]
    env = gridworld(list(opened), change_at=[1500])
    common = {"planning_steps": 10, "learning_rate": 1.0, "discount": 0.95, "exploration": EpsilonGreedy(0.1)}
    steps, short, long = 5000, 4, 16
    lengths = {}
    for name, agent in {"plain": DynaQ(**common), "curious": DynaQPlus(kappa=2e-3, **common)}.items():
        q = learned_q(agent, env, steps, seeds=8)
        lengths[name] = [greedy_steps(values, env) for values in q]
    print(lengths)
