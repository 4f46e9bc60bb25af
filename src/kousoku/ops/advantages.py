"""Advantages and targets of one environment's stretch of T steps, which may hold several episodes.

Everywhere `next_values[t]` is the value of step t's true successor, before any reset, and an episode ends at step t
where it was terminated or truncated. A termination is worth nothing afterwards; a truncation, and the end of the
stretch, are worth `next_values[t]`. What was terminated and truncated at once counts as terminated. All arrays are
float32 [T] (flags: bool), oldest step first. None of these functions stops gradients: their users do.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

Steps = Float[Array, " T"]
Flags = Bool[Array, " T"]
Number = Float[Array, ""] | float


class VTrace(NamedTuple):
    """Targets of the values and advantages of the policy gradient."""

    targets: Steps
    advantages: Steps


def gae(
    rewards: Steps,
    values: Steps,
    next_values: Steps,
    terminated: Flags,
    truncated: Flags,
    discount: Number,
    trace_decay: Number,
) -> Steps:
    """Computes generalised advantage estimates: A_t = delta_t + gamma lambda A_(t+1), A = 0 after the end of an
    episode.

    delta_t = r_t + gamma V(s_(t+1)) - V(s_t). With lambda = 0 it is the TD error, with lambda = 1 the return minus V.

    References:
        Schulman et al., High-dimensional continuous control using generalized advantage estimation, arXiv:1506.02438,
        equation 16.

    Examples:
        >>> flags = jnp.array([False, False]), jnp.array([False, True])
        >>> gae(jnp.ones(2), jnp.zeros(2), jnp.array([0.0, 8.0]), *flags, 0.5, 1.0).tolist()
        [3.5, 5.0]
    """
    delta = rewards + discount * _successor(next_values, terminated) - values
    return _recur(delta, discount * trace_decay * _goes_on(terminated, truncated), jnp.zeros((), delta.dtype))


def lambda_returns(
    rewards: Steps, next_values: Steps, terminated: Flags, truncated: Flags, discount: Number, trace_decay: Number
) -> Steps:
    """Computes G_t = r_t + gamma [(1 - lambda) V(s_(t+1)) + lambda G_(t+1)]; V(s_(t+1)) alone where an episode was cut
    short.

    It is `gae` plus the values, computed without them.

    References:
        Sutton and Barto (2nd ed.), equation 12.2, in the recursive form of exercise 12.1.

    Examples:
        >>> flags = jnp.array([False, False]), jnp.array([False, False])
        >>> lambda_returns(jnp.ones(2), jnp.array([4.0, 8.0]), *flags, 0.5, 0.5).tolist()
        [3.25, 5.0]
    """
    weight = trace_decay * _goes_on(terminated, truncated)
    one_step = rewards + discount * (1.0 - weight) * _successor(next_values, terminated)
    return _recur(one_step, discount * weight, next_values[-1])


def n_step_returns(
    rewards: Steps, next_values: Steps, terminated: Flags, truncated: Flags, discount: Number, n: int
) -> Steps:
    """Computes G_t = r_t + gamma r_(t+1) + ... + gamma^(m-1) r_(t+m-1) + gamma^m V(s_(t+m)), m = n or as far as there
    are steps.

    m is smaller than n where the episode or the stretch ends earlier. (`returns.window_return` is one window that ends
    in one bootstrap; here every step has a window of its own.)

    Args:
        n: at least 1; static.

    References:
        Sutton and Barto (2nd ed.), equation 7.1.

    Examples:
        >>> flags = jnp.array([False, False, True]), jnp.array([False, False, False])
        >>> n_step_returns(jnp.ones(3), jnp.full(3, 8.0), *flags, 0.5, 2).tolist()
        [3.5, 1.5, 1.0]
    """
    one_step = rewards + discount * _successor(next_values, terminated)
    goes_on = ~(terminated | truncated)
    steps = min(n, rewards.shape[0])

    def lengthen(_: Array, g: Array) -> Array:
        later = jnp.concatenate([g[1:], next_values[-1:]])
        return jnp.where(goes_on, rewards + discount * later, one_step)

    return lax.fori_loop(1, steps, lengthen, one_step)


def vtrace(
    log_rhos: Steps,
    rewards: Steps,
    values: Steps,
    next_values: Steps,
    terminated: Flags,
    truncated: Flags,
    discount: Number,
    clip_rho: Number = 1.0,
    clip_c: Number = 1.0,
    trace_decay: Number = 1.0,
) -> VTrace:
    """Computes V-trace targets v_t, and advantages rho_t (r_t + gamma v_(t+1) - V(s_t)).

    v_t - V(s_t) = delta_t + gamma c_t [v_(t+1) - V(s_(t+1))], delta_t = rho_t (r_t + gamma V(s_(t+1)) - V(s_t)), where
    rho_t = min(clip_rho, pi / mu) and c_t = lambda min(clip_c, pi / mu).

    Args:
        log_rhos: log pi(a_t | s_t) - log mu(a_t | s_t), the target policy over the one that acted.
        clip_rho, clip_c, trace_decay: rho-bar, c-bar and lambda.

    References:
        Espeholt et al., IMPALA, arXiv:1802.01561, equation 1 in the recursive form of remark 1; section 4.2 for the
        advantages; remark 2 for lambda.

    Examples:
        >>> flags = jnp.array([False, False]), jnp.array([False, True])
        >>> vtrace(jnp.zeros(2), jnp.ones(2), jnp.zeros(2), jnp.array([0.0, 8.0]), *flags, 0.5).targets.tolist()
        [3.5, 5.0]
    """
    ratio = jnp.exp(log_rhos)
    rho, c = jnp.minimum(clip_rho, ratio), trace_decay * jnp.minimum(clip_c, ratio)
    goes_on = _goes_on(terminated, truncated)
    td_error = rewards + discount * _successor(next_values, terminated) - values
    correction = _recur(rho * td_error, discount * c * goes_on, jnp.zeros((), td_error.dtype))
    later = goes_on * jnp.concatenate([correction[1:], jnp.zeros(1, correction.dtype)])
    return VTrace(values + correction, rho * (td_error + discount * later))


def _successor(next_values: Steps, terminated: Flags) -> Steps:
    """Returns the value of what follows: nothing after a termination, whatever the value there."""
    return jnp.where(terminated, 0.0, next_values)


def _goes_on(terminated: Flags, truncated: Flags) -> Steps:
    """Returns 1 where the next step belongs to the same episode."""
    return (~(terminated | truncated)).astype(jnp.float32)


def _recur(terms: Steps, factors: Steps, last: Float[Array, ""]) -> Steps:
    """Computes x_t = terms_t + factors_t x_(t+1), x_T = `last`.

    A plain loop: for 8 to 2048 environments and 16 to 128 steps on a CPU, unrolling it or an associative scan costs as
    much or more, up to seven times.
    """

    def step(later: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        term, factor = now
        x = term + factor * later
        return x, x

    return lax.scan(step, last, (terms, factors), reverse=True)[1]
