"""How an agent of any kind is asked for an action: for evaluations and films."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, PRNGKeyArray, PyTree

from ..core.agent import Agent, RolloutAgent
from ..core.spaces import Space
from ..nn import clip_to


def first_memory(agent: Agent | RolloutAgent, state: Any) -> Any:
    """What an agent keeps in mind at the start of an episode; nothing, for one that learns step by step."""
    return agent.start(state) if isinstance(agent, RolloutAgent) else ()


def choose(
    agent: Agent | RolloutAgent, state: Any, obs: PyTree[Array], memory: Any, key: PRNGKeyArray, space: Space
) -> tuple[PyTree[Array], Any]:
    """The greedy action as the environment takes it, and the memory for the next step."""
    if not isinstance(agent, RolloutAgent):
        return agent.act(state, obs, key, greedy=True)[0], memory
    action, memory, _ = agent.act(state, obs, memory, key, greedy=True)
    return clip_to(space, action), memory
