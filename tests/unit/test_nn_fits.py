"""A network of one's own that does not fit is refused in one line; one that fits is left alone."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.core.spaces import Discrete, MultiDiscrete
from kousoku.nn import CategoricalHead, MultiCategoricalHead, Network, NormalHead, ValueHead


class Own(Network):
    actor: Any
    critic: Any
    extra: Any = None
    wide: bool = eqx.field(static=True, default=False)
    grows: bool = eqx.field(static=True, default=False)

    def start(self):
        return jnp.zeros(2) if self.grows else ()

    def policy(self, obs, memory):
        return self.actor(obs), jnp.zeros(3) if self.grows else memory

    def value(self, obs, memory):
        return self.critic(obs)[None] if self.wide else self.critic(obs)

    def __call__(self, obs, memory):
        policy, after = self.policy(obs, memory)
        return policy, self.value(obs, memory), after


def own(actions=None, head=CategoricalHead, size=None, **rest):
    def build(observation_space, action_space, key):
        width = size or observation_space.shape[0]
        actor = head(actions or action_space, width, key=key)
        return Own(actor, ValueHead(width, key=key), **rest)

    return build


def train(network, env):
    agent = ks.make_agent("ppo", network=network, num_envs=4, num_steps=8, minibatches=2)
    return ks.train(agent, env, steps=64, out="", eval_episodes=1)


@pytest.mark.parametrize(("env", "head"), [("CartPole-v1", CategoricalHead), ("Pendulum-v1", NormalHead)])
def test_one_that_fits_is_trained(env, head):
    assert train(own(head=head), env).record.facts["status"] == "finished"


@pytest.mark.parametrize(
    ("network", "env", "message"),
    [
        (own(wide=True), "CartPole-v1", r"its value has the shape \[1\]; make it a scalar"),
        (own(Discrete(7)), "CartPole-v1", r"its policy is over \[7\] actions; this is Discrete\(n=2\)"),
        (own(Discrete(1)), "CartPole-v1", r"over \[1\] actions"),
        (own(MultiDiscrete((2,)), MultiCategoricalHead), "CartPole-v1", r"draws int32\[1\], which is no action of"),
        (own(Discrete(3)), "Pendulum-v1", r"draws int32\[\], which is no action of Box"),
        (own(size=9), "CartPole-v1", r"does not take observations of Box\("),
        (own(grows=True), "CartPole-v1", "the memory that it returns has to have the shapes of that of `start`"),
        (own(extra=jnp.tanh), "CartPole-v1", "each leaf has to be an array of floating point numbers"),
        (own(extra=3), "CartPole-v1", "network: got 3; each leaf has to be"),
        (lambda *_: None, "CartPole-v1", "network: got None; its builder has to return"),
    ],
)
def test_one_that_does_not_fit_is_refused(network, env, message):
    with pytest.raises(ks.ConfigError, match=message) as caught:
        train(network, env)
    assert "\n" not in str(caught.value)
