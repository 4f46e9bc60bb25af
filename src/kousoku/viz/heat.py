"""One panel of states in Matplotlib: coloured cells, walls, labels, greedy arrows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_hex

from ..core.panel import Panel
from .canvas import INK, MUTED, colormap, heading
from .style import COLORS, ink_on, to_rgb
from .text import MINUS, fixed

LARGE = 20
MOST_CHARACTERS = 8
NUMBERS_UP_TO = 12
LONGEST_LABEL = 12
SMALLEST_ARROW = 5.0
WALL_WIDTH = 0.08
ASIDE, SHRUNK = 0.1, 0.8
"""How far arrows move away from a label in the corner, in cells, and how much of their length is left."""


@dataclass(frozen=True)
class Heat:
    """The values and colours that fill the cells of panels.

    Attributes:
        scale: the palette's name.
        values: one for each state; NaN where there is nothing to show.
        norm: from values to [0, 1].
        caption: beside the colour bar.
        greedy: the greedy actions, or None to draw no arrows.
    """

    scale: str
    values: Float[np.ndarray, " S"]
    norm: Normalize
    caption: str
    greedy: Bool[np.ndarray, "S A"] | None = None


@dataclass(frozen=True)
class _Cells:
    """The cells of a panel, as they are written into.

    Attributes:
        ax: where they are drawn.
        panel: whose they are.
        points: about how many a cell is wide.
        numbers: whether there is room for values.
    """

    ax: Axes
    panel: Panel
    points: float
    numbers: bool


def draw_panel(ax: Axes, panel: Panel, heat: Heat, *, cell_points: float, alone: bool) -> None:
    """Draws a panel; a cell is about `cell_points` points wide, which decides what is written into it."""
    states = np.array(panel.states)
    rows, columns = states.shape
    values = np.where(states < 0, np.nan, heat.values[states])
    palette = colormap(heat.scale)
    low, high = float(heat.norm.vmin or 0.0), float(heat.norm.vmax or 0.0)
    inside = np.clip(np.where(np.isnan(values), low, values), low, high)  # an infinite value has an end's colour
    shade = palette(np.ma.filled(heat.norm(inside), 0.0))
    shade[np.isnan(values)] = _rgba("blank")
    ax.imshow(shade, interpolation="nearest", aspect="equal")
    walls = np.array(_rgba("wall")) * (states < 0)[..., None]
    ax.imshow(walls, interpolation="nearest", aspect="equal", zorder=2.6)  # above the lines between cells
    _walls_between(ax, panel, cell_points)
    numbers = alone and heat.greedy is not None and columns <= NUMBERS_UP_TO and cell_points >= 36
    _write_cells(_Cells(ax, panel, cell_points, numbers), heat, values, shade)
    _ticks(ax, panel, rows, columns, cell_points)
    if max(rows, columns) <= LARGE:
        _grid_lines(ax, rows, columns)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if panel.title:
        heading(ax, panel.title, fontsize=11 if alone else 7.5, color=MUTED, pad=4.0)


def arrow_lines(
    x: float, y: float, direction: tuple[float, float], alone: bool, reach: float
) -> list[list[tuple[float, float]]]:
    """Returns an arrow in a cell as shaft and head; centred if it is the only one, else pointing outwards."""
    unit = np.array(direction) / max(float(np.hypot(*direction)), 1e-9)
    across = np.array([-unit[1], unit[0]])
    here = np.array([x, y])
    tail, tip = (-0.75 * reach, 0.75 * reach) if alone else (0.2 * reach, reach)
    head = 0.42 * reach
    strokes = [
        [here + tail * unit, here + tip * unit],
        [here + (tip - head) * unit + head * across, here + tip * unit, here + (tip - head) * unit - head * across],
    ]
    return [[(float(p[0]), float(p[1])) for p in stroke] for stroke in strokes]


def _grid_lines(ax: Axes, rows: int, columns: int) -> None:
    """Draws white lines between the cells."""
    across = [[(-0.5, r - 0.5), (columns - 0.5, r - 0.5)] for r in range(1, rows)]
    down = [[(c - 0.5, -0.5), (c - 0.5, rows - 0.5)] for c in range(1, columns)]
    lines = LineCollection([*across, *down], colors="white", linewidths=1.2, zorder=2.5)
    lines.set_in_layout(False)
    ax.add_collection(lines, autolim=False)


def _walls_between(ax: Axes, panel: Panel, cell_points: float) -> None:
    """Draws walls that lie between cells; a cell's centre is a whole number."""
    ends = [[(x0 - 0.5, y0 - 0.5), (x1 - 0.5, y1 - 0.5)] for x0, y0, x1, y1 in panel.walls]
    width = WALL_WIDTH * cell_points
    walls = LineCollection(ends, colors=COLORS["light"]["wall"], linewidths=width, capstyle="round", zorder=2.7)
    walls.set_in_layout(False)
    ax.add_collection(walls, autolim=False)


def _rgba(name: str) -> tuple[float, float, float, float]:
    return (*to_rgb(COLORS["light"][name]), 1.0)


def _write_cells(cells: _Cells, heat: Heat, values: np.ndarray, shade: np.ndarray) -> None:
    """Writes labels, greedy arrows or action names, and values where there is room."""
    labels = {(r, c): text for r, c, text in cells.panel.labels}
    large = max(values.shape) > LARGE
    size = max(abs(heat.norm.vmin or 0.0), abs(heat.norm.vmax or 0.0))
    legible = heat.greedy is not None and cells.points >= SMALLEST_ARROW
    lines: list[list[tuple[float, float]]] = []
    inks: list[str] = []
    for r, c in np.ndindex(*values.shape) if legible else labels:
        label, empty = labels.get((r, c)), bool(np.isnan(values[r, c]))
        ink = INK if empty else ink_on(to_hex(tuple(shade[r, c])))
        if label is not None:
            _label(cells, r, c, label, ink, centred=large or empty or not legible)
        if empty or heat.greedy is None or not legible or (large and label is not None):
            continue
        mask = heat.greedy[cells.panel.states[r][c]]
        strokes = _greedy(cells, mask, r, c, ink, labelled=label is not None)
        lines += strokes
        inks += [ink] * len(strokes)
        if cells.numbers:
            text = fixed(float(values[r, c]), size)
            text = text if len(text) <= MOST_CHARACTERS else f"{values[r, c]:.1e}".replace("-", MINUS, 1)
            _text(cells.ax, c, r + 0.32, text, ink, min(8.5, cells.points * 0.2, 1.45 * cells.points / len(text)))
    width = float(np.clip(cells.points / 26, 0.5, 1.5))
    arrows = LineCollection(lines, colors=inks, linewidths=width, capstyle="round", zorder=4)
    arrows.set_in_layout(False)  # what lies inside the axes needs no room: measuring it would take most of the time
    cells.ax.add_collection(arrows, autolim=False)


def _greedy(
    cells: _Cells, mask: np.ndarray, r: int, c: int, ink: str, *, labelled: bool
) -> list[list[tuple[float, float]]]:
    """Returns the strokes of a cell's arrows; actions without an arrow are written by name."""
    arrows = cells.panel.action_arrows or (None,) * len(mask)
    chosen = np.flatnonzero(mask)
    moves = [arrow for a in chosen if (arrow := arrows[a]) is not None]
    names = [cells.panel.action_names[a] for a in chosen if arrows[a] is None and a < len(cells.panel.action_names)]
    y = r - (0.13 if cells.numbers else 0.0)
    if names and len(chosen) == len(mask) > 1:
        _text(cells.ax, c, y, "·", ink, cells.points * 0.4)
        return []
    if names:
        text = "/".join(names)
        size = min(cells.points * (0.2 if moves else 0.3), 1.45 * cells.points / len(text))
        _text(cells.ax, c, y + (0.3 if moves else 0.0), text, ink, size)
        y -= 0.13
    reach = (0.26 if cells.numbers else 0.32) * (0.75 if names else 1.0) * (SHRUNK if labelled else 1.0)
    x, y = (c + ASIDE, y + (0.0 if cells.numbers or names else ASIDE)) if labelled else (c, y)
    return [stroke for move in moves for stroke in arrow_lines(x, y, move, len(moves) == 1, reach)]


def _label(cells: _Cells, r: int, c: int, text: str, ink: str, *, centred: bool) -> None:
    text = text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
    size = min(1.45 * cells.points / max(len(text), 1), cells.points * (0.42 if centred else 0.22))
    if centred:
        _text(cells.ax, c, r, text, ink, max(size, 5.0), weight="bold")
    else:
        _text(cells.ax, c - 0.43, r - 0.33, text, ink, max(size, 4.0), weight="bold", align="left")


def _text(
    ax: Axes, x: float, y: float, text: str, ink: str, size: float, *, weight: str = "normal", align: str = "center"
) -> None:
    style: dict[str, Any] = {"color": ink, "fontsize": size, "weight": weight, "ha": align, "va": "center"}
    ax.text(x, y, text, parse_math=False, clip_on=True, zorder=4, **style).set_in_layout(False)


def _ticks(ax: Axes, panel: Panel, rows: int, columns: int, cell_points: float) -> None:
    """Writes the panel's own names of rows and columns, and nothing where it has none."""
    if not (panel.column_ticks or panel.row_ticks or panel.column_label or panel.row_label):
        ax.set_axis_off()
        return
    ax.tick_params(length=0, colors=MUTED, labelsize=float(np.clip(cell_points * 0.35, 5, 9)))
    ax.set_xticks(range(columns) if panel.column_ticks else [], panel.column_ticks)
    ax.set_yticks(range(rows) if panel.row_ticks else [], panel.row_ticks)
    size = float(np.clip(cell_points * 0.45, 6, 10))
    ax.set_xlabel(panel.column_label, color=MUTED, fontsize=size, parse_math=False)
    ax.set_ylabel(panel.row_label, color=MUTED, fontsize=size, parse_math=False)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
