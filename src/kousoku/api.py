"""The front door: train, resume, load, evaluate, animate."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, Protocol, overload, runtime_checkable

import jax
import numpy as np

from . import envs, viz
from .agents.ids import AgentId
from .agents.options import beside, check_swept, make_agent
from .collectors.streams import key_of
from .core.agent import Agent
from .core.agent_check import for_env, taught_in
from .core.arguments import understood
from .core.env import Env
from .core.env_shapes import check_shapes, class_of
from .core.errors import ConfigError, EnvError, RunWarning, check_count
from .core.own_line import warn_at_own_line
from .core.record import GIVEN
from .core.wrapper import kind_of
from .envs.ids import EnvId
from .run import Evaluation as Evaluation
from .run import Run
from .saved_runs import asked_again, folder_of, load
from .saved_runs import compare as compare
from .saved_runs import evaluate as evaluate
from .saved_runs import load_policy as load_policy
from .training.arguments import check_ids, split_arguments
from .training.config import MAX_SEED, TrainConfig
from .training.evaluation.film import MAX_FRAMES, MOST_FILMS, is_drawable, policy_film, random_policy
from .training.fine_tuning import TrainedMember
from .training.guards.interrupt import StopRequest, is_left_to_caller, stop_on_signals
from .training.io import checkpoints, files, folder_lock, provenance, run_folder
from .training.io.env_config import env_json
from .training.io.rebuild import begun_for, check_same_agent, given_again
from .training.loop.make_loop import check_goal
from .training.loop.results import Trained
from .training.loop.train import train as run_training
from .training.metrics.metric_sums import recorded_by_default
from .training.metrics.report import Report
from .training.metrics.terminal import StandardError
from .training.presets import Preset, preset
from .training.sources import sources
from .viz.animation import Animation

SettingsOf = ParamSpec("SettingsOf")


@runtime_checkable
class TrainFunction(Protocol[SettingsOf]):
    """The types of `train`: settings, and with an agent by id also its options, whose names no type checker knows.

    There the settings are written out, as `TrainConfig` has them: a type checker would take one of a wrong type for an
    option otherwise.
    """

    @overload
    def __call__(
        self,
        agent: AgentId | str | Agent,
        env: EnvId | str | Env,
        *args: SettingsOf.args,
        **settings: SettingsOf.kwargs,
    ) -> Run: ...
    @overload
    def __call__(
        self,
        agent: AgentId | str,
        env: EnvId | str | Env,
        *,
        agent_options: Mapping[str, Any] | None = None,
        steps: int = ...,
        seeds: int | Sequence[int] | np.ndarray | jax.Array = ...,
        sweep: Mapping[str, Sequence[float] | np.ndarray | jax.Array] = ...,
        record: Sequence[str] = ...,
        record_every: int | None = None,
        loop: str = ...,
        eval_episodes: int = ...,
        eval_max_steps: int = ...,
        eval_every: int | None = None,
        checkpoint_every: int | None = None,
        keep_checkpoints: int = ...,
        stop_on_nan: bool = ...,
        devices: int | None = None,
        init_from: Any = None,
        init_member: int | None = None,
        out: str | os.PathLike[str] | None = None,
        log: Sequence[str] = ...,
        progress: bool | None = None,
        on_report: Callable[[Report], Any] | None = None,
        env_options: Mapping[str, Any] = ...,
        command: str | None = None,
        **options: Any,
    ) -> Run: ...


def _with_settings(
    config: Callable[SettingsOf, TrainConfig],
) -> Callable[[Callable[..., Run]], TrainFunction[SettingsOf]]:
    """Gives `train` the settings of a config as arguments of their own: for type checkers, editors and `help`."""

    def typed(function: Callable[..., Run]) -> TrainFunction[SettingsOf]:
        made: Any = function
        agent, env, agent_options, options = inspect.signature(function).parameters.values()
        named = inspect.signature(config).parameters.values()
        made.__signature__ = inspect.Signature([agent, env, *named, agent_options, options])
        told = inspect.getdoc(config) or ""
        attributes = told[told.index("Attributes:") :].replace("Attributes:", "Settings:")
        made.__doc__ = f"{inspect.getdoc(function)}\n\n{attributes}"
        return made

    return typed


@_with_settings(TrainConfig)
def train(
    agent: AgentId | str | Agent,
    env: EnvId | str | Env,
    *,
    agent_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Trains agents on an environment: seeds x sweep points in one compiled program.

    Names of other libraries that mean exactly the same are understood: `total_timesteps` is `steps`, and `seed=3` is
    `seeds=[3]`.

    Args:
        agent: an id ("q_learning"), or an agent made with its class or `make_agent`. By id, and with an environment by
            id, it is made with the settings of the preset for the two, if there is one (`kousoku.preset`).
        env: an id ("GridWorld-v0"), or an environment.
        agent_options: options of an agent by id, over those of a preset: for names that are settings of the run, too.
        options: the settings below, and options of an agent by id, over those of a preset.

    Returns:
        The run; its folder holds the report.

    Raises:
        ConfigError: for anything that cannot work, in one line, before anything is written.
        KeyboardInterrupt: after Ctrl-C, when everything is saved; its attribute `run` is the run as far as it came.
            SIGTERM and SIGHUP save too, and then do what they do without us.
        Exception: what `on_report` raised, when everything is saved; it has the same attribute `run`.
        EnvError: if an environment on the host fails, when what was learned up to there is saved; likewise.

    Examples:
        >>> run = train("q_learning", "GridWorld-v0", learning_rate=0.5, steps=5000, seeds=4, out="")
        >>> run.q_values.shape
        (4, 96, 4)
    """
    provenance.warn_upgraded()
    check_ids(agent, env)
    if not isinstance(agent, (str, Agent)):
        given = agent.__name__ if isinstance(agent, type) else agent
        raise ConfigError("agent", given, class_of(agent) or "give an id or a kousoku.Agent")
    settings, given = split_arguments(agent, env, agent_options, options)
    chosen = preset(agent, env) if isinstance(agent, str) and isinstance(env, str) else Preset()
    if isinstance(agent, str) and chosen.options:
        chosen = dataclasses.replace(chosen, options=beside(agent, chosen.options, given))
    origin = sources(
        settings,
        given if isinstance(agent, str) else None,
        settings.get("env_options", {}) if isinstance(env, str) else None,
        chosen,
    )
    if chosen.steps is not None:
        settings.setdefault("steps", chosen.steps)
    config = TrainConfig(**settings)
    env_options = dict(config.env_options)
    if not isinstance(env, str) and env_options:
        raise ConfigError("env_options", env_options, "give the environment by id, or make it with its options")
    made_env = envs.make(env, **env_options) if isinstance(env, str) else env
    check_shapes(made_env)
    made_agent = make_agent(agent, **chosen.options | given) if isinstance(agent, str) else agent
    if isinstance(agent, str):
        check_swept(agent, chosen.options | given, config.sweep)
    made_agent = taught_in(for_env(made_agent, made_env.spec), made_env)
    if "record" not in settings:
        config = dataclasses.replace(config, record=recorded_by_default(made_agent.learns_from, made_env))
    begin_with = _trained_member(config)
    described, told = env_json(env, env_options, made_env), {"sources": origin}
    return _reported(run_training(made_agent, made_env, config, described, None, begin_with, told))


@understood()
def resume(
    path: Run | str | Path,
    *,
    steps: int | None = None,
    agent: Agent | None = None,
    env: Env | None = None,
    devices: int | None = None,
    progress: bool | None = None,
    on_report: Callable[[Report], Any] | None = None,
) -> Run:
    """Goes on with a run that was stopped or killed, or that has come to its end and is to be longer.

    What is missing of a run at its end, its evaluation, film or report, is made.

    It goes on from its last whole checkpoint, and ends with the bits of one that was never stopped; of one made longer,
    schedules end where they were to end at first. What a tabular agent learns is the same on any number of devices. One
    with several environments goes on on as many as before; where it cannot, there is a warning: their sums are rounded.

    Without a checkpoint, a run that was killed begins again. One that ended, or was stopped, is refused and stays as it
    is: `keep_checkpoints=0` keeps none.

    Args:
        path: the run folder, or a run that was saved.
        steps: of each agent in all, more or fewer than were asked for, down to where it is; by default as many.
        agent, env: what the run was started with, where it was made in Python and has no id to be made by.
        devices: JAX devices to spread the agents over; by default all, or as many as before.
        progress: show a progress bar; by default in a terminal and in a notebook.
        on_report: a function that is called with each report, and may stop the run again; as of `train`.

    Raises:
        ConfigError: if there is no run or another process works in it, if it has come to its end, if it cannot be
            rebuilt, or if no checkpoint is whole or there.

    Examples:
        >>> run = train("q_learning", "GridWorld-v0", steps=2000, out="my-longer-run")
        >>> resume("my-longer-run", steps=3000)
        <Run q_learning on GridWorld-v0: 1 agent x 3000 steps, finished, my-longer-run>
    """
    provenance.warn_upgraded()
    path = folder_of(path)
    config, place = run_folder.read_config(path), files.Location.of(path)
    folder = place.absolute
    damaged = run_folder.damage(folder)
    if damaged is not None and not checkpoints.last_step(folder):
        raise damaged
    if damaged is not None:
        warn_at_own_line(f"{damaged.field} is damaged, and is made again", RunWarning)
    facts = {} if damaged is not None else run_folder.status(place.typed)
    changes = {"steps": steps, "devices": devices, "progress": progress, "on_report": on_report}
    made_agent, made_env, asked = asked_again(path, config, agent, env, **changes)
    made_agent = for_env(made_agent, made_env.spec)
    check_same_agent(made_agent, config)
    why_not = _why_not_on(folder, facts, asked.steps)
    if why_not is not None:
        if steps is None and run_folder.is_whole(folder) and not (folder / viz.REPORT).is_file():
            with folder_lock.locked(place.here):  # and away with what a process that was killed has left of its own
                return _with_report(load(place.here, agent=agent, env=env))
        raise ConfigError("resume", str(path), why_not)
    if steps is not None:
        check_goal(made_agent, asked.steps, checkpoints.last_step(folder))
    begin_with = None if checkpoints.last_step(folder) else _trained_member(asked)
    told: dict[str, Any] = {name: config[name] for name in ("sources", "own_agent") if name in config}
    told["begun_for"] = begun_for(config)
    if "sources" in told and steps is not None:
        told["sources"].setdefault("run", {})["steps"] = GIVEN
    return _reported(run_training(made_agent, made_env, asked, config["env"], place, begin_with, told))


def _why_not_on(folder: Path, facts: Mapping[str, Any], steps: int) -> str | None:
    """Says why a run cannot go on to so many steps; None if it can, or if what is missing of its end is made again.

    Without a checkpoint it could only begin again, and write over what it has.
    """
    done = facts.get("steps", 0)
    if facts.get("status") == "finished" and done >= steps and run_folder.is_whole(folder):
        return f"it has come to its end, {done} steps; ask for more steps"
    if facts.get("status", run_folder.UNFINISHED) == run_folder.UNFINISHED or not _cannot_go_on(folder, done):
        return None
    why = "it has no checkpoint to go on from, and would begin again in the place of what it has"
    return f"{why}, {done} steps; train in another folder"


def _cannot_go_on(folder: Path, done: int) -> bool:
    """Returns whether a run that was stopped after so many steps has no checkpoint to go on from."""
    return done > 0 and not checkpoints.is_there(folder)


def _trained_member(config: TrainConfig) -> TrainedMember | None:
    """Returns the agent that all agents of a run are to begin with; None where they begin anew.

    Raises:
        ConfigError: if there is no such run, or no such agent in it.
    """
    given = config.init_from
    if given is None:
        return None
    if isinstance(given, Run):
        return given.trained_member("init_member", config.init_member)
    if not isinstance(given, (str, os.PathLike)):
        raise ConfigError("init_from", given, "give a run, or the name of its folder")
    run_folder.check_is_run("init_from", given)
    if not run_folder.read_config(files.typed(given))["env"].get("registered"):
        fix = f"its environment was made in Python and has no id: init_from=ks.load({str(given)!r}, env=env)"
        raise ConfigError("init_from", str(given), fix)
    return load(files.typed(given)).trained_member("init_member", config.init_member)


def _reported(trained: Trained) -> Run:
    """Draws a run's report, and then does what ended the run, or what somebody asked for meanwhile."""
    with stop_on_signals() if trained.stopped_by is None else contextlib.nullcontext(StopRequest()) as stop:
        run = _with_report(Run(trained.record, trained, []))
    if stop.signal is not None:
        trained = dataclasses.replace(trained, stopped_by=stop.signal)
        run = Run(trained.record, trained, [])
    if run.stopped_by is not None and not is_left_to_caller():
        _end_as_asked(run, run.stopped_by)
    if trained.error is not None:
        _mark(trained.error, run)
        raise trained.error
    return run


def _end_as_asked(run: Run, number: int) -> None:
    """Raises the signal that stopped a run once more: it is saved, and the person meant to end more than it."""
    name = signal.Signals(number).name
    StandardError().write(f"kousoku: stopped by {name} {where_it_ended(run)}\n")
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt as stop:
        stop.run = run  # pyright: ignore[reportAttributeAccessIssue]
        raise


def _mark(error: BaseException, run: Run) -> None:
    """Gives an exception of `on_report` or of an environment the run that it ended, and a line on where that is.

    What ends Python without a traceback, which would have the line, has it written.
    """
    error.run = run  # pyright: ignore[reportAttributeAccessIssue]
    if not isinstance(error, Exception):
        StandardError().write(f"kousoku: stopped by {type(error).__name__} {where_it_ended(run)}\n")
    what = "the run ended" if isinstance(error, EnvError) else "kousoku: on_report raised this"
    error.add_note(f"{what} {where_it_ended(run)}")


def where_it_ended(run: Run, resume: str | None = None) -> str:
    """Says where a run was stopped, and how to go on with it.

    Args:
        run: which was.
        resume: what goes on with it; by default the call of `resume`, with what has to be given again.
    """
    if run.path is None:
        saved = "nothing of it was saved"
    elif run.interrupted and _cannot_go_on(run.path, run.record.facts["steps"]):
        saved = f"what it has is in {str(run.path)!r}, and no checkpoint to go on from"
    elif run.interrupted:
        again = "".join(f", {name}={name}" for name in given_again(run.record.config))
        saved = f"{resume or f'kousoku.resume({str(run.path)!r}{again})'} goes on with it"
    else:
        saved = f"all of it is in {str(run.path)!r}"
    return f"at step {run.record.facts['steps']:,}; {saved}"


def _with_report(run: Run) -> Run:
    if run.path is not None:
        place = files.Location.of(run.path)
        with files.refusals_explained(place, lambda: "all but its report is saved: `kousoku resume` draws that"):
            viz.write_report(run.record, place.absolute)
    return run


def animate(
    env: str | Env,
    policy: Callable[[Any, Any], Any] | None = None,
    *,
    episodes: int = 1,
    max_steps: int = MAX_FRAMES,
    seed: int = 0,
    title: str | None = None,
) -> Animation:
    """Films episodes of an environment, side by side: to look at what one has made, before or without training.

    Args:
        env: an id, or an environment.
        policy: from an observation and a key to an action; None for random actions, of the legal ones where the
            observation has a mask of them.
        episodes: how many, each with a key of its own.
        max_steps: where an episode is cut.
        seed: of everything random.
        title: above the picture; by default the environment's name.

    Raises:
        ConfigError: if the environment cannot be drawn, or the policy gives what is no action of it.

    Examples:
        >>> import jax.numpy as jnp
        >>> animate("CartPole-v1", lambda obs, key: jnp.where(obs[2] > 0, 1, 0), episodes=2)
        <Animation: 2 films of ... frames>
    """
    episodes, max_steps = check_count("episodes", episodes, high=MOST_FILMS), check_count("max_steps", max_steps)
    seed = check_count("seed", seed, low=0, high=MAX_SEED)
    made = envs.make(env) if isinstance(env, str) else env
    check_shapes(made)
    if not is_drawable(made):
        raise ConfigError("env", env, "it has to have a `scene` or a `poses` method to be drawn")
    if policy is not None and not callable(policy):
        raise ConfigError("policy", policy, "give a function from an observation and a key to an action")
    chosen = policy or random_policy(made.action_space)
    keys = jax.random.split(key_of(seed), episodes)
    films = tuple(policy_film(made, chosen, key, f"episode {i + 1}", max_steps) for i, key in enumerate(keys))
    return Animation(films, (env if isinstance(env, str) else kind_of(made)) if title is None else title)
