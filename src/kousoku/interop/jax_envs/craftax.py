"""Environments of Craftax: gymnax's protocol, without its auto-reset."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from typing import Any, ClassVar

import jax
import numpy as np

from ...core.errors import ConfigError, check_keys
from ...core.promotion import their_promotion
from ...core.scene import Scene
from .foreign import check_id, imported, recipe
from .gymnax import GymnaxEnv, numbers_of, replaced, without_log, wrapped

LIBRARY, LOWEST = "craftax", "1.5.0"
IDS = ("Craftax-Symbolic-v1", "Craftax-Pixels-v1", "Craftax-Classic-Symbolic-v1", "Craftax-Classic-Pixels-v1")


TILE = 16
"""Pixels of a tile's side in pictures; Craftax has 7 or 10, 16 and 64."""


class CraftaxEnv(GymnaxEnv):
    """An environment of Craftax, drawn by its own code."""

    kind_name: ClassVar[str] = "GymnaxEnv"

    def scene(self, state: Any) -> Scene:
        """Draws what the player sees, and what it carries."""
        with their_promotion():
            pixels = _renderer("classic" in type(self.theirs.it).__module__)(state)
        return Scene.of_pixels(np.clip(np.asarray(pixels), 0, 255).astype(np.uint8))


@functools.lru_cache
def _renderer(classic: bool) -> Any:
    """Returns Craftax's program from a state to pixels."""
    renderer = importlib.import_module(f"craftax.{'craftax_classic' if classic else 'craftax'}.renderer")
    return jax.jit(renderer.make_craftax_pixel_renderer(TILE))


def from_craftax(env: Any, params: Any = None, *, time_limit: int | None = None) -> GymnaxEnv:
    """Makes an environment of one of Craftax's; with or without its auto-reset, which is left out.

    Args:
        env: of Craftax.
        params: its parameters; by default `env.default_params`.
        time_limit: steps after which an episode is truncated; by default that of the parameters.

    Raises:
        ConfigError: for an environment that is none of Craftax's.
    """
    bare = without_log(env)
    if not type(bare).__module__.startswith(f"{LIBRARY}."):
        raise ConfigError("env", type(bare).__name__, "give one of Craftax's; ks.from_gymnax takes others")
    return wrapped(bare, params, time_limit, None, reads_limit=False, kind=CraftaxEnv)


def ids() -> list[str]:
    """Returns the ids of all environments."""
    return list(IDS)


@their_promotion()
def numbers(id: str) -> dict[str, float]:
    """Returns the parameters of an environment that are numbers, by name, with their values."""
    return numbers_of(_made(id).default_params)


@their_promotion()
def make(id: str, *, time_limit: int | None = None, **options: Any) -> GymnaxEnv:
    """Makes one of Craftax's environments by its id.

    Args:
        id: as of `craftax.craftax_env.make_craftax_env_from_name`.
        time_limit: steps after which an episode is truncated; by default Craftax's.
        options: parameters by name.

    Raises:
        ConfigError: for an unknown id or option, or if Craftax is not installed.
    """
    env = _made(id)
    params = env.default_params
    check_keys(f"option of {LIBRARY}:{id}", options, [*(f.name for f in dataclasses.fields(params)), "time_limit"])
    made_from = recipe(LIBRARY, id, {})
    return wrapped(env, replaced(params, options), time_limit, made_from, reads_limit=False, kind=CraftaxEnv)


def _made(id: str) -> Any:
    """Makes Craftax's own environment."""
    check_id(LIBRARY, id, IDS)
    module = imported(LIBRARY, "craftax.craftax_env", "craftax", LOWEST)
    return module.make_craftax_env_from_name(id, auto_reset=False)
