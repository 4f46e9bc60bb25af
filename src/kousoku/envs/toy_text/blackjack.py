"""Blackjack: twenty-one against a dealer who plays by rule, from an infinite deck."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from ...core.env import Env
from ...core.errors import ConfigError, check_choice, check_flag
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.scene import Rect, Scene, Shape, Text
from ...core.spaces import Discrete, MultiDiscrete
from ...core.timestep import Timestep
from ...ops import tables
from ...ops.exploration import uniform_index, unit_interval
from ..fields import check_limit
from .dealing import ACES, BUST, CARDS, HIT, NATURAL, NUM_STATES, SHOWN, SUMS, blackjack_model, dealer_results, index

OBSERVATIONS = ("index", "tuple")
UNPLAYED = -1


class BlackjackState(eqx.Module):
    """Both hands, as far as they matter.

    Attributes:
        player_sum: of the player's cards, with a usable ace as 11.
        usable_ace: 1 if an ace counts as 11.
        shown: the dealer's card that is face up, 1 (ace) to 10.
        natural: the player holds two cards, an ace and a ten.
        result: -1 until the player sticks; then the dealer's result: 0 a bust, 1 to 5 a sum of 17 to 21, 6 a natural.
    """

    player_sum: Int[Array, ""]
    usable_ace: Int[Array, ""]
    shown: Int[Array, ""]
    natural: Bool[Array, ""]
    result: Int[Array, ""]


class Blackjack(Env):
    """Gymnasium's Blackjack-v1. Make one with `blackjack(...)` or by id.

    Observation: the player's sum, the dealer's card and whether the player holds a usable ace, as
    MultiDiscrete([32, 11, 2]), or as one number in row-major order, Discrete(704). Action: Discrete(2): stick, hit.
    Going over 21 loses at once; after sticking the dealer draws below 17, and the reward is 1, 0 or -1. Both terminate.

    The dealer's hidden card and all that follows are independent of what the player does, so the whole of the dealer's
    play is one draw from its exact distribution, made when the player sticks.

    Attributes:
        dealer: P(result <= k | card shown) without the last one, which is 1.
        natural: a natural that wins pays 1.5 (ignored where `sab`).
        sab: a natural wins also against a dealer's 21 of three or more cards.
        observation: form of the observation, "index" or "tuple".

    References:
        Sutton and Barto (2nd ed.), example 5.1 and figure 5.2.
    """

    dealer: Float[Array | np.ndarray, "11 6"]
    natural: bool = eqx.field(static=True)
    sab: bool = eqx.field(static=True)
    observation: str = eqx.field(static=True)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Discrete | MultiDiscrete:
        return Discrete(NUM_STATES) if self.observation == "index" else MultiDiscrete((SUMS, SHOWN, ACES))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: PRNGKeyArray) -> tuple[BlackjackState, Timestep]:
        """Deals two cards to the player, one face up to the dealer."""
        shown, first, second = (card_of(word) for word in jax.random.bits(key, (3,), jnp.uint32))
        one_card = take_card(jnp.int32(0), jnp.int32(0), first)
        player_sum, usable_ace = take_card(*one_card, second)
        natural = (player_sum == 21) & (usable_ace == 1)
        state = BlackjackState(player_sum, usable_ace, shown, natural, jnp.int32(UNPLAYED))
        return state, Timestep(self._observe(state), jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: PRNGKeyArray, state: BlackjackState, action: Int[Array, ""]) -> tuple[BlackjackState, Timestep]:
        """Takes a card, or lets the dealer play."""
        # Either the player's card or the dealer's play counts, so one word does for both.
        word = jax.random.bits(key, (), jnp.uint32)
        hits = action == HIT
        player_sum, usable_ace = take_card(state.player_sum, state.usable_ace, card_of(word))
        bust = player_sum > 21
        bounds = tables.row(jnp.asarray(self.dealer), state.shown)
        result = jnp.sum(unit_interval(word) >= bounds, dtype=jnp.int32)
        next_state = BlackjackState(
            player_sum=jnp.where(hits, player_sum, state.player_sum),
            usable_ace=jnp.where(hits, usable_ace, state.usable_ace),
            shown=state.shown,
            natural=state.natural & ~hits,
            result=jnp.where(hits, UNPLAYED, result),
        )
        reward = jnp.where(hits, -bust.astype(jnp.float32), self._settle(state, result))
        return next_state, Timestep(self._observe(next_state), reward, ~hits | bust, jnp.array(False))

    def model(self) -> TabularModel:
        """Returns the exact model, indexed by the index observation.

        Raises:
            ConfigError: where a natural pays or wins more than another 21 with a usable ace. The observation does not
                tell them apart, so that what sticking gives is no function of it and there is no exact table.
        """
        for field, value in (("sab", self.sab), ("natural", self.natural)):
            if value:
                fix = "use natural=False and sab=False: a natural looks like any other soft 21 but sticking gives more"
                raise ConfigError(field, value, f"{fix}, so the observation is not Markov")
        return blackjack_model()

    def panels(self) -> tuple[Panel, ...]:
        """Draws hands with and without a usable ace; the sums 11 to 21, as below 11 a card never hurts."""
        return panel("usable ace", 1), panel("no usable ace", 0)

    def scene(self, state: BlackjackState) -> Scene:
        """Draws the table, in words."""
        return table_scene(state)

    def _settle(self, state: BlackjackState, result: Int[Array, ""]) -> Float[Array, ""]:
        """Returns the reward of sticking."""
        player = jnp.where(state.player_sum > 21, 0, state.player_sum)
        reward = jnp.sign(player - score_of(result)).astype(jnp.float32)
        if self.sab:
            return jnp.where(state.natural & (result != NATURAL), 1.0, reward)
        if self.natural:
            return jnp.where(state.natural & (reward == 1.0), 1.5, reward)
        return reward

    def _observe(self, state: BlackjackState) -> Array:
        if self.observation == "index":
            return (state.player_sum * SHOWN + state.shown) * ACES + state.usable_ace
        return jnp.stack([state.player_sum, state.shown, state.usable_ace])


def blackjack(
    natural: bool = False, sab: bool = False, observation: str = "index", time_limit: int | None = None
) -> Blackjack:
    """Makes a Blackjack table. The id "Blackjack-v1" has `sab=True`, as Gymnasium's.

    Args:
        natural: whether to pay 1.5 for winning with an ace and a ten as the first two cards; ignored where `sab`.
        sab: whether Sutton and Barto's rule holds: such a natural wins unless the dealer has one too.
        observation: form of the observation, "index" or "tuple".
        time_limit: steps until an episode is truncated.

    Raises:
        ConfigError: for a bad value.

    Examples:
        >>> env = blackjack(observation="tuple")
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(0))
        >>> bool(timestep.terminated)
        True
    """
    check_choice("observation", observation, OBSERVATIONS)
    limit = check_limit(time_limit)
    bounds = np.cumsum(dealer_results(), axis=1)[:, :-1].astype(np.float32)
    return Blackjack(
        dealer=bounds,
        natural=check_flag("natural", natural),
        sab=check_flag("sab", sab),
        observation=observation,
        time_limit=limit,
    )


def card_of(word: UInt32[Array, ""]) -> Int[Array, ""]:
    """Returns a card from 32 random bits: ace 1, faces 10."""
    return jnp.minimum(uniform_index(word, 13) + 1, 10)


def take_card(
    player_sum: Int[Array, ""], usable_ace: Int[Array, ""], card: Int[Array, ""]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Returns (sum, usable ace) after one more card; an ace counts as 11 unless that is a bust."""
    total = player_sum - 10 * usable_ace + card
    usable = ((usable_ace == 1) | (card == 1)) & (total + 10 <= 21)
    return total + 10 * usable.astype(jnp.int32), usable.astype(jnp.int32)


def score_of(result: Int[Array, ""]) -> Int[Array, ""]:
    """Returns the sum that a dealer's result counts, 0 for a bust."""
    return jnp.where(result == BUST, 0, jnp.minimum(result, NATURAL - 1) + 16)


def panel(title: str, usable_ace: int) -> Panel:
    """Draws one half of figure 5.2: the player's sum upwards, the dealer's card to the right."""
    sums = range(21, 10, -1)
    lowest = 12 if usable_ace else 4
    return Panel(
        title=title,
        states=tuple(tuple(index(s, shown, usable_ace) if s >= lowest else -1 for shown in CARDS) for s in sums),
        row_label="player's sum",
        column_label="dealer showing",
        row_ticks=tuple(map(str, sums)),
        column_ticks=("A", *map(str, range(2, 11))),
        action_names=("stick", "hit"),
        action_arrows=(None, None),
    )


def table_scene(state: BlackjackState) -> Scene:
    """Draws the dealer above, the player below."""
    shown, result = int(state.shown), int(state.result)
    ending = {UNPLAYED: "", BUST: ": bust", NATURAL: ": ace and ten"}.get(result, f": {result + 16}")
    player = f"player: {int(state.player_sum)}" + (", usable ace" if int(state.usable_ace) else "")
    if int(state.player_sum) > 21:
        player += ", bust"
    felt: tuple[Shape, ...] = (Rect(0.0, 0.0, 6.0, 4.0, "#2f6b4f", radius=0.2),)
    words = (
        Text(3.0, 1.2, f"dealer shows {'an ace' if shown == 1 else shown}{ending}", 0.36, "#f4f1ea"),
        Text(3.0, 2.8, player, 0.36, "#f4f1ea"),
    )
    return Scene(6.0, 4.0, felt, words)
