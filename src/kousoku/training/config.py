"""The settings of a training run: the one list that Python, the shell, files and docs are made from."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax
import numpy as np

from ..core.errors import ConfigError, as_list, check_choice, check_count, check_flag, is_number
from ..core.plain_number import in_float, plain_number
from ..core.spaces import LARGEST
from ..ops.schedules import USUAL_STEPS
from .metrics.loggers import check_loggers
from .metrics.metric_sums import RECORDABLE, RECORDED, Recording
from .metrics.report import Report, check_on_report

LOOPS = ("compiled", "python")
MAX_SEED = 2**32 - 1
MOST_STEPS = 10**15
USUAL_REPORTS = 200
"""How many reports a run makes in all, about, where nobody says how many steps lie between two."""


class Kind(Enum):
    """The way in which the shell reads a setting; the value stands for it in the help."""

    COUNT = "NUMBER"
    NUMBERS = "NUMBERS"
    NAMES = "NAMES"
    NAME = "NAME"
    FOLDER = "FOLDER"
    SWITCH = ""
    PYTHON = "..."
    """Given in Python only; the shell has words of its own for it."""


class OnResume(Enum):
    """The rule for a setting when a run is resumed."""

    KEPT = "as the run was begun"
    CHANGEABLE = "may be changed"
    DROPPED = "not kept"


@dataclass(frozen=True)
class Setting:
    """A field of `TrainConfig`: what is known of it beside its type and default.

    Attributes:
        kind: how the shell reads it.
        on_resume: what becomes of it when a run is resumed.
    """

    kind: Kind
    on_resume: OnResume


def _setting(default: Any, kind: Kind, on_resume: OnResume = OnResume.KEPT) -> Any:
    known = {"setting": Setting(kind, on_resume)}
    if default is dict:
        return dataclasses.field(default_factory=dict, metadata=known)
    return dataclasses.field(default=default, metadata=known)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The facts of a run that no jitted code sees.

    Attributes:
        steps: environment steps of each agent, at most 10^15.
        seeds: how many seeds (0, 1, ...), or which: 30, or 3, 5, 7.
        sweep: {name: values} of hyper-parameters, and as "env.NAME" of numbers of the environment; every combination
            runs with every seed, all in one program.
        record: what to record, any of returns, metrics, visits, q_values, info; by default of a bandit info, too.
        record_every: steps between two reports; by default about 200 reports in all.
        loop: compiled, or python for a slow loop that one can read, print in and step through, of agents that learn
            from one step at a time.
        eval_episodes: greedy episodes of each agent after training; with several agents, as many again to judge the
            best one by; 0 for none.
        eval_max_steps: steps after which an evaluation episode is cut if the environment has no time limit of its own.
        eval_every: steps between two evaluations during training, each at the first report from there on; by default
            there is one, at the end. They play the same episodes each time and leave no trace in training.
        checkpoint_every: steps between two checkpoints, each at the first report from there on; by default a minute
            passes between two. There is always one at the end, and where the run is stopped.
        keep_checkpoints: how many of the last checkpoints are kept, beside the best; 0 to write none.
        stop_on_nan: end the run at a report where a number of its state, reward or loss is NaN or infinite.
        devices: how many JAX devices to spread the agents over; all by default.
        init_from: a run, or its folder, whose best agent's policy and statistics all agents begin with; all else
            begins anew.
        init_member: which agent of the run of `init_from`, by number; by default the best one.
        out: the run folder; by default a new one below runs/; empty to save nothing.
        log: programs to log the reports for, too, tensorboard or wandb (each is an extra to install).
        progress: show a progress bar; by default in a terminal and in a notebook.
        on_report: a function that is called with each `kousoku.Report` when it was made; if it returns True the run is
            stopped, saved and evaluated, and can be resumed.
        env_options: options of the environment, where it is given by id.
        command: the shell command that does the same, for the report.
    """

    steps: int = _setting(USUAL_STEPS, Kind.COUNT, OnResume.CHANGEABLE)
    seeds: int | Sequence[int] | np.ndarray | jax.Array = _setting(1, Kind.NUMBERS)  # noqa: RUF009 (it only makes a field)
    sweep: Mapping[str, Sequence[float] | np.ndarray | jax.Array] = _setting(dict, Kind.PYTHON)
    record: Sequence[str] = _setting(RECORDED, Kind.NAMES)
    record_every: int | None = _setting(None, Kind.COUNT)
    loop: str = _setting("compiled", Kind.NAME)
    eval_episodes: int = _setting(10, Kind.COUNT)
    eval_max_steps: int = _setting(1000, Kind.COUNT)
    eval_every: int | None = _setting(None, Kind.COUNT)
    checkpoint_every: int | None = _setting(None, Kind.COUNT)
    keep_checkpoints: int = _setting(3, Kind.COUNT)
    stop_on_nan: bool = _setting(True, Kind.SWITCH)
    devices: int | None = _setting(None, Kind.COUNT, OnResume.CHANGEABLE)
    init_from: Any = _setting(None, Kind.FOLDER)  # noqa: RUF009 (as for all the others: a field, not a default)
    init_member: int | None = _setting(None, Kind.COUNT)
    out: str | os.PathLike[str] | None = _setting(None, Kind.FOLDER, OnResume.DROPPED)  # noqa: RUF009 (it only makes a field)
    log: Sequence[str] = _setting((), Kind.NAMES)
    progress: bool | None = _setting(None, Kind.SWITCH, OnResume.CHANGEABLE)
    on_report: Callable[[Report], Any] | None = _setting(None, Kind.PYTHON, OnResume.DROPPED)  # noqa: RUF009 (it only makes a field)
    env_options: Mapping[str, Any] = _setting(dict, Kind.PYTHON, OnResume.DROPPED)
    command: str | None = _setting(None, Kind.PYTHON)

    def __post_init__(self) -> None:
        steps = check_count("steps", self.steps, high=MOST_STEPS)
        every = -(-steps // USUAL_REPORTS)
        if self.record_every is not None:
            every = check_count("record_every", self.record_every, high=MOST_STEPS)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "record_every", min(every, steps))
        object.__setattr__(self, "seeds", check_seeds(self.seeds))
        record = _names("record", self.record)
        object.__setattr__(self, "record", record)
        Recording.of(record)
        object.__setattr__(self, "log", check_loggers(self.log))
        check_choice("loop", self.loop, LOOPS)
        object.__setattr__(self, "eval_episodes", check_count("eval_episodes", self.eval_episodes, low=0, high=LARGEST))
        most = check_count("eval_max_steps", self.eval_max_steps, high=LARGEST)
        object.__setattr__(self, "eval_max_steps", most)
        self._check_cadence()
        if self.init_member is not None:
            object.__setattr__(self, "init_member", check_count("init_member", self.init_member, low=0, high=LARGEST))
            if self.init_from is None:
                raise ConfigError("init_member", self.init_member, "give the run that it is of, too: init_from")
        if self.progress is not None:
            check_flag("progress", self.progress)
        check_on_report(self.on_report)
        if self.command is not None and not isinstance(self.command, str):
            raise ConfigError("command", self.command, "give the text of a shell command, or leave it out")
        if not isinstance(self.sweep, Mapping):
            raise ConfigError("sweep", self.sweep, "give {name: [values]}")
        object.__setattr__(self, "sweep", {name: _listed(name, values) for name, values in self.sweep.items()})

    def _check_cadence(self) -> None:
        for name in ("eval_every", "checkpoint_every"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_count(name, getattr(self, name), high=MOST_STEPS))
        kept = check_count("keep_checkpoints", self.keep_checkpoints, low=0, high=LARGEST)
        object.__setattr__(self, "keep_checkpoints", kept)
        check_flag("stop_on_nan", self.stop_on_nan)
        if self.eval_every is not None and not self.eval_episodes:
            raise ConfigError("eval_every", self.eval_every, "an evaluation needs eval_episodes of at least 1")

    @property
    def points(self) -> tuple[dict[str, float], ...]:
        """The points of the sweep, in the order of itertools.product; ({},) without one."""
        names, values = list(self.sweep), [list(v) for v in self.sweep.values()]
        return tuple(dict(zip(names, point, strict=True)) for point in itertools.product(*values))

    @property
    def num_reports(self) -> int:
        """How many reports are made."""
        assert self.record_every is not None
        return -(-self.steps // self.record_every)

    def report_steps(self, since: int = 0) -> Iterator[int]:
        """Yields the steps after which a report is made, every `record_every` and the last: they may be billions.

        Args:
            since: the run's steps so far; the last report before them is yielded, too.
        """
        assert self.record_every is not None
        first = max(since // self.record_every, 1) * self.record_every
        yield from range(first, self.steps, self.record_every)
        yield self.steps

    def to_json(self) -> dict[str, Any]:
        """Returns what a run folder keeps: all that a resumed run is to know, as plain JSON."""
        kept = (name for name, each in settings().items() if each.on_resume is OnResume.KEPT or name == "steps")
        return {name: _plain(getattr(self, name)) for name in kept}

    @staticmethod
    def of_json(config: Mapping[str, Any], changes: Mapping[str, Any]) -> TrainConfig:
        """Rebuilds the config of a run folder, with changes.

        Raises:
            KeyError: if the folder's config has no number of steps.
        """
        kept = {name: config[name] for name, each in settings().items() if name in config and name != "steps"}
        return TrainConfig(**(kept | {"steps": config["steps"]} | dict(changes)))


def _listed(name: str, values: Any) -> Sequence[float]:
    """Returns the values of a sweep's number, those of an array [n] as a list.

    Raises:
        ConfigError: for no values, or for what is no list of them.
    """
    listed = _plain_array(values)
    if isinstance(listed, str) or not isinstance(listed, Sequence) or not len(listed):
        raise ConfigError(f"sweep[{name!r}]", values, "give a list of numbers")
    listed = [plain_number(value) for value in listed]
    if any(hasattr(value, "ndim") for value in listed):
        raise ConfigError(f"sweep[{name!r}]", values, "give a list of numbers, not of arrays")
    listed = [
        float(value) if is_number(value) and not isinstance(value, (int, float)) else in_float(value)
        for value in listed
    ]
    if any(value is None for value in listed):
        raise ConfigError(f"sweep[{name!r}]", None, "sweep numbers alone, and give None a run of its own")
    for value, count in Counter(value for value in listed if isinstance(value, Hashable)).items():
        if count > 1:
            raise ConfigError(f"sweep[{name!r}]", value, "give each number once; `seeds` trains several agents of one")
    return listed


def _names(field: str, names: Any) -> tuple[str, ...]:
    """Returns a list of names as a tuple.

    Raises:
        ConfigError: for a single name, what is no list, or holds what is no name.
    """
    listed = as_list(names)
    if listed is None:
        known = isinstance(names, str) and names in RECORDABLE
        fix = f"such as [{names!r}]" if known else f"of {', '.join(map(repr, RECORDABLE))}"
        raise ConfigError(field, names, f"give a list of names, {fix}")
    for i, name in enumerate(listed):
        if not isinstance(name, str):
            check_choice(f"{field}[{i}]", name, RECORDABLE)
    return listed


def _plain_array(values: Any) -> Any:
    """Returns an array [n] as a list of Python's numbers, and anything else as it is."""
    return values.tolist() if getattr(values, "ndim", None) == 1 else values


def settings() -> dict[str, Setting]:
    """Returns what is known of each field of `TrainConfig`, by name."""
    return {field.name: field.metadata["setting"] for field in dataclasses.fields(TrainConfig)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: [float(number) for number in numbers] for name, numbers in value.items()}
    return list(value) if isinstance(value, tuple) else value


def check_seeds(seeds: Any) -> int | tuple[int, ...]:
    """Returns a count of seeds, or a tuple of distinct ones.

    Raises:
        ConfigError: for a negative or repeated seed, none at all, or one that 32 bits do not hold.
    """
    seeds = _plain_array(seeds)
    if not isinstance(seeds, Sequence) or isinstance(seeds, (str, bytes)):
        return check_count("seeds", seeds, high=LARGEST)
    if not len(seeds):
        raise ConfigError("seeds", seeds, "give at least one seed")
    checked = tuple(check_count(f"seeds[{i}]", seed, low=0, high=MAX_SEED) for i, seed in enumerate(seeds))
    if len(set(checked)) < len(checked):
        twice = next(seed for seed in checked if checked.count(seed) > 1)
        raise ConfigError("seeds", twice, "use every seed once: equal seeds give equal agents")
    return checked
