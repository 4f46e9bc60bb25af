"""Startup: the time from nothing to a thousand steps of a robot, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial

import jax

from kousoku.compiler import kernel
from kousoku.core.cache_folder import SWITCH
from kousoku.envs import make
from kousoku.training.io import compile_cache

from .budget import Budget
from .robots import IDS
from .subprocess_timing import run_in_subprocess
from .table import Section, TableColumn, TableRow, attempt

ABOUT = (
    "Seconds from `ks.make(id)`, with the library imported, to the end of the first thousand steps under random "
    "actions, by kernels of `reset` and `step` that Python calls: in a process with an empty cache, and "
    "in the next one, which finds it filled."
)
ENVIRONMENTS, STEPS = 16, 64


def section(budget: Budget) -> Section:
    """Measures all robots."""
    columns = (TableColumn("empty", "empty cache, s", ",.1f"), TableColumn("filled", "filled cache, s", ",.2f"))
    return Section("Ready to step", ABOUT, columns, [attempt(id, 0, partial(_row, id)) for id in IDS])


def _row(id: str) -> TableRow:
    with tempfile.TemporaryDirectory() as folder:
        first, second = (run_in_subprocess(__name__, "seconds", id, folder) for _ in range(2))
    return TableRow(id, {"empty": first, "filled": second})


def seconds(id: str, folder: str) -> float:
    """Measures in this process, with a cache in a folder."""
    os.environ[SWITCH] = folder
    compile_cache.enable()
    began = time.perf_counter()
    env = make(id)
    reset, step = (jax.jit(jax.vmap(kernel(function))) for function in (env.reset, env.step))
    sample = jax.jit(jax.vmap(env.action_space.sample))
    first, *rest = jax.random.split(jax.random.key(0), (1 + STEPS, ENVIRONMENTS))
    state, timestep = reset(first)
    for keys in rest:
        state, timestep = step(keys, state, sample(keys))
    jax.block_until_ready(timestep)
    return time.perf_counter() - began
