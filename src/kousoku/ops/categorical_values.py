"""Distributions of returns over fixed atoms (C51) or bins (HL-Gauss), unbatched.

None of these functions stops gradients: their users do.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

Atoms = Float[Array, " N"]


def project(moved: Float[Array, " M"], probabilities: Float[Array, " M"], atoms: Atoms) -> Atoms:
    """Returns the probabilities on evenly spaced atoms of a distribution on others: the projection Phi.

    (Phi p)_i = sum over j of clamp(1 - |clamp(moved_j, v_min, v_max) - z_i| / dz, 0, 1) p_j: each atom's probability is
    shared out among its two neighbours, by nearness. The mass stays, and so does the mean of what lies within.

    Args:
        moved: where the probabilities lie, such as r + gamma z.
        probabilities: of each.
        atoms: z, two or more, evenly spaced and increasing.

    References:
        Bellemare, Dabney and Munos, A distributional perspective on reinforcement learning, arXiv:1707.06887,
        equation 7.

    Examples:
        >>> project(jnp.array([0.25, 9.0]), jnp.array([0.5, 0.5]), jnp.array([0.0, 1.0, 2.0])).tolist()
        [0.375, 0.125, 0.5]
    """
    spacing = (atoms[-1] - atoms[0]) / (atoms.shape[0] - 1)
    within = jnp.clip(moved, atoms[0], atoms[-1])
    share = jnp.clip(1.0 - jnp.abs(within[None, :] - atoms[:, None]) / spacing, 0.0, 1.0)
    return share @ probabilities


def gaussian_bins(
    mean: Float[Array, ""], edges: Float[Array, " M"], std: float | Float[Array, ""]
) -> Float[Array, " N"]:
    """Returns the probabilities of N = M - 1 bins under a normal distribution that ends at the outer edges.

    p_i = [Phi((e_(i+1) - y) / sigma) - Phi((e_i - y) / sigma)] / [Phi((e_N - y) / sigma) - Phi((e_0 - y) / sigma)],
    Phi the standard normal distribution function.

    Args:
        mean: y; beyond the outer edges it counts as the nearer one.
        edges: e, increasing.
        std: the standard deviation sigma.

    References:
        Farebrother et al., Stop regressing: training value functions via classification for scalable deep RL,
        arXiv:2403.03950, section 3.1 (HL-Gauss). Imani and White, Improving regression performance with distributional
        losses, arXiv:1806.04613.

    Examples:
        >>> gaussian_bins(jnp.float32(0.0), jnp.array([-1.0, 0.0, 1.0]), 0.5).tolist()
        [0.5, 0.5]
    """
    below = ndtr((edges - jnp.clip(mean, edges[0], edges[-1])) / std)
    return (below[1:] - below[:-1]) / (below[-1] - below[0])


def kl_divergence(probabilities: Atoms, logits: Atoms) -> Float[Array, ""]:
    """Computes sum p_i (log p_i - log softmax(logits)_i), 0 log 0 = 0: its gradient by the logits is softmax - p.

    References:
        Bellemare, Dabney and Munos, arXiv:1707.06887, algorithm 1, of which it is the loss minus the entropy of p.

    Examples:
        >>> float(kl_divergence(jnp.array([0.5, 0.5, 0.0]), jnp.array([1.0, 1.0, -jnp.inf])))
        0.0
    """
    some = probabilities > 0.0
    log_p = jnp.log(jnp.where(some, probabilities, 1.0))
    return jnp.sum(jnp.where(some, probabilities * (log_p - jax.nn.log_softmax(logits)), 0.0))
