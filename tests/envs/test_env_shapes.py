"""What train, resume and evaluate ask of an environment before anything is compiled or written."""

import inspect
import json
import os
import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor

import kousoku as ks
from kousoku import Box, Dict, Discrete, MultiDiscrete, Timestep
from kousoku.core.env_shapes import check_shapes
from kousoku.core.errors import ConfigError
from kousoku.core.own_line import own_line
from kousoku.envs.contract import ContractError


class Walk(Corridor):
    """The corridor, in episodes of twenty steps."""

    time_limit: Any = eqx.field(static=True, default=20)


def field(name: str, change: Callable[[Any], Any], where: tuple[str, ...] = ("step",)) -> Callable[..., Any]:
    """One field of the timesteps of some methods becomes something else."""

    def spoil(at: str, key: Any, before: Any, result: Any) -> Any:
        if at not in where:
            return result
        return result[0], eqx.tree_at(lambda t: getattr(t, name), result[1], replace_fn=change)

    return spoil


def returned(where: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
    """A method returns something else."""
    return lambda at, key, before, result: change(result) if at == where else result


def python_if(result: Any) -> Any:
    return result if result[0] > 3 else (result[0] + 1, result[1])


def numpy_on_a_tracer(result: Any) -> Any:
    return np.asarray(result[0]), result[1]


def raising(result: Any) -> Any:
    raise ZeroDivisionError("by hand\nand more")


class Wide(Walk):
    """A corridor one of whose spaces is shaped by a number."""

    wide: Any = 10
    shaped: str = eqx.field(static=True, default="")
    space: Callable[[Any], Any] = eqx.field(static=True, default=Discrete)

    @property
    def observation_space(self) -> Any:
        return self.space(self.wide) if self.shaped == "observation_space" else super().observation_space

    @property
    def action_space(self) -> Any:
        return self.space(self.wide) if self.shaped == "action_space" else super().action_space


@pytest.mark.parametrize("name", ["observation_space", "action_space"])
@pytest.mark.parametrize(
    ("wide", "space"),
    [
        (10, Discrete),
        (3.0, lambda wide: Box(-wide, wide, (1,))),
        (np.float32(3.0), lambda wide: Box(-float(wide), float(wide), (1,))),
        (jnp.float32(3.0), lambda wide: Box(np.asarray(-wide), 9.0, (1,))),
        (np.full(2, 3.0), lambda wide: Box(0.0, wide, (2,))),
        (np.full(2, 3), lambda wide: Dict({"x": MultiDiscrete(wide.tolist())})),
    ],
)
def test_a_number_that_shapes_a_space_has_to_be_structure(name, wide, space):
    env = Wide(wide=wide, shaped=name, space=space)
    with pytest.raises(ConfigError, match=f"env: got 'Wide'; {name} depends on wide, which environments of one prog"):
        check_shapes(env)
    with pytest.raises(ContractError, match=r"make it structure, eqx.field\(static=True\), of plain numbers"):
        ks.check_env(env)


def test_a_number_that_shapes_no_space_may_be_any():
    check_shapes(Wide(wide=3.0))
    check_shapes(Wide(wide=np.zeros(3)))


BOTH = ("reset", "step")
COUNT = "a value that is not known before it runs is an index or a count of Python's: index an array of jax.numpy, and"
BROKEN = {
    "vector reward": (field("reward", lambda r: r[None]), "step: reward must be a float32 scalar, got float32[1]"),
    "whole reward": (field("reward", lambda r: jnp.int32(1)), "step: reward must be a float32 scalar, got int32[]"),
    "no reward": (field("reward", lambda r: None), "step: reward must be a float32 scalar, got None"),
    "int terminated": (field("terminated", jnp.int32), "step: terminated must be a bool scalar, got int32[]"),
    "float terminated": (field("terminated", jnp.float32), "step: terminated must be a bool scalar, got float32[]"),
    "int truncated": (field("truncated", jnp.int32, BOTH), "reset: truncated must be a bool scalar, got int32[]"),
    "uint8 index": (field("obs", jnp.uint8, BOTH), "reset: observation uint8[] is outside Discrete(n=10)"),
    "float index": (field("obs", jnp.float32, BOTH), "reset: observation float32[] is outside Discrete(n=10)"),
    "vector index": (field("obs", lambda o: o[None], BOTH), "reset: observation int32[1] is outside Discrete(n=10)"),
    "other index later": (field("obs", jnp.uint8), "step: observation uint8[] is outside Discrete(n=10)"),
    "a reset with info": (
        returned("reset", lambda r: (r[0], {})),
        "reset must return (state, Timestep), got a tuple of 2",
    ),
    "a reset that is swapped": (
        returned("reset", lambda r: r[::-1]),
        "reset must return (state, Timestep), got a tuple of 2",
    ),
    "a reset that is one": (returned("reset", lambda r: r[0]), "reset must return (state, Timestep), got "),
    "a step of five": (
        returned("step", lambda r: (*r, 0, 0, {})),
        "step must return (state, Timestep), got a tuple of 5",
    ),
    "a step of four": (
        returned("step", lambda r: (*r, False, {})),
        "step must return (state, Timestep), got a tuple of 4",
    ),
    "a list": (returned("step", list), "step must return (state, Timestep), got a list of 2"),
    "None": (returned("step", lambda r: None), "step must return (state, Timestep), got None"),
    "Python's if": (returned("step", python_if), "step: a value that is not known before it runs decides what Python"),
    "NumPy": (returned("step", numpy_on_a_tracer), "step: NumPy is given a value that is not known before it runs"),
    "int()": (
        returned("step", lambda r: (int(r[0]), r[1])),
        "step: a value that is not known before it runs has to be a number of Python's, as for int(), float(), .item()",
    ),
    "a text in the state": (
        returned("reset", lambda r: ({"name": "x", "at": r[0]}, r[1])),
        "reset: state['name'] is 'x', which is no array; a static field of the environment may hold it;",
    ),
    "an index of a list": (returned("step", lambda r: ([1, 2][r[0]], r[1])), f"step: {COUNT}"),
    "Python's range": (returned("step", lambda r: (range(r[0]), r[1])), f"step: {COUNT}"),
    "a part by conditions": (
        returned("step", lambda r: (jnp.arange(3)[jnp.arange(3) > r[0]], r[1])),
        "step: an array is indexed by conditions, so that its length would depend on values: use jnp.where",
    ),
    "a field that is set": (
        returned("step", lambda r: setattr(Walk(), "time_limit", 3)),
        "step: it sets a field of its own, which would be shared by all that step it: put what changes into the state",
    ),
    "an error": (returned("step", raising), "step: raised ZeroDivisionError: by hand"),
    "a state of another shape": (
        returned("step", lambda r: (r[0][None], r[1])),
        "step: the state's structure, shapes or dtypes change: [('', (), 'int32')] became [('', (1,), 'int32')]",
    ),
    "a state of another dtype": (returned("step", lambda r: (jnp.float32(r[0]), r[1])), "step: the state's structure"),
}
BOX = Box(-1.0, 1.0, (3,))


def changed(part: Any) -> Dict:
    """A space whose part was put in when it was there."""
    space = Dict({"a": BOX})
    space.spaces["a"] = part
    return space


SPACES = {
    "a number": ((10, Discrete(2)), "observation_space is 10: use Discrete, MultiDiscrete, Box or Dict of kousoku"),
    "none": ((Discrete(10), None), "action_space is None: use Discrete"),
    "one of NumPy's": ((changed(np.zeros(3)), Discrete(2)), "observation_space['a'] is a numpy.ndarray: use"),
    "another shape": ((BOX, Discrete(2)), "reset: observation int32[] is outside Box(low=-1.0"),
    "another structure": ((Dict({"a": BOX}), Discrete(2)), "reset: observation int32[] is outside Dict("),
    "several indices": ((MultiDiscrete((3, 3)), Discrete(2)), "reset: observation int32[] is outside MultiDiscrete"),
}


def refused(env: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check_shapes(env)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("spoil", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_named_in_one_line(spoil, told):
    said = refused(Walk(spoil))
    assert said.startswith(f"env: got 'Walk'; {told}")
    assert said.endswith("; kousoku.check_env tells all")


@pytest.mark.parametrize(("spaces", "told"), SPACES.values(), ids=SPACES)
def test_spaces_are_ours_and_observations_in_them_by_shape_and_dtype(spaces, told):
    assert refused(Walk(spaces=spaces)).startswith(f"env: got 'Walk'; {told}")


def test_gymnasiums_spaces_and_environments_are_named_as_such():
    gymnasium = pytest.importorskip("gymnasium")
    assert "observation_space is a gymnasium.Discrete: use" in refused(Walk(spaces=(gymnasium.spaces.Discrete(3), 1)))
    assert "it is gymnasium's: give kousoku.from_gymnasium(...) of it" in refused(gymnasium.make("CartPole-v1"))


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "5", 2**31])
def test_a_time_limit_is_none_or_a_count(limit):
    assert "time_limit is " in refused(Walk(time_limit=limit))


class WithWeights(Walk):
    """It holds an array where structure is, which JAX compares by `==`."""

    weights: Any = eqx.field(static=True, default_factory=lambda: np.arange(2.0))


def test_an_array_is_no_structure():
    with warnings.catch_warnings(action="ignore"):  # Equinox says it, too
        told = refused(WithWeights())
    assert "weights is an array in a static field: make it a leaf, or a tuple of numbers" in told


class Restarting(Walk):
    """Its second episode begins in another form."""

    def restart(self, key, state):
        return jnp.float32(state), self.reset(key)[1]


class Undecided(Walk):
    """Its space is not ready."""

    @property
    def action_space(self) -> Any:
        raise RuntimeError("not yet")


def test_restarts_and_properties():
    assert "restart: it gives other shapes or dtypes than reset: " in refused(Restarting())
    assert "action_space: raised RuntimeError: not yet" in refused(Undecided())


def test_what_is_no_environment():
    assert refused(Walk) == "env: got 'Walk'; that is the class; make one of it: Walk(...)"
    for thing in (None, 3, {}, jnp.zeros(3), ks.make("GridWorld-v0").model()):
        assert refused(thing).endswith("; give an id or a kousoku.Env")


def test_a_refusal_of_the_environments_own_stays():
    def spoil(*given: Any) -> Any:
        raise ConfigError("cells", 10, "use 11")

    assert refused(Walk(spoil)) == "cells: got 10; use 11"


class Unusual(ks.Env):
    """Breaks no rule: Dict observations of whole numbers in a float box, weak types, a key in the state, info later."""

    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Dict:
        return Dict({"place": MultiDiscrete((3, 3)), "pixels": Box(0, 255, (4,), np.uint8), "count": Box(0.0, 9.0)})

    @property
    def action_space(self) -> Dict:
        return Dict({"go": Discrete(2), "push": Box(-1.0, 1.0, (2,))})

    def reset(self, key):
        return {"key": key, "n": 0}, self._timestep(0.0)

    def step(self, key, state, action):
        return {"key": key, "n": state["n"] + action["go"]}, self._timestep(1.0, {"x": 1.0})

    def _timestep(self, reward: float, info: Any = None) -> Timestep:
        obs = {"place": jnp.zeros(2, jnp.int32), "pixels": jnp.zeros(4, jnp.uint8), "count": jnp.int32(3)}
        whole = Timestep(obs, jnp.float32(reward), jnp.array(False), jnp.array(False), info)
        return eqx.tree_at(lambda t: (t.reward, t.terminated, t.truncated), whole, (reward, False, False))


def test_what_breaks_no_rule_passes():
    with jax.numpy_dtype_promotion("standard"):
        for env in (Walk(), Unusual(), *map(ks.make, ("CartPole-v1", "Blackjack-v1", "Ant-v5"))):
            check_shapes(env)


def test_nothing_is_compiled():
    compiled = []
    check_shapes(Walk())
    jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiled.append(event))
    check_shapes(Walk(time_limit=21))
    assert not [event for event in compiled if "backend_compile" in event]


@pytest.mark.full("covered")
def test_the_front_door_asks_before_anything_is_written():
    bad = Walk(field("terminated", jnp.int32))
    told = "env: got 'Walk'; step: terminated must be a bool scalar, got int32"
    with pytest.raises(ConfigError, match=told):
        ks.train("q_learning", bad, steps=100, out="run")
    assert not os.path.exists("run")
    ks.train("q_learning", Walk(), steps=100, out="run", eval_episodes=0)
    calls = {
        "resume": lambda env: ks.resume("run", steps=200, env=env),
        "evaluate": lambda env: ks.evaluate("run", 2, env=env),
        "load_policy": lambda env: ks.load_policy("run", env=env),
    }
    for call in calls.values():
        with pytest.raises(ConfigError, match=told):
            call(bad)


class Knowing(Walk):
    """Its methods use a number of it: `use` says how."""

    count: Any = 3
    use: Callable[[Any, Any], Any] = eqx.field(static=True, default=lambda count, cell: cell + 0 * count)
    where: str = eqx.field(static=True, default="step")

    def reset(self, key):
        cell, timestep = super().reset(key)
        return (self.use(self.count, cell) if self.where == "reset" else cell), timestep

    def step(self, key, state, action):
        there, timestep = super().step(key, state, action)
        return (self.use(self.count, there) if self.where == "step" else there), timestep


NEEDED = {
    "if": lambda count, cell: cell + 1 if count > 2 else cell,
    "range": lambda count, cell: sum(range(count)) + cell,
    "shape": lambda count, cell: cell + jnp.zeros(count, jnp.int32).sum(),
    "int": lambda count, cell: cell + int(count),
}


@pytest.mark.parametrize("where", ["reset", "step"])
@pytest.mark.parametrize("use", NEEDED.values(), ids=NEEDED)
def test_a_number_that_python_has_to_know_is_named(use, where):
    told = refused(Knowing(use=use, where=where))
    assert f"'Knowing'; {where}: count decides what Python does" in told
    assert "make it structure, eqx.field(static=True)" in told
    with pytest.raises(ContractError, match=f"{where}: count decides what Python does"):
        ks.check_env(Knowing(use=use, where=where))


@pytest.mark.parametrize("count", [3, 2.5, np.float32(1), np.arange(3)[1], jnp.int32(2)])
def test_a_number_that_only_arrays_use_may_be_any(count):
    check_shapes(Knowing(count=count, use=lambda count, cell: cell + jnp.int32(count)))


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({1, 2}, "extra is a set, which has no hash to know a compiled program by: use a tuple or a frozenset"),
        (bytearray(b"x"), "extra is a bytearray, which has no hash"),
        (np.array(["a"]), "extra is an array of <U1: use numbers, or a tuple in a static field"),
        (np.array([None]), "extra is an array of object: use numbers"),
    ],
)
def test_a_field_that_no_program_can_be_known_by_is_named(held, told):
    class Holding(Walk):
        extra: Any = None

    assert told in refused(Holding(extra=held))
    check_shapes(Holding(extra=frozenset({1, 2})))
    check_shapes(Holding(extra={"a": "b", "c": [1, 2.0]}))


@pytest.mark.parametrize("held", [{"a": [1, 2]}, [1, "b"], ({},), jnp.tanh])
def test_structure_may_be_anything_that_can_be_compared(held):
    class Holding(Walk):
        extra: Any = eqx.field(static=True, default=None)

    env = Holding(extra=held)
    check_shapes(env)
    check_shapes(Idle(env))
    ks.check_env(env, steps=5)


class Idle(ks.Wrapper):
    """It changes nothing, or what it is told to."""

    change: Callable[[Any], Any] = eqx.field(static=True, default=lambda result: result)

    def step(self, key, state, action):
        return self.change(self.env.step(key, state, action))


def doubled_reward(result: Any) -> Any:
    return result[0], eqx.tree_at(lambda t: t.reward, result[1], replace_fn=lambda reward: jnp.stack([reward, reward]))


@pytest.mark.by_default("CartPole*", "HalfCheetah*")
@pytest.mark.parametrize("inside", ["CartPole-v1", "MinAtar/Breakout-v1", "HalfCheetah-v5", "Ant-v5"])
def test_an_own_wrapper_around_the_librarys_is_looked_at_without_tracing_their_steps(inside, monkeypatch):
    env = ks.make(inside)
    called = []
    monkeypatch.setattr(type(env), "step", counted(type(env).step, called))
    check_shapes(Idle(env))
    assert not called
    told = refused(Idle(env, change=doubled_reward))
    assert "step: reward must be a float32 scalar, got float32[2]" in told
    assert called, "what is told is of the step itself"


def counted(step: Callable[..., Any], called: list[Any]) -> Callable[..., Any]:
    def call(self, *args):
        called.append(1)
        return step(self, *args)

    call.__module__ = step.__module__
    return call


def test_a_wrapper_may_read_the_info_of_a_step():
    """A reset of a robot tells none: then the robot's own step is traced."""

    def with_info(result: Any) -> Any:
        return result[0], eqx.tree_at(lambda t: t.reward, result[1], result[1].reward + result[1].info.x_position)

    check_shapes(Idle(ks.make("HalfCheetah-v5"), change=with_info))
    told = refused(Idle(ks.make("CartPole-v1"), change=with_info))
    assert "step: raised AttributeError" in told


def test_a_base_may_leave_the_time_limit_open():
    class Open(ks.Env):
        time_limit: eqx.AbstractVar[int | None]

    class Closed(Base):
        time_limit: int | None = 5

    assert Closed().time_limit == 5
    assert issubclass(Open, ks.Env)


def test_an_own_reset_of_a_library_environment_is_looked_at():
    class Late(type(ks.make("CartPole-v1"))):
        def reset(self, key):
            state, timestep = super().reset(key)
            return state, eqx.tree_at(lambda t: t.terminated, timestep, jnp.float32(0))

    assert "reset: terminated must be a bool scalar, got float32[]" in refused(Late())


@pytest.mark.parametrize("limit", [None, 7])
def test_a_time_limit_is_structure_however_it_is_written(limit):
    class Plain(Base):
        time_limit: int | None = limit

    class Given(Base):
        time_limit: int | None

    class Static(Base):
        time_limit: int | None = eqx.field(static=True, default=limit)

    class Property(Base):
        @property
        def time_limit(self):
            return limit

    for env in (Plain(), Given(limit), Static(), Property()):
        assert env.time_limit == limit
        assert not jax.tree.leaves(env)
        check_shapes(env)


class Base(ks.Env):
    """A coin, without a time limit yet."""

    observation_space = property(lambda self: Discrete(1))
    action_space = property(lambda self: Discrete(2))

    def reset(self, key):
        return (), Timestep(jnp.int32(0), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        return state, Timestep(jnp.int32(0), action.astype(jnp.float32), jnp.array(False), jnp.array(False))


def test_a_time_limit_that_is_worked_out_of_a_number_is_named():
    class Worked(Base):
        seconds: float = 2.0

        @property
        def time_limit(self):
            return int(self.seconds / 0.1)

    assert "time_limit depends on seconds" in refused(Worked())


class Misordered(Walk):
    """Takes the arguments of a step in another order."""

    def step(self, state, action, key):
        return super().step(key, state, action)


def test_arguments_in_another_order_are_named():
    told = "step: its arguments are (state, action, key); write them as (key, state, action)"
    assert refused(Misordered()) == f"env: got 'Misordered'; {told}; kousoku.check_env tells all"


def test_the_line_of_ones_own_code_is_told():
    lines, first = inspect.getsourcelines(raising)
    at = f"(test_env_shapes.py, line {first + 1}: {lines[1].strip()})"
    spoiled = Walk(returned("step", raising))
    assert (
        refused(spoiled)
        == f"env: got 'Walk'; step: raised ZeroDivisionError: by hand {at}; kousoku.check_env tells all"
    )
    with pytest.raises(ks.ContractError) as caught:
        ks.check_env(spoiled)
    assert str(caught.value).endswith(f"step: raised ZeroDivisionError: by hand {at}")


def test_an_error_of_none_of_ones_own_lines_has_no_line():
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("[")
    assert own_line(caught.value).endswith(': json.loads("[")')
    inside = caught.value.__traceback__.tb_next
    assert own_line(caught.value.with_traceback(inside)) == ""
