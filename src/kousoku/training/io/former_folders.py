"""Run folders of formats 1 and 2: what their facts and arrays are called today."""

from __future__ import annotations

from typing import TypeVar

FORMATS = (1, 2)
RENAMED = {"lanes": "members", "lane_seed": "member_seed", "lane_point": "member_point", "trouble": "failure"}
T = TypeVar("T")


def renamed(named: dict[str, T]) -> dict[str, T]:
    """Returns facts or arrays under the names that they have today."""
    return {RENAMED.get(name, name): value for name, value in named.items()}
