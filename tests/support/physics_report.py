"""Errors against a reference by percentiles, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 100.0)


class Row(NamedTuple):
    """Percentiles over states of the greatest error in a state: absolute, and relative to its greatest number."""

    name: str
    states: int
    absolute: tuple[float, ...]
    relative: tuple[float, ...]


def errors(name: str, ours: np.ndarray, theirs: np.ndarray, floor: float = 1e-9) -> Row:
    r"""A row from two arrays with the states on their leading axis.

    absolute_s = max_i |ours_si - theirs_si|, relative_s = absolute_s / max(max_i |theirs_si|, floor).

    Raises:
        ValueError: the shapes differ.

    >>> row = errors("qpos", np.array([[1.0, 2.0], [3.0, 4.5]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> row.absolute[-1], row.relative[-1]
    (0.5, 0.125)
    """
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape or ours.ndim == 0:
        raise ValueError(f"{name}: {ours.shape} against {theirs.shape}")
    count = len(ours)
    flat = np.abs(ours - theirs).reshape(count, -1)
    scale = np.abs(theirs).reshape(count, -1).max(axis=1, initial=floor)
    # What is not finite on one side only is infinitely wrong, and must not vanish in a comparison with NaN.
    absolute = np.where(np.isnan(flat), np.inf, flat).max(axis=1, initial=0.0)
    return Row(name, count, _percentiles(absolute), _percentiles(absolute / scale))


def _percentiles(values: np.ndarray) -> tuple[float, ...]:
    """Each is a value that occurs, not one between two, so that an infinite error stays where it is."""
    if not len(values):
        return (0.0,) * len(PERCENTILES)
    return tuple(float(value) for value in np.percentile(values, PERCENTILES, method="higher"))


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table.

    >>> print(table([errors("qpos", np.ones((1, 1)), np.ones((1, 1)))]).splitlines()[-1])
    | qpos | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
    """
    names = ["max" if p == 100 else f"{p:g}%" for p in PERCENTILES]
    head = ["quantity", "states", *(f"abs {n}" for n in names), *(f"rel {n}" for n in names)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        lines.append([row.name, str(row.states), *(_number(value) for value in row.absolute + row.relative)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}"
