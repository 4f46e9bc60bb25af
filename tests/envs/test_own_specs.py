"""A spec of an environment of one's own that is none, or tells something else than the environment: one line."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.env_shapes import shape_problems

THREE, TWO = ks.Discrete(3), ks.Discrete(2)


class Usual(ks.Env):
    """Three states in a ring."""

    @property
    def time_limit(self) -> int:
        return 5

    @property
    def observation_space(self) -> ks.Discrete:
        return ks.Discrete(3)

    @property
    def action_space(self) -> ks.Discrete:
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(jnp.int32(0), jnp.float32(0), jnp.bool_(False), jnp.bool_(False))

    def step(self, key, state, action):
        state = (state + 1) % 3
        return state, ks.Timestep(state, jnp.float32(1), jnp.bool_(False), jnp.bool_(False))


def own(**parts: Any) -> ks.Env:
    return type("Own", (Usual,), {"__module__": "mine", **parts})()


def spec(observations: Any = THREE, actions: Any = TWO, limit: Any = 5) -> ks.EnvSpec:
    made = object.__new__(ks.EnvSpec)  # as outside of tests, where no kind is checked
    for name, value in zip(
        ("observation_space", "action_space", "time_limit"), (observations, actions, limit), strict=True
    ):
        object.__setattr__(made, name, value)
    return made


def fails(self: Any) -> Any:
    raise KeyError("x")


class Fielded(Usual):
    spec: Any = None  # pyright: ignore[reportIncompatibleMethodOverride]


class Told(Usual):
    spec: Any = eqx.field(static=True, default=ks.EnvSpec(ks.Discrete(3), ks.Discrete(2), 5))  # pyright: ignore


LEAVE = "leave it out, or give a kousoku.EnvSpec"
WRONG = {
    "none": (own(spec=None), f"spec is None: {LEAVE}"),
    "text": (own(spec=property(lambda self: "v1")), f"spec is 'v1': {LEAVE}"),
    "tuple": (own(spec=property(lambda self: (3, 2))), f"spec is (3, 2): {LEAVE}"),
    "class": (own(spec=ks.EnvSpec), f"spec is the class kousoku.EnvSpec: {LEAVE}"),
    "Gymnasium's": (own(spec=gymnasium.spec("CartPole-v1")), f"spec is a gymnasium.EnvSpec: {LEAVE}"),
    "field": (Fielded(), f"spec is None: {LEAVE}"),
    "fails": (own(spec=property(fails)), "spec, or records_info: raised KeyError: 'x' ("),
    "observations": (
        own(spec=spec(ks.Discrete(4))),
        "spec: its observation_space is Discrete(n=4), and the environment's own is Discrete(n=3): leave spec out",
    ),
    "actions": (
        own(spec=property(lambda self: spec(actions=ks.Box(0, 1)))),
        "spec: its action_space is Box(low=0.0, high=1.0), and the environment's own is Discrete(n=2): leave spec out",
    ),
    "limit": (own(spec=spec(limit=7)), "spec: its time_limit is 7, and the environment's own is 5: leave spec out"),
    "limit's kind": (own(spec=spec(limit=5.0)), "spec: its time_limit is 5.0, and the environment's own is 5"),
    "spaces of Gymnasium's": (
        own(spec=spec(gymnasium.spaces.Discrete(3))),
        "spec: its observation_space is a gymnasium.Discrete, and the environment's own is Discrete(n=3)",
    ),
    "time limit fails": (own(time_limit=property(fails)), "time_limit: raised KeyError: 'x' ("),
    "flag": (own(records_info=property(lambda self: "no")), "records_info is 'no': use True or False"),
    "flag of an array": (
        own(records_info=property(lambda self: jnp.bool_(True))),
        "records_info is an array, bool[]: use True or False",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("env", "told"), WRONG.values(), ids=WRONG)
def test_what_an_environment_tells_of_itself_is_looked_at(env, told):
    assert next(shape_problems(env)).startswith(told)
    with pytest.raises(ks.ConfigError, match=r"^env: got '\w+'; .*; kousoku\.check_env tells all$"):
        ks.train("q_learning", env, steps=8, out="")


@pytest.mark.parametrize(
    "env",
    [
        Told(),
        own(spec=property(lambda self: type("Mine", (ks.EnvSpec,), {})(ks.Discrete(3), ks.Discrete(2), 5))),
        own(records_info=np.bool_(True)),
    ],
    ids=["field", "a subclass", "NumPy's flag"],
)
def test_what_is_told_rightly_is_let_through(env):
    assert list(shape_problems(env)) == []
