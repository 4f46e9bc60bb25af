"""Online learning: one step of one environment, one update."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Int, PRNGKeyArray

from ..core.collector import Collector, SlotFunctions, Steps, TrainState
from ..core.timestep import Transition
from ..core.update_check import checked_update
from ..ops.trees import select
from .slot import told_to_agent
from .streams import IterationKeys, Stream, step_keys


class Online(Collector):
    """One transition at a time: the agent acts, the environment answers, the agent learns.

    `update` gets the `Transition` just made, with the extras of `act`. An iteration is so small that training compiles
    all of a member's steps as one kernel, where that is faster.
    """

    num_envs: int = eqx.field(static=True, default=1, init=False)
    num_steps: int = eqx.field(static=True, default=1, init=False)

    @property
    def batched(self) -> bool:
        return False

    @property
    def size(self) -> tuple[str, str]:
        return "agent", "one environment x one step"

    def init(self, agent: Any, agent_state: Any, slots: SlotFunctions, key: PRNGKeyArray) -> tuple[Any, Any, Any]:
        slot = slots.begin(jax.random.fold_in(key, Stream.FIRST_EPISODE))
        return slot, agent.initial_carry(agent_state), ()

    def keys(self, key: PRNGKeyArray, iteration: Int[Array, ""], num_slots: int, axis: str | None) -> IterationKeys:
        return step_keys(key, iteration)

    def acting_keys(self, keys: IterationKeys) -> Any:
        return keys.act

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: IterationKeys, axis: str | None
    ) -> tuple[TrainState, Transition, Steps]:
        if slots.taken is not None:
            slot, carry, made, end = slots.taken.slots, slots.taken.carry, slots.taken.made, slots.taken.end
        else:
            action, carry, extras = agent.act(state.agent, state.slots.obs, state.carry, keys.act)
            slot, made, end = slots.advance(state.slots, action, keys.env)
            made = told_to_agent(made, action, extras)
            carry = select(end.ended, agent.initial_carry(state.agent), carry)
        steps = Steps(made.obs, made.action, made.reward, made.info, end)
        return dataclasses.replace(state, slots=slot, carry=carry), made, steps

    def learn(
        self, agent: Any, state: TrainState, data: Transition, keys: IterationKeys, axis: str | None
    ) -> tuple[TrainState, dict[str, Any], None]:
        learned, metrics = checked_update(agent, state.agent, agent.update(state.agent, data, keys.update))
        return dataclasses.replace(state, agent=learned), metrics, None
