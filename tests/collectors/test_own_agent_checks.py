"""What an agent of one's own has to give where it learns from generations, from derivatives or from recorded data."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents.evolution.strategy import EvolutionStrategy, parameters
from kousoku.collectors.differentiated import DifferentiatedRollouts
from kousoku.collectors.generations import Generations
from kousoku.collectors.offline import Offline
from kousoku.core.agent_check import check_agent
from kousoku.core.errors import ConfigError, RunWarning
from kousoku.training.guards.agent_numbers import check_agent_numbers
from kousoku.training.metrics.metric_sums import Recording

CARTPOLE, PENDULUM = ks.make("CartPole-v1"), ks.make("Pendulum-v1")


class Search(ks.Agent):
    """Four random directions a generation, of which the best is kept; `part` of it gives something else."""

    part: str = eqx.field(static=True, default="")
    made: Any = eqx.field(static=True, default=None)

    @property
    def learns_from(self) -> Generations:
        return Generations(4, 4, 1, 20)

    def init(self, spec, key):
        return self.changed("init", {"w": jnp.zeros(4), "n": jnp.int32(0)})

    def act(self, state, obs, carry, key, *, greedy=False):
        action = type(self).act_by(state["w"], (), obs)
        return self.changed(f"act greedy={greedy}", action), carry, None

    def ask(self, state, key):
        drawn = state["w"][None] + jax.random.normal(key, (4, 4), jnp.float32)
        return self.changed("ask", (self.changed("candidates", drawn), state))

    def policy(self, state, candidate):
        return candidate

    def shared(self, state):
        return ()

    def statistics(self, state):
        return self.changed("statistics", None)

    @staticmethod
    def act_by(policy, shared, obs):
        return (obs @ policy > 0).astype(jnp.int32)

    def update(self, state, data, key, *, axis=None):
        best = jnp.argmax(data.episode_return)
        return {"w": data.candidates[best], "n": state["n"] + 1}, {}

    def changed(self, where: str, usual: Any) -> Any:
        return self.made(usual) if where == self.part else usual


ODD = {
    "one": (
        "ask",
        lambda asked: asked[0],
        r"ask: got float32\[4, 4\]; return two things: the candidates \[P, \.\.\.]",
    ),
    "three": ("ask", lambda asked: (*asked, 1), "ask: got a tuple of 3; return two things"),
    "swapped": ("ask", lambda asked: asked[::-1], "ask: got 'a state with itself"),
    "state": ("ask", lambda asked: (asked[0], {"w": asked[1]["w"]}), r"ask: .* with \['n'\] int32\[\]"),
    "few": ("candidates", lambda c: c[:2], r"ask: got float32\[2, 4\]; give 4 candidates, arrays \[4, \.\.\.\]"),
    "many": ("candidates", lambda c: jnp.concatenate([c, c]), r"ask: got float32\[8, 4\]; give 4 candidates"),
    "tree": ("candidates", lambda c: {"a": c, "b": c[0, 0]}, "ask: got .*; give 4 candidates"),
    "text": ("candidates", lambda c: "all", "ask: got .*all.*; give 4 candidates"),
    "array": ("statistics", lambda _: jnp.zeros(4), r"statistics: got float32\[4\]; give moments as"),
    "names": ("statistics", lambda _: {"x": jnp.zeros(4)}, "statistics: got .*; give moments as"),
    "function": (
        "init",
        lambda s: s | {"f": jnp.tanh},
        r"init: got \"a state with \['f'\], .*; use arrays;",
    ),
    "word": ("init", lambda s: s | {"f": "word"}, r"init: got \"a state with \['f'\], 'word'"),
    "explores": ("act greedy=False", lambda a: a.astype(jnp.float32), r"act: got float32\[\]; it should give an"),
    "greedy": (
        "act greedy=True",
        lambda a: a.astype(jnp.float32),
        r"act \(greedy=True\): got float32\[\]; it should",
    ),
    "vector": (
        "act greedy=True",
        lambda a: a[None],
        r"act \(greedy=True\): got int32\[1\]; it should give an action",
    ),
}


@pytest.mark.parametrize(("part", "made", "told"), ODD.values(), ids=ODD)
def test_what_a_population_of_ones_own_gives_is_looked_at(part, made, told):
    with pytest.raises(ConfigError, match=f"^Search.{told}") as caught:
        check_agent(Search(part=part, made=made), CARTPOLE.spec)
    assert "\n" not in str(caught.value).split("\n----")[0]


class ByFloat(Search):
    @staticmethod
    def act_by(policy, shared, obs):
        return obs @ policy


class ByThree(Search):
    @staticmethod
    def act_by(policy, shared, obs):
        return (obs @ policy > 0).astype(jnp.int32), (), None


class ByFunction(Search):
    act_by = Search.act_by


class ByJit(Search):
    act_by = jax.jit(Search.act_by)


@pytest.mark.parametrize("kind", [ByFunction, ByJit])
def test_a_function_that_is_no_static_method_acts_as_well(kind):
    check_agent(kind(), CARTPOLE.spec)


class ByMethod(Search):
    def act_by(self, policy, shared, obs):
        return (obs @ policy > 0).astype(jnp.int32)


class Forgetful(Search):
    ask = None


class NeverGreedy(Search):
    def act(self, state, obs, carry, key):
        return self.act_by(state["w"], (), obs), carry, None


CLASSES = {
    ByFloat: r"ByFloat.act_by: got float32\[\]; it should give an action of Discrete\(n=2\)",
    ByThree: r"ByThree.act_by: got .*; it should give an action of Discrete\(n=2\)",
    ByMethod: r"ByMethod.act_by: got .*; use a function of \(policy, shared, obs\)",
    Forgetful: r"Forgetful.ask: got nothing; one that learns from Generations has ask\(state, key\) -> ",
    NeverGreedy: r"NeverGreedy.act: got .*; use a function of \(state, obs, carry, key, \*, greedy\)",
}


@pytest.mark.parametrize(("kind", "told"), CLASSES.items(), ids=[kind.__name__ for kind in CLASSES])
def test_methods_that_are_missing_or_of_another_kind_are_named(kind, told):
    """`greedy` is asked for where there is an evaluation."""
    if kind is NeverGreedy:
        check_agent(kind(), CARTPOLE.spec, plays_greedily=False)
    with pytest.raises(ConfigError, match=f"^{told}"):
        ks.train(kind(), "CartPole-v1", steps=400, out="", progress=False)


def test_candidates_and_a_first_state_may_be_arrays_of_numpy():
    class Plain(Search):
        def init(self, spec, key):
            return {"w": np.zeros(4), "n": np.int64(0)}

        def ask(self, state, key):
            return np.eye(4, dtype=np.float32), state

    run = ks.train(Plain(), "CartPole-v1", steps=80, out="", progress=False, eval_episodes=0)
    assert run.record.facts["status"] == "finished"


def branching(usual: Any) -> Any:
    """The usual, after a look at whether its first number is positive."""
    if jnp.ravel(jax.tree.leaves(usual)[0])[0] > 0:
        return usual
    return jax.tree.map(jnp.negative, usual)


@pytest.mark.parametrize(
    ("part", "method"),
    [("init", "init"), ("ask", "ask"), ("policy", "policy"), ("shared", "shared"), ("statistics", "statistics")],
)
def test_a_branch_on_what_is_not_known_is_told_of_each_method_of_a_population(part, method):
    class Branching(Search):
        def policy(self, state, candidate):
            return self.changed("policy", candidate)

        def shared(self, state):
            return self.changed("shared", state["w"])

        def statistics(self, state):
            return branching(state["w"]) if self.part == "statistics" else None

    told = f"^agent: got 'Branching'; {method}: a value that is not known before it runs decides what Python does"
    with pytest.raises(ConfigError, match=told):
        check_agent(Branching(part=part, made=branching), CARTPOLE.spec)


class ActsByBranch(Search):
    @staticmethod
    def act_by(policy, shared, obs):
        return jnp.int32(obs[0] > 0) if obs[0] > 0 else jnp.int32(0)


class AsksAlone(Search):
    def ask(self, state):
        return jnp.zeros((4, 4)), state


def test_how_a_population_acts_and_is_asked_is_looked_at():
    with pytest.raises(ConfigError, match=r"^agent: got 'ActsByBranch'; act_by: a value that is not known"):
        check_agent(ActsByBranch(), CARTPOLE.spec)
    with pytest.raises(ConfigError, match=r"^AsksAlone.ask: got .*; use a function of \(state, key\)"):
        check_agent(AsksAlone(), CARTPOLE.spec)


class Told(EvolutionStrategy):
    """A strategy of one's own, which tells something else."""

    made: Any = eqx.field(static=True, default=None)
    candidates = property(lambda self: 3)
    starts = property(lambda self: 3)

    def begin_search(self, mean, key):
        return ()

    def ask(self, state, key):
        mean = parameters(state.policy)
        return mean[None] + jax.random.normal(key, (3, mean.size), jnp.float32), state

    def tell(self, state, candidates, fitness, key):
        return self.made(candidates[jnp.argmax(fitness)])


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda mean: (mean, ()), "Told.tell: got a tuple of 2; return three things: the mean, what is kept"),
        (lambda mean: (mean[None], (), {}), r"Told.tell's mean: got float32\[1, \d+\]; it has \d+ numbers"),
        (lambda mean: (mean[1:], (), {}), r"Told.tell's mean: got float32\[\d+\]; it has \d+ numbers"),
        (lambda mean: (mean, (), None), "metrics: got None; an update returns a dict of scalars"),
    ],
)
def test_what_a_strategy_tells_is_looked_at(made, told):
    with pytest.raises(ConfigError, match=f"^{told}"):
        check_agent_numbers(Told(made=made).for_env(CARTPOLE.spec), CARTPOLE, Recording())


class Gradients(ks.Agent):
    """A linear policy that learns from derivatives; `part` of it gives something else."""

    part: str = eqx.field(static=True, default="")
    made: Any = eqx.field(static=True, default=None)

    @property
    def learns_from(self) -> DifferentiatedRollouts:
        return DifferentiatedRollouts(num_envs=2, num_steps=4)

    def init(self, spec, key):
        return {"w": jnp.zeros(3), "n": jnp.int32(0)}

    def act(self, state, obs, carry, key, *, greedy=False):
        return self.changed("act", (obs @ state["w"])[None]), carry, None

    def parameters(self, state):
        return self.changed("parameters", state["w"])

    def with_parameters(self, state, parameters):
        return self.changed("with_parameters", state | {"w": parameters})

    def rollout_loss(self, state, rollout, axis):
        return self.changed("rollout_loss", (-jnp.mean(rollout.reward), {}))

    def update(self, state, data, key, *, axis=None):
        return state | {"w": state["w"] - 0.01 * data.gradient, "n": state["n"] + 1}, {}

    def changed(self, where: str, usual: Any) -> Any:
        return self.made(usual) if where == self.part else usual


ODD_GRADIENTS = {
    "whole numbers": (
        "parameters",
        lambda w: {"w": w, "n": jnp.int32(1)},
        "Gradients.parameters: got .*floating point",
    ),
    "other state": ("with_parameters", lambda s: s["w"], "Gradients.with_parameters: got 'a state with itself"),
    "loss alone": (
        "rollout_loss",
        lambda made: made[0],
        r"Gradients.rollout_loss: got float32\[\]; return two things",
    ),
    "losses": (
        "rollout_loss",
        lambda m: (m[0][None], {}),
        r"Gradients.rollout_loss: got float32\[1\]; give one float",
    ),
    "whole loss": (
        "rollout_loss",
        lambda m: (jnp.int32(1), {}),
        r"Gradients.rollout_loss: got int32\[\]; give one float",
    ),
    "word": ("rollout_loss", lambda m: (m[0], {"s": "word"}), r"Gradients.rollout_loss: got \"a state with \['s'\]"),
    "constant": (
        "rollout_loss",
        lambda m: (jnp.float32(1), {}),
        "agent: got 'Gradients'; no reward .*; or its own `act`",
    ),
    "rounded": ("act", jnp.round, "agent: got 'Gradients'; no reward .*; or its own `act`"),
    "stopped": ("act", jax.lax.stop_gradient, "agent: got 'Gradients'; no reward .*; or its own `act`"),
}


def looked_at(agent: Gradients) -> None:
    check_agent(agent, PENDULUM.spec)
    check_agent_numbers(agent, PENDULUM, Recording())


@pytest.mark.parametrize(("part", "made", "told"), ODD_GRADIENTS.values(), ids=ODD_GRADIENTS)
def test_what_an_agent_of_derivatives_gives_is_looked_at(part, made, told):
    agent = Gradients(part=part, made=made)
    with pytest.raises(ConfigError, match=f"^{told}"):
        looked_at(agent)


@pytest.mark.parametrize("part", ["init", "parameters", "with_parameters", "rollout_loss"])
def test_a_branch_on_what_is_not_known_is_told_of_each_method_of_derivatives(part):
    class Branching(Gradients):
        def init(self, spec, key):
            return self.changed("init", super().init(spec, key))

    told = "a value that is not known before it runs decides what Python does"
    method = "" if part == "rollout_loss" else f"{part}: "
    with pytest.raises(ConfigError, match=f"^agent: got 'Branching'; {method}{told}"):
        looked_at(Branching(part=part, made=branching))


class LosesBy(Gradients):
    def rollout_loss(self, state, rollout):
        return jnp.float32(0), {}


def test_what_derivatives_are_taken_of_is_called_with_three_things():
    with pytest.raises(ConfigError, match=r"^LosesBy.rollout_loss: got .*; use a function of \(state, rollout, axis\)"):
        looked_at(LosesBy())


def test_agents_that_are_right_are_let_through():
    for agent, env in ((Search(), CARTPOLE), (Gradients(), PENDULUM)):
        check_agent(agent, env.spec)
        check_agent_numbers(agent, env, Recording())


class Copying(ks.Agent):
    """An agent of one's own that learns from recorded data under a name of its own."""

    data: Any = eqx.field(static=True, default=None)

    @property
    def learns_from(self) -> Offline:
        return Offline(self.data, batch_size=8)

    def init(self, spec, key):
        return jnp.zeros((spec.observation_space.n, spec.action_space.n))

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.argmax(state[obs]).astype(jnp.int32), carry, None

    def update(self, state, data, key, *, axis=None):
        batch = data.transitions
        return state.at[batch.obs, batch.action].add(1.0), {}


def chain(count: int, reward: float = 0.0, states: int = 16) -> ks.Dataset:
    """Transitions of FrozenLake's spaces, each an episode of its own."""
    obs, ends = np.arange(count) % states, np.ones(count, bool)
    space = ks.Discrete(states)
    return ks.Dataset(obs, obs % 4, np.full(count, reward), ends, ~ends, (obs + 5) % states, space, ks.Discrete(4))


def test_data_of_another_environment_are_refused_for_agents_of_ones_own_too():
    with pytest.raises(
        ConfigError, match=r"dataset's observation space: got Discrete\(n=16\); the environment has Disc"
    ):
        ks.train(Copying(chain(40)), "GridWorld-v0", steps=50, out="", progress=False)


def test_a_run_of_an_own_agent_goes_on_with_the_same_data_only(tmp_path):
    folder = str(tmp_path / "run")
    agent = Copying(chain(40))
    run = ks.train(agent, "FrozenLake-v1", steps=50, out=folder, progress=False, eval_episodes=0)
    assert run.record.config["data"]["hash"] == agent.data.hash
    with pytest.raises(
        ConfigError, match=r"agent's data set: got '\w+'; the run learned from 40 transitions|agent's data"
    ):
        ks.resume(folder, steps=100, agent=Copying(chain(40, reward=1.0)))
    assert ks.resume(folder, steps=100, agent=Copying(chain(40))).record.facts["steps"] == 100


def test_visits_are_not_counted_of_recorded_data():
    told = "record: 'visits' are not counted: Copying learns from Offline, which tells no single steps"
    with pytest.warns(RunWarning, match=told):
        ks.train(Copying(chain(40)), "FrozenLake-v1", steps=50, out="", record=["visits"], eval_episodes=0)


def test_settings_are_not_ranked_by_the_rewards_of_the_data():
    run = ks.train(Copying(chain(40)), "FrozenLake-v1", steps=50, seeds=2, out="", progress=False, eval_episodes=0)
    assert run.record.of_recorded_data
    assert "Reward per step" not in run._repr_html_()
