"""Training from the host's side: blocks of compiled steps, reports between them, everything saved at the end."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..agents.options import describe, numbers
from ..core.agent import Agent, TabularAgent
from ..core.env import Env, Finite
from ..core.errors import ConfigError
from ..core.record import RunRecord
from . import compile_cache, facts, run_folder
from .config import TrainConfig
from .curves import CurveWriter, line
from .evaluate import Episodes, Lived, evaluate_lanes
from .exact import exact_tables
from .film import lane_film
from .interaction import Learner
from .interrupt import StopRequest, stop_on_signals
from .lanes import Lanes, check_memory, make_lanes, num_lanes
from .loops import Loop, make_loop, unpad
from .progress import Progress
from .states import to_arrays
from .tally import Record, Tally, pairs

MAX_HISTORY_BYTES = 2**31


@dataclass(frozen=True)
class Trained:
    """What training returns: the record, and what is needed to go on working with the agents.

    Attributes:
        record: everything as data.
        agent, env: what was trained, and on what.
        lanes: each lane's numbers and key.
        lived: [N, ...] what each lane has learned, and the world that it lives in.
        stopped_by: the signal that ended the run early, or None.
    """

    record: RunRecord
    agent: Agent
    env: Env
    lanes: Lanes
    lived: Lived
    stopped_by: int | None


@dataclass
class _Progress:
    """How far a run has come."""

    learner: Learner
    curves: CurveWriter
    history: list[np.ndarray]
    step: int = 0
    episodes: int = 0
    seconds: float = 0.0
    first_block_seconds: float = 0.0
    trouble: str | None = None


def train(agent: Agent, env: Env, config: TrainConfig, env_config: dict[str, Any], command: str | None) -> Trained:
    """Train every lane, evaluate it greedily, and save the run.

    Args:
        agent: its numbers may be varied by `config.sweep`.
        env: the environment.
        config: what to do.
        env_config: the environment as JSON, for the record.
        command: the shell command that repeats the run, for the record.

    Raises:
        ConfigError: for anything in the arguments that cannot work, before a file is written.
    """
    compile_cache.enable()
    record = Record.of(tuple(config.record))
    check_memory(agent, env, num_lanes(config), record)
    lanes = make_lanes(agent, config)
    _check_history(config, record, env, lanes.count)
    loop = make_loop(config.loop, lanes, env, record, config.devices, config.record_every or config.steps)
    asked = _config_json(agent, config, env_config, command)
    folder = None if config.out == "" else run_folder.make_folder(config.out, _name(asked))
    started = datetime.now(UTC).isoformat(timespec="seconds")
    if folder is not None:
        run_folder.write_json(folder / run_folder.CONFIG, asked)
    with stop_on_signals() as stop:
        run = _learn(loop, lanes, config, record, folder, stop)
        return _finish(agent, env, config, lanes, run, asked, folder, stop, started)


def _learn(
    loop: Loop, lanes: Lanes, config: TrainConfig, record: Record, folder: Path | None, stop: StopRequest
) -> _Progress:
    """Run to the end, or until somebody asks to stop."""
    run = _Progress(loop.start(), CurveWriter(), [])
    jax.block_until_ready(run.learner)
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(Progress(config.steps, lanes.count, config.progress))
        metrics = None if folder is None else stack.enter_context(run_folder.open_metrics(folder))
        since = 0
        for until in config.report_steps():
            while run.step < until and not stop:
                _advance(loop, run, until)
            if run.step > since:
                row = _report(loop, run, lanes, config, record, since)
                since = run.step
                bar.update(run.step, run.seconds, run.episodes, row.get("return_mean") or float("nan"))
                if metrics is not None:
                    metrics.write(json.dumps(row, allow_nan=False) + "\n")
            if stop or run.trouble:
                break
    return run


def _advance(loop: Loop, run: _Progress, until: int) -> None:
    """One block. Its time is measured to the end of the computation; the first one compiles."""
    began, first = time.perf_counter(), run.step == 0
    run.learner, run.step = loop.run(run.learner, run.step, until)
    jax.block_until_ready(run.learner)
    spent = time.perf_counter() - began
    run.seconds += spent
    if first:
        run.first_block_seconds = spent


def _report(
    loop: Loop, run: _Progress, lanes: Lanes, config: TrainConfig, record: Record, since: int
) -> dict[str, Any]:
    """Read and empty the tally; returns the line for the metrics file."""
    tally = unpad(run.learner.tally, lanes.count)
    row = run.curves.add(run.step, since, tally)
    run.episodes += int(row["episodes"].sum())
    run.trouble = _trouble(tally, lanes, since, run.step)
    if record.q_values:
        run.history.append(np.asarray(_q_values(lanes, run.learner.agent_state)))
    run.learner = loop.empty(run.learner)
    speed = run.step * lanes.count / run.seconds
    timing = {"seconds": round(run.seconds, 6), "steps_per_second": round(speed, 1)}
    return {"step": run.step, **timing, **line(row, lanes.point, config.points)}


def _trouble(tally: Tally, lanes: Lanes, since: int, step: int) -> str | None:
    """What became NaN or infinite since the last report, and in which lane; None if nothing did."""
    for name in ("reward_sum", "td_error_sum"):
        total = getattr(tally, name)
        bad = [] if total is None else np.flatnonzero(~np.isfinite(total))
        if total is not None and len(bad):
            what = name.removesuffix("_sum").replace("td_error", "TD error")
            lane = f"seed {lanes.seed[bad[0]]}, sweep point {lanes.point[bad[0]]}"
            return f"the {what} became {total[bad[0]]} between steps {since + 1} and {step} ({lane})"
    return None


def _finish(
    agent: Agent,
    env: Env,
    config: TrainConfig,
    lanes: Lanes,
    run: _Progress,
    asked: dict[str, Any],
    folder: Path | None,
    stop: StopRequest,
    started: str,
) -> Trained:
    """Collect and save what was learned; then evaluate it, and save again with that."""
    lived = Lived(run.learner.agent_state, run.learner.lane.env_state)
    lived = jax.tree.map(lambda leaf: leaf[: lanes.count], lived)
    leaves = to_arrays(lived)
    record = RunRecord(
        path=folder,
        config=asked,
        facts=_facts(run, lanes, stop, started),
        points=config.points,
        lane_seed=lanes.seed,
        lane_point=lanes.point,
        curves=run.curves.curves(),
        tables=_tables(agent, env, lanes, lived.agent_state, run),
        panels=env.panels() if isinstance(env, Finite) else (),
    )
    if folder is not None:
        run_folder.save(folder, record, leaves)
    if config.eval_episodes:
        record = _evaluated(record, env, lanes, lived, config)
        if folder is not None:
            run_folder.save(folder, record, leaves)
    return Trained(record, agent, env, lanes, lived, stop.signal)


def _evaluated(record: RunRecord, env: Env, lanes: Lanes, lived: Lived, config: TrainConfig) -> RunRecord:
    """The record with greedy episodes of every lane, and the best lane's as a film."""
    played = evaluate_lanes(
        lanes.structure, lanes.numbers, lived, env, lanes.keys, config.eval_episodes, config.eval_max_steps
    )
    record = dataclasses.replace(record, evaluation=_evaluation_arrays(played))
    return dataclasses.replace(record, film=lane_film(lanes, lived, env, record.best_lane))


def _evaluation_arrays(episodes: Episodes) -> dict[str, np.ndarray]:
    return {"return": episodes.episode_return, "length": episodes.length, "truncated": episodes.truncated}


def _tables(agent: Agent, env: Env, lanes: Lanes, states: Any, run: _Progress) -> dict[str, np.ndarray]:
    tables: dict[str, np.ndarray] = {}
    if isinstance(agent, TabularAgent):
        tables["q"] = np.asarray(_q_values(lanes, states))
    visits = run.learner.tally.visits
    if visits is not None:
        tables["visits"] = np.asarray(visits[: lanes.count])
    if run.history:
        tables["q_history"] = np.stack([part[: lanes.count] for part in run.history])
    discounts = numbers(agent).get("discount")
    if isinstance(env, Finite) and discounts is not None:
        shared = np.unique(np.asarray(lanes.numbers.discount))
        if len(shared) == 1:
            tables |= _exact(env, float(shared[0]))
    return tables


def _exact(env: Finite, discount: float) -> dict[str, np.ndarray]:
    """The exact values; none where the environment says that with its arguments it has no exact model."""
    try:
        model = env.model()
    except ConfigError:
        return {}
    return exact_tables(model, discount)


def _q_values(lanes: Lanes, states: Any) -> jax.Array:
    """[N, S, A]; states may be padded."""

    def one(numbers: Any, state: Any) -> jax.Array:
        return eqx.combine(numbers, lanes.structure).q_values(state)

    real = jax.tree.map(lambda leaf: leaf[: lanes.count], states)
    return jax.vmap(one)(lanes.numbers, real)


def _facts(run: _Progress, lanes: Lanes, stop: StopRequest, started: str) -> dict[str, Any]:
    return {
        "status": "diverged" if run.trouble else "interrupted" if stop else "finished",
        "trouble": run.trouble,
        "steps": run.step,
        "lanes": lanes.count,
        "episodes": run.episodes,
        "seconds": round(run.seconds, 6),
        "first_block_seconds": round(run.first_block_seconds, 6),
        "steps_per_second": round(run.step * lanes.count / run.seconds, 1) if run.seconds else 0.0,
        "started": started,
        "versions": facts.versions(),
        "device": facts.device(),
    }


def _config_json(agent: Agent, config: TrainConfig, env_config: dict[str, Any], command: str | None) -> dict[str, Any]:
    seeds = config.seeds if isinstance(config.seeds, int) else list(config.seeds)
    return {
        "agent": describe(agent),
        "env": env_config,
        "steps": config.steps,
        "seeds": seeds,
        "sweep": {name: [float(v) for v in values] for name, values in config.sweep.items()},
        "record": list(config.record),
        "record_every": config.record_every,
        "loop": config.loop,
        "eval_episodes": config.eval_episodes,
        "eval_max_steps": config.eval_max_steps,
        "command": command,
    }


def _name(asked: dict[str, Any]) -> str:
    return f"{asked['agent']['id']}-{asked['env']['id']}"


def _check_history(config: TrainConfig, record: Record, env: Env, count: int) -> None:
    shape = pairs(env)
    if not record.q_values or shape is None:
        return
    need = len(config.report_steps()) * count * shape[0] * shape[1] * 4
    if need > MAX_HISTORY_BYTES:
        fix = f"the tables need {need / 2**30:.3g} GiB; raise record_every or train fewer lanes"
        raise ConfigError("record", "q_values", fix)
