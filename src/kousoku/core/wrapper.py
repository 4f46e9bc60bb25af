"""Wrappers: environments around another one, and what is known of the innermost."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from .as_text import in_a_line
from .env import Env
from .errors import ConfigError
from .host import HostEnv
from .ours import is_ours
from .spaces import Space
from .timestep import Timestep


def _checked(env: Any) -> Env:
    if isinstance(env, HostEnv):
        fix = "it runs on the host: put its own library's wrappers around it, then hand it over"
        raise ConfigError("env", env.name, fix)
    if isinstance(env, Env):
        return env
    fix = f"make it first: kousoku.make({env!r})" if isinstance(env, str) else "wrap a kousoku.Env"
    raise ConfigError("env", env, fix)


class Wrapper(Env):
    """An environment that changes something about another one and leaves all else as it is.

    By itself it changes nothing. A subclass overrides what it changes; one with a state of its own keeps the other's in
    it and tells where, by `inner_state`.

    Films show the innermost environment, which `unwrapped` gives.

    Attributes:
        env: the other environment.

    Raises:
        ConfigError: if it is none, or one that runs on the host, where no program steps it.
    """

    env: Env = eqx.field(converter=_checked)

    def __repr__(self) -> str:
        return in_a_line(self, inside="env")

    @property
    def time_limit(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Steps after which an episode is truncated: those of the environment inside."""
        return self.env.time_limit

    @property
    def observation_space(self) -> Space:
        return self.env.observation_space

    @property
    def action_space(self) -> Space:
        return self.env.action_space

    @property
    def records_info(self) -> bool:
        """Whether runs record the means of the info of the environment inside."""
        return self.env.records_info

    @property
    def steps_per_action(self) -> int:
        """Steps that the environment inside takes for each step of this one, at most."""
        return 1

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Timestep]:
        """Begins an episode."""
        return self.env.reset(key)

    def restart(self, key: PRNGKeyArray, state: Any) -> tuple[Any, Timestep]:
        """Begins the next episode."""
        return self.env.restart(key, state)

    def step(self, key: PRNGKeyArray, state: Any, action: PyTree[Array]) -> tuple[Any, Timestep]:
        """Takes one action."""
        return self.env.step(key, state, action)

    def world_at(self, state: Any) -> Env:
        """Returns the wrapper around the environment inside as that is in a state."""
        inside = self.env.world_at(None if state is None else self.inner_state(state))
        return self if inside is self.env else dataclasses.replace(self, env=inside)

    def is_out_of_time(self, state: Any, steps: Int[Array, ""]) -> Bool[Array, ""]:
        """Returns whether the clock has run out: that of the environment inside, where the time limit is its own."""
        if type(self).time_limit is not Wrapper.time_limit:
            return super().is_out_of_time(state, steps)
        return self.env.is_out_of_time(self.inner_state(state), steps)

    def inner_state(self, state: Any) -> Any:
        """Returns the state of the environment inside; also of stacked states."""
        return state

    def inner_action(self, action: PyTree[Array]) -> PyTree[Array]:
        """Returns the action that the environment inside takes, as far as the action alone decides it."""
        return action


def unwrapped(env: Env) -> Env:
    """Returns the innermost environment: itself, where it is no wrapper."""
    while isinstance(env, Wrapper):
        env = env.env
    return env


def unwrapped_state(env: Env, state: Any) -> Any:
    """Returns the innermost environment's state from that of `env`; also of stacked states."""
    while isinstance(env, Wrapper):
        env, state = env.env, env.inner_state(state)
    return state


def unwrapped_action(env: Env, action: PyTree[Array]) -> PyTree[Array]:
    """Returns the action that the innermost environment takes where `env` is given one."""
    while isinstance(env, Wrapper):
        env, action = env.env, env.inner_action(action)
    return action


def wrappers_of(env: Env) -> list[Wrapper]:
    """Returns the wrappers around the innermost environment, outermost first."""
    found: list[Wrapper] = []
    while isinstance(env, Wrapper):
        found.append(env)
        env = env.env
    return found


def all_ours(env: Env) -> bool:
    """Returns whether an environment and all wrappers around it are the library's own."""
    return all(is_ours(type(each)) for each in (*wrappers_of(env), unwrapped(env)))


def steps_per_action(env: Env) -> int:
    """Returns how many steps the innermost environment takes for one of `env`, at most."""
    return int(np.prod([wrapper.steps_per_action for wrapper in wrappers_of(env)], initial=1, dtype=np.int64))


def kind_of(env: Env) -> str:
    """Returns the names of an environment's class and of those inside it, such as TimeLimit(CartPole).

    A class that is another one with pictures has the name of that, `kind_name`.
    """
    names = [getattr(type(each), "kind_name", type(each).__name__) for each in (*wrappers_of(env), unwrapped(env))]
    return "(".join(names) + ")" * (len(names) - 1)
