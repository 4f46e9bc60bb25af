"""Our agents, trained for a given time in the process that calls: `kousoku.train` as everybody calls it."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

from kousoku.agents.options import make_agent
from kousoku.api import train
from kousoku.core.agent import Agent
from kousoku.training.devices import use_all_cores

LEAST_PART, GROWTH = 0.5, 16.0
"""Of the seconds: what a training takes at least. How many times the steps of the one before a training has at most."""


def measure(agent: str, options: dict[str, Any], env: str, seconds: float, episodes: int) -> dict[str, float]:
    """Returns figures of a training of about `seconds`, once everything is compiled, and the mean greedy return.

    Trainings become longer, each with the steps that the time of the one before asks for, and the last one counts.

    Args:
        agent: its id.
        options: of it, as `make_agent` takes them.
        env: the environment's id.
        seconds: of training.
        episodes: of the evaluation after it.
    """
    use_all_cores()
    made = make_agent(agent, **options)
    began = time.perf_counter()
    steps, _, _ = trained(made, env, 1)
    first = time.perf_counter() - began
    began = time.perf_counter()
    _, spent, score = trained(made, env, steps)
    again = time.perf_counter() - began
    while math.isnan(score) or spent < LEAST_PART * seconds:
        more = seconds / spent
        steps, spent, score = trained(made, env, int(steps * min(more, GROWTH)), episodes if more <= GROWTH else 0)
    return {
        "steps_per_second": steps / spent,
        "return": score,
        "steps": steps,
        "seconds": spent,
        "compile_seconds": first - again,
    }


def trained(agent: Agent, env: str, steps: int, episodes: int = 0) -> tuple[int, float, float]:
    """Trains one agent for at least one generation or rollout, twice: the first time compiles, also the steps that a
    schedule is over, and the second time counts.

    Returns:
        The steps that it made, the seconds that they took, and the mean return of greedy episodes after them, NaN
        without any.
    """
    steps = max(steps, agent.learns_from.iteration_steps)
    once = partial(train, agent, env, steps=steps, eval_episodes=episodes, out="", record=("returns",), progress=False)
    once()
    run = once()
    score = float(run.record.evaluation["return"].mean()) if episodes else math.nan
    return run.record.facts["steps"], max(run.record.facts["seconds"], 1e-9), score
