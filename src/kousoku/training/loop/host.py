"""The loop on the host: blocks of compiled steps, and between them reports, evaluations and checkpoints."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...core.agent import Agent
from ...core.collector import TrainState
from ...core.errors import EnvError
from ..config import TrainConfig
from ..devices import without_padding
from ..guards.finite_check import FiniteCheck, NonFinite
from ..guards.observation_check import observed_outside
from ..io import checkpoints, run_folder
from ..io.checkpoints import Checkpoint
from ..io.run_progress import RunProgress
from ..metrics.curves import SPEED, line, metric_name
from ..metrics.drain import Drained
from ..metrics.loggers import Loggers
from ..metrics.metric_sums import MetricSums, Recording
from ..metrics.progress import Progress
from ..metrics.report import Report, asks_to_stop
from .base import TrainLoop
from .results import TrainJob, final_state, play, q_values

BLOCK_SECONDS = 1.0
SHORT_BLOCKS = 8
"""The first blocks, of one iteration each: at the end of each the observations are looked at."""
MOST_VISITS = 1 << 30
CHECKPOINT_SECONDS = 60.0
CHECKPOINT_SHARE = 20.0
"""Between two checkpoints passes at least this many times what the last one took."""


@dataclass
class OngoingRun:
    """A run on its way.

    Attributes:
        state: every member, as the loop keeps it.
        progress: what the host knows.
        finite_check: looks for what is not finite.
        drain: reads and empties the metric sums.
        failure: what the check found; None if all is well.
        saved: the step of the last checkpoint, or at which all was looked at as for one.
        saved_at, saving: when that was, and the seconds that it took.
        compiling: seconds of compiling that no block has counted.
        blocks: how many have run here.
        pace: how many steps the next one may have, at least one iteration.
    """

    state: TrainState
    progress: RunProgress
    finite_check: FiniteCheck
    drain: Callable[[TrainState], Drained]
    failure: str | None = None
    saved: int = -1
    saved_at: float = field(default_factory=time.monotonic)
    saving: float = 0.0
    compiling: float = 0.0
    blocks: int = 0
    pace: int = 1


def _stops(loop: TrainLoop, config: TrainConfig, since: int) -> Iterator[int]:
    """Yields the steps after `since` at which a report is made: where an iteration ends."""
    last = since
    for step in config.report_steps(since):
        until = loop.whole(step)
        if until > last:
            yield until
            last = until


def learn(loop: TrainLoop, run: OngoingRun, job: TrainJob, kept: bytes) -> None:
    """Trains to the end, or until somebody asks to stop.

    Args:
        loop: what advances the population.
        run: as it begins, or goes on.
        job: what is trained, and what for.
        kept: the metrics file of the run so far.
    """
    config, progress, env = job.config, run.progress, job.population.env(0)
    space = env.observation_space
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(Progress(config.steps, job.population.size, config.progress))
        logs = stack.enter_context(Loggers(config.log, job.folder, job.asked, progress, kept))
        for until in _stops(loop, config, progress.since):
            while progress.step < until and not job.stop:
                _advance(loop, run, until)
                _count_out_visits(run, job.population.size)
                error = loop.error or observed_outside(env, space, run.state.slots)
                if error is not None:
                    job.stop.fail(error)
            if progress.step < until:
                progress.score = progress.score if progress.step == progress.since else None
                _checkpoint(run, job)
            if progress.step > progress.since:
                row = _report(run, job, whole=progress.step >= until)
                bar.update(progress.step, progress.seconds, progress.episodes, progress.latest())
                logs.write(row)
            if progress.step >= until:
                _tell(run, job)
            if progress.step >= until and not run.failure and _checkpoint_is_due(run, job):
                _checkpoint(run, job)
            if job.stop or run.failure:
                break
        logs.failed = run.failure is not None or job.stop.error is not None


def _advance(loop: TrainLoop, run: OngoingRun, until: int) -> None:
    """Advances by one block of about `BLOCK_SECONDS`: only between blocks does Python hear a signal.

    Its time is measured to the end of the computation; that of compiling counts as the first one's. The first ones are
    short.
    """
    progress, at = run.progress, run.progress.step
    began = time.perf_counter()
    run.state, progress.step = loop.run(run.state, at, min(until, loop.whole(at + run.pace)))
    jax.block_until_ready(run.state)
    spent = time.perf_counter() - began + run.compiling
    run.compiling = 0.0
    progress.seconds += spent
    run.blocks += 1
    if run.blocks == 1 and at == 0:
        progress.first_block_seconds = spent
    if run.blocks >= SHORT_BLOCKS:
        run.pace = max(1, int((progress.step - at) * BLOCK_SECONDS / max(spent, 1e-6)))


def _count_out_visits(run: OngoingRun, members: int) -> None:
    """Counts visits out of the training state before there may be more of one state and action than int32 holds."""
    progress, visits = run.progress, run.state.metrics.visits
    if visits is not None and progress.step - progress.visits_until >= MOST_VISITS:
        progress.count_out_visits(jax.device_get(visits)[:members])
        none = jax.device_put(np.zeros(visits.shape, visits.dtype), visits.sharding)
        run.state = eqx.tree_at(lambda state: state.metrics.visits, run.state, none)


def _report(run: OngoingRun, job: TrainJob, whole: bool) -> dict[str, Any]:
    """Reads and empties the metric sums, evaluates if it is time to; returns the line for the metrics file.

    A report is whole unless somebody stopped the run on the way to it; a resumed run makes that one again.
    """
    progress, population, since = run.progress, job.population, run.progress.since
    progress.score = None
    sums, finite, emptied = run.drain(run.state)
    real = without_padding(sums, population.size)
    row = progress.curves.add(progress.step, since, real, progress.seconds)
    progress.count(row)
    if job.config.stop_on_nan:
        run.failure = _failure(run, job, sums, finite) or run.failure
    if Recording.of(tuple(job.config.record)).q_values:
        progress.history.append(jax.device_get(q_values(population, run.state.agent)))
    if whole and not run.failure and _passed(job.config.eval_every, since, progress.step):
        row |= _evaluation(run, job)
    run.state = emptied
    progress.since = progress.step
    speed = progress.step * population.size / progress.seconds
    timing = {"seconds": round(progress.seconds, 6), SPEED: round(speed, 1)}
    made = line(row, population.point, job.config.points)
    if job.config.eval_every is None:
        progress.note_score(made.get(metric_name("return")))
    return {"step": progress.step, **timing, **made}


def _evaluation(run: OngoingRun, job: TrainJob) -> dict[str, Any]:
    """Returns the numbers of an evaluation on the way; none where an environment fails, which stops the run."""
    try:
        played = play(job, final_state(job, run.state), job.config.eval_episodes)
    except EnvError as error:
        job.stop.fail(error)
        return {}
    return run.progress.add_evaluation(played, ends=run.progress.step >= job.config.steps)


def _tell(run: OngoingRun, job: TrainJob) -> None:
    """Calls `on_report`, which may ask to stop; what it raises stops the run, too, and goes on when all is saved.

    So does `sys.exit()`, and Ctrl-C where nothing has taken it from Python; the second Ctrl-C ends all at once.
    """
    if job.config.on_report is None:
        return
    try:
        job.stop.requested |= asks_to_stop(job.config.on_report(Report.of(run.progress)))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and job.stop.signal is not None:
            raise
        job.stop.fail(error)


def _failure(run: OngoingRun, job: TrainJob, sums: MetricSums, finite: np.ndarray) -> str | None:
    """Says what became NaN or infinite since the last report, in which member and iteration; None if nothing did.

    Args:
        run: before the sums are emptied.
        job: whose run it is.
        sums: of the steps since the last report.
        finite: whether all is finite, in each member.
    """
    found = None if finite[: job.population.size].all() else run.finite_check.look(run.state)
    if found is None:
        return None
    return found.sentence(when(run.progress, job.agent, sums, found), _member(job, found))


def _member(job: TrainJob, found: NonFinite) -> str:
    """Returns a member's seed, and its numbers of a sweep."""
    point = job.config.points[job.population.point[found.member]]
    numbers = [f"{name} {value}" for name, value in point.items()]
    return ", ".join([f"seed {job.population.seed[found.member]}", *numbers])


def when(progress: RunProgress, agent: Agent, sums: MetricSums, found: NonFinite) -> str:
    """Names the iteration whose reward or metrics were the first that are not finite; else the steps of the report."""
    finite, iterations, member = sums.finite_iterations, sums.iterations, found.member
    fixed = agent.learns_from.steps_are_fixed
    if not fixed or finite is None or iterations is None or finite[member] == iterations[member]:
        return f"between steps {progress.since + 1} and {progress.step}"
    steps = agent.learns_from.iteration_steps
    iteration = progress.since // steps + int(finite[member]) + 1
    if found.hidden:
        return f"between steps {progress.since + 1} and {iteration * steps}, the end of iteration {iteration}"
    return f"in iteration {iteration}, of steps {(iteration - 1) * steps + 1} to {iteration * steps}"


def _checkpoint_is_due(run: OngoingRun, job: TrainJob) -> bool:
    """Tells at a report whether to save: at the end, when stopped, at the best evaluation, as often as asked."""
    config, progress = job.config, run.progress
    if job.stop or progress.step >= config.steps or progress.best_at == progress.step:
        return True
    if config.checkpoint_every is not None:
        return _passed(config.checkpoint_every, max(run.saved, 0), progress.step)
    return time.monotonic() - run.saved_at >= max(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * run.saving)


def _checkpoint(run: OngoingRun, job: TrainJob) -> None:
    """Looks at the whole run, also at what reports leave out, and saves it if it is to be kept.

    What is not finite is never saved: it could only end in the same failure again. It fails a run that is to stop then.
    """
    progress, check = run.progress, run.finite_check
    kept = job.folder is not None and job.config.keep_checkpoints > 0
    if progress.step == run.saved or not (kept or check.watched_often != check.watched):
        return
    began = time.monotonic()
    found = run.finite_check.look(run.state)
    if found is not None:
        if job.config.stop_on_nan and not run.failure:
            run.failure = found.sentence(f"by step {progress.step}", _member(job, found))
        return
    if job.folder is not None and kept:
        real = without_padding(run.state, job.population.size)
        metrics = (job.folder / run_folder.METRICS).read_bytes()
        made = Checkpoint.of(real, progress, metrics, run_folder.digest_of(job.asked))
        checkpoints.save(job.folder, made, job.config.keep_checkpoints)
    run.saved, run.saved_at = progress.step, time.monotonic()
    run.saving = run.saved_at - began


def _passed(every: int | None, since: int, step: int) -> bool:
    """Returns whether a multiple of `every` lies in (since, step]."""
    return every is not None and step // every > since // every
