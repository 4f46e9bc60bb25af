"""A run from its beginning to its end: what is asked is checked, begun or gone on with, trained, and finished."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import jax

from ...core.agent import Agent
from ...core.agent_check import check_agent
from ...core.env import Env
from ...core.errors import ConfigError, RunWarning
from ...core.host import HostEnv
from ...core.own_line import warn_at_own_line
from ...core.record import GIVEN
from ...core.wrapper import kind_of
from ...ops.schedules import in_run
from ..config import TrainConfig
from ..devices import select_devices
from ..fine_tuning import TrainedMember, check_adoptable
from ..guards.agent_numbers import check_agent_fields, check_agent_numbers
from ..guards.changed_code import forget_changed_code
from ..guards.finite_check import FiniteCheck
from ..guards.interrupt import StopRequest, stop_on_signals
from ..guards.key_reuse import keys_unchecked
from ..guards.memory_check import check_episodes, check_memory, check_samples
from ..guards.schedule_ends import warn_early_ends, warn_spent_rates
from ..guards.trace_check import check_not_traced
from ..guards.transfers import check_transfers
from ..guards.twin_points import check_twin_points
from ..io import checkpoints, compile_cache, files, folder_lock, provenance, run_folder, tree_io
from ..io.checkpoints import Checkpoint
from ..io.files import Location
from ..io.held_folder import HeldFolder
from ..io.run_progress import RunProgress
from ..make_population import make_population, population_size
from ..metrics.drain import drain_metrics
from ..metrics.loggers import check_installed
from ..metrics.metric_sums import Recording, table_shape
from ..point_envs import point_envs
from ..population import Population
from .base import TrainLoop
from .host import OngoingRun, learn
from .host_envs import check_host
from .iteration import sums_before
from .make_loop import make_loop
from .results import Trained, TrainJob, collect, config_json, episodes_at_end, finish

MAX_HISTORY_BYTES = 2**31


@keys_unchecked()
def train(
    agent: Agent,
    env: Env,
    config: TrainConfig,
    env_config: dict[str, Any],
    resume: Location | None = None,
    begin_with: TrainedMember | None = None,
    told: Mapping[str, Any] | None = None,
) -> Trained:
    """Trains every member of a population, evaluates it greedily, and saves the run.

    Args:
        agent: its numbers may be varied by `config.sweep`.
        env: the environment, whose numbers may be, too.
        config: what to do.
        env_config: the environment as JSON, for the record.
        resume: the place of a run that is to be gone on with; None for a new one.
        begin_with: the agent of another run that all members begin with; None where they begin anew, or go on.
        told: what the record keeps beside, as JSON: "sources" of the settings, and "begun_for", the steps that shares
            in schedules are of; by default those of the config.

    Raises:
        ConfigError: for anything in the arguments that cannot work, before a file is written.
    """
    check_not_traced("train")
    check_transfers()
    check_installed(config.log, config.out)
    compile_cache.enable()
    told = {"begun_for": config.steps, **(told or {})}
    forget_changed_code(agent, env)
    warn_early_ends(agent, told["begun_for"])
    agent = in_run(agent, told["begun_for"])
    config, population = _checked(agent, env, config, env_config, told, resume is None, begin_with)
    loop = make_loop(agent, population, config)
    asked = config_json(agent, config, env_config) | told
    with contextlib.ExitStack() as stack:
        held = _held(stack, config, asked, resume)
        place = None if held is None else held.place
        saved = None if resume is None else _last_checkpoint(resume)
        warn_spent_rates(agent, told["begun_for"], config.steps, config.sweep)
        if saved is not None and agent.learns_from.rounds_over_devices:
            loop, config = _as_before(saved.progress, loop, agent, population, config)
        run = _begin(loop, population.size, saved, begin_with)
        stack.callback(loop.close)
        if resume is not None and saved is not None:
            _warn_new_episodes(env, resume)
        run.progress.devices, run.progress.available = loop.devices, len(select_devices(config.devices))
        stop = stack.enter_context(stop_on_signals())
        _compile(loop, run, stop, held if resume is None else None)
        if place is not None:
            files.write_json(place.absolute / run_folder.CONFIG, asked)
            checkpoints.cut_back(place.absolute, run.saved)
        job = TrainJob(agent, config, population, asked, held, stop)
        learn(loop, run, job, b"" if saved is None else saved.metrics)
        return finish(job, run.state, run.progress, run.failure)


def _checked(
    agent: Agent,
    env: Env,
    config: TrainConfig,
    env_config: dict[str, Any],
    told: Mapping[str, Any],
    is_new: bool,
    begin_with: TrainedMember | None,
) -> tuple[TrainConfig, Population]:
    """Returns the config, with where a population begins, and that population, which can be trained.

    Args:
        agent, env, config, env_config, begin_with: as of `train`.
        told: what the record keeps beside.
        is_new: whether no run is gone on with.

    Raises:
        ConfigError: for what cannot work.
    """
    check_host(agent, env, config)
    check_agent_fields(agent)
    check_agent(agent, env.spec, plays_greedily=config.eval_episodes > 0)
    envs = point_envs(env, env_config, config)
    if begin_with is not None:
        config = _adopting(begin_with, agent, envs.distinct, config)
    recording, members = Recording.of(tuple(config.record)), population_size(config)
    check_samples(agent, envs.by_point[0])
    check_agent_numbers(agent, envs.by_point[0], recording)
    check_memory(agent, envs, members, recording)
    check_episodes("eval_episodes", env, members, episodes_at_end(config, members))
    population = make_population(agent, envs, config)
    if is_new:
        check_twin_points(env, env_config, config)
        if recording.visits and told.get("sources", {}).get("run", {}).get("record") == GIVEN:
            _warn_no_visits(agent, envs.by_point[0], recording)
    _check_history(config, recording, env, members)
    return config, population


def _adopting(begin_with: TrainedMember, agent: Agent, envs: Iterable[Env], config: TrainConfig) -> TrainConfig:
    """Returns the config with where all members' beginning is from.

    Raises:
        ConfigError: if the agent cannot begin with it in one of the environments.
    """
    for each in envs:
        check_adoptable(begin_with, agent, each)
    return dataclasses.replace(config, init_from=begin_with.place, init_member=begin_with.number)


def _warn_new_episodes(env: Env, place: Location) -> None:
    """Warns that a run which is gone on with begins new episodes, where its environment is on the host."""
    if isinstance(env, HostEnv):
        why = f"{env.name} runs on the host, whose state no checkpoint holds"
        warn_at_own_line(f"{place.here}: {why}: all slots begin new episodes", RunWarning)


def unfinished(
    agent: Agent, env: Env, config: TrainConfig, asked: dict[str, Any], place: Location, saved: Checkpoint
) -> Trained:
    """Returns a run as a checkpoint holds it: what was learned up to there, not evaluated. Nothing is written.

    Args:
        agent, env, config: what the run was started with.
        asked: the same as JSON.
        place: of its folder.
        saved: the checkpoint.
    """
    population = make_population(agent, point_envs(env, asked["env"], config), config)
    state = saved.state(make_loop(agent, population, config).start(), population.size)
    return collect(
        TrainJob(agent, config, population, asked, place, StopRequest()),
        state,
        saved.progress,
        run_folder.UNFINISHED,
    )


def _held(
    stack: contextlib.ExitStack, config: TrainConfig, asked: dict[str, Any], resume: Location | None
) -> HeldFolder | None:
    """Returns the run folder, which is locked until the stack ends; None where nothing is to be saved."""
    if resume is None and config.out == "":
        return None
    name = f"{asked['agent']['id']}-{asked['env']['id']}"
    place = resume or Location.of(run_folder.make_folder(config.out, name, asked))
    if resume is None and config.out is None:
        stack.callback(run_folder.remove_empty, place.absolute)
    held: list[HeldFolder] = []

    def what_is_left() -> str:
        try:
            return checkpoints.what_is_left(held[0].place.absolute if held else place.absolute)
        except FileNotFoundError:
            return files.GONE

    stack.enter_context(files.refusals_explained(place, what_is_left))
    held.append(stack.enter_context(folder_lock.locked(place.here)))
    return held[0]


def _last_checkpoint(place: Location) -> Checkpoint | None:
    """Returns the checkpoint to go on from; None for the beginning."""
    folder = place.here
    saved = checkpoints.newest(folder)
    if saved is None:
        warn_at_own_line(f"{folder} has no checkpoint: the run begins again from step 0", RunWarning)
    elif saved.asked not in (None, run_folder.digest_of(run_folder.read_config(folder))):
        text = f"{folder / run_folder.CONFIG} is not what this checkpoint was made with, at step {saved.progress.step}"
        warn_at_own_line(f"{text}: bits may be neither's from here on", RunWarning)
    return saved


def _as_before(
    before: RunProgress, loop: TrainLoop, agent: Agent, population: Population, config: TrainConfig
) -> tuple[TrainLoop, TrainConfig]:
    """Returns a loop on as many devices as before, where a member's updates are sums over them, which are rounded.

    Where it cannot be, or another number is asked for, there is a warning.
    """
    available = len(select_devices(config.devices))
    if (before.devices, before.available) == (loop.devices, available):
        return loop, config
    if config.devices is None and before.available <= available:
        as_many = dataclasses.replace(config, devices=before.devices)
        return make_loop(agent, population, as_many), dataclasses.replace(config, devices=before.available)
    made_on = f"{before.available} device{'s' if before.available > 1 else ''}"
    here = f"here {'are' if available > 1 else 'is'} {available}"
    text = f"the checkpoint was made on {made_on}, and {here}: bits may differ"
    warn_at_own_line(f"{text} from here on", RunWarning)
    return loop, config


def _begin(loop: TrainLoop, members: int, saved: Checkpoint | None, begin_with: TrainedMember | None) -> OngoingRun:
    """Returns all members before their first step, or as a checkpoint holds them."""
    trained = None if begin_with is None else tree_io.unplaced(begin_with.state)
    state = jax.block_until_ready(loop.start(trained))
    finite_check = FiniteCheck(state, members)
    drain = drain_metrics(loop.placement, finite_check.watched_often)
    if saved is None:
        progress = RunProgress(started=datetime.now(UTC).isoformat(timespec="seconds"))
        return OngoingRun(state, progress, finite_check, drain)
    _warn_other_versions(saved.versions)
    saved.progress.resumed_at.append(saved.progress.step)
    restored = saved.state(state, members)
    return OngoingRun(restored, saved.progress, finite_check, drain, saved=saved.progress.step)


def _compile(loop: TrainLoop, run: OngoingRun, stop: StopRequest, made: HeldFolder | None) -> None:
    """Compiles the program for the arrays that it begins with: placed otherwise, it would be compiled anew.

    Args:
        loop, run: what is trained, as it begins.
        stop: set by a signal, which a refusal does not swallow.
        made: the folder that was made for the run: a refused one leaves it to others; None for none.

    Raises:
        ConfigError: if memory does not hold what it computes.
    """
    began = time.perf_counter()
    try:
        loop.compile(run.state)
    except ConfigError:
        if made is not None:
            made.remove(run_folder.CONFIG)
        if stop.signal is not None:
            signal.raise_signal(stop.signal)
        raise
    run.compiling = time.perf_counter() - began


def _warn_other_versions(made_by: dict[str, str]) -> None:
    """Warns where other code made the checkpoint, or the same in other surroundings: bits may differ from there on.

    Those of earlier versions do not tell all of it.
    """
    now = provenance.made_by()
    others = [f"{name} {made_by[name]}, here {now[name]}" for name in now if made_by.get(name, now[name]) != now[name]]
    if others:
        text = f"the checkpoint was made by other versions ({'; '.join(others)}): bits may differ from here on"
        warn_at_own_line(text, RunWarning)


def _warn_no_visits(agent: Agent, env: Env, recording: Recording) -> None:
    """Warns that visits are not counted where somebody asks for them and there is nothing to count by."""
    if sums_before(agent, env, recording).visits is not None:
        return
    why = f"{kind_of(env)} has no table of states and actions, which are both to be Discrete"
    if table_shape(env) is not None:
        why = f"{type(agent).__name__} learns from {type(agent.learns_from).__name__}, which tells no single steps"
    warn_at_own_line(f"record: 'visits' are not counted: {why}", RunWarning)


def _check_history(config: TrainConfig, recording: Recording, env: Env, count: int) -> None:
    shape = table_shape(env)
    if not recording.q_values or shape is None:
        return
    need = config.num_reports * count * shape[0] * shape[1] * 4
    if need > MAX_HISTORY_BYTES:
        fix = f"the tables need {need / 2**30:.3g} GiB; raise record_every or train fewer agents"
        raise ConfigError("record", "q_values", fix)
