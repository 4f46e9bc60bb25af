"""Training from the host's side: blocks of compiled steps, and between them reports, evaluations and checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..core.agent import AnyAgent, RolloutAgent
from ..core.env import Env
from ..core.errors import ConfigError
from . import checkpoints, compile_cache, facts, files, folder_lock, run_folder
from .checkpoints import Checkpoint, RunWarning
from .closing import Closed, closing
from .config import TrainConfig
from .curves import SPEED, line, metric_name
from .devices import usable
from .health import Guard, Sick
from .interrupt import StopRequest, stop_on_signals
from .lanes import Lanes, make_lanes, num_lanes
from .ledger import Ledger
from .loggers import Loggers, check_installed
from .loops import Loop, unpad
from .make_loop import make_loop
from .memory import check_episodes, check_memory
from .progress import Progress
from .results import Task, collect, config_json, finish, lived, play, q_values
from .results import Trained as Trained
from .tally import Record, Tally, pairs

BLOCK_SECONDS = 1.0
MAX_HISTORY_BYTES = 2**31
CHECKPOINT_SECONDS = 60.0
CHECKPOINT_SHARE = 20.0
"""Between two checkpoints passes at least this many times what the last one took."""


@dataclass
class _Run:
    """A run on its way.

    Attributes:
        learner: every lane, as the loop keeps it.
        ledger: what the host knows.
        guard: looks for what is not finite.
        close: reads and empties the tally.
        trouble: what it found; None if all is well.
        saved: the step of the last checkpoint.
        saved_at, saving: when it was made, and the seconds that it took.
        compiled: whether a block has run here.
        pace: how many steps the next one may have, at least one rollout.
    """

    learner: Any
    ledger: Ledger
    guard: Guard
    close: Callable[[Any], Closed]
    trouble: str | None = None
    saved: int = -1
    saved_at: float = field(default_factory=time.monotonic)
    saving: float = 0.0
    compiled: bool = False
    pace: int = 1


def train(
    agent: AnyAgent,
    env: Env,
    config: TrainConfig,
    env_config: dict[str, Any],
    command: str | None,
    resume: Path | None = None,
) -> Trained:
    """Train every lane, evaluate it greedily, and save the run.

    Args:
        agent: its numbers may be varied by `config.sweep`.
        env: the environment.
        config: what to do.
        env_config: the environment as JSON, for the record.
        command: the shell command that repeats the run, for the record.
        resume: the folder of a run that is to be gone on with; None for a new one.

    Raises:
        ConfigError: for anything in the arguments that cannot work, before a file is written.
    """
    check_installed(config.log, config.out)
    compile_cache.enable()
    record = Record.of(tuple(config.record))
    check_memory(agent, env, num_lanes(config), record)
    check_episodes("eval_episodes", env, num_lanes(config), config.eval_episodes)
    lanes = make_lanes(agent, config)
    _check_history(config, record, env, lanes.count)
    loop = make_loop(agent, lanes, env, config)
    asked = config_json(agent, config, env_config, command)
    with contextlib.ExitStack() as stack:
        folder = _folder(stack, config, asked, resume)
        saved = None if resume is None else _last_checkpoint(resume)
        if saved is not None and isinstance(agent, RolloutAgent):
            loop, config = _as_before(saved.ledger, loop, agent, lanes, env, config)
        run = _begin(loop, lanes.count, saved)
        run.ledger.devices, run.ledger.available = loop.devices, len(usable(config.devices))
        if folder is not None:
            files.write_json(folder / run_folder.CONFIG, asked)
            checkpoints.cut_back(folder, run.saved)
        task = Task(agent, env, config, lanes, asked, folder, stack.enter_context(stop_on_signals()))
        _learn(loop, run, task, b"" if saved is None else saved.metrics)
        return finish(task, run.learner, run.ledger, run.trouble)


def unfinished(
    agent: AnyAgent, env: Env, config: TrainConfig, asked: dict[str, Any], folder: Path, saved: Checkpoint
) -> Trained:
    """A run as a checkpoint holds it: what was learned up to there, not evaluated. Nothing is written.

    Args:
        agent, env, config: what the run was started with.
        asked: the same as JSON.
        folder: its folder.
        saved: the checkpoint.
    """
    lanes = make_lanes(agent, config)
    learner = saved.learner(make_loop(agent, lanes, env, config).start(), lanes.count)
    return collect(Task(agent, env, config, lanes, asked, folder, StopRequest()), learner, saved.ledger, "unfinished")


def _folder(
    stack: contextlib.ExitStack, config: TrainConfig, asked: dict[str, Any], resume: Path | None
) -> Path | None:
    """The run folder, held until the stack ends."""
    if resume is None and config.out == "":
        return None
    folder = resume or run_folder.make_folder(config.out, f"{asked['agent']['id']}-{asked['env']['id']}")
    stack.enter_context(folder_lock.locked(folder))
    if resume is None:
        files.write_json(folder / run_folder.CONFIG, asked)
    return folder


def _last_checkpoint(folder: Path) -> Checkpoint | None:
    """Where to go on from; None for the beginning."""
    saved = checkpoints.newest(folder)
    if saved is None:
        warnings.warn(f"{folder} has no checkpoint: the run begins again from step 0", RunWarning, stacklevel=2)
    return saved


def _as_before(
    before: Ledger, loop: Loop, agent: AnyAgent, lanes: Lanes, env: Env, config: TrainConfig
) -> tuple[Loop, TrainConfig]:
    """A learner's from rollouts: on as many devices as before, as it sums over them, and sums are rounded.

    Where it cannot be, or another number is asked for, there is a warning.
    """
    available = len(usable(config.devices))
    if (before.devices, before.available) == (loop.devices, available):
        return loop, config
    if config.devices is None and before.available <= available:
        as_many = dataclasses.replace(config, devices=before.devices)
        return make_loop(agent, lanes, env, as_many), dataclasses.replace(config, devices=before.available)
    text = f"the checkpoint was made on {before.available} devices, and here are {available}: bits may differ"
    warnings.warn(f"{text} from here on", RunWarning, stacklevel=2)
    return loop, config


def _begin(loop: Loop, lanes: int, saved: Checkpoint | None) -> _Run:
    """All lanes before their first step, or as a checkpoint holds them."""
    learner = jax.block_until_ready(loop.start())
    guard = Guard(learner, lanes)
    close = closing(loop.layout, guard.watched)
    if saved is None:
        return _Run(learner, Ledger(started=datetime.now(UTC).isoformat(timespec="seconds")), guard, close)
    _tell_versions(saved.versions)
    saved.ledger.resumed_at.append(saved.ledger.step)
    return _Run(saved.learner(learner, lanes), saved.ledger, guard, close, saved=saved.ledger.step)


def _tell_versions(made_by: dict[str, str]) -> None:
    """Warn where other code made the checkpoint: the bits may differ from there on."""
    now = facts.versions()
    others = [f"{name} {made_by.get(name)}, here {now[name]}" for name in now if made_by.get(name) != now[name]]
    if others:
        text = f"the checkpoint was made by other versions ({'; '.join(others)}): bits may differ from here on"
        warnings.warn(text, RunWarning, stacklevel=2)


def _learn(loop: Loop, run: _Run, task: Task, kept: bytes) -> None:
    """Run to the end, or until somebody asks to stop."""
    config, ledger = task.config, run.ledger
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(Progress(config.steps, task.lanes.count, config.progress))
        logs = stack.enter_context(Loggers(config.log, task.folder, task.asked, ledger, kept))
        stops = sorted({loop.whole(step) for step in config.report_steps()})
        for until in (step for step in stops if step > ledger.since):
            while ledger.step < until and not task.stop:
                _advance(loop, run, until)
            if ledger.step < until:
                ledger.score = ledger.score if ledger.step == ledger.since else None
                _checkpoint(run, task)
            if ledger.step > ledger.since:
                row = _report(run, task, whole=ledger.step >= until)
                bar.update(ledger.step, ledger.seconds, ledger.episodes, ledger.latest())
                logs.write(row)
            if ledger.step >= until and not run.trouble and _checkpoint_is_due(run, task):
                _checkpoint(run, task)
            if task.stop or run.trouble:
                break
        logs.failed = run.trouble is not None


def _advance(loop: Loop, run: _Run, until: int) -> None:
    """One block, of about `BLOCK_SECONDS`: only between blocks does Python hear a signal.

    Its time is measured to the end of the computation. The first one, which compiles, and the second are short.
    """
    ledger, at = run.ledger, run.ledger.step
    began = time.perf_counter()
    run.learner, ledger.step = loop.run(run.learner, at, min(until, loop.whole(at + run.pace)))
    jax.block_until_ready(run.learner)
    spent = time.perf_counter() - began
    ledger.seconds += spent
    if run.compiled:
        run.pace = max(1, int((ledger.step - at) * BLOCK_SECONDS / max(spent, 1e-6)))
    elif at == 0:
        ledger.first_block_seconds = spent
    run.compiled = True


def _report(run: _Run, task: Task, whole: bool) -> dict[str, Any]:
    """Read and empty the tally, evaluate if it is time to; returns the line for the metrics file.

    A report is whole unless somebody stopped the run on the way to it; a resumed run makes that one again.
    """
    ledger, lanes, since = run.ledger, task.lanes, run.ledger.since
    ledger.score = None
    tally, well, emptied = run.close(run.learner)
    row = ledger.curves.add(ledger.step, since, unpad(tally, lanes.count), ledger.seconds)
    ledger.count(row)
    if task.config.stop_on_nan:
        run.trouble = _trouble(run, task, tally, well)
    if Record.of(tuple(task.config.record)).q_values:
        ledger.history.append(np.asarray(q_values(lanes, run.learner.agent_state)))
    if whole and not run.trouble and _passed(task.config.eval_every, since, ledger.step):
        row |= ledger.add_evaluation(play(task, lived(task, run.learner)))
    run.learner = emptied
    ledger.since = ledger.step
    speed = ledger.step * lanes.count / ledger.seconds
    timing = {"seconds": round(ledger.seconds, 6), SPEED: round(speed, 1)}
    made = line(row, lanes.point, task.config.points)
    if task.config.eval_every is None:
        ledger.score = made.get(metric_name("return"))
    return {"step": ledger.step, **timing, **made}


def _trouble(run: _Run, task: Task, tally: Tally, well: np.ndarray) -> str | None:
    """What became NaN or infinite since the last report, in which lane and update; None if nothing did.

    Args:
        run: before the tally is emptied.
        task: whose run it is.
        tally: of the steps since the last report.
        well: whether all is finite, in each lane.
    """
    sick = None if well[: task.lanes.count].all() else run.guard.look(run.learner)
    if sick is None:
        return None
    lane = f"seed {task.lanes.seed[sick.lane]}, sweep point {task.lanes.point[sick.lane]}"
    return sick.sentence(_when(run.ledger, task.agent, tally, sick), lane)


def _when(ledger: Ledger, agent: AnyAgent, tally: Tally, sick: Sick) -> str:
    """The update whose reward or metrics were the first that are not finite; the steps where nobody knows it."""
    sound, updates, lane = tally.sound, tally.updates, sick.lane
    if not isinstance(agent, RolloutAgent) or sound is None or updates is None or sound[lane] == updates[lane]:
        return f"between steps {ledger.since + 1} and {ledger.step}"
    steps = agent.num_envs * agent.num_steps
    update = ledger.since // steps + int(sound[lane]) + 1
    if sick.hidden:
        return f"between steps {ledger.since + 1} and {update * steps}, the end of update {update}"
    return f"in update {update}, of steps {(update - 1) * steps + 1} to {update * steps}"


def _checkpoint_is_due(run: _Run, task: Task) -> bool:
    """At a report: at the end, when stopped, after the best evaluation, and as often as was asked for."""
    config, ledger = task.config, run.ledger
    if task.stop or ledger.step >= config.steps or ledger.best_at == ledger.step:
        return True
    if config.checkpoint_every is not None:
        return _passed(config.checkpoint_every, max(run.saved, 0), ledger.step)
    return time.monotonic() - run.saved_at >= max(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * run.saving)


def _checkpoint(run: _Run, task: Task) -> None:
    """Save the whole run; never one that is not finite, which could only end in the same trouble again."""
    ledger, keep = run.ledger, task.config.keep_checkpoints
    if task.folder is None or not keep or ledger.step == run.saved or run.guard.look(run.learner):
        return
    began = time.monotonic()
    real = jax.tree.map(lambda leaf: leaf[: task.lanes.count], run.learner)
    metrics = (task.folder / run_folder.METRICS).read_bytes()
    checkpoints.save(task.folder, Checkpoint.of(real, ledger, metrics), keep)
    run.saved, run.saved_at = ledger.step, time.monotonic()
    run.saving = run.saved_at - began


def _passed(every: int | None, since: int, step: int) -> bool:
    """Whether a multiple of `every` lies in (since, step]."""
    return every is not None and step // every > since // every


def _check_history(config: TrainConfig, record: Record, env: Env, count: int) -> None:
    shape = pairs(env)
    if not record.q_values or shape is None:
        return
    need = len(config.report_steps()) * count * shape[0] * shape[1] * 4
    if need > MAX_HISTORY_BYTES:
        fix = f"the tables need {need / 2**30:.3g} GiB; raise record_every or train fewer lanes"
        raise ConfigError("record", "q_values", fix)
