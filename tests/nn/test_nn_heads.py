"""Heads: the distribution that each gives, its parameters by formula, and what is refused."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.nn import (
    BetaHead,
    CategoricalHead,
    MultiCategoricalHead,
    NormalHead,
    TanhNormalHead,
    ValueHead,
    clip_to,
    head_for,
)
from kousoku.ops.distributions import Beta, Categorical, MultiCategorical, Normal, TanhNormal

KEY = jax.random.key(0)
X = jax.random.normal(jax.random.key(1), (5,))
BOX = Box((-1.0, 0.0), (1.0, 4.0), (2,))
FREE = Box(-math.inf, math.inf, (3,))
HALF = Box((-1.0, 0.0), (1.0, math.inf), (2,))


def affine(linear):
    return np.asarray(X, np.float64) @ np.asarray(linear.weight, np.float64) + np.asarray(linear.bias, np.float64)


def softplus(x):
    return np.log1p(np.exp(x))


def test_value_is_affine_and_a_scalar():
    head = ValueHead(5, key=KEY)
    assert head(X).shape == ()
    np.testing.assert_allclose(head(X), affine(head.linear)[0], rtol=1e-5)
    assert np.linalg.norm(head.linear.weight) == pytest.approx(1.0, abs=1e-5)


def test_categorical_logits_are_affine_and_nearly_equal_at_first():
    head = head_for(Discrete(4), 5, key=KEY)
    distribution = head(X)
    assert type(head) is CategoricalHead
    assert type(distribution) is Categorical
    np.testing.assert_allclose(distribution.logits, affine(head.linear), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(head.linear.weight, axis=0), 0.01, atol=1e-6)


def test_multi_categorical_has_all_components_logits():
    head = head_for(MultiDiscrete((2, 3)), 5, key=KEY, gain=1.0)
    distribution = head(X)
    assert type(head) is MultiCategoricalHead
    assert type(distribution) is MultiCategorical
    assert distribution.sizes == (2, 3)
    np.testing.assert_allclose(distribution.logits, affine(head.linear), rtol=1e-5)


def test_normal_with_a_constant_scale():
    head = head_for(FREE, 5, key=KEY, init_std=0.5)
    distribution = head(X)
    assert type(head) is NormalHead
    assert type(distribution) is Normal
    np.testing.assert_allclose(distribution.loc, affine(head.gaussian.linear), atol=1e-7)
    np.testing.assert_allclose(distribution.scale, 0.5, rtol=1e-6)
    assert head.gaussian.log_std.shape == (3,)


def test_a_normal_policy_counts_in_the_bounds_of_actions():
    """From their middle, in halves of their distance; a component without both bounds counts in its own unit, and one
    whose bounds are the largest numbers that there are.
    """
    largest = float(np.finfo(np.float32).max)
    box = Box((-50.0, 0.0, -math.inf, 2.0, -largest), (50.0, 4.0, 1.0, 2.0, largest), (5,))
    plain, counted = (
        head_for(box, X.size, key=jax.random.key(0), gain=1.0, normalise_actions=on)(X) for on in (False, True)
    )
    reach, centre = np.array([50.0, 2.0, 1.0, 1.0, 1.0]), np.array([0.0, 2.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(counted.loc, centre + reach * plain.loc, rtol=1e-6)
    np.testing.assert_allclose(counted.scale, reach, rtol=1e-6)


@pytest.mark.parametrize(("low", "high"), [((-1.0, -3.0), (1.0, 3.0)), ((-1.0, 0.0), (1.0, 2.0))])
def test_bounds_count_also_where_some_of_them_are_one(low, high):
    box = Box(low, high, (2,))
    plain, counted = (
        head_for(box, X.size, key=jax.random.key(0), gain=1.0, normalise_actions=on)(X) for on in (False, True)
    )
    reach, centre = 0.5 * (np.array(high) - low), 0.5 * (np.array(high) + low)
    np.testing.assert_allclose(counted.loc, centre + reach * plain.loc, rtol=1e-6)
    np.testing.assert_allclose(counted.scale, reach * plain.scale, rtol=1e-6)


def test_bounds_of_one_change_no_bit():
    box = Box(-1.0, 1.0, (3,))
    plain, counted = (
        jax.make_jaxpr(head_for(box, X.size, key=jax.random.key(0), normalise_actions=on))(X) for on in (False, True)
    )
    assert str(plain) == str(counted)


@pytest.mark.parametrize("kind", ["normal", "tanh_normal"])
@pytest.mark.parametrize("init_std", [0.3, 2.0])
@pytest.mark.parametrize("std", ["exp", "softplus"])
def test_a_scale_that_depends_on_the_features_begins_at_init_std(kind, init_std, std):
    head = head_for(BOX, 5, key=KEY, kind=kind, std=std, init_std=init_std, gain=1.0)
    np.testing.assert_allclose(head(jnp.zeros(5)).scale, init_std, rtol=1e-5)
    loc, raw = np.split(affine(head.gaussian.linear), 2)
    np.testing.assert_allclose(head(X).loc, loc, rtol=1e-5)
    np.testing.assert_allclose(head(X).scale, np.exp(raw) if std == "exp" else softplus(raw) + 1e-4, rtol=1e-5)


@pytest.mark.parametrize("std", ["exp", "softplus"])
def test_a_scale_stays_finite_and_positive_for_large_features(std):
    head = head_for(FREE, 5, key=KEY, std=std, gain=1.0)
    for size in (-1e3, 1e3):
        scale = np.asarray(head(jnp.full(5, size)).scale)
        assert np.isfinite(scale).all()
        assert (scale > 0).all()


def test_tanh_normal_has_the_bounds_of_the_box():
    head = head_for(BOX, 5, key=KEY, kind="tanh_normal")
    distribution = head(X)
    assert type(head) is TanhNormalHead
    assert type(distribution) is TanhNormal
    assert distribution.low.tolist() == [-1.0, 0.0]
    assert distribution.high.tolist() == [1.0, 4.0]


def test_beta_parameters_are_above_one():
    head = head_for(BOX, 5, key=KEY, kind="beta", gain=1.0)
    distribution = head(X)
    assert type(head) is BetaHead
    assert type(distribution) is Beta
    alpha, beta = np.split(1 + softplus(affine(head.linear)), 2)
    np.testing.assert_allclose(distribution.alpha, alpha, rtol=1e-5)
    np.testing.assert_allclose(distribution.beta, beta, rtol=1e-5)
    assert distribution.low.tolist() == [-1.0, 0.0]
    assert distribution.high.tolist() == [1.0, 4.0]


@pytest.mark.by_default("tanh_normal-(2, 3)", "beta-(1,)")
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)], ids=str)
@pytest.mark.parametrize("kind", ["normal", "tanh_normal", "beta"])
def test_actions_have_the_shape_of_any_box(kind, shape):
    space = Box(-2.0, 2.0, shape)
    distribution = head_for(space, 5, key=KEY, kind=kind, gain=1.0)(X)
    action, log_prob = distribution.sample_and_log_prob(jax.random.key(4))
    assert action.shape == distribution.sample(KEY).shape == distribution.mode().shape == shape
    assert kind == "normal" or (space.contains(np.asarray(action)) and space.contains(np.asarray(distribution.mode())))
    assert log_prob.shape == distribution.entropy().shape == ()
    np.testing.assert_allclose(log_prob, distribution.log_prob(action), rtol=1e-3, atol=1e-4)
    assert abs(float(distribution.kl(distribution))) < 1e-5


def test_a_reshaped_distribution_keeps_every_entry_in_place():
    """Entry [i, j] of an action is component 3 i + j: it has that component's standard deviation."""
    head = head_for(Box(-2.0, 2.0, (2, 3)), 5, key=KEY, gain=1.0)
    head = eqx.tree_at(lambda h: h.gaussian.log_std, head, jnp.log(jnp.arange(1.0, 7.0)))
    distribution = head(X)
    mode = distribution.mode()
    drop = [
        float(distribution.log_prob(mode) - distribution.log_prob(mode.at[i, j].add(1.0)))
        for i in range(2)
        for j in range(3)
    ]
    np.testing.assert_allclose(drop, 0.5 / np.arange(1, 7) ** 2, rtol=1e-3, atol=1e-5)


def test_clip_to_clips_a_box_entry_by_entry_and_nothing_else():
    assert clip_to(BOX, jnp.array([-3.0, 5.0])).tolist() == [-1.0, 4.0]
    assert clip_to(FREE, jnp.array([-3e9, 5.0, 0.0])).tolist() == [-3e9, 5.0, 0.0]
    square = Box(((-1.0, -2.0), (-3.0, -4.0)), 0.0, (2, 2))
    assert clip_to(square, jnp.full((2, 2), -9.0)).tolist() == [[-1.0, -2.0], [-3.0, -4.0]]
    assert clip_to(Box(-2.0, 2.0), jnp.float32(3.0)).shape == ()
    assert int(clip_to(Discrete(3), jnp.int32(2))) == 2
    parts = Dict({"a": BOX, "b": Dict({"c": Discrete(3), "d": Box(0, 2**31 - 2, (2,), "int32")})})
    clipped = clip_to(parts, {"a": jnp.array([-3.0, 5.0]), "b": {"c": jnp.int32(2), "d": jnp.array([-1, 2**31 - 1])}})
    assert clipped["a"].tolist() == [-1.0, 4.0]
    assert (int(clipped["b"]["c"]), clipped["b"]["d"].tolist()) == (2, [0, 2**31 - 2])


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (FREE, {"kind": "beta"}, r"^policy: got 'beta'; use 'normal': the Box of actions has infinite bounds$"),
        (HALF, {"kind": "tanh_normal"}, r"^policy: got 'tanh_normal'; use 'normal': .* infinite bounds$"),
        (Box(1.0, 1.0, (2,)), {"kind": "beta"}, r"^policy: got 'beta'; use 'normal': .* low = high$"),
        (BOX, {"kind": "bta"}, r"^policy: got 'bta'; did you mean 'beta'\?"),
        (BOX, {"kind": "categorical"}, r"^policy: got 'categorical'; use 'normal', 'tanh_normal' or 'beta'"),
        (Discrete(3), {"kind": "normal"}, r"^policy: got 'normal'; use 'auto' or 'categorical'"),
        (MultiDiscrete((3,)), {"kind": "beta"}, r"^policy: got 'beta'; use 'auto' or 'multi_categorical'"),
        (Box(0, 5, (2,), np.int32), {}, r"^action space: got Box\(.*; use Discrete, MultiDiscrete, or a Box of"),
        (Dict({"a": Discrete(2)}), {}, r"^action space: got Dict\(.*; use Discrete, MultiDiscrete, or a Box of"),
        (BOX, {"std": "constnt"}, r"^std: got 'constnt'; did you mean 'constant'\?"),
        (BOX, {"init_std": 0.0}, r"^init_std: got 0.0; use a number above 0$"),
    ],
)
def test_a_head_that_does_not_fit_is_refused_in_one_line(space, options, message):
    with pytest.raises(ConfigError, match=message) as error:
        head_for(space, 5, key=KEY, **options)
    assert "\n" not in str(error.value)
