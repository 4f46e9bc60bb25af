"""Distributions against those of distrax."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.ops.distributions import Beta, Categorical, Normal, TanhNormal

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    distrax = pytest.importorskip("distrax")

# Its dtypes are looser than ours.
pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]

RNG, D = np.random.default_rng(0), 3


def f32(x):
    return jnp.asarray(x, jnp.float32)


def test_against_distrax():
    loc, other_loc = (f32(RNG.normal(size=D)) for _ in range(2))
    scale, other_scale = (f32(np.exp(RNG.uniform(-3.0, 1.0, D))) for _ in range(2))
    x = loc + 0.5 * scale
    ours, theirs = Normal(loc, scale), distrax.MultivariateNormalDiag(loc, scale)
    np.testing.assert_allclose(ours.log_prob(x), theirs.log_prob(x), rtol=1e-5)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-5)
    kl = theirs.kl_divergence(distrax.MultivariateNormalDiag(other_loc, other_scale))
    np.testing.assert_allclose(ours.kl(Normal(other_loc, other_scale)), kl, rtol=1e-5)

    logits = f32([0.5, -2.0, 1.0])
    for a in range(3):
        expected = distrax.Categorical(logits=logits).log_prob(a)
        np.testing.assert_allclose(Categorical(logits).log_prob(jnp.int32(a)), expected, rtol=1e-5)
    np.testing.assert_allclose(Categorical(logits).entropy(), distrax.Categorical(logits=logits).entropy(), rtol=1e-5)

    unit = TanhNormal(loc, scale, -jnp.ones(D), jnp.ones(D))
    squashed = distrax.Transformed(theirs, distrax.Block(distrax.Tanh(), 1))
    np.testing.assert_allclose(unit.log_prob(jnp.tanh(x)), squashed.log_prob(jnp.tanh(x)), rtol=1e-4, atol=1e-4)

    alpha, beta = (f32(1 + RNG.exponential(4.0, D)) for _ in range(2))
    ours, theirs = Beta(alpha, beta, jnp.zeros(D), jnp.ones(D)), distrax.Beta(alpha, beta)
    y = f32([0.1, 0.5, 0.8])
    np.testing.assert_allclose(ours.log_prob(y), jnp.sum(theirs.log_prob(y)), rtol=1e-5)
    np.testing.assert_allclose(ours.entropy(), jnp.sum(theirs.entropy()), rtol=1e-4, atol=1e-5)
