"""First weights: functions of (key, shape, gain) for weights laid out [..., in, out].

The fan-in of a shape is the product of all its axes but the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, PRNGKeyArray

from ..core.errors import check_choice

Shape = tuple[int, ...]

UNLIKELY = 6.0  # a singular value lies this far outside its range with probability exp(-6**2 / 2)
STEEPEST = 1.7  # below sqrt(3), for which a singular value of 1 becomes 0 (and, rounded, anything near it)
SMALLEST = 1e-9  # what rounding leaves of a singular value, as a part of the largest


def orthogonal(key: PRNGKeyArray, shape: Shape, gain: float = 1.0) -> Float32[Array, "*shape"]:
    """Draws gain times a matrix with orthonormal columns (rows, where it is wide), uniform over all such matrices.

    The shape is read as a matrix [product of all axes but the last, last]. The matrix is the polar factor U V^T of a
    Gaussian matrix U S V^T, uniform in the sense of Haar because U and V are. A scaled Newton-Schulz iteration finds
    it by matrix products alone, so that it may run under `vmap` in any program on any device:

        X <- 3/2 a X - 1/2 a^3 X X^T X,    a^2 = min(1.7^2, 3 / (1 + l + l^2)),    singular values of X in [l, 1].

    A singular value that starts above 1 may turn negative on the way; U D V^T with signs D is as uniform.

    Args:
        key: Randomness.
        shape: Of the weights; at least two axes.
        gain: Every singular value of the result.

    References:
        Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural
        networks", arXiv:1312.6120. Chen and Chow, "A stable scaling of Newton-Schulz for improving the sign function
        computation of a Hermitian matrix", Argonne ANL/MCS-P5059-0114 (2014). Bounds of the singular values of a
        Gaussian matrix: Davidson and Szarek (2001), theorem II.13.

    Examples:
        >>> w = orthogonal(jax.random.key(0), (64, 8), 2.0)
        >>> bool(jnp.max(jnp.abs(w.T @ w - 4 * jnp.eye(8))) < 1e-5)
        True
    """
    rows, columns = math.prod(shape[:-1]), shape[-1]
    factor = _polar_factor(key, max(rows, columns), min(rows, columns))
    weights = factor if rows >= columns else factor.T
    return jnp.float32(gain) * weights.reshape(shape)


@partial(jax.jit, static_argnums=(1, 2))
def _polar_factor(key: PRNGKeyArray, tall: int, short: int) -> Float32[Array, "tall short"]:
    """Returns that of a Gaussian matrix [tall, short]. Compiled once for a size where networks are built outside of
    `jit`.
    """
    largest = math.sqrt(tall) + math.sqrt(short) + UNLIKELY
    least = max(SMALLEST, (math.sqrt(tall) - math.sqrt(short) - UNLIKELY) / largest)
    gaussian = jax.random.normal(key, (tall, short), jnp.float32) / jnp.float32(largest)
    factor, _ = jax.lax.scan(_newton_schulz, gaussian, jnp.asarray(_scales(least), jnp.float32))
    return factor


def _newton_schulz(x: Array, scale: Array) -> tuple[Array, None]:
    """Computes 3/2 a X - 1/2 a^3 X X^T X: odd in the singular values, which it moves towards 1."""
    gram = jnp.matmul(x.T, x, precision=jax.lax.Precision.HIGHEST)
    step = 1.5 * scale * jnp.eye(x.shape[1], dtype=jnp.float32) - 0.5 * scale**3 * gram
    return jnp.matmul(x, step, precision=jax.lax.Precision.HIGHEST), None


def _scales(least: float) -> tuple[float, ...]:
    """Returns a of every iteration until the interval [l, 1] has shrunk to a point, and a last one with a = 1."""
    scales = []
    while least < 1.0 - 1e-7:
        scale = min(STEEPEST, math.sqrt(3.0 / (1.0 + least + least * least)))
        least = 0.5 * scale * least * (3.0 - (scale * least) ** 2)
        scales.append(scale)
    return (*scales, 1.0)


def lecun_normal(key: PRNGKeyArray, shape: Shape, gain: float = 1.0) -> Float32[Array, "*shape"]:
    """Draws from N(0, gain^2 / fan_in): keeps the variance of linear layers.

    References:
        LeCun, Bottou, Orr and Müller, "Efficient BackProp" (1998), section 4.6.
    """
    return jnp.float32(gain / math.sqrt(_fan_in(shape))) * jax.random.normal(key, shape, jnp.float32)


def he_normal(key: PRNGKeyArray, shape: Shape, gain: float = 1.0) -> Float32[Array, "*shape"]:
    """Draws from N(0, 2 gain^2 / fan_in): keeps the variance of layers with rectifiers.

    References:
        He, Zhang, Ren and Sun, arXiv:1502.01852, equation 10.
    """
    return lecun_normal(key, shape, gain * math.sqrt(2.0))


def uniform_fan_in(key: PRNGKeyArray, shape: Shape, gain: float = 1.0) -> Float32[Array, "*shape"]:
    """Draws from U(-gain / sqrt(fan_in), gain / sqrt(fan_in)): what PyTorch gives linear and convolutional weights."""
    bound = gain / math.sqrt(_fan_in(shape))
    return jax.random.uniform(key, shape, jnp.float32, -bound, bound)


def zeros(key: PRNGKeyArray, shape: Shape, gain: float = 1.0) -> Float32[Array, "*shape"]:
    """Returns zeros, whatever the key and the gain."""
    del key, gain
    return jnp.zeros(shape, jnp.float32)


def _fan_in(shape: Shape) -> int:
    return max(1, math.prod(shape[:-1]))


Initialiser = Callable[[PRNGKeyArray, Shape, float], Array]

INITIALISERS: Mapping[str, Initialiser] = MappingProxyType(
    {
        "orthogonal": orthogonal,
        "lecun_normal": lecun_normal,
        "he_normal": he_normal,
        "uniform_fan_in": uniform_fan_in,
        "zeros": zeros,
    }
)


def initialiser(name: str) -> Initialiser:
    """Returns the function of this name.

    Raises:
        ConfigError: for an unknown name.
    """
    check_choice("initialiser", name, INITIALISERS)
    return INITIALISERS[name]
