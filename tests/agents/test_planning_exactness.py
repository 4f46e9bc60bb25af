"""The planners against dense linear algebra in float64, on hundreds of random problems."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kousoku.agents.planning import Plan, policy_evaluation, policy_iteration, value_iteration
from kousoku.core.errors import ConfigError
from kousoku.core.model import TabularModel
from kousoku.envs.gridworld.env import gridworld
from kousoku.ops.planning import reachable

pytestmark = pytest.mark.property

STATES, ACTIONS, OUTCOMES = 12, 3, 3
DISCOUNTS = (0.0, 0.5, 0.9, 0.99)
SEEDS = st.integers(0, 2**32 - 1)


def solve(model: TabularModel, policy: np.ndarray, discount: float) -> np.ndarray:
    """v of a policy: the solution of (I - gamma P) v = r."""
    states = np.arange(model.num_states)
    transition, reward = np.zeros((model.num_states, model.num_states)), np.zeros(model.num_states)
    for a in range(model.num_actions):
        for k in range(model.num_outcomes):
            weight = policy[:, a] * model.probability[:, a, k]
            reward += weight * model.reward[:, a, k]
            np.add.at(transition, (states, model.next_state[:, a, k]), weight * ~model.terminated[:, a, k])
    return np.linalg.solve(np.eye(model.num_states) - discount * transition, reward)


def solve_optimally(model: TabularModel, discount: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) of the best policy: Howard's policy iteration on top of `solve`."""
    policy = np.full((model.num_states, model.num_actions), 1.0 / model.num_actions)
    for _ in range(100):
        v = solve(model, policy, discount)
        ahead = model.reward + discount * ~model.terminated * v[model.next_state]
        q = np.sum(model.probability * ahead, axis=-1)
        better = q.max(axis=1) > (policy * q).sum(axis=1) + 1e-11 * max(1.0, np.abs(v).max())
        if not better.any():
            return q, v
        policy = np.where(better[:, None], np.eye(model.num_actions)[q.argmax(axis=1)], policy)
    raise AssertionError("policy iteration does not end")


def assert_close(found, exact: np.ndarray, scale: float) -> None:
    """Within 1e-5 of the largest value, or 1e-5 if that is below 1."""
    assert np.abs(np.asarray(found, np.float64) - exact).max() <= 1e-5 * max(1.0, scale)


def check_planners(model: TabularModel, discount: float, rng: np.random.Generator) -> Plan:
    """All three planners against the exact solution; the plan of value iteration."""
    policy = rng.dirichlet(np.ones(model.num_actions), model.num_states).astype(np.float32)
    v = solve(model, policy.astype(np.float64), discount)
    assert_close(policy_evaluation(model, policy, discount), v, np.abs(v).max())
    q, v = solve_optimally(model, discount)
    scale = np.abs(v).max()
    for plan in (policy_iteration(model, discount), value_iteration(model, discount)):
        assert plan.converged
        assert_close(plan.v, v, scale)
        assert_close(plan.q, q, np.abs(q).max())
        assert_close(solve(model, np.asarray(plan.policy, np.float64), discount), v, scale)
        assert float(plan.residual) <= 1e-5 * max(1.0, scale)
    return plan


def random_model(rng: np.random.Generator, reward_scale: float, ending: float, local: bool) -> TabularModel:
    """Any tables; `local` states lead to their neighbours only, so that values take long to spread."""
    shape = (STATES, ACTIONS, OUTCOMES)
    probability = rng.dirichlet(np.full(OUTCOMES, rng.choice([0.2, 1.0, 5.0])), shape[:2])
    anywhere = rng.integers(0, STATES, shape)
    nearby = np.clip(np.arange(STATES)[:, None, None] + rng.integers(-1, 2, shape), 0, STATES - 1)
    return TabularModel(
        probability=probability / probability.sum(axis=-1, keepdims=True),
        next_state=(nearby if local else anywhere).astype(np.int32),
        reward=rng.normal(size=shape) * reward_scale,
        terminated=rng.random(shape) < ending,
        start=np.full(STATES, 1.0 / STATES),
    )


@pytest.mark.full("covered")
@given(
    SEEDS, st.sampled_from(DISCOUNTS), st.sampled_from([0.01, 1.0, 30.0]), st.sampled_from([0.0, 0.05, 0.3]),
    st.booleans(),
)  # fmt: skip
def test_discounted(seed, discount, reward_scale, ending, local):
    rng = np.random.default_rng(seed)
    check_planners(random_model(rng, reward_scale, ending, local), discount, rng)


@pytest.mark.full("covered")
@given(SEEDS, st.sampled_from([0.01, 1.0, 30.0]), st.booleans())
@example(276057, 1.0, False)
@example(154, 1.0, False)
def test_undiscounted(seed, reward_scale, local):
    """Every action may end the episode, so that every policy has values.

    In the first example a policy hardly differs from the one before: a sweep from its values moves them by 1e-7 of
    their size, and 30 times as far is left. In the second, sweeps end in a circle of roundings.
    """
    rng = np.random.default_rng(seed)
    model = random_model(rng, reward_scale, 0.0, local)
    model.terminated[..., 0] = True
    model.probability[...] = 0.97 * model.probability
    model.probability[..., 0] += 0.03
    check_planners(model, 1.0, rng)


@pytest.mark.full("covered")
@given(SEEDS, st.sampled_from([0.9, 0.99]), st.floats(0.01, 0.6))
def test_grids_with_slip_and_wind(seed, discount, slip):
    rng = np.random.default_rng(seed)
    model = None
    while model is None:
        cells = rng.permutation(list("#####GGPC" + 10 * "." + "S")).reshape(4, 5)
        try:
            wind = rng.integers(-1, 2, 5).tolist()
            model = gridworld(cells, slip=slip, wind=wind, step_reward=-0.04, bump_reward=-0.1).model()
        except ConfigError:
            continue
    plan = check_planners(model, discount, rng)
    goal = (cells == "G").reshape(-1)
    assert np.all(np.asarray(plan.v)[goal] == 0)
    assert not reachable(model)[goal].any()


@given(SEEDS, st.booleans())
def test_no_more_is_lost_than_float32_cannot_hold(seed, local):
    """A discount that float32 holds exactly leaves 1e-6; sweeps that round each value off lose five times as much."""
    discount = 1.0 - 2.0**-7
    model = random_model(np.random.default_rng(seed), 1.0, 0.0, local)
    model.reward[...] = 1.0 + 0.1 * model.reward
    _, v = solve_optimally(model, discount)
    found = np.asarray(value_iteration(model, discount, tolerance=1e-7).v, np.float64)
    assert np.abs(found - v).max() <= 1e-6 * np.abs(v).max()


@given(SEEDS, st.sampled_from([0.5, 0.99]), st.floats(-50, 50))
def test_a_constant_added_to_every_reward(seed, discount, constant):
    """It adds constant / (1 - gamma) to every value where nothing ends, and leaves the best actions the best."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 1.0, 0.0, local=False)
    before = value_iteration(model, discount)
    model.reward[...] += constant
    after = value_iteration(model, discount)
    shift = constant / (1.0 - discount)
    assert_close(after.v, np.asarray(before.v, np.float64) + shift, abs(shift) + np.abs(before.v).max())
