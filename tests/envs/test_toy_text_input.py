"""What the toy-text environments refuse, and what they say then; and when a finite environment can be drawn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.env import Drawable
from kousoku.core.errors import ConfigError
from kousoku.core.model import TabularModel
from kousoku.core.scene import Scene
from kousoku.envs import make
from kousoku.envs.finite import finite

BAD_MAPS = {
    "empty list": ([], "custom_map: got []"),
    "empty string": ("", "custom_map"),
    "empty row": ([""], "custom_map"),
    "0 x N": (["", ""], "custom_map"),
    "ragged": (["SFF", "FG"], "custom_map row 1: got 'FG'; every row needs 3 cells like row 0"),
    "unknown glyph": (
        ["SF", "XG"],
        "custom_map row 1 column 0: got 'X'; use 'S' start, 'F' frozen, 'H' hole, 'G' goal",
    ),
    "lower case": (["sF", "FG"], "custom_map row 0 column 0"),
    "no start": (["FF", "FG"], "custom_map: got 'a map without a start'; mark at least one cell with 'S'"),
    "no goal": (["SF", "FF"], "custom_map: got 'a map without a goal'"),
    "unreachable": (["SHF", "HFG"], "custom_map: got 'no way from the start at (0, 0) to a goal'"),
    "one of two starts cut off": (["SHG", "HHS"], "no way from the start at (0, 0)"),
    "huge": (["S" * 2048] * 2048, "custom_map: got '2048 x 2048 cells'"),
}
BAD_OPTIONS = [
    ("FrozenLake-v1", "map_name", "16x16"),
    ("FrozenLake-v1", "map_name", ""),
    ("FrozenLake-v1", "success_rate", -0.1),
    ("FrozenLake-v1", "success_rate", 1.5),
    ("FrozenLake-v1", "success_rate", float("nan")),
    ("FrozenLake-v1", "reward_schedule", (1.0, 0.0)),
    ("FrozenLake-v1", "reward_schedule", (1.0, float("nan"), 0.0)),
    ("FrozenLake-v1", "reward_schedule", (float("inf"), 0.0, 0.0)),
    ("FrozenLake-v1", "time_limit", 0),
    ("CliffWalking-v1", "time_limit", -5),
    ("Taxi-v4", "rainy_probability", 2.0),
    ("Taxi-v4", "fickle_passenger", True),
    ("Taxi-v4", "time_limit", 0),
    ("Blackjack-v1", "observation", "Index"),
    ("Blackjack-v1", "time_limit", 0),
]
FLAGS = [
    ("FrozenLake-v1", "is_slippery"),
    ("CliffWalking-v1", "is_slippery"),
    ("Taxi-v4", "is_rainy"),
    ("Taxi-v4", "fickle_passenger"),
    ("Blackjack-v1", "natural"),
    ("Blackjack-v1", "sab"),
]


@pytest.mark.parametrize("name", BAD_MAPS)
def test_a_map_that_is_none_is_refused_in_one_line(name):
    custom_map, message = BAD_MAPS[name]
    with pytest.raises(ConfigError) as error:
        make("FrozenLake-v1", custom_map=custom_map)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "field", "value"), BAD_OPTIONS)
def test_a_bad_value_is_refused_by_name(name, field, value):
    with pytest.raises(ConfigError) as error:
        make(name, **{field: value})
    assert error.value.field.startswith(field)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "field"), FLAGS)
@pytest.mark.parametrize("value", ["no", 0, None])
def test_a_flag_is_true_or_false(name, field, value, unchecked):
    with pytest.raises(ConfigError, match="use True or False") as error:
        unchecked(name, **{field: value})
    assert error.value.field == field


@pytest.fixture
def unchecked():
    """`make` as a user has it: without the run-time type checks of the tests."""
    from kousoku.envs import ENVS

    def call(name, **options):
        factory = ENVS.factory(name)
        return getattr(factory, "__wrapped__", factory)(**options)

    return call


def test_unknown_options_are_refused():
    with pytest.raises(ConfigError, match="is_slippery"):
        make("FrozenLake-v1", is_slipery=True)


def test_a_map_may_be_one_string():
    rows = ["SFF", "HFG"]
    as_text = make("FrozenLake-v1", custom_map="\n  SFF\n  HFG\n").model()
    as_rows = make("FrozenLake-v1", custom_map=rows).model()
    assert np.array_equal(as_text.next_state, as_rows.next_state)
    assert as_text.num_states == 6


def test_a_finite_environment_is_drawable_only_with_a_scene():
    model = TabularModel(*(np.full((2, 1, 1), v) for v in (1.0, 1, 5.0, True)), np.array([1.0, 0.0]))
    assert not isinstance(finite(model), Drawable)
    drawn = finite(model, scene=lambda state: Scene(float(state), 1.0))
    assert isinstance(drawn, Drawable)
    assert drawn.scene(jnp.int32(3)).width == 3.0


def test_a_finite_environment_checks_its_time_limit():
    model = TabularModel(*(np.full((2, 1, 1), v) for v in (1.0, 1, 5.0, True)), np.array([1.0, 0.0]))
    with pytest.raises(ConfigError, match="time_limit"):
        finite(model, time_limit=0)


@pytest.mark.full("covered")
def test_a_step_is_the_same_bits_compiled_and_under_vmap():
    env = make("FrozenLake-v1")
    keys = jax.random.split(jax.random.key(3), 64)
    states, actions = jnp.arange(64, dtype=jnp.int32) % 16, jnp.arange(64, dtype=jnp.int32) % 4
    together = jax.vmap(env.step)(keys, states, actions)[0]
    alone = [int(env.step(keys[i], states[i], actions[i])[0]) for i in range(8)]
    assert together[:8].tolist() == alone
