"""Arguments by name: in our words where others' mean exactly the same, and one line for a name that there is not."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeVar

from .errors import ConfigError, check_count, check_keys
from .synonyms import our_name

Given = ParamSpec("Given")
Made = TypeVar("Made")


def in_our_names(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Returns what was given, under the known names that mean exactly the same (`kousoku.core.synonyms`).

    `seed=3` is taken for `seeds=(3,)`: one seed, number 3.

    Raises:
        ConfigError: if two of the names mean the same.
    """
    found: dict[str, Any] = {}
    theirs: dict[str, str] = {}
    for name, value in given.items():
        ours, meant = our_name(name, known), value
        if name == "seed" and "seeds" in known and "seed" not in known:
            ours, meant = "seeds", (check_count("seed", value, low=0),)
        if ours in found:
            raise ConfigError(name, value, f"it means the same as {theirs[ours]!r}, which is given too; give one")
        found[ours], theirs[ours] = meant, name
    return found


def check_named(field: str, given: Any, values: str = "value") -> Mapping[str, Any]:
    """Returns what is given by name; refuses anything else.

    Raises:
        ConfigError: saying how to give it.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(field, given, f"give {{name: {values}}}")
    for name in given:
        if not isinstance(name, str):
            raise ConfigError(field, name, f"names are texts: give {{name: {values}}}")
    return given


def understood(*more: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Makes a function take other libraries' names for its arguments, and refuse a name that there is not in one line.

    Args:
        more: names of what it takes beside its parameters, by a `**how` of its own.

    Raises:
        ConfigError: from what it becomes, for a name that there is not, or for two that mean the same.

    Examples:
        >>> @understood()
        ... def play(episodes=1):
        ...     return episodes
        >>> play(n_eval_episodes=3)
        3
    """

    def made(function: Callable[Given, Made]) -> Callable[Given, Made]:
        parameters = inspect.signature(function).parameters.values()
        known = [each.name for each in parameters if each.name != "self" and each.kind is not each.VAR_KEYWORD]

        @functools.wraps(function)
        def called(*args: Given.args, **named: Given.kwargs) -> Made:
            ours = in_our_names(named, [*known, *more])
            check_keys("argument", ours, [*known, *more])
            return function(*args, **ours)  # pyright: ignore[reportCallIssue]

        return called

    return made
