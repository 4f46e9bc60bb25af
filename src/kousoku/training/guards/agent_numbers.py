"""Checks an own agent's fields: numbers that have to be known, and structure that no program can be known by."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax

from ...core.agent import Agent
from ...core.env import Env
from ...core.env_leaves import DECIDES, unhashable_leaves
from ...core.errors import ConfigError
from ...core.known_step import is_ours
from ..loop.iteration import shapes_of
from ..metrics.metric_sums import Recording
from ..population import is_leaf_number


def check_agent_fields(agent: Agent) -> None:
    """Refuses an agent of one's own that has a field by which no compiled program can be known.

    Raises:
        ConfigError: naming the first.
    """
    if not is_ours(type(agent)):
        for problem in unhashable_leaves(agent, is_leaf_number):
            raise ConfigError("agent", type(agent).__name__, problem)


def check_agent_numbers(agent: Agent, env: Env, recording: Recording) -> None:
    """Refuses an agent of one's own that needs to know a number to be traced.

    Members of a population may differ in its numbers, so that they are arguments of the program. The trace is the one
    that is needed next.

    Raises:
        ConfigError: naming the fields. Other errors of the agent's code are raised as they are.
    """
    if is_ours(type(agent)):
        return
    try:
        shapes_of(agent, env, recording)
    except ConfigError:
        raise
    except Exception as error:  # the user's code
        fields = _deciding(agent, env, recording)
        if not fields:
            raise
        raise ConfigError("agent", type(agent).__name__, f"{', '.join(fields)} {DECIDES}") from error


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

    if fails([]):
        return []
    return [jax.tree_util.keystr(paths[i][0]).lstrip(".") for i in numbers if fails([i])]
