"""From a trained run to its record: tables, facts, the greedy evaluation, everything saved."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..agents.options import describe
from ..core.agent import AnyAgent, RolloutAgent, TabularAgent
from ..core.env import Env, Finite
from ..core.errors import ConfigError
from ..core.record import RunRecord
from . import facts, run_folder
from .config import TrainConfig
from .evaluate import Episodes, Lived, evaluate_lanes
from .exact import exact_tables
from .film import lane_film
from .interrupt import StopRequest
from .lanes import Lanes
from .ledger import Ledger
from .states import to_arrays


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
    agent: AnyAgent
    env: Env
    lanes: Lanes
    lived: Lived
    stopped_by: int | None


@dataclass(frozen=True)
class Task:
    """What is trained, and what for.

    Attributes:
        agent, env: what is trained, and on what.
        config: what to do.
        lanes: each lane's numbers and key.
        asked: all of it as JSON.
        folder: the run folder; None to save nothing.
        stop: whether somebody asked to stop.
    """

    agent: AnyAgent
    env: Env
    config: TrainConfig
    lanes: Lanes
    asked: dict[str, Any]
    folder: Path | None
    stop: StopRequest


def lived(task: Task, learner: Any) -> Lived:
    """What the lanes have become, without padding; of an agent with several environments, the first one's world."""
    world = learner.lane.env_state
    if isinstance(task.agent, RolloutAgent):
        world = jax.tree.map(lambda leaf: leaf[:, 0], world)
    both = Lived(learner.agent_state, world)
    return jax.tree.map(lambda leaf: leaf[: task.lanes.count], both)


def play(task: Task, lived: Lived) -> Episodes:
    """Greedy episodes of every lane: the same ones for the same lanes, and no trace of them in training."""
    lanes, config = task.lanes, task.config
    how = lanes.keys, config.eval_episodes, config.eval_max_steps, config.devices
    return evaluate_lanes(lanes.structure, lanes.numbers, lived, task.env, *how)


def finish(task: Task, learner: Any, ledger: Ledger, trouble: str | None) -> Trained:
    """Collect and save what was learned; then evaluate it, and save again with that."""
    stopped_early = bool(task.stop) and ledger.step < task.config.steps
    status = "diverged" if trouble else "interrupted" if stopped_early else "finished"
    trained = collect(task, learner, ledger, status, trouble)
    record, leaves = trained.record, to_arrays(trained.lived)
    _save(record, leaves)
    if task.config.eval_episodes:
        record = _evaluated(task, record, trained.lived, ledger)
        _save(record, leaves)
    return dataclasses.replace(trained, record=record)


def collect(task: Task, learner: Any, ledger: Ledger, status: str, trouble: str | None = None) -> Trained:
    """What was learned so far, as a record without an evaluation; nothing is saved."""
    now, lanes = lived(task, learner), task.lanes
    record = RunRecord(
        path=task.folder,
        config=task.asked,
        facts=_facts(task, ledger) | {"status": status, "trouble": trouble, "memory": facts.memory(learner)},
        points=task.config.points,
        lane_seed=lanes.seed,
        lane_point=lanes.point,
        curves=ledger.all_curves(),
        tables=_tables(task, now.agent_state, learner.tally, ledger),
        panels=task.env.panels() if isinstance(task.env, Finite) else (),
    )
    return Trained(record, task.agent, task.env, lanes, now, task.stop.signal)


def _save(record: RunRecord, leaves: list[np.ndarray]) -> None:
    if record.path is not None:
        run_folder.save(record.path, record, leaves)


def _evaluated(task: Task, record: RunRecord, now: Lived, ledger: Ledger) -> RunRecord:
    """The record with greedy episodes of every lane, and the best lane's as a film."""
    step, played = ledger.played or (-1, None)
    episodes = played if played is not None and step == ledger.step else play(task, now)
    arrays = {"return": episodes.episode_return, "length": episodes.length, "truncated": episodes.truncated}
    record = dataclasses.replace(record, evaluation=arrays)
    return dataclasses.replace(record, film=lane_film(task.lanes, now, task.env, record.best_lane))


def _tables(task: Task, states: Any, tally: Any, ledger: Ledger) -> dict[str, np.ndarray]:
    tables: dict[str, np.ndarray] = {}
    if isinstance(task.agent, TabularAgent):
        tables["q"] = np.asarray(q_values(task.lanes, states))
    if tally.visits is not None:
        tables["visits"] = np.asarray(tally.visits[: task.lanes.count])
    if ledger.history:
        tables["q_history"] = np.stack(ledger.history)
    discounts = getattr(task.lanes.numbers, "discount", None)
    if isinstance(task.env, Finite) and discounts is not None:
        shared = np.unique(np.asarray(discounts))
        if len(shared) == 1:
            tables |= _exact(task.env, float(shared[0]))
    return tables


def _exact(env: Finite, discount: float) -> dict[str, np.ndarray]:
    """The exact values; none where the environment says that with its arguments it has no exact model."""
    try:
        model = env.model()
    except ConfigError:
        return {}
    return exact_tables(model, discount)


def q_values(lanes: Lanes, states: Any) -> jax.Array:
    """[N, S, A]; states may be padded."""

    def one(numbers: Any, state: Any) -> jax.Array:
        return eqx.combine(numbers, lanes.structure).q_values(state)

    real = jax.tree.map(lambda leaf: leaf[: lanes.count], states)
    return jax.vmap(one)(lanes.numbers, real)


def _facts(task: Task, ledger: Ledger) -> dict[str, Any]:
    speed = ledger.step * task.lanes.count / ledger.seconds if ledger.seconds else 0.0
    return {
        "steps": ledger.step,
        "lanes": task.lanes.count,
        "episodes": ledger.episodes,
        **({} if ledger.blown_up is None else {"blown_up": ledger.blown_up}),
        "seconds": round(ledger.seconds, 6),
        "first_block_seconds": round(ledger.first_block_seconds, 6),
        "steps_per_second": round(speed, 1),
        "started": ledger.started,
        "resumed_at": ledger.resumed_at,
        "versions": facts.versions(),
        "device": facts.device(),
    }


def config_json(
    agent: AnyAgent, config: TrainConfig, env_config: dict[str, Any], command: str | None
) -> dict[str, Any]:
    """What was asked for, as JSON."""
    seeds = config.seeds if isinstance(config.seeds, int) else list(config.seeds)
    return {
        "agent": describe(agent),
        "env": env_config,
        "steps": config.steps,
        "seeds": seeds,
        "sweep": {name: [float(v) for v in values] for name, values in config.sweep.items()},
        **{name: getattr(config, name) for name in KEPT},
        "record": list(config.record),
        "log": list(config.log),
        "command": command,
    }


KEPT = (
    "record_every", "loop", "eval_episodes", "eval_max_steps", "eval_every", "checkpoint_every", "keep_checkpoints",
    "stop_on_nan",
)  # fmt: skip
