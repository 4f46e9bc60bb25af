"""Agents with a memory against the textbook's boxes, written down here as plainly as possible in float64.

The boxes see whole episodes; the agents see one step at a time. Episodes are random walks over four states with
random ends of both kinds, so that pairs repeat within an episode and every length from 1 on occurs.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.agents.exploration import EpsilonGreedy
from kousoku.agents.tabular.common import next_choice
from kousoku.agents.tabular.monte_carlo import MonteCarlo
from kousoku.agents.tabular.n_step_sarsa import NStepSARSA
from kousoku.agents.tabular.sarsa_lambda import SARSALambda
from kousoku.agents.tabular.tree_backup import TreeBackup
from kousoku.agents.tabular.watkins_q_lambda import WatkinsQLambda
from kousoku.core.env import EnvSpec
from kousoku.core.spaces import Discrete
from kousoku.core.timestep import Transition
from kousoku.ops.schedules import Harmonic

STATES, ACTIONS, STEPS = 4, 3, 400
ALPHA, GAMMA, EPSILON = 0.25, 0.8, 0.4


@dataclass
class Step:
    """What happened in one step; `b` is the action that was chosen for the next state, `t` the number of the step."""

    s: int
    a: int
    r: float
    s2: int
    b: int
    terminated: bool
    truncated: bool
    t: int

    @property
    def ended(self):
        return self.terminated or self.truncated


def live(agent, seed=0):
    """Random episodes, learned by the agent: [episode of Steps], and Q after each step in float64, [T, S, A]."""
    spec = EnvSpec(Discrete(STATES), Discrete(ACTIONS))
    state = agent.init(spec, jax.random.key(seed))

    @jax.jit
    def step(state, obs, outcome, key):
        act_key, update_key = jax.random.split(key)
        action, _, _ = agent.act(state, obs, (), act_key)
        reward, next_obs, terminated, truncated = outcome
        batch = Transition(obs, action, reward, terminated, truncated, next_obs)
        planned = next_choice(agent.exploration, state.table, batch, update_key)
        state, _ = agent.update(state, batch, update_key)
        return state, action, planned, agent.q_values(state)

    rng, episodes, values, obs = np.random.default_rng(seed), [[]], [], 0
    for t in range(STEPS):
        reward, next_obs = float(np.float32(rng.normal())), int(rng.integers(STATES))
        terminated, truncated = bool(rng.random() < 0.12), bool(rng.random() < 0.12)
        outcome = (jnp.float32(reward), jnp.int32(next_obs), jnp.array(terminated), jnp.array(truncated))
        state, action, planned, q = step(state, jnp.int32(obs), outcome, jax.random.key(1000 * seed + t))
        episodes[-1].append(Step(obs, int(action), reward, next_obs, int(planned), terminated, truncated, t))
        values.append(np.asarray(q, np.float64))
        if terminated or truncated:
            episodes.append([])
        obs = int(rng.integers(STATES)) if terminated or truncated else next_obs
    return episodes, np.stack(values)


def assert_same(expected, values):
    np.testing.assert_allclose(values, expected, rtol=2e-4, atol=2e-5)


def follow(episodes, after_step):
    """Q after each step, where after_step(q, episode up to and with this step) changes q in place."""
    q, values = np.zeros((STATES, ACTIONS)), []
    for episode in episodes:
        for i in range(len(episode)):
            after_step(q, episode[: i + 1])
            values.append(q.copy())
    return np.stack(values)


def updated(steps, n):
    """tau, the time whose estimate is updated now: t - n + 1 if there is one, and at the end all that are left."""
    last = len(steps) - 1
    return range(max(0, last - n + 1), last + 1 if steps[-1].ended else max(0, last - n + 2))


@pytest.mark.by_default("5")
@pytest.mark.parametrize("n", [1, 2, 5])
def test_n_step_sarsa_is_the_box_of_section_7_2(n):
    episodes, values = live(NStepSARSA(ALPHA, GAMMA, EpsilonGreedy(EPSILON), n=n))

    def after_step(q, steps):
        last = steps[-1]
        bootstrap = 0.0 if last.terminated else q[last.s2, last.b]
        for tau in updated(steps, n):
            ahead = steps[tau:]
            g = sum(GAMMA**i * step.r for i, step in enumerate(ahead)) + GAMMA ** len(ahead) * bootstrap
            q[steps[tau].s, steps[tau].a] += ALPHA * (g - q[steps[tau].s, steps[tau].a])

    assert_same(follow(episodes, after_step), values)


@pytest.mark.by_default("2")
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tree_backup_is_equation_7_16(n):
    episodes, values = live(TreeBackup(ALPHA, GAMMA, EpsilonGreedy(EPSILON), n=n))

    def greedy(q, s):
        best = (q[s] == q[s].max()).astype(float)
        return best / best.sum()

    def g(q, steps):
        if len(steps) == 1:
            return steps[0].r + (0.0 if steps[0].terminated else GAMMA * greedy(q, steps[0].s2) @ q[steps[0].s2])
        s, a = steps[1].s, steps[1].a
        pi, others = greedy(q, s), [b for b in range(ACTIONS) if b != a]
        return steps[0].r + GAMMA * (sum(pi[b] * q[s, b] for b in others) + pi[a] * g(q, steps[1:]))

    def after_step(q, steps):
        before = q.copy()
        for tau in updated(steps, n):
            target = g(before, steps[tau:])
            q[steps[tau].s, steps[tau].a] += ALPHA * (target - q[steps[tau].s, steps[tau].a])

    assert_same(follow(episodes, after_step), values)


@pytest.mark.by_default("accumulating")
@pytest.mark.parametrize("trace", ["accumulating", "replacing"])
def test_sarsa_lambda_is_section_12_7(trace):
    lambda_ = 0.7
    episodes, values = live(SARSALambda(ALPHA, GAMMA, EpsilonGreedy(EPSILON), lambda_=lambda_, trace=trace))

    def after_step(q, steps):
        last = steps[-1]
        error = last.r + (0.0 if last.terminated else GAMMA * q[last.s2, last.b]) - q[last.s, last.a]
        q += ALPHA * error * eligibility(steps, [GAMMA * lambda_] * len(steps), trace)

    assert_same(follow(episodes, after_step), values)


@pytest.mark.by_default("replacing")
@pytest.mark.parametrize("trace", ["accumulating", "replacing"])
def test_watkins_q_lambda_is_figure_7_14_of_the_first_edition(trace):
    lambda_ = 0.7
    episodes, values = live(WatkinsQLambda(ALPHA, GAMMA, EpsilonGreedy(EPSILON), lambda_=lambda_, trace=trace))
    decays = []

    def after_step(q, steps):
        if len(steps) == 1:
            decays.clear()
        last = steps[-1]
        decays.append(GAMMA * lambda_ if q[last.s, last.a] == q[last.s].max() else 0.0)
        error = last.r + (0.0 if last.terminated else GAMMA * q[last.s2].max()) - q[last.s, last.a]
        q += ALPHA * error * eligibility(steps, decays, trace)

    assert_same(follow(episodes, after_step), values)


def eligibility(steps, decays, trace):
    """e(s, a), each visit's part multiplied by the decay of every later step."""
    e = np.zeros((STATES, ACTIONS))
    for step, decay in zip(steps, decays, strict=True):
        e *= decay
        e[step.s, step.a] = 1.0 if trace == "replacing" else e[step.s, step.a] + 1.0
    return e


@pytest.mark.by_default("0.25-every")
@pytest.mark.parametrize("visit", ["first", "every"])
@pytest.mark.parametrize("learning_rate", [None, ALPHA, Harmonic(0.5, 100)])
def test_monte_carlo_is_the_box_of_section_5_4(visit, learning_rate):
    """The box's backward pass over the stored episode; returns are averaged from the list of all of them."""
    episodes, values = live(MonteCarlo(learning_rate, GAMMA, EpsilonGreedy(EPSILON), visit=visit))
    lists = {(s, a): [] for s in range(STATES) for a in range(ACTIONS)}

    def after_step(q, steps):
        last = steps[-1]
        if not last.ended:
            return
        policy = (1.0 - EPSILON) * (q[last.s2] == q[last.s2].max()) / (q[last.s2] == q[last.s2].max()).sum()
        g = 0.0 if last.terminated else (policy + EPSILON / ACTIONS) @ q[last.s2]
        counted = []
        for t in reversed(range(len(steps))):
            g, pair = GAMMA * g + steps[t].r, (steps[t].s, steps[t].a)
            if visit == "every" or pair not in [(step.s, step.a) for step in steps[:t]]:
                counted.append((pair, g, steps[t].t))
        for pair, g, t in reversed(counted):
            lists[pair].append(g)
            if learning_rate is None:
                q[pair] = np.mean(lists[pair])
            else:
                q[pair] += (float(learning_rate(jnp.int32(t))) if callable(learning_rate) else ALPHA) * (g - q[pair])

    assert_same(follow(episodes, after_step), values)
