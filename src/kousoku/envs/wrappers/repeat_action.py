"""Repeated actions: a decision for several steps, and actions that stick."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from ...core.action_mask import counts_of, is_legal, legal_actions
from ...core.env import Env
from ...core.errors import check_count
from ...core.spaces import Dict, Space
from ...core.timestep import Timestep
from ...core.wrapper import Wrapper
from ...ops.trees import select
from ..fields import Number, one_number

MOST = 1 << 16


class RepeatActionState(eqx.Module):
    """The state of the environment inside, and its clock.

    Attributes:
        env_state: of the environment inside.
        steps: that were taken in this episode; None where a time limit needs no clock.
        ended_early: whether the episode ended before the last of the newest action's steps; None without a time limit.
    """

    env_state: Any
    steps: Int[Array, ""] | None
    ended_early: Bool[Array, ""] | None = None


class RepeatAction(Wrapper):
    """Each action for several steps, as Gymnasium's RepeatAction, also known as frame skip.

    The rewards are summed, and what is seen is the last observation. An episode that ends on the way ends at that very
    step. A time limit of the environment inside counts its own steps: the last action is repeated only as often as the
    limit leaves steps. Where nobody ends the episode there, actions after the limit are repeated as before it. An
    episode that terminates in the last action that the limit allows, before that action's last step, is not truncated.

    Where the newest `action_mask` forbids an action it is not repeated: the agent chooses again. The limit stays at as
    many actions, which are fewer steps of the environment inside then.

    What the environment says in `info` is that of the last step.

    Attributes:
        num_repeats: how often.

    References:
        Bellemare et al., The Arcade Learning Environment, JAIR 47 (2013), arXiv:1207.4708, section 3.1.

    Examples:
        >>> import kousoku as ks
        >>> env = RepeatAction(ks.make("CliffWalking-v1", time_limit=10), 4)
        >>> state, _ = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(0))
        >>> float(timestep.reward), int(timestep.obs), env.time_limit
        (-4.0, 0, 3)
    """

    num_repeats: int = eqx.field(static=True, converter=partial(check_count, "num_repeats", high=MOST))

    @property
    def time_limit(self) -> int | None:
        """Actions after which an episode is truncated."""
        inside = self.env.time_limit
        return None if inside is None else -(-inside // self.num_repeats)

    @property
    def steps_per_action(self) -> int:
        """How often an action is repeated."""
        return self.num_repeats

    def reset(self, key: PRNGKeyArray) -> tuple[RepeatActionState, Timestep]:
        """Begins an episode."""
        return self._begun(self.env.reset(key))

    def restart(self, key: PRNGKeyArray, state: RepeatActionState) -> tuple[RepeatActionState, Timestep]:
        """Begins the next episode."""
        return self._begun(self.env.restart(key, state.env_state))

    def step(
        self, key: PRNGKeyArray, state: RepeatActionState, action: PyTree[Array]
    ) -> tuple[RepeatActionState, Timestep]:
        """Takes the first step, and the others as long as the episode goes on."""
        keys = jax.random.split(key, self.num_repeats)
        now = self.env.step(keys[0], state.env_state, action)
        steps = None if state.steps is None else state.steps + 1
        early = None if state.ended_early is None else jnp.array(False)
        if self.num_repeats > 1:
            (now, steps, early), _ = jax.lax.scan(partial(self._again, action), (now, steps, early), keys[1:])
        env_state, timestep = now
        return RepeatActionState(env_state, steps, early), timestep

    def is_out_of_time(self, state: RepeatActionState, steps: Int[Array, ""]) -> Bool[Array, ""]:
        """Returns whether the clock has run out: at the limit, unless the episode ended before that action's end."""
        limit, inside = self.time_limit, self.env.time_limit
        if limit is None or inside is None:
            return jnp.array(False)
        out = (steps >= limit) & self.env.is_out_of_time(state.env_state, jnp.int32(inside))
        return out if state.ended_early is None else out & ~state.ended_early

    def inner_state(self, state: RepeatActionState) -> Any:
        """Returns the state of the environment inside; also of stacked states."""
        return state.env_state

    def _begun(self, result: tuple[Any, Timestep]) -> tuple[RepeatActionState, Timestep]:
        inside = self.env.time_limit
        steps = None if inside is None or inside % self.num_repeats == 0 else jnp.int32(0)
        early = None if inside is None or self.num_repeats == 1 else jnp.array(False)
        return RepeatActionState(result[0], steps, early), result[1]

    def _again(self, action: PyTree[Array], carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
        """Takes one step more, if the episode goes on, and adds its reward."""
        (env_state, before), steps, early = carry
        env_state, after = self.env.step(key, env_state, action)
        reward = before.reward + after.reward
        taken = env_state, Timestep(after.obs, reward, after.terminated, after.truncated, after.info)
        ended, at_limit = before.terminated | before.truncated, self._is_at_limit(steps)
        over = ended if at_limit is None else ended | at_limit
        early = None if early is None else ended if at_limit is None else ended & ~at_limit
        allowed = _is_allowed(self.env, _legal(self.env, before), action)
        over = over if allowed is None else over | ~allowed
        counted = None if steps is None else steps + jnp.where(over, 0, 1)
        return (select(over, carry[0], taken), counted, early), None

    def _is_at_limit(self, steps: Int[Array, ""] | None) -> Bool[Array, ""] | None:
        """Returns whether the limit leaves no step; None where it has no clock."""
        return None if steps is None or self.env.time_limit is None else steps == self.env.time_limit


class StickyActionState(eqx.Module):
    """The state of the environment inside, and the action that may stick.

    Attributes:
        env_state: of the environment inside.
        action: the last one that was taken.
        begun: whether there is one in this episode.
        stuck: steps that it still sticks, whatever is chosen.
        legal: which actions may be taken now; None where the observation does not say it.
    """

    env_state: Any
    action: PyTree[Array]
    begun: Bool[Array, ""]
    stuck: Int[Array, ""]
    legal: Bool[Array, " A"] | None


def _probability(value: Any) -> Number:
    return one_number("repeat_action_probability", value, low=0, high=1, open_high=True)


def _duration(value: Any) -> tuple[int, int]:
    low, high = value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, value)
    least = check_count("repeat_action_duration", low, high=MOST)
    return least, check_count("repeat_action_duration", high, low=least, high=MOST)


class StickyAction(Wrapper):
    """Actions that stick: with some probability the last one is taken again, as with Gymnasium's StickyAction.

    The first action of an episode is always taken. It makes a deterministic game random, so that an agent cannot learn
    a sequence of actions by heart.

    An action sticks no longer where the newest `action_mask` forbids it.

    Attributes:
        repeat_action_probability: that the last action is taken instead of the one that is chosen, at each step.
        repeat_action_duration: for how many steps then: one number, or the least and the largest of which one is drawn.

    References:
        Machado et al., Revisiting the Arcade Learning Environment, JAIR 61 (2018), arXiv:1709.06009, section 5.2: 0.25.

    Examples:
        >>> import kousoku as ks
        >>> env = StickyAction(ks.make("CartPole-v1"), 0.25)
        >>> state, _ = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> int(state.action)
        1
    """

    repeat_action_probability: Number = eqx.field(converter=_probability)
    repeat_action_duration: tuple[int, int] = eqx.field(static=True, default=(1, 1), converter=_duration)

    def reset(self, key: PRNGKeyArray) -> tuple[StickyActionState, Timestep]:
        """Begins an episode."""
        return self._begun(self.env.reset(key))

    def restart(self, key: PRNGKeyArray, state: StickyActionState) -> tuple[StickyActionState, Timestep]:
        """Begins the next episode, in which no action sticks yet."""
        return self._begun(self.env.restart(key, state.env_state))

    def step(
        self, key: PRNGKeyArray, state: StickyActionState, action: PyTree[Array]
    ) -> tuple[StickyActionState, Timestep]:
        """Takes the action that is chosen, or the last one again."""
        stick_key, duration_key, env_key = jax.random.split(key, 3)
        probability = jnp.asarray(self.repeat_action_probability, jnp.float32)
        begins = (state.stuck == 0) & state.begun & (jax.random.uniform(stick_key, (), jnp.float32) < probability)
        duration = self._draw_duration(duration_key)
        stuck = jnp.where(begins, duration, state.stuck)
        allowed = _is_allowed(self.env, state.legal, state.action)
        stuck = stuck if allowed is None else jnp.where(allowed, stuck, 0)
        sticks = stuck > 0
        taken = select(sticks, state.action, action)
        env_state, timestep = self.env.step(env_key, state.env_state, taken)
        left, legal = jnp.maximum(stuck - 1, 0), _legal(self.env, timestep)
        return StickyActionState(env_state, taken, jnp.array(True), left, legal), timestep

    def inner_state(self, state: StickyActionState) -> Any:
        """Returns the state of the environment inside; also of stacked states."""
        return state.env_state

    def _begun(self, result: tuple[Any, Timestep]) -> tuple[StickyActionState, Timestep]:
        env_state, timestep = result
        action, legal = _zero(self.action_space), _legal(self.env, timestep)
        return StickyActionState(env_state, action, jnp.array(False), jnp.int32(0), legal), timestep

    def _draw_duration(self, key: PRNGKeyArray) -> Int[Array, ""]:
        low, high = self.repeat_action_duration
        return jnp.int32(low) if low == high else jax.random.randint(key, (), low, high + 1, jnp.int32)


def _legal(env: Env, timestep: Timestep) -> Bool[Array, " A"] | None:
    """Returns which actions may be taken next; None where the observation does not say it."""
    counts = counts_of(env.action_space)
    return None if counts is None else legal_actions(timestep.obs, counts)


def _is_allowed(env: Env, legal: Bool[Array, " A"] | None, action: PyTree[Array]) -> Bool[Array, ""] | None:
    """Returns whether an action may be taken; None where the observation does not say it."""
    counts = counts_of(env.action_space)
    return None if legal is None or counts is None else is_legal(legal, action, counts)


def _zero(space: Space) -> PyTree[Array]:
    """Returns zeros in the form of an action: nobody reads them."""
    if isinstance(space, Dict):
        return {name: _zero(part) for name, part in space.spaces.items()}
    return jnp.zeros(space.shape, space.dtype)
