"""The planners on problems whose values are printed in a book or follow on a sheet of paper."""

import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import refusals

from kousoku.agents.planning import policy_evaluation, policy_iteration, value_iteration
from kousoku.core.errors import ConfigError
from kousoku.core.model import TabularModel
from kousoku.envs.gridworld.env import gridworld
from kousoku.ops.planning import Values, advantage, ends, expected_backup, greedy, reachable, residual, terminal

FIGURE_3_2 = [
    [3.3, 8.8, 4.4, 5.3, 1.5],
    [1.5, 3.0, 2.3, 1.9, 0.5],
    [0.1, 0.7, 0.7, 0.4, -0.4],
    [-1.0, -0.4, -0.4, -0.6, -1.2],
    [-1.9, -1.3, -1.2, -1.4, -2.0],
]
FIGURE_3_5 = [
    [22.0, 24.4, 22.0, 19.4, 17.5],
    [19.8, 22.0, 19.8, 17.8, 16.0],
    [17.8, 19.8, 17.8, 16.0, 14.4],
    [16.0, 17.8, 16.0, 14.4, 13.0],
    [14.4, 16.0, 14.4, 13.0, 11.7],
]
PLANNERS = (policy_iteration, value_iteration)


def example_3_5() -> TabularModel:
    return gridworld(
        ["S....", ".....", ".....", ".....", "....."],
        bump_reward=-1.0,
        teleports={(0, 1): ((4, 1), 10.0), (0, 3): ((2, 3), 5.0)},
        continuing=True,
    ).model()


def example_4_1() -> TabularModel:
    return gridworld(["GS..", "....", "....", "...G"], step_reward=-1.0, goal_reward=0.0).model()


def any_action(model: TabularModel) -> np.ndarray:
    return np.full((model.num_states, model.num_actions), 1.0 / model.num_actions, np.float32)


def single(next_state, reward, terminated, start=None) -> TabularModel:
    """A deterministic model from [S][A] lists."""
    states = len(next_state)
    return TabularModel(
        np.ones((states, len(next_state[0]), 1)),
        np.array(next_state, np.int32)[..., None],
        np.array(reward, np.float64)[..., None],
        np.array(terminated, bool)[..., None],
        np.eye(states)[0] if start is None else np.array(start),
    )


def test_example_3_5_random_policy():
    """Figure 3.2 (printed to one decimal)."""
    model = example_3_5()
    v = policy_evaluation(model, any_action(model), 0.9)
    np.testing.assert_allclose(np.asarray(v).reshape(5, 5), FIGURE_3_2, atol=0.0501)


@pytest.mark.full("covered")
@pytest.mark.parametrize("planner", PLANNERS)
def test_example_3_8_optimal_values(planner):
    """Figure 3.5, and its arrows: at A every action, below A up, at the corner above right both right and up."""
    plan = planner(example_3_5(), 0.9)
    assert plan.converged
    np.testing.assert_allclose(np.asarray(plan.v).reshape(5, 5), FIGURE_3_5, atol=0.0501)
    policy = np.asarray(plan.policy).reshape(5, 5, 4)
    np.testing.assert_allclose(policy[0, 1], [0.25, 0.25, 0.25, 0.25])
    np.testing.assert_allclose(policy[1, 1], [1, 0, 0, 0])
    np.testing.assert_allclose(policy[0, 0], [0, 1, 0, 0])
    np.testing.assert_allclose(policy[1, 0], [0.5, 0.5, 0, 0])


def test_example_4_1_random_policy():
    """Figure 4.1, k = infinity; undiscounted."""
    model = example_4_1()
    v = np.asarray(policy_evaluation(model, any_action(model), 1.0)).reshape(4, 4)
    exact = [[0, -14, -20, -22], [-14, -18, -20, -20], [-20, -20, -18, -14], [-22, -20, -14, 0]]
    np.testing.assert_allclose(v, exact, rtol=1e-5)


@pytest.mark.full("covered")
def test_example_4_1_sweep_by_sweep():
    """Figure 4.1, k = 1, 2, 3: the operator itself."""
    model = example_4_1()
    values, policy = Values.zeros(16), any_action(model)
    second_row = {1: [-1, -1, -1, -1], 2: [-1.75, -2, -2, -2], 3: [-2.4375, -2.875, -3, -2.9375]}
    for k in (1, 2, 3):
        values = values.plus(jnp.sum(policy * advantage(model, values, jnp.float32(1.0)), axis=1))
        np.testing.assert_allclose(values.v.reshape(4, 4)[1], second_row[k], atol=1e-6)


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_example_4_1_optimal_values(planner):
    plan = planner(example_4_1(), 1.0)
    assert plan.converged
    exact = [[0, -1, -2, -3], [-1, -2, -3, -2], [-2, -3, -2, -1], [-3, -2, -1, 0]]
    np.testing.assert_allclose(np.asarray(plan.v).reshape(4, 4), exact, atol=1e-5)


def test_backup_by_hand():
    """p = (1/4, 3/4), r = (2, 10), v' = (100, 40), the second one terminates: q = 1/4 (2 + 100 g) + 3/4 10."""
    model = TabularModel(
        np.array([[[0.25, 0.75]], [[1.0, 0.0]]]),
        np.array([[[1, 0]], [[1, 0]]], np.int32),
        np.array([[[2.0, 10.0]], [[0.0, 777.0]]]),
        np.array([[[False, True]], [[False, False]]]),
        np.array([1.0, 0.0]),
    )
    values = Values(jnp.array([40.0, 100.0]), jnp.zeros(2))
    q = expected_backup(model, values, jnp.float32(0.5))
    np.testing.assert_allclose(q, [[0.25 * 52 + 7.5], [50.0]], rtol=1e-6)
    np.testing.assert_allclose(advantage(model, values, jnp.float32(0.5)), q - jnp.array([[40.0], [100.0]]), rtol=1e-6)
    np.testing.assert_allclose(residual(model, values, jnp.float32(0.5)), [20.5 - 40, -50], rtol=1e-6)


def test_sums_keep_what_float32_rounds_off():
    values = Values(jnp.array([1e8]), jnp.zeros(1))
    for _ in range(5):
        values = values.plus(jnp.array([1.0]))
    assert float(values.minus(Values(jnp.array([1e8]), jnp.zeros(1)))[0]) == 5.0


def test_greedy_spreads_over_what_may_be_the_best():
    preferences = jnp.array([[1.0, 1.0, 0.0], [0.0, 0.5, 0.55], [0.0, 0.5, 0.55]])
    policy = greedy(preferences, jnp.array([[0.0, 0.0, 0.0], [0.02, 0.02, 0.02], [0.02, 0.04, 0.02]]))
    np.testing.assert_allclose(policy, [[0.5, 0.5, 0], [0, 0, 1], [0, 0.5, 0.5]])


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_loss_that_nobody_takes_does_not_blur_the_rest(planner):
    """Right is better by 1e-4; the third action costs 1e6, whose rounding is a hundred times that."""
    plan = planner(single([[0, 0, 0]], [[1.0, 1.0001, -1e6]], [[1, 1, 1]]), 0.9)
    np.testing.assert_allclose(plan.v, [1.0001], rtol=1e-6)
    np.testing.assert_array_equal(plan.policy, [[0, 1, 0]])


@pytest.mark.full("covered")
@pytest.mark.parametrize("planner", PLANNERS)
def test_every_row_of_the_policy_is_one(planner):
    """Also where a value is unknown."""
    plan = planner(gridworld(["####", "#SG#", "####"], step_reward=-1.0).model(), 1.0)
    np.testing.assert_allclose(plan.policy.sum(axis=1), 1.0, rtol=1e-6)


def test_values_that_cancel_settle():
    """Rewards of 1 and -1 in turn, and by chance: the value is 0, but its terms are not."""
    model = TabularModel(
        np.full((1, 1, 2), 0.5), np.zeros((1, 1, 2), np.int32), np.array([[[1.0, -1.0]]]), np.zeros((1, 1, 2), bool),
        np.ones(1),
    )  # fmt: skip
    np.testing.assert_allclose(policy_evaluation(model, np.ones((1, 1), np.float32), 0.99), [0.0], atol=1e-5)
    thirds = np.array([[[1 / 3, 2 / 3]]])
    model = TabularModel(thirds, model.next_state, np.array([[[1.0, -0.5]]]), model.terminated, model.start)
    np.testing.assert_allclose(policy_evaluation(model, np.ones((1, 1), np.float32), 0.99), [0.0], atol=1e-5)


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_terminated_ends_the_episode_whatever_the_terminal_row_says(planner):
    """State 2 is terminal by the flag alone; its own row goes on with -1 a step, as in Gymnasium's CliffWalking."""
    model = single([[1, 0], [2, 0], [1, 2]], [[-1, -1], [-1, -1], [-1, -1]], [[0, 0], [1, 0], [0, 1]])
    plan = planner(model, 1.0)
    assert plan.converged
    np.testing.assert_allclose(plan.v, [-2, -1, -1], atol=1e-6)
    np.testing.assert_allclose(plan.q[:2], [[-2, -3], [-1, -3]], atol=1e-6)
    np.testing.assert_array_equal(reachable(model), [True, True, False])
    assert not terminal(model).any()


def test_reachable_leaves_out_walls_pits_goals_and_what_lies_behind():
    model = gridworld(["S.#.", "P.G.", "####"]).model()
    expected = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(reachable(model).reshape(3, 4), np.array(expected, bool))
    np.testing.assert_array_equal(np.flatnonzero(terminal(model)), [4, 6])
    sealed = gridworld(["S.G.", "####", "####"]).model()
    np.testing.assert_array_equal(ends(sealed).reshape(3, 4)[2], [False] * 4)
    assert ends(sealed)[:8].all()


def test_reachable_ignores_outcomes_of_probability_zero():
    model = TabularModel(
        np.array([[[1.0, 0.0]], [[1.0, 0.0]]]), np.array([[[0, 1]], [[1, 1]]], np.int32), np.ones((2, 1, 2)),
        np.zeros((2, 1, 2), bool), np.array([1.0, 0.0]),
    )  # fmt: skip
    np.testing.assert_array_equal(reachable(model), [True, False])


@pytest.mark.by_default("1.0-policy_iteration", "1.0-value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("reward", [-1.0, 1.0])
def test_values_that_grow_for_ever_are_not_passed_off_as_values(planner, reward):
    model = gridworld("S...", continuing=True, step_reward=reward).model()
    assert not planner(model, 1.0, max_sweeps=5_000).converged
    assert planner(model, 0.9).converged


def test_improper_policy_is_refused():
    model = gridworld("S.G", step_reward=-1.0).model()
    left = np.eye(4, dtype=np.float32)[[3, 3, 3]]
    with pytest.raises(ConfigError, match=r"still move after 5000 sweeps.*discount below 1"):
        policy_evaluation(model, left, 1.0, max_sweeps=5_000)
    np.testing.assert_allclose(policy_evaluation(model, left, 0.5), [-2, -2, 0], atol=1e-6)


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_what_neither_is_reached_nor_ends_does_not_stand_in_the_way(planner):
    """The corners of a frame are wall on all sides; undiscounted costs add up there for ever."""
    plan = planner(gridworld(["####", "#SG#", "####"], step_reward=-1.0, goal_reward=0.0).model(), 1.0)
    v = np.asarray(plan.v).reshape(3, 4)
    assert plan.converged
    np.testing.assert_allclose(v[1], [-2, -1, 0, -1], atol=1e-6)
    assert np.isnan(v[0, 0])
    assert np.isfinite(plan.residual)


@pytest.mark.full("covered")
@pytest.mark.parametrize("planner", PLANNERS)
def test_free_steps_do_not_make_the_policy_dawdle(planner):
    """Undiscounted and free of cost, all actions are worth 1; the policy must still arrive."""
    model = gridworld("S...G").model()
    plan = planner(model, 1.0)
    np.testing.assert_allclose(plan.v[:4], 1.0, atol=1e-5)
    np.testing.assert_allclose(policy_evaluation(model, plan.policy, 1.0)[:4], 1.0, atol=1e-4)


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_one_step_task_whose_outcome_names_the_same_state(planner):
    """A state that ends at once with a reward is worth that reward, also if the outcome names the state itself."""
    np.testing.assert_allclose(planner(single([[0, 0]], [[1, 3]], [[1, 1]]), 0.9).v, [3.0])


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_small_rewards_are_solved_as_exactly_as_large_ones(planner):
    """Values scale with the rewards: the tolerance is relative."""
    for scale in (1e-6, 1.0, 1e6):
        v = np.asarray(planner(single([[1], [0]], [[scale], [0.0]], [[0], [0]]), 0.5).v) / scale
        np.testing.assert_allclose(v, [4 / 3, 2 / 3], rtol=2e-6)


@pytest.mark.by_default("value_iteration")
@pytest.mark.parametrize("planner", PLANNERS)
def test_giving_up_is_said(planner):
    model = single([[0]], [[1.0]], [[0]])
    plan = planner(model, 0.99, max_sweeps=20)
    assert not plan.converged
    assert int(plan.sweeps) == 20
    assert float(plan.residual) > 0.5
    assert planner(model, 0.99).converged


@pytest.mark.parametrize(
    ("stays", "tolerance", "sweeps"),
    [(0.9, 0.01, 256), (0.9, 0.2, 64), (0.5, 0.01, 32), (0.5, 0.3, 8), (0.3, 0.3, 8), (0.99, 0.1, 1024)],
)
def test_sweeps_end_where_two_blocks_in_a_row_hardly_move_the_values(stays, tolerance, sweeps):
    """Of -1 a step until the end s = stays^t of the value is left after t sweeps. Sweeps t to 2 t move it by s (1 - s)
    of itself: within the tolerance of what it is then, 1 - s^2, where s <= tolerance / (1 - tolerance). The next block,
    to 4 t, has to find the same. The first two blocks, of one sweep each, are too short to tell.
    """
    model = TabularModel(
        np.array([[[stays, 1.0 - stays]]]), np.zeros((1, 1, 2), np.int32), np.full((1, 1, 2), -1.0),
        np.array([[[False, True]]]), np.ones(1),
    )  # fmt: skip
    plan = value_iteration(model, 1.0, tolerance=tolerance)
    assert plan.converged
    assert int(plan.sweeps) == sweeps
    enough = math.log(tolerance / (1.0 - tolerance)) / math.log(stays)
    assert sweeps == 4 * max(2, 2 ** math.ceil(math.log2(enough)))
    assert float(plan.v[0]) == pytest.approx((stays**sweeps - 1.0) / (1.0 - stays), rel=1e-4)


@pytest.mark.full("covered")
def test_many_discounts_in_one_program():
    model = example_3_5()
    discounts = jnp.array([0.0, 0.5, 0.9])
    plans = jax.jit(jax.vmap(lambda discount: value_iteration(model, discount)))(discounts)
    for i, discount in enumerate((0.0, 0.5, 0.9)):
        np.testing.assert_allclose(plans.v[i], value_iteration(model, discount).v, rtol=1e-6)
    policy = any_action(model)
    v = jax.vmap(lambda discount: policy_evaluation(model, policy, discount, max_sweeps=500))(jnp.array([0.5, 1.0]))
    np.testing.assert_allclose(v[0], policy_evaluation(model, policy, 0.5), rtol=1e-5, atol=1e-6)
    assert np.isnan(v[1]).all()


def test_types():
    plan = value_iteration(example_4_1(), 0.9)
    assert {name: (leaf.dtype.name, leaf.weak_type) for name, leaf in vars(plan).items()} == {
        "q": ("float32", False), "v": ("float32", False), "policy": ("float32", False), "sweeps": ("int32", False),
        "residual": ("float32", False), "converged": ("bool", False),
    }  # fmt: skip


BAD = [
    ({"discount": 1.5}, "discount"),
    ({"discount": -0.1}, "discount"),
    ({"discount": float("nan")}, "discount"),
    ({"discount": "0.9"}, "discount"),
    ({"discount": 0.9, "tolerance": 0.0}, "tolerance"),
    ({"discount": 0.9, "tolerance": -1e-6}, "tolerance"),
    ({"discount": 0.9, "tolerance": float("nan")}, "tolerance"),
    ({"discount": 0.9, "max_sweeps": 0}, "max_sweeps"),
    ({"discount": 0.9, "max_sweeps": 2.5}, "max_sweeps"),
    ({"discount": 0.9, "max_sweeps": 2**40}, "max_sweeps"),
]


@pytest.mark.parametrize(("arguments", "field"), BAD)
def test_bad_arguments(arguments, field):
    """The unchecked functions are called: what a user without a type checker sees."""
    model = example_4_1()
    for planner in (*PLANNERS, lambda m, **options: unchecked(policy_evaluation)(m, any_action(m), **options)):
        with pytest.raises(ConfigError) as caught:
            unchecked(planner)(model, **arguments)
        assert caught.value.field == field


def unchecked(function):
    return inspect.unwrap(function)


def test_gamma_is_the_discount():
    assert value_iteration(example_4_1(), gamma=0.5).v.tolist() == value_iteration(example_4_1(), 0.5).v.tolist()


def test_what_is_no_model_is_answered_with_how_to_get_one():
    calls = {
        "that is the environment; give its model: env.model()": "value_iteration(ks.gridworld('S.G'), 0.9)",
        "kousoku.make('FrozenLake-v1').model()": "policy_iteration('FrozenLake-v1', 0.9)",
        "TabularModel.of(P, start) makes one of": "ks.finite({0: {0: [(1.0, 0, 0.0, True)]}})",
        "give a kousoku.TabularModel": "policy_evaluation(3, [[1.0]], 0.9)",
    }
    setup = "import kousoku as ks; from kousoku.agents.planning import *"
    for fix, message in refusals(calls, setup).items():
        assert message.startswith("model: got "), message
        assert message.endswith(fix) or "makes one of" in fix, message
        assert fix in message


def test_bad_models_and_policies():
    model = example_4_1()
    with pytest.raises(ConfigError, match=r"policy: got 'shape \(4, 16\)'; use \(16, 4\)"):
        policy_evaluation(model, any_action(model).T, 0.9)
    wrong = any_action(model)
    wrong[3] = [0.5, 0.5, 0.5, -0.5]
    with pytest.raises(ConfigError, match=r"policy\[3\]"):
        policy_evaluation(model, wrong, 0.9)
    wrong[3] = [0.5, 0.5, 0.5, 0.5]
    with pytest.raises(ConfigError, match=r"policy\[3\].*sum to 1"):
        policy_evaluation(model, wrong, 0.9)
    wrong[3] = np.nan
    with pytest.raises(ConfigError, match=r"policy\[3\]"):
        policy_evaluation(model, wrong, 0.9)
    model.probability[2, 1, 0] = 0.5
    for planner in PLANNERS:
        with pytest.raises(ConfigError, match=r"probability\[2, 1\]"):
            planner(model, 0.9)
