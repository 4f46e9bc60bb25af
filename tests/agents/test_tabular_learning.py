"""Tabular agents learn what is known exactly: the probes' values, and those of random grids."""

import dataclasses

import numpy as np
import pytest
from loops import learned_q_everywhere
from probes import exact_q, probes, visited_states

from kousoku.agents import AGENTS
from kousoku.agents.exploration import EpsilonGreedy
from kousoku.core.errors import ConfigError
from kousoku.envs.gridworld.env import GridWorld, gridworld
from kousoku.ops.schedules import Exponential

pytestmark = pytest.mark.learning

AGENT_IDS = (
    "q_learning", "double_q_learning", "sarsa", "expected_sarsa", "n_step_sarsa", "tree_backup", "watkins_q_lambda",
    "sarsa_lambda", "monte_carlo",
)  # fmt: skip
DISCOUNT = 0.9


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
@pytest.mark.parametrize("time_limit", [1, 5, 50])
def test_probes(agent_id, time_limit):
    """Nothing in the probes is random but the start, and no choice matters later: every agent's values settle exactly.

    However soon the clock ends the episodes: what follows a truncated step is worth what it is worth. All values begin
    at 3, those of the terminal state too, where they stay: nothing of them may come back. The slowest probe is the time
    limit's own, reward 1 for ever: an error shrinks by 1 - 0.3 (1 - 0.9) at an update, so 10 falls below 1e-3 in some
    300 updates of each of the 4 pairs.
    """
    agent = AGENTS.make(
        agent_id, learning_rate=0.3, discount=DISCOUNT, exploration=EpsilonGreedy(0.5), initial_value=3.0
    )
    tests = probes(DISCOUNT, time_limit)
    q = learned_q_everywhere(agent, [probe.env for probe in tests], steps=4000, seeds=5)
    for probe, learned in zip(tests, q, strict=True):
        np.testing.assert_allclose(learned[:, :2], np.broadcast_to(probe.q, (5, 2, 2)), atol=2e-3, err_msg=probe.name)


STEPS = 60_000
RATE = Exponential(0.5, 0.01, STEPS, end=0.005)
EXPLORING = 0.3
OFF_POLICY = {
    "q_learning": (EpsilonGreedy(1.0), {}, 0.025),
    "double_q_learning": (EpsilonGreedy(1.0), {}, 0.025),
    "tree_backup": (EpsilonGreedy(0.5), {"n": 3}, 0.05),
    "watkins_q_lambda": (EpsilonGreedy(0.5), {"lambda_": 0.7}, 0.05),
}
ON_POLICY = {
    "sarsa": ({}, 0.04),
    "expected_sarsa": ({}, 0.04),
    "sarsa_lambda": ({"lambda_": 0.7}, 0.04),
    "n_step_sarsa": ({"n": 3}, 0.06),
    "monte_carlo": ({}, 0.07),
}


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", OFF_POLICY)
def test_off_policy_agents_reach_the_optimal_values(agent_id):
    """Every pair's mean over 16 agents within the tolerance of the exact value, every single agent within 4 times it.

    Why not closer: values lie in [-0.5, 1], a slip spreads one step's target by about 0.2, and with a learning rate
    that ends at 0.005 an average still holds some 400 targets: an agent's noise is about 0.2 sqrt(0.005 / 2) = 0.01 at
    a pair, several times that at the noisiest and most rarely visited of 11 x 4 pairs of 4 grids and 16 agents, and a
    quarter of that for the mean of 16. Longer returns are noisier.
    """
    exploration, options, tolerance = OFF_POLICY[agent_id]
    agent = AGENTS.make(agent_id, learning_rate=RATE, discount=DISCOUNT, exploration=exploration, **options)
    for error in errors_on_random_grids(agent, epsilon=0.0):
        assert np.abs(error.mean(axis=0)).max() < tolerance
        assert np.abs(error).max() < 4 * tolerance


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", ON_POLICY)
def test_on_policy_agents_reach_the_values_of_the_best_exploring_policy(agent_id):
    """As above, with the fixed point of on-policy control at a constant epsilon."""
    options, tolerance = ON_POLICY[agent_id]
    exploration = EpsilonGreedy(EXPLORING)
    agent = AGENTS.make(agent_id, learning_rate=RATE, discount=DISCOUNT, exploration=exploration, **options)
    for error in errors_on_random_grids(agent, epsilon=EXPLORING):
        assert np.abs(error.mean(axis=0)).max() < tolerance
        assert np.abs(error).max() < 4 * tolerance


@pytest.mark.full("learning")
def test_expected_sarsa_reaches_the_optimal_values_as_epsilon_vanishes():
    """State values, since actions that are not greedy are updated ever more rarely: their values stay behind.

    The start is optimistic, so that no action is given up before it was tried. Epsilon ends at 0.01, but what it was
    before still counts: within 0.04, single agents within 0.1.
    """
    agent = AGENTS.make(
        "expected_sarsa",
        learning_rate=Exponential(0.1, 0.05, STEPS, end=0.005),
        discount=DISCOUNT,
        exploration=EpsilonGreedy(Exponential(1.0, 0.01, STEPS)),
        initial_value=1.0,
    )
    for error in errors_on_random_grids(agent, epsilon=0.0, of_states=True):
        assert np.abs(error.mean(axis=0)).max() < 0.04
        assert np.abs(error).max() < 0.1


def errors_on_random_grids(agent, epsilon, of_states=False):
    """For each grid, [seeds, visited states, actions]: learned minus exact values (or those of the best actions)."""
    grids = [random_grid(seed) for seed in range(4)]
    learned = learned_q_everywhere(agent, with_one_structure(grids), STEPS, seeds=16)
    for grid, q in zip(grids, learned, strict=True):
        states = visited_states(grid.model())
        exact = exact_q(grid.model(), DISCOUNT, epsilon)
        yield q[:, states].max(-1) - exact[states].max(-1) if of_states else q[:, states] - exact[states]


def random_grid(seed: int) -> GridWorld:
    """A 4 x 4 map of three walls, a goal, a pit and 11 starts, with slip and wind.

    Episodes are short, so that many of them are truncated; the wind may keep an agent from the goal for ever.
    """
    rng = np.random.default_rng(seed)
    while True:
        cells = rng.permutation(list("###GP" + 11 * "S")).reshape(4, 4)
        wind = rng.choice([-1, 0, 0, 0, 1], 4).tolist()
        try:
            return gridworld(cells, slip=0.2, wind=wind, step_reward=-0.05, pit_reward=-0.2, time_limit=10)
        except ConfigError:
            continue


def with_one_structure(grids: list[GridWorld]) -> list[GridWorld]:
    """The grids with the first one's drawing data, which is static: they then differ in arrays only."""
    return [dataclasses.replace(grid, layouts=grids[0].layouts, rules=grids[0].rules) for grid in grids]
