"""CartPole in Numba: all cores share blocks of environments, and LLVM turns the loop over a block into vectors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import no_type_check

import numpy as np

BLOCK = 128


@cache
@no_type_check
def program() -> Callable[[np.ndarray, int, int], int]:
    """Returns a function (states [4, N], steps, seed) -> episodes: random actions, random starts, in place.

    N is a multiple of the block. Random words are a hash of a counter. Sine and cosine are polynomials, exact to
    float32 for the angles below half a radian that CartPole knows. Time limits are never reached and left out.

    Raises:
        ImportError: if Numba is not there.
    """
    numba = importlib.import_module("numba")
    f, u = np.float32, np.uint32

    @numba.njit(inline="always")
    def hash32(x):
        x = u((x ^ (x >> u(16))) * u(0x7FEB352D))
        x = u((x ^ (x >> u(15))) * u(0x846CA68B))
        return u(x ^ (x >> u(16)))

    @numba.njit(inline="always")
    def beyond(x, theta):
        return (abs(x) > f(2.4)) | (abs(theta) > f(12 * 2 * np.pi / 360))

    @numba.njit(fastmath=True, error_model="numpy")
    def move(x, v, theta, w, counter):
        ended = np.int32(0)
        for i in range(BLOCK):
            force = f(10.0) if hash32(u(u(i) * u(0x9E3779B1) + counter)) >> u(31) else f(-10.0)
            angle, square = theta[i], theta[i] * theta[i]
            sin = angle * (f(1) + square * (f(-1 / 6) + square * (f(1 / 120) + square * f(-1 / 5040))))
            cos = f(1) + square * (f(-1 / 2) + square * (f(1 / 24) + square * (f(-1 / 720) + square * f(1 / 40320))))
            push = (force + f(0.05) * w[i] * w[i] * sin) * f(1 / 1.1)
            theta_acc = (f(9.8) * sin - cos * push) / (f(0.5) * (f(4 / 3) - f(0.1 / 1.1) * cos * cos))
            x_acc = push - f(0.05 / 1.1) * theta_acc * cos
            x[i] += f(0.02) * v[i]
            v[i] += f(0.02) * x_acc
            theta[i] += f(0.02) * w[i]
            w[i] += f(0.02) * theta_acc
            ended += np.int32(beyond(x[i], theta[i]))
        return ended

    @numba.njit
    def restart(states, counter):
        for i in range(BLOCK):
            if beyond(states[0, i], states[2, i]):
                for part in range(4):
                    word = hash32(u(hash32(u(4 * i + part)) + counter))
                    states[part, i] = (f(word >> u(8)) * f(2.0**-24) - f(0.5)) * f(0.1)

    @numba.njit(parallel=True)
    def run(states, steps, seed):
        episodes = np.zeros(states.shape[1] // BLOCK, np.int64)
        for block in numba.prange(states.shape[1] // BLOCK):
            own = states[:, block * BLOCK : (block + 1) * BLOCK].copy()
            key = hash32(u(u(block) ^ hash32(u(seed))))
            for t in range(steps):
                counter = hash32(u(key + u(t)))
                ended = move(own[0], own[1], own[2], own[3], counter)
                if ended:
                    restart(own, u(counter ^ u(0xC2B2AE35)))
                    episodes[block] += ended
            states[:, block * BLOCK : (block + 1) * BLOCK] = own
        return episodes.sum()

    return run
