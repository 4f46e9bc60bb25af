"""DQN learns what is known exactly: every action value of the probes, by its own replay buffer."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probes import probes

from kousoku.agents.deep.dqn import DQN
from kousoku.collectors.slot import kernel_slots
from kousoku.core.collector import TrainState
from kousoku.nn import QNetworkConfig
from kousoku.ops.schedules import Linear

pytestmark = pytest.mark.learning

DISCOUNT, SEEDS, ITERATIONS = 0.9, 3, 2500

ATOMS = {"distribution": "categorical", "num_atoms": 16, "v_min": -2.5, "v_max": 12.5}


def dqn(**options: Any) -> DQN:
    sizes: dict[str, Any] = {"num_envs": 4, "num_steps": 2, "batch_size": 32, "capacity": 4000, "learning_starts": 64}
    of_network = {name: options.pop(name) for name in ("dueling", *ATOMS) if name in options}
    network = QNetworkConfig(hidden=(16,), init="lecun_normal", **of_network)
    rate = Linear(3e-3, 0.0, 8 * ITERATIONS)
    settings = {"epsilon": 1.0, "learning_rate": rate, "discount": DISCOUNT, "target_period": 25}
    return DQN(network=network, **{**sizes, **settings, **options})


@eqx.filter_jit
def q_learned(agent: DQN, env: Any, keys: Any) -> Any:
    """Action values of states 0 and 1 of every seed after so many iterations, [seeds, 2, 2]."""
    collector, slots = agent.learns_from, kernel_slots(env)

    def of_seed(key: Any) -> Any:
        def iteration(i: Any, state: TrainState) -> TrainState:
            now = collector.keys(key, i, collector.num_envs, None)
            state, data, _ = collector.collect(agent, slots, state, now, None)
            return collector.learn(agent, state, data, now, None)[0]

        first = agent.init(env.spec, key)
        state = TrainState(first, *collector.init(agent, first, slots, key), ())
        state = jax.lax.fori_loop(0, ITERATIONS, iteration, state)
        return jax.vmap(state.agent.network)(jnp.arange(2, dtype=jnp.int32))

    return jax.vmap(of_seed)(keys)


@pytest.mark.slow_because("a network has to learn")
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"double": False, "huber_delta": None, "target_period": 1, "tau": 0.05}, marks=pytest.mark.full),
        pytest.param({"dueling": True}, marks=pytest.mark.full),
        pytest.param({"n_step": 3}, marks=pytest.mark.full),
        pytest.param({"prioritised": True}, marks=pytest.mark.full),
        pytest.param(ATOMS, marks=pytest.mark.full),
        {"distribution": "quantile", "num_atoms": 11},
        pytest.param(
            {"munchausen": True, "munchausen_alpha": 0.0, "munchausen_temperature": 0.01}, marks=pytest.mark.full
        ),
        pytest.param({"dueling": True, "n_step": 3, "prioritised": True, **ATOMS}, marks=pytest.mark.full),
    ],
    ids=[
        "double",
        "plain with tau",
        "dueling",
        "three steps",
        "prioritised",
        "categorical",
        "quantile",
        "soft",
        "rainbow",
    ],
)
def test_probes(options):
    """The five probes with a time limit of 5, three seeds each: also of reward 1 for ever, which is worth 10."""
    keys = jax.random.split(jax.random.key(0), SEEDS)
    for probe in probes(DISCOUNT, 5):
        q = q_learned(dqn(**options), probe.env, keys)
        np.testing.assert_allclose(q, np.broadcast_to(probe.q, (SEEDS, 2, 2)), atol=0.1, err_msg=probe.name)
