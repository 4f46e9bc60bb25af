"""SimBaV2: features and weights of unit length, which gradient steps turn by an angle and let not grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, PRNGKeyArray

from .initialise import initialiser
from .layers import ACTIVATIONS

SHIFT = 3.0
"""What stands beside an input, so that its length is not lost where it is scaled to 1."""
EXPANSION = 4
"""How many times as wide as the features the inner layer of a block is."""
TINY = 1e-8
LOG_STD_RANGE = (-10.0, 2.0)

Features = Float[Array, " F"]


def unit_length(x: Float[Array, "*n"], axis: int = -1) -> Float[Array, "*n"]:
    """Returns x / |x| along an axis; 0 of zeros, with a gradient that is finite there, too."""
    return x * jax.lax.rsqrt(jnp.maximum(jnp.sum(jnp.square(x), axis=axis, keepdims=True), TINY**2))


class UnitDense(eqx.Module):
    """y = x W, where the weights of each output have unit length: for x of unit length, cosines.

    A step of the optimiser lengthens them; `with_unit_weights` makes up for it.

    Attributes:
        weight: W.
    """

    weight: Float32[Array, "i o"]

    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray, init: str) -> None:
        self.weight = unit_length(initialiser(init)(key, (in_size, out_size), 1.0), axis=0)

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        return x @ self.weight


class Scaler(eqx.Module):
    """y = s x, where s begins at `first`, learned as a parameter that begins at `size`.

    The smaller `size` is beside `first`, the faster s moves: a step of Adam moves the parameter by the learning rate.

    Attributes:
        parameter: s times size / first, [n].
        ratio: first / size.
    """

    parameter: Float32[Array, " n"]
    ratio: float = eqx.field(static=True)

    def __init__(self, number: int, *, first: float, size: float) -> None:
        self.parameter, self.ratio = jnp.full(number, size, jnp.float32), first / size

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.parameter * self.ratio * x


class LerpBlock(eqx.Module):
    """h <- l(h + a (m - h)), m = l(f(s (h W_1)) W_2), l the scaling to unit length: a part of the way towards m.

    Attributes:
        wide, narrow: W_1, to four times as many units, and W_2.
        scaler, step: s and a.
    """

    wide: UnitDense
    scaler: Scaler
    narrow: UnitDense
    step: Scaler

    def __init__(self, size: int, blocks: int, *, key: PRNGKeyArray, init: str) -> None:
        wide_key, narrow_key = jax.random.split(key)
        inner, scale = EXPANSION * size, math.sqrt(2.0 / (EXPANSION * size))
        self.wide = UnitDense(size, inner, key=wide_key, init=init)
        self.scaler = Scaler(inner, first=scale, size=scale)
        self.narrow = UnitDense(inner, size, key=narrow_key, init=init)
        self.step = Scaler(size, first=1.0 / (blocks + 1), size=1.0 / math.sqrt(size))

    def __call__(self, x: Features, activation: str) -> Features:
        inner = ACTIVATIONS[activation](self.scaler(self.wide(x))) + TINY
        towards = unit_length(self.narrow(inner))
        return unit_length(x + self.step(towards - x))


class SimBaV2(eqx.Module):
    """h_0 = l(s (l([x, 3]) W)), then blocks, each of which moves h on the sphere: see `LerpBlock`.

    Inputs are to be of order 1, as scaled observations are.

    Attributes:
        first: W.
        scaler: s.
        blocks: the blocks.
        activation: f of the blocks, by name.

    References:
        Lee et al., Hyperspherical normalization for scalable deep reinforcement learning, arXiv:2502.15280, section 4.
    """

    first: UnitDense
    scaler: Scaler
    blocks: tuple[LerpBlock, ...]
    activation: str = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(
        self, in_size: int, sizes: Sequence[int], *, key: PRNGKeyArray, activation: str, init: str, gain: float
    ) -> None:
        del gain  # weights have unit length
        size, scale = sizes[0], math.sqrt(2.0 / sizes[0])
        first_key, *keys = jax.random.split(key, 1 + len(sizes))
        self.first = UnitDense(in_size + 1, size, key=first_key, init=init)
        self.scaler = Scaler(size, first=scale, size=scale)
        self.blocks = tuple(LerpBlock(size, len(sizes), key=k, init=init) for k in keys)
        self.activation, self.out_size = activation, size

    def __call__(self, x: Float[Array, " i"]) -> Features:
        shifted = jnp.concatenate([x, jnp.full(1, SHIFT, x.dtype)])
        x = unit_length(self.scaler(self.first(unit_length(shifted))))
        for block in self.blocks:
            x = block(x, self.activation)
        return x


class UnitHead(eqx.Module):
    """y = (s (x W_1)) W_2 + b, s and b beginning at 1 and 0.

    Attributes:
        wide: W_1, as many units as features.
        scaler: s.
        narrow: W_2.
        bias: b.
    """

    wide: UnitDense
    scaler: Scaler
    narrow: UnitDense
    bias: Float32[Array, " o"]

    def __init__(self, in_size: int, out_size: int, *, key: PRNGKeyArray, init: str) -> None:
        wide_key, narrow_key = jax.random.split(key)
        self.wide = UnitDense(in_size, in_size, key=wide_key, init=init)
        self.scaler = Scaler(in_size, first=1.0, size=1.0)
        self.narrow = UnitDense(in_size, out_size, key=narrow_key, init=init)
        self.bias = jnp.zeros(out_size, jnp.float32)

    def __call__(self, x: Features) -> Float[Array, " o"]:
        return self.narrow(self.scaler(self.wide(x))) + self.bias


class UnitGaussian(eqx.Module):
    """Location and scale of every component of an action, [A] each, by a head each; log scale = -4 + 6 tanh(y).

    Attributes:
        loc, log_scale: the heads.
    """

    loc: UnitHead
    log_scale: UnitHead

    def __init__(self, size: int, in_size: int, *, key: PRNGKeyArray, init: str) -> None:
        loc_key, scale_key = jax.random.split(key)
        self.loc = UnitHead(in_size, size, key=loc_key, init=init)
        self.log_scale = UnitHead(in_size, size, key=scale_key, init=init)

    def __call__(self, x: Features) -> tuple[Float[Array, " A"], Float[Array, " A"]]:
        low, high = LOG_STD_RANGE
        return self.loc(x), jnp.exp(low + 0.5 * (high - low) * (1.0 + jnp.tanh(self.log_scale(x))))


def with_unit_weights(network: Any) -> Any:
    """Returns a tree of parameters with the weights of its `UnitDense` layers scaled to unit length."""

    def scaled(node: Any) -> Any:
        if not isinstance(node, UnitDense):
            return node
        return eqx.tree_at(lambda layer: layer.weight, node, unit_length(node.weight, axis=0))

    return jax.tree.map(scaled, network, is_leaf=lambda node: isinstance(node, UnitDense))
