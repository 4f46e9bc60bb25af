"""Returns of a window of consecutive steps, by one pass from the newest step to the oldest."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

MAX_UNROLL = 8
"""Up to this many steps a pass is straight-line code; a compiled loop inside a compiled loop is slow on a CPU."""


def window_return(
    reward: Float[Array, " n"], bootstrap: Float[Array, ""], discount: Float[Array, ""] | float
) -> Float[Array, " n"]:
    """Computes G_i = r_i + gamma G_(i+1), where G_n = `bootstrap`, the value of what follows the window (0 if nothing
    does).

    References:
        Sutton and Barto (2nd ed.), equation 7.4, in the recursive form of equation 3.9.

    Examples:
        >>> window_return(jnp.array([1.0, 0.0, 2.0]), jnp.float32(8.0), 0.5).tolist()
        [2.5, 3.0, 6.0]
    """

    def step(value: Array, r: Array) -> tuple[Array, Array]:
        g = r + discount * value
        return g, g

    return lax.scan(step, bootstrap, reward, reverse=True, unroll=min(reward.shape[0], MAX_UNROLL))[1]


def n_step_return(
    reward: Float[Array, " n"],
    ended: Bool[Array, " n"],
    kept: Int[Array, ""],
    discount: Float[Array, ""] | float,
) -> tuple[Float[Array, ""], Float[Array, ""], Int[Array, ""]]:
    """Computes the sum of gamma^k r_k over k < m, gamma^m and m, the steps up to the episode's end, n of them at most.

    What follows the last step is worth gamma^m times its successor's value, unless that step terminated the episode.

    Args:
        reward: r_k of consecutive steps.
        ended: whether the episode ended with each, by a termination or a truncation.
        kept: how many of them are there, from the first on: whatever comes later counts for nothing.
        discount: gamma.

    References:
        Sutton and Barto (2nd ed.), equation 7.1, without its last term.

    Examples:
        >>> reward, ended = jnp.array([1.0, 2.0, 4.0]), jnp.array([False, True, False])
        >>> [float(x) for x in n_step_return(reward, ended, jnp.int32(3), 0.5)]
        [2.0, 0.25, 2.0]
        >>> [float(x) for x in n_step_return(reward, ended, jnp.int32(1), 0.5)]
        [1.0, 0.5, 1.0]
    """
    n = reward.shape[0]
    went_on = jnp.cumprod(jnp.concatenate([jnp.ones(1, bool), ~ended[:-1]]), dtype=jnp.int32)
    counts = (went_on == 1) & (jnp.arange(n, dtype=jnp.int32) < kept)
    steps = jnp.sum(counts, dtype=jnp.int32)
    powers = jnp.cumprod(
        jnp.concatenate([jnp.ones(1, jnp.float32), jnp.broadcast_to(jnp.asarray(discount, jnp.float32), (n,))])
    )
    return jnp.sum(jnp.where(counts, powers[:n] * reward, 0.0)), powers[steps], steps


def tree_backup_returns(
    reward: Float[Array, " n"],
    action: Int[Array, " n"],
    q: Float[Array, "n A"],
    pi: Float[Array, "n A"],
    bootstrap: Float[Array, ""],
    discount: Float[Array, ""] | float,
) -> Float[Array, " n"]:
    """Computes G_i = r_i + gamma [sum over a != A_(i+1) of pi(a|S_(i+1)) Q(S_(i+1), a) + pi(A_(i+1)|S_(i+1)) G_(i+1)].

    The newest step has no next action: G_(n-1) = r_(n-1) + gamma `bootstrap`, the expected value of the state that
    follows (0 if the episode terminated).

    Args:
        reward: r_i, received for action i.
        action: A_i, the actions that were taken.
        q, pi: Q(S_i, .) and the target policy pi(. | S_i) of the states that they were taken in.
        bootstrap: sum over a of pi(a|S_n) Q(S_n, a).
        discount: gamma.

    References:
        Sutton and Barto (2nd ed.), equations 7.15 and 7.16; Precup, Sutton and Singh, ICML (2000).

    Examples:
        >>> zero, half = jnp.zeros((2, 2)), jnp.full((2, 2), 0.5)
        >>> tree_backup_returns(jnp.ones(2), jnp.zeros(2, jnp.int32), zero, half, jnp.float32(4.0), 1.0).tolist()
        [3.5, 5.0]
    """
    taken = jnp.arange(q.shape[1], dtype=jnp.int32)[None, :] == action[:, None]
    leaves = jnp.sum(jnp.where(taken, 0.0, pi * q), axis=1)
    stem = jnp.sum(jnp.where(taken, pi, 0.0), axis=1)

    def step(value: Array, node: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        r, leaf, probability = node
        g = r + discount * value
        return leaf + probability * g, g

    nodes = (reward, leaves, stem)
    return lax.scan(step, bootstrap, nodes, reverse=True, unroll=min(reward.shape[0], MAX_UNROLL))[1]
