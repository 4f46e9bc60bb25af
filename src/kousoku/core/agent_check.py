"""Checks of what an agent of one's own answers, of which nothing has to run to be known."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np

from .agent import Agent
from .env import EnvSpec
from .env_shapes import shapes
from .errors import ConfigError, check_takes, shorten
from .ours import is_ours
from .spaces import Space
from .update_check import check_leaves, parts_of

KINDS = {"i": "iu", "u": "iu", "f": "iuf"}
"""Which kinds of numbers stand for those of a space: whole ones for whole ones, either for the others."""


def check_agent(agent: Agent, spec: EnvSpec, plays_greedily: bool = True) -> None:
    """Refuses an agent of one's own that lacks what it learns from asks of it, or whose methods give something else.

    It is traced, which takes milliseconds, and neither compiled nor run. What the library's own agents answer is known.

    Args:
        agent: the agent.
        spec: of the environment.
        plays_greedily: whether it is evaluated, so that `act` has to answer `greedy=True`, too.

    Raises:
        ConfigError: naming the method, what it gives, and what it should.
    """
    kind, key = type(agent), jax.eval_shape(lambda: jax.random.key(0))
    agent.learns_from.check_agent(agent, spec)
    if not is_ours(kind.init):
        check_leaves(f"{kind.__name__}.init", eqx.filter_eval_shape(agent.init, spec, key))
    if not is_ours(kind.act):
        keywords = ("greedy",) if plays_greedily else ()
        check_takes(f"{kind.__name__}.act", agent.act, ("state", "obs", "carry", "key"), keywords)
        for how in ({}, {"greedy": True}) if plays_greedily else ({},):
            _check_answers(agent, spec, how)


def _check_answers(agent: Agent, spec: EnvSpec, how: dict[str, bool]) -> None:
    """Refuses another number of answers than three, no action of the space, or another carry than the first."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    field = f"{type(agent).__name__}.act{' (greedy=True)' if how else ''}"

    def answers(key: Any) -> Any:
        state, obs = agent.init(spec, key), spec.observation_space.sample(key)
        carry = agent.initial_carry(state)
        made = agent.act(state, obs, carry, key, **how)
        action, carried, _ = parts_of(
            field, made, 3, "return three things: the action, what is carried on, and extras or None"
        )
        return action, carried, carry

    action, carry, first = eqx.filter_eval_shape(answers, key)
    check_action(field, action, spec.action_space)
    if jax.tree.structure(carry) != jax.tree.structure(first) or shapes(carry) != shapes(first):
        raise ConfigError(f"{field}'s carry", told(carry), f"carry on what is like `initial_carry`: {told(first)}")


def has_own_methods(agent: Agent, collector: object, methods: dict[str, str]) -> bool:
    """Returns whether some of the methods that a collector asks of an agent are the person's own.

    Args:
        agent: the agent.
        collector: what it learns from, for the message.
        methods: what each takes and gives, by its name.

    Raises:
        ConfigError: naming the first that is missing.
    """
    for name, does in methods.items():
        if not callable(getattr(agent, name, None)):
            fix = f"one that learns from {type(collector).__name__} has {name}{does}"
            raise ConfigError(f"{type(agent).__name__}.{name}", ..., fix)
    return not all(is_ours(getattr(type(agent), name, agent)) for name in ("init", *methods))


def check_action(field: str, action: Any, space: Space) -> None:
    """Refuses what is no action of a space, from its shapes.

    Raises:
        ConfigError: with the space.
    """
    if not is_like_action(action, space, jax.eval_shape(lambda: jax.random.key(0))):
        raise ConfigError(field, told(action), f"it should give an action of {shorten(space)}")


def is_like_action(given: Any, space: Space, key: Any) -> bool:
    """Returns whether something has the structure and shapes of an action, and whole numbers where that has some."""
    wanted = jax.eval_shape(space.sample, key)

    def alike(leaf: Any, like: Any) -> bool:
        return np.shape(leaf) == like.shape and np.result_type(leaf).kind in KINDS[like.dtype.kind]

    return jax.tree.structure(given) == jax.tree.structure(wanted) and jax.tree.all(jax.tree.map(alike, given, wanted))


def told(given: Any) -> Any:
    """Returns dtype and shape of each part of what was given in place of something else, for a message."""

    def word(leaf: Any) -> str:
        known = hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)
        return f"{np.result_type(leaf)}{list(np.shape(leaf))}" if known else shorten(leaf)

    return jax.tree.map(word, given)
