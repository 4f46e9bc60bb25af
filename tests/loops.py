"""Compiled loops for tests: lanes of one agent in one environment, nothing recorded but what is asked for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from haste import CARE, HASTE
from jax import lax

from kousoku.core.agent import Agent, TabularAgent
from kousoku.core.env import Env
from kousoku.core.timestep import Transition
from kousoku.training.interaction import Learner, interact, lane_key, start, step_keys
from kousoku.training.tally import Record

NOTHING = Record(returns=False)
LONG_RUN = 1_000_000


def run(agent: Agent, env: Env, key: Any, steps: int) -> tuple[Learner, Transition, dict[str, Any]]:
    """One lane: the learner after `steps`, and the transition and the metrics of each step, [T, ...]. Traceable."""
    learner = start(agent, env, key, NOTHING)

    def body(learner: Learner, step: Any) -> tuple[Learner, tuple[Transition, dict[str, Any]]]:
        learner, transition, _, metrics = interact(agent, env, learner, step_keys(key, step))
        return learner, (transition, metrics)

    learner, (transitions, metrics) = lax.scan(body, learner, jnp.arange(1, steps + 1, dtype=jnp.int32))
    return learner, transitions, metrics


def trace(agent: Agent, env: Env, steps: int, seed: int = 0) -> tuple[Learner, Transition, dict[str, Any]]:
    """`run` for one seed, compiled."""
    return jax.jit(lambda key: run(agent, env, key, steps), compiler_options=HASTE)(lane_key(jnp.int32(seed)))


def learned_q(agent: TabularAgent, env: Env, steps: int, seeds: int = 1) -> np.ndarray:
    """The action values after `steps` in float64, one lane for each seed: [seeds, S, A]."""
    return learned_q_everywhere(agent, [env], steps, seeds)[0]


def learned_q_everywhere(agent: TabularAgent, envs: list[Any], steps: int, seeds: int = 1) -> np.ndarray:
    """`learned_q` in environments of equal shapes and structure, all in one program: [envs, seeds, S, A]."""
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *envs)

    def lane(env: Any, seed: Any) -> Any:
        return agent.q_values(run(agent, env, lane_key(seed), steps)[0].agent_state)

    over_seeds = jax.vmap(lane, in_axes=(None, 0))
    options = CARE if steps * seeds * len(envs) >= LONG_RUN else HASTE
    everywhere = jax.jit(jax.vmap(over_seeds, in_axes=(0, None)), compiler_options=options)
    return np.asarray(everywhere(stacked, jnp.arange(seeds, dtype=jnp.int32)), np.float64)
