"""Environments: the two pure functions of one, and what is known about it beforehand."""

import dataclasses
import inspect
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from .as_text import in_a_line
from .errors import ConfigError
from .model import TabularModel
from .panel import Panel
from .scene import Scene
from .spaces import Space
from .timestep import Timestep


class EnvSpec(eqx.Module):
    """The facts that an agent may know of an environment before the first step."""

    observation_space: Space
    action_space: Space
    time_limit: int | None = eqx.field(static=True, default=None)

    def __repr__(self) -> str:
        return in_a_line(self)


if TYPE_CHECKING:

    class _Declared:
        """The attributes that a subclass gives as fields or as properties: see `kousoku.core.agent`."""

        time_limit: Any
        observation_space: Any
        action_space: Any

else:
    _Declared = object


class Env(eqx.Module, _Declared):
    """An environment: a frozen value whose arrays are leaves and whose structure is static.

    `reset` and `step` are pure functions of one environment, without a batch axis; `jax.vmap` makes many. They never
    reset by themselves and never apply a time limit: `kousoku.training` does both, in one place.

    Attributes:
        time_limit: steps after which an episode is truncated; None for no limit.
    """

    if not TYPE_CHECKING:
        time_limit: eqx.AbstractVar[int | None]

        @property
        @abstractmethod
        def observation_space(self) -> Space:
            """Where observations lie."""

        @property
        @abstractmethod
        def action_space(self) -> Space:
            """Where actions lie."""

    def __new__(cls, *args: Any, **kwargs: Any):
        """Refuses a class that is whole but for a time limit, in words that say how to write one."""
        del args, kwargs
        if set(cls.__abstractvars__) == {"time_limit"} and not inspect.isabstract(cls):
            raise ConfigError(f"{cls.__name__}.time_limit", ..., "write `time_limit: int | None = None` in the class")
        return super().__new__(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Makes a field `time_limit: int = 200` the structure that it always is, as `eqx.field(static=True)` does."""
        super().__init_subclass__(**kwargs)
        annotation = str(inspect.get_annotations(cls).get("time_limit", "Abstract"))
        if "Abstract" in annotation or "ClassVar" in annotation:
            return
        default = cls.__dict__.get("time_limit", dataclasses.MISSING)
        if default is dataclasses.MISSING or default is None or isinstance(default, int):
            cls.time_limit = eqx.field(static=True, default=default)

    def __repr__(self) -> str:
        return in_a_line(self)

    def __hash__(self) -> int:
        """Hashes structure and numbers, arrays too: `jax.jit(env.step)` asks for it."""
        leaves, structure = jax.tree.flatten(self)
        return hash((structure, *map(_hashable, leaves)))

    @abstractmethod
    def reset(self, key: PRNGKeyArray) -> tuple[Any, Timestep]:
        """Begins an episode: returns the state and the first timestep (reward 0, not ended)."""

    @abstractmethod
    def step(self, key: PRNGKeyArray, state: Any, action: PyTree[Array]) -> tuple[Any, Timestep]:
        """Takes one action: returns the next state and what came of it."""

    def restart(self, key: PRNGKeyArray, state: Any) -> tuple[Any, Timestep]:
        """Begins the next episode of an environment that has already been used.

        The one method with a default, a plain `reset`. An environment that changes over its lifetime (a maze whose
        wall moves at step 1000) keeps its clock here.
        """
        del state
        return self.reset(key)

    def world_at(self, state: Any) -> "Env":
        """Returns the environment as it is in a concrete state, or, for None, as a reset begins it, changing no more.

        One that does not change over its lifetime is itself, always, and need not say so.
        """
        del state
        return self

    def is_out_of_time(self, state: Any, steps: Int[Array, ""]) -> Bool[Array, ""]:
        """Returns whether the clock of an episode has run out: by itself, once it has as many steps as the time limit.

        A wrapper that takes fewer steps inside than a step of its own may stand for says otherwise.

        Args:
            state: after the last step.
            steps: that the episode has.
        """
        del state
        return jnp.array(False) if self.time_limit is None else steps >= self.time_limit

    @property
    def records_info(self) -> bool:
        """Whether runs record the means of its info by default, as agents are measured by them."""
        return False

    @property
    def spec(self) -> EnvSpec:
        """Spaces and time limit in one struct."""
        return EnvSpec(self.observation_space, self.action_space, self.time_limit)


def _hashable(leaf: Any) -> Any:
    """Returns the bytes of a concrete array, and anything else as it is; a tracer says itself that it has no hash."""
    if not isinstance(leaf, np.ndarray | jax.Array) or isinstance(leaf, jax.core.Tracer):
        return leaf
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf).tobytes()


@runtime_checkable
class Finite(Protocol):
    """An environment with finitely many states that tells its exact transition probabilities."""

    def model(self) -> TabularModel:
        """Returns the exact model of the world that a reset begins in, indexed by the environment's index observation.

        That of a later one, where it changes, is `env.world_at(state).model()`.
        """
        ...

    def panels(self) -> tuple[Panel, ...]:
        """Returns how the states lie in a picture."""
        ...


@runtime_checkable
class Drawable(Protocol):
    """An environment that can be drawn."""

    def scene(self, state: Any) -> Scene:
        """Returns what to draw for a concrete (not traced) state."""
        ...
