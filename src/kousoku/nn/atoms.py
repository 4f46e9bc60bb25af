"""Networks of distributions of returns: N atoms for each action, whose mean is the action's value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..core.action_mask import only_legal
from ..core.errors import ConfigError, check_choice, check_finite, check_number, check_size
from .layers import Dense
from .mlp import MLP
from .torso import Body

Outputs = Float[Array, "*A N"]


class CategoricalAtoms(eqx.Module):
    """Fixed atoms from `low` to `high`, whose probabilities are the softmax of what the network returns.

    References:
        Bellemare, Dabney and Munos, A distributional perspective on reinforcement learning, arXiv:1707.06887.
    """

    number: int = eqx.field(static=True)
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)

    @property
    def support(self) -> Float[Array, " N"]:
        return jnp.linspace(self.low, self.high, self.number, dtype=jnp.float32)

    def mean(self, outputs: Outputs) -> Float[Array, "*A"]:
        """Returns the mean of the distributions that the network's outputs stand for."""
        return jax.nn.softmax(outputs, axis=-1) @ self.support


class GaussianBins(eqx.Module):
    """Bins of one width from `low` to `high`, whose probabilities are the softmax of what the network returns.

    They are learned from a value, as the probabilities of a normal distribution around it (HL-Gauss): the value is one
    number, but neighbouring bins say so, too.

    Attributes:
        smoothing: the standard deviation of that distribution, in widths of a bin.

    References:
        Farebrother et al., Stop regressing, arXiv:2403.03950, section 3.1.
    """

    number: int = eqx.field(static=True)
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)
    smoothing: float = eqx.field(static=True)

    @property
    def edges(self) -> Float[Array, " M"]:
        """The bounds of the bins, N + 1 of them."""
        return jnp.linspace(self.low, self.high, self.number + 1, dtype=jnp.float32)

    @property
    def support(self) -> Float[Array, " N"]:
        """The centres of the bins."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    @property
    def std(self) -> float:
        """The standard deviation of what is learned, in units of the values."""
        return self.smoothing * (self.high - self.low) / self.number

    def mean(self, outputs: Outputs) -> Float[Array, "*A"]:
        """Returns the mean of the distributions that the network's outputs stand for."""
        return jax.nn.softmax(outputs, axis=-1) @ self.support


class QuantileAtoms(eqx.Module):
    """Equally likely atoms, which the network returns: quantiles at the midpoints of N parts.

    References:
        Dabney, Rowland, Bellemare and Munos, Distributional reinforcement learning with quantile regression,
        arXiv:1710.10044.
    """

    number: int = eqx.field(static=True)

    def mean(self, outputs: Outputs) -> Float[Array, "*A"]:
        """Returns the mean of the distributions that the network's outputs stand for."""
        return jnp.mean(outputs, axis=-1)


Atoms = CategoricalAtoms | GaussianBins | QuantileAtoms

DISTRIBUTIONS = ("scalar", "categorical", "hl_gauss", "quantile")


ATOMS_OPTIONS = ("distribution", "num_atoms", "v_min", "v_max", "smoothing")
"""The fields of a network's config that are of distributions of returns."""


def check_atoms(config: Any) -> None:
    """Refuses fields of a network's config that say what is learned of returns, if they cannot be used.

    Raises:
        ConfigError: naming the field.
    """
    check_choice("distribution", config.distribution, DISTRIBUTIONS)
    check_size("num_atoms", config.num_atoms, low=2)
    for name in ("v_min", "v_max"):
        check_finite(name, getattr(config, name))
    if config.v_min >= config.v_max:
        name = "v_max" if config.v_max != type(config).v_max else "v_min"
        fix = f"use v_min below v_max: the atoms lie from {config.v_min:g} to {config.v_max:g}"
        raise ConfigError(name, getattr(config, name), fix)
    if not _bins_increase(config.v_min, config.v_max, config.num_atoms):
        ends = f"from {config.v_min!r} to {config.v_max!r}"
        fix = f"use other ends: float32 cannot tell {config.num_atoms} atoms {ends} apart"
        raise ConfigError("v_max", config.v_max, fix)
    check_number("smoothing", config.smoothing, low=0, high=config.num_atoms, open_low=True)


def _bins_increase(low: float, high: float, number: int) -> bool:
    """Returns whether the edges of so many bins between two ends increase in float32, too, and none is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, last = np.float32(low), np.float32(high)
        width = (last - first) / np.float32(number)
        return bool(np.isfinite(width) and width >= np.spacing(max(abs(first), abs(last))))


def atoms_of(config: Any) -> Atoms | None:
    """Returns what the outputs of a network with these fields stand for; None for values alone."""
    ends = config.num_atoms, config.v_min, config.v_max
    if config.distribution == "categorical":
        return CategoricalAtoms(*ends)
    if config.distribution == "hl_gauss":
        return GaussianBins(*ends, config.smoothing)
    return QuantileAtoms(config.num_atoms) if config.distribution == "quantile" else None


class AtomsHead(eqx.Module):
    """Features to [A, N]; dueling for each atom apart: v_i + a_i(a) - mean over a' of a_i(a').

    Attributes:
        advantage_stream, value_stream: dense layers of their own, where it is dueling.
        advantage, value: the last layer of each; without dueling there is no value.

    References:
        Hessel et al., Rainbow, arXiv:1710.02298, "The Integrated Agent" (dueling).
    """

    advantage_stream: MLP
    value_stream: MLP | None
    advantage: Dense
    value: Dense | None
    number: int = eqx.field(static=True)

    def __init__(
        self,
        in_size: int,
        num_actions: int,
        number: int,
        *,
        dueling: bool,
        sizes: Sequence[int],
        key: PRNGKeyArray,
        gain: float,
        init: str,
        hidden: dict[str, Any],
    ) -> None:
        keys = jax.random.split(key, 4)
        last: dict[str, Any] = {"gain": gain, "init": init}
        self.advantage_stream = MLP(in_size, sizes, key=keys[1], **hidden)
        self.advantage = Dense(self.advantage_stream.out_size, num_actions * number, key=keys[3], **last)
        self.value_stream = MLP(in_size, sizes, key=keys[0], **hidden) if dueling else None
        self.value = (
            None if self.value_stream is None else Dense(self.value_stream.out_size, number, key=keys[2], **last)
        )
        self.number = number

    def __call__(self, x: Float[Array, " F"]) -> Float[Array, "A N"]:
        advantage = self.advantage(self.advantage_stream(x)).reshape(-1, self.number)
        if self.value is None or self.value_stream is None:
            return advantage
        return self.value(self.value_stream(x))[None, :] + (advantage - jnp.mean(advantage, axis=0, keepdims=True))


class DistributionalQNetwork(eqx.Module):
    """Every action's distribution of returns of one observation, and, called, its mean: the action's value.

    Attributes:
        body: from the observation to features.
        head: from features to N outputs for each action.
        atoms: what the outputs stand for.
    """

    body: Body
    head: AtomsHead
    atoms: Atoms

    def outputs(self, obs: Any) -> Float[Array, "A N"]:
        """Returns what stands for the distribution of each action: logits of its atoms, or the atoms themselves."""
        return self.head(self.body(obs))

    def __call__(self, obs: Any) -> Float[Array, " A"]:
        return self.values(self.outputs(obs), obs)

    def values(self, outputs: Float[Array, "A N"], obs: Any) -> Float[Array, " A"]:
        """Returns the mean of each action's distribution; -inf of one that an action mask forbids."""
        return only_legal(self.atoms.mean(outputs), obs)
