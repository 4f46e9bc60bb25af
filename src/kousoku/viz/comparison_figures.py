"""Figures of a comparison: intervals, performance profiles, probabilities of improvement, learning curves."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from ..ops.comparison import performance_profile, runs_of
from ..ops.statistics import FEWEST, MeanInterval
from .canvas import INK, LABEL_SIZE, LINE, MUTED, TICK_SIZE, dress, new_figure
from .comparison import Entrant, Group
from .curve_data import ESTIMATED, Curve, curve, own_limit, with_derived_curves
from .curves import robust_limits
from .entrant_names import LONGEST, short_names
from .reports import has_values
from .style import SERIES
from .text import isolated, short

COLORS = SERIES["light"]
WIDTH, HEIGHT = 5.4, 3.7
ROW = 0.42
LEGEND_ROW = 0.24
THRESHOLDS = 200
POINTS = 150
AxisName = Literal["steps", "seconds"]


def intervals(group: Group, what: Literal["IQM", "mean"]) -> Figure:
    """Draws the statistic of every entrant with its interval, and the agents themselves as faint dots."""
    count = len(group.entrants)
    figure = new_figure(WIDTH, 1.3 + ROW * count)
    ax = figure.add_subplot()
    for i, one in enumerate(group.entrants):
        ax.plot(one.scores, np.full(len(one.scores), i), "o", color=COLORS[i], markersize=4, alpha=0.3)
        found = one.iqm if what == "IQM" else one.mean
        _bar(ax, i, found, short(float(found.mean)), COLORS[i])
    _rows(ax, _names(group))
    _optimum(ax, group, vertical=True)
    dress(ax, xlabel="greedy return")
    ax.grid(visible=False)
    ax.grid(axis="x", visible=True, color=LINE, linewidth=0.8)
    return figure


def profile(group: Group) -> Figure:
    """Draws for every return the share of agents above it, with 95% bands."""
    figure = new_figure(WIDTH, HEIGHT)
    ax = figure.add_subplot()
    every = np.concatenate([one.scores for one in group.entrants])
    pad = 0.05 * (np.ptp(every) or max(1.0, abs(float(every[0]))))
    thresholds = np.linspace(every.min() - pad, every.max() + pad, THRESHOLDS)
    for i, (one, name) in enumerate(zip(group.entrants, _names(group), strict=True)):
        found = performance_profile(runs_of(one.scores), thresholds)
        ax.step(thresholds, found.mean, where="post", color=COLORS[i], linewidth=2.0, label=name)
        ax.fill_between(thresholds, found.low, found.high, step="post", color=COLORS[i], alpha=0.16, linewidth=0)
    ax.set_ylim(-0.03, 1.03)
    _optimum(ax, group, vertical=True)
    dress(ax, xlabel="greedy return", ylabel="share of agents above it")
    _legend(figure, ax)
    return figure


def improvement(group: Group) -> Figure:
    """Draws for every pair the probability that an agent of the first has a higher return than one of the second."""
    pairs = [(i, j) for i in range(len(group.entrants)) for j in range(i + 1, len(group.entrants))]
    figure = new_figure(WIDTH, 1.3 + ROW * len(pairs))
    ax = figure.add_subplot()
    for row, (i, j) in enumerate(pairs):
        found = group.entrants[i].better_than(group.entrants[j])
        _bar(ax, row, found, f"{float(found.mean):.2f}", COLORS[i])
    names = _names(group)
    _rows(ax, [f"{names[i]}\n> {names[j]}" for i, j in pairs])
    ax.axvline(0.5, color=MUTED, linewidth=1.2, linestyle=(0, (6, 3)))
    ax.set_xlim(-0.08, 1.08)
    dress(ax, xlabel="probability of improvement")
    ax.grid(visible=False)
    ax.grid(axis="x", visible=True, color=LINE, linewidth=0.8)
    return figure


def learning(group: Group, axis: AxisName) -> Figure | None:
    """Draws the learning curves over steps or over the time of training; None if nothing is known of any."""
    figure = new_figure(WIDTH, HEIGHT)
    ax = figure.add_subplot()
    drawn: list[np.ndarray] = []
    for i, (one, name) in enumerate(zip(group.entrants, _names(group), strict=True)):
        data = returns_of(one)
        x = None if data is None else data.step if axis == "steps" else data.seconds
        if data is None or x is None:
            continue
        mean, low, high = (part[:, 0] for part in (data.mean, data.low, data.high))
        mark = "." if np.isfinite(mean).sum() <= 20 else None
        greedy = ": greedy evaluations" if own_limit(one.record) else ""
        ax.plot(x, mean, color=COLORS[i], linewidth=2.0, label=f"{name}{greedy}", marker=mark)
        ax.fill_between(x, low, high, color=COLORS[i], alpha=0.16, linewidth=0)
        drawn += [mean, low, high]
    if not drawn:
        return None
    _optimum(ax, group, vertical=False)
    known = [] if group.optimum is None else [np.array([group.optimum])]
    ax.set_ylim(*robust_limits(np.concatenate(drawn), *known))
    ax.set_xlim(left=0)
    if axis == "steps":
        ax.xaxis.set_major_formatter(EngFormatter(sep=" "))
    words = "steps of each agent" if axis == "steps" else "seconds of training, compiling included"
    dress(ax, xlabel=words, ylabel="return while training")
    _legend(figure, ax)
    return figure


def returns_of(one: Entrant) -> Curve | None:
    """Returns an entrant's learning curve: of training, or of evaluations where it plays or ends no whole episode."""
    record = with_derived_curves(one.record)
    while_training = () if own_limit(record) else (ESTIMATED, "return")
    for name in (*while_training, "eval_return"):
        if has_values(record.curves.get(name)):
            return curve(record, name, POINTS)
    return None


def _names(group: Group) -> list[str]:
    """Returns the entrants' names, short enough for a figure."""
    return [isolated(name) for name in short_names([one.name for one in group.entrants])]


def _bar(ax: Axes, row: int, found: MeanInterval, words: str, color: str) -> None:
    """Draws a number and its interval, with the number above it."""
    ends = [float(found.low), float(found.high)]
    ax.plot(ends, [row, row], color=color, linewidth=5, alpha=0.35, solid_capstyle="butt")
    ax.plot(float(found.mean), row, "o", color=color, markersize=8)
    value = float(found.mean)
    ax.annotate(words, (value, row), (0, 7), textcoords="offset points", ha="center", fontsize=TICK_SIZE, color=INK)


def _rows(ax: Axes, names: list[str]) -> None:
    """Names the rows, the first at the top."""
    for label in ax.set_yticks(range(len(names)), names):
        label.label1.set_parse_math(False)
    ax.set_ylim(len(names) - 0.5, -0.7)


def _optimum(ax: Axes, group: Group, vertical: bool) -> None:
    if group.optimum is None:
        return
    draw = ax.axvline if vertical else ax.axhline
    draw(group.optimum, color=MUTED, linestyle=(0, (6, 3)), linewidth=1.2, label=f"optimum {short(group.optimum)}")


def _legend(figure: Figure, ax: Axes) -> None:
    """Names the lines above the axes, where they hide nothing; the figure grows by these rows."""
    handles, labels = ax.get_legend_handles_labels()
    columns = 2 if max(map(len, labels)) <= LONGEST // 2 else 1
    legend = figure.legend(
        handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=LABEL_SIZE, labelcolor=INK
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    figure.set_figheight(HEIGHT + LEGEND_ROW * -(-len(labels) // columns))


def has_intervals(group: Group) -> bool:
    """Returns whether every entrant has enough agents for intervals."""
    return all(len(one.scores) >= FEWEST for one in group.entrants)
