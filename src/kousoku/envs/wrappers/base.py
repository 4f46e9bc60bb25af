"""Wrappers of one kind: those that change observations only, and what keeps an exact model."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from ...core.env import Env, Finite
from ...core.errors import ConfigError
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.spaces import Bound, Box, Space
from ...core.timestep import Timestep
from ...core.wrapper import Wrapper, kind_of


class ObservationWrapper(Wrapper):
    """A wrapper that changes each observation by itself.

    The states are the same, so an exact model stays what it was: indexed by the states of the environment inside.
    """

    @property
    @abstractmethod
    def observation_space(self) -> Space:
        """Where observations lie."""

    @abstractmethod
    def observe(self, obs: PyTree[Array]) -> PyTree[Array]:
        """Returns what is seen instead of an observation."""

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Timestep]:
        """Begins an episode."""
        return self._seen(self.env.reset(key))

    def restart(self, key: PRNGKeyArray, state: Any) -> tuple[Any, Timestep]:
        """Begins the next episode."""
        return self._seen(self.env.restart(key, state))

    def step(self, key: PRNGKeyArray, state: Any, action: PyTree[Array]) -> tuple[Any, Timestep]:
        """Takes one action."""
        return self._seen(self.env.step(key, state, action))

    def model(self) -> TabularModel:
        """Returns the exact model of the environment inside."""
        return model_of(self.env)

    def panels(self) -> tuple[Panel, ...]:
        """Returns how the states of the environment inside lie in a picture."""
        return panels_of(self.env)

    def _seen(self, result: tuple[Any, Timestep]) -> tuple[Any, Timestep]:
        state, timestep = result
        return state, with_obs(timestep, self.observe(timestep.obs))


def with_obs(timestep: Timestep, obs: PyTree[Array]) -> Timestep:
    """Returns a timestep with another observation."""
    return Timestep(obs, timestep.reward, timestep.terminated, timestep.truncated, timestep.info)


def model_of(env: Env) -> TabularModel:
    """Returns an environment's exact model.

    Raises:
        ConfigError: if it has none.
    """
    if not isinstance(env, Finite):
        raise ConfigError("env", kind_of(env), "it tells no exact model; wrap one that does, such as a GridWorld")
    return env.model()


def panels_of(env: Env) -> tuple[Panel, ...]:
    """Returns how an environment's states lie in a picture; nothing where it has no finite number of them."""
    return env.panels() if isinstance(env, Finite) else ()


def box_of(wrapper: Wrapper, what: str, space: Space) -> Box:
    """Returns a space that has to be a Box.

    Args:
        wrapper: that needs it, for the message.
        what: the space's name.
        space: the space.

    Raises:
        ConfigError: if it is another one.
    """
    if isinstance(space, Box):
        return space
    hint = "; FlattenObservation makes one of any other" if what == "observation_space" else ""
    raise ConfigError(what, space, f"{type(wrapper).__name__} needs a Box{hint}")


def known_space() -> Any:
    """Makes a field for a space of the environment inside, to be set when the wrapper is made.

    Then all of its bounds are known. Within a program they may not be: they are made of the environment's numbers.
    """
    return eqx.field(static=True, init=False, repr=False)


def structural(name: str) -> Any:
    """Makes a field for a bound of a space: one number, or one for each entry. It is structure, as spaces are."""
    return eqx.field(static=True, converter=lambda value: _bound(name, value))


def _bound(name: str, value: Any) -> Bound:
    try:
        array = np.asarray(value, np.float64)
    except Exception as error:  # a tracer, a text, a ragged list: each raises something else
        raise ConfigError(
            name, value, "use a number, or one for each entry: it is structure, no traced array"
        ) from error
    if isinstance(value, bool) or np.isnan(array).any():
        raise ConfigError(name, value, "use a number, or one for each entry")
    return _nested(array.tolist())


def _nested(value: Any) -> Bound:
    return tuple(map(_nested, value)) if isinstance(value, list) else float(value)
