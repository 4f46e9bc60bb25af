"""Names the method of a collector of one's own whose answer the library's methods, which it inherits, do not take."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ...core.agent import Agent
from ...core.collector import TrainState
from ...core.env import Env
from ...core.leaves import key_like
from ..loop.iteration import slots_of
from .collector_answers import check_like_inherited


def check_parts(agent: Agent, env: Env) -> None:
    """Refuses slots, carry, data, keys or experience of another form than that which inherited methods take.

    It is to be asked of an agent whose first iteration could not be traced.

    Raises:
        ConfigError: naming the method that gives them. Other errors of a person's own code are raised as they are.
    """
    collector, key = agent.learns_from, key_like()
    slots = slots_of(agent, env)

    def begun(kind: Any, key: Any) -> dict[str, Any]:
        made = kind.init(collector, agent, agent.init(env.spec, key), slots, key)
        return dict(zip(("slots", "carry", "data"), made, strict=True))

    def keys(kind: Any, key: Any) -> Any:
        return kind.keys(collector, key, jnp.int32(0), collector.num_envs, None)

    def collected(kind: Any, key: Any) -> Any:
        own = type(collector)
        state = TrainState(agent=agent.init(env.spec, key), metrics=(), **begun(own, key))
        return kind.collect(collector, agent, slots, state, keys(own, key), None)[1]

    for name, made, takers in (("init", begun, ("collect",)), ("keys", keys, ("collect", "learn"))):
        check_like_inherited(collector, lambda kind, made=made: eqx.filter_eval_shape(made, kind, key), name, takers)
    check_like_inherited(collector, lambda kind: eqx.filter_eval_shape(collected, kind, key), "collect", ("learn",))
