"""Runs that are there already: they are loaded, evaluated and compared."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .core.agent import Agent
from .core.arguments import understood
from .core.env import Env
from .core.errors import ConfigError, RunWarning, check_keys
from .core.record import RunRecord
from .envs import ENVS
from .run import Evaluation, Run
from .training.arguments import check_started_with
from .training.config import TrainConfig
from .training.evaluation.policy import Policy
from .training.io import checkpoints, files, run_folder
from .training.io.rebuild import rebuild_both
from .training.loop.train import unfinished
from .viz.comparison import Comparison, compare_records
from .viz.comparison_checks import RunHeader, check_asked, names_by_agent

T = TypeVar("T")


@understood()
def load(
    path: Run | str | Path,
    *,
    agent: Agent | None = None,
    env: Env | None = None,
    checkpoint: str | int | None = None,
) -> Run:
    """Reads a run folder.

    A run that was killed, or that is still on its way, is read as its last whole checkpoint holds it, with a warning.
    Read as a checkpoint, a run has the status "unfinished", and no evaluation but those made on the way.

    Args:
        path: the folder, or a run that was saved.
        agent, env: what the run was started with, where it was made in Python and has no id to be made by.
        checkpoint: "best", or the step of one that was kept; by default the end of the run.

    Raises:
        ConfigError: if there is no run or no such checkpoint, a file is missing or damaged, there is neither an end nor
            a checkpoint, or the run was started with another agent or environment.
    """
    check_started_with(agent, env)
    path = folder_of(path)
    config, place = run_folder.read_config(path), files.Location.of(path)
    folder = place.typed
    if checkpoint is not None or not run_folder.has_ended(path):
        saved = checkpoints.newest(folder) if checkpoint is None else checkpoints.kept(folder, checkpoint)
        if saved is not None:
            trained = unfinished(*asked_again(path, config, agent, env), config, place, saved)
            if checkpoint is None:
                at = f"it is read as its checkpoint at step {saved.progress.step} holds it"
                warnings.warn(f"{folder} has not come to its end: {at}", RunWarning, stacklevel=2)
            return Run(trained.record, trained, [])
    record, leaves = run_folder.load(path)
    if record.facts["status"] == run_folder.UNFINISHED:
        warnings.warn(f"{folder} was ended before it was evaluated", RunWarning, stacklevel=2)
    return Run(record, None, leaves, agent, env, place)


@understood()
def load_policy(
    run: Run | str | Path,
    member: int | None = None,
    *,
    agent: Agent | None = None,
    env: Env | None = None,
    checkpoint: str | int | None = None,
) -> Policy:
    """Returns what an agent of a run does greedily, as a small function from observations to actions.

    Args:
        run: a run, or its folder; one that was killed, or is still on its way, as its last checkpoint holds it.
        member: which of its agents, by number; by default the best one.
        agent, env, checkpoint: of a folder, as `load` takes them.

    Raises:
        ConfigError: for a folder that is no run, a member that there is not, or a run whose agent or environment has no
            id to be made by and is not given.

    Examples:
        >>> from kousoku import train
        >>> run = train("q_learning", "GridWorld-v0", steps=2000, out="")
        >>> policy = load_policy(run)
        >>> policy
        <Policy: q_learning on GridWorld-v0, agent 0>
        >>> policy([0, 1, 2]).shape
        (3,)
    """
    return _loaded(run, agent, env, checkpoint).policy(member)


@understood()
def evaluate(
    run: Run | str | Path,
    episodes: int = 100,
    *,
    seed: int = 0,
    max_steps: int = 1000,
    agent: Agent | None = None,
    env: Env | None = None,
    checkpoint: str | int | None = None,
) -> Evaluation:
    """Plays whole greedy episodes with every agent of a run.

    Each episode has a key of its own, counts once whatever its length, and teaches the agents nothing.

    Args:
        run: a run, or its folder.
        episodes: of each agent.
        seed: of the evaluation; the same seed plays the same episodes.
        max_steps: where an episode is cut if the environment has no time limit.
        agent, env, checkpoint: of a folder, as `load` takes them.

    Raises:
        ConfigError: for a folder that is no run, or a run whose agent or environment has no id to be made by and is not
            given.
    """
    return _loaded(run, agent, env, checkpoint).evaluate(episodes, seed=seed, max_steps=max_steps)


def compare(
    runs: Mapping[str, Run | str | Path | Sequence[Run | str | Path]] | Run | str | Path,
    *others: Run | str | Path,
    where: Mapping[str, float | Sequence[float]] | None = None,
) -> Comparison:
    """Compares runs by their greedy episodes: interquartile mean, mean, profiles, probability of improvement.

    Runs on the same environment, with the same options, are compared with each other; returns of different environments
    are not added up. Each point of a sweep stands by itself, on the environment with its numbers. `print` shows the
    table, `save` writes a page.

    Args:
        runs: a run, its folder, or several of these (each on another environment) by name; or the first of several.
        others: what stands beside the first, where each is named by its agent, or by its folder where two share one.
        where: which points of sweeps take part: names of swept numbers, and the value or values to keep of each, as
            `{"learning_rate": 0.1}`; all of them by default. A run that did not sweep a name takes part.

    Raises:
        ConfigError: for a folder that is no run, a run that was not evaluated, if no two share an environment, or if a
            sweep has no point that is asked for.

    References:
        Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, arXiv:2108.13264.

    Examples:
        >>> from kousoku import train
        >>> runs = {id: train(id, "FrozenLake-v1", steps=5000, seeds=4, out="") for id in ("q_learning", "sarsa")}
        >>> print(compare(runs))
        FrozenLake-v1: greedy return
        ...
    """
    if isinstance(runs, (Run, str, Path)):
        given = [(run, _asked(run)) for run in (runs, *others)]
        names = names_by_agent([asked for _, asked in given])
    else:
        pairs = _named(runs, others)
        given, names = [(run, _asked(run)) for _, run in pairs], [name for name, _ in pairs]
    check_asked(_grouped(names, [asked for _, asked in given]), where, _defaults)
    return compare_records(_grouped(names, [_loaded(run).record for run, _ in given]), where, _defaults)


def _named(runs: Any, others: Sequence[Any]) -> list[tuple[str, Run | str | Path]]:
    """Returns (name, run) of each run that is given by name.

    Raises:
        ConfigError: for anything else.
    """
    if others or not isinstance(runs, Mapping) or not all(isinstance(name, str) and name for name in runs):
        raise ConfigError("runs", runs, 'give runs by name, {"PPO": run, "A2C": another}, or side by side')
    several = {name: [given] if isinstance(given, (Run, str, Path)) else given for name, given in runs.items()}
    for name, given in several.items():
        if not isinstance(given, Sequence):
            raise ConfigError("runs", f"{name}: {given!r}", "give a run, its folder, or a list of these")
    return [(name, run) for name, given in several.items() for run in given]


def _grouped(names: Sequence[str], values: Sequence[T]) -> dict[str, list[T]]:
    """Returns the values of each name, names and values in their order."""
    found: dict[str, list[T]] = {}
    for name, value in zip(names, values, strict=True):
        found.setdefault(name, []).append(value)
    return found


def _defaults(id: str) -> dict[str, Any]:
    """Returns the options that an environment has unless told otherwise; none of an id that nobody has registered."""
    return {name: option.default for name, option in ENVS.options(id).items()} if id in ENVS.ids() else {}


def _asked(run: Run | str | Path) -> RunHeader | RunRecord:
    """Returns what a run was asked to do; of a folder, only that is read."""
    if isinstance(run, Run):
        return run.record
    config = run_folder.read_config(run)
    return RunHeader(config, TrainConfig(steps=1, sweep=config.get("sweep") or {}).points, files.typed(run))


def _loaded(
    run: Run | str | Path,
    agent: Agent | None = None,
    env: Env | None = None,
    checkpoint: str | int | None = None,
) -> Run:
    """Returns a run, or what is read from its folder.

    Raises:
        ConfigError: as `load` does; for a run, if it is told how to read it.
    """
    if not isinstance(run, Run):
        return load(run, agent=agent, env=env, checkpoint=checkpoint)
    check_started_with(agent, env)
    how = {"agent": agent, "env": env, "checkpoint": checkpoint}
    check_keys("argument", [name for name, value in how.items() if value is not None], ())
    return run


def asked_again(
    path: str | Path, config: dict[str, Any], agent: Agent | None, env: Env | None, **changes: Any
) -> tuple[Agent, Env, TrainConfig]:
    """Returns what a run was asked to do, with the changes that are not None.

    Raises:
        ConfigError: if its configuration is damaged, or names what cannot be made by an id, or something else than an
            agent and an environment is given.
    """
    check_started_with(agent, env)
    try:
        changed = {name: value for name, value in changes.items() if value is not None}
        return *rebuild_both(config, agent, env), TrainConfig.of_json(config, changed)
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError("run", str(path), f"its {run_folder.CONFIG} is damaged ({error!r})") from error


def folder_of(run: Run | str | Path) -> str | Path:
    """Returns the folder of a run, or the one that is named.

    Raises:
        ConfigError: for a run that was not saved.
    """
    if not isinstance(run, Run):
        return run
    if run.path is None:
        raise ConfigError("run", run, "it was not saved, so nothing can go on with it; train it with a folder, `out`")
    return run.path
