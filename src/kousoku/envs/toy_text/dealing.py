"""Blackjack's cards: probabilities of the dealer's result, and the exact model where the observation is the state."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float

from ...core.model import TabularModel

CARDS = range(1, 11)
CARD_PROBABILITY = dict.fromkeys(CARDS, 1.0 / 13.0) | {10: 4.0 / 13.0}
SUMS, SHOWN, ACES = 32, 11, 2
NUM_STATES = SUMS * SHOWN * ACES
STICK, HIT = 0, 1

# The dealer's results in the order of the table's columns: bust, 17, 18, 19, 20, 21 with more than two cards or without
# an ace and a ten, and a natural.
BUST, NATURAL, NUM_RESULTS = 0, 6, 7
RESULT_SCORE = np.array([0, 17, 18, 19, 20, 21, 21])


def index(player_sum: int, shown: int, usable_ace: int) -> int:
    """Returns the number of an observation: Gymnasium's three components in row-major order."""
    return (player_sum * SHOWN + shown) * ACES + usable_ace


def best(total: int, ace: bool) -> tuple[int, int]:
    """Returns (sum, usable ace) of a hand whose cards count `total` with every ace as 1: one counts 11 if that is no
    bust.

    Examples:
        >>> best(7, True), best(12, True)
        ((17, 1), (12, 0))
    """
    usable = ace and total + 10 <= 21
    return total + 10 * usable, int(usable)


def add_card(player_sum: int, usable_ace: int, card: int) -> tuple[int, int]:
    """Returns (sum, usable ace) after one more card."""
    return best(player_sum - 10 * usable_ace + card, bool(usable_ace) or card == 1)


@functools.cache
def dealer_results() -> Float[np.ndarray, "11 7"]:
    """Returns P(result | card shown); row 0 is no card and holds zeros.

    The dealer draws below 17 and sticks from 17 on, soft or hard, from an infinite deck.
    """
    table = np.zeros((SHOWN, NUM_RESULTS))
    for shown in CARDS:
        for hidden in CARDS:
            if {shown, hidden} == {1, 10}:
                table[shown, NATURAL] += CARD_PROBABILITY[hidden]
            else:
                table[shown] += CARD_PROBABILITY[hidden] * _play_on(shown + hidden, 1 in (shown, hidden))
    return table


@functools.cache
def _play_on(total: int, ace: bool) -> Float[np.ndarray, " 7"]:
    """Returns P(result) of a dealer whose hand counts `total` with every ace as 1."""
    score, _ = best(total, ace)
    if score >= 17:
        return np.eye(NUM_RESULTS)[BUST if score > 21 else score - 16]
    return sum((p * _play_on(total + card, ace or card == 1) for card, p in CARD_PROBABILITY.items()), np.zeros(7))


def blackjack_model() -> TabularModel:
    """Builds the exact model without bonus for a natural; numbers that name no hand are terminal.

    Sticking has the outcomes lose, draw and win; hitting has one for each card.
    """
    shape = (NUM_STATES, 2, len(CARDS))
    probability, reward = np.zeros(shape), np.zeros(shape)
    next_state = np.broadcast_to(np.arange(NUM_STATES, dtype=np.int32)[:, None, None], shape).copy()
    terminated, start = np.ones(shape, bool), np.zeros(NUM_STATES)
    probability[..., 0] = 1.0
    for s, player_sum, shown, usable in hands():
        chances = dealer_results()[shown]
        for k, sign in enumerate((-1, 0, 1)):
            probability[s, STICK, k] = chances[np.sign(player_sum - RESULT_SCORE) == sign].sum()
            reward[s, STICK, k] = sign
        for k, card in enumerate(CARDS):
            after, ace = add_card(player_sum, usable, card)
            probability[s, HIT, k] = CARD_PROBABILITY[card]
            next_state[s, HIT, k] = index(after, shown, ace)
            reward[s, HIT, k] = -1.0 if after > 21 else 0.0
            terminated[s, HIT, k] = after > 21
    for first in CARDS:
        for second in CARDS:
            player_sum, ace = best(first + second, 1 in (first, second))
            for shown in CARDS:
                chance = CARD_PROBABILITY[first] * CARD_PROBABILITY[second] * CARD_PROBABILITY[shown]
                start[index(player_sum, shown, ace)] += chance
    return TabularModel(probability, next_state, reward, terminated, start)


def hands() -> list[tuple[int, int, int, int]]:
    """Yields (state, player's sum, card shown, usable ace) of every hand that can be acted on."""
    sums = [(total, 0) for total in range(4, 22)] + [(total, 1) for total in range(12, 22)]
    return [(index(total, shown, ace), total, shown, ace) for total, ace in sums for shown in CARDS]
