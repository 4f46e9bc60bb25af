"""Tabular agents: one update of each worked out by hand, and the traps of CORRECTNESS that they must avoid."""

import dataclasses
import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loops import learned_q
from probes import chain
from scipy import stats

from kousoku.agents import AGENTS
from kousoku.agents.exploration import UCB, EpsilonGreedy, Softmax
from kousoku.agents.tabular.common import NOT_CHOSEN, Table
from kousoku.agents.tabular.double_q_learning import DoubleTable
from kousoku.collectors.slot import EnvSlot, advance, plain_slots
from kousoku.collectors.streams import step_keys
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Transition
from kousoku.envs.finite import finite
from kousoku.ops.schedules import Linear
from kousoku.training.loop.iteration import iterate, start
from kousoku.training.metrics.metric_sums import Recording

AGENT_IDS = (
    "q_learning", "double_q_learning", "sarsa", "expected_sarsa", "n_step_sarsa", "tree_backup", "watkins_q_lambda",
    "sarsa_lambda", "monte_carlo",
)  # fmt: skip
ON_POLICY = ("sarsa", "n_step_sarsa", "sarsa_lambda")
LOOP = chain(np.array([[1, 0], [0, 1]]), np.ones((2, 2)), time_limit=2)
SLOTS = plain_slots(LOOP)
NEVER = -1
SPEC = EnvSpec(Discrete(3), Discrete(2))

# Three states, two actions, alpha = gamma = 1/2: every number below is exact in binary. Greedy: 1 in state 0, 1 in 1.
Q = jnp.array([[0.0, 1.0], [2.0, 4.0], [8.0, 8.0]])
HALF = {"learning_rate": 0.5, "discount": 0.5}


def move(s, a, r, s2, terminated=False, truncated=False):
    return Transition(
        jnp.int32(s), jnp.int32(a), jnp.float32(r), jnp.array(terminated), jnp.array(truncated), jnp.int32(s2)
    )


def with_q(agent, q=Q):
    """A fresh state with these values."""
    state = agent.init(SPEC, jax.random.key(0))
    if isinstance(state, DoubleTable):
        return dataclasses.replace(state, q1=q, q2=q)
    if isinstance(state, Table):
        return dataclasses.replace(state, q=q)
    return dataclasses.replace(state, table=dataclasses.replace(state.table, q=q))


@eqx.filter_jit
def update(agent, state, batch, key):
    return agent.update(state, batch, key)


@eqx.filter_jit
def act_64(agent, state, obs, **options):
    """The actions that 64 keys choose."""
    return jax.vmap(lambda key: agent.act(state, obs, (), key, **options)[0])(jax.random.split(jax.random.key(7), 64))


def learn(agent, state, *moves, seed=0):
    """The state after the moves, and the last TD error."""
    metrics = {}
    for i, batch in enumerate(moves):
        state, metrics = update(agent, state, batch, jax.random.key(seed + i))
    return state, float(metrics["td_error"])


def changed(agent, state, before=Q):
    """{pair: value} where the values differ from `before`."""
    q, before = np.asarray(agent.q_values(state)), np.asarray(before)
    return {(int(s), int(a)): float(q[s, a]) for s, a in np.argwhere(q != before)}


def test_q_learning_by_hand():
    agent = AGENTS.make("q_learning", **HALF)
    state, error = learn(agent, with_q(agent), move(0, 1, 1.0, 1))  # 1 + 4/2 - 1 = 2
    assert (error, changed(agent, state)) == (2.0, {(0, 1): 2.0})


def test_expected_sarsa_by_hand():
    agent = AGENTS.make("expected_sarsa", **HALF, exploration=EpsilonGreedy(0.5))
    state, error = learn(agent, with_q(agent), move(0, 1, 1.0, 1))  # v = 2/4 + 4 * 3/4 = 3.5; 1 + 3.5/2 - 1 = 1.75
    assert (error, changed(agent, state)) == (1.75, {(0, 1): 1.875})


def test_double_q_learning_by_hand():
    agent = AGENTS.make("double_q_learning", **HALF)
    q2 = jnp.array([[3.0, 3.0], [6.0, 5.0], [0.0, 0.0]])
    before = DoubleTable(Q, q2, None, jnp.int32(0))
    seen = set()
    for seed in range(20):
        state, error = learn(agent, before, move(0, 1, 1.0, 1), seed=seed)
        heads = bool((state.q1 != Q).any())
        seen.add(heads)
        # Heads: argmax Q1(1) = 1, worth Q2(1, 1) = 5: 1 + 5/2 - 1 = 2.5. Tails: argmax Q2(1) = 0, Q1(1, 0) = 2: -1.
        assert error == (2.5 if heads else -1.0)
        assert float(state.q1[0, 1]) == (2.25 if heads else 1.0)
        assert float(state.q2[0, 1]) == (3.0 if heads else 2.5)
        assert int((state.q1 != Q).sum() + (state.q2 != q2).sum()) == 1
    assert seen == {True, False}
    np.testing.assert_array_equal(agent.q_values(before), (Q + q2) / 2)


def test_sarsa_by_hand():
    agent = AGENTS.make("sarsa", **HALF, exploration=EpsilonGreedy(1.0))
    seen = {}
    for seed in range(20):
        state, error = learn(agent, with_q(agent), move(0, 1, 1.0, 1), seed=seed)
        seen[int(state.next_action)] = (error, changed(agent, state))
    # A' = 0: 1 + 2/2 - 1 = 1. A' = 1: 1 + 4/2 - 1 = 2.
    assert seen == {0: (1.0, {(0, 1): 1.5}), 1: (2.0, {(0, 1): 2.0})}


def test_n_step_sarsa_by_hand():
    agent = AGENTS.make("n_step_sarsa", **HALF, exploration=EpsilonGreedy(0.0), n=2)
    first, error = learn(agent, with_q(agent), move(0, 1, 1.0, 1))
    assert (error, changed(agent, first)) == (0.0, {})
    second, error = learn(agent, first, move(1, 0, 2.0, 0))  # A' = 1: G = 1 + 2/2 + 1/4 = 2.25, error 1.25
    assert (error, changed(agent, second)) == (1.25, {(0, 1): 1.625})
    # The end: G(0, 0) = 4, error 4; G(1, 0) = 2 + 4/2 = 4, error 2; mean 3.
    last, error = learn(agent, second, move(0, 0, 4.0, 2, terminated=True))
    assert (error, changed(agent, last)) == (3.0, {(0, 1): 1.625, (1, 0): 3.0, (0, 0): 2.0})
    # Cut instead: 8 more for state 2: G(0, 0) = 4 + 8/2 = 8, error 8; G(1, 0) = 2 + 8/2 = 6, error 4; mean 6.
    last, error = learn(agent, second, move(0, 0, 4.0, 2, truncated=True))
    assert (error, changed(agent, last)) == (6.0, {(0, 1): 1.625, (1, 0): 4.0, (0, 0): 4.0})
    assert int(last.window.held) == 0


def test_tree_backup_by_hand():
    agent = AGENTS.make("tree_backup", **HALF, n=2)
    first, _ = learn(agent, with_q(agent), move(0, 1, 1.0, 1))
    # Action 0 in state 1 is not greedy: the tree is cut there, G = 1 + 4/2 = 3, error 2.
    state, error = learn(agent, first, move(1, 0, 2.0, 0))
    assert (error, changed(agent, state)) == (2.0, {(0, 1): 2.0})
    # Action 1 is: G(1, 1) = 2 + 1/2 = 2.5, G = 1 + 2.5/2 = 2.25, error 1.25.
    state, error = learn(agent, first, move(1, 1, 2.0, 0))
    assert (error, changed(agent, state)) == (1.25, {(0, 1): 1.625})


@pytest.mark.parametrize(("trace", "own"), [("accumulating", 1.25), ("replacing", 1.0)])
def test_watkins_q_lambda_by_hand(trace, own):
    agent = AGENTS.make("watkins_q_lambda", **HALF, lambda_=0.5, trace=trace)
    before = dataclasses.replace(with_q(agent), traces=jnp.array([[1.0, 1.0], [0.0, 0.0], [2.0, 0.0]]))
    # Greedy: old traces fade by 1/4. Error 1 + 4/2 - 1 = 2, so alpha * error = 1.
    state, error = learn(agent, before, move(0, 1, 1.0, 1))
    assert (error, changed(agent, state)) == (2.0, {(0, 0): 0.25, (0, 1): 1.0 + own, (2, 0): 8.5})
    # Not greedy: old traces are cut. Error 1 + 4/2 - 0 = 3.
    state, error = learn(agent, before, move(0, 0, 1.0, 1))
    assert (error, changed(agent, state)) == (3.0, {(0, 0): 1.5})
    for end in ("terminated", "truncated"):
        state, _ = learn(agent, before, move(0, 1, 1.0, 1, **{end: True}))
        assert not state.traces.any()


@pytest.mark.by_default("replacing-1.0")
@pytest.mark.parametrize(("trace", "own"), [("accumulating", 1.25), ("replacing", 1.0)])
def test_sarsa_lambda_by_hand(trace, own):
    agent = AGENTS.make("sarsa_lambda", **HALF, lambda_=0.5, trace=trace, exploration=EpsilonGreedy(0.0))
    before = dataclasses.replace(with_q(agent), traces=jnp.array([[1.0, 1.0], [0.0, 0.0], [2.0, 0.0]]))
    state, error = learn(agent, before, move(0, 1, 1.0, 1))  # A' = 1: as above, alpha * error = 1
    assert (error, changed(agent, state)) == (2.0, {(0, 0): 0.25, (0, 1): 1.0 + own, (2, 0): 8.5})
    for end in ("terminated", "truncated"):
        state, _ = learn(agent, before, move(0, 1, 1.0, 1, **{end: True}))
        assert not state.traces.any()


def test_monte_carlo_by_hand():
    agent = AGENTS.make("monte_carlo", discount=0.5, exploration=EpsilonGreedy(0.0))
    begun = dataclasses.replace(with_q(agent), learned=Q)
    begun, error = learn(agent, begun, move(0, 1, 2.0, 1))  # one-step error 2 + 4/2 - 1
    assert (error, changed(agent, begun)) == (3.0, {})
    state, _ = learn(agent, begun, move(1, 0, 3.0, 2, terminated=True))  # G(1, 0) = 3, G(0, 1) = 2 + 3/2
    assert changed(agent, state) == {(1, 0): 3.0, (0, 1): 3.5}
    again, _ = learn(agent, state, move(0, 1, 0.5, 2, terminated=True))  # the mean of 3.5 and 0.5
    assert changed(agent, again) == {(1, 0): 3.0, (0, 1): 2.0}
    state, _ = learn(agent, begun, move(1, 0, 3.0, 2, truncated=True))  # 8/2 more: G(1, 0) = 7, G(0, 1) = 5.5
    assert changed(agent, state) == {(1, 0): 7.0, (0, 1): 5.5}


GIVEN_UP = [
    (agent_id, options)
    for agent_id in AGENT_IDS
    for options in ([{"visit": "first"}, {"visit": "every"}] if agent_id == "monte_carlo" else [{"learning_rate": 0.5}])
] + [("monte_carlo", {"visit": visit, "learning_rate": 0.5}) for visit in ("first", "every")]


@pytest.mark.parametrize(("agent_id", "options"), GIVEN_UP)
@pytest.mark.parametrize("unfinished", [[], [(0, 1, 2.0, 1)], [(0, 1, 2.0, 1), (1, 0, -1.0, 0), (0, 1, 3.0, 1)]])
def test_what_follows_an_episode_that_was_given_up_is_learnt_as_of_a_first_one(agent_id, options, unfinished):
    """Values as they were when it was given up, and nothing else of it; the action to come is chosen anew."""
    agent = AGENTS.make(agent_id, discount=0.5, exploration=EpsilonGreedy(0.0), **options)
    whole = [move(0, 1, 1.0, 2), move(2, 0, 1.0, 1), move(1, 1, 4.0, 0, terminated=True)]
    before, _ = learn(agent, agent.init(SPEC, jax.random.key(0)), *whole)
    cut, _ = learn(agent, before, *(move(*step) for step in unfinished)) if unfinished else (before, 0.0)
    left = agent.give_up_episode(cut)
    values = agent.q_values(cut)
    np.testing.assert_array_equal(agent.q_values(left), values)
    if agent_id == "monte_carlo":  # its means rest on counts, and nothing of the unfinished episode is in them
        np.testing.assert_array_equal(values, agent.q_values(before))
        as_a_first = before
    else:  # double Q-learning has two tables, and no memory of an episode
        as_a_first = cut if agent_id == "double_q_learning" else with_q(agent, values)
    after, expected = (learn(agent, state, *whole, seed=5)[0] for state in (left, as_a_first))
    np.testing.assert_array_equal(agent.q_values(after), agent.q_values(expected))
    assert jax.tree.structure(left) == jax.tree.structure(cut)


@pytest.mark.parametrize("agent_id", ON_POLICY)
def test_the_first_action_after_an_episode_that_was_given_up_is_chosen_anew(agent_id):
    agent = AGENTS.make(agent_id, exploration=EpsilonGreedy(0.0))
    begun, _ = learn(agent, with_q(agent), move(0, 1, 1.0, 2))
    assert int(begun.next_action) != NOT_CHOSEN
    assert int(agent.give_up_episode(begun).next_action) == NOT_CHOSEN


@pytest.mark.by_default("q_learning")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_nothing_is_added_after_a_terminal_step(agent_id):
    """Q(s, a) is the reward of the step that ends, though the state it leads to (another or itself) seems worth 100."""
    agent = AGENTS.make(agent_id, learning_rate=1.0, initial_value=100.0)
    state = agent.init(SPEC, jax.random.key(0))
    for seed in range(12):  # double Q-learning has two tables to fill
        both = move(0, 0, 5.0, 2, terminated=True), move(0, 1, -5.0, 0, terminated=True, truncated=seed % 2 == 1)
        state, _ = learn(agent, state, *both, seed=2 * seed)
    np.testing.assert_array_equal(agent.q_values(state), [[5.0, -5.0], [100.0, 100.0], [100.0, 100.0]])


@pytest.mark.by_default("expected_sarsa")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_where_the_next_episode_begins_changes_no_target(agent_id):
    """A truncated step from state 0 to state 2, worth 8; the slot goes on in 0, worth 1, or in 1, worth 4."""
    agent = AGENTS.make(agent_id, exploration=EpsilonGreedy(0.0))
    model = chain(np.full((2, 2), 2), np.ones((2, 2)), ends=NEVER).exact
    learned = []
    for start_state in (0, 1):
        env = finite(dataclasses.replace(model, start=np.eye(3)[start_state]), time_limit=1)
        slot = EnvSlot(jnp.int32(0), jnp.int32(0), jnp.int32(0), jnp.float32(0.0))
        slot, transition, end = advance(env, slot, jnp.int32(1), jax.random.key(1))
        assert bool(end.ended)
        assert int(slot.obs) == start_state
        learned.append(update(agent, with_q(agent), transition, jax.random.key(2)))
        assert float(learned[-1][1]["td_error"]) == pytest.approx(1.0 + 0.99 * 8.0 - 1.0)
    assert eqx.tree_equal(*learned)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("agent_id", "exploration"),
    [*((id, EpsilonGreedy(0.5)) for id in AGENT_IDS), ("sarsa", Softmax(0.5)), ("sarsa", UCB(1.0))],
)
def test_no_key_is_used_twice(agent_id, exploration):
    agent = AGENTS.make(agent_id, exploration=exploration)
    with jax.debug_key_reuse(True), jax.disable_jit():
        state = start(agent, LOOP, SLOTS, jax.random.key(0), Recording())
        for i in range(3):
            state = iterate(agent, SLOTS, state, step_keys(jax.random.key(1), jnp.int32(i)))


def test_the_key_checker_would_see_it():
    with jax.debug_key_reuse(True), jax.disable_jit():
        key = jax.random.key(0)
        jax.random.bits(key)
        with pytest.raises(jax.errors.KeyReuseError):
            jax.random.bits(key)


@pytest.mark.by_default(
    "exploration0-watkins_q_lambda",
    "exploration1-monte_carlo",
    "exploration1-n_step_sarsa",
    "exploration1-sarsa_lambda",
    "exploration2-double_q_learning",
)
@pytest.mark.parametrize("agent_id", AGENT_IDS)
@pytest.mark.parametrize("exploration", [EpsilonGreedy(Linear(1.0, 0.0, 10)), Softmax(), UCB()])
def test_the_state_keeps_its_structure(agent_id, exploration):
    """No leaf changes shape or dtype in a step, and no type is weak."""
    agent = AGENTS.make(agent_id, exploration=exploration)
    begun = jax.eval_shape(lambda key: start(agent, LOOP, SLOTS, key, Recording()), jax.random.key(0))
    keys = step_keys(jax.random.key(0), jnp.int32(0))
    stepped = jax.eval_shape(lambda state: iterate(agent, SLOTS, state, keys), begun)
    assert jax.tree.structure(begun) == jax.tree.structure(stepped)
    for before, after in zip(jax.tree.leaves(begun), jax.tree.leaves(stepped), strict=True):
        assert (after.shape, after.dtype) == (before.shape, before.dtype)
        assert not before.weak_type
        assert not after.weak_type


@pytest.mark.by_default("double_q_learning", "expected_sarsa", "q_learning", "watkins_q_lambda")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_ten_updates_are_compiled_once_and_count_ten_visits(agent_id):
    agent, traced = AGENTS.make(agent_id, exploration=UCB()), []

    @jax.jit
    def step(state, batch, key):
        traced.append(1)
        return agent.update(state, batch, key)[0]

    state = agent.init(SPEC, jax.random.key(0))
    for i in range(10):
        state = step(state, move(i % 3, i % 2, 1.0, (i + 1) % 3, truncated=i == 5), jax.random.key(i))
    assert len(traced) == 1
    assert np.isfinite(agent.q_values(state)).all()
    visits = np.asarray((state if hasattr(state, "visits") else state.table).visits)
    np.testing.assert_array_equal(visits, [[2, 2], [1, 2], [2, 1]])


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", ON_POLICY)
def test_the_action_that_was_learnt_is_taken(agent_id):
    agent, obs, seen = AGENTS.make(agent_id, exploration=EpsilonGreedy(1.0)), jnp.int32(1), set()
    for seed in range(10):
        state, _ = learn(agent, with_q(agent), move(0, 1, 1.0, 1), seed=seed)
        seen.add(int(state.next_action))
        assert set(act_64(agent, state, obs).tolist()) == {int(state.next_action)}
        assert set(act_64(agent, state, obs, greedy=True).tolist()) == {1}
    assert seen == {0, 1}
    for end in ("terminated", "truncated"):
        state, _ = learn(agent, with_q(agent), move(0, 1, 1.0, 1, **{end: True}))
        assert int(state.next_action) == NOT_CHOSEN
        assert set(act_64(agent, state, obs).tolist()) == {0, 1}


@pytest.mark.by_default("expected_sarsa", "sarsa_lambda", "tree_backup")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_greedy_actions_explore_nothing(agent_id):
    agent = AGENTS.make(agent_id, exploration=EpsilonGreedy(1.0))
    state = with_q(agent)
    assert set(act_64(agent, state, jnp.int32(1), greedy=True).tolist()) == {1}
    assert set(act_64(agent, state, jnp.int32(1)).tolist()) == {0, 1}


def test_the_coin_of_double_q_learning_is_fair():
    """And independent of the word that breaks the ties of the argmax."""
    agent = AGENTS.make("double_q_learning", learning_rate=1.0, discount=1.0)
    q1, q2 = jnp.array([[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]]), jnp.array([[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]])
    # Both tables tie in state 2, and the reward is 1: whichever is updated becomes 10 at (0, 0).
    before = DoubleTable(q1, q2, None, jnp.int32(0))
    updates = jax.jit(jax.vmap(lambda key: agent.update(before, move(0, 0, 1.0, 2), key)[0]))
    after = updates(jax.random.split(jax.random.key(0), 100_000))
    heads = int((after.q1[:, 0, 0] == 10.0).sum())
    assert heads + int((after.q2[:, 0, 0] == 10.0).sum()) == 100_000
    assert stats.chisquare([heads, 100_000 - heads]).pvalue > 1e-4


def test_the_tie_of_double_q_learning_is_not_broken_by_its_coin():
    """Where the first table learns, of which both actions are worth the same, the second says 3 or 5 equally often."""
    agent = AGENTS.make("double_q_learning", learning_rate=1.0, discount=1.0)
    state = agent.init(EnvSpec(Discrete(2), Discrete(2)), jax.random.key(0))
    state = eqx.tree_at(lambda s: s.q2, state, jnp.array([[0.0, 0.0], [3.0, 5.0]]))
    update = jax.jit(jax.vmap(lambda key: agent.update(state, move(0, 0, 1.0, 1), key)[0].q1[0, 0]))
    found = np.asarray(update(jax.random.split(jax.random.key(1), 2000)))
    counts = [np.sum(found == value) for value in (0.0, 4.0, 6.0)]
    assert sum(counts) == 2000
    np.testing.assert_allclose(counts, [1000, 500, 500], atol=100)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("special", "plain", "options"),
    [
        ("n_step_sarsa", "sarsa", {"n": 1}),
        ("sarsa_lambda", "sarsa", {"lambda_": 0.0}),
        ("tree_backup", "q_learning", {"n": 1}),
        ("watkins_q_lambda", "q_learning", {"lambda_": 0.0}),
    ],
)
def test_special_cases_are_the_plain_agents(special, plain, options):
    q, plain_q = after_300_steps(AGENTS.make(special, **options)), after_300_steps(AGENTS.make(plain))
    np.testing.assert_allclose(q, plain_q, rtol=1e-6)
    assert np.abs(q).max() > 1.0


@functools.cache
def after_300_steps(agent):
    env = chain(np.array([[1, 2, 0], [2, 0, 3], [0, 1, 3]]), np.arange(9.0).reshape(3, 3), time_limit=7)
    return learned_q(agent, env, steps=300)[0]


@pytest.mark.by_default("expected_sarsa", "n_step_sarsa", "q_learning", "tree_backup", "watkins_q_lambda")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_the_learning_rate_is_read_at_the_step_count(agent_id):
    """It falls from 1 to nearly 0 after one step: the first step is learned, the second is not."""
    agent = AGENTS.make(agent_id, learning_rate=Linear(1.0, 2.0**-20, 1))
    first, second = move(0, 1, 4.0, 2, terminated=True), move(1, 1, 4.0, 2, terminated=True)
    state, _ = learn(agent, agent.init(SPEC, jax.random.key(0)), first, second)
    scale = 0.5 if agent_id == "double_q_learning" else 1.0
    np.testing.assert_allclose(agent.q_values(state), [[0.0, 4.0 * scale], [0.0, 0.0], [0.0, 0.0]], atol=1e-5)


@pytest.mark.by_default("q_learning")
@pytest.mark.parametrize("agent_id", ["q_learning", "double_q_learning", "sarsa"])
def test_epsilon_is_read_at_the_step_count(agent_id):
    agent = AGENTS.make(agent_id, exploration=EpsilonGreedy(Linear(1.0, 0.0, 2)))
    state = agent.init(SPEC, jax.random.key(0))
    state, _ = learn(agent, state, move(0, 1, 4.0, 2, terminated=True))
    assert set(act_64(agent, state, jnp.int32(0)).tolist()) == {0, 1}
    state, _ = learn(agent, state, move(0, 1, 4.0, 2, terminated=True))
    assert set(act_64(agent, state, jnp.int32(0)).tolist()) == {1}


NAN = math.nan
BAD = [
    *((id, {"learning_rate": value}) for id in AGENT_IDS for value in (-1.0, 0.0, 1.5, NAN)),
    *((id, {"discount": value}) for id in AGENT_IDS for value in (-0.1, 1.5, NAN)),
    *((id, {"initial_value": NAN}) for id in AGENT_IDS),
    *((id, {"n": value}) for id in ("n_step_sarsa", "tree_backup") for value in (0, -1, 1.5, NAN, 10**9)),
    *((id, {"lambda_": value}) for id in ("sarsa_lambda", "watkins_q_lambda") for value in (-0.1, 1.1, NAN)),
    *((id, {"trace": "dutch"}) for id in ("sarsa_lambda", "watkins_q_lambda")),
    ("monte_carlo", {"visit": "last"}),
]


@pytest.mark.parametrize(("agent_id", "options"), BAD)
def test_bad_numbers_are_refused(agent_id, options):
    with pytest.raises(ConfigError, match=rf"^{next(iter(options))}"):
        AGENTS.make(agent_id, **options)


@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_a_table_needs_discrete_spaces(agent_id):
    agent = AGENTS.make(agent_id)
    for spec in (EnvSpec(Box(0, 1, (2,)), Discrete(2)), EnvSpec(Discrete(2), Box(0, 1))):
        with pytest.raises(ConfigError, match=agent_id):
            agent.init(spec, jax.random.key(0))
    with pytest.raises(ConfigError, match="observation_space"):
        agent.init(EnvSpec(Discrete(2**30), Discrete(4)), jax.random.key(0))
