"""Matplotlib figures in the project's style: object-oriented, without pyplot and without global state."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ..core.errors import ConfigError
from .style import COLORS, SCALES

INK, MUTED, LINE, PAPER = (COLORS["light"][name] for name in ("ink", "muted", "line", "paper"))
TITLE_SIZE, LABEL_SIZE, TICK_SIZE = 12.0, 10.0, 9.0
LETTER = 0.55
"""The width of a letter as a share of the font's size, on average."""


class Picture(Figure):
    """A figure that shows itself in a notebook, whether or not pyplot was ever imported."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def new_figure(width: float, height: float) -> Picture:
    """Returns a figure of this size in inches that nothing else knows of."""
    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.14)
    figure = Picture(figsize=(width, height), layout=layout, facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure


def check_axes(ax: object) -> None:
    """Refuses what is neither None nor axes to draw in.

    Raises:
        ConfigError: for anything else, such as an array of them or their figure.
    """
    if ax is not None and not isinstance(ax, Axes):
        raise ConfigError("ax", ax, "give one matplotlib Axes, such as axes[0]")


def figure_of(ax: Axes) -> Figure:
    """Returns the figure that axes belong to."""
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def colormap(name: str) -> LinearSegmentedColormap:
    """Returns one of the palette's scales."""
    return LinearSegmentedColormap.from_list(name, list(SCALES[name]["light"]))


def dress(ax: Axes, *, title: str = "", xlabel: str = "", ylabel: str = "") -> None:
    """Makes axes quiet: no box, a light grid behind, labels that can be read from the back of a room."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    ax.tick_params(colors=MUTED, labelsize=TICK_SIZE, length=0)
    ax.grid(axis="y", color=LINE, linewidth=0.8)
    ax.set_axisbelow(True)
    heading(ax, title)
    ax.set_xlabel(xlabel, color=MUTED, fontsize=LABEL_SIZE)
    ax.set_ylabel(ylabel, color=MUTED, fontsize=LABEL_SIZE)


def heading(ax: Axes, text: str, **options: Any) -> None:
    """Writes a title at the left edge, smaller and on more lines where axes are narrow; a dollar sign is one."""
    size = TITLE_SIZE if _letters(ax, TITLE_SIZE) >= max(map(len, text.split("\n"))) else TICK_SIZE
    lines = (textwrap.fill(line, _letters(ax, size)) for line in text.split("\n"))
    style = {"loc": "left", "fontsize": size, "color": INK, "pad": 10.0} | options
    ax.set_title("\n".join(lines), parse_math=False, **style)


def _letters(ax: Axes, size: float) -> int:
    """Returns how many letters of a size have room side by side above axes, at least 10."""
    width = ax.get_position().width * figure_of(ax).get_size_inches()[0]
    return max(int(72.0 * width / (LETTER * size)), 10)
