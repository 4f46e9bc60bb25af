"""Progress in a notebook: a bar, the lines that a terminal shows, and the curve of the mean return, drawn as SVG."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Protocol, runtime_checkable

WIDTH, HEIGHT, PAD = 460, 90, 4
SECONDS = 0.25
"""Between two pictures pass at least so many: each is sent to the browser as a whole."""
BLUE = "#3292c9"
"""It is seen on a light page and on a dark one; all else has the colour of the page's text."""


@runtime_checkable
class Shown(Protocol):
    """The progress of a run, as far as it is shown.

    Attributes:
        share: done, from 0 to 1.
        head, lines, note: in words; the last says what the numbers are.
        curve: (step, mean return) of reports so far.
        total: steps of each agent.
    """

    share: float
    head: str
    lines: list[str]
    note: str
    curve: list[tuple[int, float]]
    total: int


def notebook_display() -> Callable[..., Any] | None:
    """Returns IPython's `display` if this process is the kernel of a notebook; else None, and nothing is imported.

    An IPython shell in a terminal has no kernel, and shows progress as any terminal does.
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if get_ipython is None else get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    return importlib.import_module("IPython.display").display


class NotebookView:
    """One output of a cell that is drawn over and over.

    Args:
        progress: what is shown.
        display: IPython's function.
    """

    def __init__(self, progress: Shown, display: Callable[..., Any]) -> None:
        self._progress, self._display = progress, display
        self._handle: Any = None
        self._drawn_at = 0.0

    def start(self) -> None:
        """Makes the output."""
        self._handle = self._display(self._picture(), raw=True, display_id=True)
        self._drawn_at = time.monotonic()

    def refresh(self) -> None:
        """Draws it anew, if the last picture is old enough."""
        if time.monotonic() - self._drawn_at >= SECONDS:
            self._draw()

    def stop(self) -> None:
        """Draws it as it stays."""
        self._draw()

    def _draw(self) -> None:
        self._handle.update(self._picture(), raw=True)
        self._drawn_at = time.monotonic()

    def _picture(self) -> dict[str, str]:
        """Returns the output by media type: text is for what shows no HTML."""
        progress = self._progress
        lines = [f"{progress.share:.0%}   {progress.head}", *filter(None, (*progress.lines, progress.note))]
        text = "\n".join(lines)
        style = "white-space:pre-wrap;font-family:monospace;font-size:12px"
        svg = progress_svg(progress.share, progress.curve, progress.total)
        return {"text/plain": text, "text/html": f'<div style="{style}">{svg}\n{escape(text)}</div>'}


def progress_svg(share: float, curve: Sequence[tuple[int, float]], total: int) -> str:
    """Returns a bar as SVG, and below it the curve of (step, mean return), once it has two points.

    Args:
        share: done, from 0 to 1.
        curve: by rising steps; finite numbers.
        total: the step at the right edge.

    Examples:
        >>> "polyline" in progress_svg(0.5, [(10, 1.0), (20, 3.0)], 40), "polyline" in progress_svg(0.5, [], 40)
        (True, False)
    """
    drawn = _curve(curve, total) if len(curve) > 1 else ""
    height = PAD * 3 + (HEIGHT if drawn else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'style="display:block" role="img" aria-label="{share:.0%} done">'
        f'<rect width="{WIDTH}" height="{PAD}" rx="2" fill="currentColor" opacity=".15"/>'
        f'<rect width="{WIDTH * share:.1f}" height="{PAD}" rx="2" fill="{BLUE}"/>{drawn}</svg>'
    )


def _curve(curve: Sequence[tuple[int, float]], total: int) -> str:
    """Returns the curve below the bar, with its least and its greatest value at the right edge."""
    top, bottom = 3.0 * PAD, float(HEIGHT)
    values = [value for _, value in curve]
    low, high = min(values), max(values)
    middle = 0.5 * (top + bottom)

    def height(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low) if high > low else middle

    points = " ".join(f"{(WIDTH - 70) * step / max(total, step):.1f},{height(value):.1f}" for step, value in curve)
    label = f'x="{WIDTH}" text-anchor="end" font-size="11" fill="currentColor" opacity=".7"'
    ends = [(top + 8, high), (bottom, low)] if high > low else [(middle + 4, low)]
    named = "".join(f'<text y="{y:g}" {label}>{value:.4g}</text>' for y, value in ends)
    return (
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="1.6" stroke-linejoin="round"/>{named}'
    )
