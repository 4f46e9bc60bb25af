"""Munchausen's targets: soft action values, and a reward for what the policy finds likely. Unbatched."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .td_targets import ActionValues, Number, Scalar, action_value


def munchausen_target(
    reward: Scalar,
    terminated: Bool[Array, ""],
    q: ActionValues,
    action: Int[Array, ""],
    next_q: ActionValues,
    discount: Number,
    alpha: Number,
    temperature: Number,
    floor: Number,
) -> Scalar:
    """Computes r + alpha [t log pi(a|s)]_l0^0 + gamma sum over a' of pi(a'|s') (q(s', a') - t log pi(a'|s')).

    pi = softmax(q / t), so that the last sum is t log sum exp(q(s', .) / t). With alpha = 0 it is the target of soft
    Q-learning, and with a temperature towards 0 that of Q-learning.

    Args:
        reward: r.
        terminated: whether s' is terminal, so that nothing follows.
        q, next_q: of the target network, in s and in s'.
        action: a.
        discount: gamma.
        alpha: how much of the log-policy is added.
        temperature: t.
        floor: l0, below which the log-policy counts as this much.

    References:
        Vieillard, Pietquin and Geist, Munchausen reinforcement learning, arXiv:2007.14430, equation 2 and section 4.

    Examples:
        >>> q, zero = jnp.zeros(2), jnp.int32(0)
        >>> target = munchausen_target(jnp.float32(1.0), jnp.array(False), q, zero, q, 0.5, 1.0, 2.0, -9.0)
        >>> abs(float(target) - (1.0 - 2.0 * 0.6931472 + 0.5 * 2.0 * 0.6931472)) < 1e-6
        True
    """
    log_policy = action_value(jax.nn.log_softmax(q / temperature), action)
    own = alpha * jnp.clip(temperature * log_policy, floor, 0.0)
    soft = temperature * jax.nn.logsumexp(next_q / temperature)
    return reward + own + discount * jnp.where(terminated, 0.0, soft)
