"""Exploration: chances are what they are said to be, draws are independent, nothing overflows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops import NOTHING, one_step
from scipy import stats

from kousoku.agents.exploration import UCB, EpsilonGreedy, Softmax
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.collectors.slot import plain_slots
from kousoku.collectors.streams import step_keys
from kousoku.core.errors import ConfigError
from kousoku.core.model import TabularModel
from kousoku.envs.finite import finite
from kousoku.ops import exploration as ops
from kousoku.training.loop.iteration import start

pytestmark = pytest.mark.property

DRAWS = 100_000
SURE = 1e-4  # a right program fails one test in 10,000 seeds; the seeds are fixed
words = st.integers(0, 2**32 - 1)


def keys(seed=0, n=DRAWS):
    return jax.random.split(jax.random.key(seed), n)


def counts(actions, n):
    return np.bincount(np.asarray(actions), minlength=n)


draw_softmax = jax.jit(jax.vmap(ops.softmax, in_axes=(0, None, None)))


def independent(x, y):
    """The p-value of the chi-square test that two draws know nothing of each other."""
    table = np.zeros((int(np.max(x)) + 1, int(np.max(y)) + 1))
    np.add.at(table, (np.asarray(x, int), np.asarray(y, int)), 1)
    return stats.chi2_contingency(table, correction=False).pvalue


@given(words, st.integers(1, 2**16 - 1))
def test_uniform_index_is_the_floor_of_the_exact_product(word, n):
    assert int(ops.uniform_index(jnp.uint32(word), n)) == word * n >> 32


def test_index_below_is_the_upper_half_of_the_product():
    rng = np.random.default_rng(0)
    words = np.append(rng.integers(0, 2**32, 2000, dtype=np.uint32), np.array([0, 2**32 - 1], np.uint32))
    counts = rng.integers(1, 2 ** rng.integers(1, 32, len(words)), dtype=np.int64).astype(np.int32)
    found = jax.vmap(ops.index_below)(jnp.asarray(words), jnp.asarray(counts))
    exact = [int(w) * int(n) >> 32 for w, n in zip(words, counts, strict=True)]
    assert found.tolist() == exact


@pytest.mark.parametrize("ties", [70_000, 150_000])
def test_of_very_many_actions_each_may_be_picked(ties):
    found = np.asarray(jax.jit(jax.vmap(lambda key: ops.greedy(key, jnp.zeros(ties))))(keys(n=500)))
    assert found.max() > 0.98 * ties
    assert abs(found.mean() / ties - 0.5) < 0.06


@given(st.integers(2, 2**16 - 1), st.data())
def test_no_index_has_two_words_more_than_another(n, data):
    """Index k holds the words from ceil(k 2^32 / n) to before ceil((k + 1) 2^32 / n): 2^32 / n, give or take one."""
    k = data.draw(st.integers(1, n - 1))
    first = -(-k * 2**32 // n)
    index = jax.vmap(ops.uniform_index, in_axes=(0, None))(jnp.array([first - 1, first], jnp.uint32), n)
    assert index.tolist() == [k - 1, k]


@given(words)
def test_the_unit_interval_is_half_open_and_exact(word):
    u = float(ops.unit_interval(jnp.uint32(word)))
    assert 0.0 <= u < 1.0
    assert u == (word >> 8) / 2**24


@pytest.mark.full("covered")
@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(any), words)
def test_pick_hits_the_mask(mask, word):
    assert mask[int(ops.pick(jnp.array(mask), jnp.uint32(word)))]


@pytest.mark.full("covered")
@pytest.mark.parametrize("n", [3, 4])
def test_ties_are_broken_evenly(n):
    """A zero table favours no action: greedy, epsilon-greedy at any epsilon, and UCB at the start."""
    zero = jnp.zeros(n)
    for choose in (
        ops.greedy,
        lambda key, q: ops.epsilon_greedy(key, q, 0.0),
        lambda key, q: ops.epsilon_greedy(key, q, 0.1),
        lambda key, q: ops.upper_confidence_bound(key, q, jnp.zeros(n, jnp.int32), 1.0),
    ):
        actions = jax.jit(jax.vmap(choose, in_axes=(0, None)))(keys(n), zero)
        assert stats.chisquare(counts(actions, n)).pvalue > SURE


@pytest.mark.by_default("q0-exploration2")
@pytest.mark.parametrize(
    "exploration", [EpsilonGreedy(0.0), EpsilonGreedy(0.3), EpsilonGreedy(1.0), Softmax(0.7), UCB(0.5)]
)
@pytest.mark.parametrize("q", [[0.0, 1.0, 1.0, -2.0], [3.0, 0.5, -1.0, 0.5]])
def test_actions_are_drawn_with_the_probabilities_told(exploration, q):
    """Expected updates use `probabilities`, the loop uses `select`: they have to mean the same policy."""
    q, visits, step = jnp.array(q), jnp.array([3, 2, 2, 9], jnp.int32), jnp.int32(5)
    pi = np.asarray(exploration.probabilities(q, visits, step), np.float64)
    assert pi.sum() == pytest.approx(1.0, abs=1e-6)
    actions = jax.jit(jax.vmap(lambda key: exploration.select(key, q, visits, step)))(keys(1))
    seen = counts(actions, 4)
    assert not seen[pi == 0].any()
    possible = pi > 0
    if possible.sum() > 1:
        assert stats.chisquare(seen[possible], DRAWS * pi[possible] / pi.sum()).pvalue > SURE


def test_exploring_and_breaking_ties_are_independent():
    """The defect to rule out: one word for both, so that P(explore | tie on action 0) is 0 instead of epsilon.

    A draw on a zero table shows the tie. It explored if some table with one best action does not get that action.
    """
    epsilon, n = 0.1, 4

    def both(key):
        tie = ops.epsilon_greedy(key, jnp.zeros(n), epsilon)
        with_best = jax.vmap(lambda q: ops.epsilon_greedy(key, q, epsilon))(jnp.eye(n))
        return tie, jnp.any(with_best != jnp.arange(n))

    tie, explored = (np.asarray(x) for x in jax.jit(jax.vmap(both))(keys(2)))
    assert independent(tie, explored) > SURE
    for action in range(n):
        assert explored[tie == action].mean() == pytest.approx(epsilon, abs=0.01)


@pytest.mark.full("covered")
def test_the_draws_of_a_step_are_independent_of_each_other_and_of_the_next_step():
    """Tie, transition, start of the next episode, and the tie of the next step, each from its own key."""
    outcomes = np.broadcast_to(np.arange(3, dtype=np.int32), (3, 4, 3))
    third = np.full((3, 4, 3), 1 / 3)
    model = TabularModel(third, outcomes, np.zeros((3, 4, 3)), np.zeros((3, 4, 3), bool), np.full(3, 1 / 3))
    env, agent = finite(model, time_limit=1), QLearning(exploration=EpsilonGreedy(0.5))

    def two_steps(key):
        slots = plain_slots(env)
        state = start(agent, env, slots, key, NOTHING)
        state, first, _ = one_step(agent, slots, state, step_keys(key, jnp.int32(1)))
        state, second, _ = one_step(agent, slots, state, step_keys(key, jnp.int32(2)))
        return first.obs, first.action, first.next_obs, second.obs, second.action, second.next_obs

    draws = jax.jit(jax.vmap(two_steps))(keys(3, 30_000))
    for i, x in enumerate(draws):
        assert stats.chisquare(counts(x, int(x.max()) + 1)).pvalue > SURE
        for y in draws[:i]:
            assert independent(x, y) > SURE


@pytest.mark.parametrize("q", [[-100.0, -100.0], [1e30, -1e30], [-1e30, -1e30], [3e38, -3e38], [0.0, 1e-30]])
@pytest.mark.parametrize("temperature", [1e-6, 1.0, 1e6])
def test_softmax_is_finite_for_finite_values(q, temperature):
    q = jnp.array(q, jnp.float32)
    pi = np.asarray(ops.softmax_probabilities(q, temperature), np.float64)
    assert np.isfinite(pi).all()
    assert pi.sum() == pytest.approx(1.0, abs=1e-6)
    actions = draw_softmax(keys(4, 2000), q, temperature)
    np.testing.assert_allclose(counts(actions, 2) / 2000, pi, atol=0.05)


@pytest.mark.parametrize("temperature", [0.0, 1e-45, -1.0])
@pytest.mark.parametrize(
    ("q", "limit"),
    [([0.0, 1.0, 1.0], [0, 0.5, 0.5]), ([2.0, -np.inf, 1.0], [1, 0, 0]), ([3.0, 3.0], [0.5, 0.5]), ([1e30, 0], [1, 0])],
)
def test_softmax_without_a_temperature_is_greedy_and_ties_are_equally_likely(q, limit, temperature):
    values, at = jnp.array(q, jnp.float32), jnp.float32(temperature)
    for probabilities in (ops.softmax_probabilities, jax.jit(ops.softmax_probabilities)):
        np.testing.assert_array_equal(probabilities(values, at), np.float32(limit))
    assert np.isin(draw_softmax(keys(5, 200), values, at), np.flatnonzero(limit)).all()
    policy = Softmax(lambda step: at)
    np.testing.assert_array_equal(policy.probabilities(values, None, jnp.int32(0)), np.float32(limit))


def test_softmax_at_an_infinite_temperature_takes_all_that_may_be_taken_alike():
    q = jnp.array([1.0, -jnp.inf, 3.0])
    np.testing.assert_array_equal(ops.softmax_probabilities(q, jnp.float32(jnp.inf)), np.float32([0.5, 0, 0.5]))


@given(st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=6), st.floats(0.05, 10))
def test_softmax_is_the_equation(q, temperature):
    exact = np.exp((np.array(q) - max(q)) / temperature)
    pi = ops.softmax_probabilities(jnp.array(q, jnp.float32), temperature)
    np.testing.assert_allclose(pi, exact / exact.sum(), rtol=1e-3, atol=1e-6)


@pytest.mark.full("covered")
def test_not_a_number_counts_as_the_lowest_value():
    q = jnp.array([jnp.nan, -5.0, jnp.nan])
    assert set(np.asarray(jax.vmap(ops.greedy, in_axes=(0, None))(keys(5, 64), q)).tolist()) == {1}
    assert ops.greedy_probabilities(q).tolist() == [0.0, 1.0, 0.0]


def test_upper_confidence_values_by_hand():
    """t = 1 + 3 = 4: 0.5 + 2 sqrt(ln 4 / 3) and 1 + 2 sqrt(ln 4 / 1); the action never taken comes first."""
    values = ops.upper_confidence_values(jnp.array([0.5, 1.0, 9.0]), jnp.array([3, 1, 0], jnp.int32), 2.0)
    np.testing.assert_allclose(values[:2], [0.5 + 2 * np.sqrt(np.log(4) / 3), 1 + 2 * np.sqrt(np.log(4))], rtol=1e-6)
    assert np.isposinf(values[2])


@pytest.mark.parametrize(
    ("make", "field"),
    [
        *((lambda v=v: EpsilonGreedy(v), "epsilon") for v in (-0.1, 2.0, float("nan"))),
        *((lambda v=v: Softmax(v), "temperature") for v in (0.0, -1.0, float("nan"))),
        *((lambda v=v: UCB(v), "c") for v in (-1.0, float("nan"))),
    ],
)
def test_bad_numbers_are_refused(make, field):
    with pytest.raises(ConfigError, match=f"^{field}"):
        make()
