"""Heads: features to a distribution of actions, and to a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..core.errors import ConfigError, check_choice, check_takes
from ..core.spaces import Box, Discrete, MultiDiscrete, Space
from ..ops.distributions import Beta, Categorical, Distribution, MultiCategorical, Normal, TanhNormal
from .boxes import bounds, centre_and_reach, check_bounded, shaped, size_of
from .gaussian import Gaussian
from .layers import Dense

KINDS = ("auto", "categorical", "multi_categorical", "normal", "tanh_normal", "beta")

INSTEAD = "use 'normal'"
"""What is advised where a policy within bounds finds none."""

Features = Float[Array, " F"]


class ValueHead(eqx.Module):
    """v = x w + b, a scalar."""

    linear: Dense

    def __init__(self, in_size: int, *, key: PRNGKeyArray, gain: float = 1.0, init: str = "orthogonal") -> None:
        self.linear = Dense(in_size, 1, key=key, gain=gain, init=init)

    def __call__(self, x: Features) -> Float[Array, ""]:
        return self.linear(x)[0]


class CategoricalHead(eqx.Module):
    """Actions of a Discrete space: the logits are affine in the features."""

    linear: Dense

    def __init__(
        self, space: Discrete, in_size: int, *, key: PRNGKeyArray, gain: float = 0.01, init: str = "orthogonal"
    ) -> None:
        self.linear = Dense(in_size, space.n, key=key, gain=gain, init=init)

    def __call__(self, x: Features) -> Distribution:
        return Categorical(self.linear(x))


class MultiCategoricalHead(eqx.Module):
    """Actions of a MultiDiscrete space: the logits of all components, one after the other, are affine."""

    linear: Dense
    sizes: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self, space: MultiDiscrete, in_size: int, *, key: PRNGKeyArray, gain: float = 0.01, init: str = "orthogonal"
    ) -> None:
        self.sizes = space.nvec
        self.linear = Dense(in_size, sum(self.sizes), key=key, gain=gain, init=init)

    def __call__(self, x: Features) -> Distribution:
        return MultiCategorical(self.linear(x), self.sizes)


class NormalHead(eqx.Module):
    """Actions of a Box by a normal distribution in every component, which may lie beyond the bounds: see `clip_to`.

    It is made with the options of `Gaussian`.

    Attributes:
        gaussian: location and scale.
        space: the box.
        normalise: whether location and scale are counted from the middle of a component's bounds, in halves of their
            distance; a component without both is counted in its own unit, as all are where this is False.
    """

    gaussian: Gaussian
    space: Box
    normalise: bool = eqx.field(static=True)

    def __init__(self, space: Box, in_size: int, *, key: PRNGKeyArray, normalise: bool = False, **options: Any) -> None:
        self.space, self.gaussian = space, Gaussian(size_of(space), in_size, key=key, **options)
        self.normalise = normalise

    def __call__(self, x: Features) -> Distribution:
        loc, scale = self.gaussian(x)
        if self.normalise:
            centre, reach = centre_and_reach(self.space)
            if (centre != 0).any() or (reach != 1).any():  # in the unit box itself no operation is added
                loc, scale = centre + reach * loc, reach * scale
        return shaped(Normal(loc, scale), self.space)


class TanhNormalHead(eqx.Module):
    """Actions of a bounded Box: a normal variable, squashed by tanh and stretched to the bounds.

    It is made with the options of `Gaussian`.

    Attributes:
        gaussian: location and scale of the normal variable.
        space: the box.

    References:
        Haarnoja et al., arXiv:1801.01290, appendix C.
    """

    gaussian: Gaussian
    space: Box

    def __init__(self, space: Box, in_size: int, *, key: PRNGKeyArray, **options: Any) -> None:
        check_bounded("policy", "tanh_normal", INSTEAD, space)
        self.space, self.gaussian = space, Gaussian(size_of(space), in_size, key=key, **options)

    def __call__(self, x: Features) -> Distribution:
        return shaped(TanhNormal(*self.gaussian(x), *bounds(self.space)), self.space)


class BetaHead(eqx.Module):
    """Actions of a bounded Box: a beta variable stretched to the bounds, alpha and beta = 1 + softplus(affine).

    Both are above 1, so that the density has one mode and is 0 at the bounds.

    Attributes:
        linear: gives alpha's, then beta's raw values.
        space: the box.

    References:
        Chou, Maturana and Scherer, "Improving stochastic policy gradients in continuous control with deep
        reinforcement learning using the beta distribution", ICML 2017, section 5.
    """

    linear: Dense
    space: Box

    def __init__(
        self, space: Box, in_size: int, *, key: PRNGKeyArray, gain: float = 0.01, init: str = "orthogonal"
    ) -> None:
        check_bounded("policy", "beta", INSTEAD, space)
        self.space = space
        self.linear = Dense(in_size, 2 * size_of(space), key=key, gain=gain, init=init)

    def __call__(self, x: Features) -> Distribution:
        alpha, beta = jnp.split(1.0 + jax.nn.softplus(self.linear(x)), 2)
        return shaped(Beta(alpha, beta, *bounds(self.space)), self.space)


PolicyHead = Callable[[Features], Distribution]
"""From features to a distribution of actions: an Equinox module whose float32 arrays are its parameters."""

HeadBuilder = Callable[[Space, int, PRNGKeyArray], PolicyHead]
"""(action space, how many features go in, key) -> policy head."""


def check_policy(kind: Any) -> None:
    """Refuses what is neither one of `KINDS` nor a `HeadBuilder`.

    Raises:
        ConfigError: naming the policy.
    """
    if callable(kind):
        check_takes("policy", kind, ("action_space", "in_size", "key"))
    elif isinstance(kind, str):
        check_choice("policy", kind, KINDS)
    else:
        raise ConfigError("policy", kind, f"use one of {', '.join(KINDS)}, or a function that builds a policy head")


def head_for(
    space: Space,
    in_size: int,
    *,
    key: PRNGKeyArray,
    kind: str | HeadBuilder = "auto",
    gain: float = 0.01,
    init: str = "orthogonal",
    init_std: float = 1.0,
    std: str = "constant",
    normalise_actions: bool = False,
) -> PolicyHead:
    """Makes the policy head of an action space.

    Args:
        space: the action space.
        in_size: how many features go in.
        key: randomness.
        kind: one of `KINDS`; "auto" is "categorical" for Discrete, "multi_categorical" for MultiDiscrete and "normal"
            for Box. Or a builder of one's own, which gets the three arguments above and none of those below.
        gain: of the weights.
        init: how the weights begin, one of `initialise.INITIALISERS`.
        init_std: the first standard deviation of "normal" and "tanh_normal".
        std: the same kinds' scale: see `Gaussian`.
        normalise_actions: of "normal", whether it counts in the bounds of actions: see `NormalHead`.

    Raises:
        ConfigError: for an unknown kind or one that does not fit the space, a space that is a Dict or a Box of whole
            numbers, or "tanh_normal" and "beta" where a bound is infinite.
    """
    check_policy(kind)
    if not isinstance(kind, str):
        return kind(space, in_size, key)
    common: dict[str, Any] = {"key": key, "gain": gain, "init": init}
    gaussian = {**common, "init_std": init_std, "std": std}
    if isinstance(space, Discrete):
        _check_kind(kind, "categorical", space)
        return CategoricalHead(space, in_size, **common)
    if isinstance(space, MultiDiscrete):
        _check_kind(kind, "multi_categorical", space)
        return MultiCategoricalHead(space, in_size, **common)
    if not isinstance(space, Box) or space.dtype.kind != "f":
        raise ConfigError("action space", space, "use Discrete, MultiDiscrete, or a Box of floating point numbers")
    if kind == "beta":
        return BetaHead(space, in_size, **common)
    if kind == "tanh_normal":
        return TanhNormalHead(space, in_size, **gaussian)
    if kind not in ("auto", "normal"):
        raise ConfigError("policy", kind, "use 'normal', 'tanh_normal' or 'beta' for actions of a Box")
    return NormalHead(space, in_size, normalise=normalise_actions, **gaussian)


def _check_kind(kind: str, right: str, space: Space) -> None:
    if kind not in ("auto", right):
        raise ConfigError("policy", kind, f"use 'auto' or {right!r} for actions of {space}")
