"""Checks of what an agent of one's own answers, of which nothing has to run to be known."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np

from .agent import Agent
from .env import EnvSpec
from .env_shapes import shapes
from .errors import ConfigError, shorten
from .known_step import is_ours
from .spaces import Space

KINDS = {"i": "iu", "u": "iu", "f": "iuf"}
"""Which kinds of numbers stand for those of a space: whole ones for whole ones, either for the others."""


def check_answers(agent: Agent, spec: EnvSpec) -> None:
    """Refuses an agent whose `act` gives something else than an action of the space, what it carries on, and extras.

    It is traced, which takes milliseconds, and neither compiled nor run. What the library's own agents answer is known.

    Raises:
        ConfigError: for another number of answers, no action of the space, or another carry than `initial_carry` gives.
    """
    if is_ours(type(agent).act):
        return
    field, key = f"{type(agent).__name__}.act", jax.eval_shape(lambda: jax.random.key(0))

    def answers(key: Any) -> Any:
        state, obs = agent.init(spec, key), spec.observation_space.sample(key)
        carry = agent.initial_carry(state)
        made = agent.act(state, obs, carry, key)
        if not isinstance(made, tuple | list) or len(made) != 3:
            got = f"{type(made).__name__}{f' of {len(made)}' if isinstance(made, tuple | list) else ''}"
            raise ConfigError(field, got, "return three things: the action, what is carried on, and extras or None")
        return made[0], made[1], carry

    action, carry, first = eqx.filter_eval_shape(answers, key)
    if not is_like_action(action, spec.action_space, key):
        raise ConfigError(field, told(action), f"it should give an action of {shorten(spec.action_space)}")
    if jax.tree.structure(carry) != jax.tree.structure(first) or shapes(carry) != shapes(first):
        raise ConfigError(f"{field}'s carry", told(carry), f"carry on what is like `initial_carry`: {told(first)}")


def is_like_action(given: Any, space: Space, key: Any) -> bool:
    """Tells whether something has the structure and shapes of an action, and whole numbers where that has some."""
    wanted = jax.eval_shape(space.sample, key)

    def alike(leaf: Any, like: Any) -> bool:
        return np.shape(leaf) == like.shape and np.result_type(leaf).kind in KINDS[like.dtype.kind]

    return jax.tree.structure(given) == jax.tree.structure(wanted) and jax.tree.all(jax.tree.map(alike, given, wanted))


def told(given: Any) -> Any:
    """Returns dtype and shape of each part of what was given in place of something else, for a message."""
    return jax.tree.map(lambda leaf: f"{np.result_type(leaf)}{list(np.shape(leaf))}", given)
