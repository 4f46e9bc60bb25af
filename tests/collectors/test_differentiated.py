"""Differentiated rollouts: the gradient of what a window returns, with episodes that end in it."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from probes import Real, probes
from rollouts import fast_jit, learned, leaves_equal
from smooth import A, B, Gain, Jump, Linear, Q, R

from kousoku.collectors.differentiated import DifferentiatedRollouts
from kousoku.collectors.slot import kernel_slots, plain_slots
from kousoku.core.collector import TrainState
from kousoku.core.errors import ConfigError

KEY = jax.random.key(3)


@fast_jit
def begun(agent, env):
    first = agent.init(env.spec, KEY)
    return TrainState(first, *agent.learns_from.init(agent, first, kernel_slots(env), KEY), ())


def window(agent, env, state, iteration=0, slots=kernel_slots):
    """(state, data) of one iteration."""
    collector = agent.learns_from

    @fast_jit
    def collected(state):
        keys = collector.keys(KEY, jnp.int32(iteration), collector.num_envs, None)
        return collector.collect(agent, slots(env), state, keys, None)

    return collected(state)[:2]


def stretches(rollout):
    """(slot, first step, step after the last, whether nothing follows) of each stretch of an episode."""
    ended = np.asarray(rollout.terminated | rollout.truncated)
    for slot in range(ended.shape[1]):
        ends = [int(t) + 1 for t in np.flatnonzero(ended[:, slot])]
        bounds = sorted({0, *ends, len(ended)})
        for begin, end in itertools.pairwise(bounds):
            yield slot, begin, end, bool(rollout.terminated[end - 1, slot])


def loss_by_hand(agent, rollout, gain):
    """The loss in float64: every stretch played again from its first observation, with the same noise."""
    total, p = 0.0, np.zeros((2, 2)) if agent.terminal is None else np.asarray(agent.terminal)
    noise = np.asarray(rollout.extras, np.float64)
    for slot, begin, end, terminated in stretches(rollout):
        s = np.asarray(rollout.obs[begin, slot], np.float64)
        for t in range(begin, end):
            a = gain @ s + noise[t, slot]
            total += agent.discount ** (t - begin) * (s @ Q @ s + R * a * a)
            s = A @ s + B * a
        if not terminated:
            total += agent.discount ** (end - begin) * (s @ p @ s)
    return total


def slopes_by_hand(agent, rollout, gain, small=1e-6):
    """Finite differences of it."""
    return np.array(
        [(loss_by_hand(agent, rollout, gain + d) - loss_by_hand(agent, rollout, gain - d)) / (2 * small)
         for d in small * np.eye(2)]
    )  # fmt: skip


@pytest.mark.full("covered")
@pytest.mark.parametrize("again", [False, True], ids=["fresh starts", "starts that hang on the end before"])
@pytest.mark.parametrize(
    ("edge", "time_limit", "terminations", "truncations"),
    [(1e9, None, False, False), (1e9, 3, False, True), (0.3, None, True, False), (0.3, 3, True, True)],
)
def test_the_gradient_is_that_of_finite_differences(edge, time_limit, terminations, truncations, again):
    """Ends of both kinds in the window, a value after one kind only, and nothing that crosses a restart or a window."""
    agent = Gain(num_envs=8, num_steps=10, noise=0.5, terminal=((2.0, 0.3), (0.3, 1.0)))
    env = Linear(edge=edge, again=again, time_limit=time_limit)
    state = begun(agent, env)
    gain = np.asarray(state.agent["gain"], np.float64)
    ends = np.zeros(2, bool)
    for iteration in range(2):
        state, data = window(agent, env, state, iteration)
        rollout = data.rollout
        ends |= [bool(rollout.terminated.any()), bool(rollout.truncated.any())]
        np.testing.assert_allclose(data.gradient, slopes_by_hand(agent, rollout, gain), rtol=1e-4)
    assert ends.tolist() == [terminations, truncations]


@pytest.mark.full("covered")
def test_kernels_and_plain_jax_agree():
    agent, env = Gain(noise=0.5), Linear(edge=0.8, time_limit=5)
    state = begun(agent, env)
    (after, data), (plain_after, plain) = (window(agent, env, state, slots=s) for s in (kernel_slots, plain_slots))
    leaves_equal((after.slots, data), (plain_after.slots, plain), rtol=1e-5, atol=1e-5)


@pytest.mark.full("learning")
def test_the_gradient_is_zero_at_the_gain_of_riccati():
    """A positive control in closed form: with the value of the best policy at its end, a window of any length has the
    best gain of the endless problem, from any start; without, it has not.
    """
    discount = 0.9
    scaled = np.sqrt(discount)
    p = scipy.linalg.solve_discrete_are(scaled * A, scaled * B[:, None], Q, np.array([[R]]))
    best = -discount * (B @ p @ A) / (R + discount * B @ p @ B)
    told = tuple(map(tuple, p.tolist()))
    norms = {}
    for terminal in (told, None):
        for steps in (1, 4, 16):
            agent = Gain(num_steps=steps, terminal=terminal)
            state = begun(agent, Linear())
            at_best = TrainState(state.agent | {"gain": jnp.asarray(best, jnp.float32)}, state.slots, (), (), ())
            elsewhere, there = (window(agent, Linear(), s)[1].gradient for s in (state, at_best))
            norms[terminal is None, steps] = float(jnp.linalg.norm(there) / jnp.linalg.norm(elsewhere))
    assert all(norm < 1e-4 for (bare, _), norm in norms.items() if not bare), norms
    assert all(norm > 1e-3 for (bare, _), norm in norms.items() if bare), norms


@pytest.mark.full("covered")
def test_the_window_is_what_is_told_and_the_slots_go_on():
    agent, env = Gain(noise=0.5), Linear(time_limit=5)
    state = begun(agent, env)
    first, data = window(agent, env, state)
    _, later = window(agent, env, first, 1)
    assert data.rollout.reward.shape == (8, 3)
    np.testing.assert_array_equal(later.rollout.obs[0], first.slots.obs)
    np.testing.assert_array_equal(data.rollout.truncated.sum(0), [1, 1, 1])
    np.testing.assert_array_equal(data.rollout.next_obs[3], data.rollout.obs[4])
    assert (data.rollout.next_obs[4] != data.rollout.obs[5]).all()


@pytest.mark.full("covered")
def test_two_devices_each_have_the_gradient_of_their_share():
    """The mean over devices is the agent's to take, as with every collector."""
    agent = Gain(num_envs=4, noise=0.5)
    one, two = (learned(agent, Linear(time_limit=5), 1, devices=devices) for devices in (1, 2))
    leaves_equal(one.slots, two.slots, rtol=1e-6)
    sums = [np.asarray(state.agent["gradient"]) for state in (one, two)]
    np.testing.assert_allclose(2 * sums[1], sums[0], rtol=1e-5)  # sums over the environments of each


class OfThree(Gain):
    """Sees three numbers."""

    def act(self, state, obs, carry, key, *, greedy=False):
        return (state["gain"] @ obs[:2])[None], carry, jnp.float32(0.0)

    def rollout_loss(self, state, rollout, axis):
        return -jnp.sum(rollout.reward), None


@pytest.mark.by_default("table-plain_slots")
@pytest.mark.parametrize("slots", [kernel_slots, plain_slots])
@pytest.mark.parametrize("env", ["table", "jump"])
def test_what_does_not_change_smoothly_is_refused_before_anything_is_computed(env, slots):
    agent, env = (OfThree(), Real(probes(0.9, 5)[3].env)) if env == "table" else (Gain(), Jump())
    state = begun(agent, env)
    with pytest.raises(ConfigError, match=r"agent: got '\w+'; no reward of this environment changes .*; use 'ppo'"):
        window(agent, env, state, slots=slots)


@pytest.mark.parametrize("name", ["num_envs", "num_steps"])
def test_counts_are_checked(name):
    with pytest.raises(ConfigError, match=f"{name}: got 0"):
        DifferentiatedRollouts(**{"num_envs": 2, "num_steps": 2, name: 0})


def test_devices_are_as_many_as_are_worth_it():
    assert DifferentiatedRollouts(64, 32).num_devices(8) == 8
    assert DifferentiatedRollouts(64, 4).num_devices(8) == 1
    assert DifferentiatedRollouts(60, 32, shares=3).num_devices(8) == 3
