"""Environments of XLand-MiniGrid."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, PyTree

from ...core.env import EnvSpec
from ...core.errors import ConfigError
from ...core.promotion import their_promotion
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from .foreign import (
    Foreign,
    ForeignEnv,
    call,
    check_id,
    check_layers,
    checked_limit,
    imported,
    recipe,
    shapes_of,
)
from .spaces import observed

LIBRARY, LOWEST = "xminigrid", "0.9.0"
SYMBOLS = Box(0, 31, (), np.uint8)
"""Bounds of numbers of tiles and colours; they are no brightness up to 255."""


class XMiniGridEnv(ForeignEnv):
    """An environment of XLand-MiniGrid, whose state is its timestep.

    Attributes:
        params: its parameters.
        theirs, their_spec, time_limit: see `ForeignEnv`.
    """

    theirs: Foreign = eqx.field(static=True)
    their_spec: EnvSpec
    time_limit: int | None = eqx.field(static=True)
    params: Any

    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        timestep = self.theirs.it.reset(self.params, key)
        return timestep, timestep.observation

    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        del key  # its steps draw from the key in the state
        timestep = self.theirs.it.step(self.params, state, action)
        return timestep, timestep.observation, timestep.reward, timestep.last() & (timestep.discount == 0), False

    def scene(self, state: Any) -> Scene:
        """Draws the whole grid, in XLand-MiniGrid's tiles."""
        with their_promotion():
            return Scene.of_pixels(self.theirs.it.render(self.params.replace(render_mode="rgb_array"), state))


def from_xminigrid(env: Any, params: Any = None, *, time_limit: int | None = None) -> XMiniGridEnv:
    """Makes an environment of one of XLand-MiniGrid's.

    Args:
        env: of `xminigrid.make`, without a wrapper that resets it.
        params: its parameters; by default `env.default_params()`.
        time_limit: steps after which an episode is truncated; by default the parameters' `max_steps`.

    Raises:
        ConfigError: for what is none of XLand-MiniGrid's, or resets itself.
    """
    return _wrapped(env, params, time_limit, None)


@their_promotion()
def _wrapped(env: Any, params: Any, time_limit: int | None, made_from: str | None) -> XMiniGridEnv:
    if not callable(getattr(env, "num_actions", None)):
        raise ConfigError("env", type(env).__name__, "give an environment of xminigrid.make, without auto-reset")
    check_layers(env)
    params = env.default_params() if params is None else params
    obs = shapes_of(env, lambda key: env.reset(params, key)).observation
    limit = checked_limit(params.max_steps if time_limit is None else time_limit)
    spec = EnvSpec(observed(obs, _bounds_of(obs)), Discrete(int(env.num_actions(params))), limit)
    return XMiniGridEnv(theirs=Foreign(env, made_from), their_spec=spec, time_limit=limit, params=params)


def _bounds_of(obs: Any) -> Any:
    """Returns the bounds of what is observed, as far as they are known: of symbols, also among the parts of a dict."""
    if not isinstance(obs, Mapping):
        return SYMBOLS
    return SimpleNamespace(spaces={name: SYMBOLS for name, part in obs.items() if part.dtype == np.uint8})


def ids() -> list[str]:
    """Returns the ids of all environments of the installed XLand-MiniGrid."""
    return sorted(_xminigrid().registered_environments())


@their_promotion()
def make(id: str, *, time_limit: int | None = None, **options: Any) -> XMiniGridEnv:
    """Makes one of XLand-MiniGrid's environments by its id.

    Args:
        id: as of `xminigrid.make`.
        time_limit: steps after which an episode is truncated; by default XLand-MiniGrid's.
        options: parameters by name, such as `view_size`.

    Raises:
        ConfigError: for an unknown id or option, or if XLand-MiniGrid is not installed.
    """
    check_id(LIBRARY, id, ids())
    env, params = call(LIBRARY, id, lambda **options: _xminigrid().make(id, **options), options)
    return _wrapped(env, params, time_limit, recipe(LIBRARY, id, {}))


def _xminigrid() -> Any:
    return imported(LIBRARY, "xminigrid", "xminigrid", LOWEST)
