"""Kinds of what a run folder's JSON holds: what was asked for, and what happened."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import is_number

LARGEST = 10**300
"""Of whole numbers that are read as real ones."""
IsRight = Callable[[Any], bool]
"""Whether something read from JSON is of the right kind."""


def _is_whole(told: Any) -> bool:
    """Returns whether this is a whole number."""
    return isinstance(told, int) and not isinstance(told, bool)


def _is_finite(told: Any) -> bool:
    """Returns whether this is a number that can be written out."""
    return is_number(told) and abs(told) < math.inf and not (isinstance(told, int) and abs(told) > LARGEST)


def _is_text(told: Any) -> bool:
    return isinstance(told, str)


def _is_map(told: Any) -> bool:
    return isinstance(told, dict)


def _list_of(is_right: IsRight) -> IsRight:
    return lambda told: isinstance(told, list) and all(map(is_right, told))


def _some_of(is_right: IsRight) -> IsRight:
    return lambda told: told != [] and _list_of(is_right)(told)


def _map_of(is_right: IsRight) -> IsRight:
    return lambda told: isinstance(told, dict) and all(map(is_right, told.values()))


def _numbers(*names: str) -> IsRight:
    """Returns what tells a map of numbers in which these names are."""
    return lambda told: _map_of(_is_finite)(told) and set(names) <= told.keys()


def _one_of(*kinds: IsRight) -> IsRight:
    return lambda told: any(is_right(told) for is_right in kinds)


def _is_none(told: Any) -> bool:
    return told is None


NEEDED = ("steps", "seeds", "sweep", "eval_max_steps")
"""What every configuration has, beside an agent and an environment."""
ASKED: dict[str, IsRight] = {
    **dict.fromkeys(("steps", "eval_max_steps", "begun_for"), _is_whole),
    "seeds": _one_of(_is_whole, _list_of(_is_whole)),
    "sweep": _map_of(_some_of(is_number)),
    "sources": _map_of(_map_of(_is_text)),
    **dict.fromkeys(("command", "init_from"), _one_of(_is_none, _is_text)),
    **dict.fromkeys(("env.options", "env.fields", "own_agent"), _is_map),
}
"""{a part of the configuration: whether it is of the right kind}."""
HAPPENED: dict[str, IsRight] = {
    "status": _is_text,
    "points": _some_of(_map_of(is_number)),
    **dict.fromkeys(("steps", "members", "episodes", "blown_up", "best_step", "cut_evaluations"), _is_whole),
    **dict.fromkeys(("seconds", "first_block_seconds", "compile_seconds"), _is_finite),
    **dict.fromkeys(("steps_per_second", "time_limit"), _is_finite),
    "failure": _one_of(_is_none, _is_text),
    "started": _is_text,
    "resumed_at": _list_of(_is_whole),
    "memory": _map_of(_is_finite),
    "replay_buffer": _numbers("transitions", "capacity", "mib"),
    **dict.fromkeys(("versions", "device"), _is_map),
}
"""{a fact of a run: whether it is of the right kind}."""


def wrong_in_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what of a configuration is of a wrong kind, or missing, by name; its environment is a map."""
    needed = (*NEEDED, *(("env.options",) if config["env"].get("registered") else ()))
    told = {**config, **{f"env.{name}": value for name, value in config["env"].items()}}
    return _wrong(told, ASKED, needed)


def wrong_in_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what of a run's facts is of a wrong kind, or missing, by name."""
    return _wrong(facts, HAPPENED, ("status", "steps", "points"))


def _wrong(told: Mapping[str, Any], kinds: Mapping[str, IsRight], needed: tuple[str, ...]) -> dict[str, Any]:
    found = {name: told.get(name, ...) for name in kinds if name in told or name in needed}
    return {name: value for name, value in found.items() if not kinds[name](value)}
