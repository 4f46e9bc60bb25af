"""The exact model of a finite Markov decision process."""

from __future__ import annotations

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .errors import ConfigError


class TabularModel(eqx.Module):
    """Transition tables in outcome form: from state s, action a leads to outcome k with probability p[s, a, k].

    A list of the few possible outcomes instead of a dense S x A x S array: exact, small, and the same layout as
    Gymnasium's `P[s][a] = [(probability, next_state, reward, terminated), ...]`. A pair with fewer than K outcomes is
    filled up with outcomes of probability 0.

    Attributes:
        probability: p[s, a, k]; sums to 1 over k.
        next_state: the state that outcome k leads to.
        reward: the reward of outcome k.
        terminated: whether the episode ends with outcome k (then the value of `next_state` does not count).
        start: probability of each state to be the first one.

    References:
        Sutton and Barto, Reinforcement Learning (2nd ed.), equation 3.2: p(s', r | s, a).
    """

    probability: Float[Array | np.ndarray, "S A K"]
    next_state: Int[Array | np.ndarray, "S A K"]
    reward: Float[Array | np.ndarray, "S A K"]
    terminated: Bool[Array | np.ndarray, "S A K"]
    start: Float[Array | np.ndarray, " S"]

    @property
    def num_states(self) -> int:
        return self.probability.shape[0]

    @property
    def num_actions(self) -> int:
        return self.probability.shape[1]

    @property
    def num_outcomes(self) -> int:
        return self.probability.shape[2]


def check_model(model: TabularModel, tolerance: float = 1e-6) -> None:
    """Refuses tables that are no Markov decision process.

    Raises:
        ConfigError: naming the first state and action whose probabilities do not sum to 1, or the bad entry.
    """
    probability, next_state = np.asarray(model.probability, np.float64), np.asarray(model.next_state)
    if probability.ndim != 3 or probability.size == 0:
        raise ConfigError("probability", probability.shape, "give at least one state, action and outcome: [S, A, K]")
    for name in ("next_state", "reward", "terminated"):
        if np.shape(getattr(model, name)) != probability.shape:
            raise ConfigError(
                name, np.shape(getattr(model, name)), f"use the shape of probability, {probability.shape}"
            )
    if np.shape(model.start) != (model.num_states,):
        raise ConfigError("start", np.shape(model.start), f"use one probability for each of {model.num_states} states")
    sums = probability.sum(axis=-1)
    bad = ~(np.abs(sums - 1.0) <= tolerance) | (probability < 0).any(axis=-1)
    if bad.any():
        s, a = np.argwhere(bad)[0]
        raise ConfigError(f"probability[{s}, {a}]", probability[s, a].tolist(), "use numbers >= 0 that sum to 1")
    if ((next_state < 0) | (next_state >= model.num_states)).any():
        s, a, k = np.argwhere((next_state < 0) | (next_state >= model.num_states))[0]
        given = int(next_state[s, a, k])
        raise ConfigError(f"next_state[{s}, {a}, {k}]", given, f"use a state in 0..{model.num_states - 1}")
    if not np.isfinite(np.asarray(model.reward)).all():
        s, a, k = np.argwhere(~np.isfinite(np.asarray(model.reward)))[0]
        raise ConfigError(f"reward[{s}, {a}, {k}]", float(np.asarray(model.reward)[s, a, k]), "use a finite number")
    start = np.asarray(model.start, np.float64)
    if not abs(start.sum() - 1.0) <= tolerance or (start < 0).any():
        raise ConfigError("start", float(start.sum()), "use probabilities >= 0 that sum to 1")
