"""Refusals of runs that cannot be compared: by what they were asked to do, before their numbers are read, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError
from ..core.record import RunRecord
from ..core.sweep_names import of_env
from .chosen_points import chosen_points, values_by_name
from .compared_points import Defaults, env_key, env_words, no_defaults, point_label
from .style import SERIES

MOST = len(SERIES["light"])
"""Entrants on one environment that have a colour of their own."""


@dataclass(frozen=True)
class RunHeader:
    """The part of a run that is known before its numbers are read.

    Attributes:
        config, points, path: as of its record.
    """

    config: Mapping[str, Any]
    points: tuple[Mapping[str, float], ...]
    path: Path | None


def names_by_agent(runs: Sequence[RunHeader | RunRecord]) -> list[str]:
    """Returns a name for each run: the id of its agent; of those of the same one their folder, if they were saved."""
    ids = [run.config["agent"]["id"] for run in runs]
    return [id if ids.count(id) == 1 or run.path is None else run.path.name for run, id in zip(runs, ids, strict=True)]


def check_asked(
    named: Mapping[str, Sequence[RunHeader | RunRecord]],
    where: Mapping[str, Any] | None = None,
    defaults: Defaults = no_defaults,
) -> None:
    """Refuses runs that cannot be compared, whatever their numbers are: before these are read.

    Each has at least one sweep point on its environment, unless its sweep is of the environment's numbers: of that only
    all of it tells. No sweep point is left out that `compare_records` keeps.

    Args:
        named, where, defaults: as of `compare_records`.

    Raises:
        ConfigError: as `compare_records` does.
    """
    _check_room([run for runs in named.values() for run in runs], defaults)
    chosen = chosen_values(named, where)
    groups: dict[str, list[tuple[str, RunHeader | RunRecord, Mapping[str, float]]]] = {}
    for name, runs in named.items():
        seen: set[str] = set()
        for run in runs:
            if run.config.get("eval_episodes") == 0:
                raise not_evaluated(name)
            env = run.config["env"]
            for point in (run.points[i] for i in chosen_points(name, run.points, chosen)):
                key = env_key(env, point, defaults)
                if key in seen and not of_env(point):
                    raise two_runs(name, env_words(env, point))
                groups.setdefault(key, []).append((name, run, point))
            if not of_env(run.points[0]):
                seen.add(env_key(env, {}, defaults))
    if all(len(group) == 1 for group in groups.values()):
        alone = [group[0] for group in groups.values()]
        envs = [env_words(run.config["env"], point) for _, run, point in alone]
        labels = [[point_label(name, point, run.points)] for name, run, point in alone]
        _check_pairs(list(zip(envs, labels, strict=True)))


def _check_room(runs: Sequence[RunHeader | RunRecord], defaults: Defaults) -> None:
    """Refuses more runs on one environment than are compared."""
    envs: dict[str, list[str]] = {}
    for run in runs:
        if not of_env(run.points[0]):
            env = run.config["env"]
            envs.setdefault(env_key(env, {}, defaults), []).append(env_words(env, {}))
    for words in envs.values():
        _check_most(words[0], len(words), "runs")


def chosen_values(
    named: Mapping[str, Sequence[RunHeader | RunRecord]], where: Mapping[str, Any] | None
) -> dict[str, Sequence[float]]:
    """Returns the values to keep of each swept number."""
    swept = {name: [run.points for run in runs] for name, runs in named.items()}
    return values_by_name({} if where is None else where, swept)


def two_runs(name: str, env: str) -> ConfigError:
    """Returns what refuses a name that has two runs on one environment."""
    return ConfigError("compare", name, f"it has two runs on {env}; give each a name of its own")


def not_evaluated(name: str) -> ConfigError:
    """Returns what refuses a run without an evaluation."""
    return ConfigError("compare", name, "it was not evaluated; train with eval_episodes, or let it come to its end")


def check_counts(groups: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuses (environment, names) of which one has too many names, or none has two."""
    for env, names in groups:
        _check_most(env, len(names), "runs or sweep points")
    _check_pairs(groups)


def _check_pairs(groups: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuses (environment, names) of which none has two names."""
    if all(len(names) < 2 for _, names in groups):
        told = [f"{names[0]} is on {env}" for env, names in groups[:MOST]]
        others = f", and {len(groups) - MOST} more" if len(groups) > MOST else ""
        each = f": {', '.join(told)}{others}" if told else ""
        places = f" on each of {len(groups)} environments" if len(groups) > 1 else ""
        fix = f"give at least two runs on the same environment{each}"
        raise ConfigError("compare", f"1 run{places}" if groups else ..., fix)


def _check_most(env: str, count: int, what: str) -> None:
    if count > MOST:
        most = f"on {env} at most {MOST} are compared, and a sweep counts once for each of its sweep points"
        fix = f"{most}: leave runs out, or choose sweep points by `where` (--where)"
        raise ConfigError("compare", f"{count} {what}", fix)
