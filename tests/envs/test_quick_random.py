"""The generator of the checks: its samples fill a space evenly, and differ from key to key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku import Box, Dict, Discrete, MultiDiscrete
from kousoku.envs.quick_random import quick_keys

KEYS = np.random.default_rng(3).integers(0, 2**32, (4000, 1), np.uint32)
SPACES = [
    Discrete(5),
    MultiDiscrete((2, 7)),
    Box(-1.0, 3.0, (2,)),
    Box(0, 255, (3,), np.uint8),
    Dict({"a": Discrete(2), "b": Box(-np.inf, np.inf)}),
]


@pytest.mark.by_default("Box(low=-1.0, high=3.0, shape=(2,))", "Discrete(n=5)", "MultiDiscrete(nvec=(2, 7))")
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_space_contains_its_samples(space):
    samples = jax.device_get(jax.jit(jax.vmap(space.sample))(quick_keys(KEYS[:200])))
    assert all(space.contains(jax.tree.map(lambda leaf, i=i: leaf[i], samples)) for i in range(200))


def test_samples_are_even():
    draws = jax.jit(jax.vmap(Discrete(5).sample))(quick_keys(KEYS))
    counts = np.bincount(np.asarray(draws), minlength=5)
    assert (abs(counts - 800) < 5 * np.sqrt(800 * 0.8)).all(), counts
    uniform = np.asarray(jax.jit(jax.vmap(Box(0.0, 1.0, (2,)).sample))(quick_keys(KEYS)))
    assert abs(uniform.mean() - 0.5) < 0.02
    assert abs(np.corrcoef(uniform.T)[0, 1]) < 0.08


def test_numbers_of_64_bits_are_even_too():
    with jax.enable_x64(True):
        keys = quick_keys(KEYS)
        uniform = np.asarray(jax.jit(jax.vmap(lambda key: jax.random.uniform(key, (2,), jnp.float64)))(keys))
        words = np.asarray(jax.jit(jax.vmap(lambda key: jax.random.bits(key, (), jnp.uint64)))(keys))
    assert abs(uniform.mean() - 0.5) < 0.02
    assert abs(np.corrcoef(uniform.T)[0, 1]) < 0.08
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert (abs(bits.mean(axis=0) - 0.5) < 0.05).all()


def test_parts_of_a_key_differ():
    key = quick_keys(np.array([7], np.uint32))
    parts = [*jax.random.split(key, 50), jax.random.fold_in(key, 0), jax.random.fold_in(key, 1), key]
    words = jax.random.key_data(jnp.stack(parts))
    assert len(set(np.asarray(words).ravel().tolist())) == len(parts)
    assert jax.random.bits(key, (100,)).tolist() != jax.random.bits(parts[0], (100,)).tolist()
