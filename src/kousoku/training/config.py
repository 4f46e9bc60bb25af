"""What a training run is asked to do: one dataclass for Python and for the shell."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import ConfigError, check_choice, check_count, check_flag
from .loggers import check_loggers
from .tally import Record

LOOPS = ("compiled", "python")
MAX_SEED = 2**32 - 1
MOST_STEPS = 2**31 - 1


@dataclass(frozen=True)
class TrainConfig:
    """The facts of a run that no jitted code sees.

    Attributes:
        steps: environment steps of each lane, at most 2^31 - 1.
        seeds: how many seeds (0, 1, ...), or which.
        sweep: {hyper-parameter: values}; every combination runs with every seed, all in one program.
        record: what to record: "returns", "td_errors", "visits", "q_values", "info".
        record_every: steps between two reports; by default about 200 reports in all.
        loop: "compiled", or "python" for a loop that one can read, print in and step through.
        eval_episodes: greedy episodes of each lane after training; 0 for none.
        eval_max_steps: an evaluation episode is cut here if the environment has no time limit of its own.
        eval_every: steps between two evaluations during training, each at the first report from there on; by default
            there is one, at the end. They play the same episodes each time and leave no trace in training.
        checkpoint_every: steps between two checkpoints, each at the first report from there on; by default a minute
            passes between two. There is always one at the end, and where the run is stopped.
        keep_checkpoints: how many of the last ones are kept, beside the best; 0 to write none.
        stop_on_nan: end the run at a report where a number of its state, reward or loss is NaN or infinite.
        devices: JAX devices to spread the lanes over; all by default.
        out: the run folder; by default a new one below runs/; "" to save nothing.
        log: programs to log the reports for, too: "tensorboard", "wandb".
        progress: show a progress bar; by default when the output is a terminal.
    """

    steps: int = 100_000
    seeds: int | Sequence[int] = 1
    sweep: Mapping[str, Sequence[float]] = field(default_factory=dict)
    record: Sequence[str] = ("returns", "td_errors", "visits")
    record_every: int | None = None
    loop: str = "compiled"
    eval_episodes: int = 10
    eval_max_steps: int = 1000
    eval_every: int | None = None
    checkpoint_every: int | None = None
    keep_checkpoints: int = 3
    stop_on_nan: bool = True
    devices: int | None = None
    out: str | None = None
    log: Sequence[str] = ()
    progress: bool | None = None

    def __post_init__(self) -> None:
        steps = check_count("steps", self.steps, high=MOST_STEPS)
        every = -(-steps // 200) if self.record_every is None else check_count("record_every", self.record_every)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "record_every", min(every, steps))
        object.__setattr__(self, "seeds", check_seeds(self.seeds))
        object.__setattr__(self, "record", tuple(self.record))
        Record.of(tuple(self.record))
        object.__setattr__(self, "log", check_loggers(self.log))
        check_choice("loop", self.loop, LOOPS)
        check_count("eval_episodes", self.eval_episodes, low=0)
        check_count("eval_max_steps", self.eval_max_steps)
        self._check_cadence()
        for name, values in self.sweep.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
                raise ConfigError(f"sweep[{name!r}]", values, "give a list of numbers")

    def _check_cadence(self) -> None:
        for name in ("eval_every", "checkpoint_every"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_count(name, getattr(self, name)))
        object.__setattr__(self, "keep_checkpoints", check_count("keep_checkpoints", self.keep_checkpoints, low=0))
        check_flag("stop_on_nan", self.stop_on_nan)
        if self.eval_every is not None and not self.eval_episodes:
            raise ConfigError("eval_every", self.eval_every, "an evaluation needs eval_episodes of at least 1")

    @property
    def points(self) -> tuple[dict[str, float], ...]:
        """The settings of the sweep, in the order of itertools.product; ({},) without one."""
        names, values = list(self.sweep), [list(v) for v in self.sweep.values()]
        return tuple(dict(zip(names, setting, strict=True)) for setting in itertools.product(*values))

    def report_steps(self) -> list[int]:
        """The steps after which a report is made: every `record_every`, and the last."""
        assert self.record_every is not None
        return sorted({*range(self.record_every, self.steps, self.record_every), self.steps})


def check_seeds(seeds: Any) -> int | tuple[int, ...]:
    """A count of seeds, or a tuple of distinct ones.

    Raises:
        ConfigError: for a negative or repeated seed, none at all, or one that 32 bits do not hold.
    """
    if not isinstance(seeds, Sequence) or isinstance(seeds, (str, bytes)):
        return check_count("seeds", seeds)
    if not len(seeds):
        raise ConfigError("seeds", seeds, "give at least one seed")
    checked = tuple(check_count(f"seeds[{i}]", seed, low=0, high=MAX_SEED) for i, seed in enumerate(seeds))
    if len(set(checked)) < len(checked):
        twice = next(seed for seed in checked if checked.count(seed) > 1)
        raise ConfigError("seeds", twice, "use every seed once: equal seeds give equal lanes")
    return checked
