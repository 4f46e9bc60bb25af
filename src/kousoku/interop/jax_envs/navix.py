"""Environments of Navix."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from ...core.env import EnvSpec
from ...core.errors import ConfigError
from ...core.promotion import their_promotion
from ...core.scene import Scene
from ...core.spaces import Box
from ...core.timestep import Timestep
from .foreign import Foreign, ForeignEnv, call, check_id, checked_limit, imported, recipe, shapes_of
from .spaces import acted, observed

LIBRARY, LOWEST = "navix", "0.7.0"
SYMBOLS = Box(0, 254, (), np.uint8)
"""Bounds of numbers of things, colours and states, 254 of a locked door; they are no brightness up to 255."""
TERMINATION = 2
"""Navix's `StepType.TERMINATION`; 1 is its truncation, which is left to our time limit."""


class NavixEnv(ForeignEnv):
    """An environment of Navix, whose state is its timestep.

    Its step begins a new episode after one that has ended; as training does so before, it is told that none has.

    Attributes:
        theirs, their_spec, time_limit: see `ForeignEnv`.
    """

    theirs: Foreign = eqx.field(static=True)
    their_spec: EnvSpec
    time_limit: int | None = eqx.field(static=True)

    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        timestep = self.theirs.it.reset(key)
        return timestep, timestep.observation

    def restart(self, key: PRNGKeyArray, state: Any) -> tuple[Any, Timestep]:
        """Begins an episode with the pictures of tiles of the one before it, as their own step does."""
        with their_promotion():
            timestep = self.theirs.it.reset(jax.random.key_data(key), state.state.cache)
            return self._begun(timestep, timestep.observation)

    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        del key  # its steps draw from the key in the state
        timestep = self.theirs.it.step(state.replace(step_type=jnp.int32(0)), action)
        return timestep, timestep.observation, timestep.reward, timestep.step_type == TERMINATION, False

    def scene(self, state: Any) -> Scene:
        """Draws the whole grid, in Navix's tiles."""
        with their_promotion():
            return Scene.of_pixels(_renderer()(state.state))


@functools.lru_cache
def _renderer() -> Any:
    """Returns Navix's program from a state to the pixels of its grid."""
    return jax.jit(_navix().observations.rgb)


def from_navix(env: Any, *, time_limit: int | None = None) -> NavixEnv:
    """Makes an environment of one of Navix's.

    Args:
        env: of `navix.make`.
        time_limit: steps after which an episode is truncated; by default its `max_steps`.

    Raises:
        ConfigError: for what is none of Navix's.
    """
    return _wrapped(env, time_limit, None)


@their_promotion()
def _wrapped(env: Any, time_limit: int | None, made_from: str | None) -> NavixEnv:
    if not hasattr(env, "max_steps") or not hasattr(env, "observation_space"):
        raise ConfigError("env", type(env).__name__, "give an environment of navix.make")
    limit = checked_limit(env.max_steps if time_limit is None else time_limit)
    # what Navix says of the bounds of symbols is not so for all of them
    bounds = None if "rgb" in getattr(env.observation_fn, "__name__", "") else SYMBOLS
    spec = EnvSpec(observed(shapes_of(env, env.reset).observation, bounds), acted(env.action_space), limit)
    return NavixEnv(theirs=Foreign(env, made_from), their_spec=spec, time_limit=limit)


def ids() -> list[str]:
    """Returns the ids of all environments of the installed Navix."""
    return sorted(_navix().registry())


@their_promotion()
def make(id: str, *, time_limit: int | None = None, **options: Any) -> NavixEnv:
    """Makes one of Navix's environments by its id.

    Args:
        id: as of `navix.make`.
        time_limit: steps after which an episode is truncated; by default Navix's.
        options: fields of the environment, such as `max_steps`.

    Raises:
        ConfigError: for an unknown id or option, or if Navix is not installed.
    """
    check_id(LIBRARY, id, ids())
    env = call(LIBRARY, id, lambda **options: _navix().make(id, **options), options)
    return _wrapped(env, time_limit, recipe(LIBRARY, id, options))


def _navix() -> Any:
    return imported(LIBRARY, "navix", "Navix", LOWEST)
