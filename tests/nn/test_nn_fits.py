"""A network of one's own that does not fit is refused in one line; one that fits is left alone."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from fresh_process import refusals

import kousoku as ks
from kousoku.core.spaces import Box, Discrete, MultiDiscrete
from kousoku.nn import CategoricalHead, Dense, MultiCategoricalHead, Network, NormalHead, ValueHead
from kousoku.nn.fits import check_network
from kousoku.ops.distributions import Categorical, Distribution

OBSERVATIONS = Box(-1.0, 1.0, (4,))


class Own(Network):
    actor: Any
    critic: Any
    extra: Any = None
    wide: bool = eqx.field(static=True, default=False)
    grows: bool = eqx.field(static=True, default=False)

    def initial_carry(self):
        return jnp.zeros(2) if self.grows else ()

    def policy(self, obs, carry):
        return self.actor(obs), jnp.zeros(3) if self.grows else carry

    def value(self, obs, carry):
        return self.critic(obs)[None] if self.wide else self.critic(obs)

    def __call__(self, obs, carry):
        policy, after = self.policy(obs, carry)
        return policy, self.value(obs, carry), after


def own(actions=None, head=CategoricalHead, size=None, **rest):
    def build(observation_space, action_space, key):
        width = size or observation_space.shape[0]
        actor = head(actions or action_space, width, key=key)
        return Own(actor, ValueHead(width, key=key), **rest)

    return build


def train(network, env):
    agent = ks.make_agent("ppo", network=network, num_envs=4, num_steps=8, minibatches=2)
    return ks.train(agent, env, steps=64, out="", eval_episodes=1)


class Head(eqx.Module):
    """A policy head that does not fit in one of several ways."""

    linear: Any
    says: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, x):
        return self.says(self.linear(x))


def headed(says, dtype=jnp.float32):
    def build(action_space, in_size, key):
        linear = Dense(in_size, action_space.shape[0], key=key)
        return Head(jax.tree.map(lambda leaf: leaf.astype(dtype), linear), says)

    return build


class Uncounted(Distribution):
    """A distribution of one's own, which does not say how many actions there are."""

    within: Categorical

    def sample(self, key):
        return self.within.sample(key)

    def log_prob(self, action):
        return self.within.log_prob(action)

    def entropy(self):
        return self.within.entropy()

    def mode(self):
        return self.within.mode()

    def kl(self, other):
        return self.within.kl(other.within)


def uncounted(space, in_size, *, key):
    return Head(Dense(in_size, space.n, key=key), lambda logits: Uncounted(Categorical(logits)))


@pytest.mark.full("whole way")
@pytest.mark.parametrize(("env", "head"), [("CartPole-v1", CategoricalHead), ("Pendulum-v1", NormalHead)])
def test_one_that_fits_is_trained(env, head):
    assert train(own(head=head), env).record.facts["status"] == "finished"


@pytest.mark.parametrize(
    ("actions", "head"),
    [
        (Discrete(3), CategoricalHead),
        (MultiDiscrete((2, 3)), MultiCategoricalHead),
        (Box(-1.0, 1.0, (2,)), NormalHead),
        (Discrete(3), uncounted),
    ],
    ids=["discrete", "multi_discrete", "box", "uncounted"],
)
def test_one_that_fits_is_left_alone(actions, head):
    key = jax.random.key(0)
    network = own(head=head)(OBSERVATIONS, actions, key)
    check_network(network, OBSERVATIONS, actions, jax.eval_shape(OBSERVATIONS.sample, key))


@pytest.mark.parametrize(
    ("network", "env", "message"),
    [
        (own(wide=True), "CartPole-v1", r"its value has the shape \[1\]; make it a scalar"),
        (own(Discrete(7)), "CartPole-v1", r"its policy is over \[7\] actions; this is Discrete\(n=2\)"),
        (own(Discrete(1)), "CartPole-v1", r"over \[1\] actions"),
        (own(MultiDiscrete((2,)), MultiCategoricalHead), "CartPole-v1", r"draws int32\[1\], which is no action of"),
        (own(Discrete(3)), "Pendulum-v1", r"draws int32\[\], which is no action of Box"),
        (own(size=9), "CartPole-v1", r"does not take observations of Box\("),
        (own(grows=True), "CartPole-v1", "the carry that it returns has to have the shapes of that of `initial_carry`"),
        (own(extra=jnp.tanh), "CartPole-v1", "each leaf has to be an array of float32"),
        (own(extra=jnp.ones(2, jnp.bfloat16)), "CartPole-v1", r"network: got bfloat16\[2\]; each leaf has to be"),
        (own(extra=3), "CartPole-v1", "network: got 3; each leaf has to be"),
        (lambda *_: None, "CartPole-v1", "network: got None; its builder has to return"),
    ],
)
def test_one_that_does_not_fit_is_refused(network, env, message):
    with pytest.raises(ks.ConfigError, match=message) as caught:
        train(network, env)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (headed(Categorical), r"policy: got 'Head'; its policy draws int32\[\], which is no action of Box"),
        (
            headed(Categorical, jnp.bfloat16),
            r"policy: got bfloat16\[\d+, \d+\]; each leaf has to be an array of float32",
        ),
        (lambda *_: jnp.tanh, "policy: got <.*tanh.*; each leaf has to be"),
        (lambda space, key: None, r"policy: got '.*<lambda>.*'; use a function of \(action_space, in_size, key\)"),
        ("cauchy", "policy: got 'cauchy'; use one of 'auto', 'categorical'"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused(policy, message):
    with pytest.raises(ks.ConfigError, match=message) as caught:
        ks.train(ks.make_agent("ppo", policy=policy), "Pendulum-v1", steps=64, out="", eval_episodes=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("agent_id", ["ppo", "a2c"])
def test_a_builder_with_other_arguments_is_refused(agent_id):
    with pytest.raises(
        ks.ConfigError, match=r"network: got .*; use a function of \(observation_space, action_space, key"
    ):
        ks.make_agent(agent_id, network=lambda spec: None)


SETUP = """
import equinox as eqx, jax.numpy as jnp, kousoku as ks
from kousoku.nn import Dense

class Head(eqx.Module):
    linear: Dense

    def __init__(self, action_space, in_size, key):
        self.linear = Dense(in_size, action_space.shape[0], key=key)

    def __call__(self, x):
        return self.linear(x)

def train(policy):
    return ks.train(ks.make_agent("ppo", policy=policy), "Pendulum-v1", steps=64, out="", eval_episodes=0)
"""


@pytest.mark.full("processes")
def test_a_policy_that_is_none_is_refused():
    """As a user sees it, without types that are checked."""
    wanted = {
        "train(Head)": "policy: got 'Head'; its policy is float32[1]; make it a kousoku.ops.distributions.Distribution",
        "train(3)": "policy: got 3; use one of auto, categorical, multi_categorical, normal, tanh_normal, beta, or a f",
    }
    for call, message in refusals({call: call for call in wanted}, SETUP).items():
        assert message.startswith(wanted[call])
