"""Points of a sweep, chosen by their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import ConfigError, check_keys, is_number
from .text import plain

Points = Sequence[Mapping[str, float]]
"""The sweep points of a run's sweep."""


def values_by_name(where: Mapping[str, Any], named: Mapping[str, Sequence[Points]]) -> dict[str, Sequence[float]]:
    """Returns the values to keep of each swept number.

    Args:
        where: a value, or several, by the name of a swept number.
        named: the sweep points of all runs, by name.

    Raises:
        ConfigError: for what is not by name, a name that no run has swept, what is no number, or a value that no run
            has.
    """
    if not isinstance(where, Mapping):
        raise ConfigError("where", where, 'give values by name: {"learning_rate": 0.1}')
    swept: dict[str, dict[str, list[float]]] = {}
    for run, several in named.items():
        for point in (point for points in several for point in points):
            for name, value in point.items():
                swept.setdefault(name, {}).setdefault(run, []).append(value)
    if where and not swept:
        raise ConfigError("where", ", ".join(map(str, where)), "none of these runs is a sweep; leave it out")
    check_keys("where", where, swept)
    values: dict[str, Any] = {name: [given] if is_number(given) else given for name, given in where.items()}
    for name, given in values.items():
        if isinstance(given, str) or not isinstance(given, Sequence) or not given or not all(map(is_number, given)):
            raise ConfigError("where", f"{name}: {given!r}", "give a number, or a list of numbers")
        if missing := [x for x in given if not any(_is_among(x, there) for there in swept[name].values())]:
            raise _not_there(name, missing, swept[name])
    return values


def chosen_points(name: str, points: Points, chosen: Mapping[str, Sequence[float]]) -> list[int]:
    """Returns which sweep points of a run take part.

    Raises:
        ConfigError: if none does.
    """
    left = list(range(len(points)))
    for key in (name for name in chosen if name in points[0]):
        kept = [i for i in left if _is_among(points[i][key], chosen[key])]
        if not kept:
            raise _not_there(key, chosen[key], {name: [points[i][key] for i in left]})
        left = kept
    return left


def _is_among(x: float, values: Sequence[float]) -> bool:
    return any(math.isclose(x, value, rel_tol=1e-6) for value in values)


def _not_there(key: str, asked: Sequence[float], there: Mapping[str, Sequence[float]]) -> ConfigError:
    """Returns what refuses values of a swept number, with those that each run has."""
    told = " and ".join(f"{run} has {key} {_listed(values)}" for run, values in there.items())
    return ConfigError("where", f"{key}: {_listed(asked)}", f"{told}; choose among these")


def _listed(values: Sequence[float]) -> str:
    return ", ".join(dict.fromkeys(map(plain, values)))
