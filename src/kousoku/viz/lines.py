"""Lines for the shell on what a run or an evaluation achieved: the numbers of the report, by the same rules."""

from __future__ import annotations

from ..core.point_names import point_texts
from ..core.record import RunRecord
from ..core.words import plural
from . import sources
from .ranking import (
    best_checkpoint_summary,
    best_member,
    best_members,
    best_summary,
    broken_agents,
    cut_episodes,
    optimum,
    overlapping,
    point_order,
    point_summary,
    score,
    tied_points,
)
from .tables import member_name
from .text import ascii_only, short


def result_lines(record: RunRecord) -> list[str]:
    """Returns a line for each sweep point, best first, and whose the settings are.

    Between them, where it was evaluated, the best agent, the best checkpoint and the optimum.
    """
    found: list[str] = []
    if "return" in record.evaluation:
        points = [*_points(record, "greedy return"), *_order(record)]
        found += [*points, broken_agents(record), cut_episodes(record), *_best_agent(record), *_best_checkpoint(record)]
        best = optimum(record)
        if best is not None:
            found.append(f"optimum: {short(best)}, the largest expected return of an episode")
    return [ascii_only(text) for text in (*found, sources.line(record)) if text]


def evaluation_lines(record: RunRecord) -> list[str]:
    """Returns lines on the returns and lengths of a record's greedy episodes, of each sweep point and the best agent.

    A tie is called one. Where the best agent's only episode chose it, none tells how good it is, and it has no number.
    """
    found = [*_points(record, "return"), *_best_agents(record, "return"), *_points(record, "length", "length")]
    found += [*_best_agents(record, "length"), *_order(record), broken_agents(record)]
    if record.num_members > 1 and best_summary(record) is not None:
        found.append("the best agent was chosen by the first half of the episodes, and is told by the second")
    return [ascii_only(text) for text in found if text]


def _points(record: RunRecord, name: str, what: str = "return") -> list[str]:
    """Tells returns, or lengths, of every sweep point, best first, and which returns are the best and which overlap."""
    if len(record.points) == 1:
        return [f"{name}: {point_summary(record, 0, what).words}"]
    order, tied = point_order(record), tied_points(record)
    marks, texts = overlapping(record, order).tolist(), point_texts(record.points)
    lines: list[str] = []
    for rank, (point, alike) in enumerate(zip(order, marks, strict=True)):
        tie = "tied best" if tied > 1 else "best"
        mark = f", {tie}" if rank < max(tied, 1) else ", overlaps" if alike else ""
        label = ", ".join(f"{number} = {text}" for number, text in texts[point].items())
        lines.append(f"{name} at {label}: {point_summary(record, point, what).words}{mark if what == 'return' else ''}")
    return lines


def _order(record: RunRecord) -> list[str]:
    """Says which episodes chose the order of the sweep points, if there are several."""
    if len(record.points) == 1:
        return []
    if score(record).unbiased:
        return ["(best first: half of the episodes chose the order, the numbers are of the other half)"]
    return ["(best first: the same episodes chose the order, so the first return is too high)"]


def _best_checkpoint(record: RunRecord) -> list[str]:
    """Tells the best checkpoint, where it is not the last one."""
    best = best_checkpoint_summary(record)
    return [] if best is None else [f"best checkpoint: step {best[0]}: {best[1].words}, no episode of which chose it"]


def _best_agent(record: RunRecord) -> list[str]:
    """Tells the best agent, if there are several."""
    if record.num_members == 1:
        return []
    found, many = best_summary(record), f" ({_tie(record)})" if _tie(record) else ""
    said = "" if found is None else f": {found.words}, none of which chose it"
    return [f"best agent: {member_name(record, best_member(record))}{many}{said}"]


def _best_agents(record: RunRecord, what: str) -> list[str]:
    """Tells the best agent's returns, or lengths, if there are several; by whose it is where none is held out."""
    found, tie, name = best_summary(record, what), _tie(record), member_name(record, best_member(record))
    if record.num_members == 1:
        return []
    if found is not None:
        return [f"{what} of the best agent, {name}: {found.words}" + (f"; {tie}" if tie and what == "return" else "")]
    only = "by its only episode, so that none tells how good it is"
    return [f"best agent: {name}, {only}" + (f"; {tie}" if tie else "")] if what == "return" else []


def _tie(record: RunRecord) -> str:
    """Says how many agents tie for the best; nothing where it is one."""
    tied = int(best_members(record).sum())
    return f"{plural(tied, 'agent')} tie, this is the first" if tied > 1 else ""
