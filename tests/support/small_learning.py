"""Agents that learn small problems in one compiled program, several seeds side by side."""

from typing import Any

import equinox as eqx
import jax

from kousoku.collectors.slot import kernel_slots
from kousoku.core.collector import TrainState


@eqx.filter_jit
def learned(agent: Any, env: Any, keys: Any, iterations: int) -> Any:
    """The agent's state of every key after so many iterations of its collector."""
    collector, slots = agent.learns_from, kernel_slots(env)

    def of_key(key: Any) -> Any:
        def iteration(i: Any, state: TrainState) -> TrainState:
            now = collector.keys(key, i, collector.num_envs, None)
            state, data, _ = collector.collect(agent, slots, state, now, None)
            return collector.learn(agent, state, data, now, None)[0]

        first = agent.init(env.spec, key)
        state = TrainState(first, *collector.init(agent, first, slots, key), ())
        return jax.lax.fori_loop(0, iterations, iteration, state).agent

    return jax.vmap(of_key)(keys)


def values_of(network: Any) -> Any:
    """Action values of states 0 and 1 of each key's network, [keys, 2, A]."""
    states = jax.numpy.arange(2, dtype=jax.numpy.int32)
    return jax.vmap(lambda one: jax.vmap(one)(states))(network)
