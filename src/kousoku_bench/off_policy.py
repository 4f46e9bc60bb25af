"""`kousoku bench off-policy`: gradient steps a second of SAC, beside other libraries' with the same settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kousoku.core.errors import ConfigError

from .contender import Contender, measure_parts, not_installed
from .off_policy_settings import ENV, SIZES, SACSettings
from .peak import core_gflops
from .peers import installed
from .table import COMPILE, Section, TableColumn, TableRow

TITLE = "Off-policy: SAC from end to end"
ABOUT = (
    "Gradient steps in a second of training on {env}: acting, stepping, sampling, and updates of actor, critics and "
    "temperature. Actor and two critics have two hidden layers of {hidden} rectified units each; minibatches of "
    "{batch} from a buffer of a million; gradient steps for each environment step: {ratio}. Each contender runs in a "
    "process of its own for about {seconds:g} s, once everything is compiled and {learning_starts:,} steps are taken; "
    "compile time is apart, and without a cache. GFLOP/s count the products of matrices alone; a core's most, in "
    "chains of multiply-adds that touch no memory, are {peak:,.0f}. Updates by XLA are our gradient steps as a program "
    "of XLA's, and all else is the same. SB3, sbx and RLtools step one of Gymnasium's environments; the machine's "
    "C++ compiler builds RLtools."
)
UPDATES = TableColumn("updates_per_second", "updates/s", ",.0f")
COLUMNS = (
    UPDATES,
    TableColumn("gflops", "GFLOP/s", ",.1f"),
    TableColumn("steps_per_second", "steps/s", ",.0f"),
    TableColumn("environments", "environments", ",d"),
    COMPILE,
    TableColumn("seconds", "measured, s", ",.1f"),
)
PARTS = tuple(SIZES)
BY_XLA = "updates by XLA"
LIBRARIES = {"SB3": "stable_baselines3", "sbx": "sbx"}
MKL = ("mkl", "mkl-include")
NAMES = ("gymnasium", "mujoco", "stable-baselines3", "torch", "sbx-rl", "flax", "rltools", "mkl")


@dataclass(frozen=True)
class OffPolicyBudget:
    """The time that the benchmark takes.

    Attributes:
        seconds: of training, of each contender.
        limit: seconds after which a contender's process is stopped, compiling and all.
    """

    seconds: float = 20.0
    limit: float = 300.0


def bench(
    out: Path, budget: OffPolicyBudget, only: str | None = None, say: Callable[[str], None] = print
) -> list[Section]:
    """Measures all, or one of `PARTS`, and saves off_policy.md and .json (or off_policy_PART) after each contender."""
    name = "off_policy" if only is None else f"off_policy_{only}"
    peak = core_gflops()
    parts = ((_section(part, budget, peak), contenders(part, budget)) for part in (PARTS if only is None else (only,)))
    return measure_parts(out, name, TITLE, "", parts, budget.limit, NAMES, _line, say)


def _section(part: str, budget: OffPolicyBudget, peak: float) -> Section:
    """Returns the table of a size of networks, without rows; `peak` is a core's most GFLOP/s."""
    settings = SIZES[part]
    hidden = " and ".join(map(str, dict.fromkeys(settings.hidden)))
    about = ABOUT.format(
        env=ENV, hidden=hidden, batch=settings.batch_size, ratio=settings.update_ratio, seconds=budget.seconds,
        learning_starts=settings.learning_starts, peak=peak,
    )  # fmt: skip
    return Section(part, about, COLUMNS, [], "SB3")


def _line(section: Section, row: TableRow) -> str:
    if UPDATES.key not in row.figures:
        return f"{section.title}, {row.name}: {row.note}"
    return f"{section.title}, {row.name}: {row.figures[UPDATES.key]:,.0f} updates/s"


def contenders(part: str, budget: OffPolicyBudget) -> list[Contender]:
    """Returns who trains with networks of a size.

    Raises:
        ConfigError: for one that is none of `PARTS`.
    """
    if part not in PARTS:
        raise ConfigError("part", part, f"use one of {', '.join(PARTS)}")
    settings = SIZES[part]
    ours = [
        Contender(
            f"kousoku, {BY_XLA}" if by_xla else "kousoku",
            "off_policy_ours",
            "measure",
            (settings.as_dict(), spread, budget.seconds, by_xla),
            {"agents": 1, "environments": settings.num_envs},
            "every core a device" if spread else "one device",
        )
        for by_xla in (False, True)
        for spread in ((True, False) if settings.num_envs > 1 else (False,))
    ]
    return [*ours, *(_stable(name, settings, budget) for name in LIBRARIES), _rltools(settings, budget)]


def _stable(name: str, settings: SACSettings, budget: OffPolicyBudget) -> Contender:
    library = LIBRARIES[name]
    arguments = library, settings.as_dict(), budget.seconds
    known, missing = {"agents": 1, "environments": 1}, not_installed((library,))
    return Contender(name, "off_policy_peers", "stable_baselines", arguments, known, missing=missing)


def _rltools(settings: SACSettings, budget: OffPolicyBudget) -> Contender:
    known, missing = {"agents": 1, "environments": 1}, not_installed(("rltools",))
    without = f"without MKL, which x86-64 has: pip install {' '.join(MKL)}"
    note = "MKL, one thread" if len(installed(MKL)) == len(MKL) else without
    arguments = settings.as_dict(), budget.seconds
    return Contender("RLtools", "off_policy_peers", "rltools", arguments, known, note, missing)
