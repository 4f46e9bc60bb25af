"""The loop that everybody writes first: tabular Q-learning in Python and NumPy, one agent, one step at a time."""

from __future__ import annotations

import numpy as np


def q_learning(height: int, width: int, steps: int, seed: int) -> np.ndarray:
    """Learns the article's grid by Q-learning: start bottom right, goal top left, discount 0.9; returns Q [S, A]."""
    rng = np.random.default_rng(seed)
    moves = ((-1, 0), (0, 1), (1, 0), (0, -1))
    q = np.zeros((height * width, 4), np.float32)
    row, column = height - 1, width - 1
    for _ in range(steps):
        state = row * width + column
        values = q[state]
        choices = np.arange(4) if rng.random() < 0.1 else np.flatnonzero(values == values.max())
        action = int(choices[rng.integers(len(choices))])
        row = min(max(row + moves[action][0], 0), height - 1)
        column = min(max(column + moves[action][1], 0), width - 1)
        goal = row == 0 and column == 0
        target = 1.0 if goal else 0.9 * q[row * width + column].max()
        q[state, action] += 0.1 * (target - q[state, action])
        if goal:
            row, column = height - 1, width - 1
    return q
