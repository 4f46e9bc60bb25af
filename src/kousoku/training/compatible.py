"""Compatibility of agents and environments: which agents can learn in an environment."""

from __future__ import annotations

import functools
import itertools

import jax

from ..agents import AGENTS
from ..core.collector import acting_key_shapes
from ..core.env import EnvSpec
from ..core.errors import ConfigError
from ..core.leaves import key_like
from ..core.spaces import Box, Dict, Discrete, MultiDiscrete, Space


def fitting_agents(spec: EnvSpec, on_host: bool = False) -> list[str]:
    """Returns the ids of the agents that can learn in an environment: whose `init` takes its spaces.

    What `init` makes is only traced; nothing is compiled.

    Args:
        spec: the environment's.
        on_host: whether it runs on the host, where those cannot learn whose programs have to step it.

    Examples:
        >>> import kousoku
        >>> fitting_agents(kousoku.make("Pendulum-v1").spec)
        ['a2c', 'apg', 'ars', 'bc', 'ddpg', 'iql', 'openai_es', 'pgpe', 'ppo', 'sac', 'sep_cma_es', 'td3', 'td3_bc']
    """
    there = [id for id in AGENTS.ids() if fits(id, spec)]
    return [id for id in there if not on_host or acting_key_shapes(AGENTS.make(id).learns_from) is not None]


def fitting_spaces(id: str) -> tuple[list[str], list[str]]:
    """Returns the kinds of observations, and of actions, that an agent can learn with, by small spaces of each kind.

    Examples:
        >>> fitting_spaces("td3")
        (['Discrete', 'MultiDiscrete', 'Box', 'Dict'], ['Box'])
    """
    one = Discrete(1)
    observations: list[Space] = [Discrete(3), MultiDiscrete((2, 3)), Box(-1.0, 1.0, (3,)), Dict({"one": one})]
    actions: list[Space] = [Discrete(2), MultiDiscrete((2, 3)), Box(-1.0, 1.0, (2,))]
    pairs = [pair for pair in itertools.product(observations, actions) if fits(id, EnvSpec(*pair))]
    if not pairs and fits(id, EnvSpec(one, actions[0])):
        return ["one, as of a bandit"], [type(actions[0]).__name__]
    kinds = [[type(space).__name__ for space in spaces] for spaces in zip(*pairs, strict=True)]
    told, chosen = map(dict.fromkeys, kinds or ([], []))
    return list(told), list(chosen)


def fits(id: str, spec: EnvSpec) -> bool:
    """Returns whether an agent can learn in an environment of these spaces."""
    try:
        jax.eval_shape(functools.partial(AGENTS.make(id).init, spec), key_like())
    except ConfigError:
        return False
    return True
