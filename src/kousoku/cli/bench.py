"""`kousoku bench NAME`: measure the speed on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..core.errors import ConfigError, check_choice
from .options import Option, count, parse

BENCHMARKS = (
    "tabular",
    "kernel",
    "balls",
    "minatar",
    "physics",
    "learning",
    "ppo",
    "evolution",
    "off-policy",
    "host",
    "vector",
    "interop",
)
IN_PARTS = ("physics", "learning", "ppo", "evolution", "off-policy", "vector", "interop")
"""Benchmarks of which a part may be asked for."""
ABSENT = (
    "they come with the source: git clone its repository, pip install -e '.[bench]' in there, then kousoku bench NAME"
)
OPTIONS = (
    Option("name", None, "NAME", f"one of {', '.join(BENCHMARKS)}", positional=True),
    Option("out", "benchmarks", "FOLDER", "where the table is saved, and what else there is"),
    Option("repeats", 5, "NUMBER", "repeats of each measurement; the median counts"),
    Option(
        "only",
        None,
        "PART",
        "steps, ready, robots, exactness (physics); environment (learning, ppo, evolution, vector); start (ppo); "
        "64-64 or 256-256 (off-policy); library (interop)",
    ),
    Option("seeds", 5, "NUMBER", "agents that are trained, one after the other (learning)"),
    Option("jym", None, "FOLDER", "a folder with the source of jym, to measure beside (tabular)"),
    Option("purejaxrl", None, "FOLDER", "a folder with the source of PureJaxRL, to measure beside (ppo)"),
)


def run(words: Sequence[str]) -> int:
    """Measures, prints and saves.

    Raises:
        ConfigError: for a word that no benchmark has; and in an installation without the benchmarks.
    """
    if importlib.util.find_spec("kousoku_bench") is None:
        raise ConfigError("benchmarks", ..., ABSENT)
    given = parse("bench", "Measure the speed on this machine and save a table.", OPTIONS, words)
    if "name" not in given:
        raise ConfigError("benchmark", ..., f"name one of {', '.join(BENCHMARKS)}")
    check_choice("benchmark", given["name"], BENCHMARKS)
    repeats = count("--repeats", str(given.get("repeats", 5)))
    out, jym, only = Path(str(given.get("out", "benchmarks"))), given.get("jym"), given.get("only")
    if given["name"] != "tabular" and jym is not None:
        raise ConfigError("--jym", jym, "it belongs to the benchmark tabular")
    if given["name"] != "ppo" and "purejaxrl" in given:
        raise ConfigError("--purejaxrl", given["purejaxrl"], "it belongs to the benchmark ppo")
    if given["name"] not in IN_PARTS and only is not None:
        raise ConfigError("--only", only, f"it belongs to the benchmarks {', '.join(IN_PARTS)}")
    if given["name"] == "ppo":
        return _ppo(out, given)
    if given["name"] == "evolution":
        return _evolution(out, given)
    if given["name"] == "off-policy":
        return _off_policy(out, given)
    if given["name"] == "host":
        return _host(out)
    if given["name"] == "vector":
        return _vector(out, given, repeats)
    if given["name"] == "interop":
        return _interop(out, given, repeats)
    from ..training.devices import use_all_cores

    use_all_cores()
    if given["name"] == "learning":
        return _learning(out, given)
    from kousoku_bench import balls, kernel, minatar, physics, tabular
    from kousoku_bench.budget import Budget

    if only is not None:
        check_choice("--only", only, tuple(physics.PARTS))
    if given["name"] == "kernel":
        kernel.bench(out, Budget(repeats=repeats))
    elif given["name"] == "balls":
        balls.bench(out, Budget(repeats=repeats))
    elif given["name"] == "minatar":
        minatar.bench(out, Budget(repeats=repeats))
    elif given["name"] == "physics":
        physics.bench(out, Budget(repeats=repeats), tuple(physics.PARTS) if only is None else [str(only)])
    else:
        tabular.bench(out, repeats, None if jym is None else str(jym))
    return 0


def _host(out: Path) -> int:
    """Measures environments on the host."""
    from kousoku_bench import host

    host.bench(out, host.HostBudget())
    return 0


def _learning(out: Path, given: Mapping[str, str | bool]) -> int:
    """Trains the presets."""
    from kousoku_bench import learning

    from ..training.presets import presets

    only = given.get("only")
    if only is not None:
        check_choice("--only", only, sorted({env for _, env in presets()}))
    seeds = count("--seeds", str(given.get("seeds", 5)))
    learning.bench(out, seeds, None if only is None else str(only))
    return 0


def _ppo(out: Path, given: Mapping[str, str | bool]) -> int:
    """Times PPO from end to end."""
    from kousoku_bench import ppo

    only, folder = given.get("only"), given.get("purejaxrl")
    if only is not None:
        check_choice("--only", only, ppo.PARTS)
    budget = ppo.PPOBudget(purejaxrl=None if folder is None else str(folder))
    ppo.bench(out, budget, None if only is None else str(only))
    return 0


def _evolution(out: Path, given: Mapping[str, str | bool]) -> int:
    """Trains evolution strategies for a given time."""
    from kousoku_bench import evolution

    only = given.get("only")
    if only is not None:
        check_choice("--only", only, evolution.PARTS)
    evolution.bench(out, evolution.EvolutionBudget(), None if only is None else str(only))
    return 0


def _off_policy(out: Path, given: Mapping[str, str | bool]) -> int:
    """Times SAC from end to end."""
    from kousoku_bench import off_policy

    only = given.get("only")
    if only is not None:
        check_choice("--only", only, off_policy.PARTS)
    off_policy.bench(out, off_policy.OffPolicyBudget(), None if only is None else str(only))
    return 0


def _vector(out: Path, given: Mapping[str, str | bool], repeats: int) -> int:
    """Times vector environments that are stepped from NumPy."""
    from kousoku_bench import vector

    only = given.get("only")
    if only is not None:
        check_choice("--only", only, vector.PARTS)
    vector.bench(out, vector.VectorBudget(repeats=repeats), None if only is None else str(only))
    return 0


def _interop(out: Path, given: Mapping[str, str | bool], repeats: int) -> int:
    """Times other JAX libraries' environments."""
    from kousoku_bench import interop

    only = given.get("only")
    if only is not None:
        check_choice("--only", only, tuple(interop.IDS))
    interop.bench(out, interop.InteropBudget(repeats=repeats), None if only is None else str(only))
    return 0
