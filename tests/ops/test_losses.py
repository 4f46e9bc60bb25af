"""Losses against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.ops import losses

f32 = jnp.float32


def log(x):
    return jnp.log(f32(x))


# ratio, advantage, clip -> -min(r A, clamp(r) A), and its derivative by log r (r A where it is not clipped).
SURROGATES = [
    (1.0, 2.0, 0.2, -2.0, -2.0),
    (1.1, 2.0, 0.2, -2.2, -2.2),
    (1.5, 2.0, 0.2, -2.4, 0.0),  # as probable as it may profitably become
    (0.5, 2.0, 0.2, -1.0, -1.0),  # the wrong way: not clipped
    (0.5, -2.0, 0.2, 1.6, 0.0),
    (1.5, -2.0, 0.2, 3.0, 3.0),
]


@pytest.mark.parametrize(("ratio", "advantage", "clip", "loss", "slope"), SURROGATES)
def test_clipped_surrogate(ratio, advantage, clip, loss, slope):
    value, gradient = jax.value_and_grad(losses.clipped_surrogate)(log(ratio), f32(advantage), clip)
    assert float(value) == pytest.approx(loss, rel=1e-6)
    assert float(gradient) == pytest.approx(slope, rel=1e-6)


def test_was_clipped_on_either_side():
    ratios = (0.79, 0.81, 1.0, 1.19, 1.21)
    assert [bool(losses.was_clipped(log(r), 0.2)) for r in ratios] == [True, False, False, False, True]


# value, old value, target, clip -> loss, derivative by value
VALUE_LOSSES = [
    (1.0, 1.0, 3.0, 0.5, 2.0, -2.0),
    (1.25, 1.0, 3.0, 0.5, 0.5 * 1.75**2, -1.75),
    (3.0, 1.0, 3.0, 0.5, 0.5 * 1.5**2, 0.0),  # beyond the clip on the way to the target: no more to gain
    (0.0, 1.0, 3.0, 0.5, 4.5, -3.0),  # beyond it on the wrong way: the larger loss counts
]


@pytest.mark.parametrize(("value", "old", "target", "clip", "loss", "slope"), VALUE_LOSSES)
def test_clipped_value_loss(value, old, target, clip, loss, slope):
    got, gradient = jax.value_and_grad(losses.clipped_value_loss)(f32(value), f32(old), f32(target), clip)
    assert float(got) == pytest.approx(loss)
    # At value == old both errors are the same, and each has half of the derivative: which is the same too.
    assert float(gradient) == pytest.approx(slope)


@pytest.mark.parametrize(
    ("error", "delta", "loss", "slope"),
    [(0.0, 1.0, 0.0, 0.0), (0.5, 1.0, 0.125, 0.5), (-3.0, 1.0, 2.5, -1.0), (3.0, 2.0, 4.0, 2.0)],
)
def test_huber(error, delta, loss, slope):
    value, gradient = jax.value_and_grad(losses.huber)(f32(error), delta)
    assert float(value) == pytest.approx(loss)
    assert float(gradient) == pytest.approx(slope)


def test_squared_has_the_error_as_its_derivative():
    value, gradient = jax.value_and_grad(losses.squared)(f32(-3.0))
    assert (float(value), float(gradient)) == (4.5, -3.0)


def test_approx_kl_is_unbiased_and_never_negative():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    log_ratio = jnp.log(jnp.asarray(q / p, jnp.float32))
    estimates = jax.vmap(losses.approx_kl)(log_ratio)
    assert float(jnp.sum(jnp.asarray(p, jnp.float32) * estimates)) == pytest.approx(np.sum(p * np.log(p / q)), rel=1e-5)
    assert float(jnp.min(jax.vmap(losses.approx_kl)(jnp.linspace(-5.0, 5.0, 1001)))) >= 0.0


def test_approx_kl_of_nearly_the_same_policy():
    assert float(losses.approx_kl(f32(1e-3))) == pytest.approx(0.5e-6 + 1e-9 / 6, rel=1e-3)


def test_explained_variance():
    targets = jnp.array([1.0, 2.0, 3.0, 4.0])
    assert float(losses.explained_variance(targets + 5.0, targets)) == 1.0
    assert float(losses.explained_variance(0.5 * targets, targets)) == 0.75
    assert float(losses.explained_variance(-targets, targets)) == -3.0
    assert float(losses.explained_variance(targets, jnp.ones(4))) == 0.0
    assert float(losses.explained_variance(jnp.arange(1e3), jnp.full(1000, 0.1))) == 0.0


def test_standardised():
    x = losses.standardised(jnp.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(x, np.array([-1.5, -0.5, 0.5, 1.5]) / np.sqrt(1.25), rtol=1e-6)
    np.testing.assert_allclose(losses.standardised(jnp.full(1000, 0.1)), np.zeros(1000), atol=1e-6)


def test_standardised_of_equal_values_has_a_finite_gradient():
    gradient = jax.jacrev(losses.standardised)(jnp.ones(3))
    assert bool(jnp.all(jnp.isfinite(gradient)))
