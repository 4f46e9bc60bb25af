"""Recurrent bodies: the carry, which is what they remember, goes in and comes out."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, PRNGKeyArray

from .initialise import initialiser


class GRU(eqx.Module):
    """The gated recurrent unit; reset r, update z, candidate n:

        r = sigmoid(x Wr + h Ur + br)
        z = sigmoid(x Wz + h Uz + bz)
        n = tanh(x Wn + bn + r (h Un + cn))
        h' = (1 - z) n + z h

    Weights lie side by side in the order r, z, n. Every square block of U is orthogonal by itself.

    Attributes:
        weight: W.
        recurrent: U.
        bias: b; begins at 0.
        candidate_bias: c; begins at 0.

    References:
        Cho et al., arXiv:1406.1078; the reset gate after the product, as in its first version (and cuDNN).

    Examples:
        >>> gru = GRU(3, 8, key=jax.random.key(0))
        >>> y, carry = gru(jnp.zeros(3), gru.initial_carry())
        >>> y.shape, carry.shape
        ((8,), (8,))
    """

    weight: Float32[Array, "i three_h"]
    recurrent: Float32[Array, "h three_h"]
    bias: Float32[Array, " three_h"]
    candidate_bias: Float32[Array, " h"]

    def __init__(
        self, in_size: int, size: int, *, key: PRNGKeyArray, gain: float = 1.0, init: str = "orthogonal"
    ) -> None:
        weight_key, recurrent_key = jax.random.split(key)
        self.weight = _blocks(weight_key, in_size, size, 3, gain, init)
        self.recurrent = _blocks(recurrent_key, size, size, 3, gain, init)
        self.bias = jnp.zeros(3 * size, jnp.float32)
        self.candidate_bias = jnp.zeros(size, jnp.float32)

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.recurrent.shape[0]

    def initial_carry(self) -> Float[Array, " h"]:
        """Returns the carry at the beginning of an episode: zeros."""
        return jnp.zeros(self.out_size, jnp.float32)

    def __call__(
        self, x: Float[Array, " i"], carry: Float[Array, " h"]
    ) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
        ri, zi, ni = jnp.split(x @ self.weight + self.bias, 3)
        rh, zh, nh = jnp.split(carry @ self.recurrent, 3)
        reset, update = jax.nn.sigmoid(ri + rh), jax.nn.sigmoid(zi + zh)
        candidate = jnp.tanh(ni + reset * (nh + self.candidate_bias))
        hidden = candidate + update * (carry - candidate)
        return hidden, hidden


class LSTM(eqx.Module):
    """Long short-term memory; input i, forget f, cell g, output o:

        (i, f, o) = sigmoid(x W + h U + b),  g = tanh(x Wg + h Ug + bg)
        c' = f c + i g
        h' = o tanh(c')

    Weights lie side by side in the order i, f, g, o. The bias of the forget gate begins at 1, the others at 0. The
    carry is (h, c). Every square block of U is orthogonal by itself.

    Attributes:
        weight: W.
        recurrent: U.
        bias: b.

    References:
        Hochreiter and Schmidhuber, Neural Computation 9 (1997); the forget gate: Gers, Schmidhuber and Cummins,
        Neural Computation 12 (2000); its bias of 1: Jozefowicz, Zaremba and Sutskever, ICML 2015.

    Examples:
        >>> lstm = LSTM(3, 8, key=jax.random.key(0))
        >>> y, (hidden, cell) = lstm(jnp.zeros(3), lstm.initial_carry())
        >>> y.shape, cell.shape
        ((8,), (8,))
    """

    weight: Float32[Array, "i four_h"]
    recurrent: Float32[Array, "h four_h"]
    bias: Float32[Array, " four_h"]

    def __init__(
        self,
        in_size: int,
        size: int,
        *,
        key: PRNGKeyArray,
        gain: float = 1.0,
        init: str = "orthogonal",
        forget_bias: float = 1.0,
    ) -> None:
        weight_key, recurrent_key = jax.random.split(key)
        self.weight = _blocks(weight_key, in_size, size, 4, gain, init)
        self.recurrent = _blocks(recurrent_key, size, size, 4, gain, init)
        self.bias = jnp.repeat(jnp.asarray([0.0, forget_bias, 0.0, 0.0], jnp.float32), size)

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.recurrent.shape[0]

    def initial_carry(self) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
        """Returns the carry (h, c) at the beginning of an episode: zeros."""
        return jnp.zeros(self.out_size, jnp.float32), jnp.zeros(self.out_size, jnp.float32)

    def __call__(
        self, x: Float[Array, " i"], carry: tuple[Float[Array, " h"], Float[Array, " h"]]
    ) -> tuple[Float[Array, " h"], tuple[Float[Array, " h"], Float[Array, " h"]]]:
        hidden, cell = carry
        i, f, g, o = jnp.split(x @ self.weight + hidden @ self.recurrent + self.bias, 4)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return hidden, (hidden, cell)


def _blocks(key: PRNGKeyArray, in_size: int, size: int, count: int, gain: float, init: str) -> Array:
    """Draws weights of `count` gates side by side, each by itself: [in, count * size]."""
    draw = initialiser(init)
    return jnp.concatenate([draw(k, (in_size, size), gain) for k in jax.random.split(key, count)], axis=1)
