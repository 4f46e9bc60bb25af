"""Q-learning of thousands of agents: the kernel, XLA, and programs by hand."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np

from kousoku.compiler import use_kernels

from .budget import Budget
from .by_hand import q_learning_c, q_learning_numba
from .table import AGENTS, COMPILE, SPEED, Section, TableRow, attempt, median_seconds, speed
from .tabular import LONGEST_BLOCK, compiled_row

ABOUT = (
    "The article's 8 x 12 grid, epsilon-greedy (0.1) with random tie-break. Ours is what `kousoku.train` runs: "
    "threefry random bits, on all cores, returns and lengths of episodes recorded. Those by hand know this one "
    "grid and agent, draw one word of a cheap generator in a step, and count episodes."
)
STATES, ACTIONS, EPSILON = 96, 4, 0.1
GROUP = 8
BASE = "kousoku, kernels off"


def section(budget: Budget) -> Section:
    """Measures every contender for each number of agents."""
    rows = [row for agents in budget.agents for row in _rows(agents, budget)]
    return Section("Tabular Q-learning", ABOUT, (AGENTS, SPEED, COMPILE), rows, BASE)


def _rows(agents: int, budget: Budget) -> list[TableRow]:
    padded = agents if agents == 1 else -(-agents // GROUP) * GROUP
    in_c = "one core; xorshift-multiply hash of a counter; " + ("scalar" if agents == 1 else "eight agents in a vector")
    idle = f", {padded - agents} of them idle" if padded > agents else ""
    in_numba = "one core" if agents == 1 else "all cores"
    return [
        _ours("kousoku, kernel", True, agents, budget),
        _ours(BASE, False, agents, budget),
        attempt("C", agents, lambda: _by_hand("C", q_learning_c.program, agents, padded, in_c + idle, budget)),
        attempt(
            "Numba",
            agents,
            lambda: _by_hand("Numba", q_learning_numba.program, agents, agents, f"{in_numba}; xorshift", budget),
        ),
    ]


def _ours(name: str, on: bool, agents: int, budget: Budget) -> TableRow:
    jax.clear_caches()
    with use_kernels(on):
        return compiled_row(name, agents, budget.repeats, budget.learn_steps, min(LONGEST_BLOCK, budget.learn_steps))


def _by_hand(
    name: str, program: Callable[[], q_learning_c.Learn], agents: int, padded: int, note: str, budget: Budget
) -> TableRow:
    """Measures a program by hand: `agents` of them count, `padded` of them run."""
    q = np.zeros((padded, STATES, ACTIONS), np.float32)
    steps = max(1, budget.learn_steps // agents)
    began = time.perf_counter()
    learn = program()
    learn(q, 1, EPSILON, 0)
    compile_seconds = time.perf_counter() - began
    seconds = median_seconds(lambda: learn(q, steps, EPSILON, 1), budget.repeats)
    return speed(name, agents, steps * agents / seconds, note, compile_seconds=compile_seconds)
