"""A report as a program is told it while agents learn: `ks.train(..., on_report=function)`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any

import numpy as np
from jaxtyping import Shaped

from ...core.errors import ConfigError, check_takes
from ..evaluation.evaluate import Episodes
from ..io.run_progress import RunProgress
from .curves import COUNTS, mean_ignoring_nan


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A point of the learning curve, as it was made. N members (seeds x sweep points), in the order of the run's.

    Attributes:
        step: steps done by each member.
        seconds: of training so far, also by earlier processes; without evaluations and checkpoints.
        means: {name: mean over the members that know it}, NaN where none does, as the return of a report in which no
            episode ended. The names are those of `run.curves`.
        members: {name: [N]}, the same of each member; "episodes" and "blown_up" are counts since the last report.
        evaluation: the greedy episodes [N, E] of every member, if they were played at this report; else None.
    """

    step: int
    seconds: float
    means: dict[str, float]
    members: dict[str, Shaped[np.ndarray, " N"]]
    evaluation: Episodes | None

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {mean:.3g}" for name, mean in self.means.items())
        return f"<Report at step {self.step}: {means}>"

    @staticmethod
    def of(progress: RunProgress) -> Report:
        """Returns the report that was just made; its arrays are read-only copies, so that nothing leads back."""
        members = {name: rows[-1] for name, rows in progress.curves.rows.items()}
        evaluation = None
        if progress.played is not None and progress.played[0] == progress.step:
            _, returns, lengths, _ = progress.evaluated[-1]
            members |= {"eval_return": returns, "eval_length": lengths}
            evaluation = Episodes(*map(_read_only, progress.played[1]))
        means = {name: mean_ignoring_nan(values) for name, values in members.items() if name not in COUNTS}
        copies = {name: _read_only(values) for name, values in members.items()}
        known = {name: math.nan if mean is None else mean for name, mean in means.items()}
        return Report(progress.step, progress.seconds, known, copies, evaluation)


def check_on_report(function: Any) -> None:
    """Refuses what cannot be called with a report; None is no function, and right.

    Raises:
        ConfigError: naming what would do.
    """
    if function is None:
        return
    if not callable(function):
        raise ConfigError("on_report", function, "give a function of one report, or None")
    if any(is_so(function) for is_so in (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)):
        raise ConfigError(
            "on_report", function, "give a plain function: what an async one or a generator does never runs"
        )
    check_takes("on_report", function, ("report",))


def asks_to_stop(answer: Any) -> bool:
    """Returns whether what a function returned is true: a bool of Python, NumPy or JAX, and nothing else.

    A number is none: `on_report=lambda report: file.write(...)` is not to end the run.

    Raises:
        ConfigError: for several truth values, such as one for each member.

    Examples:
        >>> [asks_to_stop(answer) for answer in (True, np.True_, None, False, 12)]
        [True, True, False, False, False]
    """
    if getattr(answer, "dtype", None) != np.bool_:
        return answer is True
    if np.ndim(answer):
        fix = "return True or False: put all(...) or any(...) around it"
        raise ConfigError("on_report", f"truth values {list(np.shape(answer))}", fix)
    return bool(answer)


def _read_only(values: np.ndarray) -> np.ndarray:
    copy = np.array(values)
    copy.flags.writeable = False
    return copy
