"""Our agents' speed, measured in the process that calls: `kousoku.train` as everybody calls it."""

from __future__ import annotations

import time
from typing import Any

from kousoku.api import train
from kousoku.core.agent import Agent
from kousoku.training.devices import use_all_cores

from .ppo_settings import PPOSettings

WARM_ROLLOUTS = 8
LEAST_ROLLOUTS = 64


def measure(id: str, given: dict[str, Any], seeds: int, spread: bool, seconds: float) -> dict[str, float]:
    """Returns figures of PPO's training for about `seconds`, once everything is compiled: see `rate`.

    Args:
        id: of the environment.
        given: `PPOSettings`, as JSON.
        seeds: agents that are trained together.
        spread: whether the cores are devices that share the agents; else XLA divides its work among them.
        seconds: of training.
    """
    if spread:
        use_all_cores()
    settings = PPOSettings(**given)
    warm, least = WARM_ROLLOUTS * settings.rollout, LEAST_ROLLOUTS * settings.rollout
    return rate(settings.agent(), id, seeds, spread, seconds, warm, least, settings.steps)


def rate(
    agent: Agent, id: str, seeds: int, spread: bool, seconds: float, warm: int, least: int, most: int
) -> dict[str, float]:
    """Returns figures of training for about `seconds`, once everything is compiled.

    A short training compiles; the same again tells what a run costs before its first step. Of the long trainings that
    follow, what they take longer than the short one is divided into the steps that they make more, so that the host's
    work between blocks counts and what a run begins with does not.

    Args:
        agent: who is trained.
        id: of the environment.
        seeds: agents that are trained together.
        spread: whether every core is a device.
        seconds: of training.
        warm, least, most: steps of the short training; of a long one at least, and at most.
    """
    first, _, _ = trained(agent, id, min(warm, most), seeds, spread)
    short, done, learning = trained(agent, id, min(warm, most), seeds, spread)
    affordable = max(least, int(seconds * done / learning))
    spent, made = 0.0, 0
    while not made or spent < seconds:
        whole, steps, _ = trained(agent, id, min(most, affordable), seeds, spread)
        spent += max(whole - short, 1e-9)
        made += (steps - done) * seeds
    return {"steps_per_second": made / spent, "compile_seconds": first - short, "steps": made, "seconds": spent}


def trained(agent: Agent, id: str, steps: int, seeds: int, spread: bool) -> tuple[float, int, float]:
    """Returns wall seconds of a training, the steps that each agent made, and the seconds that all its blocks took."""
    began = time.perf_counter()
    run = train(
        agent,
        id,
        steps=steps,
        seeds=seeds,
        eval_episodes=0,
        out="",
        devices=None if spread else 1,
        record=("returns",),
        progress=False,
    )
    whole, said = time.perf_counter() - began, run.record.facts
    return whole, said["steps"], max(said["seconds"], 1e-9)
