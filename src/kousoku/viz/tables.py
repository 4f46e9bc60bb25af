"""Tables of action values for the report's page: which agents are shown, and what of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.panel import Panel
from ..core.record import RunRecord
from .encode import numbers
from .ranking import best_member, best_members, score
from .summary import greedy, has_own_arms, is_bandit, mean_over_members, panels_of
from .text import point_name

MAX_AGENTS = 50
MAX_NUMBERS = 300_000
MAX_BANDIT_ACTIONS = 200


def tables(record: RunRecord, order: list[int]) -> dict[str, Any] | None:
    """Returns means over agents, the best and the weakest agent, and others evenly spread, as far as they fit."""
    if "q" not in record.tables:
        return None
    q = record.tables["q"]
    _, states, actions = q.shape
    room = MAX_NUMBERS // (states * (actions + 2))
    bandit = is_bandit(record)
    if room < 2 or (bandit and actions > MAX_BANDIT_ACTIONS):
        return {"tooLarge": f"{states:,} states with {actions:,} actions are too many for this page."}
    panels = panels_of(record)
    named = [panel.action_names for panel in panels if len(panel.action_names) == actions]
    arrows = [panel.action_arrows for panel in panels if len(panel.action_arrows) == actions]
    exact = record.tables.get("exact_q")
    return {
        "bandit": bandit,
        "states": states,
        "actions": list(named[0])
        if named and not bandit
        else [f"arm {a}" if bandit else str(a) for a in range(actions)],
        "arrows": [None if arrow is None else list(arrow) for arrow in (arrows[0] if arrows else [None] * actions)],
        "panels": [] if bandit else [_panel(panel) for panel in panels],
        "reachable": record.tables["reachable"].astype(int).tolist() if "reachable" in record.tables else None,
        "exact": None if exact is None else {"q": numbers(exact), "greedy": _masks(exact)},
        "agents": [
            _agent(record, name, members) for name, members in _chosen(record, order, min(room - 1, MAX_AGENTS))
        ],
        "visited": "visits" in record.tables,
    }


def _chosen(record: RunRecord, order: list[int], room: int) -> list[tuple[str, np.ndarray]]:
    """Returns (name, members whose mean it is): the first one is shown first."""
    count, best = record.num_members, best_member(record)
    everybody = np.arange(count)
    if count == 1:
        return [("the agent", everybody)]
    chosen: list[tuple[str, np.ndarray]] = []
    if len(record.points) > 1:
        for rank, point in enumerate(order[: max(1, room - 4)]):
            prefix = "best sweep point: " if rank == 0 else "mean of "
            chosen.append((prefix + point_name(record, point), np.flatnonzero(record.member_point == point)))
    shown_best = (f"best agent ({member_name(record, best)}{tie_note(record)})", np.array([best]))
    means = [*chosen, (f"mean of all {count:,} agents", everybody)]
    chosen = [shown_best] if has_own_arms(record) else [*means, shown_best]
    members = score(record).members
    if not np.isnan(members).all():
        worst = int(np.nanargmin(members))
        chosen.append((f"weakest agent ({member_name(record, worst)})", np.array([worst])))
    spread = np.unique(np.linspace(0, count - 1, max(0, min(count, room - len(chosen)))).astype(int))
    chosen += [(member_name(record, int(member)), np.array([member])) for member in spread]
    return chosen[: max(room, 1)]


def member_name(record: RunRecord, member: int) -> str:
    """Names a member by its seed, and by its point in a sweep."""
    point = f", {point_name(record, int(record.member_point[member]))}" if len(record.points) > 1 else ""
    return f"seed {record.member_seed[member]}{point}"


def tie_note(record: RunRecord) -> str:
    """Says that several agents tie for the best, of which the first is shown."""
    tied = int(best_members(record).sum())
    return f"; {tied:,} agents tie" if tied > 1 else ""


def _agent(record: RunRecord, name: str, members: np.ndarray) -> dict[str, Any]:
    q = mean_over_members(record.tables["q"][members])
    visits = record.tables["visits"][members].mean(axis=0) if "visits" in record.tables else None
    if visits is not None and not is_bandit(record):
        visits = visits.sum(axis=-1)
    return {"name": name, "q": numbers(q), "greedy": _masks(q), "visits": None if visits is None else numbers(visits)}


def _masks(q: np.ndarray) -> list[int]:
    """Returns for each state the greedy actions as bits; action 0 is bit 0. Actions beyond the 52nd have no bit."""
    mask = greedy(q)[:, :52]
    return (mask @ (2.0 ** np.arange(mask.shape[1]))).astype(np.int64).tolist()


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "title": panel.title,
        "states": [list(row) for row in panel.states],
        "labels": [list(label) for label in panel.labels],
        "walls": [list(line) for line in panel.walls],
        "rowLabel": panel.row_label,
        "columnLabel": panel.column_label,
        "rowTicks": list(panel.row_ticks),
        "columnTicks": list(panel.column_ticks),
    }
