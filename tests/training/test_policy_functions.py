"""Policies as kernels that the host calls: the actions of XLA's programs, for batches of any size."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import kousoku as ks
from kousoku.training.evaluation.policy import Policy
from kousoku.training.evaluation.policy_functions import KEPT

BOX = ks.EnvSpec(ks.Box(-1.0, 1.0, (4,)), ks.Box(-2.0, 2.0, (3,)))
POLICIES = {
    "discrete": ("ppo", ks.EnvSpec(ks.Box(-1.0, 1.0, (4,)), ks.Discrete(5)), {"hidden": (16,)}),
    "box": ("sac", BOX, {"hidden": (16,)}),
    "table": ("q_learning", ks.EnvSpec(ks.Discrete(6), ks.Discrete(3)), {}),
    "recurrent": ("ppo", BOX, {"hidden": (8,), "recurrent": "lstm", "recurrent_size": 8}),
    "dict": ("ppo", ks.EnvSpec(ks.Dict({"a": BOX.observation_space, "b": ks.Discrete(3)}), ks.Discrete(2)), {}),
}


def made(name):
    id, spec, options = POLICIES[name]
    agent = ks.make_agent(id, **options)
    return Policy(agent, agent.init(spec, jax.random.key(3)), spec)


def observations(spec, count):
    keys = jax.random.split(jax.random.key(4), count)
    return jax.device_get(jax.vmap(spec.observation_space.sample)(keys))


def stepped(policy, obs, count):
    """Two steps of a policy, one observation without an axis where the count is None."""
    carry = policy.initial_carry(count)
    first, carry = policy.step(obs, carry)
    return first, policy.step(obs, carry)


def same(ours, theirs):
    ours, theirs = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert [(np.shape(x), x.dtype) for x in ours] == [(np.shape(x), x.dtype) for x in theirs]
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "box",
        "recurrent",
        *(pytest.param(n, marks=pytest.mark.full("more cases")) for n in ("discrete", "table", "dict")),
    ],
)
def test_a_kernels_actions_are_those_of_a_program(name):
    policy = made(name)
    for count in (None, 1, 2, 33):
        obs = observations(policy.spec, count or 1)
        obs = jax.tree.map(lambda x: x[0], obs) if count is None else obs
        assert policy._functions._of_size is not None
        ours = stepped(policy, obs, count)
        with ks.use_kernels(False):
            theirs = stepped(policy, obs, count)
        same(ours, theirs)
        same(stepped(pickle.loads(pickle.dumps(policy)), obs, count), ours)
    assert policy._functions._of_size.cache_info().currsize == 3


def test_batches_of_many_sizes_an_empty_one_and_several_threads():
    policy = made("box")
    obs = observations(policy.spec, KEPT + 8)
    assert policy(obs[:0]).shape == (0, 3)
    whole = policy(obs)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda n: policy(obs[:n]), range(1, len(obs))))
    for n, part in enumerate(parts, 1):
        np.testing.assert_allclose(part, whole[:n], rtol=1e-5, atol=1e-6)
    assert policy._functions._of_size.cache_info().currsize == KEPT
    parts[0][:] = 7.0  # the caller's own
    np.testing.assert_allclose(policy(obs[:1]), whole[:1], rtol=1e-5, atol=1e-6)


def test_what_is_nan_is_found_where_it_is_looked_for():
    policy = made("box")
    obs = np.full(4, np.inf, np.float32)  # times weights of both signs
    assert np.isnan(policy(obs)).all()
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        policy(obs)


def test_a_large_network_is_left_to_xla():
    agent = ks.make_agent("ppo", hidden=(600, 600))
    policy = Policy(agent, agent.init(BOX, jax.random.key(0)), BOX)
    assert policy(np.zeros(4)).shape == (3,)
    assert policy._functions._of_size(1, (((4,), np.dtype(np.float32)),)) is None
