"""Learning curves: the mean over agents (or their interquartile mean) and its 95% interval, for each sweep point."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator, StrMethodFormatter

from ..core.errors import ConfigError
from ..core.record import RunRecord
from ..core.words import plural
from ..ops.statistics import FEWEST
from .canvas import MUTED, PAPER, TICK_SIZE, check_axes, dress, figure_of, new_figure
from .curve_data import (
    ESTIMATED,
    Curve,
    curve,
    evaluation_of,
    returns_curve,
    same_return,
    wants_log_axis,
    what_is_told,
    with_derived_curves,
)
from .estimates import fewest_agents, statistic
from .headline import title
from .ranking import optimum, point_order
from .reports import has_values
from .style import SERIES, colored
from .text import point_name, short

MAX_MEMBERS = 50
FEW_POINTS = 20
WHAT = {
    "return": "return of the episodes that ended",
    "reward": "reward per step",
    "length": "steps per episode",
    ESTIMATED: "return, as reward per step × steps of an episode",
}
COLORS = SERIES["light"]


def plot_returns(record: RunRecord, ax: Axes | None = None) -> Figure:
    """Plots the return of the episodes that ended over the steps.

    Where no episode ended, the reward per step; where some reports saw none end, at the time limit of all, the
    reward of so many steps. Where every return is the same the title says so: `plot_lengths` may show more then.

    Lines are means or interquartile means over the agents of each sweep point, bands 95% intervals, thin lines single
    agents; larger dots are greedy evaluations, the last one after training; a dashed line is the optimum.

    Args:
        record: the run.
        ax: where to draw; None for a new figure.

    Raises:
        ConfigError: if neither was recorded.
    """
    record = with_derived_curves(record)
    name = returns_curve(record)
    if name is None:
        recorded = {"return", "reward"} & set(record.curves)
        fix = "every return is NaN" if recorded else "no return was recorded; train with record=['returns']"
        raise ConfigError("plot_returns", title(record), fix)
    return _plot(record, name, ax)


def plot_lengths(record: RunRecord, ax: Axes | None = None) -> Figure:
    """Plots the steps of the episodes that ended over the steps; lines and dots are those of `plot_returns`.

    Args:
        record: the run.
        ax: where to draw; None for a new figure.

    Raises:
        ConfigError: if none was recorded, or no episode ended.
    """
    record = with_derived_curves(record)
    if not has_values(record.curves.get("length")):
        fix = "no episode's length was recorded; train until some end, with record=['returns']"
        raise ConfigError("plot_lengths", title(record), fix)
    return _plot(record, "length", ax)


def _plot(record: RunRecord, name: str, ax: Axes | None) -> Figure:
    """Plots a curve over the steps."""
    check_axes(ax)
    place = ax if ax is not None else new_figure(8.6, 4.6).add_subplot()
    data, order, evals = curve(record, name), point_order(record), evaluation_of(name)
    for rank, point in reversed(list(enumerate(order))):
        _draw(place, record, data, rank, point)
    evaluated = curve(record, evals) if evals in record.curves else None
    if evaluated is not None:
        _draw_evaluations(place, record, evaluated, order)
    best = _draw_optimum(place, record, name)
    greedy = np.empty(0) if evaluated is None else evaluated.mean.ravel()
    if evaluated is not None and len(record.points) == 1:
        _draw_whisker(place, evaluated)
        greedy = np.concatenate([greedy, evaluated.low, evaluated.high], axis=None)
    dress(
        place,
        title=f"{title(record)}\n{what_is_told(record, name, WHAT[name])}{_note(record)}{_sameness(record, name)}",
        xlabel="steps of each agent",
    )
    place.xaxis.set_major_formatter(EngFormatter(sep=" "))
    place.set_xlim(0, 1.01 * float(data.step[-1]))  # with all of the last dot
    if wants_log_axis(name, data.members):
        place.set_yscale("log")
        place.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        place.yaxis.set_minor_locator(NullLocator())
        place.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        least, most = (np.concatenate([part, greedy], axis=None) for part in (data.members, data.mean))
        place.set_ylim(0.8 * float(least[least > 0].min()), 1.1 * float(np.nanmax(most)))  # an interval may go below 0
    else:
        trained = np.concatenate([data.mean, data.low, data.high], axis=None)
        place.set_ylim(*robust_limits(trained, greedy, np.asarray(best)))
    if len(record.points) > 1 or best or greedy.size:
        handles, labels = place.get_legend_handles_labels()
        legend = place.legend(
            handles[::-1], labels[::-1], facecolor=PAPER, edgecolor="none", framealpha=0.8, fontsize=TICK_SIZE,
            labelcolor=MUTED, loc="best",
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure_of(place)


def robust_limits(*parts: np.ndarray) -> tuple[float, float]:
    """Returns limits of an axis that shows all values, but for the few of each part that would flatten its others.

    Evaluations are a part of their own: they are few, and may lie far from what is seen while training.

    Examples:
        >>> low, high = robust_limits(np.array([*np.linspace(0.0, 1.0, 99), -1000.0]), np.array([5.0]))
        >>> low > -1.0, high > 5.0
        (True, True)
    """
    ranges = [_robust_range(known) for part in parts if (known := part[np.isfinite(part)]).size]
    if not ranges:
        return 0.0, 1.0
    bottom, top = min(low for low, _ in ranges), max(high for _, high in ranges)
    pad = 0.05 * (top - bottom) or max(0.5, 0.1 * abs(top))
    return bottom - pad, top + pad


def _robust_range(known: np.ndarray) -> tuple[float, float]:
    """Returns the least and the greatest of some values, less the few that would flatten all others."""
    low, high = float(known.min()), float(known.max())
    inner_low, inner_high = (float(x) for x in np.quantile(known, (0.04, 0.96)))
    spread = inner_high - inner_low
    bottom = inner_low - 0.1 * spread if spread > 0 and inner_low - low > 1.5 * spread else low
    top = inner_high + 0.1 * spread if spread > 0 and high - inner_high > 1.5 * spread else high
    return bottom, top


def _draw(ax: Axes, record: RunRecord, data: Curve, rank: int, point: int) -> None:
    """Draws one sweep point: one of the best, or thin and grey."""
    known = rank < colored(len(record.points))
    color, dashes = (COLORS[rank], "-" if rank < 4 else "--") if known else (MUTED, "-")
    if known and 1 < record.num_members <= MAX_MEMBERS:
        members = data.members[:, record.member_point == point]
        ax.plot(data.step, members, color=color, linewidth=0.7, alpha=0.18 if len(members[0]) >= FEWEST else 0.6)
    if known:
        ax.fill_between(data.step, data.low[:, point], data.high[:, point], color=color, alpha=0.2, linewidth=0)
    several = len(record.points) > 1
    label = (point_name(record, point) if several else "while training") if known else None
    width, alpha = (2.2, 1.0) if known else (0.9, 0.45)
    few = "." if np.isfinite(data.mean[:, point]).sum() <= FEW_POINTS else None  # a line of one point is not seen
    line = {"color": color, "linestyle": dashes, "linewidth": width, "alpha": alpha}
    ax.plot(data.step, data.mean[:, point], label=label, marker=few, **line)


def _draw_evaluations(ax: Axes, record: RunRecord, data: Curve, order: list[int]) -> None:
    """Draws evaluations as dots; of one sweep point in a colour of its own."""
    single = len(record.points) == 1
    for rank, point in enumerate(order[: colored(len(order))]):
        color = COLORS[1 if single else rank]
        label = "greedy evaluations" if rank == 0 else None
        ax.plot(data.step, data.mean[:, point], "o:", color=color, markersize=4, linewidth=1.1, label=label)
        if single:
            ax.fill_between(data.step, data.low[:, point], data.high[:, point], color=color, alpha=0.15, linewidth=0)


def _draw_whisker(ax: Axes, data: Curve) -> None:
    """Draws the interval of an evaluation that stands alone, where a band has no width."""
    (known,) = np.nonzero(np.isfinite(data.mean[:, 0]))
    if len(known) != 1 or not np.isfinite(data.low[known[0], 0]):
        return
    step, low, high = (float(values[known[0]]) for values in (data.step, data.low[:, 0], data.high[:, 0]))
    ax.plot([step, step], [low, high], color=COLORS[1], linewidth=1.2, marker="_", markersize=7)


def _draw_optimum(ax: Axes, record: RunRecord, name: str) -> list[float]:
    """Draws the largest expected return as a line, and returns it, if it is known and returns are drawn."""
    best = optimum(record)
    if best is None or name not in ("return", ESTIMATED):
        return []
    ax.axhline(best, color=MUTED, linestyle=(0, (6, 3)), linewidth=1.2, label=f"optimum {short(best)}")
    return [best]


def _sameness(record: RunRecord, name: str) -> str:
    """Says where every return is the same, as with a goal and no cost of steps."""
    same = same_return(record) if name == "return" else None
    return "" if same is None else f"; all are {short(same)}"


def _note(record: RunRecord) -> str:
    """Says what the lines are."""
    if record.num_members == len(record.points):
        return ""
    name = "interquartile mean" if statistic(record) == "IQM" else "mean"
    if fewest_agents(record) < FEWEST:
        return f" ({name} of {plural(fewest_agents(record), 'agent')})"
    return f" ({name} and 95% interval)"
