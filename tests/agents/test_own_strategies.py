"""What an evolution strategy of one's own returns is looked at before anything is learned: one line names it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents.evolution.strategy import EvolutionStrategy, parameters
from kousoku.core.agent_check import check_agent
from kousoku.core.errors import ConfigError
from kousoku.nn.policy_network import PolicyConfig
from kousoku.training.guards.agent_numbers import check_agent_numbers
from kousoku.training.metrics.metric_sums import Recording

ENV = ks.make("CartPole-v1")
NETWORK = PolicyConfig(hidden=(2,))
SIZE = 4 * 2 + 2 + 2 * 2


class Usual(EvolutionStrategy):
    """The best of four candidates around the mean."""

    @property
    def candidates(self) -> int:
        return 4

    @property
    def starts(self) -> int:
        return 4

    def begin_search(self, mean, key):
        return {"v": jnp.zeros_like(mean)}

    def ask(self, state, key):
        mean = parameters(state.policy)
        return mean[None] + jax.random.normal(key, (4, mean.size)), state

    def tell(self, state, candidates, fitness, key):
        return candidates[jnp.argmax(fitness)], state.search, {}


def looked_at(**parts: Any) -> None:
    own = type("Own", (Usual,), {"__module__": __name__, **parts})(max_episode_steps=20, network=NETWORK)
    check_agent(own, ENV.spec)
    check_agent_numbers(own, ENV, Recording())


def changed(name: str, change: Any) -> dict[str, Any]:
    usual = getattr(Usual, name)
    return {name: lambda *given: change(usual(*given))}


def candidates(change: Any) -> dict[str, Any]:
    return changed("ask", lambda made: (change(made[0]), made[1]))


def mean(change: Any) -> dict[str, Any]:
    return changed("tell", lambda made: (change(made[0]), *made[1:]))


EACH, MEAN = f"each of the 4 has {SIZE} numbers, float32[{SIZE}]", f"it has {SIZE} numbers, float32[{SIZE}]"
CALLED = "give what can be called with an observation, as `network` builds it; or write act_by, too"
ARRAYS = "use arrays; what is none belongs into a field of the agent, or eqx.field(static=True)"
WRONG = {
    "short": (candidates(lambda x: x[:, 1:]), f"ask's candidates: got float32[{SIZE - 1}]; {EACH}"),
    "deep": (candidates(lambda x: x[..., None]), f"ask's candidates: got float32[{SIZE}, 1]; {EACH}"),
    "whole": (candidates(lambda x: x.astype(jnp.int32)), f"ask's candidates: got int32[{SIZE}]; {EACH}"),
    "half": (candidates(lambda x: x.astype(jnp.float16)), f"ask's candidates: got float16[{SIZE}]; {EACH}"),
    "tree": (candidates(lambda x: {"a": x}), f"ask's candidates: got {{'a': float32[{SIZE}]}}; {EACH}"),
    "nothing": (candidates(lambda x: None), f"ask's candidates: got None; {EACH}"),
    "mean's dtype": (mean(lambda x: x.astype(jnp.bfloat16)), f"tell's mean: got bfloat16[{SIZE}]; {MEAN}"),
    "mean's shape": (mean(lambda x: x[None]), f"tell's mean: got float32[1, {SIZE}]; {MEAN}"),
    "no mean": (mean(lambda x: None), f"tell's mean: got None; {MEAN}"),
    "keys": (mean(lambda x: jax.random.split(jax.random.key(0), SIZE)), f"tell's mean: got key<fry>[{SIZE}]; {MEAN}"),
    "numbers": (mean(list), "tell's mean: got [float32[], float32[], "),
    "search": ({"begin_search": lambda *_: "x"}, f"begin_search: got \"what is kept with itself, 'x'\"; {ARRAYS}"),
    "no policy": ({"policy": lambda *_: None}, f"policy: got None; {CALLED}"),
    "vector": ({"policy": lambda self, state, one: one}, f"policy: got float32[{SIZE}]; {CALLED}"),
    "text": ({"policy": lambda *_: "x"}, f"policy: got \"a policy with itself, 'x'\"; {ARRAYS}"),
    "no state": (
        {"init": lambda *_: {"a": jnp.zeros(2)}},
        "init: got {'a': float32[2]}; return one of kousoku.agents.evolution.strategy.EvolutionState",
    ),
    "shared text": ({"shared": lambda *_: "x"}, f"shared: got \"what is shared with itself, 'x'\"; {ARRAYS}"),
    "statistics": (
        {"statistics": lambda *_: None},
        "statistics: got None; give state.observations, which update merges what was observed with; or write update",
    ),
    "action": (
        {"act_by": staticmethod(lambda policy, shared, obs: "x")},
        "act_by: got 'x'; it should give an action of Discrete(n=2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "told"), WRONG.values(), ids=WRONG)
def test_what_a_strategy_of_ones_own_returns_is_looked_at(parts, told):
    with pytest.raises(ConfigError) as caught:
        looked_at(**parts)
    assert str(caught.value).startswith(f"Own.{told}")
    assert "\n" not in str(caught.value)


def test_what_an_inherited_act_by_does_not_take_is_told_of_what_is_shared():
    with pytest.raises(ConfigError, match=r"the act_by that it inherits does not take it \(\w+Error: .*\); write that"):
        looked_at(shared=lambda self, state: state.policy)


RIGHT = {
    "usual": {},
    "NumPy's": {"tell": lambda self, state, x, fitness, key: (np.zeros(x.shape[1]), state.search, {})},
    "a vector that it acts by": {
        "policy": lambda self, state, one: one,
        "act_by": staticmethod(lambda policy, shared, obs: jnp.int32(0)),
        "shared": lambda self, state: (),
        "update": lambda self, state, data, key, *, axis=None: (state, {}),
    },
    "statistics that it merges": {
        "statistics": lambda self, state: None,
        "update": lambda self, state, data, key, *, axis=None: (state, {}),
    },
}


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_what_goes_together_is_let_through(parts):
    looked_at(**parts)


def test_a_network_of_functions_is_told_as_such():
    class Net(eqx.Module):
        layers: eqx.nn.MLP

        def __call__(self, obs):
            return jnp.argmax(self.layers(obs)).astype(jnp.int32)

    own = Usual(max_episode_steps=20, network=lambda obs, act, key: Net(eqx.nn.MLP(4, 2, 2, 1, key=key)))
    with pytest.raises(ConfigError, match=r"^Usual's network: got 'a policy with \.layers\.activation, .*; use arrays"):
        check_agent(own, ENV.spec)


@pytest.mark.parametrize("action", ["x", None, jax.random.key(0)], ids=["text", "none", "key"])
def test_an_action_of_no_numbers_is_refused(action):
    class Own(ks.Agent):
        learns_from: ks.Collector = ks.Rollouts(2, 4)

        def init(self, spec, key):
            return ()

        def act(self, state, obs, carry, key, *, greedy=False):
            return action, carry, None

        def update(self, state, data, key, *, axis=None):
            return state, {}

    with pytest.raises(ConfigError, match=r"^Own\.act: got .*; it should give an action of Discrete\(n=2\)$"):
        check_agent(Own(), ENV.spec)
