"""Noisy networks: affine maps whose weights are disturbed by noise of a size that is learned."""

from __future__ import annotations

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, PRNGKeyArray

from .layers import Dense


class NoisyDense(eqx.Module):
    """y = x (W + S * (e d^T)) + b + s * d, with e = f(noise) [in], d = f(noise) [out], f(z) = sign(z) sqrt|z|.

    Without noise, as it is built and kept, y = x W + b. `with_noise` draws some. It stands in the place of a `Dense`,
    with whose weights it begins.

    Attributes:
        mean: W and b.
        weight_scale, bias_scale: S and s, which are learned as well.
        noise: e and d; None for none.

    References:
        Fortunato et al., Noisy networks for exploration, arXiv:1706.10295, equations 9 to 11 (factorised noise).
    """

    mean: Dense
    weight_scale: Float32[Array, "i o"]
    bias_scale: Float32[Array, " o"]
    noise: tuple[Float[Array, " i"], Float[Array, " o"]] | None = None

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        y = self.mean(x)
        if self.noise is None:
            return y
        of_input, of_output = self.noise
        return y + of_output * ((x * of_input) @ self.weight_scale + self.bias_scale)


def noisy(network: Any, std: float) -> Any:
    """Returns a network whose affine maps are noisy, with scales that begin at std / sqrt(in)."""

    def made(node: Any) -> Any:
        if not isinstance(node, Dense):
            return node
        size, out = node.weight.shape
        scale = jnp.float32(std / math.sqrt(size))
        return NoisyDense(node, jnp.full((size, out), scale), jnp.full(out, scale))

    return jax.tree.map(made, network, is_leaf=lambda node: isinstance(node, Dense))


def with_noise(network: Any, key: PRNGKeyArray) -> Any:
    """Returns a network with noise drawn for each of its noisy layers; itself, if it has none."""
    numbers = itertools.count()

    def drawn(node: Any) -> Any:
        if not _is_noisy(node):
            return node
        input_key, output_key = jax.random.split(jax.random.fold_in(key, next(numbers)))
        size, out = node.weight_scale.shape
        factors = factor(input_key, size), factor(output_key, out)
        return NoisyDense(node.mean, node.weight_scale, node.bias_scale, factors)

    return jax.tree.map(drawn, network, is_leaf=_is_noisy)


def factor(key: PRNGKeyArray, size: int) -> Float[Array, " n"]:
    """Draws f(z) = sign(z) sqrt|z| of standard normal numbers."""
    z = jax.random.normal(key, (size,), jnp.float32)
    return jnp.sign(z) * jnp.sqrt(jnp.abs(z))


def is_noisy(network: Any) -> bool:
    """Returns whether a network has noisy layers."""
    return any(map(_is_noisy, jax.tree.leaves(network, is_leaf=_is_noisy)))


def _is_noisy(node: Any) -> bool:
    return isinstance(node, NoisyDense)
