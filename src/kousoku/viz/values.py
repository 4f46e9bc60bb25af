"""Tables over states as pictures: values with greedy arrows, visits, errors; bars where there is just one state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, Normalize
from matplotlib.figure import Figure

from ..core.errors import ConfigError, check_count
from ..core.panel import Panel
from ..core.record import RunRecord
from .canvas import INK, LABEL_SIZE, MUTED, TICK_SIZE, check_axes, colormap, dress, figure_of, heading, new_figure
from .headline import title
from .heat import Heat, draw_panel
from .ranking import best_member, point_order
from .style import SERIES
from .summary import exact_values, greedy, has_own_arms, is_bandit, mean_over_members, panels_of, state_values
from .tables import member_name
from .text import point_name

POINTS_PER_INCH = 72


def plot_values(record: RunRecord, member: int | None = None, ax: Axes | None = None) -> Figure:
    """Plots max_a Q(s, a) as a heat map with every greedy action; bars where there is just one state.

    Args:
        record: a run of an agent with a table.
        member: which agent; None for the mean over all of them (over the best point's, after a sweep), or for the
            best one of a bandit whose exact values are not known, as each agent may have a bandit of its own.
        ax: where to draw; None for a new figure.

    Raises:
        ConfigError: for a run without a table, or a member that there is not.
    """
    members, who = _members(record, member)
    q = mean_over_members(_table(record, "q")[members])
    if is_bandit(record):
        return _bars(q[0], record, f"action values, {who}", "value", ax, exact=record.tables.get("exact_q"))
    values = np.where(_live(record), state_values(q), np.nan)
    heat = Heat("value", values, _norm(values, record), "max Q", greedy(q))
    return _maps(record, heat, f"learned values, {who}", ax)


def plot_visits(record: RunRecord, member: int | None = None, ax: Axes | None = None) -> Figure:
    """Plots how often each state was visited, in logarithmic colours; arguments as for `plot_values`.

    Raises:
        ConfigError: if visits were not recorded.
    """
    members, who = _members(record, member)
    visits = _table(record, "visits")[members].mean(axis=0)
    if is_bandit(record):
        return _bars(visits[0], record, f"how often each action was chosen, {who}", "times", ax)
    counts = np.where(_live(record), visits.sum(axis=-1), np.nan)
    shown = _shown(counts, record)
    low, high = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 1.0)
    norm = FuncNorm((np.log1p, np.expm1), vmin=low, vmax=max(high, low + 1.0))
    return _maps(record, Heat("visits", counts, norm, "visits (logarithmic)"), f"visits of each state, {who}", ax)


def plot_error(record: RunRecord, member: int | None = None, ax: Axes | None = None) -> Figure:
    """Plots |max_a Q(s, a) - v*(s)| as a heat map; arguments as for `plot_values`.

    Raises:
        ConfigError: if the environment's exact values are not known.
    """
    members, who = _members(record, member)
    exact = exact_values(record)
    if exact is None:
        raise ConfigError("plot_error", title(record), "the environment has to tell its exact model")
    errors = np.abs(state_values(mean_over_members(_table(record, "q")[members])) - exact)
    norm = Normalize(0.0, max(_top(errors, record), 1e-12))
    return _maps(record, Heat("error", errors, norm, "|max Q - v*|"), f"error against the exact values, {who}", ax)


def _members(record: RunRecord, member: int | None) -> tuple[np.ndarray, str]:
    """Chooses which members to average, and says how."""
    if member is not None:
        index = check_count("member", member, low=0, high=record.num_members - 1)
        return np.array([index]), f"agent {index} (seed {record.member_seed[index]})"
    if record.num_members == 1:
        return np.array([0]), f"seed {record.member_seed[0]}"
    if has_own_arms(record):
        best = best_member(record)
        return np.array([best]), f"the best agent, {member_name(record, best)}"
    if len(record.points) > 1:
        point = point_order(record)[0]
        members = np.flatnonzero(record.member_point == point)
        who = "the agent" if len(members) == 1 else f"mean of {len(members):,} agents"
        return members, f"{who} with {point_name(record, point)}"
    return np.arange(record.num_members), f"mean of {record.num_members:,} agents"


def _table(record: RunRecord, name: str) -> np.ndarray:
    if name not in record.tables:
        fix = "this agent has no table of action values" if name == "q" else f"train with record=[..., {name!r}]"
        raise ConfigError(name, "nothing recorded", fix)
    return record.tables[name]


def _live(record: RunRecord) -> np.ndarray:
    """Returns the states in which an action is taken."""
    states = record.tables["q"].shape[1]
    return np.asarray(record.tables.get("reachable", np.ones(states, bool)), bool)


def _shown(values: np.ndarray, record: RunRecord) -> np.ndarray:
    """Returns the finite values that some cell shows."""
    states = np.unique([s for panel in panels_of(record) for row in panel.states for s in row if s >= 0])
    return values[states][np.isfinite(values[states])]


def _top(values: np.ndarray, record: RunRecord) -> float:
    shown = _shown(values, record)
    return float(shown.max()) if shown.size else 1.0


def _norm(values: np.ndarray, record: RunRecord) -> Normalize:
    shown = _shown(values, record)
    low, high = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 1.0)
    return Normalize(low, high if high > low else low + 1.0)


def _maps(record: RunRecord, heat: Heat, what: str, ax: Axes | None) -> Figure:
    """Draws all panels and one colour bar."""
    check_axes(ax)
    panels = panels_of(record)
    across = _across(panels)
    width, height, cell = _sizes(panels, across)
    figure = new_figure(width, height) if ax is None else figure_of(ax)
    if len(panels) == 1:
        places: Sequence[Any] = [ax or figure.add_subplot()]
        draw_panel(places[0], panels[0], heat, cell_points=cell, alone=True)
        said = ", ".join(part for part in (what, panels[0].title) if part)
        heading(places[0], f"{title(record)}\n{said}", pad=12.0)
    else:
        places = _grid(figure, ax, len(panels), across)
        if ax is None:
            figure.suptitle(f"{title(record)}: {what}", x=0.01, ha="left", fontsize=12, color=INK, parse_math=False)
        for place, panel in zip(places, panels, strict=True):
            draw_panel(place, panel, heat, cell_points=cell, alone=len(panels) < 3)
    bar = figure.colorbar(ScalarMappable(heat.norm, colormap(heat.scale)), ax=ax or list(places), shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.ax.tick_params(colors=MUTED, labelsize=TICK_SIZE, length=0)
    bar.set_label(heat.caption, color=MUTED, fontsize=LABEL_SIZE, parse_math=False)
    if isinstance(heat.norm, FuncNorm):
        ticks = _log_ticks(heat.norm.vmin or 0.0, heat.norm.vmax or 1.0)
        bar.set_ticks(ticks, labels=[f"{t:,.0f}" for t in ticks])
        bar.minorticks_off()
    return figure


def _log_ticks(low: float, high: float) -> list[float]:
    """Returns powers of ten in [low, high], with their doubles and fivefolds where there are few."""
    decades = [10.0**k for k in range(16)]
    coarse = [t for t in (0.0, *decades) if low <= t <= high]
    fine = [t for t in (0.0, *(m * d for d in decades for m in (1, 2, 5))) if low <= t <= high]
    return coarse if len(coarse) > 2 else fine


def _grid(figure: Figure, ax: Axes | None, count: int, across: int) -> list[Axes]:
    """Returns axes for several panels: a grid of a new figure, or insets of given axes."""
    down = math.ceil(count / across)
    if ax is None:
        grid = figure.subplots(down, across, squeeze=False).ravel()
        for unused in grid[count:]:
            unused.remove()
        return list(grid[:count])
    ax.set_axis_off()
    size = (0.92 / across, 0.88 / down)
    places = [((i % across) / across, 1 - (i // across + 1) / down) for i in range(count)]
    return [ax.inset_axes((x, y, *size)) for x, y in places]


def _across(panels: Sequence[Panel]) -> int:
    """Returns how many panels stand side by side: a shape wider than high with few empty places."""
    count, root = len(panels), math.sqrt(len(panels))
    if count <= 2:
        return count
    return min(range(math.ceil(root), math.ceil(1.5 * root) + 1), key=lambda across: (-count % across, across))


def _sizes(panels: Sequence[Panel], across: int) -> tuple[float, float, float]:
    """Returns width and height of the figure in inches, and the points that one cell gets."""
    rows = max(len(panel.states) for panel in panels)
    columns = max(len(panel.states[0]) for panel in panels)
    inches = 7.2 if len(panels) == 1 else 4.2 if len(panels) == 2 else 1.55
    cell = min(0.85, inches / max(rows, columns))
    down = math.ceil(len(panels) / across)
    width = across * (columns * cell + 0.35) + 1.2
    return max(width, 4.8), down * (rows * cell + 0.4) + 0.8, cell * POINTS_PER_INCH


def _bars(
    values: np.ndarray, record: RunRecord, what: str, unit: str, ax: Axes | None, exact: np.ndarray | None = None
) -> Figure:
    """Draws one bar for each action, the greedy ones darker, the exact values as marks."""
    check_axes(ax)
    place = ax if ax is not None else new_figure(8.0, 4.2).add_subplot()
    best = greedy(np.asarray(values, np.float64))
    positions, color = np.arange(len(values)), SERIES["light"][0]
    for mask, alpha, label in ((best, 1.0, "greedy"), (~best, 0.45, "other actions")):
        place.bar(positions[mask], values[mask], width=0.7, color=color, alpha=alpha, label=label)
    if exact is not None:
        place.hlines(exact[0], positions - 0.42, positions + 0.42, color=INK, linewidth=1.8, label="exact")
        place.legend(frameon=False, fontsize=TICK_SIZE, ncols=3, loc="upper right", bbox_to_anchor=(1, 1.1))
    dress(place, title=f"{title(record)}\n{what}", xlabel="action", ylabel=unit)
    place.axhline(0.0, color=MUTED, linewidth=0.8)
    if len(values) <= 30:
        place.set_xticks(positions)
    return figure_of(place)
