"""Environments of Brax, and of all that keep its protocol: a state that holds what is observed, and `done`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...core.env import EnvSpec
from ...core.errors import ConfigError
from ...core.promotion import their_promotion
from ...core.scene3d import Body3d
from ...core.spaces import Box
from ...physics.scene import compiled_body3d
from .foreign import Foreign, ForeignEnv, call, check_id, checked_limit, imported, recipe, shapes_of
from .pictures.robots import bodies_of, is_robot, model_of
from .spaces import observed

LIBRARY, LOWEST = "brax", "0.14.0"
TIME_LIMIT = 1000
"""Brax's `episode_length`."""


class BraxEnv(ForeignEnv):
    """An environment with Brax's protocol; actions are those that its own agents choose, in [-1, 1].

    Attributes:
        theirs, their_spec, time_limit: see `ForeignEnv`.
    """

    theirs: Foreign = eqx.field(static=True)
    their_spec: EnvSpec
    time_limit: int | None = eqx.field(static=True)

    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        state = self.theirs.it.reset(key)
        return state, state.obs

    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        del key  # Brax's steps draw from keys that they keep in the state
        after = self.theirs.it.step(state, action)
        info = getattr(after, "info", None)
        cut = info.get("truncation", 0) if isinstance(info, Mapping) else 0
        ended, cut = after.done > 0, jnp.asarray(cut).astype(jnp.bool_)
        return after, after.obs, after.reward, ended & ~cut, ended & cut


class BraxRobot(BraxEnv):
    """One that has a model of MuJoCo's and tells where its bodies are: it can be filmed."""

    @property
    def dt(self) -> float:
        """Seconds that a step lasts."""
        return float(self.theirs.it.dt)

    def body3d(self) -> Body3d:
        """Returns the geoms that MuJoCo shows; see `physics.scene.compiled_body3d`."""
        return compiled_body3d(model_of(self.theirs.it))

    def poses(self, state: Any) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Returns where the bodies are in the library's state; MJX's tells those from before its last small step."""
        bodies = bodies_of(state)
        assert bodies is not None  # `is_robot`
        positions, quaternions = bodies
        return positions.astype(jnp.float32), quaternions.astype(jnp.float32)

    def readings(self, state: Any) -> dict[str, Any]:
        """Returns the numbers that the library reports of a state, by name."""
        metrics = getattr(state, "metrics", {})
        return {str(name): value for name, value in metrics.items() if jnp.size(value) == 1}


def from_brax(env: Any, *, time_limit: int | None = TIME_LIMIT) -> BraxEnv:
    """Makes an environment of one with Brax's protocol.

    Brax's wrappers for episodes and auto-reset are taken off; a time limit that they set is kept, unless another one
    than Brax's is given here.

    Args:
        env: Brax's, or one with `reset(key)`, `step(state, action)` and `action_size`.
        time_limit: steps after which an episode is truncated; None for no limit.

    Raises:
        ConfigError: for what has not these methods, or a wrapper that makes many environments or several steps of one.
    """
    return wrapped(env, time_limit, None, chosen=time_limit != TIME_LIMIT)


@their_promotion()
def wrapped(env: Any, time_limit: int | None, made_from: str | None, chosen: bool = True) -> BraxEnv:
    """Makes an environment of one with Brax's protocol.

    Args:
        env, time_limit: see `from_brax`.
        made_from: see `Foreign`.
        chosen: whether the time limit counts where a wrapper sets one, too.
    """
    env, wrappers_limit = bare(env)
    if wrappers_limit is not None and not chosen:
        time_limit = wrappers_limit
    if not all(callable(getattr(env, name, None)) for name in ("reset", "step")) or not hasattr(env, "action_size"):
        raise ConfigError("env", type(env).__name__, "give an environment with Brax's reset, step and action_size")
    state = shapes_of(env, env.reset)
    limit = checked_limit(time_limit)
    actions = Box(-1.0, 1.0, (int(env.action_size),))
    kind = BraxRobot if is_robot(env, state) else BraxEnv
    return kind(
        theirs=Foreign(env, made_from), their_spec=EnvSpec(observed(state.obs), actions, limit), time_limit=limit
    )


def bare(env: Any) -> tuple[Any, int | None]:
    """Returns (the environment without wrappers for training, the time limit that one of them sets; else None).

    Raises:
        ConfigError: for a wrapper that cannot be taken off without another meaning.
    """
    time_limit = None
    while type(env).__name__ in ("AutoResetWrapper", "BraxAutoResetWrapper", "EpisodeWrapper", "VmapWrapper"):
        if type(env).__name__ == "VmapWrapper":
            raise ConfigError("env", "VmapWrapper", "give one environment; training makes many of it")
        if type(env).__name__ == "EpisodeWrapper":
            if env.action_repeat != 1:
                raise ConfigError("env", f"action_repeat={env.action_repeat}", "give one with action_repeat=1")
            time_limit = env.episode_length
        env = env.env
    return env, time_limit


def ids() -> list[str]:
    """Returns the ids of all environments that Brax's registry has."""
    return sorted(_envs()._envs)


@their_promotion()
def make(id: str, *, time_limit: int | None = TIME_LIMIT, **options: Any) -> BraxEnv:
    """Makes one of Brax's environments by its name.

    Args:
        id: as of `brax.envs.get_environment`.
        time_limit: steps after which an episode is truncated; by default 1000, Brax's `episode_length`.
        options: arguments of the environment's class, such as `backend`.

    Raises:
        ConfigError: for an unknown id or option, or if Brax is not installed.
    """
    check_id(LIBRARY, id, ids())
    env = call(LIBRARY, id, lambda **options: _envs().get_environment(id, **options), options)
    return wrapped(env, time_limit, recipe(LIBRARY, id, options))


def _envs() -> Any:
    return imported(LIBRARY, "brax.envs", "brax", LOWEST)
