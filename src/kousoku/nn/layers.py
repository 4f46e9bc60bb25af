"""The parts of a body: an affine map, layer normalisation, activations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, PRNGKeyArray

from ..core.errors import check_choice
from .initialise import initialiser

Activation = Callable[[Array], Array]

ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "tanh": jnp.tanh,
        "relu": jax.nn.relu,
        "elu": jax.nn.elu,
        "silu": jax.nn.silu,
        "gelu": jax.nn.gelu,
        "leaky_relu": jax.nn.leaky_relu,
        "softplus": jax.nn.softplus,
        "sigmoid": jax.nn.sigmoid,
        "identity": lambda x: x,
    }
)


def check_activation(field: str, name: object) -> str:
    """Returns the name, if it is one of `ACTIVATIONS`.

    Raises:
        ConfigError: for another, with the nearest name.
    """
    check_choice(field, name, ACTIVATIONS)
    return str(name)


class Dense(eqx.Module):
    """y = x W + b, with W [in, out]: under `vmap` over rows one product [B, in] [in, out].

    Attributes:
        weight: W.
        bias: b, which begins at 0; None for none.
    """

    weight: Float32[Array, "i o"]
    bias: Float32[Array, " o"] | None

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        key: PRNGKeyArray,
        gain: float = 1.0,
        init: str = "orthogonal",
        use_bias: bool = True,
    ) -> None:
        self.weight = initialiser(init)(key, (in_size, out_size), gain)
        self.bias = jnp.zeros(out_size, jnp.float32) if use_bias else None

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        y = x @ self.weight
        return y if self.bias is None else y + self.bias

    def of_index(self, i: Int[Array, ""]) -> Float[Array, " o"]:
        """Returns y of the one-hot vector of i, all zeros for an index outside: a row of W, without a sum."""
        y = self.weight.at[i].get(mode="fill", fill_value=0.0, wrap_negative_indices=False)
        return y if self.bias is None else y + self.bias


class LayerNorm(eqx.Module):
    """y = scale (x - mean x) / sqrt(var x + 1e-5) + shift.

    References:
        Ba, Kiros and Hinton, arXiv:1607.06450.
    """

    scale: Float32[Array, " n"]
    shift: Float32[Array, " n"]

    def __init__(self, size: int) -> None:
        self.scale = jnp.ones(size, jnp.float32)
        self.shift = jnp.zeros(size, jnp.float32)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        centred = x - jnp.mean(x)
        return self.scale * centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred)) + 1e-5) + self.shift
