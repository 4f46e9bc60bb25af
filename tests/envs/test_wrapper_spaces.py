"""What wrappers make of spaces of several kinds, and of what lies in them, by hand."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.core.timestep import Timestep
from kousoku.envs.wrappers import flatten

ours = ks.wrappers
KEY, STAY = jax.random.key(0), jnp.int32(0)


class Sees(ks.Env):
    """Shows one observation after the other."""

    space: Any = eqx.field(static=True)
    seen: Any = None
    time_limit: int | None = eqx.field(static=True, default=9)

    @property
    def observation_space(self):
        return self.space

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), self._timestep(0)

    def step(self, key, state, action):
        return state + 1, self._timestep(state + 1)

    def _timestep(self, i):
        obs = jax.tree.map(lambda x: jnp.asarray(x)[i], self.seen)
        return Timestep(obs, jnp.float32(0), jnp.array(False), jnp.array(False))


def stacked(space: Any, seen: Any, padding: str, axis: int = 0) -> tuple[Any, list[Any]]:
    """The space of stacks of three, and all of them."""
    env = ours.FrameStackObservation(Sees(space, seen), 3, padding, axis)
    state, timestep = env.reset(KEY)
    stacks = [timestep.obs]
    for _ in range(len(jax.tree.leaves(seen)[0]) - 1):
        state, timestep = env.step(KEY, state, STAY)
        stacks.append(timestep.obs)
    return env.observation_space, stacks


@pytest.mark.parametrize(("padding", "before"), [("reset", (1.5, -1.5)), ("zero", (1.0, -1.0))])
@pytest.mark.parametrize("axis", [0, -1])
def test_before_the_first_observation_is_that_or_what_is_nearest_to_zero(padding, before, axis):
    seen = np.array([[1.5, -1.5], [2.0, -1.25], [3.0, -2.0], [2.5, -1.75]], np.float32)
    space, stacks = stacked(ks.Box((1.0, -2.0), (3.0, -1.0), (2,)), seen, padding, axis)
    frames = [before, before, *seen.tolist()]
    for i, stack in enumerate(stacks):
        np.testing.assert_array_equal(stack, np.stack(frames[i : i + 3], axis))
    shape = (3, 2) if axis == 0 else (2, 3)
    assert space.shape == shape
    for bound, ends in ((space.low, (1.0, -2.0)), (space.high, (3.0, -1.0))):
        np.testing.assert_array_equal(bound, np.stack([ends] * 3, axis))


@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_each_part_of_a_dict_is_stacked_but_for_the_mask(padding):
    mask = np.array([[1, 0], [0, 1], [1, 1]], np.int8)
    seen = {
        "action_mask": mask,
        "inside": {"image": np.arange(1, 13, dtype=np.uint8).reshape(3, 2, 2), "number": np.array([3, 1, 2], np.int32)},
    }
    inside = ks.Dict({"image": ks.Box(0, 255, (2, 2), np.uint8), "number": ks.Discrete(4)})
    space, stacks = stacked(ks.Dict({"action_mask": ks.Box(0, 1, (2,), np.int8), "inside": inside}), seen, padding)
    images = ks.Dict({"image": ks.Box(0, 255, (3, 2, 2), np.uint8), "number": ks.MultiDiscrete((4, 4, 4))})
    assert space == ks.Dict({"action_mask": ks.Box(0, 1, (2,), np.int8), "inside": images})
    for name, parts in seen["inside"].items():
        first = parts[0] if padding == "reset" else np.zeros_like(parts[0])
        frames = [first, first, *parts]
        for i, stack in enumerate(stacks):
            found = stack["inside"][name]
            np.testing.assert_array_equal(found, np.stack(frames[i : i + 3]))
            assert found.dtype == parts.dtype
    np.testing.assert_array_equal([stack["action_mask"] for stack in stacks], mask)


def test_a_flat_dict_has_its_parts_and_their_bounds_in_the_order_of_the_names():
    parts = {"one": ks.Discrete(3), "box": ks.Box((-1.0, -2.0), (3.0, 4.0), (2,)), "multi": ks.MultiDiscrete((2, 3))}
    env = ours.FlattenObservation(Sees(ks.Dict({"z": ks.Box(5.0, 6.0, (1,)), "inside": ks.Dict(parts)})))
    space, of_numbers = env.observation_space, 2 + 3 + 3
    assert space.shape == (2 + of_numbers + 1,)
    assert space.low == (-1.0, -2.0, *[0.0] * of_numbers, 5.0)
    assert space.high == (3.0, 4.0, *[1.0] * of_numbers, 6.0)
    obs = {
        "inside": {"one": jnp.int32(2), "box": jnp.array([0.5, -0.5]), "multi": jnp.array([1, 0], jnp.int32)},
        "z": jnp.array([5.5]),
    }
    assert env.observe(obs).tolist() == [0.5, -0.5, 0, 1, 1, 0, 0, 0, 0, 1, 5.5]


def test_a_flat_observation_has_so_many_numbers_and_no_more():
    assert flatten.MOST == 16_777_216
    assert ours.FlattenObservation(Sees(ks.Discrete(flatten.MOST))).env.space.n == flatten.MOST
    with pytest.raises(ConfigError, match=r"^observation_space: got .*; a flat one has 16777217 numbers, more than"):
        ours.FlattenObservation(Sees(ks.Discrete(flatten.MOST + 1)))


def test_a_reshaped_observation_has_the_same_numbers_and_bounds_row_by_row():
    low, high = ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0)), ((10.0, 11.0, 12.0), (13.0, 14.0, 15.0))
    env = ours.ReshapeObservation(Sees(ks.Box(low, high, (2, 3))), (3, 2))
    np.testing.assert_array_equal(env.observation_space.low, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(env.observation_space.high, np.arange(10.0, 16.0).reshape(3, 2))
    assert env.observe(jnp.arange(6.0).reshape(2, 3)).tolist() == [[0, 1], [2, 3], [4, 5]]
    bytes_ = ours.ReshapeObservation(Sees(ks.Box(0, 255, (2, 3), np.uint8)), [6])
    assert bytes_.observation_space == ks.Box(0, 255, (6,), np.uint8)


@pytest.mark.parametrize("std", [2.0, [2.0, 4.0], (2, 4), np.array([2, 4]), jnp.array([2, 4], jnp.int32)])
def test_a_mean_and_a_standard_deviation_may_be_numbers_of_any_kind(std):
    env = ours.StandardiseObservation(Sees(ks.Box(-9, 9, (2,), np.int32)), mean=jnp.array([1, 2], jnp.int32), std=std)
    assert env.observation_space == ks.Box(-np.inf, np.inf, (2,))
    seen = env.observe(jnp.array([7, -6], jnp.int32))
    assert seen.dtype == jnp.asarray(env.std).dtype == jnp.asarray(env.mean).dtype == jnp.float32
    assert seen.tolist() == [3.0, -4.0 if isinstance(std, float) else -2.0]


@pytest.mark.parametrize(
    ("std", "fix"),
    [
        (["a", "b"], "use numbers"),
        ([[1.0], [1.0, 2.0]], "use numbers"),
        ([1.0, np.inf], "use numbers that are finite"),
        ([1.0, 0.0], "use numbers above 0"),
        (np.array([1.0, -1.0]), "use numbers above 0"),
        ("1", "use a number, or an array of the observation's shape"),
        (None, "use a number, or an array of the observation's shape"),
    ],
)
def test_a_standard_deviation_that_is_none_is_refused_in_one_line(std, fix):
    with pytest.raises(ConfigError, match=rf"^std: got .*; {fix}$") as raised:
        ours.StandardiseObservation(Sees(ks.Box(-9.0, 9.0, (2,))), mean=0.0, std=std)
    assert "\n" not in str(raised.value)
