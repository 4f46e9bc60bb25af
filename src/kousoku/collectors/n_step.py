"""Transitions of several steps, put together from the single ones that a ring keeps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..core.timestep import Transition
from ..ops.returns import n_step_return


def take(kept: Any, slot: Int[Array, "..."], time: Int[Array, "..."]) -> Any:
    """Returns what lies at (slot, time), [..., *], of a tree of arrays [B, C, *]."""

    def at_places(x: Array) -> Array:
        place = slot * x.shape[1] + time
        return x.reshape((x.shape[0] * x.shape[1], *x.shape[2:])).at[place].get(mode="promise_in_bounds")

    return jax.tree.map(at_places, kept)


def n_step_transition(
    kept: Transition,
    slot: Int[Array, ""],
    time: Int[Array, ""],
    newest: Int[Array, ""],
    n: int,
    discount: float | Float[Array, ""],
) -> tuple[Transition, Float[Array, ""]]:
    """Returns the transition that begins at (slot, time) and is n steps long, and gamma^m of its m steps.

    It is shorter where its episode ends sooner, and where the newest step comes sooner: what lies behind that in the
    ring is the oldest. It then bootstraps after m steps from the true successor of its last one, which is as right, so
    that every step that is kept may begin one, the newest included.

    Args:
        kept: the rings, [B, C, ...]: the step after the one at time C - 1 lies at time 0.
        slot, time: where it begins.
        newest: the time of the newest step, the same in each slot.
        n: its steps at most.
        discount: gamma.
    """
    size = kept.reward.shape[1]
    times = (time + jnp.arange(n, dtype=jnp.int32)) % size
    rewards, terminated, truncated = take((kept.reward, kept.terminated, kept.truncated), slot, times)
    reward, discounts, steps = n_step_return(rewards, terminated | truncated, (newest - time) % size + 1, discount)
    obs, action, extras = take((kept.obs, kept.action, kept.extras), slot, time)
    last = (time + steps - 1) % size
    terminated, truncated, next_obs = take((kept.terminated, kept.truncated, kept.next_obs), slot, last)
    return Transition(obs, action, reward, terminated, truncated, next_obs, None, extras), discounts
