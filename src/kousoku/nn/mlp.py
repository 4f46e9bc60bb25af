"""The multilayer perceptron."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core.errors import ConfigError, check_count, check_size
from .layers import ACTIVATIONS, Dense, LayerNorm, check_activation


class MLP(eqx.Module):
    """h_k = f(h_{k-1} W_k + b_k) for every hidden size, with layer normalisation inside f where asked for.

    Without sizes it is the identity.

    Attributes:
        layers: the affine maps.
        norms: one normalisation for each layer, between it and f; or none at all.
        activation: f by name, one of `layers.ACTIVATIONS`.
        out_size: how many features come out.

    References:
        The default gain sqrt(2) of orthogonal weights: Huang et al., "The 37 implementation details of proximal
        policy optimization", ICLR blog track (2022), detail 2.

    Examples:
        >>> mlp = MLP(3, (64, 32), key=jax.random.key(0))
        >>> mlp(jax.numpy.zeros(3)).shape
        (32,)
    """

    layers: tuple[Dense, ...]
    norms: tuple[LayerNorm, ...]
    activation: str = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(
        self,
        in_size: int,
        sizes: Sequence[int],
        *,
        key: PRNGKeyArray,
        activation: str = "tanh",
        gain: float = math.sqrt(2.0),
        layer_norm: bool = False,
        init: str = "orthogonal",
    ) -> None:
        widths = check_sizes("sizes", sizes)
        pairs = itertools.pairwise((in_size, *widths))
        self.layers = tuple(
            Dense(i, o, key=jax.random.fold_in(key, k), gain=gain, init=init) for k, (i, o) in enumerate(pairs)
        )
        self.norms = tuple(LayerNorm(width) for width in widths) if layer_norm else ()
        self.activation = check_activation("activation", activation)
        self.out_size = (in_size, *widths)[-1]

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        return self._after_first(self.layers[0](x)) if self.layers else x

    def of_index(self, i: Int[Array, ""]) -> Float[Array, " o"]:
        """Returns what it makes of the one-hot vector of an index; it has to have a layer."""
        return self._after_first(self.layers[0].of_index(i))

    def _after_first(self, x: Float[Array, " h"]) -> Float[Array, " o"]:
        x = self._activated(0, x)
        for k, layer in enumerate(self.layers[1:], start=1):
            x = self._activated(k, layer(x))
        return x

    def _activated(self, k: int, x: Float[Array, " h"]) -> Float[Array, " h"]:
        return ACTIVATIONS[self.activation](self.norms[k](x) if self.norms else x)


def check_sizes(field: str, sizes: Any) -> tuple[int, ...]:
    """Returns widths of layers as a tuple of ints.

    Raises:
        ConfigError: for what is no sequence of whole numbers of at least 1 that int32 holds.
    """
    if not isinstance(sizes, (tuple, list)):
        raise ConfigError(field, sizes, "use a tuple of whole numbers, such as (64, 64)")
    return tuple(check_size(f"{field}[{k}]", check_count(f"{field}[{k}]", size)) for k, size in enumerate(sizes))
