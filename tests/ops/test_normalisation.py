"""Running moments and reward scaling against float64, by hand, and over two devices."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

from kousoku.collectors.rollouts import add_reward
from kousoku.ops import normalisation as ops
from kousoku.ops.across import gather_over


def total(pair, rest):
    return np.asarray(pair, np.float64) + np.asarray(rest, np.float64)


def mean_of(moments):
    return total(moments.mean, moments.mean_rest)


def variance_of(moments):
    return total(moments.variance, moments.variance_rest)


def count_of(moments):
    high, low = np.asarray(moments.count, np.uint64)
    return int(high) * 2**32 + int(low)


def welford(stream):
    """Welford's recursion over single samples, in float64."""
    mean, squares = np.zeros(stream.shape[1:]), np.zeros(stream.shape[1:])
    for n, x in enumerate(stream.astype(np.float64), start=1):
        distance = x - mean
        mean += distance / n
        squares += distance * (x - mean)
    return mean, squares / len(stream)


def stream_of(seed, n, shape=(3,), mean=1e4):
    return np.random.default_rng(seed).normal(mean, 1.0, (n, *shape)).astype(np.float32)


def observed(stream, batch):
    chunks = jnp.asarray(stream.reshape(-1, batch, *stream.shape[1:]))
    start = ops.no_moments(stream.shape[1:])
    return jax.jit(lambda c: jax.lax.scan(lambda m, x: (ops.observe(m, x), None), start, c)[0])(chunks)


@pytest.mark.parametrize("batch", [1, 7, 500])
def test_a_stream_far_from_zero_against_welford(batch):
    stream = stream_of(0, 7000)
    moments = observed(stream, batch)
    mean, variance = welford(stream)
    np.testing.assert_allclose(mean_of(moments), mean, rtol=1e-9)
    np.testing.assert_allclose(variance_of(moments), variance, rtol=1e-5)
    assert count_of(moments) == 7000


@pytest.mark.full("covered")
def test_parts_merged_are_the_whole_in_any_grouping():
    stream = stream_of(1, 60)
    parts = [ops.batch_moments(jnp.asarray(p)) for p in np.split(stream, [1, 9, 40])]
    left = ops.merge(ops.merge(ops.merge(parts[0], parts[1]), parts[2]), parts[3])
    right = ops.merge(parts[0], ops.merge(parts[1], ops.merge(parts[2], parts[3])))
    for merged in (left, right, ops.batch_moments(jnp.asarray(stream))):
        np.testing.assert_allclose(mean_of(merged), stream.astype(np.float64).mean(0), rtol=1e-9)
        np.testing.assert_allclose(variance_of(merged), stream.astype(np.float64).var(0), rtol=1e-5)
        assert count_of(merged) == 60


def test_merging_nothing_changes_nothing():
    moments, nothing = ops.batch_moments(jnp.asarray(stream_of(2, 10))), ops.no_moments((3,))
    for merged in (ops.merge(moments, nothing), ops.merge(nothing, moments)):
        np.testing.assert_array_equal(mean_of(merged), mean_of(moments))
        np.testing.assert_array_equal(variance_of(merged), variance_of(moments))
    empty = ops.merge(nothing, nothing)
    assert count_of(empty) == 0
    assert np.isfinite(mean_of(empty)).all()


@pytest.mark.parametrize("start", [2**24, 2**32 - 3, 5 * 2**40])
def test_counts_stay_exact(start):
    count = jnp.array([start >> 32, start & 0xFFFFFFFF], jnp.uint32)
    zero = jnp.zeros(())
    moments = ops.RunningMoments(count, zero, zero, zero, zero)
    for _ in range(4):
        moments = ops.observe(moments, jnp.ones(1))
    assert count_of(moments) == start + 4


@pytest.mark.parametrize(
    "counts",
    [
        [2**33 + 2**32 - 1, 2**16 - 1, 1, 7 * 2**40 + 3 * 2**16],
        [0xFFFF_FFFF] * 2**16,
        [0x1234_5678_9ABC_DEF0, 0x0FED_CBA9_8765_4321],
    ],
)
def test_counts_of_many_add_up(counts):
    words = jnp.array([divmod(count, 2**32) for count in counts], jnp.uint32)
    nothing = jax.tree.map(lambda x: jnp.zeros((len(counts), *x.shape), x.dtype), ops.no_moments(()))
    assert count_of(ops.merge_all(eqx.tree_at(lambda moments: moments.count, nothing, words))) == sum(counts)


def test_a_mean_still_moves_after_a_billion_samples():
    """Each batch moves the mean by less than half a unit in its last place; a thousand of them by many."""
    count = jnp.array([0, 10**9], jnp.uint32)
    zero = jnp.zeros(())
    moments = ops.RunningMoments(count, jnp.float32(1e4), zero, jnp.ones(()), zero)
    stream = jnp.full((1000, 100), 1.01e4, jnp.float32)
    moments = jax.jit(lambda m: jax.lax.scan(lambda m, x: (ops.observe(m, x), None), m, stream)[0])(moments)
    share = 1e5 / (1e9 + 1e5)
    assert mean_of(moments) - 1e4 == pytest.approx(100 * share, rel=1e-4)
    assert variance_of(moments) == pytest.approx((1 - share) * (1 + share * 100**2), rel=1e-6)


def test_normalise():
    stream = stream_of(3, 1000)
    moments = ops.batch_moments(jnp.asarray(stream))
    x = stream[7].astype(np.float64)
    expected = (x - stream.astype(np.float64).mean(0)) / stream.astype(np.float64).std(0)
    z = ops.normalise(moments, jnp.asarray(stream[7]), 10.0)
    np.testing.assert_allclose(z, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(ops.normalise(moments, jnp.array([2e4, 0.0, 1e4]), 5.0)[:2], [5.0, -5.0])


def test_before_anything_was_seen_x_stays_as_it_is():
    x = jnp.array([0.5, -20.0])
    np.testing.assert_array_equal(ops.normalise(ops.no_moments((2,)), x, 10.0), [0.5, -10.0])


def test_what_never_varies_becomes_zero():
    moments = ops.batch_moments(jnp.full((50, 2), 0.1))
    np.testing.assert_array_equal(ops.normalise(moments, jnp.full(2, 0.1), 10.0), np.zeros(2))


def running(returns, rewards, ended, discount):
    """What a collector tells of rewards [T, B]: the returns carried on [B], and those of each step [T, B]."""
    return jax.lax.scan(lambda now, each: add_reward(discount)(now, *each), returns, (rewards, ended))


def test_two_episodes_by_hand():
    """gamma = 1/2. Rewards 1, 2 | 4, 8, the first episode ends with the 2: returns 1, 2.5 | 4, 10; 10 stays."""
    rewards, ended = jnp.array([[1.0], [2.0], [4.0], [8.0]]), jnp.array([[False], [True], [False], [False]])
    carried, each = running(jnp.zeros(1), rewards, ended, 0.5)
    moments, scaled = ops.scale_rewards(ops.no_moments(), rewards, each)
    returns = np.array([1.0, 2.5, 4.0, 10.0])
    assert each[:, 0].tolist() == returns.tolist()
    assert carried.tolist() == [10.0]
    assert float(moments.mean) == pytest.approx(returns.mean())
    assert float(moments.variance) == pytest.approx(returns.var())
    np.testing.assert_allclose(scaled, np.asarray(rewards) / returns.std(), rtol=1e-6)

    # The next batch goes on where this one stopped: 1/2 * 10 + 1 = 6, which ends the episode; then 3.
    rewards = jnp.array([[1.0], [3.0]])
    carried, each = running(carried, rewards, jnp.array([[True], [False]]), 0.5)
    moments, scaled = ops.scale_rewards(moments, rewards, each)
    returns = np.array([*returns, 6.0, 3.0])
    assert carried.tolist() == [3.0]
    np.testing.assert_allclose(scaled, np.array([[1.0], [3.0]]) / returns.std(), rtol=1e-6)


@pytest.mark.full("covered")
def test_cutting_a_batch_changes_the_returns_in_nothing():
    rng = np.random.default_rng(4)
    rewards = jnp.asarray(rng.normal(size=(20, 6)), jnp.float32)
    ended = jnp.asarray(rng.random((20, 6)) < 0.2)
    whole, each = running(jnp.zeros(6), rewards, ended, 0.9)
    half, first = running(jnp.zeros(6), rewards[:7], ended[:7], 0.9)
    part, second = running(half, rewards[7:], ended[7:], 0.9)
    np.testing.assert_array_equal(whole, part)
    one, _ = ops.scale_rewards(ops.no_moments(), rewards, each)
    two, _ = ops.scale_rewards(ops.no_moments(), rewards[:7], first)
    two, _ = ops.scale_rewards(two, rewards[7:], second)
    np.testing.assert_allclose(variance_of(one), variance_of(two), rtol=1e-6)


@pytest.fixture(scope="module")
def mesh():
    return jax.make_mesh((2,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))


def test_two_devices_are_one(mesh):
    old = ops.batch_moments(jnp.asarray(stream_of(5, 30)))
    batch = jnp.asarray(np.concatenate([stream_of(6, 20, mean=1e4), stream_of(7, 20, mean=1.1e4)]))
    step = jax.shard_map(
        lambda m, x: ops.observe(m, x, axis_name="devices"), mesh=mesh, in_specs=(P(), P("devices")), out_specs=P()
    )
    two, one = jax.jit(step)(old, batch), ops.observe(old, batch)
    assert count_of(two) == count_of(one) == 70
    np.testing.assert_allclose(mean_of(two), mean_of(one), rtol=1e-8)
    np.testing.assert_allclose(variance_of(two), variance_of(one), rtol=1e-6)


def test_rewards_over_two_devices(mesh):
    rng = np.random.default_rng(8)
    rewards, returns = (jnp.asarray(rng.normal(size=(5, 4)), jnp.float32) for _ in range(2))
    start = ops.no_moments()
    step = jax.shard_map(
        lambda m, r, g: ops.scale_rewards(m, r, g, axis_name="devices"),
        mesh=mesh,
        in_specs=(P(), P(None, "devices"), P(None, "devices")),
        out_specs=(P(), P(None, "devices")),
    )
    two, scaled = jax.jit(step)(start, rewards, returns)
    one, expected = ops.scale_rewards(start, rewards, returns)
    np.testing.assert_allclose(scaled, expected, rtol=1e-6)
    np.testing.assert_allclose(variance_of(two), variance_of(one), rtol=1e-6)


@pytest.mark.full("covered")
def test_unequal_parts_and_large_counts_over_lanes():
    stream = stream_of(9, 50)
    parts = [ops.batch_moments(jnp.asarray(p)) for p in np.split(stream, [10])] + [ops.no_moments((3,))]
    lanes = jax.tree.map(lambda *x: jnp.stack(x), *parts)
    merged = jax.vmap(lambda m: ops.merge_all(gather_over(m, "lanes")), axis_name="lanes")(lanes)
    np.testing.assert_allclose(mean_of(merged)[2], stream.astype(np.float64).mean(0), rtol=1e-9)
    np.testing.assert_allclose(variance_of(merged)[0], stream.astype(np.float64).var(0), rtol=1e-5)

    counts = jnp.array([[1, 2**32 - 1], [0, 2**32 - 1], [0, 5]], jnp.uint32)
    lanes = eqx.tree_at(lambda m: m.count, lanes, counts)
    merged = jax.vmap(lambda m: ops.merge_all(gather_over(m, "lanes")), axis_name="lanes")(lanes)
    assert (int(merged.count[0, 0]) << 32) + int(merged.count[0, 1]) == 2**32 + 2 * (2**32 - 1) + 5


@jax.jit
def add_to_sums(sums, sample):
    return sums.add(sample)


@jax.jit
def all_moments(sums, counts):
    moments = [each.moments(count) for each, count in zip(sums, counts, strict=True)]
    return ops.merge_all(jax.tree.map(lambda *leaves: jnp.stack(leaves), *moments))


SIZES = st.sampled_from([1, 2, 5]).flatmap(lambda n: st.lists(st.integers(1, 30), min_size=n, max_size=n))
"""Samples of each slot, of as few numbers of slots as are worth compiling for."""


@pytest.mark.full("covered")
@settings(max_examples=settings.default.max_examples // 3)
@pytest.mark.property
@given(SIZES, st.floats(-1e3, 1e3), st.integers(0, 2**31 - 1))
def test_moments_of_sums_of_slots_are_those_of_all_samples(sizes, offset, seed):
    """Each slot sums its samples about its first one; merged they are the moments of all of them together."""
    rng = np.random.default_rng(seed)
    slots = [(offset + rng.normal(size=(n, 2))).astype(np.float32) for n in sizes]
    told = []
    for samples in slots:
        sums = ops.no_sums(jnp.asarray(samples[0]))
        for sample in samples:
            sums = add_to_sums(sums, jnp.asarray(sample))
        told.append(sums)
    together = jax.tree.map(np.asarray, all_moments(told, np.int32([len(samples) for samples in slots])))
    everything = np.concatenate(slots).astype(np.float64)
    assert together.count.tolist() == [0, len(everything)]
    np.testing.assert_allclose(together.mean + together.mean_rest, everything.mean(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(together.variance, everything.var(0), rtol=1e-3, atol=1e-4)


@pytest.mark.full("covered")
def test_merging_all_is_merging_one_by_one():
    samples = np.random.default_rng(0).normal(3.0, 2.0, (4, 8, 3)).astype(np.float32)
    parts = [ops.batch_moments(jnp.asarray(part)) for part in samples]
    one_by_one = functools.reduce(ops.merge, parts)
    at_once = ops.merge_all(jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts))
    np.testing.assert_array_equal(at_once.count, one_by_one.count)
    np.testing.assert_allclose(at_once.mean, one_by_one.mean, rtol=1e-6)
    np.testing.assert_allclose(at_once.variance, one_by_one.variance, rtol=1e-5)


def test_a_scaling_is_normalise_made_once():
    samples = np.random.default_rng(1).normal(50.0, 3.0, (64, 3)).astype(np.float32)
    moments = ops.batch_moments(jnp.asarray(samples))
    for x in jnp.asarray([*samples[:4], [1e4, -1e4, 50.0]]):
        np.testing.assert_allclose(
            ops.scaling_of(moments, 5.0)(x), ops.normalise(moments, x, 5.0), rtol=1e-4, atol=1e-5
        )
    seen_nothing = ops.scaling_of(ops.no_moments((3,)), 5.0)
    np.testing.assert_array_equal(seen_nothing(jnp.array([1.0, 7.0, -9.0])), [1.0, 5.0, -5.0])
