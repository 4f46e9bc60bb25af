"""Running statistics of observations and rewards, and scaling by them.

float32 stops counting at 2**24 and a running mean stops moving once a batch's share of it rounds to nothing. So counts
are whole numbers of 64 bits in two words, and means and variances are pairs, value + rest, where `rest` is what
float32 had to round off.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from .across import gather_over

Number = Float[Array, ""] | float
Pair = tuple[Float[Array, "*s"], Float[Array, "*s"]]
EPS = 1e-8
"""Added to a variance before its root is taken."""


class RunningMoments(eqx.Module):
    """Mean and variance of everything seen so far, component by component.

    Attributes:
        count: how many samples, as (high, low) words of 32 bits: exact up to 2**64.
        mean: float32 [...]; the mean is mean + mean_rest.
        variance: float32 [...], that of the population (divisor N); likewise with variance_rest.
    """

    count: UInt32[Array, "2"]
    mean: Float[Array, "*s"]
    mean_rest: Float[Array, "*s"]
    variance: Float[Array, "*s"]
    variance_rest: Float[Array, "*s"]

    def size(self) -> Float[Array, ""]:
        """Returns the count as a float32, rounded: for weights and reports."""
        high, low = self.count.astype(jnp.float32)
        return high * 2.0**32 + low


def no_moments(shape: tuple[int, ...] = ()) -> RunningMoments:
    """Returns the moments before anything was seen."""
    zeros = jnp.zeros(shape, jnp.float32)
    return RunningMoments(jnp.zeros(2, jnp.uint32), zeros, zeros, zeros, zeros)


def batch_moments(batch: Float[Array, "N *s"]) -> RunningMoments:
    """Computes mean and variance over the first axis, in two passes: shifted by a sample, then about the first pass's
    mean.

    References:
        Chan, Golub and LeVeque, Algorithms for computing the sample variance, The American Statistician 37 (1983): the
        corrected two-pass algorithm.
    """
    shift = batch[0]
    mean = shift + jnp.mean(batch - shift[None], axis=0)
    offset = batch - mean[None]
    rest = jnp.mean(offset, axis=0)
    variance = jnp.maximum(jnp.mean(offset * offset, axis=0) - rest * rest, 0.0)
    count = jnp.array(divmod(batch.shape[0], 2**32), jnp.uint32)
    return RunningMoments(count, mean, rest, variance, jnp.zeros_like(variance))


def merge(a: RunningMoments, b: RunningMoments) -> RunningMoments:
    """Returns the moments of both samples together.

    mean = mean_a + w d, variance = variance_a + w (variance_b - variance_a + (1 - w) d^2), w = n_b / (n_a + n_b),
    d = mean_b - mean_a.

    References:
        Chan, Golub and LeVeque, The American Statistician 37 (1983): the pairwise formula, divided by the count.
    """
    count = add_counts(a.count, b.count)
    size_a, size_b = a.size(), b.size()
    total = jnp.maximum(size_a + size_b, 1.0)
    w, rest = size_b / total, size_a / total
    d, d_rest = b.mean - a.mean, b.mean_rest - a.mean_rest
    growth = (b.variance - a.variance) + (b.variance_rest - a.variance_rest)
    mean = _add(_add((a.mean, a.mean_rest), w * d), w * d_rest)
    variance = _add((a.variance, a.variance_rest), w * (growth + rest * (d + d_rest) ** 2))
    return RunningMoments(count, *mean, *variance)


def merge_all(moments: RunningMoments) -> RunningMoments:
    """Returns the moments of all samples of a stack of moments, [N, ...], together.

    N is at most 2**16, or the samples are fewer than 2**32.
    """
    size = jax.vmap(RunningMoments.size)(moments)
    w = size / jnp.maximum(jnp.sum(size), 1.0)

    def mean_of(values: Float[Array, "N *s"]) -> Float[Array, "*s"]:
        return jnp.sum(values * w.reshape(-1, *[1] * (values.ndim - 1)), axis=0)

    middle = mean_of(moments.mean)
    offset = (moments.mean - middle[None]) + moments.mean_rest
    shift = mean_of(offset)
    variance = mean_of(moments.variance + moments.variance_rest + (offset - shift[None]) ** 2)
    mean = _add((middle, jnp.zeros_like(middle)), shift)
    return RunningMoments(_sum_of_counts(moments.count), *mean, variance, jnp.zeros_like(variance))


def observe(moments: RunningMoments, batch: Float[Array, "N *s"], *, axis_name: str | None = None) -> RunningMoments:
    """Returns the moments after a batch of N more samples.

    Args:
        axis_name: of the devices that each hold a part of the batch; their parts are merged first, so that `moments`
            stays the same on all of them.
    """
    new = batch_moments(batch)
    return merge(moments, new if axis_name is None else merge_all(gather_over(new, axis_name)))


def normalise(moments: RunningMoments, x: Float[Array, "*s"], clip: Number = 10.0, eps: Number = EPS) -> Array:
    """Computes (x - mean) / sqrt(variance + eps), clipped to +-clip; x itself, clipped, as long as nothing has been
    seen.
    """
    centred = (x - moments.mean) - moments.mean_rest
    scaled = centred / jnp.sqrt(moments.variance + moments.variance_rest + eps)
    return jnp.clip(jnp.where(_is_empty(moments), x, scaled), -clip, clip)


def scale_rewards(
    moments: RunningMoments,
    rewards: Float[Array, "T B"],
    returns: Float[Array, "T B"],
    *,
    axis_name: str | None = None,
    eps: Number = EPS,
) -> tuple[RunningMoments, Float[Array, "T B"]]:
    """Divides rewards by the standard deviation of the running discounted return, without centring them.

    All T steps are divided by one number, that of the moments after this batch. The rewards of one batch then keep
    their proportions, and one return is never a sum of rewards in different units, as it is when the number changes at
    every step; nor does it depend on the order of the environments. It looks into no future: nothing has been learned
    from this batch when its scale is fixed. And the very first steps are scaled by a whole batch, not by a few samples.

    Args:
        moments: of the running returns of all steps and environments before.
        rewards: of the batch.
        returns: R of each step: R <- gamma R + r, from 0 at an episode's beginning, its last reward included.
        axis_name: of the devices that each hold some of the environments.
        eps: added to the variance.

    Returns:
        The moments after the batch, and the scaled rewards.

    References:
        Engstrom et al., Implementation matters in deep policy gradients, arXiv:2005.12729, section 3 (reward scaling).

    Differs from the paper: the scale is that of the whole batch; returns begin anew with each episode.
    """
    moments = observe(moments, returns.reshape(-1), axis_name=axis_name)
    divisor = jnp.sqrt(moments.variance + moments.variance_rest + eps)
    return moments, rewards / divisor


class Scaling(eqx.Module):
    """An affine map of samples, made from moments: cheaper than `normalise` where many samples see the same moments.

    Attributes:
        mean, mean_rest, inverse_std: float32 [...]; 0, 0 and 1 as long as nothing has been seen.
        limit: scaled samples are clipped to +- this.
    """

    mean: Float[Array, "*s"]
    mean_rest: Float[Array, "*s"]
    inverse_std: Float[Array, "*s"]
    limit: Float[Array, ""]

    def __call__(self, x: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Computes (x - mean) / std, clipped to +-limit."""
        return jnp.clip(((x - self.mean) - self.mean_rest) * self.inverse_std, -self.limit, self.limit)


def scaling_of(moments: RunningMoments, limit: Number = 10.0, eps: Number = EPS) -> Scaling:
    """Returns what scales samples as `normalise` does, up to rounding."""
    empty = _is_empty(moments)
    inverse = 1.0 / jnp.sqrt(moments.variance + moments.variance_rest + eps)
    mean, rest = (jnp.where(empty, 0.0, part) for part in (moments.mean, moments.mean_rest))
    return Scaling(mean, rest, jnp.where(empty, 1.0, inverse), jnp.asarray(limit, jnp.float32))


class SampleSums(eqx.Module):
    """Sums of samples that come one by one, about a shift that is near them.

    Attributes:
        shift: float32 [...].
        first, second: of (x - shift) and of its square.
    """

    shift: Float[Array, "*s"]
    first: Float[Array, "*s"]
    second: Float[Array, "*s"]

    def add(self, x: Float[Array, "*s"]) -> SampleSums:
        """Returns the sums with one more sample."""
        offset = x - self.shift
        return SampleSums(self.shift, self.first + offset, self.second + offset * offset)

    def moments(self, count: Int[Array, ""]) -> RunningMoments:
        """Returns mean and variance of so many samples."""
        size = jnp.maximum(count, 1).astype(jnp.float32)
        offset = self.first / size
        variance = jnp.maximum(self.second / size - offset * offset, 0.0)
        counts = jnp.stack([jnp.uint32(0), count.astype(jnp.uint32)])
        mean, rest = _add((self.shift, jnp.zeros_like(self.shift)), offset)
        return RunningMoments(counts, mean, rest, variance, jnp.zeros_like(variance))


def no_sums(shift: Float[Array, "*s"]) -> SampleSums:
    """Returns the sums before the first sample, about a shift."""
    return SampleSums(shift, jnp.zeros_like(shift), jnp.zeros_like(shift))


def _is_empty(moments: RunningMoments) -> Bool[Array, ""]:
    return jnp.all(moments.count == 0)


def _add(pair: Pair, increment: Float[Array, "*s"]) -> Pair:
    """Returns value + rest + increment as such a pair again (Knuth's two-sum)."""
    value, rest = pair
    y = rest + increment
    total = value + y
    part = total - value
    return total, (value - (total - part)) + (y - part)


def add_counts(a: UInt32[Array, "2"], b: UInt32[Array, "2"]) -> UInt32[Array, "2"]:
    """Returns the sum of two counts of 64 bits in two words."""
    low = a[1] + b[1]
    carry = (low < a[1]).astype(jnp.uint32)
    return jnp.stack([a[0] + b[0] + carry, low])


def _sum_of_counts(counts: UInt32[Array, "N 2"]) -> UInt32[Array, "2"]:
    """Sums at most 2**16 counts, or up to 2**32: halves of words cannot overflow."""
    sixteen, half = jnp.uint32(16), jnp.uint32(0xFFFF)
    high, low = counts[:, 0], counts[:, 1]
    lowest = jnp.sum(low & half, dtype=jnp.uint32)
    upper = jnp.sum(low >> sixteen, dtype=jnp.uint32) + (lowest >> sixteen)
    return jnp.stack([jnp.sum(high, dtype=jnp.uint32) + (upper >> sixteen), (upper << sixteen) | (lowest & half)])
