"""TD targets: what an action value should become after a step, unbatched, from the values of its true successor.

A termination is worth nothing afterwards; a truncation is worth what the successor is worth, and does not appear here.
None of these functions stops gradients: their users do.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

ActionValues = Float[Array, " A"]
Scalar = Float[Array, ""]
Number = Float[Array, ""] | float


def action_value(q: ActionValues, action: Int[Array, ""]) -> Scalar:
    """Returns q(action), as a masked sum: its gradient is a mask, where that of an index would be a scatter.

    Examples:
        >>> float(action_value(jnp.array([1.0, 2.0, 4.0]), jnp.int32(2)))
        4.0
    """
    return jnp.sum(jnp.where(jnp.arange(q.shape[0], dtype=jnp.int32) == action, q, 0.0))


def q_learning_target(reward: Scalar, terminated: Bool[Array, ""], next_q: ActionValues, discount: Number) -> Scalar:
    """Computes r + gamma max_a q(s', a).

    Args:
        reward: r.
        terminated: whether s' is terminal, so that nothing follows.
        next_q: q(s', .), for DQN of its target network.
        discount: gamma.

    References:
        Watkins and Dayan, Q-learning, Machine Learning 8 (1992), equation 1.
        Mnih et al., Human-level control through deep reinforcement learning, Nature 518 (2015), algorithm 1.

    Examples:
        >>> float(q_learning_target(jnp.float32(1.0), jnp.array(False), jnp.array([2.0, 6.0]), 0.5))
        4.0
    """
    return reward + discount * jnp.where(terminated, 0.0, jnp.max(next_q))


def double_q_learning_target(
    reward: Scalar, terminated: Bool[Array, ""], next_q: ActionValues, selector_q: ActionValues, discount: Number
) -> Scalar:
    """Computes r + gamma q(s', argmax_a q'(s', a)): one estimate chooses the action, the other values it.

    Args:
        reward: r.
        terminated: whether s' is terminal, so that nothing follows.
        next_q: q(s', .), what values the action; for double DQN of the target network.
        selector_q: q'(s', .), what chooses it; for double DQN of the network that learns. Of equal ones the first.
        discount: gamma.

    References:
        Van Hasselt, Double Q-learning, NeurIPS (2010), equation 2.
        Van Hasselt, Guez and Silver, Deep reinforcement learning with double Q-learning, arXiv:1509.06461, equation 4.

    Examples:
        >>> next_q, selector_q = jnp.array([2.0, 6.0]), jnp.array([1.0, 0.0])
        >>> float(double_q_learning_target(jnp.float32(1.0), jnp.array(False), next_q, selector_q, 0.5))
        2.0
    """
    best = jnp.argmax(selector_q).astype(jnp.int32)
    return reward + discount * jnp.where(terminated, 0.0, action_value(next_q, best))
