"""`kousoku bench NAME`: measure the speed on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..core.errors import ConfigError, check_choice
from .options import Option, parse
from .values import count

IN_PARTS = ("physics", "learning", "defaults", "ppo", "evolution", "off-policy", "vector", "interop", "offline")
"""Benchmarks of which a part may be asked for."""
ABSENT = (
    "they come with the source: git clone its repository, pip install -e '.[bench]' in there, then kousoku bench NAME"
)


class Asked(NamedTuple):
    """Request for a benchmark.

    Attributes:
        given: the options.
        out: the folder of its table.
        repeats: of each measurement.
    """

    given: Mapping[str, str | bool]
    out: Path
    repeats: int

    def text(self, name: str) -> str | None:
        """Returns an option's value; None where it is not given."""
        return str(self.given[name]) if name in self.given else None

    def part(self, parts: Iterable[str]) -> str | None:
        """Returns the part that is asked for; None for all.

        Raises:
            ConfigError: for none of them.
        """
        if "only" in self.given:
            check_choice("--only", self.given["only"], tuple(parts))
        return self.text("only")


def _tabular(asked: Asked) -> None:
    from kousoku_bench import tabular

    tabular.bench(asked.out, asked.repeats, asked.text("jym"))


def _kernel(asked: Asked) -> None:
    from kousoku_bench import kernel
    from kousoku_bench.budget import Budget

    kernel.bench(asked.out, Budget(repeats=asked.repeats))


def _balls(asked: Asked) -> None:
    from kousoku_bench import balls
    from kousoku_bench.budget import Budget

    balls.bench(asked.out, Budget(repeats=asked.repeats))


def _minatar(asked: Asked) -> None:
    from kousoku_bench import minatar
    from kousoku_bench.budget import Budget

    minatar.bench(asked.out, Budget(repeats=asked.repeats))


def _physics(asked: Asked) -> None:
    from kousoku_bench import physics
    from kousoku_bench.budget import Budget

    part = asked.part(physics.PARTS)
    physics.bench(asked.out, Budget(repeats=asked.repeats), tuple(physics.PARTS) if part is None else [part])


def _learning(asked: Asked) -> None:
    from kousoku_bench import learning

    from ..training.presets import presets

    part = asked.part(sorted({name for pair in presets() for name in (pair[1], " ".join(pair))}))
    learning.bench(asked.out, count("--seeds", str(asked.given.get("seeds", 5))), part)


def _defaults(asked: Asked) -> None:
    from kousoku_bench import defaults

    defaults.bench(asked.out, defaults.DefaultsBudget(), asked.part(defaults.TASKS))


def _ppo(asked: Asked) -> None:
    from kousoku_bench import ppo

    ppo.bench(asked.out, ppo.PPOBudget(purejaxrl=asked.text("purejaxrl")), asked.part(ppo.PARTS))


def _evolution(asked: Asked) -> None:
    from kousoku_bench import evolution

    evolution.bench(asked.out, evolution.EvolutionBudget(), asked.part(evolution.PARTS))


def _off_policy(asked: Asked) -> None:
    from kousoku_bench import off_policy

    off_policy.bench(asked.out, off_policy.OffPolicyBudget(), asked.part(off_policy.PARTS))


def _offline(asked: Asked) -> None:
    from kousoku_bench import offline

    budget = offline.OfflineBudget(seeds=count("--seeds", str(asked.given.get("seeds", 10))))
    offline.bench(asked.out, budget, asked.part(offline.HALF_TRAINED))


def _host(asked: Asked) -> None:
    from kousoku_bench import host

    host.bench(asked.out, host.HostBudget())


def _vector(asked: Asked) -> None:
    from kousoku_bench import vector

    vector.bench(asked.out, vector.VectorBudget(repeats=asked.repeats), asked.part(vector.PARTS))


def _interop(asked: Asked) -> None:
    from kousoku_bench import interop

    interop.bench(asked.out, interop.InteropBudget(repeats=asked.repeats), asked.part(interop.IDS))


BENCHMARKS: dict[str, Callable[[Asked], None]] = {
    "tabular": _tabular,
    "kernel": _kernel,
    "balls": _balls,
    "minatar": _minatar,
    "physics": _physics,
    "learning": _learning,
    "defaults": _defaults,
    "ppo": _ppo,
    "evolution": _evolution,
    "off-policy": _off_policy,
    "host": _host,
    "vector": _vector,
    "interop": _interop,
    "offline": _offline,
}
ON_ALL_CORES = ("tabular", "kernel", "balls", "minatar", "physics", "learning", "defaults", "offline")
"""Benchmarks that measure in this process; the others start one for each contender."""
OPTIONS = (
    Option("name", None, "NAME", f"one of {', '.join(BENCHMARKS)}", positional=True),
    Option("out", "benchmarks", "FOLDER", "folder of the table, and of all else that is saved"),
    Option("repeats", 5, "NUMBER", "repeats of each measurement; the median counts"),
    Option(
        "only",
        None,
        "PART",
        "part of the benchmark: steps, ready, robots, exactness (physics); environment (learning, ppo, evolution, "
        "offline, vector), or 'AGENT ENV' (learning); task (defaults); start (ppo); sb3 (vector); 64-64, 256-256 or "
        "one-environment (off-policy); library (interop)",
    ),
    Option(
        "seeds", None, "NUMBER", "agents that are trained: one after the other (learning: 5), at once (offline: 10)"
    ),
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
    check_choice("benchmark", given["name"], tuple(BENCHMARKS))
    repeats = count("--repeats", str(given.get("repeats", 5)))
    if given["name"] != "tabular" and "jym" in given:
        raise ConfigError("--jym", given["jym"], "it belongs to the benchmark tabular")
    if given["name"] != "ppo" and "purejaxrl" in given:
        raise ConfigError("--purejaxrl", given["purejaxrl"], "it belongs to the benchmark ppo")
    if given["name"] not in IN_PARTS and "only" in given:
        raise ConfigError("--only", given["only"], f"it belongs to the benchmarks {', '.join(IN_PARTS)}")
    if given["name"] in ON_ALL_CORES:
        from ..training.devices import use_all_cores

        use_all_cores()
    BENCHMARKS[str(given["name"])](Asked(given, Path(str(given.get("out", "benchmarks"))), repeats))
    return 0
