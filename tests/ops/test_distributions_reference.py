"""Distributions against scipy and numerical integration in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from kousoku.ops.distributions import Beta, Categorical, MultiCategorical, Normal, TanhNormal

pytestmark = pytest.mark.reference

RNG = np.random.default_rng(0)
CASES, D = 200, 3
LOW, HIGH = np.array([-1.0, 0.0, -3.0]), np.array([1.0, 2.0, 5.0])


def f32(x):
    return jnp.asarray(x, jnp.float32)


def f64(x):
    """What a float32 holds, exactly: the reference sees the same numbers."""
    return np.asarray(f32(x), np.float64)


def over_cases(f, *args):
    return np.asarray(jax.jit(jax.vmap(f))(*map(f32, args)), np.float64)


def of_class(kind):
    """log_prob, entropy and kl of one case, whose parameters are two arrays each."""
    box = (f32(LOW), f32(HIGH)) if kind in (TanhNormal, Beta) else ()
    return (
        lambda x, *p: kind(*p, *box).log_prob(x),
        lambda *p: kind(*p, *box).entropy(),
        lambda *pq: kind(*pq[:2], *box).kl(kind(*pq[2:], *box)),
    )


LOC, SCALE = f64(RNG.normal(size=(2, CASES, D))), f64(np.exp(RNG.uniform(-3.0, 1.0, (2, CASES, D))))
ALPHA, BETA = f64(1 + RNG.exponential(4.0, (2, CASES, D))), f64(1 + RNG.exponential(4.0, (2, CASES, D)))


def test_normal():
    log_prob, entropy, kl = of_class(Normal)
    x = f64(LOC[0] + SCALE[0] * RNG.normal(size=(CASES, D)))
    law = stats.norm(LOC[0], SCALE[0])
    np.testing.assert_allclose(over_cases(log_prob, x, LOC[0], SCALE[0]), law.logpdf(x).sum(-1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(over_cases(entropy, LOC[0], SCALE[0]), law.entropy().sum(-1), rtol=1e-5, atol=1e-5)
    closed = np.log(SCALE[1] / SCALE[0]) + (SCALE[0] ** 2 + (LOC[0] - LOC[1]) ** 2) / (2 * SCALE[1] ** 2) - 0.5
    got = over_cases(kl, LOC[0], SCALE[0], LOC[1], SCALE[1])
    np.testing.assert_allclose(got, closed.sum(-1), rtol=1e-5, atol=1e-5)


def test_categorical():
    logits = f64(RNG.normal(0.0, 5.0, (2, CASES, 6)))
    log_p, log_q = (x - special.logsumexp(x, axis=-1, keepdims=True) for x in logits)
    p = np.exp(log_p)
    for a in range(6):
        got = over_cases(lambda x, a=a: Categorical(x).log_prob(jnp.int32(a)), logits[0])
        np.testing.assert_allclose(got, log_p[:, a], rtol=1e-5, atol=1e-6)
    got = over_cases(lambda x: Categorical(x).entropy(), logits[0])
    np.testing.assert_allclose(got, -(p * log_p).sum(-1), rtol=1e-5, atol=1e-6)
    got = over_cases(lambda x, y: Categorical(x).kl(Categorical(y)), *logits)
    np.testing.assert_allclose(got, (p * (log_p - log_q)).sum(-1), rtol=1e-5, atol=1e-6)


def test_multi_categorical_is_the_categorical_of_all_combinations():
    logits = f64(RNG.normal(0.0, 2.0, (2, CASES, 5)))
    table = [(a, b) for a in range(2) for b in range(3)]

    def joint(x):
        return jnp.stack([MultiCategorical(x, (2, 3)).log_prob(jnp.array(row, jnp.int32)) for row in table])

    log_p, log_q = (over_cases(joint, x) for x in logits)
    expected = logits[0][:, [0, 0, 0, 1, 1, 1]] + logits[0][:, [2, 3, 4, 2, 3, 4]]
    np.testing.assert_allclose(log_p, expected - special.logsumexp(expected, axis=-1, keepdims=True), atol=5e-6)
    got = over_cases(lambda x: MultiCategorical(x, (2, 3)).entropy(), logits[0])
    np.testing.assert_allclose(got, -(np.exp(log_p) * log_p).sum(-1), rtol=1e-5)
    got = over_cases(lambda x, y: MultiCategorical(x, (2, 3)).kl(MultiCategorical(y, (2, 3))), *logits)
    np.testing.assert_allclose(got, (np.exp(log_p) * (log_p - log_q)).sum(-1), rtol=1e-4, atol=1e-5)


def test_beta():
    log_prob, entropy, kl = of_class(Beta)
    law = stats.beta(ALPHA[0], BETA[0], LOW, HIGH - LOW)
    x = f64(np.clip(law.rvs(random_state=1), LOW + 1e-3, HIGH - 1e-3))
    got = over_cases(log_prob, x, ALPHA[0], BETA[0])
    np.testing.assert_allclose(got, law.logpdf(x).sum(-1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(over_cases(entropy, ALPHA[0], BETA[0]), law.entropy().sum(-1), rtol=1e-5, atol=2e-5)
    got = over_cases(kl, ALPHA[0], BETA[0], ALPHA[1], BETA[1])
    nodes, weights = special.roots_legendre(100)  # of an angle, in which the density is smooth at the ends, too
    angle = (np.pi / 2 * (1 + nodes))[:, None, None]
    x, weights = (1 - np.cos(angle)) / 2, (np.pi / 2 * weights)[:, None, None] * np.sin(angle) / 2
    p, q = (stats.beta(alpha, beta) for alpha, beta in zip(ALPHA, BETA, strict=True))
    expected = np.sum(weights * p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 0).sum(-1)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_samples_of_beta():
    """Of one action with 2,000 components of two kinds, the second in a box of its own."""
    kinds, places = np.array([[2.0, 4.0, -2.0, 2.0], [3.5, 1.2, 0.5, 1.0]]), np.arange(2000) % 2
    x = np.asarray(Beta(*f32(kinds[places].T)).sample(jax.random.key(7)), np.float64)
    for i, (alpha, beta, low, high) in enumerate(kinds):
        assert stats.kstest(x[places == i], stats.beta(alpha, beta, low, high - low).cdf).pvalue > 1e-4


def test_tanh_normal_between_the_ends():
    log_prob, _, _ = of_class(TanhNormal)
    loc, scale = LOC[0], np.minimum(SCALE[0], 1.0)
    half = (HIGH - LOW) / 2
    x = np.clip(loc + scale * RNG.normal(size=(CASES, D)), -3.0, 3.0)
    action = f64(LOW + half * (1 + np.tanh(x)))
    u = (action - LOW) / half - 1
    expected = stats.norm(loc, scale).logpdf(np.arctanh(u)) - np.log1p(-u * u) - np.log(half)
    got = over_cases(log_prob, action, loc, scale)
    # Where the density is steep in x, what float32 rounded off the action counts.
    np.testing.assert_allclose(got, expected.sum(-1), rtol=1e-4, atol=2e-3)


@pytest.mark.full("covered")
@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 2.0, 3.0])
def test_entropy_of_tanh_normal(scale):
    means = np.linspace(-6.0, 6.0, 13)

    def exact(mean):
        def slope(z):
            x = mean + scale * z
            return 2 * (np.log(2) - x - np.logaddexp(0, -2 * x)) * stats.norm.pdf(z)

        return stats.norm(mean, scale).entropy() + integrate.quad(slope, -12, 12, limit=400)[0] + np.log(1.5)

    def entropy(mean):
        return TanhNormal(mean[None], f32([scale]), f32([-1.0]), f32([2.0])).entropy()

    tolerance = {3.0: 1e-2, 2.0: 1e-3}.get(scale, 1e-5)
    np.testing.assert_allclose(over_cases(entropy, means), [exact(m) for m in means], atol=tolerance, rtol=2e-6)


def test_divergence_of_tanh_normal_by_integration():
    p, q = (TanhNormal(*(f32([x]) for x in numbers)) for numbers in ((0.3, 0.4, -1.0, 2.0), (-0.2, 0.9, -1.0, 2.0)))
    actions = np.linspace(-0.9985, 1.9985, 20_001)
    log_p, log_q = (over_cases(d.log_prob, actions[:, None]) for d in (p, q))
    expected = np.trapezoid(np.exp(log_p) * (log_p - log_q), actions)
    assert float(p.kl(q)) == pytest.approx(expected, abs=1e-4)
