"""Location and scale of a normal policy."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, PRNGKeyArray

from ..core.errors import check_choice, check_number
from .layers import Dense

STDS = ("constant", "exp", "softplus")
LOG_STD_RANGE = (-20.0, 2.0)  # that of Haarnoja et al.'s own code
LEAST_STD = 1e-4


class Gaussian(eqx.Module):
    """Location and scale of every component of an action, [A] each.

    The location is affine in the features. The scale, by `std`:
    - "constant": exp(log_std), a parameter vector that no observation changes;
    - "exp": exp(clip(affine, -20, 2));
    - "softplus": log(1 + exp(affine)) + 1e-4.
    It begins at `init_std`, exactly or (where it is affine) for features of 0.

    Attributes:
        linear: gives the locations, then the raw scales if these depend on the features.
        log_std: for "constant", otherwise None.
        std: which scale.

    References:
        "constant": Schulman et al., arXiv:1502.05477, appendix D. "exp": Haarnoja et al., arXiv:1801.01290.
    """

    linear: Dense
    log_std: Float32[Array, " A"] | None
    std: str = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        in_size: int,
        *,
        key: PRNGKeyArray,
        gain: float = 0.01,
        init: str = "orthogonal",
        init_std: float = 1.0,
        std: str = "constant",
    ) -> None:
        check_choice("std", std, STDS)
        check_number("init_std", init_std, low=0, open_low=True, open_high=True)
        self.std, self.log_std = std, None
        if std == "constant":
            self.linear = Dense(in_size, size, key=key, gain=gain, init=init)
            self.log_std = jnp.full(size, math.log(init_std), jnp.float32)
        else:
            raw = math.log(init_std) if std == "exp" else math.log(math.expm1(max(init_std - LEAST_STD, LEAST_STD)))
            linear = Dense(in_size, 2 * size, key=key, gain=gain, init=init)
            self.linear = eqx.tree_at(
                lambda layer: layer.bias, linear, jnp.zeros(2 * size, jnp.float32).at[size:].set(raw)
            )

    def __call__(self, x: Float[Array, " F"]) -> tuple[Float[Array, " A"], Float[Array, " A"]]:
        y = self.linear(x)
        if self.log_std is not None:
            return y, jnp.exp(self.log_std)
        loc, raw = jnp.split(y, 2)
        if self.std == "exp":
            return loc, jnp.exp(jnp.clip(raw, *LOG_STD_RANGE))
        return loc, jax.nn.softplus(raw) + LEAST_STD
