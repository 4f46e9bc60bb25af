"""Learning from rollouts: T steps of B environments made by the present policy, then an update (on-policy)."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core.collector import Collector, SlotFunctions, Steps, TrainState, largest_divisor
from ..core.errors import check_size
from ..core.timestep import Rollout
from ..core.update_check import checked_update
from .acting import act_and_advance, begin_slots, slot_numbers
from .slot import EnvSlot
from .streams import IterationKeys, slot_keys

SAMPLES_PER_DEVICE = 256
"""Samples of a gradient step that are worth a device of their own: fewer are learned from in the time that a mean over
devices takes (two cores, two layers of 64 units)."""


class RolloutCollector(Collector):
    """A collector of rollouts: T steps of B environments, and an update of what is made of them.

    Attributes:
        num_envs: B, environments that act at once.
        num_steps: T, steps of each between two updates.
        minibatch: samples that one gradient is the mean over; by default all of a rollout.
        shares: into how many equal shares the environments, and whatever else is divided with them, can be divided; by
            default B.
        return_discount: gamma of the running discounted return that each step of a rollout tells, for a scale of
            rewards; None where nobody asks for it.
        staggered: whether the slots' first episodes begin at ages that are spread over the time limit, so that episodes
            do not end together. They begin at 0 where a rollout is as long as the time limit: each slot ends one in it.
        counts_steps: whether each step tells, beside its discounted return, what that would be of a reward of 1.
    """

    num_envs: int = eqx.field(static=True)
    num_steps: int = eqx.field(static=True)
    minibatch: int | None = eqx.field(static=True, default=None)
    shares: int | None = eqx.field(static=True, default=None)
    return_discount: float | Float[Array, ""] | None = None
    staggered: bool = eqx.field(static=True, default=True)
    counts_steps: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_size("num_envs", self.num_envs)
        check_size("num_steps", self.num_steps)

    @property
    def gradient_samples(self) -> int:
        return self.minibatch or self.iteration_steps

    def num_devices(self, available: int) -> int:
        return largest_divisor(
            self.shares or self.num_envs, max(1, min(self.gradient_samples // SAMPLES_PER_DEVICE, available))
        )

    def init(self, agent: Any, agent_state: Any, slots: SlotFunctions, key: PRNGKeyArray) -> tuple[Any, Any, Any]:
        rollout = self.num_steps if self.staggered else None
        slot, carry = begin_slots(agent, agent_state, slots, key, self.num_envs, rollout)
        zeros = jnp.zeros(self.num_envs, jnp.float32)
        sums = (zeros, zeros) if self.counts_steps else zeros
        return slot, carry, () if self.return_discount is None else sums

    def keys(self, key: PRNGKeyArray, iteration: Int[Array, ""], num_slots: int, axis: str | None) -> IterationKeys:
        return slot_keys(key, iteration, self.num_steps, slot_numbers(num_slots, axis))

    def learn(
        self, agent: Any, state: TrainState, data: Any, keys: IterationKeys, axis: str | None
    ) -> tuple[TrainState, dict[str, Any], None]:
        learned, metrics = checked_update(
            agent, state.agent, agent.update(state.agent, data, keys.update, axis=axis), axis
        )
        return dataclasses.replace(state, agent=learned), metrics, None


class Rollouts(RolloutCollector):
    """T steps of B environments at a time.

    `update` gets a `Rollout`.

    Attributes:
        num_envs, num_steps, minibatch, shares, return_discount, staggered, counts_steps: as of `RolloutCollector`.
    """

    def acting_keys(self, keys: IterationKeys) -> Any:
        return keys.act

    def give_up_episodes(self, data: Any, iteration: Int[Array, ""]) -> Any:
        return jax.tree.map(jnp.zeros_like, data)

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: IterationKeys, axis: str | None
    ) -> tuple[TrainState, Rollout, Steps]:
        (slot, carry, returns), rollout, steps = make_rollout(agent, slots, state, keys, self.return_discount)
        return dataclasses.replace(state, slots=slot, carry=carry, data=returns), rollout, steps


def add_reward(discount: float | Array) -> Callable[[Any, Array, Array], tuple[Any, Any]]:
    """Returns R <- gamma R + r: what is carried on, 0 after an episode's end, and R itself.

    Where a pair is carried on, its second is the same of a reward of 1.
    """

    def add(sums: Any, reward: Array, ended: Array) -> tuple[Any, Any]:
        rewards = (reward, 1.0) if isinstance(sums, tuple) else reward
        discounted = jax.tree.map(lambda total, reward: discount * total + reward, sums, rewards)
        return jax.tree.map(lambda total: jnp.where(ended, 0.0, total), discounted), discounted

    return add


def make_rollout(
    agent: Any,
    slots: SlotFunctions,
    state: TrainState,
    keys: IterationKeys,
    return_discount: float | Float[Array, ""] | None,
) -> tuple[tuple[EnvSlot, Any, Any], Rollout, Steps]:
    """Takes T steps in all slots, in the policy of the agent's present state.

    Args:
        agent: who acts.
        slots: how they advance.
        state: before the first step.
        keys: of each step and slot, [T, B].
        return_discount: gamma of the running discounted return, which is the state's data; None for none.

    Returns:
        (slots, carry, data) after the last step; the rollout; its steps, to be recorded.
    """
    after, (made, discounted, end) = act_and_advance(
        agent, slots, state, keys, None if return_discount is None else add_reward(return_discount)
    )
    rollout = Rollout(
        made.obs,
        made.action,
        made.extras,
        made.reward,
        made.terminated,
        made.truncated,
        made.next_obs,
        state.carry,
        *(discounted if isinstance(discounted, tuple) else (discounted,)),
    )
    return after, rollout, Steps(made.obs, made.action, made.reward, made.info, end)
