"""Functions that ask an agent for an action, for evaluations, films and policies."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Array, PRNGKeyArray, PyTree

from ...core.agent import Agent
from ...core.spaces import Space
from ...nn import clip_to


def act_greedily(
    agent: Agent, state: Any, obs: PyTree[Array], carry: Any, key: PRNGKeyArray, space: Space
) -> tuple[PyTree[Array], Any]:
    """Returns the greedy action as the environment takes it, and the carry for the next step."""
    action, carry, _ = agent.act(state, obs, carry, key, greedy=True)
    return clip_to(space, action), carry


@eqx.filter_jit
def begin_carry(agent: Agent, state: Any) -> PyTree[Array]:
    """Returns what the agent carries before an episode's first step; by a program, so that nothing moves unasked."""
    return agent.initial_carry(state)
