"""Learning distributions of returns: targets and losses of one transition, by the kind of a network's atoms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...nn.atoms import Atoms, CategoricalAtoms, GaussianBins, QuantileAtoms
from ...ops.categorical_values import gaussian_bins, kl_divergence, project
from ...ops.quantile_values import quantile_huber

Outputs = Float[Array, " N"]
Scalar = Float[Array, ""]


def target_atoms(
    atoms: Atoms, next_outputs: Outputs, reward: Scalar, terminated: Bool[Array, ""], discount: Scalar
) -> Outputs:
    """Returns what the distribution of r + gamma Z(s', a') is to be learned as: probabilities, or equally likely atoms.

    Args:
        atoms: of the network.
        next_outputs: the network's outputs in s' for the action a' that is chosen there.
        reward: r.
        terminated: whether s' is terminal: Z is 0 then.
        discount: gamma.
    """
    goes_on = jnp.where(terminated, 0.0, discount)
    if isinstance(atoms, CategoricalAtoms):
        return project(reward + goes_on * atoms.support, jax.nn.softmax(next_outputs), atoms.support)
    if isinstance(atoms, GaussianBins):
        return gaussian_bins(reward + goes_on * atoms.mean(next_outputs), atoms.edges, atoms.std)
    return reward + goes_on * next_outputs


def target_mean(atoms: Atoms, target: Outputs) -> Scalar:
    """Returns the mean of a target that `target_atoms` made."""
    return jnp.mean(target) if isinstance(atoms, QuantileAtoms) else target @ atoms.support


def atoms_loss(atoms: Atoms, outputs: Outputs, target: Outputs, delta: float | Array) -> Scalar:
    """Computes the loss of the network's outputs for the action taken: KL(target || softmax), or of quantiles.

    Args:
        atoms: of the network.
        outputs: of the network in s, for the action a.
        target: as `target_atoms` made it.
        delta: the error from which on a quantile's loss is linear.
    """
    if isinstance(atoms, QuantileAtoms):
        return quantile_huber(outputs, target, delta)
    return kl_divergence(target, outputs)
