"""The progress bar: steps per second, episodes, return, time left. Silent when nobody looks."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import numpy as np


class Progress:
    """A rich progress bar over the steps of all lanes, or nothing at all.

    Args:
        total: steps of each lane.
        lanes: lanes that run at once.
        show: whether to show it; None asks whether standard error is a terminal.
    """

    def __init__(self, total: int, lanes: int, show: bool | None) -> None:
        self.lanes, self.total = lanes, total
        self.bar: Any = None
        if sys.stderr.isatty() if show is None else show:
            self.bar = _make_bar()
            self.task = self.bar.add_task("training", total=total, speed="", episodes="0", value="")

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def update(self, step: int, seconds: float, episodes: int, value: float) -> None:
        """Show the step reached, the speed so far, episodes ended and the latest mean return."""
        if self.bar is None:
            return
        speed = f"{readable(step * self.lanes / max(seconds, 1e-9))} steps/s"
        latest = "" if np.isnan(value) else f"return {value:.3g}"
        self.bar.update(self.task, completed=step, speed=speed, episodes=f"{readable(episodes)} episodes", value=latest)


def readable(number: float) -> str:
    """A number with three digits and a unit.

    Examples:
        >>> readable(12_345_678.0), readable(950.0)
        ('12.3 M', '950')
    """
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def _make_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[episodes]}"),
        TextColumn("{task.fields[value]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
