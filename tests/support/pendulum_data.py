"""A data set that could be a pendulum's."""

import numpy as np

import kousoku as ks


def pendulum(n: int = 200) -> ks.Dataset:
    """Numbers at random, which could be those of a pendulum; the action is tanh(x) + y / 2."""
    env, rng = ks.make("Pendulum-v1"), np.random.default_rng(0)
    obs = rng.uniform(-1, 1, (n + 1, 3))
    action = np.tanh(obs[:-1, :1]) + 0.5 * obs[:-1, 1:2]
    ends = np.arange(n) % 50 == 49
    return ks.Dataset(
        obs[:-1], action, rng.normal(size=n), np.zeros(n, bool), ends, rng.uniform(-1, 1, (n, 3)) * ends[:, None]
        + obs[1:] * ~ends[:, None], env.observation_space, env.action_space, "Pendulum-v1",
    )  # fmt: skip
