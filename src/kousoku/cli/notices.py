"""Messages about a run, in the shell's manner."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import saved_runs
from ..core.errors import RunWarning
from ..run import Run


def load(folder: str | Path, checkpoint: str | int | None = None) -> Run:
    """Reads a run's folder: its end, or one of its checkpoints."""
    with on_one_line():
        return saved_runs.load(folder, checkpoint=checkpoint)


@contextlib.contextmanager
def on_one_line() -> Iterator[None]:
    """Shows warnings about a run without the place in our code that says them."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, RunWarning):
            print(f"kousoku: {message}", file=sys.stderr)
        else:
            shown(message, category, *where)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def end(run: Run) -> int:
    """Prints what came out of a run that has ended; returns the exit status."""
    tell(run)
    if run.record.facts["trouble"]:
        print(f"kousoku: stopped: {run.record.facts['trouble']}", file=sys.stderr)
        return 1
    return 0 if run.stopped_by is None else 128 + run.stopped_by


def tell(run: Run) -> None:
    """Prints what came out, on one screen."""
    from ..core.words import noun, plural
    from ..training.metrics.progress import readable
    from ..viz.lines import result_lines

    facts, record = run.record.facts, run.record
    agents, speed = plural(record.num_members, "agent"), readable(facts["steps_per_second"])
    episodes = f"{readable(facts['episodes'])} {noun(facts['episodes'], 'episode')}"
    print(f"{facts['status']}: {agents} x {facts['steps']} steps in {facts['seconds']:.2f} s", end=" ")
    print(f"({speed} steps/s, {episodes})")
    if facts.get("blown_up"):
        print(f"blown up: the physics of {plural(facts['blown_up'], 'episode')}, terminated there")
    for line in result_lines(record):
        print(line)
    if run.path is not None:
        print(f"report: {run.report}")
    print(end="", flush=True)
