"""Checks of what an agent of one's own answers, of which nothing has to run to be known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .agent import Agent
from .collector import Collector
from .env import EnvSpec
from .env_shapes import KNOWN_ERRORS, error_meaning, shapes
from .errors import ConfigError, check_takes, shorten
from .ours import is_ours
from .spaces import Discrete, Space
from .update_check import check_leaves, returned_parts

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
    _check_collector(agent)
    agent.learns_from.check_agent(agent, spec)
    if not is_ours(kind.update) and agent.learns_from.batched:
        check_takes(f"{kind.__name__}.update", agent.update, ("state", "data", "key"), ("axis",))
    if not is_ours(kind.init):
        field = f"{kind.__name__}.init"
        check_leaves(field, _traced(field, lambda key: agent.init(spec, key), key))
    if not is_ours(kind.act):
        keywords = ("greedy",) if plays_greedily else ()
        check_takes(f"{kind.__name__}.act", agent.act, ("state", "obs", "carry", "key"), keywords)
        for how in ({}, {"greedy": True}) if plays_greedily else ({},):
            _check_answers(agent, spec, how)
    if not is_ours(kind.q_values):
        _check_q_values(agent, spec)


def _check_collector(agent: Agent) -> None:
    """Refuses an agent whose `learns_from` is no collector.

    Raises:
        ConfigError: saying what to write.
    """
    given = agent.learns_from
    if not isinstance(given, Collector):
        is_kind = isinstance(given, type) and issubclass(given, Collector)
        fix = f"make one of it: {given.__name__}(...)" if is_kind else "use a collector, such as kousoku.Online()"
        raise ConfigError(f"{type(agent).__name__}.learns_from", given, fix)


def _traced(field: str, function: Callable[..., Any], *args: Any) -> Any:
    """Returns the shapes of what a method of an agent returns.

    Raises:
        ConfigError: where an error of JAX's has a meaning; others are raised as they are.
    """
    try:
        return eqx.filter_eval_shape(function, *args)
    except KNOWN_ERRORS as error:
        kind, _, method = field.partition(".")
        raise ConfigError("agent", kind, f"{method}: {error_meaning(error)}") from error


def _check_q_values(agent: Agent, spec: EnvSpec) -> None:
    """Refuses action values that are not those of every state and action.

    Raises:
        ConfigError: with the shape.
    """
    key, field = jax.eval_shape(lambda: jax.random.key(0)), f"{type(agent).__name__}.q_values"
    found = _traced(field, lambda key: agent.q_values(agent.init(spec, key)), key)
    states, actions = spec.observation_space, spec.action_space
    if found is None:
        return
    if not isinstance(states, Discrete) or not isinstance(actions, Discrete):
        raise ConfigError(
            field, dtypes_and_shapes(found), "observations and actions are not both Discrete: it should give None"
        )
    if shapes(found) != [("", (states.n, actions.n), "float32")]:
        raise ConfigError(field, dtypes_and_shapes(found), f"it should give float32[{states.n}, {actions.n}], or None")


def _check_answers(agent: Agent, spec: EnvSpec, how: dict[str, bool]) -> None:
    """Refuses another number of answers than three, no action of the space, or another carry than the first."""
    key = jax.eval_shape(lambda: jax.random.key(0))
    field = f"{type(agent).__name__}.act{' (greedy=True)' if how else ''}"

    def answers(key: Any) -> Any:
        state, obs = agent.init(spec, key), spec.observation_space.sample(key)
        carry = agent.initial_carry(state)
        made = agent.act(state, obs, carry, key, **how)
        action, carried, extras = returned_parts(
            field, made, 3, "return three things: the action, what is carried on, and extras or None"
        )
        check_leaves(field, extras, "extras")
        return action, carried, carry

    action, carry, first = _traced(field, answers, key)
    check_action(field, action, spec.action_space)
    if jax.tree.structure(carry) != jax.tree.structure(first) or shapes(carry) != shapes(first):
        raise ConfigError(
            f"{field}'s carry",
            dtypes_and_shapes(carry),
            f"carry on what is like `initial_carry`: {dtypes_and_shapes(first)}",
        )


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
        raise ConfigError(field, dtypes_and_shapes(action), f"it should give an action of {shorten(space)}")


def is_like_action(given: Any, space: Space, key: Any) -> bool:
    """Returns whether something has the structure and shapes of an action, and whole numbers where that has some."""
    wanted = jax.eval_shape(space.sample, key)

    def alike(leaf: Any, like: Any) -> bool:
        return np.shape(leaf) == like.shape and np.result_type(leaf).kind in KINDS[like.dtype.kind]

    return jax.tree.structure(given) == jax.tree.structure(wanted) and jax.tree.all(jax.tree.map(alike, given, wanted))


def dtypes_and_shapes(given: Any) -> Any:
    """Returns dtype and shape of each part of what was given in place of something else, for a message."""

    def word(leaf: Any) -> str:
        known = hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)
        return f"{np.result_type(leaf)}{list(np.shape(leaf))}" if known else shorten(leaf)

    return jax.tree.map(word, given)
