"""Check that the points of a sweep differ to the program, which has most numbers in float32."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from ...core.env import Env
from ...core.errors import ConfigError
from ...core.sweep_names import is_of_env, of_agent
from ..config import TrainConfig
from ..env_numbers import env_maker, reader


def check_twin_points(env: Env, env_config: Mapping[str, Any], config: TrainConfig) -> None:
    """Refuses a sweep of which two values are one to the program; runs that have been made may have such.

    Args:
        env: as it was given, or made by its id.
        env_config: the same as JSON, see `io.env_config`.
        config: what is swept.

    Raises:
        ConfigError: naming both.
    """
    for name, values in of_agent(config.sweep).items():
        with np.errstate(over="ignore"):
            _check_distinct(name, values, np.asarray(values, np.float32))
    for name in filter(is_of_env, config.sweep):
        values = list(config.sweep[name])
        read = reader(env_maker(env, env_config, name), name, values)
        _check_distinct(name, values, map(_on_device, map(read, values)))


def _check_distinct(name: str, values: Iterable[float], held: Iterable[Any]) -> None:
    """Refuses two values that are held as one.

    Raises:
        ConfigError: naming both.
    """
    firsts: dict[Any, float] = {}
    for value, number in zip(values, map(np.asarray, held), strict=True):
        first = firsts.setdefault(number.item(), value)
        if first is not value:
            held_as = f"it as {first!r}" if np.isfinite(number) else "both as infinity"
            raise ConfigError(f"sweep[{name!r}]", value, f"{number.dtype} holds {held_as}; give each number once")


def _on_device(value: Any) -> Any:
    """Returns a number as a program holds it; a whole one as it is."""
    if isinstance(value, int):
        return value
    array = np.asarray(value)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))
