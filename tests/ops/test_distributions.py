"""Distributions: laws that every one obeys, samples against probabilities, and what happens at the edges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import USER_COMPILE
from scipy import stats

from kousoku.core.errors import ConfigError
from kousoku.ops.distributions import Beta, Categorical, Distribution, MultiCategorical, Normal, TanhNormal
from kousoku.ops.distributions.base import Action, Scalar

LOW, HIGH = jnp.array([-2.0, 0.5]), jnp.array([2.0, 1.0])
LOGITS = jnp.array([0.3, -1.0, 2.0, 0.0, -jnp.inf])
SIZES = (2, 3)

# Each with another one of its kind.
PAIRS = {
    "categorical": (Categorical(LOGITS), Categorical(-LOGITS.at[4].set(0.0))),
    "multi_categorical": (MultiCategorical(LOGITS.at[4].set(1.0), SIZES), MultiCategorical(jnp.zeros(5), SIZES)),
    "normal": (Normal(jnp.array([0.5, -3.0]), jnp.array([0.2, 4.0])), Normal(jnp.zeros(2), jnp.ones(2))),
    "tanh_normal": (
        TanhNormal(jnp.array([0.5, -1.0]), jnp.array([0.7, 0.3]), LOW, HIGH),
        TanhNormal(jnp.zeros(2), jnp.ones(2), LOW, HIGH),
    ),
    "beta": (
        Beta(jnp.array([2.0, 3.5]), jnp.array([4.0, 1.2]), LOW, HIGH),
        Beta(jnp.array([1.0, 7.0]), jnp.array([2.0, 3.0]), LOW, HIGH),
    ),
}
every = pytest.mark.parametrize("name", PAIRS)


N = 50_000

# Compiled once for each kind, whatever its numbers.
_draw = jax.jit(lambda p, keys: jax.vmap(p.sample)(keys), compiler_options=USER_COMPILE)
log_probs = jax.jit(lambda p, actions: jax.vmap(p.log_prob)(actions))
scores = jax.jit(jax.vmap(jax.grad(lambda p, a: p.log_prob(a)), in_axes=(None, 0)))
log_prob_and_slope = jax.jit(jax.value_and_grad(lambda p, a: p.log_prob(a)))
entropy = jax.jit(lambda p: p.entropy())
divergence = jax.jit(lambda p, q: p.kl(q))


def draw(distribution, seed=0):
    return _draw(distribution, jax.random.split(jax.random.key(seed), N))


def assert_is(estimates, expected):
    """The mean of independent estimates is within five standard errors of what it estimates."""
    x = np.asarray(estimates, np.float64)
    assert abs(x.mean() - float(expected)) < 5 * x.std() / np.sqrt(len(x)) + 1e-5


@pytest.mark.by_default("tanh_normal")
@every
def test_entropy_and_divergence_are_means_over_samples(name):
    p, q = PAIRS[name]
    actions = draw(p)
    log_p, log_q = log_probs(p, actions), log_probs(q, actions)
    assert_is(-log_p, entropy(p))
    assert_is(log_p - log_q, divergence(p, q))
    assert float(divergence(p, p)) == pytest.approx(0.0, abs=1e-6)
    assert float(divergence(p, q)) > 0


@pytest.mark.full("covered")
@every
def test_shapes_and_types(name):
    p, q = PAIRS[name]
    action, log_prob = p.sample_and_log_prob(jax.random.key(1))
    discrete = "categorical" in name
    shape = () if name == "categorical" else (2,)
    for a in (action, p.mode(), p.sample(jax.random.key(2))):
        assert (a.shape, a.dtype) == (shape, jnp.int32 if discrete else jnp.float32)
    for scalar in (log_prob, p.log_prob(action), p.entropy(), p.kl(q)):
        assert (scalar.shape, scalar.dtype) == ((), jnp.float32)
        assert not scalar.weak_type
    np.testing.assert_array_equal(action, p.sample(jax.random.key(1)))
    np.testing.assert_allclose(log_prob, p.log_prob(action), rtol=1e-4)


@pytest.mark.full("covered")
@every
def test_lanes_agree_with_single_values(name):
    pair = jax.tree.map(lambda *x: jnp.stack(x), *PAIRS[name])
    keys = jax.random.split(jax.random.key(3), 2)

    def all_of(p, key):
        action, log_prob = p.sample_and_log_prob(key)
        return action, log_prob, p.log_prob(action), p.entropy(), p.mode()

    lanes = jax.jit(jax.vmap(all_of))(pair, keys)
    for i, lane in enumerate(PAIRS[name]):
        for one, many in zip(jax.jit(all_of)(lane, keys[i]), lanes, strict=True):
            np.testing.assert_allclose(many[i], one, rtol=2e-6, atol=1e-6)


@pytest.mark.by_default("normal")
@every
def test_gradients_are_finite(name):
    p, q = PAIRS[name]
    action = p.sample(jax.random.key(4))
    for f in (lambda p: p.log_prob(action), lambda p: p.entropy(), lambda p: p.kl(q)):
        assert all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(jax.jit(jax.grad(f))(p)))


@pytest.mark.full("covered")
@every
def test_the_mean_score_is_zero(name):
    """E[grad log p] = 0: what every policy gradient rests on."""
    p, _ = PAIRS[name]
    slopes = scores(p, draw(p, seed=5))
    for field in ("logits", "loc", "scale", "alpha", "beta"):
        for column in np.asarray(getattr(slopes, field, np.zeros((N, 0)))).T:
            assert_is(column, 0.0)


@pytest.mark.by_default("multi_categorical")
@pytest.mark.parametrize("name", ["categorical", "multi_categorical"])
def test_frequencies_of_samples(name):
    p, _ = PAIRS[name]
    rows, counts = np.unique(np.asarray(draw(p, seed=6)), axis=0, return_counts=True)
    expected = N * np.exp(np.asarray(log_probs(p, jnp.asarray(rows)), np.float64))
    assert expected.sum() == pytest.approx(N, rel=1e-5)  # nothing else has a probability, so -inf was never drawn
    assert stats.chisquare(counts, expected * (N / expected.sum())).pvalue > 1e-4


@pytest.mark.by_default("normal", "tanh_normal")
@pytest.mark.parametrize("name", ["normal", "tanh_normal", "beta"])
def test_distribution_of_samples(name):
    p, _ = PAIRS[name]
    x = np.asarray(draw(p, seed=7), np.float64)
    low, high = np.asarray(LOW, np.float64), np.asarray(HIGH, np.float64)
    if name != "normal":
        x = (x - low) / (high - low)
    for i in range(2):
        if name == "beta":
            law = stats.beta(float(p.alpha[i]), float(p.beta[i]))
        else:
            law = stats.norm(float(p.loc[i]), float(p.scale[i]))
        column = np.arctanh(2 * x[:, i] - 1) if name == "tanh_normal" else x[:, i]
        assert stats.kstest(column, law.cdf).pvalue > 1e-4


# Categorical ---------------------------------------------------------------------------------------------------------


@pytest.mark.full("covered")
def test_huge_logits_and_masks():
    p = Categorical(jnp.array([1e4, -1e4, 1e4, -jnp.inf]))
    assert [float(p.log_prob(jnp.int32(a))) for a in range(4)] == pytest.approx(
        [-np.log(2), -2e4 - np.log(2), -np.log(2), -np.inf]
    )
    assert float(p.entropy()) == pytest.approx(np.log(2))
    assert float(p.kl(p)) == 0.0
    assert set(np.asarray(draw(p)).tolist()) == {0, 2}
    for f in (lambda p: p.log_prob(jnp.int32(1)), lambda p: p.entropy(), lambda p: p.kl(Categorical(jnp.zeros(4)))):
        assert bool(jnp.all(jnp.isfinite(jax.grad(f)(p).logits)))


def test_divergence_from_what_never_happens():
    masked, free = Categorical(jnp.array([0.0, 0.0, -jnp.inf])), Categorical(jnp.zeros(3))
    assert float(masked.kl(free)) == pytest.approx(np.log(3 / 2))
    assert float(free.kl(masked)) == np.inf
    # What `self` does with a probability that float32 rounds to 0 does not count.
    assert float(Categorical(jnp.array([0.0, 0.0, -1e4])).kl(masked)) == 0.0


def test_an_action_that_is_not_there_has_no_probability():
    assert [float(Categorical(jnp.zeros(3)).log_prob(jnp.int32(a))) for a in (-1, 3)] == [-np.inf, -np.inf]


def test_modes():
    assert int(Categorical(jnp.array([0.0, 3.0, 3.0])).mode()) == 1
    assert MultiCategorical(jnp.array([0.0, 1.0, 5.0, 2.0, 9.0]), SIZES).mode().tolist() == [1, 2]


@pytest.mark.parametrize("sizes", [(2, 2), (5, 1), (), (0, 5)])
def test_sizes_that_do_not_add_up(sizes):
    with pytest.raises(ConfigError, match=r"MultiCategorical\.sizes.*add up to the 5 logits"):
        MultiCategorical(jnp.zeros(5), sizes)


@pytest.mark.full("covered")
def test_choices_are_drawn_independently():
    a, b = np.asarray(draw(MultiCategorical(jnp.zeros(4), (2, 2)), seed=8)).T
    assert stats.chi2_contingency(np.histogram2d(a, b, bins=2)[0], correction=False).pvalue > 1e-4


# Boxes ---------------------------------------------------------------------------------------------------------------


def squashed(mean, scale=0.5, low=-2.0, high=3.0):
    return TanhNormal(*(jnp.array([x]) for x in (mean, scale, low, high)))


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("mean", [-8.0, -4.0, -1.0, 0.0, 2.0, 3.8, 8.0])
def test_the_density_of_tanh_normal_integrates_to_one(mean, scale):
    p = squashed(mean, scale)
    # A grid that is fine near the ends: the image of one in x.
    x = np.linspace(-12.0, 12.0, 40_001)
    actions = 0.5 + 2.5 * np.tanh(x)
    density = np.exp(np.asarray(log_probs(p, jnp.asarray(actions, jnp.float32)[:, None]), np.float64))
    assert np.trapezoid(density, actions) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 0.1), (-1.0, 0.5), (2.0, 1.0)])
def test_the_entropy_of_tanh_normal_is_that_of_the_normal_and_of_the_slope(mean, scale):
    """E[-log p(a)] of a = 0.5 + 2.5 tanh(x) is the normal's entropy and E[log(2.5 (1 - tanh(x)^2))]."""
    z = np.linspace(-9.0, 9.0, 20_001)
    slopes = np.log(2.5) - 2.0 * np.log(np.cosh(mean + scale * z))
    mean_slope = np.trapezoid(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * slopes, z)
    wanted = 0.5 * np.log(2.0 * np.pi * np.e * scale**2) + mean_slope
    assert float(squashed(mean, scale).entropy()) == pytest.approx(wanted, abs=2e-5)


@pytest.mark.by_default("-2.0--1.0", "-2.0-0.0", "-2.0-8.0", "3.0--1.0", "3.0--8.0", "3.0-0.0", "3.0-8.0")
@pytest.mark.parametrize("mean", [-8.0, -1.0, 0.0, 8.0])
@pytest.mark.parametrize("end", [-2.0, 3.0])
def test_tanh_normal_at_a_bound(mean, end):
    value, slope = log_prob_and_slope(squashed(mean), jnp.array([end]))
    assert np.isfinite(float(value))
    assert all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(slope))
    # More probable if the mean moves towards the bound.
    assert float(slope.loc[0]) * np.sign(end) >= 0
    assert abs(float(slope.loc[0])) > 0.1 or np.sign(mean) == np.sign(end)
    action_slope = jax.jit(jax.grad(lambda a: squashed(mean).log_prob(a)))(jnp.array([end]))
    assert bool(jnp.all(jnp.isfinite(action_slope)))


@pytest.mark.full("covered")
def test_a_saturated_policy_samples_the_bound_and_knows_its_probability():
    p = squashed(9.0, 0.5)
    actions = draw(p)
    assert float(jnp.max(actions)) == 3.0
    # All of it lies in the last 2^-10 of half the box, 2.5 wide.
    np.testing.assert_allclose(log_probs(p, actions), -np.log(2.5 * 2.0**-10), rtol=1e-5)
    _, log_prob = jax.jit(jax.vmap(p.sample_and_log_prob))(jax.random.split(jax.random.key(0), 1000))
    assert bool(jnp.all(jnp.isfinite(log_prob)))


@pytest.mark.parametrize("mean", [-30.0, 0.3, 30.0])
def test_reparametrised_gradients_are_finite(mean):
    def loss(p):
        action, log_prob = p.sample_and_log_prob(jax.random.key(0))
        return log_prob + jnp.sum(action)

    slopes = jax.jit(jax.grad(loss))(squashed(mean))
    assert all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(slopes))
    # d/d loc of -log(1 - tanh(x)^2) is 2 tanh(x).
    assert float(slopes.loc[0]) == pytest.approx(2 * np.sign(mean), rel=1e-5) or abs(mean) < 1


@pytest.mark.full("covered")
def test_samples_stay_in_a_box_that_float32_cannot_halve():
    low, high = jnp.array([-0.1, 1e-3]), jnp.array([0.3, 0.7])
    for p in (
        TanhNormal(jnp.array([20.0, -20.0]), jnp.ones(2), low, high),
        Beta(jnp.full(2, 0.05), jnp.full(2, 0.05), low, high),
    ):
        actions = draw(p)
        assert bool(jnp.all((actions >= low[None]) & (actions <= high[None])))
        assert bool(jnp.all(jnp.isfinite(log_probs(p, actions))))


@pytest.mark.by_default(
    "-2.0-0.5-0.5", "-2.0-1.5-30.0", "-2.0-200.0-1.0", "3.0-0.5-0.5", "3.0-1.0-1.0", "3.0-1.5-30.0", "3.0-200.0-1.0"
)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (1.5, 30.0), (0.5, 0.5), (200.0, 1.0)])
@pytest.mark.parametrize("end", [-2.0, 3.0])
def test_beta_at_a_bound(alpha, beta, end):
    p = Beta(*(jnp.array([x]) for x in (alpha, beta, -2.0, 3.0)))
    value, slope = log_prob_and_slope(p, jnp.array([end]))
    assert np.isfinite(float(value))
    assert all(bool(jnp.all(jnp.isfinite(g))) for g in jax.tree.leaves(slope))


MODES = [(3.0, 2.0, 2 / 3), (1.0, 5.0, -2.0), (1.0, 1.0, 0.0), (4.0, 0.5, 2.0)]


@pytest.mark.parametrize(("alpha", "beta", "mode"), MODES)
def test_mode_of_beta(alpha, beta, mode):
    p = Beta(*(jnp.array([x]) for x in (alpha, beta, -2.0, 2.0)))
    assert float(p.mode()[0]) == pytest.approx(mode)


# A user's own --------------------------------------------------------------------------------------------------------


class Point(Distribution):
    at: jax.Array

    def sample(self, key: jax.Array) -> Action:
        return self.at

    def log_prob(self, action: Action) -> Scalar:
        return jnp.where(jnp.all(action == self.at), 0.0, -jnp.inf)

    def entropy(self) -> Scalar:
        return jnp.zeros(())

    def mode(self) -> Action:
        return self.at

    def kl(self, other: "Point") -> Scalar:
        return jnp.where(jnp.all(self.at == other.at), 0.0, jnp.inf)


def test_a_distribution_of_ones_own():
    action, log_prob = Point(jnp.ones(3)).sample_and_log_prob(jax.random.key(0))
    assert action.tolist() == [1.0, 1.0, 1.0]
    assert float(log_prob) == 0.0


def test_an_unfinished_distribution_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        Distribution()
