"""Other libraries' SAC, each measured in the process that calls; each may be absent or broken."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from .off_policy_settings import ENV, SACSettings
from .ppo_peers import figures, watch

WARM_UPDATES = 64
"""Gradient steps that do not count: sbx compiles in the first."""


def stable_baselines(library: str, given: dict[str, Any], seconds: float) -> dict[str, float]:
    """Measures Stable-Baselines3's SAC ("stable_baselines3") or its twin in JAX ("sbx"), on one Gymnasium environment.

    Args:
        library: the module's name.
        given: `SACSettings`, as JSON.
        seconds: of training.
    """
    settings = SACSettings(**given)
    warnings.simplefilter("ignore")
    env = importlib.import_module("stable_baselines3.common.env_util").make_vec_env(ENV, 1, seed=0)
    model = importlib.import_module(library).SAC(
        "MlpPolicy", env, learning_rate=settings.learning_rate, buffer_size=settings.capacity,
        learning_starts=settings.learning_starts, batch_size=settings.batch_size,
        train_freq=settings.steps_per_update, gradient_steps=1, seed=0,
        policy_kwargs={"net_arch": list(settings.hidden)},
        **({"device": "cpu"} if library == "stable_baselines3" else {}),
    )  # fmt: skip
    timer = watch(seconds, settings.learning_starts + WARM_UPDATES * settings.steps_per_update)
    model.learn(10**9, callback=timer)
    began, ended = timer.marks[1], timer.marks[-1]
    return settings.figures(figures(ended.steps - began.steps, ended.seconds - began.seconds, None))
