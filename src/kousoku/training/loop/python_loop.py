"""The loop that one can read, print in and step through."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...collectors.env_kernel import partition_env
from ...collectors.slot import advance_clipped, plain_slots, told_to_agent
from ...collectors.streams import IterationKeys, epoch_keys, step_keys
from ...core.agent import Agent
from ...core.collector import Steps, TrainState
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.ours import is_ours
from ...ops.trees import select, to_device
from ..metrics.metric_sums import Recording, add_iteration, end_block
from ..population import Population
from .base import TrainLoop, place_of
from .iteration import start


class PythonLoop(TrainLoop):
    """One member after the other, one step after the other, each observation and action checked.

    It is for agents that learn online. The pieces are compiled; under `jax.disable_jit()` they are not, and breakpoints
    inside agents and environments work.
    """

    CALL = 200

    def __init__(self, population: Population, recording: Recording) -> None:
        collector = population.structure.learns_from
        if collector.batched or not is_ours(type(collector)):  # what Online does is written out here
            own = (
                "" if collector.batched else f" as Online gives it, and {type(collector).__name__} is another collector"
            )
            fix = f"the readable loop is for agents that learn from one step at a time{own}; use the compiled loop"
            raise ConfigError("loop", "python", fix)
        self.population, self.recording = population, recording
        self.agents = [population.agent(i) for i in range(population.size)]
        self.envs = [_with_arrays(population.env(i)) for i in range(population.size)]

    def start(self, trained: Any = None) -> TrainState:
        @eqx.filter_jit
        def begin(agent: Agent, env: Env, key: Any, trained: Any) -> TrainState:
            return start(agent, env, plain_slots(env), key, self.recording, trained)

        members = zip(self.agents, self.envs, self.population.keys, strict=True)
        return _stack([begin(agent, env, key, trained) for agent, env, key in members])

    @property
    def iteration_steps(self) -> int:
        return 1

    def run(self, state: TrainState, at: int, until: int) -> tuple[TrainState, int]:
        place = place_of(self.population.structure.learns_from, at)
        reached = min(until, at + self.CALL, at + place.left)
        keys = self.population.keys
        if place.epoch:
            keys = epoch_keys(keys, to_device(np.uint32(place.epoch)))
        done = []
        for i, (agent, env, key) in enumerate(zip(self.agents, self.envs, keys, strict=True)):
            one = jax.tree.map(lambda leaf, i=i: jax.lax.index_in_dim(leaf, i, keepdims=False), state)
            for step in range(reached - at):
                one = self.step(agent, env, one, _keys(key, to_device(np.int32(place.number + step))))
            done.append(one)
        return _stack(done), reached

    def step(self, agent: Agent, env: Env, state: TrainState, keys: IterationKeys) -> TrainState:
        """Takes one step as one would write it by hand."""
        action, carry, extras = _act(agent, state.agent, state.slots.obs, state.carry, keys.act)
        check_in_space("action", env.action_space, action)
        slot, transition, end = _advance(env, state.slots, action, keys.env)
        check_in_space("observation", env.observation_space, transition.next_obs)
        check_finite("reward", transition.reward)
        told = transition, action, extras
        learned, metrics, carry = _update(agent, state.agent, told, carry, end.ended, keys.update)
        steps = Steps(transition.obs, action, transition.reward, transition.info, end)
        return TrainState(learned, slot, carry, state.data, _add(state.metrics, steps, metrics))


@eqx.filter_jit
def _update(agent: Agent, state: Any, told: Any, carry: Any, ended: Any, key: Any) -> tuple[Any, Any, Any]:
    """Returns what is learned of a step, its metrics, and the carry before the next step."""
    learned, metrics = agent.update(state, told_to_agent(*told), key)
    return learned, metrics, select(ended, agent.initial_carry(state), carry)


_keys = eqx.filter_jit(step_keys)
_act = eqx.filter_jit(lambda agent, state, obs, carry, key: agent.act(state, obs, carry, key))
_advance = eqx.filter_jit(advance_clipped)
_add = eqx.filter_jit(lambda sums, steps, metrics: end_block(add_iteration(sums, steps, metrics, None, None)))


def check_in_space(what: str, space: Any, value: Any) -> None:
    """Refuses a value outside its space: compiled code would clamp the index and go on."""
    if not space.contains(jax.device_get(value)):
        raise ConfigError(what, jax.device_get(value), f"the {what} space is {space}")


def check_finite(what: str, value: Any) -> None:
    """Refuses NaN and infinity."""
    if not np.isfinite(jax.device_get(value)):
        raise ConfigError(what, float(value), f"the environment must give a finite {what}")


def _with_arrays(env: Env) -> Env:
    """Returns the environment with its numbers as arrays, so that what is compiled does for other numbers too."""
    arrays, structure = partition_env(env)
    return structure.with_arrays(arrays)


def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
