"""`kousoku bench defaults`: what PPO learns by its defaults in small tasks that are unlike the library's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

import kousoku as ks
from kousoku.training.io import provenance

from .own_tasks import TASKS
from .own_tasks.task import Task, returns_of
from .table import Section, TableColumn, TableRow, machine, markdown, save

LOWEST, MEDIAN = TableColumn("lowest", "lowest"), TableColumn("median", "median")
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "rate 3e-4": {"learning_rate": 3e-4},
    "lambda 0.95": {"gae_lambda": 0.95},
    "lambda 0.98": {"gae_lambda": 0.98},
    "actions in their own unit": {"normalise_actions": False},
    "rewards not centred": {"centre_rewards": False},
    "rewards as they are": {"normalise_rewards": False, "centre_rewards": False},
}
"""The defaults, and what else they could be."""
ABOUT = (
    "Greedy returns after {steps:,} steps, {seeds} seeds: 0 is what random actions earn, 1 what a policy by hand does "
    "({expert:,.6g} and {random:,.6g})."
)


@dataclass(frozen=True)
class DefaultsBudget:
    """The steps and seeds that are trained; tests take less.

    Attributes:
        steps: of each agent.
        seeds: agents of each row.
        episodes: by which each is judged.
    """

    steps: int = 300_000
    seeds: int = 16
    episodes: int = 64


def bench(out: Path, budget: DefaultsBudget, only: str | None = None, say: Callable[[str], None] = print) -> None:
    """Trains every task with every setting, prints the tables and saves them as defaults.md and defaults.json."""
    sections = [section(name, budget) for name in TASKS if only in (None, name)]
    device, versions = provenance.device(), provenance.versions()
    text = markdown("PPO's defaults", machine(device, versions), sections)
    say(text)
    say(f"saved: {save(out, 'defaults', text, sections, {'device': device, 'versions': versions})}")


def section(name: str, budget: DefaultsBudget, settings: Mapping[str, dict[str, Any]] = SETTINGS) -> Section:
    """Trains one task with every setting."""
    task = TASKS[name]
    expert, random = earned(task, 8 * budget.episodes)
    about = ABOUT.format(steps=budget.steps, seeds=budget.seeds, expert=expert, random=random)
    rows = []
    for label, options in settings.items():
        scores = (learned(task, options, budget) - random) / (expert - random)
        rows.append(TableRow(label, {LOWEST.key: float(scores.min()), MEDIAN.key: float(np.median(scores))}))
    return Section(name[0].upper() + name[1:], about, (LOWEST, MEDIAN), rows)


def earned(task: Task, episodes: int) -> tuple[float, float]:
    """Returns the mean returns of the policy by hand and of random actions."""
    by_hand = returns_of(task, lambda obs, key: task.expert(obs), episodes)
    at_random = returns_of(task, lambda obs, key: task.action_space.sample(key), episodes)
    return float(by_hand.mean()), float(at_random.mean())


def learned(task: Task, options: Mapping[str, Any], budget: DefaultsBudget) -> Float[np.ndarray, " seeds"]:
    """Trains PPO; returns each seed's mean greedy return."""
    agent = ks.make_agent("ppo", **options)
    run = ks.train(agent, task, steps=budget.steps, seeds=budget.seeds, eval_episodes=0, out="", progress=False)
    return np.asarray(run.evaluate(budget.episodes, seed=1).returns.mean(axis=1))
