"""One step of one lane: the agent acts, the environment answers, the agent learns. Every loop is made of this."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Int, Integer, PRNGKeyArray

from ..core.agent import Agent
from ..core.env import Env
from ..core.timestep import Transition
from .rollout import EpisodeEnd, Lane, advance, begin
from .tally import Record, Tally, count, empty_tally


class Learner(eqx.Module):
    """Everything that one lane of a training run carries from step to step.

    Attributes:
        agent_state: what the agent has learned.
        lane: its environment.
        tally: what was recorded since the last report.
    """

    agent_state: Any
    lane: Lane
    tally: Tally


def start(agent: Agent, env: Env, key: PRNGKeyArray, record: Record) -> Learner:
    """A lane before its first step."""
    agent_key, env_key = jax.random.split(key)
    agent_state = agent.init(env.spec, agent_key)
    lane = begin(env, env_key)
    return Learner(agent_state, lane, empty_tally(agent, env, agent_state, lane, record))


def interact(
    agent: Agent, env: Env, learner: Learner, key: PRNGKeyArray
) -> tuple[Learner, Transition, EpisodeEnd, dict]:
    """Act, step, learn, with a key for each."""
    act_key, env_key, update_key = purposes(key)
    action, _ = agent.act(learner.agent_state, learner.lane.obs, act_key)
    lane, transition, end = advance(env, learner.lane, action, env_key)
    agent_state, metrics = agent.update(learner.agent_state, transition, update_key)
    tally = count(learner.tally, transition, end, metrics)
    return Learner(agent_state, lane, tally), transition, end, metrics


def purposes(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray, PRNGKeyArray]:
    """Keys of a step for acting, for the environment and for learning.

    Folded in one by one instead of split: the compiler drops those that nothing uses.
    """
    return jax.random.fold_in(key, 0), jax.random.fold_in(key, 1), jax.random.fold_in(key, 2)


def lane_key(seed: Integer[Array, ""]) -> PRNGKeyArray:
    """The key that everything random in a lane comes from."""
    return jax.random.key(seed)


def step_key(key: PRNGKeyArray, step: Int[Array, ""]) -> PRNGKeyArray:
    """The key of one step of a lane's life: it depends on the lane's key and the step's number, on nothing else."""
    return jax.random.fold_in(key, step)
