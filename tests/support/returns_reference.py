"""Distributions of returns in NumPy and float64: means, what they should become, and losses; outputs are [n, N]."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kousoku.nn.atoms import CategoricalAtoms, GaussianBins, QuantileAtoms


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def places(atoms: Any) -> np.ndarray:
    """Where the probabilities lie: atoms, or the centres of bins."""
    if isinstance(atoms, CategoricalAtoms):
        return np.linspace(atoms.low, atoms.high, atoms.number)
    edges = np.linspace(atoms.low, atoms.high, atoms.number + 1)
    return (edges[1:] + edges[:-1]) / 2


def mean(atoms: Any, outputs: np.ndarray) -> np.ndarray:
    return outputs.mean(-1) if isinstance(atoms, QuantileAtoms) else softmax(outputs) @ places(atoms)


def target(atoms: Any, follows: np.ndarray, reward: np.ndarray, goes_on: np.ndarray) -> np.ndarray:
    """Of r + goes_on Z, whose outputs `follows` are."""
    if isinstance(atoms, QuantileAtoms):
        return reward[:, None] + goes_on[:, None] * follows
    if isinstance(atoms, CategoricalAtoms):
        z, hats = places(atoms), np.eye(atoms.number)
        moved = reward[:, None] + goes_on[:, None] * z
        weights = np.stack([[np.interp(row, z, hat) for hat in hats] for row in moved])  # of atom i in moved atom j
        return np.einsum("nij,nj->ni", weights, softmax(follows))
    return np.stack([_bins(atoms, y) for y in reward + goes_on * mean(atoms, follows)])


def _bins(atoms: GaussianBins, y: float) -> np.ndarray:
    edges = np.linspace(atoms.low, atoms.high, atoms.number + 1)
    deviation = atoms.smoothing * (edges[1] - edges[0])
    y = min(max(y, atoms.low), atoms.high)
    below = np.array([0.5 * (1 + math.erf((e - y) / (deviation * math.sqrt(2)))) for e in edges])
    return np.diff(below) / (below[-1] - below[0])


def loss(atoms: Any, outputs: np.ndarray, wanted: np.ndarray, delta: float = 1.0) -> np.ndarray:
    """KL(wanted || softmax), or that of quantiles with Huber's loss, [n]."""
    if isinstance(atoms, QuantileAtoms):
        u = wanted[:, None, :] - outputs[:, :, None]
        huber = np.where(np.abs(u) <= delta, 0.5 * u * u, delta * (np.abs(u) - 0.5 * delta))
        level = ((np.arange(atoms.number) + 0.5) / atoms.number)[None, :, None]
        return (np.abs(level - (u < 0)) * huber).mean(axis=2).sum(axis=1)
    some = np.where(wanted > 0, wanted, 1.0)
    return (wanted * (np.log(some) - np.log(softmax(outputs)))).sum(axis=1)
