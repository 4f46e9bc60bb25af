"""Other libraries' SAC, each measured in the process that calls; each may be absent or broken."""

from __future__ import annotations

import importlib
import tempfile
import time
import warnings
from typing import Any
from unittest import mock

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


def rltools(given: dict[str, Any], seconds: float) -> dict[str, float]:
    """Measures RLtools' SAC, which a C++ compiler makes for these sizes, on one Gymnasium environment.

    It updates critics, their targets, actor and temperature once in so many steps. Its products of matrices are MKL's,
    on one thread unless $MKL_NUM_THREADS says otherwise; without MKL they are those of the BLAS that the compiler
    finds, or else loops of its own.

    Args:
        given: `SACSettings`, as JSON.
        seconds: of training.
    """
    settings = SACSettings(**given)
    (width,) = set(settings.hidden)
    warnings.simplefilter("ignore")
    make = importlib.import_module("gymnasium").make
    of_both = {
        "BATCH_SIZE": settings.batch_size, "HIDDEN_DIM": width, "NUM_LAYERS": len(settings.hidden) + 1,
        "TRAINING_INTERVAL": settings.steps_per_update,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        library = importlib.import_module("rltools")  # which chooses the folder that it builds in
        began = time.perf_counter()
        training = library.SAC(
            lambda: make(ENV), enable_evaluation=False,
            N_WARMUP_STEPS=settings.learning_starts, STEP_LIMIT=10**9, REPLAY_BUFFER_CAP=settings.capacity,
            OPTIMIZER_ALPHA=settings.learning_rate, CRITIC_TARGET_UPDATE_INTERVAL=settings.steps_per_update,
            **{f"{network}_{name}": value for network in ("ACTOR", "CRITIC") for name, value in of_both.items()},
        )  # fmt: skip
        compile_seconds = time.perf_counter() - began
    state = training.State(0)
    for _ in range(settings.learning_starts + WARM_UPDATES * settings.steps_per_update):
        state.step()
    steps, spent, began = 0, 0.0, time.perf_counter()
    while not steps or spent < seconds:
        for _ in range(settings.steps_per_update):
            state.step()
        steps, spent = steps + settings.steps_per_update, time.perf_counter() - began
    return settings.figures(figures(steps, spent, compile_seconds))
