"""The last n steps of an episode, and learning from their returns: what the n-step agents share."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ...core.errors import check_count
from ...core.timestep import Transition
from ...ops import tables

MAX_STEPS = 1024
MAX_UNROLL = 8


class Window(eqx.Module):
    """The last n steps, oldest first; the last `held` of them are steps of this episode, the others are filling.

    Attributes:
        obs, action, reward: S_i, A_i and the reward that followed.
        held: how many of them wait for their update.
    """

    obs: Int[Array, " n"]
    action: Int[Array, " n"]
    reward: Float[Array, " n"]
    held: Int[Array, ""]


def steps_field(default: int) -> Any:
    """Makes the static field `n`; raises ConfigError for what is no whole number in 1 .. `MAX_STEPS`."""
    return eqx.field(static=True, default=default, converter=partial(check_count, "n", high=MAX_STEPS))


def empty_window(n: int) -> Window:
    """Returns the window before an episode's first step."""
    zeros = jnp.zeros(n, jnp.int32)
    return Window(zeros, zeros, jnp.zeros(n, jnp.float32), jnp.int32(0))


def push(window: Window, batch: Transition) -> Window:
    """Returns the window with one more step; the oldest one makes room."""

    def shift(steps: Array, new: Array) -> Array:
        return jnp.concatenate([steps[1:], new[None].astype(steps.dtype)])

    held = jnp.minimum(window.held + 1, window.obs.shape[0])
    return Window(
        shift(window.obs, batch.obs), shift(window.action, batch.action), shift(window.reward, batch.reward), held
    )


def due(window: Window, ended: Bool[Array, ""]) -> Bool[Array, " n"]:
    """Tells which steps are updated now: the one that is n steps old, and at an episode's end all that are held."""
    n = window.obs.shape[0]
    position = jnp.arange(n, dtype=jnp.int32)
    return (position >= n - window.held) & (ended | (position == 0))


def learn(
    q: Float[Array, "S A"],
    window: Window,
    returns: Float[Array, " n"],
    mask: Bool[Array, " n"],
    learning_rate: Float[Array, ""],
) -> tuple[Float[Array, "S A"], Float[Array, ""]]:
    """Applies Q(S_i, A_i) += alpha [G_i - Q(S_i, A_i)] for i in `mask`, oldest first; returns Q, mean error."""
    n = window.obs.shape[0]

    def one(i: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        q, total = carry
        s, a = window.obs[i], window.action[i]
        error = jnp.where(mask[i], returns[i] - tables.entry(q, s, a), 0.0)
        return tables.add(q, s, a, learning_rate * error), total + error

    q, total = lax.fori_loop(0, n, one, (q, jnp.float32(0.0)), unroll=min(n, MAX_UNROLL))
    return q, total / jnp.maximum(jnp.sum(mask.astype(jnp.float32)), 1.0)


def closed(window: Window, ended: Bool[Array, ""]) -> Window:
    """Returns the window for the next step: empty after an episode's end."""
    return Window(window.obs, window.action, window.reward, jnp.where(ended, 0, window.held))
