"""Sweep points of runs as they are compared: which environment each is on, and how it is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.errors import is_number
from ..core.sweep_names import of_agent, of_env
from .compared_code import ENV
from .text import plain, point_words, rows, well_formed

Defaults = Callable[[str], Mapping[str, Any]]
"""Options by default, by their names, of an environment's id."""


def no_defaults(id: str) -> Mapping[str, Any]:
    """Returns no options: where nothing is known of environments."""
    del id
    return {}


def env_key(env: Mapping[str, Any], point: Mapping[str, float], defaults: Defaults) -> str:
    """Returns the environment of a sweep point as text that is equal where a run of its own has the same numbers.

    Of whichever code it was: that is told beside the numbers.
    """
    part = "options" if env.get("registered", True) else "fields"
    given = (env.get(part) or {}) | of_env(point)
    at = {name: _as_told(value) for name, value in given.items()}
    if part == "options":
        usual = {name: _as_told(value) for name, value in defaults(env["id"]).items()}
        at = {name: value for name, value in at.items() if name not in usual or value != usual[name]}
        at |= {"wrap": _wrappers(at.get("wrap"))}
    named = {name: value for name, value in env.items() if name not in ENV}
    return json.dumps({**named, part: at}, sort_keys=True, default=str)


def _as_told(value: Any) -> Any:
    """Returns a value as a record has it, numbers as floats."""
    return float(value) if is_number(value) else json.loads(json.dumps(value, default=str))


def _wrappers(wrap: Any) -> list[str]:
    """Returns the names of wrappers one by one: earlier versions kept one text of several as it was given."""
    return [text.strip() for text in (wrap.split(",") if isinstance(wrap, str) else wrap)] if wrap else []


def env_words(env: Mapping[str, Any], point: Mapping[str, float]) -> str:
    """Returns the environment of a sweep point as it is shown: its id, and what it was given."""
    given = (env.get("options") or {}) | of_env(point)
    options = ", ".join(f"{name} {_on_a_line(value)}" for name, value in rows("", given) if name)
    return well_formed(f"{plain(env.get('id'))}" + (f" ({options})" if options else ""))


def _on_a_line(value: str) -> str:
    """Returns an option on one line; a map by its size."""
    lines = value.split("\n")
    return value if len(lines) == 1 else f"of {len(lines)} x {max(map(len, lines))}"


def point_label(name: str, point: Mapping[str, float], points: Sequence[Mapping[str, float]]) -> str:
    """Returns how a sweep point of a run is shown: with its numbers, where others of the run are on its environment."""
    if sum(of_env(other) == of_env(point) for other in points) == 1:
        return well_formed(name)
    return well_formed(f"{name}: {point_words(_varied(of_agent(point), points), map(of_agent, points))}")


def _varied(point: Mapping[str, float], points: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Returns the numbers of a sweep point in which sweep points differ."""
    return {name: value for name, value in point.items() if any(other.get(name) != value for other in points)}
