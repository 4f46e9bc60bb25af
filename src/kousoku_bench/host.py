"""`kousoku bench host`: what Kousoku adds to environments on the host, beside their own time and Stable-Baselines3."""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from kousoku.collectors.host_slots import HostSlots
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
    "and reset where an episode ends. *Slots*: the same by what training steps them with, which tells returns, lengths "
    "and true successors. *Acting*: the same again with PPO's networks (two of 64, 64) choosing actions, as training "
    "does it, without learning. Beside both stands what a step of all takes longer than alone, in microseconds and in "
    "parts of the environments' own time. *PPO*: training, with an update after each rollout."
)
COLUMNS = (
    ENVIRONMENTS,
    SPEED,
    TableColumn("added", "added to a step of all, us", ",.0f"),
    TableColumn("overhead", "of the environments' time", ".0%"),
)
NAMES = ("gymnasium", "box2d", "stable_baselines3", "torch")
ALONE = "alone"


@dataclass(frozen=True)
class HostBudget:
    """The settings of the measurements.

    Attributes:
        ids: Gymnasium's.
        counts: environments at once.
        num_steps: T of a rollout.
        rollouts: how many of each are timed; the fastest counts.
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
        rows += _stepping(id, count, budget)
        if rows[-1].name == ALONE:  # the environment cannot be made here
            continue
        rows.append(attempt("Kousoku, PPO", count, partial(_ours, id, count, budget)))
        rows.append(attempt("Stable-Baselines3, PPO", count, partial(_stable_baselines, id, count, budget)))
    return Section(id, ABOUT, COLUMNS, rows, ALONE)


def _stepping(id: str, count: int, budget: HostBudget) -> list[TableRow]:
    """Measures steps alone, by ours, and with actions that PPO chooses: in turns, as a machine is not always as fast.

    Where the environment cannot be made there is one row, which says why.
    """
    others: list[TableRow] = []

    def measure() -> TableRow:
        with ExitStack() as at_end:
            rollouts = [begin(at_end, id, count, budget) for begin in (_alone, _slots, _acting)]
            alone, slots, acting = (count * budget.num_steps / t for t in _fastest(rollouts, budget.rollouts))
        others.append(_beside("Kousoku, slots", count, slots, alone))
        others.append(_beside("Kousoku, acting", count, acting, alone))
        return speed(ALONE, count, alone)

    return [attempt(ALONE, count, measure), *others]


def _alone(at_end: ExitStack, id: str, count: int, budget: HostBudget) -> Callable[[], None]:
    """Returns a rollout of the environments, without anything of ours around them."""
    gymnasium = importlib.import_module("gymnasium")
    envs = [gymnasium.make(id, disable_env_checker=True) for _ in range(count)]
    for seed, env in enumerate(envs):
        at_end.callback(env.close)
        env.reset(seed=seed)
        env.action_space.seed(seed)
    actions = [[env.action_space.sample() for env in envs] for _ in range(budget.num_steps)]

    def rollout() -> None:
        for now in actions:
            for env, action in zip(envs, now, strict=True):
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()

    return rollout


def _slots(at_end: ExitStack, id: str, count: int, budget: HostBudget) -> Callable[[], None]:
    """Returns a rollout as training steps it, with actions that were drawn before."""
    env = _on_host(id)
    slots, sample = HostSlots(env, range(count)), jax.jit(jax.vmap(env.action_space.sample))
    at_end.callback(slots.close)
    keys = jax.random.split(jax.random.key(0), (budget.num_steps, count))
    actions = [[np.asarray(leaf) for leaf in jax.tree.leaves(sample(of_step))] for of_step in keys]

    def rollout() -> None:
        for now in actions:
            slots.step(now)

    return rollout


def _acting(at_end: ExitStack, id: str, count: int, budget: HostBudget) -> Callable[[], Any]:
    """Returns a rollout whose actions PPO chooses: nearly at random, as it has not learned, so episodes are as long."""
    env = _on_host(id)
    agent, config = budget.settings(count).agent().for_env(env.spec), TrainConfig(steps=10**9, out="")
    population = make_population(agent, point_envs(env, {}, config), config)
    loop = HostEnvLoop(population, Recording())
    slots, state = loop.begin(loop.start(), 0)
    at_end.callback(slots.close)
    numbers = itertools.count()
    return lambda: loop.collect(slots, state, next(numbers))


def _on_host(id: str) -> HostEnv:
    env = make(f"gymnasium:{id}")
    assert isinstance(env, HostEnv)
    return env


def _beside(name: str, count: int, made: float, alone: float) -> TableRow:
    """Returns a row with what steps, so many in a second, take longer than those of the environments alone."""
    return speed(name, count, made, added=1e6 * count * (1 / made - 1 / alone), overhead=alone / made - 1)


def _fastest(rollouts: Sequence[Callable[[], Any]], times: int) -> list[float]:
    """Returns the seconds of the fastest of some calls of each, which take turns, after one that does not count."""
    seconds: list[list[float]] = [[] for _ in rollouts]
    for _ in range(times + 1):
        for rollout, taken in zip(rollouts, seconds, strict=True):
            began = time.perf_counter()
            rollout()
            taken.append(time.perf_counter() - began)
    return [min(taken[1:]) for taken in seconds]


def _ours(id: str, count: int, budget: HostBudget) -> TableRow:
    settings = budget.settings(count)
    warm, least = 2 * settings.rollout, 4 * settings.rollout
    figures = ppo_ours.rate(settings.agent(), f"gymnasium:{id}", 1, False, budget.seconds, warm, least, settings.steps)
    return speed("Kousoku, PPO", count, figures["steps_per_second"])


def _stable_baselines(id: str, count: int, budget: HostBudget) -> TableRow:
    figures = ppo_peers.stable_baselines("stable_baselines3", id, budget.settings(count).as_dict(), 0, budget.seconds)
    return speed("Stable-Baselines3, PPO", count, figures["steps_per_second"] or 0.0)
