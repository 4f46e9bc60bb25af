"""Hidden layers of several kinds, by name: plain ones, and those of the descendants of SAC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..core.errors import ConfigError
from ..core.spaces import Space
from .batch_renorm import BatchRenorm, has_statistics
from .hyperspherical import SimBaV2
from .layers import ACTIVATIONS, Dense, LayerNorm
from .mlp import MLP
from .torso import Body, body_for

ACTOR_KINDS = ("plain", "layer_norm", "crossq", "simba", "simba_v2")
CRITIC_KINDS = ("plain", "layer_norm", "crossq", "droq", "simba", "simba_v2")
ONE_WIDTH = ("simba", "simba_v2")
"""Kinds made of blocks, which all have the same width."""

Input = Float[Array, " i"]
Features = Float[Array, " o"]


class Training(eqx.Module):
    """Input of layers beside their features while they learn from a minibatch, under a `vmap` over its samples.

    Attributes:
        key: for what is dropped of this sample; None for nothing.
        axes: names of the axes that the samples lie on, over which moments are taken; () for the running ones.
    """

    key: PRNGKeyArray | None = None
    axes: tuple[str, ...] = eqx.field(static=True, default=())


class RenormMLP(eqx.Module):
    """h_k = norm_k(f(h_{k-1} W_k + b_k)), h_0 = norm_0(x), by batch renormalisation: before every affine map.

    Attributes:
        layers: the affine maps.
        norms: a normalisation of the input, and one after each layer.
        activation: f by name.

    References:
        Bhatt et al., CrossQ: batch normalization in deep reinforcement learning for greater sample efficiency and
        simplicity, arXiv:1902.05605, section 4.
    """

    layers: tuple[Dense, ...]
    norms: tuple[BatchRenorm, ...]
    activation: str = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(self, in_size: int, sizes: Sequence[int], *, key: PRNGKeyArray, activation: str, **weights: Any):
        mlp = MLP(in_size, sizes, key=key, activation=activation, **weights)
        self.layers, self.activation, self.out_size = mlp.layers, mlp.activation, mlp.out_size
        self.norms = tuple(BatchRenorm(size) for size in (in_size, *sizes))

    def __call__(self, x: Input) -> Features:
        x = self.norms[0](x)
        for layer, norm in zip(self.layers, self.norms[1:], strict=True):
            x = norm(ACTIVATIONS[self.activation](layer(x)))
        return x

    def train(self, x: Input, training: Training) -> tuple[Features, RenormMLP]:
        """Returns what it makes of one sample of a minibatch, and itself with the running moments after it."""
        if not training.axes:
            return self(x), self
        x, first = self.norms[0].train(x, training.axes)
        moved = [first]
        for layer, norm in zip(self.layers, self.norms[1:], strict=True):
            x, after = norm.train(ACTIVATIONS[self.activation](layer(x)), training.axes)
            moved.append(after)
        return x, eqx.tree_at(lambda body: body.norms, self, tuple(moved))


class DropoutMLP(eqx.Module):
    """h_k = f(norm_k(drop(h_{k-1} W_k + b_k))): while it learns, each unit is 0 by chance, and layers are normalised.

    Attributes:
        mlp: the layers, with layer normalisation.
        rate: the probability that a unit is 0; others are divided by 1 - rate.

    References:
        Hiraoka et al., Dropout Q-functions for doubly efficient reinforcement learning, arXiv:2110.02034, figure 1.
        Srivastava et al., Dropout, JMLR 15 (2014).
    """

    mlp: MLP
    rate: float = eqx.field(static=True)

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.mlp.out_size

    def __call__(self, x: Input) -> Features:
        return self.mlp(x)

    def train(self, x: Input, training: Training) -> tuple[Features, DropoutMLP]:
        """Returns what it makes of one sample with some units dropped, and itself."""
        if training.key is None:
            return self(x), self
        activation = ACTIVATIONS[self.mlp.activation]
        for k, (layer, norm) in enumerate(zip(self.mlp.layers, self.mlp.norms, strict=True)):
            y = layer(x)
            kept = kept_units(jax.random.fold_in(training.key, k), y, self.rate)
            x = activation(norm(jnp.where(kept, y / (1.0 - self.rate), 0.0)))
        return x, self


class SimBa(eqx.Module):
    """h_0 = x W + b, h_k = h_{k-1} + f(norm(h_{k-1}) U_k + c_k) V_k + d_k, then one more normalisation.

    The inner layers are four times as wide. What is added up passes through no activation, so that deep networks stay
    as simple functions as their data ask for.

    Attributes:
        first: the affine map of the input.
        norms: layer normalisation before each block, and after the last one.
        wide, narrow: the two affine maps of each block.
        activation: f by name.

    References:
        Lee et al., SimBa: simplicity bias for scaling up parameters in deep reinforcement learning, arXiv:2410.09754,
        section 4.
    """

    first: Dense
    norms: tuple[LayerNorm, ...]
    wide: tuple[Dense, ...]
    narrow: tuple[Dense, ...]
    activation: str = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(
        self,
        in_size: int,
        sizes: Sequence[int],
        *,
        key: PRNGKeyArray,
        activation: str,
        gain: float,
        init: str,
    ) -> None:
        size = sizes[0]
        first_key, *keys = jax.random.split(key, 1 + 2 * len(sizes))
        self.first = Dense(in_size, size, key=first_key, init=init)
        self.norms = tuple(LayerNorm(size) for _ in range(len(sizes) + 1))
        self.wide = tuple(Dense(size, 4 * size, key=k, gain=gain, init=init) for k in keys[::2])
        self.narrow = tuple(Dense(4 * size, size, key=k, init=init) for k in keys[1::2])
        self.activation, self.out_size = activation, size

    def __call__(self, x: Input) -> Features:
        x = self.first(x)
        for norm, wide, narrow in zip(self.norms[:-1], self.wide, self.narrow, strict=True):
            x = x + narrow(ACTIVATIONS[self.activation](wide(norm(x))))
        return self.norms[-1](x)


def kept_units(key: PRNGKeyArray, units: Features, rate: float) -> Bool[Array, " o"]:
    """Draws which units are not dropped, each with probability 1 - rate."""
    return jax.random.bernoulli(key, 1.0 - rate, units.shape)


Hidden = MLP | RenormMLP | DropoutMLP | SimBa | SimBaV2


class HiddenBody(eqx.Module):
    """An observation, flattened or through convolutions, and hidden layers of some kind after it.

    Attributes:
        body: from the observation to numbers.
        hidden: from these to features.
    """

    body: Body
    hidden: Hidden

    @property
    def out_size(self) -> int:
        """How many features come out."""
        return self.hidden.out_size

    def __call__(self, obs: Any) -> Features:
        return self.hidden(self.body(obs))

    def train(self, obs: Any, training: Training) -> tuple[Features, HiddenBody]:
        """Returns the features of one sample of a minibatch, and itself with running moments after it."""
        x, hidden = train(self.hidden, self.body(obs), training)
        return x, HiddenBody(self.body, hidden)


def hidden_for(
    kind: str, in_size: int, sizes: Sequence[int], *, key: PRNGKeyArray, dropout: float = 0.0, **options: Any
) -> Hidden:
    """Makes hidden layers of a kind, one of `CRITIC_KINDS`; `options` are activation, gain and init of the weights."""
    if kind == "crossq":
        return RenormMLP(in_size, sizes, key=key, **options)
    if kind == "simba":
        return SimBa(in_size, sizes, key=key, **options)
    if kind == "simba_v2":
        return SimBaV2(in_size, sizes, key=key, **options)
    mlp = MLP(in_size, sizes, key=key, layer_norm=kind != "plain", **options)
    return DropoutMLP(mlp, dropout) if kind == "droq" else mlp


def actor_body_for(
    kind: str, space: Space, sizes: Sequence[int], *, key: PRNGKeyArray, body: str, **options: Any
) -> Body | HiddenBody:
    """Makes the body of an actor with hidden layers of a kind, one of `ACTOR_KINDS`; `body` is that of `body_for`."""
    if kind in ("plain", "layer_norm"):
        return body_for(space, sizes, key=key, kind=body, layer_norm=kind == "layer_norm", **options)
    first_key, hidden_key = jax.random.split(key)
    first = body_for(space, (), key=first_key, kind=body, **options)
    return HiddenBody(first, hidden_for(kind, first.out_size, sizes, key=hidden_key, **options))


def check_kind_fits(field: str, kind: str, sizes: Sequence[int]) -> None:
    """Refuses widths that hidden layers of a kind cannot have: the blocks of SimBa and SimBaV2 are added up.

    Raises:
        ConfigError: naming the field of the widths.
    """
    if kind in ONE_WIDTH and len(set(sizes)) != 1:
        fix = f"{kind!r} adds its blocks up; use one width for all, a number for each block, such as (128, 128)"
        raise ConfigError(field, tuple(sizes), fix)


def train(module: Any, x: Any, training: Training) -> tuple[Any, Any]:
    """Returns what a module makes of a sample of a minibatch, and the module after it: itself, if learning is the same.

    Modules that compute otherwise while they learn have a method of this name.
    """
    return module.train(x, training) if differs_in_training(module) else (module(x), module)


def drops(module: Any) -> bool:
    """Returns whether a module leaves some of its units out by chance while it learns."""
    is_dropout = lambda node: isinstance(node, DropoutMLP)  # noqa: E731
    return any(map(is_dropout, jax.tree.leaves(module, is_leaf=is_dropout)))


def differs_in_training(module: Any) -> bool:
    """Returns whether a module computes something else while it learns than when it acts."""
    return drops(module) or has_statistics(module)
