"""`kousoku bench evolution`: how fast evolution strategies train, and what they reach in the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kousoku.agents.evolution.ars import ARS
from kousoku.core.errors import ConfigError
from kousoku.training.presets import preset

from .contender import Contender, measure_parts, not_installed
from .table import COMPILE, SPEED, Section, TableColumn, TableRow

TITLE = "Evolution: steps and returns of the same time"
ABOUT = (
    "Each contender runs in a process of its own, on all cores, and trains one agent for about {seconds}, or for one "
    "generation where that takes longer, once everything is compiled; compile time is apart, and without a cache. Then "
    "its mean policy plays {episodes} greedy episodes. Steps are those of all environments in all of that time."
)
CARTPOLE = "CartPole-v1"
ROBOTS = ("HalfCheetah-v5", "Hopper-v5")
PARTS = (CARTPOLE, *ROBOTS)
SHARED: dict[str, Any] = {"strategy": "Open_ES", "population_size": 64, "hidden": (16,)}
ON_CARTPOLE = (
    "ARS has our preset. evosax's {strategy} has its default settings, {population_size} candidates a generation and a "
    "policy with {hidden[0]} hidden units, in our loop (`kousoku train evosax`) and in evosax's own, on gymnax's "
    "environment; that plays 500 steps for each candidate, and counts no reward of those after the first end."
)
ON_ROBOTS = (
    "ARS and PPO have our presets, with their schedules over the steps of that time. SB3-contrib's ARS has the numbers "
    "that ours begins with, and Gymnasium's environments in a process for each core."
)
ON_BRAX = (
    " evosax's own loop trains its {strategy} on Brax's robot of that name, which is another one: positional physics, "
    "other rewards."
)
COLUMNS = (
    SPEED,
    TableColumn("return", "greedy return", ",.0f"),
    TableColumn("steps", "steps", ",d"),
    TableColumn("seconds", "trained, s", ",.1f"),
    COMPILE,
)
NAMES = ("gymnasium", "gymnax", "mujoco", "sb3-contrib", "torch", "evosax", "brax", "flax")
BRAX_NAMES = {"HalfCheetah-v5": "halfcheetah"}
"""Robots that Brax is asked for; compiling each takes it minutes."""
OURS = "kousoku ars"


@dataclass(frozen=True)
class EvolutionBudget:
    """The time that the benchmark takes.

    Attributes:
        seconds: of training, by environment.
        episodes: of an evaluation.
        limit: seconds after which a contender's process is stopped, compiling and all.
    """

    seconds: Mapping[str, float] = field(default_factory=lambda: {CARTPOLE: 0.5, **dict.fromkeys(ROBOTS, 5.0)})
    episodes: int = 64
    limit: float = 150.0


def bench(
    out: Path, budget: EvolutionBudget, only: str | None = None, say: Callable[[str], None] = print
) -> list[Section]:
    """Measures all, or one of `PARTS`, and saves evolution.md and .json (or evolution_PART) after each contender."""
    name = "evolution" if only is None else f"evolution_{only}"
    parts = ((_section(part, budget), contenders(part, budget)) for part in (PARTS if only is None else (only,)))
    return measure_parts(out, name, TITLE, "", parts, budget.limit, NAMES, _line, say)


def _line(section: Section, row: TableRow) -> str:
    who, told = f"{section.title}, {row.name}", row.figures
    if "return" not in told:
        return f"{who}: {row.note}"
    return f"{who}: {told['steps_per_second']:,.0f} steps/s, return {told['return']:,.0f}"


def _section(part: str, budget: EvolutionBudget) -> Section:
    """Returns the table of an environment, without rows."""
    about = ABOUT.format(seconds=f"{budget.seconds[part]:g} s", episodes=budget.episodes)
    about += " " + (ON_CARTPOLE if part == CARTPOLE else ON_ROBOTS).format(**SHARED)
    if part in BRAX_NAMES:
        about += ON_BRAX.format(**SHARED)
    return Section(part, about, COLUMNS, [], OURS)


def contenders(env: str, budget: EvolutionBudget) -> list[Contender]:
    """Returns who trains on an environment.

    Raises:
        ConfigError: for one that is none of `PARTS`.
    """
    if env not in PARTS:
        raise ConfigError("environment", env, f"use one of {', '.join(PARTS)}")
    last = budget.seconds[env], budget.episodes
    ars = _ours("ars", preset("ars", env).options, env, last)
    if env == CARTPOLE:
        in_gymnax = (SHARED["strategy"], SHARED["population_size"], SHARED["hidden"], "gymnax", env, *last)
        return [
            ars,
            _ours("evosax", SHARED, env, last, ("evosax",)),
            _evosax(in_gymnax, "gymnax", "its own loop"),
        ]
    sb3 = env, of_sb3(env), os.cpu_count() or 1, *last
    in_brax = SHARED["strategy"], SHARED["population_size"], (), "brax"
    missing = not_installed(("sb3_contrib",))
    return [
        ars,
        _ours("ppo", preset("ppo", env).options, env, last),
        Contender("SB3-contrib ARS", "evolution_peers", "sb3_contrib", sb3, note="AsyncEval", missing=missing),
        *(
            _evosax((*in_brax, name, *last), "brax", "its own loop; another robot")
            for id, name in BRAX_NAMES.items()
            if id == env
        ),
    ]


def of_sb3(env: str) -> dict[str, float | int]:
    """Returns our preset in the words of SB3-contrib's ARS, with what schedules begin with.

    Examples:
        >>> of_sb3("HalfCheetah-v5")["n_delta"]
        16
    """
    options = preset("ars", env).options
    words = {
        "num_directions": "n_delta", "top_directions": "n_top", "learning_rate": "learning_rate",
        "noise_std": "delta_std", "alive_bonus_offset": "alive_bonus_offset",
    }  # fmt: skip
    given = {name: options.get(name, getattr(ARS(), name)) for name in words}
    return {words[name]: _start(value) for name, value in given.items() if value is not None}


def _start(value: Any) -> float | int:
    """Returns a number, or what a schedule "linear:START:END:STEPS" begins with."""
    return float(value.split(":")[1]) if isinstance(value, str) else value


def _ours(
    agent: str, options: Mapping[str, Any], env: str, last: tuple[float, int], needs: tuple[str, ...] = ()
) -> Contender:
    said = f"{options['strategy']}, the same as evosax's own loop" if "strategy" in options else "our preset"
    arguments = agent, dict(options), env, *last
    missing = not_installed(needs)
    return Contender(f"kousoku {agent}", "evolution_ours", "measure", arguments, note=said, missing=missing)


def _evosax(arguments: tuple[Any, ...], library: str, note: str) -> Contender:
    missing = not_installed(("evosax", library))
    return Contender(f"evosax on {library}", "evolution_peers", "evosax", arguments, note=note, missing=missing)
