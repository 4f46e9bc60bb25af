"""DQN learns what is known exactly: every action value of the probes, by its own replay buffer."""

from typing import Any

import jax
import numpy as np
import pytest
from probes import probes
from small_learning import learned, values_of

from kousoku.agents.deep.dqn import DQN
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


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param(
            {"double": False, "huber_delta": None, "target_period": 1, "tau": 0.05},
            marks=pytest.mark.full("more cases"),
        ),
        pytest.param({"dueling": True}, marks=pytest.mark.full("more cases")),
        pytest.param({"n_step": 3}, marks=pytest.mark.full("more cases")),
        pytest.param({"prioritised": True}, marks=pytest.mark.full("more cases")),
        pytest.param(ATOMS, marks=pytest.mark.full("more cases")),
        pytest.param({"distribution": "quantile", "num_atoms": 11}, marks=pytest.mark.full("more cases")),
        pytest.param(
            {"munchausen": True, "munchausen_alpha": 0.0, "munchausen_temperature": 0.01},
            marks=pytest.mark.full("more cases"),
        ),
        pytest.param(
            {"dueling": True, "n_step": 3, "prioritised": True, **ATOMS}, marks=pytest.mark.full("more cases")
        ),
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
        q = values_of(learned(dqn(**options), probe.env, keys, ITERATIONS).network)
        np.testing.assert_allclose(q, np.broadcast_to(probe.q, (SEEDS, 2, 2)), atol=0.1, err_msg=probe.name)
