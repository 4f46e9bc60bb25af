"""Lines for the shell on what a run achieved: the numbers of the report, by the same rules."""

from __future__ import annotations

from ..core.record import RunRecord
from ..core.words import plural
from . import sources
from .ranking import (
    best_checkpoint_told,
    best_member,
    best_members,
    best_told,
    cut_episodes,
    optimum,
    overlapping,
    point_order,
    point_told,
    score,
    tied_points,
)
from .tables import member_name
from .text import ascii_only, short


def result_lines(record: RunRecord) -> list[str]:
    """Returns a line for each setting, best first, and whose the settings are.

    Between them, where it was evaluated, the best agent, the best checkpoint and the optimum.
    """
    found: list[str] = []
    if "return" in record.evaluation:
        found += [*_settings(record), cut_episodes(record), *_best_agent(record), *_best_checkpoint(record)]
        best = optimum(record)
        if best is not None:
            found.append(f"optimum: {short(best)}, the largest expected return of an episode")
    return [ascii_only(text) for text in (*found, sources.line(record)) if text]


def _settings(record: RunRecord) -> list[str]:
    if len(record.points) == 1:
        return [f"greedy return: {point_told(record, 0).words}"]
    order, tied = point_order(record), tied_points(record)
    marks = overlapping(record, order).tolist()
    lines: list[str] = []
    for rank, (point, alike) in enumerate(zip(order, marks, strict=True)):
        tie = "tied best" if tied > 1 else "best"
        mark = f", {tie}" if rank < max(tied, 1) else ", overlaps" if alike else ""
        label = ", ".join(f"{name} = {value:g}" for name, value in record.points[point].items())
        lines.append(f"greedy return at {label}: {point_told(record, point).words}{mark}")
    if score(record).held_out:
        lines.append("(best first: half of the episodes chose the order, the numbers are of the other half)")
    return lines


def _best_checkpoint(record: RunRecord) -> list[str]:
    """Tells the best checkpoint, where it is not the last one."""
    best = best_checkpoint_told(record)
    return [] if best is None else [f"best checkpoint: step {best[0]}: {best[1].words}, no episode of which chose it"]


def _best_agent(record: RunRecord) -> list[str]:
    """Tells the best agent, if there are several."""
    if record.num_members == 1:
        return []
    found, tied = best_told(record), int(best_members(record).sum())
    many = f" ({plural(tied, 'agent')} tie, this is the first)" if tied > 1 else ""
    said = "" if found is None else f": {found.words}, none of which chose it"
    return [f"best agent: {member_name(record, best_member(record))}{many}{said}"]
