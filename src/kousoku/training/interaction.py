"""One step of one lane: the agent acts, the environment answers, the agent learns. Every loop is made of this."""

from __future__ import annotations

from enum import IntEnum
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


class StepKeys(eqx.Module):
    """The keys of one step: for acting, for the environment, for learning."""

    act: PRNGKeyArray
    env: PRNGKeyArray
    update: PRNGKeyArray


def start(agent: Agent, env: Env, key: PRNGKeyArray, record: Record) -> Learner:
    """A lane before its first step; `key` is the lane's."""
    agent_state = agent.init(env.spec, jax.random.fold_in(key, Stream.AGENT))
    lane = begin(env, jax.random.fold_in(key, Stream.FIRST_EPISODE))
    return Learner(agent_state, lane, empty_tally(agent, env, agent_state, lane, record))


def interact(agent: Agent, env: Env, learner: Learner, keys: StepKeys) -> tuple[Learner, Transition, EpisodeEnd, dict]:
    """Act, step, learn."""
    action, _ = agent.act(learner.agent_state, learner.lane.obs, keys.act)
    lane, transition, end = advance(env, learner.lane, action, keys.env)
    agent_state, metrics = agent.update(learner.agent_state, transition, keys.update)
    tally = count(learner.tally, transition, end, metrics)
    return Learner(agent_state, lane, tally), transition, end, metrics


class Stream(IntEnum):
    """What a lane's key is folded with: each use of randomness has a stream of its own."""

    AGENT = 0
    FIRST_EPISODE = 1
    ACT = 2
    ENV = 3
    UPDATE = 4


def lane_key(seed: Integer[Array, ""]) -> PRNGKeyArray:
    """The key that everything random in a lane comes from."""
    return jax.random.key(seed)


def step_keys(key: PRNGKeyArray, step: Int[Array, ""]) -> StepKeys:
    """The keys of one step of a lane's life: they depend on the lane's key and the step's number, on nothing else.

    The stream comes first and the step second, so that a loop over steps folds in streams once; keys that nothing uses
    are dropped by the compiler.
    """
    streams = (Stream.ACT, Stream.ENV, Stream.UPDATE)
    return StepKeys(*(jax.random.fold_in(jax.random.fold_in(key, stream), step) for stream in streams))
