"""Distributions of returns and Munchausen's targets, against float64 written from the papers' algorithms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from kousoku.ops.categorical_values import gaussian_bins, kl_divergence, project
from kousoku.ops.munchausen import munchausen_target
from kousoku.ops.quantile_values import midpoints, quantile_huber
from kousoku.ops.td_targets import q_learning_target

CASES = 200


def by_algorithm_1(moved, probabilities, atoms):
    """Bellemare et al., algorithm 1: b_j = (T z_j - v_min) / dz, shared out to its floor and its ceiling."""
    spacing, m = atoms[1] - atoms[0], np.zeros(len(atoms))
    for x, p in zip(moved, probabilities, strict=True):
        b = (min(max(x, atoms[0]), atoms[-1]) - atoms[0]) / spacing
        low, high = int(np.floor(b)), int(np.ceil(b))
        if low == high:
            m[low] += p
        else:
            m[low] += p * (high - b)
            m[high] += p * (b - low)
    return m


@pytest.mark.by_default("2")
@pytest.mark.parametrize("n", [2, 5, 51])
def test_a_projection_is_that_of_algorithm_1(n):
    rng = np.random.default_rng(n)
    atoms = np.linspace(-3.0, 5.0, n)
    p = rng.dirichlet(np.ones(n), CASES)
    moved = rng.normal(size=(CASES, 1)) * 3 + rng.random((CASES, 1)) * atoms
    found = jax.vmap(project, (0, 0, None))(jnp.float32(moved), jnp.float32(p), jnp.float32(atoms))
    wanted = [by_algorithm_1(*case, atoms) for case in zip(moved, p, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=3e-6)
    np.testing.assert_allclose(np.sum(found, axis=1), 1.0, rtol=1e-6)
    within = ((moved >= -3.0) & (moved <= 5.0)).all(axis=1)
    assert within.sum() > 10
    np.testing.assert_allclose((found @ atoms)[within], (p * moved).sum(axis=1)[within], atol=2e-5)


def test_a_projection_of_what_lies_on_atoms_changes_nothing_and_beyond_them_goes_to_the_ends():
    atoms, p = jnp.linspace(-1.0, 1.0, 5), jnp.array([0.1, 0.2, 0.3, 0.25, 0.15])
    np.testing.assert_allclose(project(atoms, p, atoms), p, atol=1e-6)
    np.testing.assert_allclose(project(atoms + 9.0, p, atoms), [0, 0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(project(jnp.full(5, 0.25), p, atoms), [0, 0, 0.5, 0.5, 0], atol=1e-6)


def test_a_value_beyond_the_bins_counts_as_their_end():
    edges = np.linspace(-1.0, 2.0, 7)
    for mean in (-1e6, -1.0, 0.3, 2.0, 50.0):
        below = norm.cdf((edges - np.clip(mean, -1.0, 2.0)) / 0.4)
        found = gaussian_bins(jnp.float32(mean), jnp.asarray(edges, jnp.float32), 0.4)
        np.testing.assert_allclose(found, np.diff(below) / (below[-1] - below[0]), atol=1e-6)


@pytest.mark.full("covered")
def test_the_divergence_and_its_gradient():
    rng = np.random.default_rng(0)
    p, logits = rng.dirichlet(np.ones(7), CASES), rng.normal(size=(CASES, 7)) * 3
    p[:, 2] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    log_q = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    wanted = np.where(p > 0, p * (np.log(np.where(p > 0, p, 1.0)) - log_q), 0.0).sum(axis=1)
    found, slope = jax.vmap(jax.value_and_grad(kl_divergence, argnums=1))(jnp.float32(p), jnp.float32(logits))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slope, np.exp(log_q) - p, atol=1e-6)
    itself = jnp.log(jnp.float32(p[:, [0, 1, 3]] / p[:, [0, 1, 3]].sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(jax.vmap(kl_divergence)(jnp.exp(itself), itself), 0.0, atol=1e-6)


def test_the_quantile_loss_is_equation_10():
    rng = np.random.default_rng(1)
    theta, samples, kappa = rng.normal(size=(CASES, 5)), rng.normal(size=(CASES, 8)) * 2, 0.7
    wanted = np.zeros(CASES)
    for c in range(CASES):
        for i in range(5):
            for x in samples[c]:
                u = x - theta[c, i]
                huber = 0.5 * u * u if abs(u) <= kappa else kappa * (abs(u) - 0.5 * kappa)
                wanted[c] += abs((2 * i + 1) / 10 - (u < 0)) * huber / 8
    found = jax.vmap(quantile_huber, (0, 0, None))(jnp.float32(theta), jnp.float32(samples), kappa)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_the_quantile_loss_is_derived_by_all_that_it_is_made_of():
    """As central differences are, at errors that lie away from 0 and from the delta."""
    theta, samples, delta = np.array([-1.5, -0.2, 1.0]), np.array([-1.1, 0.35, 1.9, 2.2]), 0.6
    at = [theta, samples, np.array(delta)]
    found = jax.grad(quantile_huber, argnums=(0, 1, 2))(*map(jnp.float32, at))
    alone = [jax.grad(quantile_huber, argnums=i)(*map(jnp.float32, at)) for i in range(3)]
    for i, whole in enumerate(at):
        wanted = np.zeros(whole.shape)
        for place in np.ndindex(whole.shape):
            ends = []
            for step in (1e-2, -1e-2):
                moved = [x.copy() for x in at]
                moved[i][place] += step
                ends.append(float(quantile_huber(*map(jnp.float32, moved))))
            wanted[place] = (ends[0] - ends[1]) / 2e-2
        np.testing.assert_allclose(found[i], wanted, atol=1e-4)
        np.testing.assert_allclose(alone[i], wanted, atol=1e-4)


@pytest.mark.full("covered")
def test_what_the_quantile_loss_is_least_at_are_the_quantiles():
    """Of an exponential distribution: at tau, -log(1 - tau)."""
    levels = np.asarray(midpoints(7))
    samples = jnp.float32(-np.log1p(-(np.arange(4000) + 0.5) / 4000))
    step = jax.jit(lambda theta: theta - 20.0 * jax.grad(quantile_huber)(theta, samples, 0.01))
    theta = jnp.zeros(7)
    for _ in range(600):
        theta = step(theta)
    np.testing.assert_allclose(theta, -np.log1p(-levels), atol=0.03)


@pytest.mark.by_default("0.9")
@pytest.mark.parametrize("alpha", [0.0, 0.9])
def test_munchausens_target_is_equation_2(alpha):
    rng = np.random.default_rng(2)
    r, q, after = rng.normal(size=CASES), rng.normal(size=(CASES, 4)) * 2, rng.normal(size=(CASES, 4)) * 2
    action, ended, t, floor = rng.integers(0, 4, CASES), rng.random(CASES) < 0.3, 0.3, -1.5

    def log_policy(q):
        return q / t - np.log(np.exp((q - q.max()) / t).sum()) - q.max() / t

    wanted = []
    for i in range(CASES):
        own = alpha * min(max(t * log_policy(q[i])[action[i]], floor), 0.0)
        pi = np.exp(log_policy(after[i]))
        wanted.append(r[i] + own + (0 if ended[i] else 0.95 * (pi * (after[i] - t * log_policy(after[i]))).sum()))
    found = jax.vmap(munchausen_target, (0, 0, 0, 0, 0, None, None, None, None))(
        jnp.float32(r), jnp.array(ended), jnp.float32(q), jnp.int32(action), jnp.float32(after), 0.95, alpha, t, floor
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    if alpha == 0.0:
        soft = t * np.log(np.exp(after / t).sum(axis=1))
        np.testing.assert_allclose(found, r + np.where(ended, 0, 0.95 * soft), rtol=1e-4, atol=1e-5)


def test_a_low_temperature_is_q_learning_and_nothing_overflows():
    q, after, zero = jnp.array([3e3, -3e3]), jnp.array([-1e3, 2e3]), jnp.int32(1)
    target = munchausen_target(jnp.float32(1.0), jnp.array(False), q, zero, after, 0.5, 0.0, 1e-3, -1.0)
    assert float(target) == float(q_learning_target(jnp.float32(1.0), jnp.array(False), after, 0.5))
    clipped = munchausen_target(jnp.float32(1.0), jnp.array(True), q, zero, after, 0.5, 0.9, 1e-3, -1.0)
    assert float(clipped) == pytest.approx(0.1)
