"""Atoms and bins of distributions of returns: ends that float32 can hold."""

import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.errors import ConfigError
from kousoku.nn import ActorQConfig, QNetworkConfig
from kousoku.nn.atoms import CategoricalAtoms, GaussianBins, atoms_of
from kousoku.ops.categorical_values import gaussian_bins, project

TOO_NEAR = [(1.0, 1.0 + 1e-9), (1e6, 1e6 + 1.0), (-1e30, -1e30 * (1 - 1e-7)), (0.0, 1e-50)]
TOO_FAR = [(-3e38, 3e38)]
BEYOND = [(-1e39, 1e39), (-1e39, 0.0)]
FINE = [(-1e38, 1e38), (0.0, 1e-30), (1e6, 1e6 + 1e4), (-1.0, 1e-3), (0.0, 1.0)]


@pytest.mark.parametrize("config", [QNetworkConfig, ActorQConfig])
@pytest.mark.parametrize("distribution", ["categorical", "hl_gauss"])
def test_ends_that_float32_cannot_tell_apart_are_refused_and_others_learned(config, distribution):
    for low, high in TOO_NEAR + TOO_FAR:
        with pytest.raises(ConfigError, match=r"^v_max: got .*; use other ends: float32 cannot tell 51 atoms from"):
            config(distribution=distribution, num_atoms=51, v_min=low, v_max=high)
    for low, high in BEYOND:
        with pytest.raises(ConfigError, match=r"^v_min: got -1e\+39; float32 rounds it to infinity"):
            config(distribution=distribution, num_atoms=51, v_min=low, v_max=high)
    for low, high in FINE:
        atoms = atoms_of(config(distribution=distribution, num_atoms=51, v_min=low, v_max=high))
        assert (np.diff(np.asarray(atoms.support)) > 0.0).all()
        for target in map(jnp.float32, (low, high, 0.5 * low + 0.5 * high, -3e38, 3e38)):
            np.testing.assert_allclose(np.sum(_learned(atoms, target)), 1.0, atol=1e-3)


def _learned(atoms, target):
    """The probabilities that a return is learned as."""
    if isinstance(atoms, GaussianBins):
        return np.asarray(gaussian_bins(target, atoms.edges, atoms.std))
    assert isinstance(atoms, CategoricalAtoms)
    return np.asarray(project(target[None], jnp.ones(1), atoms.support))
