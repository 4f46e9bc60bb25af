"""Messages about a run, in the shell's manner."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..core.errors import EnvError
from ..run import Run
from . import IMPORT
from .command_line import command_line


def end(run: Run, words: Sequence[str]) -> int:
    """Prints what came out of a run that has ended, and how one that was stopped goes on; returns the exit status.

    Args:
        run: which has.
        words: of the command that ran it.
    """
    from ..training.io import checkpoints

    tell(run)
    if run.interrupted and run.path is not None and (checkpoints.is_there(run.path) or not run.record.facts["steps"]):
        print(f"{_resume(run, words)} goes on with it", flush=True)
    if run.record.facts["failure"]:
        print(f"kousoku: stopped: {run.record.facts['failure']}", file=sys.stderr)
        return 1
    return 0 if run.stopped_by is None else 128 + run.stopped_by


def ended_by(error: EnvError, words: Sequence[str]) -> str:
    """Returns one line on an environment that failed, and on the run that it ended, if it did.

    Args:
        error: what it raised.
        words: of the command in which it did.
    """
    from ..api import where_it_ended

    run = getattr(error, "run", None)
    return f"{error}" if run is None else f"{error}; the run ended {where_it_ended(run, _resume(run, words))}"


def _resume(run: Run, words: Sequence[str]) -> str:
    """Returns the command that goes on with a run, with what the words of another one import."""
    path = str(run.path)
    imports = [word for i, flag in enumerate(words) if flag == IMPORT for word in words[i : i + 2]]
    return f"`{command_line(['kousoku', 'resume', f'./{path}' if path.startswith('-') else path, *imports])}`"


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
