"""How long it takes from nothing to a thousand steps of a robot, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial

import jax
import jax.numpy as jnp

from kousoku.compiler import kernel
from kousoku.core.cache_folder import SWITCH
from kousoku.envs import make
from kousoku.training import compile_cache

from .effort import Effort
from .fresh import measured
from .robots import IDS
from .table import Column, Row, Section, attempt
from .wander import start, wander

ABOUT = (
    "Seconds from `ks.make(id)`, with the library imported, to the end of the first thousand steps under random "
    "actions: in a process with an empty cache, and in the next one, which finds it filled."
)
LANES, STEPS = 16, 64


def section(effort: Effort) -> Section:
    """All robots."""
    columns = (Column("empty", "empty cache, s", ",.1f"), Column("filled", "filled cache, s", ",.2f"))
    return Section("Ready to step", ABOUT, columns, [attempt(id, 0, partial(_row, id)) for id in IDS])


def _row(id: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        first, second = (measured(__name__, "seconds", id, folder) for _ in range(2))
    return Row(id, {"empty": first, "filled": second})


def seconds(id: str, folder: str) -> float:
    """Measured here, with a cache in a folder."""
    os.environ[SWITCH] = folder
    compile_cache.enable()
    began = time.perf_counter()
    env = make(id)

    def walk(key: jax.Array) -> jax.Array:
        return wander(env, STEPS, False, key, jnp.int32(0), start(env, key)).reward

    jax.block_until_ready(jax.jit(jax.vmap(kernel(walk)))(jax.random.split(jax.random.key(0), LANES)))
    return time.perf_counter() - began
