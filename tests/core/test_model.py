"""Tables that are no Markov decision process are refused, and those that are one are drawn from exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import refusals

from kousoku import ConfigError, TabularModel, finite
from kousoku.core.model import check_model
from kousoku.envs.finite import OutcomeTable


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
