"""Other JAX libraries' own wrappers and parameters: what is kept of them, what is taken off, what is refused.

The environments here have the libraries' protocols, and the wrappers their names and their ways to the inside.
"""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.spaces import Box, Dict
from kousoku.interop.jax_envs import foreign
from kousoku.interop.jax_envs.gymnax import replaced

LIMIT = 3


class Record(eqx.Module):
    """A struct with `replace`, as those of Flax."""

    def replace(self, **changes: Any) -> Any:
        return dataclasses.replace(self, **changes)


class Params(Record):
    gravity: float = 9.8
    lit: bool = True
    max_steps_in_episode: int = LIMIT


class Clock:
    """An environment with gymnax's protocol that observes its time."""

    default_params = Params()

    def reset_env(self, key: Any, params: Any) -> Any:
        return jnp.zeros(1), jnp.int32(0)

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> Any:
        state = state + 1
        return jnp.float32(state)[None], state, jnp.float32(0), state >= params.max_steps_in_episode, {}

    step = step_env

    def observation_space(self, params: Any) -> Any:
        return SimpleNamespace(low=0.0, high=99.0, shape=(1,), dtype=jnp.float32)

    def action_space(self, params: Any) -> Any:
        return SimpleNamespace(n=2, shape=(), dtype=jnp.int32)


class GymnaxWrapper:
    """Gymnax's way to wrap: `reset` and `step` are its own, all else is that of the environment inside."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, *args: Any) -> Any:
        raise AssertionError("nobody calls it")


class LogWrapper(GymnaxWrapper):
    pass


class FlattenObservationWrapper(GymnaxWrapper):
    pass


class TestGymnax:
    def test_what_only_logs_is_taken_off(self):
        assert type(ks.from_gymnax(LogWrapper(LogWrapper(Clock()))).theirs.it) is Clock

    @pytest.mark.parametrize(
        "wrap", [FlattenObservationWrapper, lambda env: LogWrapper(FlattenObservationWrapper(env))]
    )
    def test_a_wrapper_that_its_steps_go_past_is_refused(self, wrap):
        with pytest.raises(ks.ConfigError, match="got 'FlattenObservationWrapper'; its step_env is that of the env"):
            ks.from_gymnax(wrap(Clock()))

    def test_a_wrapper_with_steps_of_its_own_is_kept(self):
        class Doubled(GymnaxWrapper):
            def step_env(self, *args: Any) -> Any:
                obs, *rest = self._env.step_env(*args)
                return 2 * obs, *rest

        env = ks.from_gymnax(Doubled(Clock()))
        state, _ = env.reset(jax.random.key(0))
        assert env.step(jax.random.key(1), state, jnp.int32(0))[1].obs.tolist() == [2.0]

    @pytest.mark.parametrize("params", [3, SimpleNamespace(gravity=1.0)])
    def test_parameters_of_something_else_are_refused(self, params):
        with pytest.raises(ks.ConfigError, match=r"^params: got"):
            ks.from_gymnax(Clock(), params)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("gravity", "x"),
            ("gravity", None),
            ("gravity", True),
            ("gravity", [1.0]),
            ("gravity", float("nan")),
            ("lit", 3),
            ("max_steps_in_episode", "x"),
            ("max_steps_in_episode", 0),
            ("max_steps_in_episode", 2**31),
        ],
    )
    def test_an_option_that_is_no_number_is_refused(self, name, value):
        with pytest.raises(ks.ConfigError, match=f"^{name}: got"):
            replaced(Params(), {name: value})

    def test_options_that_are_numbers(self):
        given = {"gravity": np.float32(3), "lit": False, "max_steps_in_episode": 7}
        assert dataclasses.asdict(replaced(Params(), given)) == given
        assert replaced(Params(), {"gravity": jnp.float32(2), "lit": jnp.array(True)}).gravity == 2.0


class JumanjiStep(Record):
    observation: Any
    reward: Any
    discount: Any
    over: Any

    def last(self) -> Any:
        return self.over


class JumanjiClock:
    """An environment with Jumanji's protocol, whose time limit has the discount 0."""

    def __init__(self, time_limit: int = LIMIT) -> None:
        self.time_limit = time_limit

    action_spec = SimpleNamespace(num_values=2, shape=(), dtype=jnp.int32)
    observation_spec = SimpleNamespace(minimum=0, maximum=99, shape=(), dtype=jnp.int32)

    def reset(self, key: Any) -> Any:
        return jnp.int32(0), JumanjiStep(jnp.int32(0), jnp.zeros(2), jnp.float32(1), jnp.array(False))

    def step(self, state: Any, action: Any) -> Any:
        over = state + 1 >= self.time_limit
        return state + 1, JumanjiStep(state + 1, jnp.ones(2), jnp.where(over, 0.0, 1.0), over)


class MultiToSingleWrapper:
    def __init__(self, env: Any) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._env, name)

    def step(self, state: Any, action: Any) -> Any:
        state, timestep = self._env.step(state, action)
        return state, timestep.replace(reward=jnp.sum(timestep.reward))


class AutoResetWrapper(MultiToSingleWrapper):
    pass


class VmapWrapper(MultiToSingleWrapper):
    pass


class TestJumanji:
    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_the_clock_does_not_end_the_task_in_wrappers_either(self, depth):
        theirs: Any = JumanjiClock()
        for _ in range(depth):
            theirs = MultiToSingleWrapper(theirs)
        env = ks.from_jumanji(theirs)
        state, _ = env.reset(jax.random.key(0))
        for step in range(LIMIT + 1):
            state, timestep = env.step(jax.random.key(1), state, jnp.int32(0))
            assert (int(timestep.obs), float(timestep.reward)) == (step + 1, 2.0)
            assert not (timestep.terminated | timestep.truncated)
        assert (env.time_limit, theirs.time_limit) == (LIMIT, LIMIT), "theirs is as it was"

    @pytest.mark.parametrize("kind", [AutoResetWrapper, VmapWrapper])
    @pytest.mark.parametrize("around", [lambda env: env, MultiToSingleWrapper])
    def test_what_resets_or_makes_many_is_refused_wherever_it_is(self, kind, around):
        with pytest.raises(ks.ConfigError, match=f"^env: got '{kind.__name__}'"):
            ks.from_jumanji(around(kind(JumanjiClock())))

    def test_methods_are_no_specs(self):
        theirs = SimpleNamespace(action_spec=print, observation_spec=print, reset=print)
        with pytest.raises(ks.ConfigError, match="Jumanji's observation_spec"):
            ks.from_jumanji(theirs)


class XGrid:
    """An environment with XLand-MiniGrid's protocol that observes symbols, a direction, and both by name."""

    def default_params(self) -> Any:
        return SimpleNamespace(max_steps=LIMIT)

    def num_actions(self, params: Any) -> int:
        return 2

    def reset(self, params: Any, key: Any) -> Any:
        jnp.zeros(params.max_steps)
        obs = {"img": jnp.zeros((5, 5, 2), jnp.uint8), "direction": jnp.zeros(4)}
        return JumanjiStep(obs, jnp.float32(0), jnp.float32(1), jnp.array(False))

    def step(self, params: Any, timestep: Any, action: Any) -> Any:
        return timestep


class GymAutoResetWrapper(MultiToSingleWrapper):
    pass


class TestXMiniGrid:
    def test_symbols_in_a_dict_are_no_brightness(self):
        symbols, direction = Box(0, 31, (5, 5, 2), np.uint8), Box(-np.inf, np.inf, (4,))
        assert ks.from_xminigrid(XGrid()).observation_space == Dict({"direction": direction, "img": symbols})

    def test_auto_reset_is_refused_inside_too(self):
        with pytest.raises(ks.ConfigError, match="got 'GymAutoResetWrapper'"):
            ks.from_xminigrid(MultiToSingleWrapper(GymAutoResetWrapper(XGrid())))

    def test_parameters_that_its_reset_cannot_use(self):
        with pytest.raises(ks.ConfigError, match=r"^env: got 'XGrid'; its reset raises AttributeError: 'int' object"):
            ks.from_xminigrid(XGrid(), 3)


class BraxState(Record):
    obs: Any
    reward: Any
    done: Any


class BraxClock:
    action_size = 1

    def reset(self, key: Any) -> Any:
        return BraxState(jnp.zeros(1), jnp.float32(0), jnp.float32(0))

    def step(self, state: Any, action: Any) -> Any:
        return state


class BraxBroken(BraxClock):
    def step(self, state: Any, action: Any) -> Any:
        return state.replace(reward=state.reward + "x")


def test_what_their_step_raises_is_one_line():
    """As with an option of theirs that is of no use: only a step tells."""
    env = ks.from_brax(BraxBroken())
    with pytest.raises(ks.ConfigError) as caught:
        ks.train("ppo", env, steps=2000, out="")
    assert re.fullmatch(r"env: got 'BraxBroken'; its step raises TypeError: unsupported .*", str(caught.value))


class EpisodeWrapper:
    def __init__(self, env: Any, episode_length: int) -> None:
        self.env, self.episode_length, self.action_repeat = env, episode_length, 1


@pytest.mark.parametrize(("given", "limit"), [({}, 50), ({"time_limit": 20}, 20), ({"time_limit": None}, None)])
def test_a_time_limit_that_is_given_counts_more_than_that_of_braxs_wrapper(given, limit):
    assert ks.from_brax(EpisodeWrapper(BraxClock(), 50), **given).time_limit == limit
    assert ks.from_playground(EpisodeWrapper(BraxClock(), 50), time_limit=20).time_limit == 20
    assert ks.from_playground(EpisodeWrapper(BraxClock(), 50)).time_limit == 50


def test_time_limits_are_counted_with_32_bits():
    assert ks.from_brax(BraxClock(), time_limit=foreign.NEVER).time_limit == foreign.NEVER
    with pytest.raises(ks.ConfigError, match=r"^time_limit: got 2147483648; use a whole number .* at most 2147483647"):
        ks.from_brax(BraxClock(), time_limit=2**31)
