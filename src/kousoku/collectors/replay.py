"""Learning from a replay buffer: a few steps of B environments, then gradient steps on minibatches of what is kept."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from ..compiler import kernel
from ..core.collector import (
    BufferUse,
    Collector,
    EpisodeEnd,
    EstimateSums,
    SlotFunctions,
    Steps,
    TrainState,
    largest_divisor,
)
from ..core.errors import ConfigError, check_flag, check_number, check_size
from ..core.spaces import LARGEST
from ..core.timestep import ReplayBatch, Transition
from ..core.update_check import checked_update
from ..ops.schedules import Linear, ScalarOrSchedule, check_schedule, counted, counted_before, value_at
from ..ops.trees import tree_bytes
from .acting import act_and_advance, are_staggered, begin_slots, slot_numbers, without_info
from .estimates import RunningEstimates, begin, compare, counted_states
from .n_step import n_step_transition, take
from .priorities import draw, empty_data, with_errors, with_new
from .return_scale import ReturnStatistics, add_rewards, no_returns, scale_of
from .slot import staggered_ages
from .streams import IterationKeys, slot_keys
from .updates import make_updates

SAMPLES_PER_DEVICE = 64
"""Samples of a gradient step that are worth a device of their own. Fewer than of a rollout: all gradient steps of a
round are one kernel, in which devices meet."""


class ReplayKeys(eqx.Module):
    """The random keys of one iteration.

    Attributes:
        steps: keys of acting, of the environments and of learning.
        iteration: how many were made before: it tells where in the buffer the next steps go.
    """

    steps: IterationKeys
    iteration: Int[Array, ""]


class ReplayData(eqx.Module):
    """The data that a replay buffer's collector keeps from iteration to iteration.

    Attributes:
        buffer: transitions [B, C, ...], or these and their priorities.
        estimates: [B] of the episodes on their way; None where the agent expects nothing.
        returns: [B] what rewards are scaled by; None where they are not.
    """

    buffer: Any
    estimates: RunningEstimates | None
    returns: ReturnStatistics | None = None


class Replay(Collector):
    """Minibatches of a buffer that keeps the last `capacity` transitions, drawn with replacement.

    Each slot has a ring of its own within the buffer, so that devices that share the slots share the buffer. `update`
    gets a `ReplayBatch`. Draws are uniform; or `prioritised`, in proportion to what the agent's errors were when it
    learned from each last (`Agent.update_with_errors`), new transitions as likely as the likeliest was: see `draw`.

    All minibatches of a round are drawn before its first gradient step: by the priorities at its beginning, and those
    that its errors make are written after its last.

    Attributes:
        num_envs: B, environments that act at once.
        num_steps: T, steps of each between two rounds of learning.
        capacity: transitions kept, of all environments; rounded up to whole iterations of T x B.
        batch_size: transitions of one gradient step.
        gradient_steps: updates after every T x B environment steps.
        learning_starts: environment steps before the first update.
        n_step: steps that are made into one transition, fewer where an episode ends sooner: see `n_step_transition`.
        discount: the agent's gamma, by which it adds up their rewards; not needed where `n_step` is 1.
        prioritised: whether large errors are drawn more often.
        priority_alpha: how much more: the exponent of priorities in [0, 1], 0 for uniform draws.
        priority_beta: how far weights make up for it, a number in [0, 1] or a schedule of the environment steps.
        staggered: whether the slots' first episodes begin at ages that are spread over the time limit, so that episodes
            do not end together.
        normalise_rewards: whether rewards of minibatches are divided by the scale of discounted returns so far, see
            `scale_of`; the buffer keeps them as they are. It needs the `discount`.
        return_limit: the largest that a return is then.
        gradient_steps_by: the agent's field that says how many gradient steps there are, for messages.

    References:
        Lin, Self-improving reactive agents based on reinforcement learning, planning and teaching (1992).
        Mnih et al., Human-level control through deep reinforcement learning, Nature 518 (2015), algorithm 1.
        Hessel et al., Rainbow, arXiv:1710.02298, "Extensions to DQN" (`n_step`).
        Schaul et al., Prioritized experience replay, arXiv:1511.05952, algorithm 1, proportional (`prioritised`).
    """

    num_envs: int = eqx.field(static=True, default=8)
    num_steps: int = eqx.field(static=True, default=1)
    capacity: int = eqx.field(static=True, default=100_000)
    batch_size: int = eqx.field(static=True, default=128)
    gradient_steps: int = eqx.field(static=True, default=1)
    learning_starts: int = eqx.field(static=True, default=1_000)
    n_step: int = eqx.field(static=True, default=1)
    discount: float | Float[Array, ""] | None = None
    prioritised: bool = eqx.field(static=True, default=False)
    priority_alpha: float | Float[Array, ""] | None = 0.6
    priority_beta: ScalarOrSchedule | None = Linear(0.4, 1.0, "100%")
    staggered: bool = eqx.field(static=True, default=True)
    normalise_rewards: bool = eqx.field(static=True, default=False)
    return_limit: float | Float[Array, ""] | None = 5.0
    gradient_steps_by: str = eqx.field(static=True, default="gradient_steps")

    def __check_init__(self) -> None:
        for name in ("num_envs", "num_steps", "capacity", "batch_size", "gradient_steps", "n_step"):
            check_size(name, getattr(self, name))
        check_size("learning_starts", self.learning_starts, low=0, high=LARGEST)  # steps are counted up to there
        if self.capacity < self.iteration_steps:
            fix = f"one iteration makes {self.num_envs} x {self.num_steps} transitions; keep at least those"
            raise ConfigError("capacity", self.capacity, fix)
        if self.n_step > self.slot_capacity:
            fix = f"each of the {self.num_envs} environments keeps {self.slot_capacity} steps; use at most those"
            raise ConfigError("n_step", self.n_step, fix)
        check_flag("prioritised", self.prioritised)
        check_flag("staggered", self.staggered)
        check_flag("normalise_rewards", self.normalise_rewards)
        if _has_numbers(self.return_limit):
            check_number("return_limit", self.return_limit, low=0, open_low=True, open_high=True)
        if self.discount is not None:
            check_number("discount", self.discount, low=0, high=1)
        if _has_numbers(self.priority_alpha) and _has_numbers(self.priority_beta):
            check_number("priority_alpha", self.priority_alpha, low=0, high=1)
            check_schedule("priority_beta", self.priority_beta, low=0, high=1)

    @property
    def steps_before_learning(self) -> int:
        return max(1, -(-self.learning_starts // self.iteration_steps)) * self.iteration_steps

    @property
    def samples_held(self) -> int:
        return self.slot_capacity * self.num_envs + self.iteration_steps + self.gradient_steps * self.batch_size

    @property
    def gradient_samples(self) -> int:
        return self.batch_size

    @property
    def size(self) -> tuple[str, str]:
        if self.gradient_steps * self.batch_size > self.slot_capacity * self.num_envs:
            drawn = "a minibatch" if self.gradient_steps == 1 else f"{self.gradient_steps} minibatches"
            field = "batch_size" if self.batch_size >= self.gradient_steps else self.gradient_steps_by
            return field, f"{drawn} of {self.batch_size} transitions"
        if self.slot_capacity == self.num_steps:  # as few as these environments make at once
            return "num_envs", super().size[1]
        return "capacity", f"{self.capacity} transitions"

    @property
    def slot_capacity(self) -> int:
        """Transitions kept of each slot, C: a multiple of T, so that an iteration's steps lie side by side."""
        return -(-self.capacity // self.iteration_steps) * self.num_steps

    @property
    def keeps_transitions(self) -> bool:
        return True

    def temporaries(self, data: Any, kept: ReplayData) -> PyTree[Any]:
        """Returns the shapes of a round's minibatches, and of the rewards and ends that several steps are made of."""
        shape = (self.gradient_steps, self.batch_size)
        drawn = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*shape, *x.shape[2:]), x.dtype), self.transitions_in(kept))
        if self.n_step == 1:
            return drawn, ()
        shape = (*shape, self.n_step)
        return drawn, [jax.ShapeDtypeStruct(shape, dtype) for dtype in (jnp.int32, jnp.float32, jnp.bool, jnp.bool)]

    def num_devices(self, available: int) -> int:
        shares = math.gcd(self.num_envs, self.batch_size)
        return largest_divisor(shares, max(1, min(self.batch_size // SAMPLES_PER_DEVICE, available)))

    def init(self, agent: Any, agent_state: Any, slots: SlotFunctions, key: PRNGKeyArray) -> tuple[Any, Any, Any]:
        round_steps = self.num_steps if self.staggered else None
        slot, carry = begin_slots(agent, agent_state, slots, key, self.num_envs, round_steps)
        state = TrainState(agent_state, slot, carry, (), ())
        keys = self.keys(key, jnp.int32(0), self.num_envs, None)
        made = jax.eval_shape(lambda: act_and_advance(agent, slots, state, keys.steps)[1][0])
        kept = jax.tree.map(
            lambda x: jnp.zeros((self.num_envs, self.slot_capacity, *x.shape[2:]), x.dtype), without_info(made)
        )
        buffer = empty_data(kept) if self.prioritised else kept
        estimates = None if self.discount is None else begin(agent, agent_state, made)
        returns = no_returns(self.num_envs) if self.normalise_rewards else None
        return slot, carry, ReplayData(buffer, estimates, returns)

    @property
    def period(self) -> int:
        return self.slot_capacity // self.num_steps

    def keys(self, key: PRNGKeyArray, iteration: Int[Array, ""], num_slots: int, axis: str | None) -> ReplayKeys:
        return ReplayKeys(slot_keys(key, iteration, self.num_steps, slot_numbers(num_slots, axis)), iteration)

    def acting_keys(self, keys: ReplayKeys) -> Any:
        return keys.steps.act

    def give_up_episodes(self, data: Any, iteration: Int[Array, ""]) -> Any:
        """Returns the buffer with each slot's last transition truncated: no n-step one goes on in the next episode."""
        newest = (iteration * self.num_steps - 1) % self.slot_capacity
        cut = self.transitions_in(data).truncated.at[:, newest].set(iteration != 0)
        cut_short = eqx.tree_at(lambda data: self.transitions_in(data).truncated, data, cut)
        returns = data.returns
        if returns is not None:
            returns = ReturnStatistics(jnp.zeros_like(returns.running), returns.moments, returns.largest)
        return ReplayData(cut_short.buffer, jax.tree.map(jnp.zeros_like, data.estimates), returns)

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: ReplayKeys, axis: str | None
    ) -> tuple[TrainState, None, Steps]:
        acting = dataclasses.replace(state, data=())
        (slot, carry, _), (made, _, end) = act_and_advance(agent, slots, acting, keys.steps)
        at = keys.iteration * self.num_steps % self.slot_capacity

        def write(kept: Array, new: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(kept, jnp.swapaxes(new, 0, 1), at, axis=1)

        kept = jax.tree.map(write, self.transitions_in(state.data), without_info(made))
        buffer = with_new(state.data.buffer, kept, at, self.num_steps) if self.prioritised else kept
        returns, scale = state.data.returns, 1.0
        if returns is not None:
            scale = self._scale(returns, axis)
            returns = add_rewards(returns, made.reward, end.ended, self._given_discount("rewards are scaled"))
        going, told = self._compared(agent, slots, state, keys, made, end, scale)
        steps = Steps(made.obs, made.action, made.reward, made.info, end, estimates=told)
        data = ReplayData(buffer, going, returns)
        return dataclasses.replace(state, slots=slot, carry=carry, data=data), None, steps

    def _scale(self, returns: ReturnStatistics, axis: str | None) -> Float[Array, ""]:
        """Returns what rewards are divided by."""
        assert self.return_limit is not None  # only that of an agent's structure, which learns nothing, is None
        return scale_of(returns, self.return_limit, axis)

    def _compared(
        self,
        agent: Any,
        slots: SlotFunctions,
        state: TrainState,
        keys: ReplayKeys,
        made: Transition,
        end: EpisodeEnd,
        scale: float | Float[Array, ""],
    ) -> tuple[RunningEstimates | None, EstimateSums | None]:
        """Returns what `compare` makes of an iteration's steps; None where the agent expects nothing."""
        before, iteration = state.data.estimates, keys.iteration
        if before is None or self.discount is None:
            return None, None
        learning = counted_before(iteration, self.iteration_steps) >= self.learning_starts
        counts = counted_states(end, slots.time_limit, self.discount, learning)
        return compare(agent, state.agent, before, made, end, iteration, counts, self.discount, scale)

    def learn(
        self, agent: Any, state: TrainState, data: None, keys: ReplayKeys, axis: str | None
    ) -> tuple[TrainState, dict[str, Any], Int[Array, ""]]:
        taken = _counted_through(keys.iteration, self.iteration_steps)
        updates = jnp.where(taken >= self.learning_starts, self.gradient_steps, 0)
        # Drawn before the loop over updates: XLA would copy a buffer that goes through it, in every iteration.
        slot, time, weights = self._places(keys, state.data, taken, axis)
        chosen, discounts = self._transitions(keys, self.transitions_in(state.data), slot, time)
        if state.data.returns is not None:
            scaled = chosen.reward / self._scale(state.data.returns, axis)
            chosen = eqx.tree_at(lambda transitions: transitions.reward, chosen, scaled)

        def update(i: Array, agent_state: Any) -> tuple[Any, dict[str, Array], Array | None]:
            transitions, *of_each = jax.tree.map(lambda drawn: drawn[i], (chosen, discounts, weights))
            batch = ReplayBatch(transitions, taken, *of_each)
            key = jax.random.fold_in(jax.random.fold_in(keys.steps.update, 1), i)
            if self.prioritised:
                made = agent.update_with_errors(agent_state, batch, key, axis=axis)
                return checked_update(agent, agent_state, made, axis, transitions.reward.shape[0])
            return *checked_update(agent, agent_state, agent.update(agent_state, batch, key, axis=axis), axis), None

        learned, sums, errors = make_updates(update, state.agent, updates, self.gradient_steps, axis)
        kept = state.data
        if self.prioritised:
            buffer = with_errors(kept.buffer, slot, time, errors, self.priority_alpha, updates > 0, axis)
            kept = ReplayData(buffer, kept.estimates, kept.returns)
        return dataclasses.replace(state, agent=learned, data=kept), sums, updates

    def transitions_in(self, data: ReplayData) -> Transition:
        """Returns the transitions of what is kept, [B, C, ...]."""
        return data.buffer.kept if self.prioritised else data.buffer

    def kept_transitions(self, data: ReplayData, iterations: int) -> Transition:
        """Returns the buffer's, oldest first, as they were made: the last of a slot may be in an episode's midst."""
        made = iterations * self.num_steps
        newest = (made - 1) % self.slot_capacity
        filled = min(made, self.slot_capacity)

        def ordered(kept: Any) -> np.ndarray:
            return np.roll(np.asarray(kept), -(newest + 1), axis=1)[:, self.slot_capacity - filled :]

        return jax.tree.map(ordered, self.transitions_in(data))

    def buffer_use(self, data: ReplayData, iterations: int) -> BufferUse:
        filled = min(iterations * self.num_steps, self.slot_capacity)
        return BufferUse(self.num_envs * filled, self.num_envs * self.slot_capacity, tree_bytes(data.buffer))

    def begun_before(self, iterations: int, time_limit: int | None) -> np.ndarray:
        if iterations * self.num_steps > self.slot_capacity:
            return np.ones(self.num_envs, bool)  # what came before the oldest is gone
        round_steps = self.num_steps if self.staggered else None
        if time_limit is None or not are_staggered(self.num_envs, round_steps, time_limit):
            return np.zeros(self.num_envs, bool)
        return staggered_ages(self.num_envs, time_limit) > 0

    def _transitions(
        self, keys: ReplayKeys, buffer: Transition, slot: Array, time: Array
    ) -> tuple[Transition, Float[Array, "..."] | None]:
        """Returns the transitions that begin at these places, and what to multiply the values after them by."""
        if self.n_step == 1:
            return take(buffer, slot, time), None
        discount = self._given_discount(f"{self.n_step} rewards are added up")
        newest = ((keys.iteration + 1) * self.num_steps - 1) % self.slot_capacity
        of_one = lambda slot, time: n_step_transition(buffer, slot, time, newest, self.n_step, discount)  # noqa: E731
        return jax.vmap(jax.vmap(of_one))(slot, time)

    def _given_discount(self, what: str) -> float | Float[Array, ""]:
        """Returns the discount.

        Raises:
            ConfigError: where there is none.
        """
        if self.discount is None:
            raise ConfigError("discount", None, f"give the agent's to Replay, by which {what}")
        return self.discount

    def _places(
        self, keys: ReplayKeys, data: ReplayData, taken: Int[Array, ""], axis: str | None
    ) -> tuple[Array, Array, Array | None]:
        """Draws (slot, time, weight) of every transition of an iteration's minibatches, [gradient_steps, n] each.

        On a device that has a share of the slots, its share of each minibatch. There are no weights of uniform draws.
        """
        here = self.transitions_in(data).reward.shape[0]
        shape = self.gradient_steps, self.batch_size * here // self.num_envs
        filled = jnp.minimum(_counted_through(keys.iteration, self.num_steps), self.slot_capacity)
        key = jax.random.fold_in(keys.steps.update, 0)
        if axis is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index(axis))
        if self.prioritised:
            assert self.priority_beta is not None  # only that of an agent's structure, which learns nothing, is None
            return draw(data.buffer, key, shape, value_at(self.priority_beta, taken), axis)
        draws = jnp.arange(math.prod(shape), dtype=jnp.int32).reshape(shape)
        of_each = jax.vmap(jax.vmap(_place, (None, 0, None, None)), (None, 0, None, None))
        return *of_each(key, draws, jnp.int32(here), filled), None


def _counted_through(iteration: Int[Array, ""], steps: int) -> Int[Array, ""]:
    """Returns how many steps have been taken after an iteration, `steps` in each."""
    return counted(counted_before(iteration, steps), steps)


@kernel
def _place(
    key: Key[Array, ""], number: Int[Array, ""], slots: Int[Array, ""], times: Int[Array, ""]
) -> tuple[Array, Array]:
    slot_key, time_key = jax.random.split(jax.random.fold_in(key, number))
    return jax.random.randint(slot_key, (), 0, slots), jax.random.randint(time_key, (), 0, times)


def _has_numbers(value: Any) -> bool:
    """Returns whether a number, or a schedule, has its numbers: an agent's structure is one without."""
    return all(leaf is not None for leaf in jax.tree.leaves(value, is_leaf=lambda leaf: leaf is None))
