"""Numbers of every agent's options: in arrays, and larger than anything that holds them."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from fresh_process import check_refusals, without_types_checked
from idle_agent import Idle

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.deep.ppo import PPO
from kousoku.agents.evolution.evosax import Evosax
from kousoku.ops.schedules import Schedule

EVERY_OPTION = """
import json, re
import jax
import jax.numpy as jnp
import numpy as np
from kousoku.agents import AGENTS
from kousoku.agents.options import describe, make_agent, option_types
from kousoku.core.errors import ConfigError

def made(id, name, value):
    "The agent as JSON, of which a program can be made; None, where one line refuses it."
    try:
        agent = make_agent(id, **{name: value})
    except ConfigError as error:
        assert chr(10) not in str(error) and len(str(error)) < 300, (id, name, str(error))
        return None
    except Exception as error:
        raise SystemExit(f"{id} {name}: {error!r}")
    hash(jax.tree.structure(agent))
    for leaf in jax.tree.leaves(agent):
        assert not isinstance(leaf, (np.ndarray, jax.Array)), (id, name, leaf)
        if isinstance(leaf, (int, float)):
            with np.errstate(over="ignore"):
                np.float32(leaf)
    return json.dumps(describe(agent))

def options(id):
    return {name: str(of) for name, of in option_types(id).items()}

"""
AS_NUMBERS = """
compared = 0
for id in AGENTS.ids():
    for name in options(id):
        for array in (jnp.float32(-1), np.array(1)):
            alone = made(id, name, array.item())
            assert made(id, name, array) == alone, (id, name, array)
            compared += alone is not None
print(compared)
"""
REFUSED = """
others = np.array("a"), jnp.complex64(1), np.array(True), np.ones(3), jnp.ones((1, 1))
refused = 0
for id in AGENTS.ids():
    for name, of in options(id).items():
        for value in others:
            if re.search(r"\\b(int|float|ScalarOrSchedule)\\b", of) and not re.search("str|tuple", of):
                assert made(id, name, value) is None, (id, name, value)
                refused += 1
print(refused)
"""
LARGE = """
infinite = []
for id in AGENTS.ids():
    for name, of in options(id).items():
        whole = of.startswith(("int", "<class 'int'>"))
        for value in (2**31, 2**63, 10**400, 10**5000, 1e300):
            told = None if name == "outcomes" else made(id, name, value)
            assert told is None or not whole, (id, name)
            infinite += [name] if told is not None and value == 10**400 else []
print(json.dumps(infinite))
"""
MADE_IN_PYTHON = """
import json
import jax.numpy as jnp
from kousoku.agents.deep.dqn import DQN
from kousoku.agents.deep.ppo import PPO
from kousoku.agents.deep.sac import SAC
from kousoku.agents.exploration import UCB, EpsilonGreedy
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.nn import ActorCriticConfig, ActorQConfig, PolicyConfig, QNetworkConfig
from kousoku.ops.schedules import Linear

line = lambda start: Linear(start, 0.0, 5)
fields = [
    (PPO, "learning_rate"), (PPO, "clip"), (DQN, "epsilon"), (SAC, "temperature"), (QLearning, "discount"),
    (EpsilonGreedy, "epsilon"), (UCB, "c"), (ActorCriticConfig, "hidden_gain"), (ActorCriticConfig, "init_std"),
    (ActorQConfig, "dropout"), (ActorQConfig, "v_min"), (QNetworkConfig, "noisy_std"), (PolicyConfig, "head_gain"),
    (line, "start"),
]
told = []
for make, name in fields:
    made = make(**{name: jnp.float32(0.5)})
    told.append([type(getattr(made, name)).__name__, bool(made == make(**{name: 0.5}))])
print(json.dumps(told))
"""


def test_an_array_of_one_number_is_as_that_number():
    assert without_types_checked(EVERY_OPTION + AS_NUMBERS) > 150


def test_an_array_of_anything_else_is_refused():
    assert without_types_checked(EVERY_OPTION + REFUSED) > 1000


def test_a_number_that_nothing_holds_is_refused_or_infinite():
    unlimited = without_types_checked(EVERY_OPTION + LARGE)
    assert {"observation_limit", "clip", "max_gradient_norm"} <= set(unlimited)


def test_what_is_made_in_python_holds_a_number_for_an_array_of_one():
    made = without_types_checked(MADE_IN_PYTHON)
    assert len(made) == 14
    assert made == [["float", True]] * 14


def test_strategies_of_others_hold_numbers_for_arrays_of_one():
    made = Evosax(strategy_params=(("std_init", jnp.float32(0.5)), ("beta", np.array(1.0))))
    assert [type(number) for _, number in made.strategy_params] == [float, float]


def test_what_is_made_in_python_is_refused_in_an_array_as_it_is_alone():
    calls = {
        "PPO(learning_rate=jnp.float32(-1))": "learning_rate: got Array(-1., dtype=float32); use a number above 0",
        "PPO(discount=jnp.float32(1.5))": "discount: got Array(1.5, dtype=float32); use a number in [0, 1]",
        "SAC(tau=np.array(-1.0))": "tau: got array(-1.); use a number in (0, 1]",
        "DQN(epsilon=jnp.float32('nan'))": "epsilon: got Array(nan, dtype=float32); use a number in [0, 1]",
        "DQN(epsilon=np.ones(3))": "epsilon: got array([1., 1., 1.]); use one number in [0, 1]",
        "QNetworkConfig(v_min=jnp.ones(2))": "v_min: got Array([1., 1.], dtype=float32); use one number",
        "ActorQConfig(num_critics=101)": "use a whole number of at least 1 and at most 100",
        "ActorQConfig(hidden=(8, 2**31))": "hidden[1]: got 2147483648; use a whole number of at most 2147483647",
        "APG(critic_epochs=1001)": "use a whole number of at least 1 and at most 1000",
    }
    setup = """
import jax.numpy as jnp
import numpy as np
from kousoku.agents.deep.apg import APG
from kousoku.agents.deep.dqn import DQN
from kousoku.agents.deep.ppo import PPO
from kousoku.agents.deep.sac import SAC
from kousoku.nn import ActorQConfig, QNetworkConfig
"""
    check_refusals(calls, setup)


def test_a_whole_number_that_no_float_holds_is_infinity_in_an_agent():
    assert PPO(clip=10**400, target_kl=10**400).target_kl == math.inf


def test_arrays_of_ones_own_agents_and_schedules_stay_theirs():
    """The library cannot know what they do with them."""

    class Weighted(Idle):
        weights: Any = None
        rates: Sequence[float] = (1.0, 2.0)
        learns_from: ks.Online = ks.Online()

    class Own(Schedule):
        rate: Any = eqx.field(converter=jnp.asarray)

        def __call__(self, count):
            return self.rate.astype(jnp.float32)

    ks.register_agent("weighted", Weighted)
    try:
        made = ks.make_agent("weighted", weights=jnp.float32(2), rates=np.array([1.0, 2.0]))
    finally:
        del AGENTS._entries["weighted"]
    assert isinstance(made.rates, np.ndarray)
    assert float(Own(0.5)(jnp.int32(0))) == 0.5
