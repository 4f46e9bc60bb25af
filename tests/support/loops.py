"""Compiled loops for tests: members of one population in one environment, nothing recorded but what is asked for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from fast_compile import FAST_COMPILE, USER_COMPILE
from jax import lax

from kousoku.agents.tabular.agent import TabularAgent
from kousoku.collectors.slot import plain_slots
from kousoku.collectors.streams import IterationKeys, member_key, step_keys
from kousoku.core.agent import Agent
from kousoku.core.collector import SlotFunctions, TrainState
from kousoku.core.env import Env
from kousoku.core.timestep import Transition
from kousoku.training.loop.iteration import start
from kousoku.training.metrics.metric_sums import Recording

NOTHING = Recording(returns=False)
LONG_RUN = 1_000_000


def one_step(
    agent: Agent, slots: SlotFunctions, state: TrainState, keys: IterationKeys
) -> tuple[TrainState, Transition, dict[str, Any]]:
    """A step of an online agent, with what it learned from and what it told. Traceable."""
    collected, transition, _ = agent.learns_from.collect(agent, slots, state, keys, None)
    learned, metrics, _ = agent.learns_from.learn(agent, collected, transition, keys, None)
    return learned, transition, metrics


def run(agent: Agent, env: Env, key: Any, steps: int) -> tuple[TrainState, Transition, dict[str, Any]]:
    """One member: its state after `steps`, and the transition and the metrics of each step, [T, ...]. Traceable."""
    slots = plain_slots(env)

    def body(state: TrainState, step: Any) -> tuple[TrainState, tuple[Transition, dict[str, Any]]]:
        state, transition, metrics = one_step(agent, slots, state, step_keys(key, step))
        return state, (transition, metrics)

    times = jnp.arange(1, steps + 1, dtype=jnp.int32)
    state, (transitions, metrics) = lax.scan(body, start(agent, env, slots, key, NOTHING), times)
    return state, transitions, metrics


def trace(agent: Agent, env: Env, steps: int, seed: int = 0) -> tuple[TrainState, Transition, dict[str, Any]]:
    """`run` for one seed, compiled."""
    return jax.jit(lambda key: run(agent, env, key, steps), compiler_options=FAST_COMPILE)(member_key(jnp.int32(seed)))


def learned_q(agent: TabularAgent, env: Env, steps: int, seeds: int = 1) -> np.ndarray:
    """The action values after `steps` in float64, one member for each seed: [seeds, S, A]."""
    return learned_q_everywhere(agent, [env], steps, seeds)[0]


def learned_q_everywhere(agent: TabularAgent, envs: list[Any], steps: int, seeds: int = 1) -> np.ndarray:
    """`learned_q` in environments of equal shapes and structure, all in one program: [envs, seeds, S, A]."""
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *envs)

    def member(env: Any, seed: Any) -> Any:
        return agent.q_values(run(agent, env, member_key(seed), steps)[0].agent)

    over_seeds = jax.vmap(member, in_axes=(None, 0))
    options = USER_COMPILE if steps * seeds * len(envs) >= LONG_RUN else FAST_COMPILE
    everywhere = jax.jit(jax.vmap(over_seeds, in_axes=(0, None)), compiler_options=options)
    return np.asarray(everywhere(stacked, jnp.arange(seeds, dtype=jnp.int32)), np.float64)
