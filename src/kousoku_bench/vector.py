"""`kousoku bench vector`: vector environments that are stepped from NumPy, ours beside EnvPool's and Gymnasium's."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import peers, vector_ppo
from .classic import IDS
from .contender import Contender, measure_parts, not_installed
from .table import ENVIRONMENTS, SPEED, Section, TableColumn, TableRow, median_seconds

TITLE = "Vector environments, stepped from NumPy"
ABOUT = (
    "One step of all environments is a call from Python, with random actions that are drawn before and observations as "
    "NumPy arrays of the caller's own, on all cores, each contender in a process of its own. Everybody's episodes are "
    'followed by new ones with the next step. Ours is `gymnasium.make_vec("kousoku/ID")`; EnvPool and Gymnasium\'s '
    "robots run C MuJoCo. Gymnasium's general vectors run with {few} environments one after the other, or with one a "
    "core in a process each. Alone is one environment, not a vector: what a loop of one's own steps."
)
CLASSIC = IDS
ROBOTS = ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Humanoid-v5")
PARTS = (*CLASSIC, *ROBOTS, vector_ppo.PART)
BASE = "EnvPool"
STEP = TableColumn("microseconds", "a step of all, µs", ",.0f")
NAMES = ("gymnasium", "envpool", "mujoco", "stable-baselines3", "torch")


@dataclass(frozen=True)
class VectorBudget:
    """The sizes of what is measured.

    Attributes:
        counts: numbers of environments; the first for Gymnasium's, which is slow.
        repeats: of each measurement; the median counts.
        least_seconds: of one measurement.
        limit: seconds after which a contender's process is stopped, compiling and all.
    """

    counts: tuple[int, ...] = (64, 1024, 4096)
    repeats: int = 5
    least_seconds: float = 0.3
    limit: float = 240.0


def bench(
    out: Path, budget: VectorBudget, only: str | None = None, say: Callable[[str], None] = print
) -> list[Section]:
    """Measures all, or one of `PARTS`, and saves vector.md and .json (or vector_PART) after each contender."""
    name, parts = ("vector", PARTS) if only is None else (f"vector_{only}", (only,))
    about = "" if only == vector_ppo.PART else ABOUT.format(few=budget.counts[0])
    return measure_parts(out, name, TITLE, about, _parts(parts, budget), budget.limit, NAMES, _line, say)


def _parts(names: tuple[str, ...], budget: VectorBudget) -> Iterator[tuple[Section, list[Contender]]]:
    """Yields tables without rows, and the contenders that their rows are of."""
    for name in names:
        if name == vector_ppo.PART:
            yield from vector_ppo.parts()
        else:
            yield Section(name, "", (ENVIRONMENTS, SPEED, STEP), [], BASE), contenders(name, budget)


def contenders(id: str, budget: VectorBudget) -> list[Contender]:
    """Returns who steps an environment."""
    how = budget.repeats, budget.least_seconds
    found: list[Contender] = []
    for count in budget.counts:
        ours = ("kousoku", "ours", id, count, *how)
        found.append(_contender(ours, "slots of one compiled program"))
        found.append(_contender((BASE, "envpool", id, count, *how), "threads", not_installed(["envpool"])))
    found.append(_contender(("kousoku, alone", "alone", f"kousoku/{id}", 1, *how), "one environment"))
    found.append(_contender(("Gymnasium, alone", "alone", id, 1, *how), "one environment"))
    few, cores = budget.counts[0], os.cpu_count() or 1
    found.append(_contender(("Gymnasium, sync", "sync", id, few, *how), "one after the other"))
    found.append(_contender(("Gymnasium, async", "asynchronous", id, cores, *how), "a process each"))
    if id == "CartPole-v1":
        found += [_contender(("Gymnasium, its own", "own", id, n, *how), "NumPy over all") for n in budget.counts]
    return found


def _contender(given: tuple[Any, ...], note: str, missing: str | None = None) -> Contender:
    name, kind, id, count, *how = given
    return Contender(name, "vector", "figures", (kind, id, count, *how), {"agents": count}, note, missing)


def figures(kind: str, id: str, count: int, repeats: int, least_seconds: float) -> dict[str, float]:
    """Returns what a step of all environments takes, and how many steps that makes in a second.

    Args:
        kind: one of `STEPPERS`.
        id: of the environment.
        count: how many.
        repeats: the median counts.
        least_seconds: of one measurement.
    """
    run = STEPPERS[kind](id, count)
    seconds = median_seconds(lambda: run(peers.DRAWN), repeats, least_seconds) / peers.DRAWN
    return {"microseconds": 1e6 * seconds, "steps_per_second": count / seconds}


def _ours(id: str, count: int) -> Callable[[int], None]:
    _know_ours()
    return peers.gymnasium_steps(f"kousoku/{id}", count, "vector_entry_point")[0]


def _alone(id: str, count: int) -> Callable[[int], None]:
    assert count == 1
    _know_ours()
    return peers.gymnasium_alone_steps(id)


def _know_ours() -> None:
    """Lets Gymnasium know our environments."""
    importlib.import_module("kousoku")


STEPPERS: dict[str, Callable[[str, int], Callable[[int], None]]] = {
    "ours": _ours,
    "envpool": peers.envpool_steps,
    "sync": lambda id, count: peers.gymnasium_steps(id, count, "sync")[0],
    "asynchronous": peers.gymnasium_async_steps,
    "alone": _alone,
    "own": lambda id, count: peers.gymnasium_steps(id, count, "vector_entry_point")[0],
}


def _line(section: Section, row: TableRow) -> str:
    who, speed = f"{section.title}, {row.figures['agents']} x {row.name}", row.figures.get("steps_per_second")
    return f"{who}: {row.note if speed is None else f'{speed:,.0f} steps/s'}"
