"""Batch renormalisation, dropout and residual blocks: what layers do while they learn, and when they act."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from kousoku.agents.deep import critics
from kousoku.core.spaces import Box
from kousoku.nn import ActorQConfig
from kousoku.nn.batch_renorm import EPSILON, WARM_UP, BatchRenorm, with_statistics
from kousoku.nn.hidden import Training, differs_in_training, hidden_for, kept_units

KEY = jax.random.key(0)
OBS, ACTIONS = Box(-np.inf, np.inf, (3,)), Box(-1.0, 1.0, (2,))
X = 3.0 * np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32) + np.arange(5, dtype=np.float32)


def passed(norm, x, axes=("n",)):
    return jax.vmap(lambda x: norm.train(x, axes), axis_name="n", out_axes=(0, None))(x)


@pytest.mark.by_default("settled")
@pytest.mark.parametrize("seen", [0, WARM_UP], ids=["warming up", "settled"])
def test_a_minibatch_is_normalised_by_its_moments_and_then_as_the_running_ones_would(seen):
    norm = with_seen(BatchRenorm(5), seen)
    y, moved = passed(norm, X)
    mean, variance = X.mean(0), X.var(0)
    if not seen:
        np.testing.assert_allclose(y, (X - mean) / np.sqrt(variance + 1e-3), atol=1e-4)
    else:  # d = mean up to 5, r = std up to 3: those of running moments 0 and 1
        d, r = np.clip(mean / np.sqrt(1.001), -5, 5), np.clip(np.sqrt(variance + 1e-3) / np.sqrt(1.001), 1 / 3, 3)
        np.testing.assert_allclose(y, (X - mean) / np.sqrt(variance + 1e-3) * r + d, atol=1e-3)
        assert (r < 3).any()
        assert (r == 3).any()
    np.testing.assert_allclose(moved.mean, 0.01 * mean, rtol=1e-4)
    np.testing.assert_allclose(moved.variance, 0.99 + 0.01 * variance, rtol=1e-4)
    assert float(moved.seen) == min(seen + 1, WARM_UP)
    np.testing.assert_allclose(jax.vmap(norm)(X), X / np.sqrt(1.001), rtol=1e-5)


@pytest.mark.parametrize("running", [1e-4, 1.0, 400.0])
@pytest.mark.parametrize("middle", [-50.0, 0.5, 50.0])
def test_renormalisation_is_held_within_its_bounds(running, middle):
    """Where running standard deviations are much smaller or larger than a minibatch's, or means far from its mean."""
    where = lambda n: (n.mean, n.variance, n.seen)  # noqa: E731
    layer = eqx.tree_at(where, BatchRenorm(2), (jnp.full(2, middle), jnp.full(2, running), jnp.float32(WARM_UP)))
    x = np.random.default_rng(0).normal(size=(16, 2)).astype(np.float32)
    y, _ = passed(layer, jnp.asarray(x))
    mean, std, old = x.mean(0), np.sqrt(x.var(0) + EPSILON), np.sqrt(running + EPSILON)
    r, d = np.clip(std / old, 1 / 3, 3), np.clip((mean - middle) / old, -5, 5)
    np.testing.assert_allclose(y, (x - mean) / std * r + d, rtol=1e-4, atol=1e-5)


def with_seen(norm, seen):
    return jax.tree.map(lambda x: jnp.float32(seen) if x.shape == () else x, norm)


def test_running_moments_settle_at_those_of_the_data():
    norm = BatchRenorm(5)
    settled = jax.jit(lambda norm: jax.lax.fori_loop(0, 2000, lambda _, norm: passed(norm, X)[1], norm))(norm)
    np.testing.assert_allclose(settled.mean, X.mean(0), atol=1e-3)
    np.testing.assert_allclose(settled.variance, X.var(0), rtol=1e-3)
    y, _ = passed(with_seen(settled, WARM_UP), X)
    np.testing.assert_allclose(y, jax.vmap(settled)(X), atol=1e-3)
    back = with_statistics((norm, jnp.ones(2)), (settled, jnp.zeros(2)))
    np.testing.assert_array_equal(back[0].mean, settled.mean)
    np.testing.assert_array_equal(back[1], 1.0)


@pytest.mark.full("covered")
def test_devices_share_the_moments_of_a_minibatch_and_their_gradient():
    """Each has a half of it; the mean over devices of a loss of y has the gradient of the whole."""
    norm = BatchRenorm(5)

    def loss(x, axes):
        y, moved = passed(norm, x, axes)
        return jnp.mean(y**3 @ jnp.arange(1.0, 6.0)), moved

    whole, moved = jax.grad(loss, has_aux=True)(X, ("n",))
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))

    def on_each(x):
        gradient, moved = jax.grad(lambda x: loss(x, ("n", "d")), has_aux=True)(x)
        return gradient / 2, jax.tree.map(lambda x: x[None], moved)

    mapped = jax.shard_map(on_each, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False)
    halves, both = jax.jit(mapped, compiler_options=FAST_COMPILE)(X)
    np.testing.assert_allclose(halves, whole, rtol=1e-3, atol=1e-7)
    for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(moved), strict=True):
        np.testing.assert_array_equal(a[0], a[1])
        np.testing.assert_allclose(a[0], b, rtol=1e-5, atol=1e-6)


def test_units_are_dropped_by_chance_apart_and_nothing_is_when_it_acts():
    network = ActorQConfig(hidden=(64, 64), critic_body="droq", dropout=0.25)(OBS, ACTIONS, KEY)
    alike = (network.critics[0], network.critics[0])
    obs, action = jnp.ones((500, 3)), jnp.ones((500, 2))
    acting = jax.vmap(alike[0])(obs, action)
    np.testing.assert_allclose(acting, np.full(500, acting[0]), rtol=1e-5)
    one, other = critics.values(alike, obs, action, KEY)
    assert len(np.unique(one)) == 500
    assert (one != other).all()
    again, _ = critics.learned_outputs(alike, obs, action, KEY, None)
    np.testing.assert_array_equal(again[0], one)
    assert (critics.values(alike, obs, action, jax.random.key(1))[0] != one).all()
    kept = np.asarray(jax.vmap(lambda key: kept_units(key, jnp.zeros(64), 0.25))(jax.random.split(KEY, 500)))
    np.testing.assert_allclose(kept.mean(), 0.75, atol=0.01)


def test_what_is_kept_of_units_makes_up_for_what_is_dropped():
    hidden = hidden_for("droq", 4, (4096,), key=KEY, dropout=0.5, activation="identity", gain=1.0, init="lecun_normal")
    x = jnp.ones(4)
    y = hidden.mlp.layers[0](x)
    dropped, _ = hidden.train(x, Training(KEY))
    kept = jax.random.bernoulli(jax.random.fold_in(KEY, 0), 0.5, y.shape)
    np.testing.assert_allclose(dropped, hidden.mlp.norms[0](jnp.where(kept, 2 * y, 0.0)), atol=1e-5)
    np.testing.assert_array_equal(hidden.train(x, Training())[0], hidden(x))


def test_simba_is_an_affine_map_and_blocks_that_are_added_to_it():
    hidden = hidden_for("simba", 4, (6, 6), key=KEY, activation="relu", gain=1.4, init="orthogonal")
    assert [layer.weight.shape for layer in (*hidden.wide, *hidden.narrow)] == [(6, 24)] * 2 + [(24, 6)] * 2
    x = jnp.arange(4.0)
    bare = eqx.tree_at(lambda h: h.narrow, hidden, jax.tree.map(jnp.zeros_like, hidden.narrow))
    np.testing.assert_allclose(bare(x), hidden.norms[-1](hidden.first(x)), atol=1e-6)
    assert np.abs(hidden(x) - bare(x)).max() > 0.1
    assert not differs_in_training(hidden)
