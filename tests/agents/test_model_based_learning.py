"""Agents that learn a model reach the exact values, with fewer real steps than without; and notice a changed maze."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from loops import NOTHING, learned_q, learned_q_everywhere, one_step
from probes import exact_q, probes, visited_states

from kousoku.agents import AGENTS
from kousoku.agents.exploration import EpsilonGreedy
from kousoku.agents.tabular.dyna_q import DynaQ
from kousoku.agents.tabular.dyna_q_plus import DynaQPlus
from kousoku.agents.tabular.prioritized_sweeping import PrioritizedSweeping
from kousoku.collectors.slot import plain_slots
from kousoku.collectors.streams import member_key, step_keys
from kousoku.core.errors import ConfigError
from kousoku.envs.gridworld.env import GridWorld, gridworld
from kousoku.ops.schedules import Harmonic
from kousoku.training.loop.iteration import start

pytestmark = pytest.mark.learning

DISCOUNT = 0.9
AGENTS_WITH_A_MODEL = {
    "dyna_q": {"planning_steps": 5, "learning_rate": 0.5},
    "dyna_q_plus": {"planning_steps": 5, "learning_rate": 0.5, "kappa": 0.0},
    "prioritized_sweeping": {"planning_steps": 5, "threshold": 1e-6},
}


def make(agent_id: str, exploration: float):
    options = AGENTS_WITH_A_MODEL[agent_id]
    return AGENTS.make(agent_id, discount=DISCOUNT, exploration=EpsilonGreedy(exploration), **options)


@pytest.mark.full("learning")
@pytest.mark.parametrize("agent_id", AGENTS_WITH_A_MODEL)
def test_probes(agent_id):
    """The last of them gives reward 1 for ever: worth 1 / (1 - 0.9) = 10, however early the clock ends the episode."""
    for limit in (1, 5, 50):
        tests = probes(DISCOUNT, limit)
        q = learned_q_everywhere(make(agent_id, 0.5), [probe.env for probe in tests], steps=1000, seeds=2)
        for probe, learned in zip(tests, q, strict=True):
            assert np.abs(learned[:, :2] - probe.q).max() < 1e-3, (limit, probe.name)


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


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", AGENTS_WITH_A_MODEL)
def test_exact_values_on_random_grids_with_wind(agent_id):
    """Nothing is random but the start and the exploration: every action value is exact, to 1e-3."""
    grids = [random_grid(seed) for seed in range(5)]
    assert worst_errors(make(agent_id, 1.0), grids, steps=3000).max() < 1e-3


@pytest.mark.full("learning")
def test_values_on_random_grids_with_slip_and_wind():
    """With an outcome for each place that slip leads to, planning agrees with chance; with the last one, it cannot.

    The tolerance is what 300,000 steps leave to chance: four times as many steps, half the error.
    """
    grids = [random_grid(seed, slip=0.3) for seed in range(3)]
    agent = DynaQ(
        planning_steps=5,
        learning_rate=Harmonic(1.0, 200),
        discount=DISCOUNT,
        exploration=EpsilonGreedy(1.0),
        outcomes=4,
    )
    assert worst_errors(agent, grids, steps=300_000).max() < 0.08
    last_only = dataclasses.replace(agent, outcomes=1)
    assert worst_errors(last_only, grids, steps=25_000).min() > 0.1


DYNA_MAZE = [".......#G", "..#....#.", "S.#....#.", "..#......", ".....#...", "........."]


def until_known(agent, env: GridWorld, steps: int, seeds: int) -> np.ndarray:
    """(real steps, planning backups) until the start's value is 80 % of the exact one; mean over seeds."""

    def trace(key):
        def body(state, step):
            state, _, metrics = one_step(agent, slots, state, step_keys(key, step))
            backups = metrics.get("backups", jnp.int32(agent.planning_steps))
            return state, (jnp.max(state.agent.table.q[origin]), backups)

        state = start(agent, env, slots, key, NOTHING)
        return lax.scan(body, state, jnp.arange(1, steps + 1, dtype=jnp.int32))[1]

    slots, origin = plain_slots(env), int(np.argmax(env.model().start))
    exact = exact_q(env.model(), float(agent.discount))[origin].max()
    keys = jax.vmap(member_key)(jnp.arange(seeds, dtype=jnp.int32))
    value, backups = (np.asarray(x) for x in jax.jit(jax.vmap(trace))(keys))
    known = value >= 0.8 * exact
    assert known.any(axis=1).all(), "not all seeds got there"
    first = known.argmax(axis=1)
    return np.array([np.mean(first + 1), np.mean([row[: n + 1].sum() for row, n in zip(backups, first, strict=True)])])


@pytest.mark.full("learning")
def test_planning_spares_real_steps_and_priorities_spare_backups():
    """The Dyna maze: figure 8.2's finding, and that of example 8.4."""
    env = gridworld(DYNA_MAZE)
    options = {"discount": 0.95, "exploration": EpsilonGreedy(0.5)}
    without, _ = until_known(DynaQ(planning_steps=0, learning_rate=0.5, **options), env, 15_000, seeds=5)
    dyna, dyna_backups = until_known(DynaQ(planning_steps=10, learning_rate=0.5, **options), env, 4_000, seeds=5)
    _, sweeping_backups = until_known(PrioritizedSweeping(planning_steps=10, **options), env, 4_000, seeds=5)
    assert 3 * dyna < without
    assert 5 * sweeping_backups < dyna_backups


def greedy_steps(q: np.ndarray, env: GridWorld, limit: int = 60) -> int:
    """Steps of the greedy path from the start to the goal; `limit` if it does not arrive."""
    model = env.model()
    s = int(np.argmax(model.start))
    for step in range(1, limit):
        a = int(np.argmax(q[s]))
        if model.terminated[s, a, 0]:
            return step
        s = int(model.next_state[s, a, 0])
    return limit


@pytest.mark.full("learning")
def test_curiosity_finds_a_shortcut():
    """A small figure 8.5: after 1000 steps a way of 7 steps opens beside the one of 13 that is known.

    A plain agent mostly keeps to the old way, give or take a detour that it happened to explore last.
    """
    before = ["......G", ".......", ".######", ".......", "...S..."]
    after = ["......G", ".......", ".#####.", ".......", "...S..."]
    env, changed = gridworld([before, after], change_at=[1000]), gridworld(after)
    options = {"planning_steps": 10, "learning_rate": 1.0, "discount": 0.95, "exploration": EpsilonGreedy(0.1)}
    plain = [greedy_steps(q, changed) for q in learned_q(DynaQ(**options), env, 4000, seeds=16)]
    curious = [greedy_steps(q, changed) for q in learned_q(DynaQPlus(kappa=1e-3, **options), env, 4000, seeds=16)]
    assert plain.count(7) <= 6
    assert plain.count(13) >= 8
    assert set(plain) <= {7, 13, 15}
    assert curious.count(7) >= 15
