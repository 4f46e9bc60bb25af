"""Dyna-Q, Dyna-Q+ and prioritised sweeping, update by update, beside the textbook's boxes written with dictionaries."""

import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from kousoku.agents import AGENTS
from kousoku.agents.exploration import UCB, EpsilonGreedy
from kousoku.agents.tabular.dyna_q import DynaQ
from kousoku.agents.tabular.dyna_q_plus import DynaQPlus
from kousoku.agents.tabular.model_memory import (
    empty_memory,
    planning_words,
    recall,
    remember,
    taken,
    visited_state,
)
from kousoku.agents.tabular.prioritized_sweeping import PrioritizedSweeping
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Transition
from kousoku.ops.schedules import Harmonic

AGENT_IDS = ("dyna_q", "dyna_q_plus", "prioritized_sweeping")
SPEC = EnvSpec(Discrete(5), Discrete(3))
KEY = jax.random.key(7)


def seen(s, a, reward, next_s, terminated=False, truncated=False) -> Transition:
    return Transition(
        jnp.int32(s), jnp.int32(a), jnp.float32(reward), jnp.array(terminated), jnp.array(truncated), jnp.int32(next_s)
    )


@jax.jit
def update(agent, state, transition, key):
    """One program for all agents of one structure."""
    return agent.update(state, transition, key)


def learn(agent, transitions, spec=SPEC):
    """The state after the transitions, one key each."""
    state = agent.init(spec, KEY)
    for i, transition in enumerate(transitions):
        state, _ = update(agent, state, transition, jax.random.key(i))
    return state


def random_transitions(count: int, seed: int = 0, digits: int = 7) -> list[Transition]:
    """A random deterministic world of 5 states and 3 actions, whose outcomes now and then change."""
    rng = np.random.default_rng(seed)
    target, reward = rng.integers(0, 5, (5, 3)), (4.0 * rng.normal(size=(5, 3))).round(digits)
    ends = rng.random((5, 3)) < 0.2
    made = []
    for i in range(count):
        if i == count // 2:
            target, ends = rng.permutation(target), rng.permutation(ends)
        s, a = int(rng.integers(4)), int(rng.integers(3))
        made.append(seen(s, a, reward[s, a], int(target[s, a]), bool(ends[s, a]), bool(rng.random() < 0.2)))
    return made


def plain(transition: Transition) -> tuple:
    return (
        int(transition.obs), int(transition.action), float(transition.reward), bool(transition.terminated),
        int(transition.next_obs),
    )  # fmt: skip


# The learned model

note = jax.jit(remember)


@pytest.mark.full("covered")
def test_one_outcome_is_overwritten():
    memory = empty_memory("a", SPEC)
    for transition in (seen(2, 1, 1.0, 3), seen(2, 1, 5.0, 4, terminated=True)):
        memory = note(memory, transition, jnp.uint32(0))
    outcome = recall(memory, jnp.int32(2), jnp.int32(1), jnp.uint32(2**31))
    assert (float(outcome.reward), bool(outcome.terminated), int(outcome.next_state)) == (5.0, True, 4)


@pytest.mark.full("covered")
def test_outcomes_are_told_apart_and_counted():
    """Next state, reward and terminated each make an outcome of its own; truncated does not."""
    memory = empty_memory("a", SPEC, 4)
    four = [seen(2, 1, 1.0, 3), seen(2, 1, 1.0, 3, terminated=True), seen(2, 1, 2.0, 3), seen(2, 1, 1.0, 4)]
    for transition in [*four, four[0], four[0], seen(2, 1, 2.0, 3, truncated=True)]:
        memory = note(memory, transition, jnp.uint32(1 << 30))
    assert Counter(memory.count[2 * 3 + 1].tolist()) == Counter([3, 2, 1, 1])
    assert int(memory.count.sum()) == 7
    drawn = jax.vmap(lambda word: recall(memory, jnp.int32(2), jnp.int32(1), word))(
        jax.random.bits(KEY, (7000,), jnp.uint32)
    )
    kinds = Counter(zip(drawn.reward.tolist(), drawn.terminated.tolist(), drawn.next_state.tolist(), strict=True))
    expected = {(1.0, False, 3): 3000, (1.0, True, 3): 1000, (2.0, False, 3): 2000, (1.0, False, 4): 1000}
    assert kinds.keys() == expected.keys()
    assert stats.chisquare([kinds[k] for k in expected], list(expected.values())).pvalue > 1e-4


def test_the_rarest_outcome_makes_room():
    memory = empty_memory("a", SPEC, 2)
    for transition in [seen(0, 0, 1.0, 1)] * 3 + [seen(0, 0, 2.0, 2), seen(0, 0, 3.0, 3)]:
        memory = note(memory, transition, jnp.uint32(0))
    kept = {(float(r), int(p) >> 1, int(n)) for r, p, n in zip(*(x[0] for x in parts(memory)), strict=True)}
    assert kept == {(1.0, 1, 3), (3.0, 3, 1)}


@pytest.mark.full("covered")
def test_outcomes_of_equal_count_are_all_replaced_now_and_then():
    """Rewards that never repeat: otherwise the first ones would stay in the model for ever."""
    memory = empty_memory("a", SPEC, 4)
    words = jax.random.bits(KEY, (60,), jnp.uint32)
    for i in range(60):
        memory = note(memory, seen(0, 0, i, 1), words[i])
    assert float(memory.reward[0].min()) > 4


def parts(memory):
    return np.asarray(memory.reward), np.asarray(memory.packed), np.asarray(memory.count)


def test_visited_states_are_listed_once_in_order():
    memory = empty_memory("a", SPEC)
    for s, a in [(3, 0), (1, 2), (3, 1), (3, 0), (0, 0), (1, 0)]:
        memory = note(memory, seen(s, a, 0.0, 4), jnp.uint32(0))
    assert memory.visited[: int(memory.num_visited)].tolist() == [3, 1, 0]
    assert taken(memory, jnp.int32(3)).tolist() == [True, True, False]
    assert taken(memory, jnp.int32(4)).tolist() == [False, False, False]
    drawn = jax.vmap(lambda word: visited_state(memory, word))(jax.random.bits(KEY, (6000,), jnp.uint32))
    counts = Counter(drawn.tolist())
    assert counts.keys() == {3, 1, 0}
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_all_states_may_be_visited():
    memory = empty_memory("a", SPEC)
    for s in (4, 3, 2, 1, 0, 4, 0):
        memory = note(memory, seen(s, 0, 0.0, 0), jnp.uint32(0))
    assert memory.visited.tolist() == [4, 3, 2, 1, 0]
    assert int(memory.num_visited) == 5


# Dyna-Q


def test_dyna_q_by_hand():
    """One pair, r = 1, terminated, alpha = 1/2: the real step and two planned ones halve the error three times."""
    state = learn(DynaQ(planning_steps=2, learning_rate=0.5, discount=0.9), [seen(0, 0, 1.0, 1, terminated=True)])
    assert float(state.table.q[0, 0]) == 0.875
    assert int(jnp.count_nonzero(state.table.q)) == 1


@pytest.mark.full("covered")
def test_dyna_q_plans_backwards_from_what_it_learns():
    """0 -> 1 -> end with reward 1: one real step is enough for the value to reach state 0."""
    agent = DynaQ(planning_steps=40, learning_rate=1.0, discount=0.9)
    state = learn(agent, [seen(0, 2, 0.0, 1), seen(1, 0, 1.0, 4, terminated=True)])
    np.testing.assert_allclose(state.table.q[:2], [[0, 0, 0.9], [1, 0, 0]], rtol=1e-6)
    without = learn(DynaQ(planning_steps=0, learning_rate=1.0), [seen(0, 2, 0.0, 1), seen(1, 0, 1.0, 4, True)])
    assert without.table.q[:2].tolist() == [[0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_truncated_bootstraps_and_terminated_does_not(agent_id):
    """Also in the model: planning repeats the same transition."""
    options = {"kappa": 0.0} if agent_id == "dyna_q_plus" else {}
    agent = AGENTS.make(agent_id, planning_steps=3, learning_rate=1.0, discount=0.5, initial_value=8.0, **options)
    truncated = agent.q_values(learn(agent, [seen(0, 0, 1.0, 1, truncated=True)]))
    terminated = agent.q_values(learn(agent, [seen(0, 0, 1.0, 1, terminated=True)]))
    both = agent.q_values(learn(agent, [seen(0, 0, 1.0, 1, terminated=True, truncated=True)]))
    assert float(truncated[0, 0]) == 1.0 + 0.5 * 8.0
    assert float(terminated[0, 0]) == 1.0
    assert float(both[0, 0]) == 1.0


def below(word, n: int) -> int:
    return int(word) * n >> 32


def textbook_dyna_q(transitions, n, alpha, gamma, kappa=None):
    """The box of section 8.2; with kappa, Dyna-Q+ as section 8.3 and its footnote describe it."""
    alpha, gamma = np.float32(alpha), np.float32(gamma)
    q, model, visited = np.zeros((5, 3), np.float32), {}, []
    last_tried = np.zeros((5, 3), int)

    def update(s, a, r, ends, next_s):
        q[s, a] += alpha * (r + (0 if ends else gamma * q[next_s].max()) - q[s, a])

    for time, transition in enumerate(transitions, start=1):
        s, a, r, ends, next_s = plain(transition)
        update(s, a, r, ends, next_s)
        visited += [s] if s not in visited else []
        model[s, a] = (r, ends, next_s)
        last_tried[s, a] = time
        for word_s, word_a, _ in np.asarray(planning_words(jax.random.key(time - 1), n)[1]):
            s = visited[below(word_s, len(visited))]
            actions = range(3) if kappa is not None else [a for a in range(3) if (s, a) in model]
            a = actions[below(word_a, len(actions))]
            r, ends, next_s = model.get((s, a), (np.float32(0.0), False, s))
            bonus = 0.0 if kappa is None else kappa * math.sqrt(time - last_tried[s, a])
            update(s, a, np.float32(r + bonus), ends, next_s)
    return q


def test_dyna_q_is_the_textbook_box():
    transitions = random_transitions(80)
    found = learn(DynaQ(planning_steps=7, learning_rate=0.3, discount=0.9), transitions).table.q
    np.testing.assert_allclose(found, textbook_dyna_q(transitions, 7, 0.3, 0.9), rtol=1e-4, atol=1e-5)


def test_dyna_q_plus_is_the_textbook_description():
    transitions = random_transitions(80, seed=1)
    agent = DynaQPlus(planning_steps=7, kappa=0.2, learning_rate=0.3, discount=0.9)
    exact = textbook_dyna_q(transitions, 7, 0.3, 0.9, kappa=0.2)
    np.testing.assert_allclose(learn(agent, transitions).table.q, exact, rtol=1e-4, atol=1e-5)


def test_dyna_q_plus_bonus_by_hand():
    """Discount 0: after steps 1, 2, 3 on pairs (0,0), (0,1), (0,0), planning sets Q to r + kappa sqrt(tau)."""
    agent = DynaQPlus(planning_steps=200, kappa=0.5, learning_rate=1.0, discount=0.0)
    state = learn(agent, [seen(0, 0, 1.0, 1), seen(0, 1, 2.0, 1), seen(0, 0, 1.0, 1)])
    exact = [1.0, 2.0 + 0.5, 0.5 * math.sqrt(3)]
    np.testing.assert_allclose(state.table.q[0], exact, rtol=1e-6)
    assert state.last_tried[0].tolist() == [3, 2, 0]
    assert int(jnp.count_nonzero(state.table.q[1:])) == 0


def test_dyna_q_plus_thinks_that_untried_actions_lead_back():
    """Q(s, untried) = gamma max_a Q(s, a) without a bonus: the same state, no reward, alive."""
    agent = DynaQPlus(planning_steps=200, kappa=0.0, learning_rate=1.0, discount=0.5)
    state = learn(agent, [seen(3, 1, 4.0, 0, terminated=True)])
    np.testing.assert_allclose(state.table.q[3], [2.0, 4.0, 2.0])


# Prioritised sweeping


def textbook_sweeping(transitions, n, gamma, theta):
    """The box of section 8.4 with alpha = 1 and a dictionary for the queue."""
    q, model, queue, backups = np.zeros((5, 3)), {}, {}, 0

    def error(s, a):
        r, ends, next_s = model[s, a]
        return r + (0.0 if ends else gamma * q[next_s].max()) - q[s, a]

    def insert(s, a):
        if abs(error(s, a)) > theta:
            queue[s, a] = max(queue.get((s, a), 0.0), abs(error(s, a)))

    for transition in transitions:
        s, a, *outcome = plain(transition)
        model[s, a] = tuple(outcome)
        insert(s, a)
        for _ in range(n):
            if not queue:
                break
            s, a = max(sorted(queue), key=queue.__getitem__)
            del queue[s, a]
            q[s, a] += error(s, a)
            backups += 1
            for (before, action), (_, ends, next_s) in model.items():
                if next_s == s and not ends:
                    insert(before, action)
    return q, backups


@pytest.mark.by_default("3")
@pytest.mark.parametrize("n", [2, 3, 20])
def test_prioritized_sweeping_is_the_textbook_box(n):
    """To the last bit: whole rewards and halves keep every number exact, so that even ties are the same."""
    transitions = random_transitions(60, seed=2, digits=0)
    agent = PrioritizedSweeping(planning_steps=n, threshold=0.3, learning_rate=1.0, discount=0.5)
    state, backups = agent.init(SPEC, KEY), 0
    for transition in transitions:
        state, metrics = update(agent, state, transition, KEY)
        backups += int(metrics["backups"])
    exact, exact_backups = textbook_sweeping(transitions, n, 0.5, 0.3)
    assert np.array_equal(exact, exact.astype(np.float32)), "the numbers of this test no longer fit into float32"
    assert state.table.q.tolist() == exact.tolist()
    assert backups == exact_backups > 20


def test_prioritized_sweeping_by_hand():
    """A chain 0 -> 1 -> 2 -> 3 -> end, reward 1 at the end: the last step fills the whole chain with 4 backups."""
    agent = PrioritizedSweeping(planning_steps=10, threshold=0.1, discount=0.5)
    state = agent.init(SPEC, KEY)
    for s in range(4):
        state, metrics = update(agent, state, seen(s, 0, float(s == 3), s + 1, terminated=s == 3), KEY)
        assert int(metrics["backups"]) == (4 if s == 3 else 0)
    assert state.table.q[:4, 0].tolist() == [0.125, 0.25, 0.5, 1.0]
    assert float(metrics["td_error"]) == 1.0
    agent = PrioritizedSweeping(planning_steps=10, threshold=0.3, discount=0.5)
    q = learn(agent, [seen(s, 0, float(s == 3), s + 1, terminated=s == 3) for s in range(4)]).table.q
    assert q[:4, 0].tolist() == [0.0, 0.0, 0.5, 1.0]
    half = PrioritizedSweeping(planning_steps=1, learning_rate=0.25)
    assert learn(half, [seen(0, 0, 1.0, 1, terminated=True)]).table.q[0].tolist() == [0.25, 0.0, 0.0]
    none = PrioritizedSweeping(planning_steps=0)
    queued = learn(none, [seen(0, 0, reward, 1, terminated=True) for reward in (2.0, 5.0, 3.0, 0.0)]).priority
    assert queued.tolist() == [5.0] + 14 * [0.0]
    assert not learn(none, [seen(0, 0, 1.0, 1, terminated=True)]).table.q.any()


# All three


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_keys_are_used_once(agent_id):
    agent = AGENTS.make(agent_id, planning_steps=2)
    with jax.debug_key_reuse(True), jax.disable_jit():
        state = agent.init(SPEC, jax.random.key(0))
        for i, transition in enumerate(random_transitions(3)):
            act_key, update_key = jax.random.split(jax.random.key(i))
            agent.act(state, transition.obs, (), act_key)
            state, _ = agent.update(state, transition, update_key)


@pytest.mark.by_default("prioritized_sweeping")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_one_program_for_all_updates(agent_id):
    """The structure, shapes and dtypes of the state never change, so that nothing compiles twice."""
    agent = AGENTS.make(agent_id, planning_steps=2, learning_rate=Harmonic(1.0, 10))
    compilations = []

    @jax.jit
    def counted(agent, state, transition, key):
        compilations.append(1)
        return agent.update(state, transition, key)

    state = agent.init(SPEC, KEY)
    before = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), state)
    for i, transition in enumerate(random_transitions(10)):
        state, metrics = counted(agent, state, transition, jax.random.key(i))
    assert len(compilations) == 1
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), state) == before
    assert not any(leaf.weak_type for leaf in jax.tree.leaves((state, metrics)))


@pytest.mark.by_default("prioritized_sweeping")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_updates_are_deterministic_and_count_steps(agent_id):
    agent, transitions = AGENTS.make(agent_id, exploration=UCB(1.0)), random_transitions(5)
    first, second = learn(agent, transitions), learn(agent, transitions)
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool(jnp.array_equal(a, b)), first, second)))
    assert int(first.table.step) == 5
    assert int(first.table.visits.sum()) == 5


@pytest.mark.by_default("prioritized_sweeping")
@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_greedy_does_not_explore(agent_id):
    agent = AGENTS.make(agent_id, exploration=EpsilonGreedy(1.0), planning_steps=1)
    state = learn(agent, [seen(0, 1, 1.0, 1, terminated=True)])
    keys = jax.random.split(KEY, 300)
    greedy = jax.vmap(lambda key: agent.act(state, jnp.int32(0), (), key, greedy=True)[0])(keys)
    exploring = jax.vmap(lambda key: agent.act(state, jnp.int32(0), (), key)[0])(keys)
    assert set(greedy.tolist()) == {1}
    assert set(exploring.tolist()) == {0, 1, 2}


BAD = [
    *((id, field, value) for id in AGENT_IDS for field, value in [
        ("planning_steps", -1), ("planning_steps", 2.5), ("planning_steps", float("nan")), ("planning_steps", 2**40),
        ("learning_rate", 0.0), ("learning_rate", -1.0), ("learning_rate", 1.5), ("learning_rate", float("nan")),
        ("discount", 1.5), ("discount", -0.1), ("discount", float("nan")),
        ("initial_value", float("nan")),
    ]),
    *((id, "outcomes", value) for id in ("dyna_q", "dyna_q_plus") for value in (0, -1, 1.5, float("nan"))),
    *(("dyna_q_plus", "kappa", value) for value in (-0.1, float("nan"), float("inf"))),
    *(("prioritized_sweeping", "threshold", value) for value in (-0.1, float("nan"), float("inf"))),
]  # fmt: skip


@pytest.mark.parametrize(("agent_id", "field", "value"), BAD)
def test_bad_numbers(agent_id, field, value):
    with pytest.raises(ConfigError) as caught:
        AGENTS.make(agent_id, **{field: value})
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_bad_spaces(agent_id):
    agent = AGENTS.make(agent_id)
    with pytest.raises(ConfigError, match=agent_id):
        agent.init(EnvSpec(Box(0.0, 1.0, (2,)), Discrete(2)), KEY)
    with pytest.raises(ConfigError, match="action_space"):
        agent.init(EnvSpec(Discrete(2), Box(0.0, 1.0)), KEY)


def test_a_model_too_large_to_keep_is_refused_before_it_is_made():
    with pytest.raises(ConfigError, match=r"outcomes: got 1048576; use at most 16384 with 1024 states x 4 actions"):
        DynaQ(outcomes=1 << 20).init(EnvSpec(Discrete(1024), Discrete(4)), KEY)
