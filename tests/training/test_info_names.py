"""Names of what an environment's info holds: no part of it takes another one's place."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor

import kousoku as ks
from kousoku.core.env_shapes import check_shapes
from kousoku.core.errors import ConfigError
from kousoku.interop.out.stepping import infos
from kousoku.training.evaluation.film import Played, _values


class Pair(NamedTuple):
    """Two parts, by name or by place."""

    left: Any
    right: Any


class Telling(Corridor):
    """A corridor with an info, in episodes of twenty steps."""

    time_limit: Any = eqx.field(static=True, default=20)
    info: Any = None

    def reset(self, key):
        state, timestep = super().reset(key)
        return state, dataclasses.replace(timestep, info=self.info)

    def step(self, key, state, action):
        after, timestep = super().step(key, state, action)
        return after, dataclasses.replace(timestep, info=self.info)


def telling(info: Any) -> Telling:
    return Telling(info=jax.tree.map(jnp.float32, info))


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ({"a": {"b": 1}, "a.b": 2}, "a.b"),
        ({"a": {"b": {"c": 1}}, "a.b": {"c": 2}}, "a.b.c"),
        ({"a": {"b.c": 1}, "a.b": {"c": 2}}, "a.b.c"),
        ({"a": [1, 2], "a.1": 3}, "a.1"),
        ({"a": Pair(1, 2), "a.left": 3}, "a.left"),
    ],
)
def test_two_parts_of_one_name_are_refused_before_anything_runs(info, name):
    told = f"env: got 'Telling'; reset: info has two parts of the name '{name}', as a key has a dot: use other keys"
    for use in (check_shapes, lambda env: ks.train("q_learning", env, steps=100, out=""), ks.to_gymnasium):
        with pytest.raises(ConfigError) as caught:
            use(telling(info))
        assert str(caught.value).startswith(told)


@pytest.mark.parametrize("info", [None, 1, {"a": 1, "b": {"a": 2}}, {"a.b": 1, "a": {"c": 2}}, Pair(1, Pair(2, 3)), {}])
def test_other_infos_are_told_in_full(info):
    check_shapes(telling(info))
    assert len(infos(info)) == len(jax.tree.leaves(info))


def values_of(env: Telling) -> dict[str, np.ndarray]:
    """What a film of two steps shows below the picture."""
    state, first = env.reset(jax.random.key(0))
    stacked = jax.tree.map(lambda x: np.stack([np.asarray(x)] * 2), first)
    played = Played(np.stack([np.asarray(state)] * 3), np.zeros(2, np.int32), stacked, first)
    return _values(env, played)


@pytest.mark.parametrize(
    ("info", "shown"),
    [
        ({"a": {"b": 1}, "c": {"b": 2}}, {"a.b": 1, "c.b": 2}),
        ({"a": {"b": 1}, "b": 2}, {"a.b": 1, "b": 2}),
        ({"a": {"x": 1}, "c": {"y": 2}}, {"x": 1, "y": 2}),
        ({"reward": 1, "a": {"action": 2}, "return": 3}, {"info.reward": 1, "info.action": 2, "info.return": 3}),
    ],
)
def test_a_film_shows_each_part_once_and_what_is_its_own(info, shown):
    values = values_of(telling(info))
    assert {name: value[-1] for name, value in values.items() if name in shown} == shown
    assert set(values) - set(shown) == {"reward", "return", "action"}
    np.testing.assert_array_equal(values["return"], [0.0, 0.0, 0.0])
