"""Fit of agents and environments: which agents can learn in an environment."""

from __future__ import annotations

import functools

import jax

from ..agents import AGENTS
from ..core.env import EnvSpec
from ..core.errors import ConfigError


def fitting_agents(spec: EnvSpec) -> list[str]:
    """Returns the ids of the agents that can learn in an environment: whose `init` takes its spaces.

    What `init` makes is only traced; nothing is compiled.

    Examples:
        >>> import kousoku
        >>> fitting_agents(kousoku.make("Pendulum-v1").spec)
        ['a2c', 'apg', 'ars', 'bc', 'ddpg', 'iql', 'openai_es', 'pgpe', 'ppo', 'sac', 'sep_cma_es', 'td3', 'td3_bc']
    """
    return [id for id in AGENTS.ids() if _fits(id, spec)]


def _fits(id: str, spec: EnvSpec) -> bool:
    key = jax.eval_shape(lambda: jax.random.key(0))
    try:
        jax.eval_shape(functools.partial(AGENTS.make(id).init, spec), key)
    except ConfigError:
        return False
    return True
