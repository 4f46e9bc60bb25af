"""Environments that run on the host: objects in Python, stepped together between programs, never in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import PRNGKeyArray

from .env import Env
from .errors import ConfigError
from .spaces import Space, element_like
from .timestep import Timestep

Leaves = Sequence[np.ndarray]
"""The arrays that an observation or an action consists of, each [V, ...] of V environments, in the order of
`jax.tree.leaves`: of a Dict in the order of its names."""


class Starts(NamedTuple):
    """The first whole numbers of the spaces of a library's environment, whose indices begin at 0 here.

    Attributes:
        observation, action: of each part, in the order of `jax.tree.leaves`: a number, one for each entry, or None
            where it is 0 or the part has no indices.
    """

    observation: tuple[int | tuple[int, ...] | None, ...]
    action: tuple[int | tuple[int, ...] | None, ...]


@runtime_checkable
class HostVector(Protocol):
    """V environments that begin and step together. Arrays that it has given are never written to again."""

    @abstractmethod
    def reset(self, slots: Sequence[int] | None = None) -> Leaves:
        """Begins an episode in some of the environments, or in all: their first observations, [len(slots), ...]."""

    @abstractmethod
    def step(self, actions: Leaves) -> tuple[Leaves, np.ndarray, np.ndarray, np.ndarray]:
        """Takes one action in each environment; none begins a new episode by itself.

        Returns:
            (observations, reward, terminated, truncated): what each action led to, also where that ends an episode;
            float32 [V]; why an episode ended, if it did, bool [V] each.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the environments, and the processes that they run in."""


@runtime_checkable
class DrawnHostVector(HostVector, Protocol):
    """Environments on the host of which the first can be drawn."""

    @property
    @abstractmethod
    def dt(self) -> float | None:
        """Seconds that a step lasts, or should be shown; None where that is not known."""

    @abstractmethod
    def pixels(self) -> np.ndarray:
        """Draws the first environment as it is now: uint8 [height, width, 3]."""


class HostEnv(Env):
    """An environment that is a Python object on the host: no program can hold it, so that none steps it.

    Training asks for a vector of as many as it has slots, has a program choose actions, and steps the vector between.
    Methods of one environment give shapes where they are traced, and nothing else.

    Attributes:
        name: what it is called, in messages and records.
        observations, actions: where these lie.
        make_vector: from one seed for each of V environments to the vector of them.
        count: how many environments there are, of a vector that exists already; None for as many as are asked for.
        make_drawn: as `make_vector`, of environments that can be drawn; None where they cannot.
        starts: where their indices begin; None where all do at 0. A policy that is used outside of training reads it.
        time_limit: None: an environment on the host ends its episodes itself.
    """

    name: str = eqx.field(static=True)
    observations: Space
    actions: Space
    make_vector: Callable[[Sequence[int]], HostVector] = eqx.field(static=True)
    count: int | None = eqx.field(static=True, default=None)
    make_drawn: Callable[[Sequence[int]], DrawnHostVector] | None = eqx.field(
        static=True, default=None, metadata={"told": False}
    )
    starts: Starts | None = eqx.field(static=True, default=None, metadata={"told": False})
    time_limit: int | None = eqx.field(static=True, default=None, init=False)

    def __check_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError("name", self.name, "use a text, or leave it out")

    @property
    def observation_space(self) -> Space:
        return self.observations

    @property
    def action_space(self) -> Space:
        return self.actions

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Timestep]:
        """Gives the shapes of a first timestep, where it is traced.

        Raises:
            ConfigError: where it is not.
        """
        return (), self._timestep(key)

    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Timestep]:
        """Gives the shapes of a timestep, where it is traced.

        Raises:
            ConfigError: where it is not.
        """
        del state, action
        return (), self._timestep(key)

    def _timestep(self, key: PRNGKeyArray) -> Timestep:
        def refuse(*_: Any) -> NoReturn:
            fix = "it lives on the host, where only `train` and `evaluate` step it: use the library's own object"
            raise ConfigError("env", self.name, fix)

        if not isinstance(key, Tracer):
            refuse()
        obs = element_like(self.observations)
        reward, flag = (jax.ShapeDtypeStruct((), dtype) for dtype in (np.float32, np.bool_))
        obs, reward, flag = jax.pure_callback(refuse, (obs, reward, flag), vmap_method="broadcast_all")
        return Timestep(obs, reward, flag, flag)
