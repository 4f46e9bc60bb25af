"""Q-learning in Numba: a loop of scalars for each agent, the agents shared by all cores."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import no_type_check

import numpy as np

HEIGHT, WIDTH = 8, 12
START = HEIGHT * WIDTH - 1


@cache
@no_type_check
def program() -> Callable[[np.ndarray, int, float, int], np.ndarray]:
    """Returns a function (Q [N, 96, 4], steps, epsilon, seed) -> episodes [N] that trains N agents in place.

    Random words are those of a xorshift generator. Moves, and the k-th set bit of a mask, are look-ups.

    Raises:
        ImportError: if Numba is not there.
    """
    numba = importlib.import_module("numba")
    float32, uint32 = np.float32, np.uint32
    moves, kth, count = move_table(), kth_table(), np.array([bin(m).count("1") for m in range(16)], np.uint32)

    @numba.njit(parallel=True, error_model="numpy")
    def learn(q, steps, epsilon, seed):
        episodes = np.zeros(len(q), np.int64)
        chance = uint32(round(epsilon * 65536))
        for agent in numba.prange(len(q)):
            table = q[agent]
            word = uint32((agent + 1) * 0x9E3779B1 + seed * 0x85EBCA6B | 1)
            state, reached = START, 0
            for _ in range(steps):
                word ^= uint32(word << uint32(13))
                word ^= uint32(word >> uint32(17))
                word ^= uint32(word << uint32(5))
                v0, v1, v2, v3 = table[state, 0], table[state, 1], table[state, 2], table[state, 3]
                best = max(max(v0, v1), max(v2, v3))
                mask = (v0 == best) | (v1 == best) << 1 | (v2 == best) << 2 | (v3 == best) << 3
                mask = 15 if (word & uint32(0xFFFF)) < chance else mask
                action = kth[mask, (word >> uint32(16)) * count[mask] >> uint32(16)]
                at = np.int64(moves[state, action])
                best = max(max(table[at, 0], table[at, 1]), max(table[at, 2], table[at, 3]))
                target = float32(1.0) if at == 0 else float32(0.9) * best
                table[state, action] += float32(0.1) * (target - table[state, action])
                reached += at == 0
                state = START if at == 0 else at
            episodes[agent] = reached
        return episodes

    return learn


def move_table() -> np.ndarray:
    """Returns the next state of each state and move [S, 4]: up, right, down, left."""
    rows, columns = np.divmod(np.arange(HEIGHT * WIDTH), WIDTH)
    steps = ((-1, 0), (0, 1), (1, 0), (0, -1))
    next_states = [
        np.clip(rows + down, 0, HEIGHT - 1) * WIDTH + np.clip(columns + right, 0, WIDTH - 1) for down, right in steps
    ]
    return np.stack(next_states, axis=1).astype(np.int32)


def kth_table() -> np.ndarray:
    """Returns the place of a mask's k-th set bit, as a table [mask, k]."""
    table = np.zeros((16, 4), np.int64)
    for mask in range(16):
        places = [a for a in range(4) if mask >> a & 1]
        table[mask, : len(places)] = places
    return table
