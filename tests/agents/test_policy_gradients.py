"""PPO and A2C learn what is known exactly: the probes' values, finite and in real numbers, and to remember."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laplace import LaplaceHead
from probes import Aim, Real, probes
from rollouts import Recall, learned, loop_of, sums_of, tiny_ppo

from kousoku.agents.deep.a2c import A2C
from kousoku.nn import ActorCriticConfig
from kousoku.ops.schedules import Linear
from kousoku.training.metrics.drain import drain_metrics

pytestmark = pytest.mark.learning

DISCOUNT, SEEDS = 0.9, 3
PLAIN = {"discount": DISCOUNT, "normalise_observations": False, "normalise_rewards": False, "num_envs": 8}
AGENTS = {
    "ppo": tiny_ppo(num_steps=16, epochs=4, minibatches=4, learning_rate=3e-3, hidden=(16,), **PLAIN),
    "a2c": A2C(num_steps=8, learning_rate=5e-3, network=ActorCriticConfig(hidden=(16,), init="lecun_normal"), **PLAIN),
}
UPDATES = {"ppo": 200, "a2c": 1200}


def checked(agent_id, env, probe):
    """Values of states 0 and 1, and what is best there, for every seed."""
    agent = AGENTS[agent_id]
    state = jax.tree.map(jnp.asarray, learned(agent, env, UPDATES[agent_id], SEEDS).agent)
    obs = jnp.arange(2, dtype=jnp.int32) if env is probe.env else jnp.eye(3, dtype=jnp.float32)[:2]
    value = jax.vmap(jax.vmap(lambda s, o: s.network.value(o, ()), (None, 0)), (0, None))(state, obs)
    best = np.broadcast_to(probe.q.max(-1), (SEEDS, 2))
    np.testing.assert_allclose(value, best, atol=0.1, err_msg=probe.name)
    if probe.name == "two actions":
        policy = jax.vmap(jax.vmap(lambda s, o: s.network.policy(o, ())[0].mode(), (None, 0)), (0, None))(state, obs)
        assert (np.asarray(policy) > 0).all()


@pytest.mark.full("covered")
@pytest.mark.parametrize("which", ["two actions", "all"])
@pytest.mark.parametrize("agent_id", AGENTS)
def test_probes(agent_id, which):
    """The five probes with a time limit of 5, three seeds each, in one program."""
    for probe in probes(DISCOUNT, 5):
        if which in ("all", probe.name):
            checked(agent_id, probe.env, probe)


@pytest.mark.full("learning")
@pytest.mark.parametrize("agent_id", AGENTS)
def test_probes_in_real_numbers(agent_id):
    for probe in probes(DISCOUNT, 5):
        checked(agent_id, Real(probe.env), probe)


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", ["ppo", pytest.param("a2c", marks=pytest.mark.full("more cases"))])
@pytest.mark.parametrize("time_limit", [1, pytest.param(50, marks=pytest.mark.full("more cases"))])
def test_a_time_limit_is_no_end(agent_id, time_limit):
    """Reward 1 for ever is worth 10, however soon the clock cuts in: it is the true successor that counts."""
    probe = probes(DISCOUNT, time_limit)[-1]
    assert probe.name == "time limit"
    checked(agent_id, probe.env, probe)


@pytest.mark.full("covered")
@pytest.mark.parametrize("policy", ["normal", LaplaceHead, "tanh_normal"])
def test_a_real_action_is_aimed(policy):
    """The mean goes to x / 2, and the value is that of the policy with its own spread."""
    options = {"num_steps": 16, "epochs": 4, "minibatches": 4, "learning_rate": 3e-3, "hidden": (16,), **PLAIN}
    agent = tiny_ppo(policy=policy, init_std=0.5, **options)
    state = jax.tree.map(jnp.asarray, learned(agent, Aim(), 150, SEEDS).agent)
    for x in (-1.0, 1.0):
        obs = jnp.array([x])
        draw = lambda s: s.network.policy(obs, ())[0]  # noqa: B023, E731
        value = np.asarray(jax.vmap(lambda s: s.network.value(obs, ()))(state))  # noqa: B023
        keys = jax.random.split(jax.random.key(0), 2000)
        actions = np.asarray(jax.vmap(lambda s: jax.vmap(draw(s).sample)(keys))(state))[..., 0]  # noqa: B023
        np.testing.assert_allclose(actions.mean(1), 0.5 * x, atol=0.1)
        np.testing.assert_allclose(value, -((actions - 0.5 * x) ** 2).mean(1), atol=0.05)


@pytest.mark.full("learning")
@pytest.mark.parametrize(
    ("recurrent", "shared", "learns"),
    [
        ("gru", True, True),
        pytest.param("gru", False, True, marks=pytest.mark.full("more cases")),
        pytest.param("lstm", True, True, marks=pytest.mark.full("more cases")),
        pytest.param("lstm", False, True, marks=pytest.mark.full("more cases")),
        pytest.param(None, True, False, marks=pytest.mark.full("more cases")),
    ],
)
def test_a_cue_is_remembered(recurrent, shared, learns):
    """The last thirty updates' mean return: 1 with a memory, 0 without.

    The learning rate falls to 0: once every return is 1, standardised advantages are but noise, and steps of full size
    along it now and then undo what was learned.
    """
    rate = Linear(3e-3, 0.0, 120 * 512)
    agent = tiny_ppo(
        num_envs=32, num_steps=16, epochs=4, minibatches=4, learning_rate=rate, hidden=(16,), entropy_coefficient=0.01,
        recurrent=recurrent, recurrent_size=16, shared=shared,
    )  # fmt: skip
    loop = loop_of(agent, Recall(), seeds=SEEDS)
    state, at = loop.start(), 0
    for until in (90 * 512, 120 * 512):
        state = drain_metrics(loop.placement, ())(state).state
        while at < until:
            state, at = loop.run(state, at, until)
    sums = sums_of(state)
    mean = sums.return_sum / sums.episodes
    assert (mean > 0.9).all() if learns else (np.abs(mean) < 0.15).all(), mean
