"""`kousoku bench host`: what Kousoku adds to environments on the host, beside their own time and Stable-Baselines3."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kousoku.core.host import HostEnv
from kousoku.envs import make
from kousoku.training.config import TrainConfig
from kousoku.training.io import provenance
from kousoku.training.loop.host_envs import HostEnvLoop
from kousoku.training.make_population import make_population
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.point_envs import point_envs

from . import ppo_ours, ppo_peers
from .peers import installed
from .ppo_settings import PPOSettings
from .table import ENVIRONMENTS, SPEED, Section, TableColumn, TableRow, attempt, machine, markdown, save, speed

TITLE = "Environments on the host"
ABOUT = (
    "Environments in this process, one after the other. *Alone*: they are stepped with actions that were drawn before, "
    "and reset where an episode ends. *Acting*: the same with PPO's networks (two of 64, 64) choosing actions, as "
    "training does it, without learning; beside it the microseconds that a step of all takes longer. *PPO*: training, "
    "with an update after each rollout."
)
COLUMNS = (ENVIRONMENTS, SPEED, TableColumn("added", "added to a step of all, us", ",.0f"))
NAMES = ("gymnasium", "box2d", "stable_baselines3", "torch")
ALONE = "alone"


@dataclass(frozen=True)
class HostBudget:
    """The settings of the measurements.

    Attributes:
        ids: Gymnasium's.
        counts: environments at once.
        num_steps: T of a rollout.
        rollouts: how many are timed; the fastest counts.
        seconds: of each training.
    """

    ids: tuple[str, ...] = ("CartPole-v1", "LunarLander-v3")
    counts: tuple[int, ...] = (8, 64)
    num_steps: int = 128
    rollouts: int = 10
    seconds: float = 10.0

    def settings(self, count: int) -> PPOSettings:
        """Returns the numbers of PPO."""
        return PPOSettings(count, self.num_steps, 4, 4, 3e-4, 10**9, normalise=False)


def bench(out: Path, budget: HostBudget, say: Callable[[str], None] = print) -> list[Section]:
    """Measures everything, prints the tables and saves them as host.md and .json."""
    sections = [section(id, budget) for id in budget.ids]
    facts = {"device": provenance.device(), "versions": provenance.versions() | installed(NAMES)}
    text = markdown(TITLE, machine(facts["device"], facts["versions"]), sections)
    say(text)
    say(f"saved: {save(out, 'host', text, sections, facts)}")
    return sections


def section(id: str, budget: HostBudget) -> Section:
    """Measures one environment."""
    rows: list[TableRow] = []
    for count in budget.counts:
        rows.append(attempt(ALONE, count, partial(_alone, id, count, budget)))
        alone = rows[-1].figures.get("steps_per_second")
        if alone is None:  # the environment cannot be made here
            continue
        rows.append(attempt("Kousoku, acting", count, partial(_acting, id, count, budget, alone)))
        rows.append(attempt("Kousoku, PPO", count, partial(_ours, id, count, budget)))
        rows.append(attempt("Stable-Baselines3, PPO", count, partial(_stable_baselines, id, count, budget)))
    return Section(id, ABOUT, COLUMNS, rows, ALONE)


def _alone(id: str, count: int, budget: HostBudget) -> TableRow:
    """Measures the environments, without anything of ours around them."""
    gymnasium = importlib.import_module("gymnasium")
    envs = [gymnasium.make(id, disable_env_checker=True) for _ in range(count)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
        env.action_space.seed(seed)
    actions = [[env.action_space.sample() for env in envs] for _ in range(budget.num_steps)]

    def rollout() -> None:
        for now in actions:
            for env, action in zip(envs, now, strict=True):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()

    return speed(ALONE, count, count * budget.num_steps / _fastest(rollout, budget.rollouts))


def _acting(id: str, count: int, budget: HostBudget, alone: float) -> TableRow:
    """Measures steps whose actions PPO chooses: nearly at random, as it has not learned, so episodes are as long."""
    env = make(f"gymnasium:{id}")
    assert isinstance(env, HostEnv)
    agent, config = budget.settings(count).agent().for_env(env.spec), TrainConfig(steps=10**9, out="")
    population = make_population(agent, point_envs(env, {}, config), config)
    loop = HostEnvLoop(population, Recording())
    slots, state = loop.begin(loop.start(), 0)
    numbers = iter(range(budget.rollouts + 1))
    taken = _fastest(lambda: loop.collect(slots, state, next(numbers)), budget.rollouts)
    slots.close()
    made = count * budget.num_steps / taken
    return speed("Kousoku, acting", count, made, added=1e6 * count * (1 / made - 1 / alone))


def _fastest(rollout: Callable[[], Any], times: int) -> float:
    """Returns the seconds of the fastest of some rollouts, after one that does not count."""
    rollout()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        rollout()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def _ours(id: str, count: int, budget: HostBudget) -> TableRow:
    settings = budget.settings(count)
    warm, least = 2 * settings.rollout, 4 * settings.rollout
    figures = ppo_ours.rate(settings.agent(), f"gymnasium:{id}", 1, False, budget.seconds, warm, least, settings.steps)
    return speed("Kousoku, PPO", count, figures["steps_per_second"])


def _stable_baselines(id: str, count: int, budget: HostBudget) -> TableRow:
    figures = ppo_peers.stable_baselines("stable_baselines3", id, budget.settings(count).as_dict(), 0, budget.seconds)
    return speed("Stable-Baselines3, PPO", count, figures["steps_per_second"] or 0.0)
