"""Results: a trained run's record, with tables, facts, the greedy evaluation, everything saved."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...agents.options import describe
from ...collectors.streams import fold_in_each
from ...core.agent import Agent
from ...core.collector import TrainState
from ...core.env import Env, Finite
from ...core.errors import ConfigError, EnvError, RunWarning, error_line
from ...core.model import TabularModel
from ...core.record import RunRecord
from ...ops.planning import reachable
from ..config import TrainConfig
from ..devices import without_padding
from ..evaluation.evaluate import Episodes, FinalState, evaluate_population
from ..evaluation.exact import exact_tables, optimal_return
from ..evaluation.film import Film, member_film
from ..guards.collector_answers import buffer_use
from ..guards.interrupt import StopRequest
from ..io import provenance, run_folder
from ..io.agent_code import own_json
from ..io.files import Location
from ..io.held_folder import HeldFolder
from ..io.run_progress import RunProgress
from ..io.tree_io import pick_member, to_arrays
from ..metrics.metric_sums import MetricSums
from ..population import Population, first

UNSEEN_STREAM = 0x756E7365


@dataclass(frozen=True)
class Trained:
    """The result of training: the record, and what is needed to go on working with the agents.

    Attributes:
        record: everything as data.
        population: each member's numbers, environment and key.
        final_state: [N, ...] what each member has learned, and the state of its environment.
        place: of the run folder; None if nothing was saved.
        stopped_by: the signal that ended the run early, or came while it was evaluated and saved; None without one.
        error: what `on_report` failed with, which ended the run early; or None.
    """

    record: RunRecord
    population: Population
    final_state: FinalState
    place: Location | None
    stopped_by: int | None
    error: BaseException | None = None


@dataclass(frozen=True)
class TrainJob:
    """The agents that are trained, on what, and how.

    Attributes:
        agent: what is trained.
        config: what to do.
        population: each member's numbers, environment and key.
        asked: all of it as JSON.
        held: the run folder; None to save nothing.
        stop: whether somebody asked to stop.
    """

    agent: Agent
    config: TrainConfig
    population: Population
    asked: dict[str, Any]
    held: HeldFolder | Location | None
    stop: StopRequest

    @property
    def place(self) -> Location | None:
        """Where the run folder is now; None to save nothing.

        Raises:
            FileNotFoundError: if it is gone.
        """
        return self.held.place if isinstance(self.held, HeldFolder) else self.held

    @property
    def folder(self) -> Path | None:
        """The run folder from the root on; None to save nothing."""
        return None if self.place is None else self.place.absolute


def final_state(job: TrainJob, state: TrainState) -> FinalState:
    """Returns what the members have become, without padding; of several slots, the first one's environment."""
    env_state = state.slots.env_state
    if job.agent.learns_from.batched:
        env_state = _first_slots(env_state)
    return without_padding(FinalState(state.agent, env_state), job.population.size)


@jax.jit
def _first_slots(env_states: Any) -> Any:
    """Returns [N, ...] of [N, num_envs, ...]."""
    return jax.tree.map(lambda leaf: leaf[:, 0], env_states)


def episodes_at_end(config: TrainConfig, members: int) -> int:
    """Returns how many episodes each member plays after training: as asked, and as many held out if one is chosen.

    The members' episodes are split in halves then, of which one chooses; see `core.choice`.
    """
    return config.eval_episodes * (2 if members > 1 else 1)


def play(job: TrainJob, final: FinalState, episodes: int, unseen: bool = False) -> Episodes:
    """Plays greedy episodes with every member: the same ones for the same members, and no trace of them in training.

    Args:
        job: whose members they are.
        final: what these have become.
        episodes: how many.
        unseen: whether to play others than those that are played on the way.
    """
    population, config = job.population, job.config
    keys = population.keys
    if unseen:
        keys = fold_in_each(keys, UNSEEN_STREAM)
    return evaluate_population(population, final, keys, episodes, config.eval_max_steps, config.devices)


def finish(job: TrainJob, state: Any, progress: RunProgress, failure: str | None) -> Trained:
    """Collects what was learned and saves it, as of an unfinished run; then evaluates it, and saves it with that.

    It is not evaluated in an environment that has just failed.
    """
    stopped_early = bool(job.stop) and progress.step < job.config.steps
    status = "diverged" if failure else "interrupted" if stopped_early else "finished"
    trained = collect(job, state, progress, status, failure)
    record, leaves = trained.record, to_arrays(trained.final_state)
    if job.config.eval_episodes and not isinstance(job.stop.error, EnvError):
        _save(job, dataclasses.replace(record, facts=record.facts | {"status": run_folder.UNFINISHED}), leaves)
        record = _evaluated(job, record, trained.final_state, progress)
    _save(job, record, leaves)
    return dataclasses.replace(trained, record=record, stopped_by=job.stop.signal)


def collect(job: TrainJob, state: Any, progress: RunProgress, status: str, failure: str | None = None) -> Trained:
    """Makes a record of what was learned so far, without an evaluation; nothing is saved."""
    now, population = final_state(job, state), job.population
    worlds = _worlds(population, now)
    record = RunRecord(
        path=None if job.place is None else job.place.here,
        config=job.asked,
        facts=_facts(job, progress)
        | {"status": status, "failure": failure, "memory": provenance.memory(state)}
        | _replay_buffer(job, state, progress),
        points=job.config.points,
        member_seed=population.seed,
        member_point=population.point,
        curves=progress.all_curves(),
        tables=_tables(job, now.agent_state, state.metrics, progress) | _exact(job, worlds),
        panels=worlds[0].panels() if isinstance(worlds[0], Finite) else (),
    )
    return Trained(record, population, now, job.place, job.stop.signal, job.stop.error)


def _save(job: TrainJob, record: RunRecord, leaves: list[np.ndarray]) -> None:
    if job.folder is not None:
        run_folder.save(job.folder, record, leaves)


def _evaluated(job: TrainJob, record: RunRecord, now: FinalState, progress: RunProgress) -> RunRecord:
    """Returns the record with greedy episodes of every member, and the best one's as a film.

    The episodes of an evaluation on the way at this step, if there was one, are among them. A run that a program ended
    early is evaluated by others: it was told of those, and may have chosen the moment by them.
    """
    step, played = progress.played or (-1, None)
    count = episodes_at_end(job.config, record.num_members)
    if job.stop.requested and record.facts["status"] == "interrupted":
        episodes = play(job, now, count, unseen=True)
    elif played is not None and step == progress.step and played.length.shape[1] == count:
        episodes = played
    else:
        episodes = play(job, now, count)
    arrays = {"return": episodes.episode_return, "length": episodes.length, "truncated": episodes.truncated}
    facts = record.facts | {"cut_evaluations": int(episodes.cut.sum())}
    record = dataclasses.replace(record, evaluation=arrays, facts=facts)
    return dataclasses.replace(record, film=_film(job, now, record.best_member))


def _film(job: TrainJob, now: FinalState, i: int) -> Film | None:
    """Returns the film of a member; None, and a line that says why, where the code that draws fails."""
    try:
        return member_film(job.population, now, i)
    except Exception as error:  # the environment's code, or its library's, which may ask for a package or a display
        warnings.warn(f"there is no film: {error_line(error)}", RunWarning, stacklevel=2)
        return None


def _tables(job: TrainJob, states: Any, sums: MetricSums, progress: RunProgress) -> dict[str, np.ndarray]:
    tables: dict[str, np.ndarray] = {}
    q = q_values(job.population, states)
    if q is not None:
        tables["q"] = jax.device_get(q)
    if sums.visits is not None:
        tables["visits"] = progress.all_visits(jax.device_get(without_padding(sums.visits, job.population.size)))
    if progress.history:
        tables["q_history"] = np.stack(progress.history)
    return tables


def _worlds(population: Population, now: FinalState) -> list[Env]:
    """Returns each environment once, as evaluations begin in it: all its members have taken equally many steps."""
    members: dict[int, int] = {}
    for i in np.unique(population.point, return_index=True)[1].tolist():
        members.setdefault(id(population.env(i)), i)
    return [_world(population.env(i), now, i) for i in members.values()]


def _world(env: Env, now: FinalState, i: int) -> Env:
    """Returns a member's environment as it is now; states, which may be large, are read where it may have changed."""
    return env if env.world_at(None) is env else env.world_at(pick_member(now.env_state, i))


def _exact(job: TrainJob, worlds: list[Env]) -> dict[str, np.ndarray]:
    """Returns what the exact model tells; nothing where there is none, or the members' environments have several.

    Optimal values are of one discount, too: they are left out where the members differ in it.
    """
    model, time_limit = _shared_model(worlds), worlds[0].time_limit
    if model is None:
        return {}
    limit = job.config.eval_max_steps if time_limit is None else time_limit
    discounts = getattr(job.population.numbers.agent, "discount", None)
    shared = [] if discounts is None else np.unique(jax.device_get(discounts)).tolist()
    values = exact_tables(model, shared[0]) if len(shared) == 1 else {}
    return values | {"reachable": reachable(model), "optimal_return": optimal_return(model, limit)}


def _shared_model(worlds: list[Env]) -> TabularModel | None:
    """Returns the exact model of all environments; None where they differ, or say that with their arguments is none."""
    models: list[TabularModel] = []
    for env in worlds:
        if not isinstance(env, Finite):
            return None
        try:
            models.append(env.model())
        except ConfigError:
            return None
    return models[0] if all(eqx.tree_equal(models[0], other) for other in models[1:]) else None


def q_values(population: Population, states: Any) -> jax.Array | None:
    """Returns every member's action values, [N, S, A], None without a table; states may be padded."""

    def one(numbers: Any, state: Any) -> jax.Array | None:
        return eqx.combine(numbers, population.structure).q_values(state)

    return jax.vmap(one)(population.numbers.agent, without_padding(states, population.size))


def _facts(job: TrainJob, progress: RunProgress) -> dict[str, Any]:
    speed = progress.step * job.population.size / progress.seconds if progress.seconds else 0.0
    time_limit = job.population.env(0).time_limit
    return {
        "steps": progress.step,
        "members": job.population.size,
        "episodes": progress.episodes,
        **({} if time_limit is None else {"time_limit": time_limit}),
        **({} if progress.blown_up is None else {"blown_up": progress.blown_up}),
        "seconds": round(progress.seconds, 6),
        "first_block_seconds": round(progress.first_block_seconds, 6),
        "steps_per_second": round(speed, 1),
        **({} if progress.best_at is None else {"best_step": progress.best_at}),
        "started": progress.started,
        "resumed_at": progress.resumed_at,
        "versions": provenance.versions(),
        "device": provenance.device() | {"count": progress.devices, "available": progress.available},
    }


def _replay_buffer(job: TrainJob, state: TrainState, progress: RunProgress) -> dict[str, Any]:
    """Returns, as a fact, how full the replay buffer of each member is, all alike; nothing where there is none."""
    collector = job.agent.learns_from
    use = buffer_use(collector, jax.eval_shape(first, state.data), progress.step // collector.iteration_steps)
    if use is None:
        return {}
    told = {"transitions": use.transitions, "capacity": use.capacity, "mib": round(use.size / 2**20, 3)}
    return {"replay_buffer": told}


def config_json(agent: Agent, config: TrainConfig, env_config: dict[str, Any]) -> dict[str, Any]:
    """Returns what was asked for, as JSON."""
    data = agent.learns_from.recorded_data
    beside = own_json(agent) | ({"data": data} if data else {})
    return {"agent": describe(agent), "env": env_config, **beside, **config.to_json()}
