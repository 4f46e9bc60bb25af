"""Rewards less what is common to all of them, where that dwarfs what they differ by.

Where every reward is about 1000 and a thousandth of it matters, values are about 1000 / (1 - gamma), and what a network
has to learn is small beside its errors. So rewards are shaped by a potential that is the same number b in every state,
and 0 after a termination: r + gamma Phi(s') - Phi(s). Of these rewards a value function learns V - b, and an advantage
is what it was. An optimal policy stays one, whatever b is.

Elsewhere b is 0. Where rewards are costs, values that begin at 0 promise more than there is, and lead to what was not
tried yet; values that begin at b do not.

References:
    Ng, Harada and Russell, Policy invariance under reward transformations, ICML (1999), theorem 1.
    Naik, Wan, Tomar and Sutton, Reward centering, arXiv:2405.09999: the same where nothing terminates.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .normalisation import RunningMoments, observe

DWARFED = 300.0
"""Deviations of the rewards: a mean above them is taken off. PPO learns 100 + {0, 1} as it is, and 300 + {0, 1} not."""
Number = Float[Array, ""] | float
Rewards = Float[Array, "T B"]
Flags = Bool[Array, "T B"]


def observe_steps(
    moments: RunningMoments, rewards: Rewards, terminated: Flags, *, axis_name: str | None = None
) -> RunningMoments:
    """Returns the moments of (reward, terminated), [2], after a batch of steps; `axis_name` as of `observe`."""
    steps = jnp.stack([rewards, terminated.astype(jnp.float32)], axis=-1)
    return observe(moments, steps.reshape(-1, 2), axis_name=axis_name)


def constant_value(moments: RunningMoments, discount: Number) -> Float[Array, ""]:
    """Computes the value that TD learning finds if it may learn one number only.

    b = E[r + gamma (1 - terminated) b], so b = E[r] / (1 - gamma (1 - E[terminated])). It is 0 where gamma is 1 and
    nothing terminated: then there is no such number.

    Args:
        moments: of (reward, terminated), [2].
        discount: gamma.
    """
    reward, terminated = moments.mean + moments.mean_rest
    ends = 1.0 - discount * (1.0 - terminated)
    return jnp.where(ends > 0.0, reward / jnp.where(ends > 0.0, ends, 1.0), 0.0)


def dwarfing_value(moments: RunningMoments, discount: Number) -> Float[Array, ""]:
    """Computes b: `constant_value` where the mean reward is above `DWARFED` standard deviations of rewards, and else 0.

    Rewards that are all the same tell nothing of what they will differ by: of them it is 0, too.
    """
    variance = (moments.variance + moments.variance_rest)[0]
    mean = (moments.mean + moments.mean_rest)[0]
    dwarfs = (variance > 0.0) & (jnp.abs(mean) > DWARFED * jnp.sqrt(variance))
    return jnp.where(dwarfs, constant_value(moments, discount), 0.0)


def centred(sums: Rewards, steps: Rewards | float, terminated: Flags, constant: Number, discount: Number) -> Rewards:
    """Computes what a reward, or a running discounted return, is of r - b + gamma b (1 - terminated).

    Args:
        sums: R of each step: R <- gamma R + r, from 0 at an episode's beginning; or r alone.
        steps: the same of a reward of 1; or 1.
        terminated: of each step.
        constant: b.
        discount: gamma.
    """
    return sums - (1.0 - discount) * constant * steps - jnp.where(terminated, discount * constant, 0.0)
