"""Names of a sweep's numbers: an agent's as they are, an environment's with a prefix, as the shell writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

ENV_PREFIX = "env."

Value = TypeVar("Value")


def is_of_env(name: str) -> bool:
    """Returns whether a name is that of an environment's number."""
    return name.startswith(ENV_PREFIX)


def env_name(name: str) -> str:
    """Returns the name that the environment itself has for its number."""
    return name.removeprefix(ENV_PREFIX)


def of_agent(point: Mapping[str, Value]) -> dict[str, Value]:
    """Returns the agent's part of a sweep point.

    Examples:
        >>> of_agent({"epsilon": 0.1, "env.slip": 0.2})
        {'epsilon': 0.1}
    """
    return {name: value for name, value in point.items() if not is_of_env(name)}


def of_env(point: Mapping[str, Value]) -> dict[str, Value]:
    """Returns the environment's part of a sweep point, by the environment's own names.

    Examples:
        >>> of_env({"epsilon": 0.1, "env.slip": 0.2})
        {'slip': 0.2}
    """
    return {env_name(name): value for name, value in point.items() if is_of_env(name)}
