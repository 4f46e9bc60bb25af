"""How weights begin: orthogonal, uniform over all orthogonal matrices, without LAPACK."""

import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from kousoku.core.errors import ConfigError
from kousoku.nn.initialise import INITIALISERS, he_normal, initialiser, lecun_normal, orthogonal, uniform_fan_in, zeros

SHAPES = [
    (1, 1),
    (2, 2),
    (64, 64),
    (65, 64),
    (64, 1),
    (1, 64),
    (17, 64),
    (64, 6),
    (3, 3, 4, 16),
    (8, 8, 4, 32),
    (3, 5, 100),
]


def departure(weights, gain: float = 1.0) -> float:
    """The largest entry of W^T W - gain^2 I (W W^T, where W is wide), in float64."""
    w = np.asarray(weights, np.float64).reshape(-1, weights.shape[-1])
    gram = w.T @ w if w.shape[0] >= w.shape[1] else w @ w.T
    return float(np.abs(gram - gain**2 * np.eye(len(gram))).max())


@pytest.mark.by_default(
    "(1, 1)", "(1, 64)", "(17, 64)", "(2, 2)", "(3, 3, 4, 16)", "(64, 1)", "(64, 6)", "(64, 64)", "(65, 64)"
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_orthogonal_is_orthogonal_with_the_gain_for_any_shape(shape):
    draw = jax.jit(lambda key: orthogonal(key, shape, 1.5))
    for seed in range(5):
        weights = draw(jax.random.key(seed))
        assert weights.shape == shape
        assert weights.dtype == jnp.float32
        assert departure(weights, 1.5) < 1e-5


@pytest.mark.full("larger")
@pytest.mark.parametrize("shape", [(512, 512), (3136, 512), (256, 1024)], ids=str)
def test_orthogonal_holds_for_large_shapes(shape):
    assert departure(orthogonal(jax.random.key(0), shape)) < 1e-5


@pytest.mark.full("larger")
def test_even_nearly_singular_draws_become_orthogonal():
    """Among 100,000 square Gaussian matrices some have singular values near 1e-5 of the largest."""
    weights = np.asarray(jax.jit(jax.vmap(lambda key: orthogonal(key, (4, 4))))(keys(100_000)), np.float64)
    gram = np.einsum("nij,nik->njk", weights, weights)
    assert np.abs(gram - np.eye(4)).max() < 1e-5


def keys(count: int):
    return jax.random.split(jax.random.key(7), count)


@pytest.mark.by_default("2")
@pytest.mark.parametrize("n", [2, 3, 5])
def test_square_orthogonal_matrices_are_uniform(n):
    count = 20_000
    q = np.asarray(jax.jit(jax.vmap(lambda key: orthogonal(key, (n, n))))(keys(count)), np.float64)
    assert np.abs(q.mean(axis=0)).max() < 5 / math.sqrt(n * count)
    assert abs((np.linalg.det(q) > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(count)
    entry_squared = scipy.stats.beta(0.5, (n - 1) / 2)
    for i, j in ((0, 0), (0, n - 1), (n - 1, n - 1)):
        assert scipy.stats.kstest(q[:, i, j] ** 2, entry_squared.cdf).pvalue > 1e-4
    trace = np.trace(q, axis1=1, axis2=2)
    assert abs(trace.mean()) < 5 / math.sqrt(count)
    assert abs((trace**2).mean() - 1) < 5 * (trace**2).std() / math.sqrt(count)


@pytest.mark.full("covered")
def test_wide_and_tall_matrices_are_uniform_too():
    for shape in ((6, 2), (2, 6)):
        q = np.asarray(jax.jit(jax.vmap(lambda key, shape=shape: orthogonal(key, shape)))(keys(20_000)), np.float64)
        assert np.abs(q.mean(axis=0)).max() < 5 / math.sqrt(6 * 20_000)
        assert scipy.stats.kstest(q[:, 0, 1] ** 2, scipy.stats.beta(0.5, 2.5).cdf).pvalue > 1e-4


@pytest.mark.full("processes")
def test_many_seeds_at_once_end_and_equal_each_alone():
    """Thirty networks' worth of independent matrices in one program, which a batched LAPACK call may never end."""
    script = """
import jax, jax.numpy as jnp
from kousoku.nn import orthogonal
def network(key):
    return [orthogonal(k, shape) for k, shape in zip(jax.random.split(key, 6), [(17, 64), (64, 64), (64, 6)] * 2)]
keys = jax.random.split(jax.random.key(0), 30)
many = jax.jit(jax.vmap(network))(keys)
one = jax.jit(network)
for i in (0, 17, 29):
    for a, b in zip(many, one(keys[i])):
        assert float(jnp.max(jnp.abs(a[i] - b))) < 1e-5
assert len({float(w[0, 0]) for w in many[0]}) == 30
assert "custom_call" not in jax.jit(jax.vmap(network)).lower(keys).as_text()
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_other_initialisers_have_the_moments_of_their_definition():
    key, shape, fan_in = jax.random.key(3), (5, 5, 8, 300), 200
    normal, he, uniform = (np.asarray(f(key, shape, 2.0)) for f in (lecun_normal, he_normal, uniform_fan_in))
    assert np.std(normal) == pytest.approx(2 / math.sqrt(fan_in), rel=0.02)
    assert np.std(he) == pytest.approx(2 * math.sqrt(2 / fan_in), rel=0.02)
    assert scipy.stats.kstest(normal.ravel() * math.sqrt(fan_in) / 2, "norm").pvalue > 1e-4
    scaled = uniform.ravel() * math.sqrt(fan_in) / 4 + 0.5
    assert scipy.stats.kstest(scaled, "uniform").pvalue > 1e-4
    assert not np.any(zeros(key, shape, 2.0))


@pytest.mark.parametrize("name", sorted(INITIALISERS))
def test_every_initialiser_gives_float32_of_the_shape_and_depends_on_the_key_alone(name):
    draw = initialiser(name)
    one, again, other = (draw(jax.random.key(seed), (6, 4), 1.0) for seed in (0, 0, 1))
    assert one.shape == (6, 4)
    assert one.dtype == jnp.float32
    assert jnp.array_equal(one, again)
    assert name == "zeros" or not jnp.array_equal(one, other)


def test_an_unknown_initialiser_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"^initialiser: got 'ortogonal'; did you mean 'orthogonal'\?"):
        initialiser("ortogonal")
