"""Epochs over a rollout: how many are made, and what is told of them."""

import jax
import jax.numpy as jnp
import pytest

from kousoku.agents.deep.epochs import run_epochs

EPOCHS = 4


def counted(learned, batch):
    """A step that counts, and is the farther from the old policy the more steps there were before."""
    return learned + 1.0, {"approx_kl": learned, "loss": batch}


def run(target_kl):
    """Runs epochs of two steps each, whose mean divergences are 0.5, 2.5, 4.5 and 6.5."""
    keys = jax.random.split(jax.random.key(0), EPOCHS)
    learned, metrics = run_epochs(counted, jnp.float32(0.0), lambda key: jnp.array([3.0, 4.0]), keys, target_kl)
    return float(learned), {name: float(value) for name, value in metrics.items()}


@pytest.mark.parametrize(
    ("target_kl", "made"), [(0.0, 1), (0.4, 1), (0.5, 2), (2.5, 3), (jnp.float32(3.0), 3), (4.4, 3), (6.4, 4), (9.0, 4)]
)
def test_epochs_are_made_until_one_exceeds_the_target(target_kl, made):
    learned, metrics = run(target_kl)
    assert learned == 2 * made
    assert metrics == {"approx_kl": 2 * made - 1.5, "loss": 3.5, "epochs": made}


def test_all_epochs_are_made_without_a_target():
    learned, metrics = run(None)
    assert learned == 2 * EPOCHS
    assert metrics == {"approx_kl": 3.5, "loss": 3.5}
