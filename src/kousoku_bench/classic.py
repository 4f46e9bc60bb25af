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
from .budget import Budget
from .by_hand import cartpole_numba
from .random_rollout import begin_rollout, random_rollout
from .table import COMPILE, ENVIRONMENTS, SPEED, Section, TableRow, attempt, median_seconds, speed

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


def section(id: str, budget: Budget) -> Section:
    """Measures one environment; CartPole in full, with the program by hand."""
    in_full = id == "CartPole-v1"
    counts = budget.environments if in_full else budget.environments[:1]
    rows = [row for count in counts for row in _rows(id, count, in_full, budget)]
    rows.append(attempt("EnvPool", FEW, lambda: envpool_row(id, budget)))
    return Section(id, ABOUT.format(steps=budget.steps), (ENVIRONMENTS, SPEED, COMPILE), rows, BASE)


def _rows(id: str, count: int, in_full: bool, budget: Budget) -> list[TableRow]:
    rows = [ours("kousoku, kernel", id, count, True, True, budget)]
    if in_full:
        rows.append(ours("kousoku, kernel, advance()", id, count, True, False, budget))
    rows.append(ours("kousoku, XLA", id, count, False, True, budget))
    if in_full:
        rows.append(attempt("Numba", count, lambda: numba_row(count, budget)))
    rows.append(attempt(BASE, count, lambda: gymnax_row(id, count, budget)))
    rows.append(attempt("Gymnasium", count, lambda: gymnasium_row(id, count, budget)))
    return rows


def ours(name: str, id: str, count: int, on: bool, ahead: bool, budget: Budget) -> TableRow:
    """Measures our environment, in the kernel or in XLA."""
    env = make(id)
    keys = jax.random.split(jax.random.key(0), count)
    function = kernel(partial(random_rollout, env, budget.steps, ahead), on=on)
    rollouts = jax.jit(jax.vmap(partial(begin_rollout, env)))(keys)
    run, compile_seconds = compiled(jax.vmap(function, (0, None, 0)), keys, jnp.int32(0), rollouts)
    state: list[Any] = [rollouts, 0]

    def call() -> None:
        state[:] = run(keys, np.int32(state[1]), state[0]), state[1] + 1
        jax.block_until_ready(state[0])

    seconds = median_seconds(call, budget.repeats, budget.least_seconds)
    note = "starts drawn ahead, once in eight steps" if ahead else "starts drawn where an episode ends"
    return speed(name, count, count * budget.steps / seconds, note, compile_seconds=compile_seconds)


def gymnax_row(id: str, count: int, budget: Budget) -> TableRow:
    """Measures gymnax."""
    with peers.foreign():
        loop = peers.gymnax_loop(id, budget.steps)
        keys = jax.random.split(jax.random.key(0), count)
        carry = jax.jit(lambda keys: loop(keys, None))(keys)
        run, compile_seconds = compiled(loop, keys, carry)
        state = [carry]

        def call() -> None:
            state[0] = jax.block_until_ready(run(keys, state[0]))

        seconds = median_seconds(call, budget.repeats, budget.least_seconds)
    return speed(BASE, count, count * budget.steps / seconds, "jit, vmap, scan", compile_seconds=compile_seconds)


def envpool_row(id: str, budget: Budget) -> TableRow:
    """Measures EnvPool, on all cores."""
    seconds = _host_seconds(peers.envpool_steps(id, FEW), budget)
    return speed("EnvPool", FEW, FEW / seconds, "all cores")


def gymnasium_row(id: str, count: int, budget: Budget) -> TableRow:
    """Measures Gymnasium's own vector environment, or its general one: one environment after the other, of which few
    do.
    """
    count = count if peers.has_own_vector(id) else FEW
    run, kind = peers.gymnasium_steps(id, count)
    return speed("Gymnasium", count, count / _host_seconds(run, budget), f"vector environment: {kind}")


def numba_row(count: int, budget: Budget) -> TableRow:
    """Measures CartPole by hand."""
    states = np.zeros((4, -(-count // cartpole_numba.BLOCK) * cartpole_numba.BLOCK), np.float32)
    began = time.perf_counter()
    run = cartpole_numba.program()
    run(states, 1, 0)
    compile_seconds = time.perf_counter() - began
    seconds = median_seconds(lambda: run(states, budget.steps, 1), budget.repeats, budget.least_seconds)
    rate = states.shape[1] * budget.steps / seconds
    return speed("Numba", count, rate, NUMBA_NOTE, compile_seconds=compile_seconds)


def _host_seconds(run: Callable[[int], None], budget: Budget) -> float:
    """Returns the seconds of one step of all environments."""
    return median_seconds(lambda: run(peers.DRAWN), budget.repeats, budget.least_seconds) / peers.DRAWN


def compiled(function: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], float]:
    """Returns the function compiled for such arguments, and the seconds from Python to there."""
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*args).compile()
    return compiled, time.perf_counter() - began
