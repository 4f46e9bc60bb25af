"""Minibatches of a rollout: every sample once an epoch, in a uniform order, however many devices there are."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from scipy import stats

from kousoku.agents.deep.minibatches import MAX_STRATA, divide, minibatch_indices, num_strata, shuffled
from kousoku.core.errors import ConfigError

KEY = jax.random.key(0)
CASES = [  # environments, samples of each, minibatches, strata
    (1, 1, 1, 1),
    (1, 12, 3, 1),
    (4, 8, 2, 4),
    (6, 5, 10, 3),
    (7, 3, 3, 7),
    (8, 1, 4, 2),
    (12, 4, 8, 6),
    (16, 1, 1, 16),
    (34, 3, 2, 1),
    (40, 2, 5, 8),
    (64, 16, 32, 16),
]


@pytest.mark.by_default("34-3-2-1")
@pytest.mark.parametrize(("num_envs", "per_env", "minibatches", "strata"), CASES)
def test_every_sample_is_in_one_minibatch_of_an_epoch(num_envs, per_env, minibatches, strata):
    division = divide(num_envs, num_envs, per_env, minibatches, None)
    indices = np.asarray(jax.jit(minibatch_indices)(division, KEY))
    samples = num_envs * per_env
    assert indices.shape == (minibatches, samples // minibatches)
    np.testing.assert_array_equal(np.sort(indices.ravel()), np.arange(samples))
    assert division.strata.shape == (strata,)
    of_stratum = indices % num_envs // (num_envs // strata)
    for batch in of_stratum:
        assert (np.bincount(batch, minlength=strata) == samples // minibatches // strata).all()
    other = np.asarray(jax.jit(minibatch_indices)(division, jax.random.key(1)))
    assert minibatches == 1 or (other != indices).any(), "another epoch, another order"


def test_strata_are_as_many_as_divide_everything_up_to_sixteen():
    for num_envs in range(1, 50):
        for per_env in (1, 2, 5, 16):
            for minibatches in (m for m in (1, 2, 3, 4, 8) if num_envs * per_env % m == 0):
                fits = [g for g in range(1, MAX_STRATA + 1) if num_envs * per_env % (g * minibatches) == 0]
                fits = [g for g in fits if num_envs % g == 0]
                assert num_strata(num_envs, per_env, minibatches) == max(fits)


@pytest.mark.full("covered")
def test_strata_have_orders_of_their_own():
    """With one key for all of them, every stratum would pick the same places."""
    indices = np.asarray(minibatch_indices(divide(16, 16, 64, 4, None), KEY))
    times = np.stack([np.sort(indices[0][indices[0] % 16 == env] // 16) for env in range(16)])
    assert len({tuple(row) for row in times}) == 16


def test_a_shuffle_is_uniform():
    """20,000 orders of 4: chi-square over the 24 permutations; the naive swap with any place fails it by far."""
    bits = jax.random.bits(KEY, (20_000, 4), jnp.uint32)
    orders = np.asarray(jax.jit(jax.vmap(shuffled))(bits))
    ranks = (orders * np.array([64, 16, 4, 1])).sum(axis=1)
    counts = np.unique(ranks, return_counts=True)[1]
    assert len(counts) == math.factorial(4)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_a_minibatch_is_a_uniform_subset():
    """The pairs of samples of one environment that meet in the first minibatch: all 28 equally often."""
    division = divide(1, 1, 8, 4, None)
    keys = jax.random.split(KEY, 14_000)
    first = np.sort(np.asarray(jax.jit(jax.vmap(lambda k: minibatch_indices(division, k)[0]))(keys)), axis=1)
    counts = np.unique(first @ np.array([8, 1]), return_counts=True)[1]
    assert len(counts) == 28
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.full("covered")
@pytest.mark.parametrize(("num_envs", "per_env", "minibatches"), [(4, 8, 2), (8, 1, 4), (16, 4, 8)])
def test_devices_hold_their_part_of_the_same_minibatches(num_envs, per_env, minibatches):
    """Sample (time, environment): two devices together have in minibatch m what one device has in it."""
    here = num_envs // 2
    alone = np.asarray(minibatch_indices(divide(num_envs, num_envs, per_env, minibatches, None), KEY))

    def share(key):
        return minibatch_indices(divide(num_envs, here, per_env, minibatches, "envs"), key)[None]

    mesh = Mesh(np.array(jax.devices()[:2]), ("envs",))
    spread = jax.jit(jax.shard_map(share, mesh=mesh, in_specs=P(), out_specs=P("envs"), check_vma=False))
    parts = np.asarray(spread(KEY))
    for m in range(minibatches):
        together = [part[m] // here * num_envs + device * here + part[m] % here for device, part in enumerate(parts)]
        assert set(np.concatenate(together)) == set(alone[m])


@pytest.mark.parametrize(
    ("num_envs", "per_env", "minibatches", "near"), [(6, 5, 7, 6), (1, 1, 2, 1), (64, 16, 63, 64), (5, 1, 4, 5)]
)
def test_what_does_not_divide_is_refused_with_the_nearest_that_does(num_envs, per_env, minibatches, near):
    with pytest.raises(ConfigError, match=rf"^minibatches: got {minibatches}; .* try {near}$"):
        num_strata(num_envs, per_env, minibatches)


def test_devices_that_split_a_stratum_are_refused():
    with pytest.raises(ConfigError, match=r"^devices: got 2; the environments lie in 1 stratum; use"):
        divide(4, 2, 1, 4, "envs")
