"""The exact model of a finite Markov decision process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from .errors import ConfigError
from .spaces import as_array

LARGEST_REWARD = float(np.finfo(np.float32).max)
TOLERANCE = 1e-6
"""How far sums of probabilities may be from 1."""
LAYOUT = "P[s][a] = [(probability, next_state, reward, terminated), ...], states and actions counted from 0"


def _table(name: str, kinds: str, made_to: type, wanted: str, value: Any) -> Any:
    """Returns a table as an array: 1.0 as the state 1, and 0 and 1 as the flags False and True.

    Args:
        name: the table's, for messages.
        kinds: of dtypes that it may have as it is.
        made_to: what others are made to, if that changes no entry.
        wanted: the same in words.
        value: an array, or nested lists; one that is traced stays as it is.

    Raises:
        ConfigError: for what holds no numbers, or the first entry that would change.
    """
    if isinstance(value, Tracer) or getattr(getattr(value, "dtype", None), "kind", None) in [*kinds]:
        return value
    given = as_array(value)
    if given.dtype.kind not in "biuf":
        raise ConfigError(name, value, f"use an array of {wanted}, or lists of one length")
    with np.errstate(invalid="ignore"):
        made = given.astype(made_to)
    wrong = np.argwhere(made != given)
    if len(wrong):
        raise ConfigError(f"{name}{wrong[0].tolist()}", given[tuple(wrong[0])].item(), f"use {wanted}")
    return made


def _field(name: str, kinds: str = "f", made_to: type = np.float64, wanted: str = "numbers") -> Any:
    return eqx.field(converter=partial(_table, name, kinds, made_to, wanted))


class TabularModel(eqx.Module):
    """Transition tables in outcome form: from state s, action a leads to outcome k with probability p[s, a, k].

    A list of the few possible outcomes instead of a dense S x A x S array: exact, small, and the same layout as
    Gymnasium's `P[s][a] = [(probability, next_state, reward, terminated), ...]`. A pair with fewer than K outcomes is
    filled up with outcomes of probability 0. Tables may be given as nested lists, states as 1.0 and flags as 0 and 1.

    Attributes:
        probability: p[s, a, k]; sums to 1 over k.
        next_state: the state that outcome k leads to.
        reward: the reward of outcome k.
        terminated: whether the episode ends with outcome k (then the value of `next_state` does not count).
        start: probability of each state to be the first one.

    References:
        Sutton and Barto, Reinforcement Learning (2nd ed.), equation 3.2: p(s', r | s, a).
    """

    probability: Float[Array | np.ndarray, "S A K"] = _field("probability")
    next_state: Int[Array | np.ndarray, "S A K"] = _field("next_state", "iu", np.int64, "whole numbers")
    reward: Float[Array | np.ndarray, "S A K"] = _field("reward")
    terminated: Bool[Array | np.ndarray, "S A K"] = _field("terminated", "b", np.bool_, "True and False")
    start: Float[Array | np.ndarray, " S"] = _field("start")

    @staticmethod
    def of(outcomes: Any, start: Any) -> TabularModel:
        """Makes a model of Gymnasium's tables, `P[s][a] = [(probability, next_state, reward, terminated), ...]`.

        Args:
            outcomes: a dict or list by states of dicts or lists by actions, such as `env.unwrapped.P`.
            start: probability of each state to be the first one, such as `env.unwrapped.initial_state_distrib`.

        Raises:
            ConfigError: for another layout.

        Examples:
            >>> TabularModel.of({0: {0: [(0.9, 0, 0.0, False), (0.1, 0, 1.0, True)]}}, start=[1.0]).num_outcomes
            2
        """
        try:
            pairs = [[list(outcomes[s][a]) for a in range(len(outcomes[s]))] for s in range(len(outcomes))]
            longest = max(len(pair) for row in pairs for pair in row)
            rows = [
                [pair + [(0.0, s, 0.0, False)] * (longest - len(pair)) for pair in row] for s, row in enumerate(pairs)
            ]
            probability, next_state, reward, terminated = np.moveaxis(np.array(rows, np.float64), -1, 0)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ConfigError("outcomes", outcomes, f"use {LAYOUT}") from error
        return TabularModel(probability, next_state, reward, terminated, start)

    @property
    def num_states(self) -> int:
        return self.probability.shape[0]

    @property
    def num_actions(self) -> int:
        return self.probability.shape[1]

    @property
    def num_outcomes(self) -> int:
        return self.probability.shape[2]


def check_model(model: TabularModel) -> None:
    """Refuses tables that are no Markov decision process.

    Raises:
        ConfigError: naming the first state and action whose probabilities do not sum to 1, or the bad entry.
    """
    if not isinstance(model, TabularModel):
        raise ConfigError("model", model, _instead_of(model))
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
    bad = ~(np.abs(sums - 1.0) <= TOLERANCE) | (probability < 0).any(axis=-1)
    if bad.any():
        s, a = np.argwhere(bad)[0]
        raise ConfigError(f"probability[{s}, {a}]", probability[s, a].tolist(), "use numbers >= 0 that sum to 1")
    if ((next_state < 0) | (next_state >= model.num_states)).any():
        s, a, k = np.argwhere((next_state < 0) | (next_state >= model.num_states))[0]
        given = int(next_state[s, a, k])
        raise ConfigError(f"next_state[{s}, {a}, {k}]", given, f"use a state in 0..{model.num_states - 1}")
    reward = np.asarray(model.reward)
    if not (np.abs(reward) <= LARGEST_REWARD).all():
        s, a, k = np.argwhere(~(np.abs(reward) <= LARGEST_REWARD))[0]
        fix = f"use a finite number, within {LARGEST_REWARD:.2g} of 0 as float32 ends there"
        raise ConfigError(f"reward[{s}, {a}, {k}]", float(reward[s, a, k]), fix)
    start = np.asarray(model.start, np.float64)
    if not abs(start.sum() - 1.0) <= TOLERANCE or (start < 0).any():
        raise ConfigError("start", float(start.sum()), "use probabilities >= 0 that sum to 1")


def _instead_of(given: Any) -> str:
    """Returns what would do in the place of what is no model."""
    if isinstance(given, str):
        return f"make the environment, and give its model: kousoku.make({given!r}).model()"
    if callable(getattr(given, "model", None)):
        return "that is the environment; give its model: env.model()"
    if isinstance(given, Mapping | list):
        return "give a kousoku.TabularModel: TabularModel.of(P, start) makes one of Gymnasium's tables"
    return "give a kousoku.TabularModel"
