"""Agents that a user writes, one of each kind, and a collector of one's own: `train` needs nothing else of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rollouts import Recall
from smooth import Track

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.core.collector import Steps
from kousoku.training.io import checkpoints


class SoftmaxQ(ks.Agent):
    """Learns online: a table of values, and actions drawn by their softmax."""

    learns_from: ks.Online = ks.Online()
    learning_rate: float = 0.5
    temperature: float = 0.1

    def init(self, spec, key):
        return jnp.zeros((spec.observation_space.n, spec.action_space.n))

    def act(self, state, obs, carry, key, *, greedy=False):
        logits = state[obs] / self.temperature
        action = jnp.argmax(logits) if greedy else jax.random.categorical(key, logits)
        return action.astype(jnp.int32), carry, None

    def update(self, state, data, key, *, axis=None):
        follows = jnp.where(data.terminated, 0.0, 0.9 * state[data.next_obs].max())
        error = data.reward + follows - state[data.obs, data.action]
        learned = state.at[data.obs, data.action].add(self.learning_rate * error)
        return learned, {"td_error": error, "largest_value": learned.max()}


class Reinforce(ks.Agent):
    """Learns from rollouts: a linear policy, moved along log pi times the return that followed."""

    learns_from: ks.Rollouts = ks.Rollouts(num_envs=4, num_steps=16)
    learning_rate: float = 0.05
    discount: float = 0.95

    def init(self, spec, key):
        return jnp.zeros((*spec.observation_space.shape, spec.action_space.n))

    def act(self, state, obs, carry, key, *, greedy=False):
        logits = obs @ state
        action = jnp.argmax(logits) if greedy else jax.random.categorical(key, logits)
        return action.astype(jnp.int32), carry, None

    def update(self, state, data, key, *, axis=None):
        def back(later, now):
            reward, ended = now
            total = reward + self.discount * jnp.where(ended, 0.0, later)
            return total, total

        ended = data.terminated | data.truncated
        _, returns = jax.lax.scan(back, jnp.zeros(4), (data.reward, ended), reverse=True)

        def loss(weights):
            chances = jax.nn.log_softmax(data.obs @ weights)
            chosen = jnp.take_along_axis(chances, data.action[..., None], axis=-1)[..., 0]
            return -jnp.mean(chosen * (returns - returns.mean()))

        value, gradient = jax.value_and_grad(loss)(state)
        return state - self.learning_rate * gradient, {"policy_loss": value, "return_ahead": returns.mean()}


class Weights(eqx.Module):
    online: jax.Array
    target: jax.Array


class LinearQ(ks.Agent):
    """Learns from a replay buffer: values linear in the observation, and a target that follows slowly."""

    learns_from: ks.Replay = ks.Replay(
        num_envs=2, num_steps=4, capacity=64, batch_size=8, gradient_steps=3, learning_starts=32
    )
    learning_rate: float = 0.01
    epsilon: float = 0.2

    def init(self, spec, key):
        zeros = jnp.zeros((*spec.observation_space.shape, spec.action_space.n))
        return Weights(zeros, zeros)

    def act(self, state, obs, carry, key, *, greedy=False):
        best = jnp.argmax(obs @ state.online).astype(jnp.int32)
        coin, other = jax.random.split(key)
        random = jax.random.randint(other, (), 0, 2, jnp.int32)
        explores = jax.random.uniform(coin) < (0.0 if greedy else self.epsilon)
        return jnp.where(explores, random, best), carry, None

    def update(self, state, data, key, *, axis=None):
        made = data.transitions
        follows = jnp.where(made.terminated, 0.0, 0.9 * (made.next_obs @ state.target).max(axis=1))

        def loss(weights):
            values = jnp.take_along_axis(made.obs @ weights, made.action[:, None], axis=1)[:, 0]
            return jnp.mean((values - made.reward - follows) ** 2)

        value, gradient = jax.value_and_grad(loss)(state.online)
        online = state.online - self.learning_rate * gradient
        target = 0.9 * state.target + 0.1 * online
        return Weights(online, target), {"value_loss": value, "steps_taken": data.steps}


class Rememberer(ks.Agent):
    """Learns online with a carry: what it saw first in an episode; its values are of that and of what it sees now."""

    learns_from: ks.Online = ks.Online()
    learning_rate: float = 0.2

    def init(self, spec, key):
        seen = spec.observation_space.n
        return jnp.zeros((seen + 1, seen, spec.action_space.n))

    def initial_carry(self, state):
        return jnp.int32(state.shape[1])

    def act(self, state, obs, carry, key, *, greedy=False):
        first = jnp.where(carry == state.shape[1], obs, carry)
        best = jnp.argmax(state[first, obs]).astype(jnp.int32)
        coin, other = jax.random.split(key)
        random = jax.random.randint(other, (), 0, state.shape[2], jnp.int32)
        explores = jax.random.uniform(coin) < (0.0 if greedy else 0.3)
        return jnp.where(explores, random, best), first, first

    def update(self, state, data, key, *, axis=None):
        first = data.extras
        follows = jnp.where(data.terminated, 0.0, state[first, data.next_obs].max())
        error = data.reward + follows - state[first, data.obs, data.action]
        return state.at[first, data.obs, data.action].add(self.learning_rate * error), {"td_error": error}


class InPairs(ks.Collector):
    """Two steps of three environments, and an update after each of the two: no code of the library knows of it."""

    num_envs: int = eqx.field(static=True, default=3)
    num_steps: int = eqx.field(static=True, default=2)
    gradient_samples = 3

    def num_devices(self, available):
        return 1

    def init(self, agent, agent_state, slots, key):
        return jax.vmap(slots.begin)(jax.random.split(jax.random.fold_in(key, 1), 3)), (), jnp.zeros(3)

    def keys(self, key, iteration, num_slots, axis):
        key = jax.random.fold_in(jax.random.fold_in(key, 2), iteration)
        return jax.random.split(key, (2, 2, num_slots))

    def collect(self, agent, slots, state, keys, axis):
        slot, seen = state.slots, []
        for act_keys, env_keys in keys:
            action, _, _ = jax.vmap(lambda obs, key: agent.act(state.agent, obs, (), key))(slot.obs, act_keys)
            slot, made, end = jax.vmap(slots.advance)(slot, action, env_keys)
            seen.append((made, end))
        made, end = jax.tree.map(lambda a, b: jnp.stack([a, b]), *seen)
        total = state.data + made.reward.sum(axis=0)
        steps = Steps(made.obs, made.action, made.reward, made.info, end)
        return ks.TrainState(state.agent, slot, (), total, state.metrics), made, steps

    def learn(self, agent, state, data, keys, axis):
        sums = {"error": jnp.float32(0), "one": jnp.float32(0)}
        learned = state.agent
        for t in range(2):
            learned, metrics = agent.update(learned, jax.tree.map(lambda x, t=t: x[t], data), keys[t, 0, 0])
            sums = {name: sums[name] + metrics[name] for name in sums}
        return ks.TrainState(learned, state.slots, (), state.data, state.metrics), sums, jnp.int32(2)


class OfThree(SoftmaxQ):
    """Learns from three transitions at a time, which `InPairs` gathers."""

    learns_from: ks.Collector = InPairs()

    def update(self, state, data, key, *, axis=None):
        follows = jnp.where(data.terminated, 0.0, 0.9 * state[data.next_obs].max(axis=1))
        error = data.reward + follows - state[data.obs, data.action]
        learned = state.at[data.obs, data.action].add(self.learning_rate * error / 3)
        return learned, {"error": jnp.abs(error).mean(), "one": jnp.float32(1)}


class HillClimber(ks.Agent):
    """Learns from generations: the best of eight linear policies about the last one, all from the same start."""

    learns_from: ks.Generations = ks.Generations(population_size=8, num_envs=4, max_episode_steps=6, starts=1)
    noise_std: float = 0.3

    def init(self, spec, key):
        return jnp.zeros(spec.observation_space.shape)

    def act(self, state, obs, carry, key, *, greedy=False):
        return self.act_by(state, (), obs), carry, None

    @staticmethod
    def act_by(policy, shared, obs):
        return (obs @ policy > 0).astype(jnp.int32)

    def ask(self, state, key):
        return state[None] + self.noise_std * jax.random.normal(key, (8, *state.shape)), state

    def policy(self, state, candidate):
        return candidate

    def shared(self, state):
        return ()

    def statistics(self, state):
        return None

    def update(self, state, data, key, *, axis=None):
        best = jnp.argmax(data.episode_return)
        return data.candidates[best], {"best_return": data.episode_return[best]}


class Downhill(ks.Agent):
    """Learns from differentiated rollouts: a linear controller, moved along the gradient of its rewards."""

    learns_from: ks.DifferentiatedRollouts = ks.DifferentiatedRollouts(num_envs=4, num_steps=12)
    learning_rate: float = 0.1

    def init(self, spec, key):
        return jnp.zeros(spec.observation_space.shape)

    def act(self, state, obs, carry, key, *, greedy=False):
        return (obs @ state)[None], carry, None

    def parameters(self, state):
        return state

    def with_parameters(self, state, parameters):
        return parameters

    def rollout_loss(self, state, rollout, axis):
        return -rollout.reward.mean(), rollout.reward.min()

    def update(self, state, data, key, *, axis=None):
        return state - self.learning_rate * data.gradient, {"worst_reward": data.aux}


SEEN, DONE = np.random.default_rng(0).integers(0, [[48], [4]], (2, 65), dtype=np.int32)
CUT = np.arange(64) == 63
RECORDED = ks.Dataset(
    SEEN[:-1], DONE[1:], -np.ones(64, np.float32), np.zeros(64, bool), CUT, SEEN[1:], ks.Discrete(48), ks.Discrete(4),
    "CliffWalking-v1",
)  # fmt: skip


class Copier(ks.Agent):
    """Learns from a data set: how often which action was done, and does the one that was done most."""

    learns_from: ks.Offline = ks.Offline(RECORDED, batch_size=16, num_steps=8)
    learning_rate: float = 0.1

    def init(self, spec, key):
        return jnp.zeros((spec.observation_space.n, spec.action_space.n))

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.argmax(state[obs]).astype(jnp.int32), carry, None

    def update(self, state, data, key, *, axis=None):
        done = jax.nn.one_hot(data.transitions.action, 4)
        wrong = done - state[data.transitions.obs]
        learned = state.at[data.transitions.obs].add(self.learning_rate * wrong)
        return learned, {"error": jnp.abs(wrong).mean(), "gradient_steps_before": data.steps}


KINDS = {
    "online": (SoftmaxQ(), "CliffWalking-v1", "temperature", {"td_error", "largest_value"}),
    "rollouts": (Reinforce(), "CartPole-v1", "discount", {"policy_loss", "return_ahead"}),
    "replay": (LinearQ(), "CartPole-v1", "epsilon", {"value_loss", "steps_taken"}),
    "online with a carry": (Rememberer(), Recall(), "learning_rate", {"td_error"}),
    "generations": (HillClimber(), "CartPole-v1", "noise_std", {"best_return"}),
    "differentiated rollouts": (Downhill(), Track(time_limit=8), "learning_rate", {"worst_reward"}),
    "a data set": (Copier(), "CliffWalking-v1", "learning_rate", {"error", "gradient_steps_before"}),
    "a collector of one's own": (OfThree(), "CliffWalking-v1", "temperature", {"error", "one"}),
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request, tmp_path_factory):
    """Two seeds of two sweep points: (folder, agent and environment, or None for one by id, metrics)."""
    agent, env, swept, metrics = KINDS[request.param]
    folder = tmp_path_factory.mktemp("user") / "whole"
    ks.train(agent, env, steps=768, out=str(folder), **asked_of(swept))
    return folder, {"agent": agent, "env": None if isinstance(env, str) else env}, metrics


def asked_of(swept):
    return {
        "seeds": 2, "sweep": {swept: [0.1, 0.5]}, "record_every": 192, "checkpoint_every": 192, "eval_episodes": 2,
        "progress": False,
    }  # fmt: skip


@pytest.mark.full("covered")
def test_it_goes_on_as_if_it_had_never_stopped(trained, request):
    folder, given, _ = trained
    agent, env, swept, _ = KINDS[request.node.callspec.params["trained"]]
    ks.train(agent, env, steps=384, out="parts", **asked_of(swept))
    ks.resume("parts", steps=768, **given)
    whole, parts = (ks.load(name, **given) for name in (folder, "parts"))
    assert parts.record.facts["resumed_at"] == [384]
    assert whole.curves.keys() == parts.curves.keys()
    for name in set(whole.curves) - {"seconds"}:
        np.testing.assert_array_equal(parts.curves[name], whole.curves[name], err_msg=name)
    np.testing.assert_array_equal(parts.record.evaluation["return"], whole.record.evaluation["return"])
    ends = [checkpoints.newest(Path(name)) for name in (folder, "parts")]
    assert ends[0].paths == ends[1].paths
    for path, one, two in zip(ends[0].paths, ends[0].leaves, ends[1].leaves, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=path)


@pytest.mark.by_default("replay")
@pytest.mark.slow_because("each kind of agent is trained once for all tests of it")
def test_its_metrics_are_curves_under_their_names(trained):
    folder, given, metrics = trained
    run = ks.load(folder, **given)
    assert set(run.curves) == {"step", "seconds", "episodes", "return", "length", "reward"} | metrics
    for name in metrics:
        assert run.curves[name].shape == (4, 4)
        assert np.isfinite(run.curves[name]).all()
    if "td_error" in metrics:
        assert (run.curves["td_error"] > 0).all(), "a mean of absolute values"
    if "one" in metrics:
        assert (run.curves["one"] == 1).all(), "a mean over updates, two an iteration"
    if "worst_reward" in metrics:
        assert (run.curves["worst_reward"][-1, 2:] > run.curves["worst_reward"][0, 2:]).all(), "of the faster ones"
    if "steps_taken" in metrics:
        assert (run.curves["steps_taken"][0] == np.arange(32, 193, 8).mean()).all(), "nothing is learned before"


@pytest.mark.full("covered")
def test_it_is_evaluated_and_becomes_a_policy(trained):
    folder, given, _ = trained
    assert ks.evaluate(folder, 3, **given).returns.shape == (4, 3)
    policy = ks.load_policy(folder, member=1, **given)
    obs = np.zeros(policy.spec.observation_space.shape, policy.spec.observation_space.dtype)
    action, carry = policy.step(obs, policy.initial_carry())
    assert policy.spec.action_space.contains(action)
    assert policy.recurrent == (len(carry) > 0) == isinstance(given["agent"], Rememberer)


@pytest.mark.full("covered")
def test_what_a_carry_holds_is_used():
    """The cue that is asked for three steps later: 1 with a memory, 0 without."""
    run = ks.train(Rememberer(), Recall(), steps=4000, seeds=2, eval_episodes=0, out="")
    assert (run.evaluate(20).returns == 1.0).all()
    policy = run.policy(0)
    for cue in (0, 1):
        carry = policy.initial_carry()
        for obs in (cue, 2, 2, 3):
            action, carry = policy.step(obs, carry)
        assert action == cue


class Telling(SoftmaxQ):
    """Tells what it is asked to tell."""

    name: str = eqx.field(static=True, default="x")
    scalar: bool = eqx.field(static=True, default=True)

    def update(self, state, data, key, *, axis=None):
        learned, _ = super().update(state, data, key, axis=axis)
        return learned, {self.name: learned.max() if self.scalar else learned.max(axis=1)}


class Returning(SoftmaxQ):
    """Returns from an update what a function makes of the new state and an error."""

    returned: Callable = eqx.field(static=True, kw_only=True)

    def update(self, state, data, key, *, axis=None):
        learned, metrics = super().update(state, data, key, axis=axis)
        return self.returned(learned, metrics["td_error"])


class ReturningOfMany(LinearQ):
    """The same of minibatches."""

    returned: Callable = eqx.field(static=True, kw_only=True)

    def update(self, state, data, key, *, axis=None):
        return self.returned(state, jnp.float32(0))


class Constant(SoftmaxQ):
    """Tells numbers of Python's and of other kinds."""

    def update(self, state, data, key, *, axis=None):
        learned, _ = super().update(state, data, key, axis=axis)
        many = {"many": 3_000_000_000, "numpy": np.int64(-(2**40)), "largest": 2**31 - 1}
        return learned, {"half": 0.5, "whole": jnp.int32(3), "flag": data.terminated | True} | many


def test_metrics_may_be_scalars_of_any_kind():
    run = ks.train(Constant(), "FrozenLake-v1", steps=100, seeds=2, record_every=50, eval_episodes=0, out="")
    assert (run.curves["half"] == 0.5).all()
    assert (run.curves["whole"] == 3).all()
    assert (run.curves["flag"] == 1).all()
    for name, number in {"many": 3e9, "numpy": -(2.0**40), "largest": 2.0**31}.items():
        np.testing.assert_allclose(run.curves[name], number, rtol=1e-6)


@pytest.mark.parametrize(
    ("agent", "refusal"),
    [
        (Telling(name="reward"), r"^name of a metric: got 'reward'; training records .*reward.* itself; rename it"),
        (Telling(name="value_bias"), r"^name of a metric: got 'value_bias'; training records .* itself; rename it"),
        (
            Telling(name="reward_per_episode"),
            r"^name of a metric: got 'reward_per_episode'; training records .* itself",
        ),
        (Telling(name="\ud800"), r"^name of a metric: got .*; use a text"),
        (Telling(name="episodes"), r"^name of a metric: got 'episodes'; .*; rename it"),
        (Telling(name="step"), r"^name of a metric: got 'step'; .*; rename it"),
        (
            Telling(name="info.x"),
            r"^name of a metric: got 'info.x'; training records the environment's info under info.NAME",
        ),
        (Telling(scalar=False), r"^metric 'x': got \[16\]; an update returns scalars; take a mean"),
    ],
)
def test_a_metric_that_cannot_be_recorded_is_one_line(agent, refusal):
    assert_refused(agent, "FrozenLake-v1", refusal)


def assert_refused(agent, env, refusal):
    with pytest.raises(ks.ConfigError, match=refusal) as caught:
        ks.train(agent, env, steps=100, out="run")
    assert "\n" not in str(caught.value)
    assert not Path("run").exists()


RETURNED = {
    "no metrics": (lambda state, e: (state, None), r"^metrics: got None; an update returns a dict of scalars"),
    "a tuple": (lambda state, e: (state, (e, e)), r"^metrics: got a tuple of 2; an update returns a dict"),
    "an array": (lambda state, e: (state, e), r"^metrics: got float32\[\]; an update returns a dict"),
    "a nested dict": (lambda state, e: (state, {"x": {"y": e}}), r"^metric 'x': got a dict of 'y'; .* dict of scalars"),
    "a list in it": (lambda state, e: (state, {"x": [e]}), r"^metric 'x': got a list of 1; .* dict of scalars"),
    "text in it": (lambda state, e: (state, {"x": "high"}), r"^metric 'x': got a str; .* dict of scalars"),
    "None in it": (lambda state, e: (state, {"none": None}), r"^metric 'none': got None; .* dict of scalars"),
    "a number as name": (lambda state, e: (state, {1: e}), r"^name of a metric: got 1; use a text"),
    "names of two kinds": (lambda state, e: (state, {"x": e, 1: e}), r"^name of a metric: got 1; use a text"),
    "a complex number": (
        lambda state, e: (state, {"x": jax.lax.complex(e, e)}),
        r"^metric 'x': got 'complex64'; only real numbers",
    ),
    "one of Python's": (lambda state, e: (state, {"x": 1j}), r"^metric 'x': got 'complex64'; only real numbers"),
    "a key": (lambda state, e: (state, {"x": jax.random.key(0)}), r"^metric 'x': got 'key<\w+>'; only real numbers"),
    "the state alone": (
        lambda state, e: state,
        r"update: got (float32\[16, 4\]|a Weights); return the new state, and a dict of scalars",
    ),
    "three things": (lambda state, e: (state, {}, e), r"update: got a tuple of 3; return the new state, and a dict"),
    "nothing": (lambda state, e: None, r"update: got None; return the new state, and a dict of scalars"),
}


@pytest.mark.parametrize("what", RETURNED)
def test_what_an_update_returns_in_place_of_metrics_is_one_line(what):
    returned, refusal = RETURNED[what]
    assert_refused(Returning(returned=returned), "FrozenLake-v1", refusal)


@pytest.mark.by_default("no metrics", "names of two kinds", "the state alone")
@pytest.mark.parametrize("what", RETURNED)
def test_so_it_is_of_an_agent_that_learns_from_minibatches(what):
    returned, refusal = RETURNED[what]
    assert_refused(ReturningOfMany(returned=returned), "CartPole-v1", refusal)


@pytest.mark.full("covered")
def test_an_agent_that_is_registered_is_made_again_by_its_id(monkeypatch):
    monkeypatch.setattr(AGENTS, "_entries", dict(AGENTS._entries))
    ks.register_agent("test_softmax_q", SoftmaxQ)
    ks.train("test_softmax_q", "FrozenLake-v1", steps=200, seeds=2, eval_episodes=0, out="run")
    assert ks.resume("run", steps=300).record.facts["steps"] == 300
    assert ks.load_policy("run", 0)(np.arange(16)).shape == (16,)


class Odd(SoftmaxQ):
    """An agent whose answers are not what they should be."""

    answer: str = eqx.field(static=True, default="fine")

    def act(self, state, obs, carry, key, *, greedy=False):
        action, carry, extras = super().act(state, obs, carry, key, greedy=greedy)
        answers = {
            "fraction": (action.astype(jnp.float32), carry, extras),
            "vector": (action[None], carry, extras),
            "two": (action, carry),
            "alone": action,
            "carry": (action, jnp.zeros(2), extras),
            "no carry": (action, None, extras),
        }
        return answers.get(self.answer, (action, carry, extras))

    def update(self, state, data, key, *, axis=None):
        learned, metrics = super().update(state, data, key, axis=axis)
        states = {"shape": learned[0], "dtype": learned.astype(jnp.float16), "tree": {"table": learned}}
        return states.get(self.answer, learned), metrics


@pytest.mark.parametrize(
    ("answer", "told"),
    {
        "fraction": "Odd.act: got float32[]; it should give an action of Discrete(n=4)",
        "vector": "Odd.act: got int32[1]; it should give an action of Discrete(n=4)",
        "two": "Odd.act: got a tuple of 2; return three things",
        "alone": "return three things: the action, what is carried on, and extras or None",
        "carry": "Odd.act's carry: got float32[2]; carry on what is like `initial_carry`: ()",
        "no carry": "Odd.act's carry: got None",
        "shape": "got 'a state with itself float32[4]'; return one like the one given, with itself float32[",
        "dtype": "Odd.update: got 'a state with itself float16[",
        "tree": "Odd.update: got \"a state with ['table'] float32[",
    }.items(),
)
def test_what_an_own_agent_answers_is_looked_at(answer, told, tmp_path):
    with pytest.raises(ks.ConfigError) as caught:
        ks.train(Odd(answer=answer), "GridWorld-v0", steps=20, out=str(tmp_path / "run"), progress=False)
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_training_while_jax_traces_is_refused():
    with pytest.raises(ks.ConfigError, match=r"call it outside of jax\.jit"):
        jax.jit(lambda: ks.train("q_learning", "GridWorld-v0", steps=20, out="", progress=False).q_values)()


class Layered(Odd):
    """An agent that uses a number of it where Python has to know it."""

    layers: int = 2
    rate: float = 0.5
    use: str = eqx.field(static=True, default="")
    held: Any = None

    def update(self, state, data, key, *, axis=None):
        learned, metrics = super().update(state, data, key, axis=axis)
        if self.use == "range":
            learned = sum((learned for _ in range(self.layers)), 0 * learned) / 2
        elif self.use == "if" and self.rate > 0.25:
            learned = 1.0 * learned
        elif self.use == "shape":
            learned = learned + jnp.zeros(self.layers).sum()
        return learned, metrics


@pytest.mark.parametrize(("use", "named"), [("range", "layers"), ("if", "rate"), ("shape", "layers")])
def test_a_number_of_an_agent_that_python_has_to_know_is_named(use, named):
    told = f"agent: got 'Layered'; {named} decides what Python does"
    with pytest.raises(ks.ConfigError, match=told):
        ks.train(Layered(use=use), "GridWorld-v0", steps=10, out="", progress=False)


@pytest.mark.parametrize("held", [{1, 2}, np.array(["a"]), jnp.arange(2)], ids=["set", "text", "whole numbers"])
def test_a_field_of_an_agent_that_no_program_can_be_known_by_is_named(held):
    with pytest.raises(ks.ConfigError, match=r"agent: got 'Layered'; held is an? "):
        ks.train(Layered(held=held), "GridWorld-v0", steps=10, out="", progress=False)


def test_truth_values_of_several_agents_do_not_say_whether_to_stop():
    with pytest.raises(ks.ConfigError, match=r"on_report: got 'truth values \[2\]'; return True or False: put all"):
        ks.train(
            "q_learning",
            "GridWorld-v0",
            steps=100,
            seeds=2,
            out="",
            on_report=lambda report: report.members["reward"] > -9,
        )
