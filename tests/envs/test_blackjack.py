"""Blackjack against Gymnasium: whole episodes with the same cards, and the exact tables against every possible deal."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from fractions import Fraction

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.toy_text import blackjack as theirs
from scipy import stats

from kousoku.core.errors import ConfigError
from kousoku.core.model import check_model
from kousoku.core.spaces import Discrete, MultiDiscrete
from kousoku.envs import make
from kousoku.envs.toy_text.blackjack import BlackjackState, blackjack
from kousoku.envs.toy_text.dealing import dealer_results

pytestmark = pytest.mark.reference

CHANCE = {card: Fraction(theirs.deck.count(card), len(theirs.deck)) for card in range(1, 11)}
RULES = list(itertools.product((False, True), repeat=2))
STEPS = 12


def result_of(hand):
    """The column that a dealer's finished hand belongs to."""
    if theirs.is_natural(hand):
        return 6
    return 0 if theirs.is_bust(hand) else theirs.sum_hand(hand) - 16


@functools.cache
def dealer_hands(shown):
    """Every hand that the dealer can end with, and its probability, as Gymnasium plays it."""
    finished, open_hands = [], [((shown, hidden), CHANCE[hidden]) for hidden in CHANCE]
    while open_hands:
        hand, chance = open_hands.pop()
        if theirs.sum_hand(list(hand)) >= 17:
            finished.append((hand, chance))
        else:
            open_hands += [((*hand, card), chance * p) for card, p in CHANCE.items()]
    return finished


@functools.cache
def dealer_scores(shown):
    """The probability of each score that the dealer can end with."""
    chances = Counter()
    for hand, chance in dealer_hands(shown):
        chances[theirs.score(list(hand))] += chance
    return chances


@functools.cache
def hands_with(shown, result):
    """The dealer's hands with one result, or all of them where the dealer never played."""
    return [hand for hand, _ in dealer_hands(shown) if result in (-1, result_of(list(hand)))]


def exact_results(shown):
    chances = [Fraction(0)] * 7
    for hand, chance in dealer_hands(shown):
        chances[result_of(list(hand))] += chance
    return chances


class Deck:
    """Gymnasium's generator, dealing the cards that it is told to."""

    def __init__(self):
        self.cards = []

    def choice(self, options):
        return self.cards.pop(0) if options is theirs.deck else options[0]


@functools.cache
def play(natural, sab, episodes):
    """Whole episodes of ours under random actions, as NumPy: the first state, then everything [episodes, STEPS]."""
    env = blackjack(natural=natural, sab=sab, observation="tuple")

    def episode(key):
        reset_key, action_key, step_key = jax.random.split(key, 3)
        first, timestep = env.reset(reset_key)
        actions = jax.random.bernoulli(action_key, 0.5, (STEPS,)).astype(jnp.int32)

        def move(state, xs):
            state, timestep = env.step(xs[0], state, xs[1])
            return state, (state, timestep)

        _, (states, timesteps) = jax.lax.scan(move, first, (jax.random.split(step_key, STEPS), actions))
        return first, timestep.obs, actions, states, timesteps

    keys = jax.random.split(jax.random.key(2 * natural + sab), episodes)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(episode))(keys))


def first_cards(player_sum, usable_ace):
    """Two cards of this sum; a soft 21 is an ace and a ten."""
    return (1, player_sum - 11) if usable_ace else (max(2, player_sum - 10), player_sum - max(2, player_sum - 10))


@pytest.mark.full("covered")
@pytest.mark.parametrize(("natural", "sab"), RULES)
def test_episodes_with_the_same_cards_are_gymnasiums_step_for_step(natural, sab):
    first, first_obs, actions, states, timesteps = play(natural, sab, 4000)
    rng = np.random.default_rng(5)
    env = gymnasium.make("Blackjack-v1", natural=natural, sab=sab).unwrapped
    env.np_random = deck = Deck()
    seen = Counter()
    for i in range(len(actions)):
        before = tuple(int(x) for x in first_obs[i])
        length = int(np.argmax(timesteps.terminated[i])) + 1
        result = int(states.result[i, length - 1])
        hands = hands_with(before[1], result)
        dealer = hands[rng.integers(len(hands))]
        deck.cards = [*dealer[:2], *first_cards(before[0], before[2])]
        obs, _ = env.reset()
        assert obs == before
        assert bool(first.natural[i]) == theirs.is_natural(env.player)
        for t in range(length):
            after = tuple(int(x) for x in timesteps.obs[i, t])
            deck.cards = [(after[0] - 10 * after[2]) - (obs[0] - 10 * obs[2])] if actions[i, t] else list(dealer[2:])
            obs, reward, terminated, _, _ = env.step(int(actions[i, t]))
            assert obs == after
            assert reward == timesteps.reward[i, t]
            assert terminated == timesteps.terminated[i, t]
            assert not deck.cards
        seen[result, theirs.is_natural(env.player), float(reward)] += 1
    assert {result for result, _, _ in seen} == set(range(-1, 7))
    assert (1.5 in {reward for _, _, reward in seen}) == (natural and not sab)
    assert any(natural_hand and result == 5 for result, natural_hand, _ in seen)


@pytest.mark.full("covered")
def test_cards_and_first_hands_have_the_probabilities_of_the_deck():
    env, model = blackjack(), blackjack().model()
    keys = jax.random.split(jax.random.key(11), 100_000)
    states, timestep = jax.jit(jax.vmap(env.reset))(keys)
    possible = model.start > 0
    counts = np.bincount(timestep.obs, minlength=704)
    assert not np.any(counts[~possible])
    assert stats.chisquare(counts[possible], len(keys) * model.start[possible]).pvalue > 1e-4
    after, _ = jax.jit(jax.vmap(env.step, in_axes=(0, 0, None)))(
        jax.random.split(jax.random.key(12), 100_000), states, 1
    )
    cards = (after.player_sum - 10 * after.usable_ace) - (states.player_sum - 10 * states.usable_ace)
    drawn = np.bincount(cards, minlength=11)[1:]
    assert stats.chisquare(drawn, [float(CHANCE[card]) * len(keys) for card in CHANCE]).pvalue > 1e-4
    joint = np.zeros((11, 11))
    np.add.at(joint, (np.asarray(states.shown), np.asarray(cards)), 1)
    assert stats.chi2_contingency(joint[1:, 1:]).pvalue > 1e-4


@pytest.mark.by_default("10", "6", "7", "8", "9")
@pytest.mark.parametrize("shown", range(1, 11))
def test_the_dealers_results_are_those_of_every_possible_hand(shown):
    exact = exact_results(shown)
    assert sum(exact) == 1
    assert np.max(np.abs(dealer_results()[shown] - np.array(exact, float))) < 1e-15
    env = blackjack()
    state = BlackjackState(jnp.int32(18), jnp.int32(0), jnp.int32(shown), jnp.array(False), jnp.int32(-1))
    stick = jax.jit(jax.vmap(lambda key: env.step(key, state, jnp.int32(0))[0].result))
    counts = np.bincount(stick(jax.random.split(jax.random.key(shown), 50_000)), minlength=7)
    possible = np.array(exact) > 0
    assert not np.any(counts[~possible])
    assert stats.chisquare(counts[possible], 50_000 * np.array(exact, float)[possible]).pvalue > 1e-4


def test_the_model_is_the_game():
    """Each entry of the tables from Gymnasium's own functions of a hand."""
    model = blackjack().model()
    check_model(model)
    acted = set()
    for hand in (
        [[1, c] for c in range(1, 11)] + [[2, c] for c in range(2, 11)] + [[10, c] for c in range(3, 11)] + [[10, 9, 2]]
    ):
        for shown in range(1, 11):
            total, ace = theirs._hand_sum_and_usable_ace(hand)
            s = np.ravel_multi_index((total, shown, ace), (32, 11, 2))
            acted.add(int(s))
            chances = Counter()
            for score, chance in dealer_scores(shown).items():
                chances[theirs.cmp(theirs.score(hand), score)] += chance
            stick = dict(zip(model.reward[s, 0, :3], model.probability[s, 0, :3], strict=True))
            assert all(abs(stick[r] - float(chances[r])) < 1e-12 for r in (-1.0, 0.0, 1.0))
            assert not np.any(model.probability[s, 0, 3:])
            assert np.all(model.terminated[s, 0])
            for k, (card, chance) in enumerate(CHANCE.items()):
                after, ace_after = theirs._hand_sum_and_usable_ace([*hand, card])
                assert abs(model.probability[s, 1, k] - float(chance)) < 1e-15
                assert model.next_state[s, 1, k] == np.ravel_multi_index((after, shown, ace_after), (32, 11, 2))
                assert model.terminated[s, 1, k] == theirs.is_bust([*hand, card])
                assert model.reward[s, 1, k] == (-1.0 if after > 21 else 0.0)
    assert len(acted) == 280
    assert set(np.flatnonzero(~model.terminated.all(axis=(1, 2)))) <= acted
    start = Counter()
    for first, second, shown in itertools.product(CHANCE, repeat=3):
        total, ace = theirs._hand_sum_and_usable_ace([first, second])
        start[np.ravel_multi_index((total, shown, ace), (32, 11, 2))] += CHANCE[first] * CHANCE[second] * CHANCE[shown]
    assert np.max(np.abs(model.start - [float(start[s]) for s in range(704)])) < 1e-15


def test_the_best_policy_on_hard_hands_is_the_known_one():
    """Figure 5.2 without a usable ace: stick on 17, on 13 against 2 to 6, on 12 against 4 to 6."""
    model = blackjack().model()
    value = np.zeros(704)
    for _ in range(30):
        ahead = np.where(model.terminated, 0.0, value[model.next_state])
        q = np.sum(model.probability * (model.reward + ahead), axis=-1)
        value = q.max(axis=1)
    for panel in blackjack().panels():
        for row, total in zip(panel.states, panel.row_ticks, strict=True):
            for s, shown in zip(row, range(1, 11), strict=True):
                if panel.title != "no usable ace":
                    continue
                least = 13 if shown in (2, 3) else 12 if shown in (4, 5, 6) else 17
                assert (q[s, 0] > q[s, 1]) == (int(total) >= least), (total, shown)


@pytest.mark.by_default("True-False", "True-True")
@pytest.mark.parametrize(("natural", "sab"), [rules for rules in RULES if any(rules)])
def test_there_is_no_model_where_a_natural_counts(natural, sab):
    """Two hands that look the same earn different rewards by sticking: the observation is not Markov."""
    env = blackjack(natural=natural, sab=sab)
    with pytest.raises(ConfigError, match="not Markov"):
        env.model()
    stick = jax.jit(jax.vmap(env.step, in_axes=(0, None, None)))
    keys = jax.random.split(jax.random.key(0), 2000)
    means = []
    for is_natural in (True, False):
        state = BlackjackState(jnp.int32(21), jnp.int32(1), jnp.int32(10), jnp.array(is_natural), jnp.int32(-1))
        means.append(float(np.mean(stick(keys, state, 0)[1].reward)))
    assert means[0] > means[1] + 0.02


@pytest.mark.parametrize(("action", "natural"), [(0, True), (1, False)])
def test_a_natural_is_of_two_cards(action, natural):
    env = blackjack(natural=True)
    state = BlackjackState(jnp.int32(21), jnp.int32(1), jnp.int32(5), jnp.array(True), jnp.int32(-1))
    for i in range(3):
        after, _ = env.step(jax.random.key(i), state, jnp.int32(action))
        assert bool(after.natural) == natural


@pytest.mark.full("covered")
def test_the_index_is_gymnasiums_tuple_in_row_major_order():
    as_index, as_tuple = blackjack(), blackjack(observation="tuple")
    assert as_index.observation_space == Discrete(704)
    assert as_tuple.observation_space == MultiDiscrete((32, 11, 2))
    keys = jax.random.split(jax.random.key(4), 500)
    state, one = jax.vmap(as_index.reset)(keys)
    _, other = jax.vmap(as_tuple.reset)(keys)
    assert np.array_equal(one.obs, np.ravel_multi_index(np.asarray(other.obs).T, (32, 11, 2)))
    actions = jnp.arange(500, dtype=jnp.int32) % 2
    _, one = jax.vmap(as_index.step)(keys, state, actions)
    _, other = jax.vmap(as_tuple.step)(keys, state, actions)
    assert np.array_equal(one.obs, np.ravel_multi_index(np.asarray(other.obs).T, (32, 11, 2)))


def test_the_id_has_gymnasiums_rules():
    env = make("Blackjack-v1")
    assert {"natural": env.natural, "sab": env.sab} == gymnasium.spec("Blackjack-v1").kwargs


def test_panels_are_figure_5_2():
    with_ace, without = blackjack().panels()
    assert (with_ace.title, without.title) == ("usable ace", "no usable ace")
    for panel, ace in ((with_ace, 1), (without, 0)):
        assert panel.action_names == ("stick", "hit")
        for r, c in itertools.product(range(11), range(10)):
            possible = int(panel.row_ticks[r]) >= 12 or not ace
            assert panel.states[r][c] == (((21 - r) * 11 + c + 1) * 2 + ace if possible else -1)


def test_the_scene_tells_both_hands():
    state = BlackjackState(jnp.int32(17), jnp.int32(1), jnp.int32(1), jnp.array(False), jnp.int32(-1))
    words = " ".join(shape.text for shape in blackjack().scene(state).foreground)
    assert words == "dealer shows an ace player: 17, usable ace"
    state = BlackjackState(jnp.int32(25), jnp.int32(0), jnp.int32(7), jnp.array(False), jnp.int32(2))
    words = " ".join(shape.text for shape in blackjack().scene(state).foreground)
    assert words == "dealer shows 7: 18 player: 25, bust"
