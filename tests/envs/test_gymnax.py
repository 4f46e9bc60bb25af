"""The environments of gymnax, as they are, in kernels: no fallback, and XLA's steps from XLA's states.

Integers, booleans and keys are equal. Floats may differ by a few roundings: kernels and XLA may each fuse a product
into a sum, which rounds once where the other rounds twice, and their elementary functions differ in the last place.
Terms that cancel leave the roundings of the terms, not of the result: the distance is measured in units of the last
place of the largest number that the array ever holds.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback

import kousoku as ks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    gymnax = pytest.importorskip("gymnax")

# Their dtypes are looser than ours.
pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]

LANES = 37
STEPS = 300
EPISODE = 100
"""Episodes are cut after as many steps, so that every environment resets itself now and then."""

ROLLOUT = 64
STEP_ULP = 4
ROLLOUT_ULP = 1 << 12
"""Where a rollout goes on from its own states, differences grow: half of the digits stay, for pendulums are chaotic."""

BROKEN = {"SimpleBandit-bsuite": IndexError}
"""Environments whose own steps fail: gymnax 0.0.9 builds this one's state with its fields in the wrong order."""


class Peer(NamedTuple):
    """One of gymnax's environments with its parameters."""

    env: Any
    params: Any

    def reset(self, key: Any) -> Any:
        """Its `reset`."""
        return self.env.reset(key, self.params)

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """Its `step`, which starts a new episode where one ended."""
        return self.env.step(key, state, action, self.params)

    def rollout(self, key: Any, keys: Any) -> Any:
        """Random actions from a fresh state: what went into each step, and what came out."""

        def interact(state: Any, keys: Any) -> Any:
            step_key, action_key = keys
            action = self.env.action_space(self.params).sample(action_key)
            result = self.step(step_key, state, action)
            return result[1], ((step_key, state, action), result)

        return jax.lax.scan(interact, self.reset(key)[1], keys)[1]


class Recording(NamedTuple):
    """A rollout by XLA; axes are (lanes, steps, ...)."""

    keys: tuple[Any, Any]
    given: tuple[Any, Any, Any]
    results: Any


@pytest.fixture(scope="module", autouse=True)
def _their_promotion():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def of_one_worker(name: str) -> Any:
    """The name as a parameter whose tests share what one process records."""
    return pytest.param(name, marks=pytest.mark.xdist_group(name))


@pytest.fixture(scope="module", params=map(of_one_worker, gymnax.registered_envs))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def peer(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gymnax.utils.load_mnist.load_mnist", digits)
        env, params = gymnax.make(name)
    return Peer(env, params.replace(max_steps_in_episode=min(params.max_steps_in_episode, EPISODE)))


def digits() -> Any:
    """Made-up pictures in place of MNIST's, which would be downloaded."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(-128, 128, (50, 28, 28)).astype(np.int8), rng.integers(0, 10, 50).astype(np.uint8)
    return (images, labels), (images, labels)


@pytest.fixture(scope="module")
def recording(name, peer):
    start, actions, steps = jax.random.split(jax.random.key(0), 3)
    keys = tuple(jax.random.split(k, (LANES, STEPS)) for k in (steps, actions))
    starts = jax.random.split(start, LANES)
    try:
        given, results = jax.jit(jax.vmap(peer.rollout))(starts, keys)
    except BROKEN.get(name, ()) as error:
        pytest.skip(f"gymnax's own step fails: {error}")
    return Recording((starts, keys), given, results)


def test_reset(peer):
    keys = jax.random.split(jax.random.key(1), LANES)
    with no_fallback():
        given = jax.jit(jax.vmap(ks.kernel(peer.reset)))(keys)
    same(given, jax.jit(jax.vmap(peer.reset))(keys), STEP_ULP)


def test_steps(peer, recording):
    def all_steps(given: Any) -> Any:
        return jax.lax.map(lambda args: jax.vmap(ks.kernel(peer.step))(*args), given)

    assert np.any(recording.results[3]), "no episode ended"
    with no_fallback():
        given = jax.jit(all_steps)(jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), recording.given))
    same(jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), given), recording.results, STEP_ULP)


def test_rollout(peer, recording):
    start, keys = recording.keys
    with no_fallback():
        rollout = jax.jit(jax.vmap(ks.kernel(lambda key, keys: peer.rollout(key, keys)[1])))
        given = rollout(start, jax.tree.map(lambda x: x[:, :ROLLOUT], keys))
    same(given, jax.tree.map(lambda x: x[:, :ROLLOUT], recording.results), ROLLOUT_ULP)


def same(given: Any, wanted: Any, ulp: float) -> None:
    """Assert that two pytrees have equal integers and floats at most `ulp` of the array's scale apart."""
    assert jax.tree.structure(given) == jax.tree.structure(wanted)
    for (path, w), g in zip(jax.tree_util.tree_leaves_with_path(wanted), jax.tree.leaves(given), strict=True):
        where = jax.tree_util.keystr(path)
        if jnp.issubdtype(w.dtype, jax.dtypes.prng_key):
            g, w = jax.random.key_data(g), jax.random.key_data(w)
        assert (g.shape, g.dtype) == (w.shape, w.dtype), where
        g, w = np.asarray(g), np.asarray(w)
        if w.dtype.kind == "f":
            unit = np.spacing(np.max(np.abs(w), initial=np.finfo(w.dtype).tiny))
            np.testing.assert_allclose(g, w, rtol=0, atol=ulp * unit, err_msg=where)
        else:
            np.testing.assert_array_equal(g, w, err_msg=where)
