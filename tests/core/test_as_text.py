"""Environments and spaces are shown in one short line: what a person may set, and only where it differs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.core.wrapper import Wrapper

NEEDED = {"CustomGrid-v0": {"map": "S.G"}}
INF = math.inf


@pytest.mark.parametrize("id", OWN_ENVS)
def test_each_environment_and_its_spaces_are_a_short_line(id):
    env = ks.make(id, **NEEDED.get(id, {}))
    for thing in (env, env.observation_space, env.action_space, env.spec):
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 400
        assert repr(thing).startswith(f"{type(thing).__name__}(")
        assert " at 0x" not in repr(thing)
    assert str(env) == repr(env)
    assert len(repr(env)) < 200


@pytest.mark.parametrize(
    ("id", "options", "shown"),
    [
        ("CartPole-v1", {}, "CartPole()"),
        ("CartPole-v1", {"gravity": 1 / 3}, "CartPole(gravity=0.333333)"),
        ("CartPole-v1", {"gravity": 12, "time_limit": None}, "CartPole(gravity=12.0, time_limit=None)"),
        ("CartPole-v1", {"sutton_barto_reward": True}, "CartPole(sutton_barto_reward=True)"),
        ("Humanoid-v5", {}, "Humanoid()"),
        ("Humanoid-v5", {"healthy_z_range": (1.0, 2.5)}, "Humanoid(healthy_z_range=(1.0, 2.5))"),
        ("Taxi-v4", {}, "Taxi(table=FiniteEnv(...), action_mask=bool[500,6], time_limit=200)"),
    ],
)
def test_environments_tell_what_differs(id, options, shown):
    assert repr(ks.make(id, **options)) == shown


@pytest.mark.parametrize(
    ("id", "wrap", "shown"),
    [
        ("CartPole-v1", ["frame_stack:3"], "FrameStackObservation(CartPole(), stack_size=3)"),
        ("Pendulum-v1", ["time_limit:9"], "TimeLimit(Pendulum(), max_episode_steps=9)"),
        (
            "CartPole-v1",
            ["time_limit:9", "frame_stack:2"],
            "FrameStackObservation(TimeLimit(CartPole(), max_episode_steps=9), stack_size=2)",
        ),
    ],
)
def test_wrappers_tell_what_they_wrap(id, wrap, shown):
    assert repr(ks.make(id, wrap=wrap)) == shown


def test_a_wrapper_tells_all_of_a_long_environment():
    env = ks.make("CartPole-v1", gravity=1.5, masscart=2.5, masspole=0.5, length=1.5, force_mag=5.5, tau=0.5)
    assert len(repr(env)) > 80
    assert repr(Wrapper(env)) == f"Wrapper({env!r})"


class Odd:
    """An object whose comparison and text fail."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        raise RuntimeError("shown")


class Unsure(Odd):
    """An object that is shown, and whose comparison is no truth."""

    def __eq__(self, other: object) -> Any:
        return np.ones(2)

    def __repr__(self) -> str:
        return "unsure,\n  very"


class Bare:
    """An object without a text of its own."""


@dataclasses.dataclass
class Setting:
    """A part with few fields."""

    a: float = 1.0
    b: Any = None


class Table(eqx.Module):
    """A part that holds arrays."""

    first: Any
    second: str = ""


@dataclasses.dataclass
class Told:
    """A part that says how it is shown."""

    a: float = 1.0

    def __repr__(self) -> str:
        return "told"


class ToldModule(eqx.Module):
    """A part that says how it is shown."""

    a: float = 1.0

    def __repr__(self) -> str:
        return "told"


def held_by_itself() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


def holding_itself() -> Setting:
    setting = Setting()
    setting.b = [setting, setting]
    return setting


class Own(Corridor):
    """A person's environment with a part of any kind."""

    part: Any = None


LONG = "x" * 200
PARTS: dict[str, tuple[Any, str]] = {
    "nothing": (None, ""),
    "a number": (0.1 + 0.2, "0.3"),
    "a NumPy number": (np.float32(0.1), "0.1"),
    "a whole number": (2**40, "1099511627776"),
    "a whole float": (2147483647.0, "2147483647.0"),
    "a large float": (3.4028234663852886e38, "3.40282e+38"),
    "no number": (math.nan, "nan"),
    "a flag": (np.True_, "True"),
    "a number of thousands of digits": (10**9999, "..."),
    "an array": (np.zeros((3, 4), np.float32), "f32[3,4]"),
    "an array of JAX": (jnp.zeros((3, 4), jnp.int32), "i32[3,4]"),
    "a number in an array": (jnp.float32(0.1), "0.1"),
    "a key": (jax.random.key(0), "key<fry>[]"),
    "objects": (np.array([Odd()], object), "object[1]"),
    "a long text": (LONG, f"'{LONG[:56]}..."),
    "lines": ("a\nb", r"'a\nb'"),
    "a function": (math.sqrt, "sqrt"),
    "a class": (Setting, "Setting"),
    "one number in a tuple": ((0.5,), "(0.5,)"),
    "many numbers": (tuple(range(10**4)), f"({''.join(f'{n}, ' for n in range(18))}...)"),
    "numbers by name": ({"a": 1 / 3, "b": [2]}, "{'a': 0.333333, 'b': [2]}"),
    "sets": ((set(), {0.5}, frozenset({1}), ()), "(set(), {0.5}, frozenset({1}), ())"),
    "a space": (ks.Discrete(3), "Discrete(n=3)"),
    "an environment": (ks.make("CartPole-v1"), "CartPole()"),
    "a setting": (Setting(), "Setting()"),
    "another setting": (Setting(0.5, (1 / 3,)), "Setting(a=0.5, b=(0.333333,))"),
    "a long setting": (Setting(0.5, LONG), "Setting(...)"),
    "a small table": (Table(np.zeros(3)), "Table(first=f64[3])"),
    "a large table": (Table(np.zeros(3), LONG), ""),
    "large tables": ((Table(np.zeros(3), LONG),), ""),
    "a bare object": (Bare(), "Bare(...)"),
    "an odd object": (Odd(), "..."),
    "an odd object among others": ([1, Odd()], "..."),
    "an unsure object": (Unsure(), "unsure, very"),
    "a dataclass with its own text": (Told(), "told"),
    "a module with its own text": (ToldModule(), "told"),
}


@pytest.mark.parametrize(("part", "shown"), PARTS.values(), ids=PARTS)
def test_any_part_of_a_person_s_environment_is_shown(part, shown):
    assert repr(Own(part=part)) == (f"Own(part={shown})" if shown else "Own()")
    assert "\n" not in repr(Wrapper(Own(part=part)))


def test_parts_that_hold_themselves_have_an_end():
    assert repr(Own(part=Setting(b=held_by_itself()))) == "Own(part=Setting(b=[[[[...]]]]))"
    assert repr(Own(part=holding_itself())) == "Own(part=Setting(b=[Setting(b=[Setting(...), Setting(...)]), ...]))"


@pytest.mark.parametrize("default", [Odd(), Unsure(), np.zeros(2), np.ones(3), "f32[2]", None])
def test_defaults_of_any_kind_are_compared_safely(default):
    class Kept(Corridor):
        """An environment with a default of any kind."""

        part: Any = eqx.field(default_factory=lambda: default)

    assert repr(Kept(part=np.ones(2, np.float32))) == "Kept(part=f32[2])"
    if isinstance(default, np.ndarray):
        assert repr(Kept(part=default.copy())) == "Kept()"


class Weighted(Corridor):
    """An environment with a number that is converted, and a list of its own."""

    weight: Any = eqx.field(default=1, converter=jnp.asarray)
    names: Any = eqx.field(static=True, default_factory=list)
    hidden: int = eqx.field(static=True, default=0, repr=False)
    made: int = eqx.field(static=True, init=False)

    def __post_init__(self) -> None:
        self.made = 3


def test_defaults_are_what_a_field_makes_of_them():
    assert repr(Weighted()) == "Weighted()"
    assert repr(Weighted(weight=2, names=["a"], hidden=5)) == "Weighted(weight=2, names=['a'])"


def test_traced_numbers_are_shown_by_dtype_and_shape():
    shown: list[str] = []
    jax.eval_shape(lambda x: shown.append(repr(Weighted(weight=x))), jnp.ones((2, 3)))
    jax.eval_shape(jax.vmap(lambda x: shown.append(repr(Wrapper(Weighted(weight=x))))), jnp.ones(2))
    assert shown == ["Weighted(weight=f32[2,3])", "Wrapper(Weighted(weight=f32[]))"]


def test_a_text_of_one_s_own_is_kept_in_wrappers_too():
    class Named(Corridor):
        """An environment that says how it is shown."""

        def __repr__(self) -> str:
            return "the\n  corridor"

    assert repr(Named()) == "the\n  corridor"
    assert repr(Wrapper(Named())) == "Wrapper(the corridor)"


@pytest.mark.parametrize(
    ("space", "shown"),
    [
        (ks.Discrete(2), "Discrete(n=2)"),
        (ks.MultiDiscrete((2, 7)), "MultiDiscrete(nvec=(2, 7))"),
        (ks.MultiDiscrete((2,) * 50), f"MultiDiscrete(nvec=({'2, ' * 20}...))"),
        (ks.Box(-1, 1), "Box(low=-1.0, high=1.0)"),
        (ks.Box((-0.4,) * 17, (0.4,) * 17, (17,)), "Box(low=-0.4, high=0.4, shape=(17,))"),
        (
            ks.Box(((0, 0), (0, 0)), 255, (2, 2), "uint8"),
            "Box(low=0.0, high=255.0, shape=(2, 2), dtype=dtype('uint8'))",
        ),
        (ks.Box((0.0, -INF), (1 / 3, INF), (2,)), "Box(low=(0.0, -inf), high=(0.333333, inf), shape=(2,))"),
        (ks.Box(((0, 1), (2, 3)), 9, (2, 2)), "Box(low=((0.0, 1.0), (2.0, 3.0)), high=9.0, shape=(2, 2))"),
        (ks.Box(0, 2**31 - 2, (1,), "int32"), "Box(low=0.0, high=2147483646.0, shape=(1,), dtype=dtype('int32'))"),
        (
            ks.Box(0, tuple(range(30)), (30,)),
            f"Box(low=0.0, high=({''.join(f'{i}.0, ' for i in range(12))}...), shape=(30,))",
        ),
        (ks.Box((), (), (0,)), "Box(low=(), high=(), shape=(0,))"),
        (
            ks.Dict({"b": ks.Discrete(2), "a": ks.Dict({"c": ks.Box((1.0,) * 60, 9, (60,))})}),
            "Dict(spaces={'b': Discrete(n=2), 'a': Dict(spaces={'c': Box(low=1.0, high=9.0, shape=(60,))})})",
        ),
    ],
    ids=str,
)
def test_spaces_are_shown_in_a_line(space, shown):
    assert repr(space) == shown


@pytest.mark.parametrize("change", [lambda s: s, lambda s: ks.Box(s.low, (0.4000001,) * 30, s.shape)])
def test_spaces_that_look_alike_are_told_apart_still(change: Callable[[ks.Box], ks.Box]):
    space = ks.Box((-0.4,) * 30, (0.4,) * 30, (30,))
    other, same = change(space), change(space) is space
    assert repr(other) == repr(space)
    assert (other == space) is (hash(other) == hash(space)) is same
