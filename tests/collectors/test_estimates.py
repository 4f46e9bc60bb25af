"""What an agent expected beside what followed: sums of episodes against returns that are added up one by one."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.collectors.estimates import EVERY, UNSEEN, RunningEstimates, add_steps, compare, counted_states
from kousoku.core.agent import Estimate
from kousoku.core.collector import EpisodeEnd, EstimateSums
from kousoku.core.timestep import Transition

SLOTS, STEPS = 3, 60


def steps_of(rng):
    """Steps of three slots, whose episodes end at any time, terminated, truncated, or both."""
    reward, value, bonus = (rng.normal(size=(STEPS, SLOTS)).astype(np.float32) for _ in range(3))
    terminated, truncated, counts = (rng.random((STEPS, SLOTS)) < share for share in (0.1, 0.1, 0.7))
    return reward, value, bonus, terminated, truncated, counts


def transitions(reward, terminated, truncated):
    one = lambda *flags: Transition(jnp.zeros(1), jnp.int32(0), *flags, jnp.zeros(1))  # noqa: E731
    return jax.vmap(jax.vmap(one))(*map(jnp.asarray, (reward, terminated, truncated)))


def episode_sums(rows, discount):
    """Sums of one episode in float64, return by return."""
    states = [t for t, row in enumerate(rows) if row["counts"]]
    followed = 0.0
    for t in states:
        for k in range(t, len(rows)):
            row = rows[k]
            cut = row["truncated"] and not row["terminated"]
            after = discount * row["value"] if cut else 0.0
            followed += discount ** (k - t) * (row["reward"] + after + (row["bonus"] if k > t else 0.0))
    return len(states), sum(rows[t]["value"] for t in states), followed


@pytest.mark.by_default("1-False-0.9", "1-False-1.0", "1-True-0.0", "1-True-0.9", "1-True-1.0")
@pytest.mark.parametrize("discount", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("bonus", [False, True])
@pytest.mark.parametrize("parts", [1, 4])
def test_sums_are_those_of_the_returns_one_by_one(discount, bonus, parts):
    """Also where the steps come in several iterations, with episodes that go on from one to the next."""
    reward, value, extra, terminated, truncated, counts = steps_of(np.random.default_rng(0))
    extra = extra if bonus else None
    ended = jnp.asarray(terminated | truncated)
    zeros = jnp.zeros(SLOTS)
    going, told = (
        RunningEstimates(EstimateSums(zeros, zeros, zeros, zeros), Estimate(zeros, zeros if bonus else None)),
        [],
    )
    for part in np.array_split(np.arange(STEPS), parts):
        estimates = Estimate(jnp.asarray(value[part]), None if extra is None else jnp.asarray(extra[part]))
        end = EpisodeEnd(ended[part], jnp.zeros((len(part), SLOTS)), jnp.ones((len(part), SLOTS), jnp.int32))
        made = transitions(reward[part], terminated[part], truncated[part])
        going, of_part = add_steps(going, estimates, made, end, jnp.asarray(counts[part]), discount)
        np.testing.assert_array_equal(going.latest.value, value[part][-1])
        told.append(of_part)
    told = jax.tree.map(lambda *parts: np.concatenate(parts), *told)
    names = ("reward", "value", "terminated", "truncated", "counts")
    columns = dict(zip(names, (reward, value, terminated, truncated, counts), strict=True))
    episodes = 0
    for slot in range(SLOTS):
        rows = []
        for t in range(STEPS):
            found = (told.states[t, slot], told.estimate[t, slot], told.followed[t, slot])
            rows.append({name: column[t, slot] for name, column in columns.items()})
            rows[-1]["bonus"] = 0.0 if extra is None else extra[t, slot]
            if terminated[t, slot] or truncated[t, slot]:
                np.testing.assert_allclose(found, episode_sums(rows, discount), rtol=1e-5, atol=1e-5)
                rows, episodes = [], episodes + 1
            else:
                assert found == (0.0, 0.0, 0.0)
    assert episodes > 20


@pytest.mark.full("covered")
def test_an_agent_is_asked_in_some_iterations_and_the_others_go_on_with_what_it_said():
    class Expecting:
        def estimate(self, state, obs, action):
            return Estimate(state + obs[0])

    zeros, no, yes = jnp.zeros(SLOTS), np.zeros((1, SLOTS), bool), jnp.ones((1, SLOTS), bool)
    going = RunningEstimates(EstimateSums(zeros, zeros, zeros, zeros), Estimate(zeros))
    end = EpisodeEnd(jnp.asarray(no), jnp.zeros((1, SLOTS)), jnp.ones((1, SLOTS), jnp.int32))
    made = transitions(np.ones((1, SLOTS), np.float32), no, no)
    for i in range(2 * EVERY):
        going, _ = compare(Expecting(), jnp.float32(10 + i), going, made, end, jnp.int32(i), yes, 1.0, 2.0)
        said = [20.0, 20.0 + 2.0 * EVERY][: 1 + i // EVERY]
        np.testing.assert_allclose(going.latest.value, said[-1])
        np.testing.assert_array_equal(going.sums.states, len(said))
        np.testing.assert_allclose(going.sums.estimate, sum(said))
        np.testing.assert_allclose(going.sums.followed, i + 1 + max(0, i + 1 - EVERY))


@pytest.mark.by_default("0.0-100", "0.99-200")
@pytest.mark.parametrize(("discount", "limit"), [(0.9, 200), (0.99, 1000), (0.99, 200), (1.0, 100), (0.0, 100)])
def test_states_with_too_little_time_left_do_not_count(discount, limit):
    length = jnp.arange(1, limit + 1, dtype=jnp.int32)[:, None]
    end = EpisodeEnd(jnp.zeros((limit, 1), bool), jnp.zeros((limit, 1)), length)
    counts = np.asarray(counted_states(end, limit, discount, jnp.array(True)))[:, 0]
    left = limit - np.arange(limit)
    needed = min(math.log(UNSEEN) / math.log(discount) if 0 < discount < 1 else math.inf if discount else 0, limit / 2)
    np.testing.assert_array_equal(counts, left >= needed)
    assert counts.sum() >= limit / 2
    assert not counted_states(end, limit, discount, jnp.array(False)).any()
    assert counted_states(end, None, discount, jnp.array(True)).all()


class Corridor(ks.Env):
    """Four steps, each worth 1; the observation counts them."""

    @property
    def time_limit(self):
        return None

    @property
    def observation_space(self):
        return ks.Box(0.0, 10.0, (1,))

    @property
    def action_space(self):
        return ks.Discrete(1)

    def reset(self, key):
        return jnp.float32(0.0), self._at(jnp.float32(0.0), jnp.float32(0.0))

    def step(self, key, state, action):
        return state + 1.0, self._at(state + 1.0, jnp.float32(1.0))

    def _at(self, state, reward):
        return ks.Timestep(state[None], reward, state >= 4.0, jnp.array(False))


class Known(eqx.Module):
    """Values that are too high by `error` everywhere."""

    error: jax.Array

    def __call__(self, obs):
        left = 4.0 - obs[0]
        return ((1.0 - 0.5**left) / 0.5 + self.error)[None]


def known(error):
    return lambda observations, actions, key: Known(jnp.float32(error))


@pytest.mark.full("covered")
@pytest.mark.parametrize("error", [0.0, 3.0])
def test_a_run_tells_how_far_the_values_are_too_high(error):
    """Of values that are known, and that a rate of nothing leaves alone."""
    options = {"num_envs": 4, "capacity": 400, "batch_size": 8, "learning_starts": 40, "learning_rate": 1e-30}
    agent = ks.make_agent("dqn", network=known(error), discount=0.5, **options)
    run = ks.train(agent, Corridor(), steps=400, out="", eval_episodes=0, progress=False)
    estimate, followed = (run.curves[name][:, 0] for name in ("value_estimate", "discounted_return"))
    told = np.isfinite(estimate)
    assert not told[: np.searchsorted(run.curves["step"], 40)].any()
    assert told[-2 * EVERY :].sum() > 1
    exact = {round((1 - 0.5**left) / 0.5, 4) for left in (4, 3, 2, 1)}  # a report tells of one state in each slot
    assert {round(float(value), 4) for value in followed[told]} == exact
    np.testing.assert_allclose(estimate[told] - followed[told], error, atol=1e-4)


@pytest.mark.full("covered")
def test_a_random_policys_values_hold_its_entropy_and_so_does_what_follows():
    """SAC's critics expect alpha times the entropy of later states beside rewards: without them it looks too high."""
    agent = ks.make_agent("sac", hidden=(8,), num_envs=4, learning_starts=40, batch_size=8, temperature=0.5)
    env = ks.make("Pendulum-v1")
    state = agent.init(env.spec, jax.random.key(0))
    obs, action = jnp.array([1.0, 0.0, 0.5]), jnp.array([0.3])
    found = agent.estimate(state, obs, action)
    values = [critic(obs, action / 2.0) for critic in state.network.critics]
    np.testing.assert_allclose(found.value, np.mean(values), rtol=1e-6)
    np.testing.assert_allclose(found.bonus, 0.5 * state.network.actor(obs).entropy(), rtol=1e-6)
    three = eqx.tree_at(lambda agent: agent.discount, ks.make_agent("sac", hidden=(8,), n_step=3), 0.9)
    share = three.estimate(state, obs, action).bonus / found.bonus
    np.testing.assert_allclose(share, 0.9**2 / (1 + 0.9 + 0.9**2), rtol=1e-6)


@pytest.mark.full("covered")
def test_values_that_are_not_of_rewards_alone_are_not_compared():
    env = ks.make("CartPole-v1")
    for options, compared in (({}, True), ({"munchausen": True}, False)):
        agent = ks.make_agent("dqn", num_envs=4, learning_starts=16, batch_size=8, **options)
        run = ks.train(agent, env, steps=400, out="", eval_episodes=0, progress=False)
        assert ("value_estimate" in run.curves) == compared
