"""Checks an own agent's fields: numbers that have to be known, and structure that no program can be known by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from ...core.agent import Agent
from ...core.env import Env
from ...core.env_leaves import DECIDES, NO_HASH, culprits, field_of, has_hash, static_fields
from ...core.error_meanings import KNOWN_ERRORS, error_meaning
from ...core.errors import ConfigError
from ...core.ours import is_ours
from ..loop.iteration import shapes_of
from ..metrics.metric_sums import Recording
from ..population import is_leaf_number
from .collector_answers import check_answers
from .inherited_parts import check_parts


def check_agent_fields(agent: Agent) -> None:
    """Refuses an agent of one's own that has a field by which no compiled program can be known, and arrays for numbers.

    Raises:
        ConfigError: naming the first.
    """
    if is_ours(type(agent)):
        for path, leaf in jax.tree_util.tree_leaves_with_path(agent):
            if isinstance(leaf, np.ndarray | jax.Array) and leaf.ndim:
                name = field_of(path).rpartition(".")[2]
                raise ConfigError(name, leaf, f'use one number; sweep={{"{name}": [...]}} trains several agents')
        return
    for problem in _unhashable(agent):
        raise ConfigError("agent", type(agent).__name__, problem)


def _unhashable(agent: Agent) -> Iterator[str]:
    """Gives one line for each field that is no number and has no hash: an agent's structure is hashed as a whole."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(agent):
        if isinstance(leaf, np.ndarray | jax.Array) and (leaf.ndim or not is_leaf_number(leaf)):
            yield f"{field_of(path)} is an array: use one number, or a tuple of numbers in a static field"
        elif not is_leaf_number(leaf) and not has_hash(leaf):
            yield f"{field_of(path)} is a {type(leaf).__name__}, {NO_HASH}: use a tuple in a static field"
    for field, value in static_fields(agent):
        if not has_hash(value):
            yield f"{field} is a {type(value).__name__}, {NO_HASH}: use a tuple of numbers and text"
    if not has_hash(eqx.partition(agent, is_leaf_number)[1]):
        yield f"a field of it is a list or a dict, {NO_HASH}: use a tuple in a static field"


def check_agent_numbers(agent: Agent, env: Env, recording: Recording) -> None:
    """Refuses an agent of one's own that needs to know a number to be traced, or whose collector gives wrong answers.

    Members of a population may differ in its numbers, so that they are arguments of the program. The trace is the one
    that is needed next.

    Raises:
        ConfigError: naming the fields, or the collector's method. Other errors of the person's code are raised as they
            are.
    """
    if is_ours(type(agent)):
        return
    try:
        shapes = shapes_of(agent, env, recording)
    except Exception as error:  # the user's code
        known = isinstance(error, ConfigError)
        if known and not isinstance(error.given, Tracer):
            raise
        _check_collected(agent, env)
        fields = _deciding(agent, env, recording)
        if not fields and isinstance(error, KNOWN_ERRORS):
            raise ConfigError("agent", type(agent).__name__, error_meaning(error)) from error
        if not fields:
            raise
        raise ConfigError("agent", type(agent).__name__, f"{', '.join(fields)} {DECIDES}") from error
    check_answers(agent.learns_from, shapes.state, shapes.data)


def _check_collected(agent: Agent, env: Env) -> None:
    """Refuses parts of an iteration that inherited methods do not take; silent of what fails itself."""
    try:
        check_parts(agent, env)
    except ConfigError:
        raise
    except Exception:  # the user's code, of which more is told by whoever asks
        return


def _deciding(agent: Agent, env: Env, recording: Recording) -> list[str]:
    """Returns the fields whose numbers have to be known; none, where it cannot be traced even if all are."""
    paths, tree = jax.tree_util.tree_flatten_with_path(agent)
    numbers = [i for i, (_, leaf) in enumerate(paths) if is_leaf_number(leaf) and not eqx.is_array(leaf)]

    def fails(unknown: list[int]) -> bool:
        traced: Any = jax.tree.unflatten(tree, [i in unknown for i in range(len(paths))])
        try:
            shapes_of(agent, env, recording, traced)
        except Exception:  # the user's code
            return True
        return False

    return [] if fails([]) else [field_of(paths[i][0]) for i in culprits(numbers, fails)]
