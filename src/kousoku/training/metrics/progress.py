"""Progress while agents learn: a few lines of a terminal that stay where they are. Silent when nobody looks.

    ━━━━━━━━━━━━━━╸━━━━━━━━ 61%  125 k of 205 k steps   7.5 k steps/s   1 min 2 s left
    return 482 ± 12   ▁▂▃▅▇▇   length 482 ± 12   2.80 k episodes   2 agents
    policy_loss -0.00095   value_loss 0.00043   entropy 0.255   approx_kl 0.00069

What follows the sign ± is the standard deviation over the agents, as is said while the first steps are compiled; a
notebook, which shows the same below a curve (`notebook`), says so all the time. Where no episode has ended since the
last report, the last return and length that are known stay.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import IO, Any, cast

import numpy as np

from ...core.words import noun
from .curves import COUNTS
from .notebook import NotebookView, notebook_display
from .terminal import StandardError

GOOD = ("return", "reward", "eval_return", "length")
LASTING = ("return", "eval_return", "length")
"""Of episodes and evaluations, which not every report has."""
LOSSES = ("policy_loss", "value_loss", "entropy", "approx_kl", "clipfrac", "explained_variance")
UNSHOWN = (*GOOD, *LOSSES, "step", "seconds", *COUNTS, "eval_length", "learning_rate", "gradient_norm")
BARS = "▁▂▃▄▅▆▇█"
WIDTH, WIDE, TREND = 24, 90, 16
MOST_POINTS = 400


class Progress:
    """Progress of all agents together: how far, how fast, how good, how long to go.

    Args:
        total: steps of each agent.
        members: agents that learn at once.
        show: whether to show it; None asks whether this is a notebook, or standard error a terminal.
    """

    def __init__(self, total: int, members: int, show: bool | None) -> None:
        self.total, self.members = total, members
        self.view: Any = None
        self.lines = [f"{members:,} agents" if members > 1 else "", ""]
        self.note = "± is the standard deviation over the agents" if members > 1 else ""
        self.known: dict[str, str] = {}
        self.head = "compiling the first steps"
        self.share = 0.0
        self.trend: list[float] = []
        self.curve: list[tuple[int, float]] = []
        self.since: tuple[float, int] | None = None
        out, display = StandardError(), None if show is False else notebook_display()
        if display is not None:
            self.view = NotebookView(self, display)
        elif out.isatty() if show is None else show:
            self.view = _view(self, out)

    def __enter__(self) -> Progress:
        if self.view is not None:
            self.view.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.view is not None:
            self.view.stop()

    def update(self, step: int, seconds: float, episodes: int, latest: Mapping[str, Any]) -> None:
        """Shows a report.

        Args:
            step: steps done by each agent.
            seconds: that they took.
            episodes: ended so far, of all agents.
            latest: the report's numbers by name, [N] each.
        """
        if self.view is None:
            return
        self.share = min(1.0, step / max(self.total, 1))
        speed = f"{readable(step * self.members / max(seconds, 1e-9))} steps/s"
        self.head = "   ".join([f"{readable(step)} of {readable(self.total)} steps", speed, self._left(step)]).rstrip()
        self._follow(step, latest)
        self.lines = [self._good(latest, episodes), _losses(latest)]
        self.view.refresh()

    def _good(self, latest: Mapping[str, Any], episodes: int) -> str:
        """Returns how good the agents are, as text."""
        now = {name: text for name in GOOD if name in latest and (text := spread(latest[name]))}
        self.known |= {name: text for name, text in now.items() if name in LASTING}
        told = {name: text for name in GOOD if (text := now.get(name, self.known.get(name, "")))}
        if "return" in told:
            told.pop("reward", None)
        good = [f"{name.replace('_', ' ')} {text}" for name, text in told.items()]
        trend = sparkline(self.trend) if len(self.trend) > 1 else ""
        agents = f"{self.members:,} agents" if self.members > 1 else ""
        ended = f"{readable(episodes)} {noun(episodes, 'episode')}"
        return "   ".join(filter(None, [*good[:1], trend, *good[1:], ended, agents]))

    def _left(self, step: int) -> str:
        """Returns the time that is left, by the reader's clock and without what compiling took."""
        now = time.monotonic()
        if self.since is None or step <= self.since[1]:
            self.since = self.since or (now, step)
            return ""
        each = (now - self.since[0]) / (step - self.since[1])
        return f"{span(each * max(0, self.total - step))} left"

    def _follow(self, step: int, latest: Mapping[str, Any]) -> None:
        """Adds the mean return to the curve, which loses every second point when it has too many."""
        values = np.asarray(latest.get("return", np.nan), np.float64)
        known = values[np.isfinite(values)]
        if known.size:
            mean = float(known.mean())
            self.trend = [*self.trend, mean][-TREND:]
            self.curve.append((step, mean))
            self.curve = self.curve[::2] if len(self.curve) > MOST_POINTS else self.curve


class SingleLine:
    """One line that is written over and over, for terminals that know no more than a carriage return."""

    def __init__(self, progress: Progress, out: StandardError) -> None:
        self.progress, self.out = progress, out

    def start(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        progress = self.progress
        text = "   ".join(filter(None, [f"{progress.share:.0%}", progress.head, *progress.lines]))
        plain = "".join(c for c in text.replace("±", "+-") if c.isascii())
        self.out.write("\r" + plain[:width].ljust(width))
        self.out.flush()

    def stop(self) -> None:
        self.refresh()
        self.out.write("\n")


def _losses(latest: Mapping[str, Any]) -> str:
    """Returns the means of the updates' metrics, as text."""
    others = [name for name in latest if name not in UNSHOWN and not name.startswith("info.")]
    means = {name: spread(latest[name]).partition(" ")[0] for name in (*LOSSES, *others) if name in latest}
    return "   ".join(f"{name} {text}" for name, text in means.items() if text)


def spread(values: Any) -> str:
    """Returns the mean of the finite numbers, and their standard deviation if there are several; nothing without any.

    Examples:
        >>> spread(np.array([480.0, 500.0, np.nan])), spread(np.array([-12345.6])), spread(np.array([np.nan]))
        ('490 ± 10', '-12,346', '')
    """
    x = np.asarray(values, np.float64).reshape(-1)
    known = x[np.isfinite(x)]
    if not known.size:
        return ""
    return _number(known.mean(), 3) + (f" ± {_number(known.std(), 2)}" if x.size > 1 else "")


def _number(x: float, digits: int) -> str:
    return f"{x:,.0f}" if 100 <= abs(x) < 1e7 else f"{x:.{digits}g}"


def sparkline(values: list[float]) -> str:
    """Draws numbers as bars of eight heights.

    Examples:
        >>> sparkline([0.0, 1.0, 3.5, 7.0])
        '▁▂▅█'
    """
    low, high = min(values), max(values)
    return "".join(BARS[round((v - low) / (high - low or 1.0) * (len(BARS) - 1))] for v in values)


def span(seconds: float) -> str:
    """Returns a time to wait as text.

    Examples:
        >>> span(8.2), span(75.0), span(7260.0)
        ('8 s', '1 min 15 s', '2 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def readable(number: float) -> str:
    """Returns a number with three digits and a unit.

    Examples:
        >>> readable(12_345_678.0), readable(950.0)
        ('12.3 M', '950')
    """
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def _view(progress: Progress, out: StandardError) -> Any:
    """Returns some lines where the terminal can move its cursor, else one."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=cast(IO[str], out))
    if console.is_dumb_terminal or not console.is_terminal or "utf" not in console.encoding:
        return SingleLine(progress, out)
    shown = _lines(progress, console)
    # Where there is no standard output Live would put a stream of its own there, and leave it there.
    return Live(get_renderable=shown, console=console, refresh_per_second=4, redirect_stdout=sys.stdout is not None)


def _lines(progress: Progress, console: Any) -> Callable[[], Any]:
    """Returns what makes the lines: at most three, each cut to the terminal's width."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    began = time.monotonic()

    def picture() -> Group:
        width = WIDTH if console.width > WIDE else WIDTH // 3
        waiting = f" ({span(time.monotonic() - began)})" if progress.since is None else ""
        head = Table.grid(padding=(0, 1))
        for cells in (width, 4, None):
            head.add_column(width=cells, no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=1.0, completed=progress.share, width=width)
        head.add_row(bar, f"{progress.share:.0%}", progress.head + waiting)
        lines = (*progress.lines, progress.note if progress.since is None else "")
        below = [Text(line, no_wrap=True, overflow="ellipsis") for line in lines if line]
        return Group(head, *below)

    return picture
