"""Tables that are no Markov decision process are refused, and those that are one are drawn from exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import refusals

from kousoku import ConfigError, TabularModel, finite
from kousoku.core.model import check_model
from kousoku.envs.finite import OutcomeTable
from kousoku.training.evaluation.exact import optimal_return


def tables(probability=((0.5, 0.5), (1.0, 0.0)), **parts) -> TabularModel:
    """Two states, one action, two outcomes."""
    p = np.asarray(probability, np.float64).reshape(2, 1, 2)
    whole = {
        "next_state": np.zeros((2, 1, 2), np.int32),
        "reward": np.zeros((2, 1, 2)),
        "terminated": np.zeros((2, 1, 2), bool),
        "start": np.array([1.0, 0.0]),
    }
    return TabularModel(p, **(whole | parts))


def with_entry(array: np.ndarray, at: tuple, value: float) -> np.ndarray:
    changed = array.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: tables(((0.5, 0.5), (0.6, 0.0))), "probability[1, 0]: got [0.6, 0.0]; use numbers >= 0 that sum to 1"),
        (
            lambda: tables(((1.5, -0.5), (1.0, 0.0))),
            "probability[0, 0]: got [1.5, -0.5]; use numbers >= 0 that sum to 1",
        ),
        (
            lambda: tables(((np.nan, 1.0), (1.0, 0.0))),
            "probability[0, 0]: got [nan, 1.0]; use numbers >= 0 that sum to 1",
        ),
        (
            lambda: tables(next_state=with_entry(np.zeros((2, 1, 2), np.int32), (1, 0, 1), 2)),
            "next_state[1, 0, 1]: got 2; ",
        ),
        (
            lambda: tables(next_state=with_entry(np.zeros((2, 1, 2), np.int32), (0, 0, 0), -1)),
            "next_state[0, 0, 0]: got -1; ",
        ),
        (
            lambda: tables(reward=with_entry(np.zeros((2, 1, 2)), (0, 0, 1), np.inf)),
            "reward[0, 0, 1]: got inf; use a finite",
        ),
        (
            lambda: tables(reward=with_entry(np.zeros((2, 1, 2)), (0, 0, 1), -1e39)),
            "reward[0, 0, 1]: got -1e+39; use a finite number, within 3.4e+38 of 0 as float32 ends there",
        ),
        (lambda: tables(start=np.array([0.5, 0.4])), "start: got 0.9; use probabilities >= 0 that sum to 1"),
        (lambda: tables(start=np.array([np.nan, 1.0])), "start: got nan; use probabilities >= 0 that sum to 1"),
        (lambda: tables(start=np.array([2.0, -1.0])), "start: got 1.0; use probabilities >= 0 that sum to 1"),
    ],
)
def test_what_is_no_model_is_refused_in_one_line(model, message):
    for use in (check_model, finite):
        with pytest.raises(ConfigError) as caught:
            use(model())
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)


def test_tables_of_other_shapes_are_refused():
    setup = """
import numpy as np
from kousoku import TabularModel, finite
def model(p=(2, 1, 2), s=(2, 1, 2), r=(2, 1, 2), t=(2, 1, 2), start=2):
    return finite(TabularModel(np.full(p, 0.5), np.zeros(s, int), np.zeros(r), np.zeros(t, bool), np.eye(start)[0]))
model()
"""
    calls = {
        "probability: got (2, 2); give at least one": "model(p=(2, 2))",
        "probability: got (0, 1, 2); give at least one": "model(p=(0, 1, 2))",
        "next_state: got (2, 1, 1); use the shape of probability, (2, 1, 2)": "model(s=(2, 1, 1))",
        "reward: got (2, 1); use the shape of probability, (2, 1, 2)": "model(r=(2, 1))",
        "terminated: got (1, 1, 2); use the shape of probability, (2, 1, 2)": "model(t=(1, 1, 2))",
        "start: got (3,); use one probability for each of 2 states": "model(start=3)",
    }
    for start, message in refusals(calls, setup).items():
        assert message.startswith(start), message


def test_tables_are_made_of_lists_and_of_numbers_that_mean_the_same():
    """Wherever a model goes, flags are flags and states whole: `~1` is -2, and 1.0 no index."""
    flags = np.array([[[0, 1]], [[1, 1]]])
    plain = tables(terminated=flags.astype(bool), next_state=flags, reward=-flags.astype(float))
    made = [
        tables(terminated=flags, next_state=flags.astype(float), reward=-flags),
        tables(terminated=flags.astype(float), next_state=flags.astype(bool), start=[1, 0], reward=(-flags).tolist()),
        tables(terminated=jnp.asarray(flags), next_state=jnp.asarray(flags, jnp.float32), reward=-flags),
    ]
    for model in made:
        assert [leaf.dtype.kind for leaf in jax.tree.leaves(model)] == ["f", "i", "f", "b", "f"]
        for ours, expected in zip(jax.tree.leaves(model), jax.tree.leaves(plain), strict=True):
            np.testing.assert_array_equal(ours, expected)
        assert optimal_return(model, 3) == optimal_return(plain, 3) == -0.875
        assert finite(model).tables.packed.tolist() == finite(plain).tables.packed.tolist()


def test_entries_that_mean_nothing_are_refused_when_a_model_is_made():
    calls = {
        "terminated[1, 0, 0]: got 2; use True and False": "model(t=[[[0]], [[2]]])",
        "terminated: got None; use an array of True and False": "model(t=None)",
        "terminated[0, 0, 0]: got nan; use True": "model(t=[[[float('nan')]], [[1]]])",
        "next_state[1, 0, 0]: got 1.7; use whole numbers": "model(s=[[[0]], [[1.7]]])",
        "next_state[0, 0, 0]: got nan; use whole numbers": "model(s=[[[float('nan')]], [[1]]])",
        "reward: got [[['a']], [['b']]]; use an array of numbers": "model(r=[[['a']], [['b']]])",
        "probability: got [[[1.0]], [[1.0, 2.0]]]; use an array": "model(p=[[[1.0]], [[1.0, 2.0]]])",
        "panels: got 'x'; use a tuple of": "finite(model(), panels='x')",
        "Panel.states: got 2; there are 2 states": "finite(model(), panels=(Panel('', ((0, 2),)),))",
        "outcomes: got {0: {0: 5}}; use P[s][a] = [": "TabularModel.of({0: {0: 5}}, [1.0])",
        "outcomes: got {1: {0: []}}; use P[s][a] = [": "TabularModel.of({1: {0: []}}, [1.0])",
        "outcomes: got [[[(1.0, 0, 0.0)]]]; use P[s][a] = [": "TabularModel.of([[[(1.0, 0, 0.0)]]], [1.0])",
        "outcomes: got 3; use P[s][a] = [": "TabularModel.of(3, [1.0])",
        "outcomes: got []; use P[s][a] = [": "TabularModel.of([], [])",
    }
    setup = """
from kousoku import TabularModel, finite
from kousoku.core.panel import Panel
def model(p=[[[1.0]], [[1.0]]], s=[[[0]], [[1]]], r=[[[0]], [[1]]], t=[[[0]], [[1]]]):
    return TabularModel(p, s, r, t, [1, 0])
finite(model())
"""
    for start, message in refusals(calls, setup).items():
        assert message.startswith(start), message
        assert "\n" not in message


def test_gymnasiums_tables_are_a_model():
    outcomes = {0: {0: [(0.25, 1, 2.0, False), (0.75, 0, -1.0, True)]}, 1: {0: [(1.0, np.int64(1), 0, True)]}}
    model = TabularModel.of(outcomes, np.array([1.0, 0.0]))
    assert np.asarray(model.probability).tolist() == [[[0.25, 0.75]], [[1.0, 0.0]]]
    assert np.asarray(model.next_state).tolist() == [[[1, 0]], [[1, 1]]]
    assert np.asarray(model.reward).tolist() == [[[2.0, -1.0]], [[0.0, 0.0]]]
    assert np.asarray(model.terminated).tolist() == [[[False, True]], [[True, False]]]
    assert float(optimal_return(model, 9)) == 0.25 * 2.0 - 0.75
    finite(model)


@pytest.mark.parametrize("third", [0.0, 0.3333])
def test_an_outcome_of_probability_0_is_never_drawn_though_the_others_sum_to_a_little_less_than_1(third):
    p = np.zeros((1, 1, 4))
    p[0, 0, :3] = 0.5, 0.4999995 - third, third
    model = TabularModel(
        p, np.arange(4, dtype=np.int32).reshape(1, 1, 4) * 0, np.zeros((1, 1, 4)), np.zeros((1, 1, 4), bool), np.ones(1)
    )
    bounds = OutcomeTable.of(model).cumulative[0]
    assert bounds[2] == 1.0
    assert (np.diff(bounds) >= 0).all()


def test_a_table_draws_its_outcomes_as_often_as_it_says():
    p, parts = np.array([[[0.2, 0.0, 0.5, 0.3]]]), np.zeros((1, 1, 4))
    model = TabularModel(p, parts.astype(np.int32), np.arange(4.0).reshape(1, 1, 4), parts.astype(bool), np.ones(1))
    table = OutcomeTable.of(model)
    draw = jax.vmap(lambda key: table.draw_outcome(key, jnp.int32(0), jnp.int32(0))[1])
    drawn = np.bincount(np.asarray(draw(jax.random.split(jax.random.key(0), 20_000))).astype(int), minlength=4)
    assert drawn[1] == 0
    np.testing.assert_allclose(drawn / 20_000, p[0, 0], atol=0.015)
