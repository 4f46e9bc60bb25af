"""Recurrent bodies: the carry, which is what they remember, goes in and comes out. The cells are Equinox's."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .initialise import initialiser


class GRU(eqx.Module):
    """The gated recurrent unit; reset r, update z, candidate n:

        r = sigmoid(Wr x + Ur h + br)
        z = sigmoid(Wz x + Uz h + bz)
        n = tanh(Wn x + bn + r (Un h + cn))
        h' = (1 - z) n + z h

    Weights lie on each other in the order r, z, n. Every square block of U is orthogonal by itself.

    Attributes:
        cell: its `weight_ih` is W, `weight_hh` U, `bias` b and `bias_n` c; both biases begin at 0.

    References:
        Cho et al., arXiv:1406.1078; the reset gate after the product, as in its first version (and cuDNN).

    Examples:
        >>> gru = GRU(3, 8, key=jax.random.key(0))
        >>> y, carry = gru(jnp.zeros(3), gru.initial_carry())
        >>> y.shape, carry.shape
        ((8,), (8,))
    """

    cell: eqx.nn.GRUCell

    def __init__(
        self, in_size: int, size: int, *, key: PRNGKeyArray, gain: float = 1.0, init: str = "orthogonal"
    ) -> None:
        weights = _weights(key, in_size, size, 3, gain, init)
        biases = jnp.zeros(3 * size, jnp.float32), jnp.zeros(size, jnp.float32)
        self.cell = eqx.tree_at(
            lambda cell: (cell.weight_ih, cell.weight_hh, cell.bias, cell.bias_n),
            eqx.filter_eval_shape(eqx.nn.GRUCell, in_size, size, key=key),
            (*weights, *biases),
        )

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.cell.hidden_size

    def initial_carry(self) -> Float[Array, " h"]:
        """Returns the carry at the beginning of an episode: zeros."""
        return jnp.zeros(self.out_size, jnp.float32)

    def __call__(
        self, x: Float[Array, " i"], carry: Float[Array, " h"]
    ) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
        hidden = self.cell(x, carry)
        return hidden, hidden


class LSTM(eqx.Module):
    """Long short-term memory; input i, forget f, cell g, output o:

        (i, f, o) = sigmoid(W x + U h + b),  g = tanh(Wg x + Ug h + bg)
        c' = f c + i g
        h' = o tanh(c')

    Weights lie on each other in the order i, f, g, o. The bias of the forget gate begins at 1, the others at 0. The
    carry is (h, c). Every square block of U is orthogonal by itself.

    Attributes:
        cell: its `weight_ih` is W, `weight_hh` U, `bias` b.

    References:
        Hochreiter and Schmidhuber, Neural Computation 9 (1997); the forget gate: Gers, Schmidhuber and Cummins,
        Neural Computation 12 (2000); its bias of 1: Jozefowicz, Zaremba and Sutskever, ICML 2015.

    Examples:
        >>> lstm = LSTM(3, 8, key=jax.random.key(0))
        >>> y, (hidden, cell) = lstm(jnp.zeros(3), lstm.initial_carry())
        >>> y.shape, cell.shape
        ((8,), (8,))
    """

    cell: eqx.nn.LSTMCell

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
        weights = _weights(key, in_size, size, 4, gain, init)
        bias = jnp.repeat(jnp.asarray([0.0, forget_bias, 0.0, 0.0], jnp.float32), size)
        self.cell = eqx.tree_at(
            lambda cell: (cell.weight_ih, cell.weight_hh, cell.bias),
            eqx.filter_eval_shape(eqx.nn.LSTMCell, in_size, size, key=key),
            (*weights, bias),
        )

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.cell.hidden_size

    def initial_carry(self) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
        """Returns the carry (h, c) at the beginning of an episode: zeros."""
        return jnp.zeros(self.out_size, jnp.float32), jnp.zeros(self.out_size, jnp.float32)

    def __call__(
        self, x: Float[Array, " i"], carry: tuple[Float[Array, " h"], Float[Array, " h"]]
    ) -> tuple[Float[Array, " h"], tuple[Float[Array, " h"], Float[Array, " h"]]]:
        hidden, cell = self.cell(x, carry)
        return hidden, (hidden, cell)


def _weights(
    key: PRNGKeyArray, in_size: int, size: int, gates: int, gain: float, init: str
) -> tuple[Float[Array, "gates_h i"], Float[Array, "gates_h h"]]:
    """Draws W and U, every gate by itself."""
    draw = initialiser(init)

    def blocks(key: PRNGKeyArray, inputs: int) -> Array:
        return jnp.concatenate([draw(k, (inputs, size), gain).T for k in jax.random.split(key, gates)])

    weight_key, recurrent_key = jax.random.split(key)
    return blocks(weight_key, in_size), blocks(recurrent_key, size)
