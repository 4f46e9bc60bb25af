"""The largest expected return of an episode, from the exact model: beside every policy there is, and known numbers."""

import itertools

import numpy as np
import pytest

import kousoku as ks
from kousoku.core.model import TabularModel
from kousoku.training.evaluation.exact import optimal_return


def random_model(seed: int, states: int = 2, actions: int = 2, outcomes: int = 3) -> TabularModel:
    rng = np.random.default_rng(seed)
    shape = (states, actions, outcomes)
    return TabularModel(
        probability=rng.dirichlet(np.ones(outcomes), shape[:2]),
        next_state=rng.integers(0, states, shape),
        reward=rng.normal(size=shape),
        terminated=rng.random(shape) < 0.3,
        start=rng.dirichlet(np.ones(states)),
    )


def expected_return(model: TabularModel, policy: np.ndarray) -> float:
    """Of a policy [T, S] that knows the time, step by step from the end."""
    values = np.zeros(model.num_states)
    for actions in policy[::-1]:
        now = np.zeros_like(values)
        for s, a in enumerate(actions):
            for k in range(model.num_outcomes):
                rest = 0.0 if model.terminated[s, a, k] else values[model.next_state[s, a, k]]
                now[s] += model.probability[s, a, k] * (model.reward[s, a, k] + rest)
        values = now
    return float(model.start @ values)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_no_policy_is_better_and_one_is_as_good(seed, steps):
    model = random_model(seed)
    every = itertools.product(range(2), repeat=2 * steps)
    best = max(expected_return(model, np.reshape(policy, (steps, 2))) for policy in every)
    assert float(optimal_return(model, steps)) == pytest.approx(best)


@pytest.mark.parametrize(
    ("env", "steps", "best"),
    [("Taxi-v4", 200, 7.93), ("CliffWalking-v1", 1000, -13.0), ("FrozenLake-v1", 100, 0.7442), ("Maze-v0", 5, 0.0)],
)
def test_known_tasks(env, steps, best):
    assert float(optimal_return(ks.make(env).model(), steps)) == pytest.approx(best, abs=1e-4)


def test_a_run_knows_it_whatever_the_discounts(tmp_path):
    run = ks.train("q_learning", "FrozenLake-v1", steps=500, sweep={"discount": [0.9, 0.95]}, out=str(tmp_path / "a"))
    assert "exact_v" not in run.record.tables
    assert float(run.record.tables["optimal_return"]) == pytest.approx(0.7442, abs=1e-4)
    assert float(ks.load(tmp_path / "a").record.tables["optimal_return"]) == pytest.approx(0.7442, abs=1e-4)


@pytest.mark.full("covered")
def test_a_run_without_a_model_has_none():
    assert "optimal_return" not in ks.train("bandit_epsilon_greedy", "Bandit-v0", steps=500, out="").record.tables
