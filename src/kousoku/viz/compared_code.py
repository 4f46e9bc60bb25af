"""Runs that other code made than those beside them: versions of the library, and the code of one's own environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.record import RunRecord
from .text import isolated, plain, well_formed

LIBRARY = ("kousoku", "code")
"""What a run's facts tell of the library's code among its versions: the release, and a digest."""
ENV = ("code", "functions")
"""What a configuration tells of the code of one's own environment: digests of its class, and of functions it holds."""


def code_words(runs: Mapping[str, RunRecord]) -> str:
    """Says by which versions runs on an environment were made, where these differ: what resuming one would warn of.

    What runs of earlier versions do not tell does not differ.

    Args:
        runs: by name; at least one.

    Returns:
        A line; nothing where all are of the same code.
    """
    id = isolated(well_formed(plain(next(iter(runs.values())).config["env"].get("id"))))
    told = [(name, {who: run.facts.get("versions", {}).get(name) for who, run in runs.items()}) for name in LIBRARY]
    told += [(f"{name} of {id}", {who: run.config["env"].get(name) for who, run in runs.items()}) for name in ENV]
    found = [(what, _values(values)) for what, values in told]
    parts = [f"{what} {' and '.join(values)}" for what, values in found if len(values) > 1]
    return f"made by other versions: {', '.join(parts)}; returns may differ by that alone" if parts else ""


def _values(told: Mapping[str, Any]) -> list[str]:
    """Returns each value that is told, with the names of the runs that tell it in brackets."""
    names: dict[str, list[str]] = {}
    for name, value in told.items():
        if value is not None:
            names.setdefault(plain(value), []).append(isolated(well_formed(name)))
    return [f"{isolated(well_formed(value))} ({', '.join(own)})" for value, own in names.items()]
