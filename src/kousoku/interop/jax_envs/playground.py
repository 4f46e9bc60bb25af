"""Environments of MuJoCo Playground: Brax's protocol on MJX."""

from __future__ import annotations

from typing import Any

from ...core.errors import ConfigError, check_keys
from ...core.promotion import their_promotion
from .brax import BraxEnv, wrapped
from .foreign import call, check_id, imported, recipe

LIBRARY, LOWEST = "playground", "0.1.0"


def from_playground(env: Any, *, time_limit: int | None = None) -> BraxEnv:
    """Makes an environment of one of MuJoCo Playground's.

    Args:
        env: of `mujoco_playground.registry.load`; its wrappers for episodes and auto-reset are taken off.
        time_limit: steps after which an episode is truncated; by default the `episode_length` of its configuration.
    """
    chosen = time_limit is not None
    return wrapped(env, time_limit if chosen else _limit(env, {}), None, chosen)


def ids() -> list[str]:
    """Returns the names of all environments of the installed Playground."""
    return sorted(_registry().ALL_ENVS)


@their_promotion()
def make(id: str, *, time_limit: int | None = None, **options: Any) -> BraxEnv:
    """Makes one of Playground's environments by its name.

    MJX runs as JAX (`impl="jax"`), as its other implementation needs a GPU of one make. Robots that are not in the
    package are downloaded by it when they are first made.

    Args:
        id: as of `mujoco_playground.registry.load`.
        time_limit: steps after which an episode is truncated; by default the configuration's `episode_length`.
        options: fields of its configuration; without `action_repeat`, which only its wrappers for training read.

    Raises:
        ConfigError: for an unknown id or option, or if Playground is not installed.
    """
    check_id(LIBRARY, id, ids())
    config = _registry().get_default_config(id)
    check_keys(f"option of {LIBRARY}:{id}", [name.split(".")[0] for name in options], [*config, "time_limit"])
    if "action_repeat" in options:
        fix = "only wrappers for training read it: use wrap='repeat_action:N'"
        raise ConfigError("action_repeat", options["action_repeat"], fix)
    changes = {**({"impl": "jax"} if "impl" in config else {}), **options}
    env = call(LIBRARY, id, lambda **changes: _registry().load(id, config_overrides=changes), changes)
    return wrapped(env, _limit(env, config) if time_limit is None else time_limit, recipe(LIBRARY, id, changes))


def _limit(env: Any, default: Any) -> int | None:
    """Returns the time limit of an environment's configuration, or of that of its name; None without one."""
    return getattr(env, "_config", default).get("episode_length")


def _registry() -> Any:
    return imported(LIBRARY, "mujoco_playground", "playground", LOWEST).registry
