"""The classic environments under random actions: the kernel, XLA, gymnax, EnvPool, Gymnasium."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kousoku.compiler import kernel
from kousoku.envs import make

from . import peers
from .by_hand import cartpole_numba
from .effort import Effort
from .table import COMPILE, LANES, SPEED, Row, Section, attempt, median_seconds, speed
from .wander import start, wander

IDS = ("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")
BASE = "gymnax"
FEW = 64
ABOUT = (
    "Random actions; an episode that ends is followed by one from a fresh random start. Ours and gymnax draw actions "
    "and starts from threefry within what is measured, {steps} steps in one call; EnvPool and Gymnasium are given "
    "their actions, and the step in which they reset counts as one of theirs. EnvPool, and Gymnasium where it has no "
    "vectorised program, run with few environments, which suits them best."
)
NUMBA_NOTE = "by hand: all cores, vectors; hash of a counter, short polynomials for sine and cosine, no time limit"


def section(id: str, effort: Effort) -> Section:
    """One environment; CartPole in full, with the program by hand."""
    in_full = id == "CartPole-v1"
    counts = effort.environments if in_full else effort.environments[:1]
    rows = [row for count in counts for row in _rows(id, count, in_full, effort)]
    rows.append(attempt("EnvPool", FEW, lambda: envpool_row(id, effort)))
    return Section(id, ABOUT.format(steps=effort.steps), (LANES, SPEED, COMPILE), rows, BASE)


def _rows(id: str, count: int, in_full: bool, effort: Effort) -> list[Row]:
    rows = [ours("kousoku, kernel", id, count, True, True, effort)]
    if in_full:
        rows.append(ours("kousoku, kernel, advance()", id, count, True, False, effort))
    rows.append(ours("kousoku, XLA", id, count, False, True, effort))
    if in_full:
        rows.append(attempt("Numba", count, lambda: numba_row(count, effort)))
    rows.append(attempt(BASE, count, lambda: gymnax_row(id, count, effort)))
    rows.append(attempt("Gymnasium", count, lambda: gymnasium_row(id, count, effort)))
    return rows


def ours(name: str, id: str, count: int, on: bool, ahead: bool, effort: Effort) -> Row:
    """Our environment, in the kernel or in XLA."""
    env = make(id)
    keys = jax.random.split(jax.random.key(0), count)
    function = kernel(partial(wander, env, effort.steps, ahead), on=on)
    walks = jax.jit(jax.vmap(partial(start, env)))(keys)
    run, compile_seconds = compiled(jax.vmap(function, (0, None, 0)), keys, jnp.int32(0), walks)
    state: list[Any] = [walks, 0]

    def call() -> None:
        state[:] = run(keys, np.int32(state[1]), state[0]), state[1] + 1
        jax.block_until_ready(state[0])

    seconds = median_seconds(call, effort.repeats, effort.least_seconds)
    note = "starts drawn ahead, once in eight steps" if ahead else "starts drawn where an episode ends"
    return speed(name, count, count * effort.steps / seconds, note, compile_seconds=compile_seconds)


def gymnax_row(id: str, count: int, effort: Effort) -> Row:
    """gymnax."""
    with peers.foreign():
        loop = peers.gymnax_loop(id, effort.steps)
        keys = jax.random.split(jax.random.key(0), count)
        carry = jax.jit(lambda keys: loop(keys, None))(keys)
        run, compile_seconds = compiled(loop, keys, carry)
        state = [carry]

        def call() -> None:
            state[0] = jax.block_until_ready(run(keys, state[0]))

        seconds = median_seconds(call, effort.repeats, effort.least_seconds)
    return speed(BASE, count, count * effort.steps / seconds, "jit, vmap, scan", compile_seconds=compile_seconds)


def envpool_row(id: str, effort: Effort) -> Row:
    """EnvPool, on all cores."""
    seconds = _host_seconds(peers.envpool_steps(id, FEW), effort)
    return speed("EnvPool", FEW, FEW / seconds, "all cores")


def gymnasium_row(id: str, count: int, effort: Effort) -> Row:
    """Gymnasium's own vector environment, or its general one: one environment after the other, of which few do."""
    count = count if peers.has_own_vector(id) else FEW
    run, kind = peers.gymnasium_steps(id, count)
    return speed("Gymnasium", count, count / _host_seconds(run, effort), f"vector environment: {kind}")


def numba_row(count: int, effort: Effort) -> Row:
    """CartPole by hand."""
    states = np.zeros((4, -(-count // cartpole_numba.BLOCK) * cartpole_numba.BLOCK), np.float32)
    began = time.perf_counter()
    run = cartpole_numba.program()
    run(states, 1, 0)
    compile_seconds = time.perf_counter() - began
    seconds = median_seconds(lambda: run(states, effort.steps, 1), effort.repeats, effort.least_seconds)
    rate = states.shape[1] * effort.steps / seconds
    return speed("Numba", count, rate, NUMBA_NOTE, compile_seconds=compile_seconds)


def _host_seconds(run: Callable[[int], None], effort: Effort) -> float:
    """Seconds of one step of all environments."""
    return median_seconds(lambda: run(peers.DRAWN), effort.repeats, effort.least_seconds) / peers.DRAWN


def compiled(function: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], float]:
    """The function compiled for such arguments, and the seconds from Python to there."""
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*args).compile()
    return compiled, time.perf_counter() - began
