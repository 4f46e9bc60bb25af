"""Settings of a sweep that are chosen by their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import ConfigError, check_keys, is_number
from ..core.record import RunRecord
from .text import plain


def values_by_name(where: Mapping[str, Any], records: Sequence[RunRecord]) -> dict[str, Sequence[float]]:
    """Returns the values to keep of each swept number.

    Raises:
        ConfigError: for a name that no run has swept, or what is no number.
    """
    swept = {name: None for record in records for name in record.points[0]}
    if where and not swept:
        raise ConfigError("where", ", ".join(map(str, where)), "none of these runs is a sweep; leave it out")
    check_keys("where", where, swept)
    values: dict[str, Any] = {name: [given] if is_number(given) else given for name, given in where.items()}
    for name, given in values.items():
        if isinstance(given, str) or not isinstance(given, Sequence) or not given or not all(map(is_number, given)):
            raise ConfigError("where", f"{name}: {given!r}", "give a number, or a list of numbers")
    return values


def chosen_points(name: str, record: RunRecord, chosen: Mapping[str, Sequence[float]]) -> list[int]:
    """Returns which settings of a run take part.

    Raises:
        ConfigError: if none does.
    """
    points = list(range(len(record.points)))
    for key in (name for name in chosen if name in record.points[0]):
        kept = [i for i in points if any(math.isclose(record.points[i][key], x, rel_tol=1e-6) for x in chosen[key])]
        if not kept:
            asked = ", ".join(map(plain, chosen[key]))
            there = ", ".join(dict.fromkeys(plain(record.points[i][key]) for i in points))
            raise ConfigError("where", f"{key}: {asked}", f"{name} has {key} {there}; choose among these")
        points = kept
    return points
