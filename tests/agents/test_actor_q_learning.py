"""SAC, TD3 and DDPG learn what is known exactly, by their own replay buffers."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probes import Aim, Real, probes
from small_learning import learned

from kousoku.agents.deep.sac import SAC
from kousoku.agents.deep.td3 import DDPG, TD3
from kousoku.nn import ActorQConfig
from kousoku.ops.schedules import Linear

pytestmark = pytest.mark.learning

DISCOUNT, SEEDS = 0.9, 3
SIZES: dict[str, Any] = {
    "num_envs": 4,
    "batch_size": 32,
    "capacity": 4000,
    "learning_starts": 64,
    "update_ratio": 1 / 8,
    "tau": 0.05,
    "discount": DISCOUNT,
}


def network(policy: str, **options: Any) -> ActorQConfig:
    return ActorQConfig(hidden=(16,), policy=policy, init="lecun_normal", **options)


AGENTS = {
    "td3": TD3(network=network("deterministic"), exploration_noise=1.0, target_noise=0.05, **SIZES),
    "ddpg": DDPG(network=network("deterministic", num_critics=1), exploration_noise=1.0, **SIZES),
    "sac": SAC(network=network("stochastic"), learn_temperature=False, temperature=1e-3, **SIZES),
}
BINS = {"num_atoms": 61, "v_min": -3.0, "v_max": 12.0}
AGENTS |= {
    f"td3, {name}": TD3(network=network("deterministic", **options), exploration_noise=1.0, target_noise=0.05, **SIZES)
    for name, options in {
        "crossq": {"critic_body": "crossq"},
        "droq": {"critic_body": "droq", "dropout": 1e-3},  # 0.01 of 16 units: values of 10 are 0.4 too low
        "simba": {"critic_body": "simba", "actor_body": "simba"},
        "c51": {"distribution": "categorical", **BINS},
        "hl gauss": {"distribution": "hl_gauss", **BINS},
        "quantiles": {"distribution": "quantile", "num_atoms": 11},
    }.items()
}


@pytest.mark.full("learning")
@pytest.mark.parametrize("name", AGENTS)
def test_probes(name):
    """The five probes with a time limit of 5, three seeds each: also of reward 1 for ever, which is worth 10.

    Values far from where actions 0 and 1 meet, which were seen most; SAC's, whose policy settles, where it acts.
    """
    iterations = 4000
    agent = eqx.tree_at(lambda a: a.learning_rate, AGENTS[name], Linear(5e-3, 0.0, 8 * iterations))
    keys = jax.random.split(jax.random.key(0), SEEDS)
    states, actions = jnp.eye(3)[:2], jnp.array([[-0.8], [0.8]])
    for probe in probes(DISCOUNT, 5):
        state = learned(agent, Real(probe.env), keys, iterations)
        critic, best = state.network.critics[0], np.broadcast_to(probe.q.max(-1), (SEEDS, 2))
        if name == "sac":
            act = lambda state, obs: agent.act(state, obs, (), keys[0], greedy=True)[0]  # noqa: E731
            own = jax.vmap(jax.vmap(act, (None, 0)), (0, None))(state, states)
            q = jax.vmap(jax.vmap(lambda c, s, a: c(s, a), (None, 0, 0)), (0, None, 0))(critic, states, own)
            np.testing.assert_allclose(q, best, atol=0.2, err_msg=probe.name)
            continue
        of_one = jax.vmap(jax.vmap(lambda c, s, a: c(s, a), (None, None, 0)), (None, 0, None))
        q = jax.vmap(of_one, (0, None, None))(critic, states, actions)
        if probe.name == "two actions":
            np.testing.assert_allclose(q, np.broadcast_to(probe.q, q.shape), atol=0.3, err_msg=probe.name)
        else:
            np.testing.assert_allclose(np.max(q, -1), best, atol=0.2, err_msg=probe.name)


ALPHA = 0.5
OF_UNIT = 0.1
"""The standard deviation in the unit box of the normal policy of this entropy."""
ENTROPY = 0.5 * math.log(2 * math.pi * math.e * OF_UNIT**2)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("options", "std"),
    [
        ({"learn_temperature": False, "temperature": ALPHA}, math.sqrt(ALPHA / 2)),
        pytest.param({"target_entropy": ENTROPY}, 5 * OF_UNIT, marks=pytest.mark.full("more cases")),
    ],
    ids=["fixed", "learned"],
)
def test_the_soft_policy_is_that_of_the_temperature(options, std):
    """The best soft policy of reward -(a - x / 2)^2 is normal of mean x / 2 and variance alpha / 2."""
    iterations = 4000
    rate = Linear(5e-3, 0.0, 8 * iterations)
    agent = SAC(network=network("stochastic"), learning_rate=rate, **options, **SIZES)
    state = learned(agent, Aim(), jax.random.split(jax.random.key(1), SEEDS), iterations)
    sides = jnp.array([[-1.0], [1.0]])
    policies = jax.vmap(lambda actor: jax.vmap(actor)(sides))(state.network.actor)
    draws = jax.vmap(jax.vmap(lambda p: jax.vmap(p.sample)(jax.random.split(jax.random.key(2), 4000))))(policies)
    actions = 5.0 * np.asarray(draws)[..., 0]
    np.testing.assert_allclose(actions.mean(-1), np.broadcast_to([-0.5, 0.5], (SEEDS, 2)), atol=0.12)
    np.testing.assert_allclose(actions.std(-1), np.full((SEEDS, 2), std), rtol=0.2)
    if state.log_temperature is not None:
        np.testing.assert_allclose(np.exp(state.log_temperature), 2 * std**2, rtol=0.3)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("agent", [SAC, TD3])
@pytest.mark.slow_because("two programs are compiled")
def test_numbers_may_differ_between_members_of_a_population(agent):
    """Members with numbers of their own learn as each alone."""
    import kousoku as ks

    settings: dict[str, Any] = {**SIZES, "network": agent().network.__class__(hidden=(8,), policy=agent().policy)}
    numbers = {"learning_rate": [1e-2, 1e-3], "tau": [0.5, 0.01]}
    del settings["tau"]
    run = ks.train(agent(**settings), "Pendulum-v1", steps=800, sweep=numbers, out="", eval_episodes=0)
    for i, (rate, tau) in enumerate((r, t) for r in numbers["learning_rate"] for t in numbers["tau"]):
        alone = ks.train(
            agent(learning_rate=rate, tau=tau, **settings), "Pendulum-v1", steps=800, out="", eval_episodes=0
        )
        np.testing.assert_allclose(run.curves["qf_loss"][-1][i], alone.curves["qf_loss"][-1][0], rtol=2e-3)
