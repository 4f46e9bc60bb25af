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
from kousoku.ops.schedules import Harmonic, Linear

AGENT_IDS = (
    "q_learning", "double_q_learning", "sarsa", "expected_sarsa", "n_step_sarsa", "tree_backup", "watkins_q_lambda",
    "sarsa_lambda", "monte_carlo",
)  # fmt: skip
DISCOUNT = 0.9


@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_probes(agent_id):
    """Nothing in the probes is random but the start, and no choice matters later: every agent's values settle exactly.

    The slowest is the time limit's: an error shrinks by 1 - 0.3 (1 - 0.9) at an update, so 10 falls below 1e-3 in
    some 300 updates of each of the 4 pairs.
    """
    agent = AGENTS.make(agent_id, learning_rate=0.3, discount=DISCOUNT, exploration=EpsilonGreedy(0.5))
    tests = probes(DISCOUNT)
    q = learned_q_everywhere(agent, [probe.env for probe in tests], steps=4000, seeds=5)
    for probe, learned in zip(tests, q, strict=True):
        assert np.abs(learned[:, :2] - probe.q).max() < 2e-3, probe.name


def random_grid(seed: int) -> GridWorld:
    """A 5 x 5 map of four walls, a goal, a pit and 19 starts, with slip and wind, where every start leads to the goal."""
    rng = np.random.default_rng(seed)
    while True:
        cells = rng.permutation(list("####GP" + 19 * "S")).reshape(5, 5)
        wind = rng.choice([-1, 0, 0, 0, 1], 5).tolist()
        try:
            return gridworld(cells, slip=0.2, wind=wind, step_reward=-0.05, time_limit=10)
        except ConfigError:
            continue


def same_structure(grids: list[GridWorld]) -> list[GridWorld]:
    """The grids with the first one's drawing data, which is static: they then differ in arrays only."""
    return [dataclasses.replace(grid, layouts=grids[0].layouts, rules=grids[0].rules) for grid in grids]


EXPLORING = 0.3
CASES = {
    "q_learning": (0.0, EpsilonGreedy(1.0), {}),
    "double_q_learning": (0.0, EpsilonGreedy(1.0), {}),
    "expected_sarsa": (0.0, EpsilonGreedy(Linear(1.0, 0.0, 200_000)), {}),
    "tree_backup": (0.0, EpsilonGreedy(EXPLORING), {"n": 3}),
    "watkins_q_lambda": (0.0, EpsilonGreedy(EXPLORING), {"lambda_": 0.7}),
    "sarsa": (EXPLORING, EpsilonGreedy(EXPLORING), {}),
    "n_step_sarsa": (EXPLORING, EpsilonGreedy(EXPLORING), {"n": 3}),
    "sarsa_lambda": (EXPLORING, EpsilonGreedy(EXPLORING), {"lambda_": 0.7}),
    "monte_carlo": (EXPLORING, EpsilonGreedy(EXPLORING), {}),
}

import time
import os
SCHED=eval(os.environ["SCHED"])
@pytest.mark.parametrize("agent_id", CASES)
def test_random_grids(agent_id):
    epsilon, exploration, options = CASES[agent_id]
    steps = 200_000
    agent = AGENTS.make(agent_id, learning_rate=SCHED, discount=DISCOUNT, exploration=exploration, **options)
    grids = [random_grid(seed) for seed in range(6)]
    t=time.time()
    q = learned_q_everywhere(agent, same_structure(grids), steps, seeds=6)
    print(agent_id, "time", time.time()-t)
    for grid, learned in zip(grids, q, strict=True):
        where = visited_states(grid.model())
        exact = exact_q(grid.model(), DISCOUNT, epsilon)[where]
        err = learned[:, where] - exact
        verr = learned[:, where].max(-1) - exact.max(-1)
        print(agent_id, where.sum(), "max", np.abs(err).max().round(3), "bias", np.abs(err.mean(0)).max().round(3), "V max", np.abs(verr).max().round(3), "V bias", np.abs(verr.mean(0)).max().round(3), exact.max().round(2), exact.min().round(2))
