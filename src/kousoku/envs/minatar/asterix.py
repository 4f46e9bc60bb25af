"""MinAtar's Asterix: gather gold, flee enemies, which cross the rows ever faster."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from ...ops.exploration import pick
from .game import (
    DOWN,
    LEFT,
    RIGHT,
    SIZE,
    STAY,
    UP,
    Flag,
    MinAtar,
    Rows,
    Whole,
    column_bit,
    count,
    digits,
    move,
    side,
    spot,
)

ROWS = 8
RAMP_INTERVAL = 100
SPAWN_SPEED, MOVE_INTERVAL = 10, 5
NOTHING, ENEMY, GOLD = 0, 1, 2


class AsterixState(eqx.Module):
    """The player, and what crosses each of the rows 1 to 8.

    Attributes:
        player_x, player_y: where the player is.
        kind: [8] of what is in each row: 0 nothing, 1 an enemy, 2 gold.
        x: [8] its column.
        dx: [8] where it goes, -1 or 1.
        spawn_speed: steps between two that appear.
        spawn_timer: steps until the next appears.
        move_speed: steps between two moves of all, less one.
        move_timer: steps until the next move.
        ramp_timer: steps until the game becomes harder.
        ramp_index: how often it has become harder.
    """

    player_x: Whole
    player_y: Whole
    kind: Int[Array, "8"]
    x: Int[Array, "8"]
    dx: Int[Array, "8"]
    spawn_speed: Whole
    spawn_timer: Whole
    move_speed: Whole
    move_timer: Whole
    ramp_timer: Whole
    ramp_index: Whole


class AsterixDraws(eqx.Module):
    """The draws of a step: where something appears, and what.

    Attributes:
        right: whether it goes to the right.
        gold: whether it is gold, with probability 1/3.
        row: a word: which of the rows without anything.
    """

    right: Flag
    gold: Flag
    row: UInt32[Array, ""]


class Asterix(MinAtar):
    """MinAtar's Asterix.

    The player moves over the rows 1 to 8. Enemies and gold appear at either end of a row that is empty and cross it.
    Gold gives 1, to meet an enemy terminates the episode. With `difficulty_ramping` more appear as time goes on, and
    all become faster. Channels: player, enemy, trail (where enemies and gold came from), gold.

    References:
        Young and Tian, MinAtar, arXiv:1903.03176; the package minatar 1.0.15.

    Examples:
        >>> import jax
        >>> env = Asterix(use_minimal_action_set=True)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> timestep.obs.shape, env.action_space
        ((10, 10, 4), Discrete(n=5))
    """

    channels: ClassVar[tuple[str, ...]] = ("player", "enemy", "trail", "gold")
    minimal_actions: ClassVar[tuple[int, ...]] = (STAY, LEFT, UP, RIGHT, DOWN)
    words_to_start: ClassVar[int] = 0
    words_to_play: ClassVar[int] = 1

    def start(self, words: UInt32[Array, " n"]) -> AsterixState:
        return first_state()

    def draw(self, words: UInt32[Array, " n"]) -> AsterixDraws:
        (right, gold), row = digits(words[0], 2, 3)
        return AsterixDraws(right == 0, gold == 0, row)

    def play(self, game: AsterixState, action: Whole, draws: AsterixDraws) -> tuple[AsterixState, Whole, Flag]:
        return play(game, action, draws, self.difficulty_ramping)

    def planes(self, game: AsterixState) -> tuple[Rows, ...]:
        here, behind = column_bit(game.x), column_bit(game.x - game.dx)

        def of(kind: Bool[Array, "8"], bits: Int[Array, "8"]) -> Rows:
            return jnp.pad(jnp.where(kind, bits, 0), 1)

        enemy, gold = of(game.kind == ENEMY, here), of(game.kind == GOLD, here)
        return spot(game.player_x, game.player_y), enemy, of(game.kind != NOTHING, behind), gold


def first_state() -> AsterixState:
    """Returns a game with nothing but the player."""
    none = jnp.zeros((ROWS,), jnp.int32)
    return AsterixState(
        player_x=jnp.int32(5),
        player_y=jnp.int32(5),
        kind=none,
        x=none,
        dx=none + 1,
        spawn_speed=jnp.int32(SPAWN_SPEED),
        spawn_timer=jnp.int32(SPAWN_SPEED),
        move_speed=jnp.int32(MOVE_INTERVAL),
        move_timer=jnp.int32(MOVE_INTERVAL),
        ramp_timer=jnp.int32(RAMP_INTERVAL),
        ramp_index=jnp.int32(0),
    )


def play(game: AsterixState, action: Whole, draws: AsterixDraws, ramping: bool) -> tuple[AsterixState, Whole, Flag]:
    """Lets something appear, moves the player, then all else: returns (game, reward, terminated)."""
    rows = jnp.arange(ROWS, dtype=jnp.int32)
    due = game.spawn_timer == 0
    new = due & (rows == pick(game.kind == NOTHING, draws.row))
    kind = jnp.where(new, jnp.where(draws.gold, GOLD, ENEMY), game.kind)
    x = jnp.where(new, jnp.where(draws.right, 0, SIZE - 1), game.x)
    dx = jnp.where(new, jnp.where(draws.right, 1, -1), game.dx)

    player_x = move(game.player_x, side(action, LEFT, RIGHT))
    player_y = move(game.player_y, side(action, UP, DOWN), 1, ROWS)
    player_row = rows + 1 == player_y
    met = player_row & (x == player_x)
    taken, hit = met & (kind == GOLD), met & (kind == ENEMY)
    kind = jnp.where(taken, NOTHING, kind)

    moves = game.move_timer == 0
    x = jnp.where(moves, x + dx, x)
    kind = jnp.where((x < 0) | (x >= SIZE), NOTHING, kind)
    met = player_row & (x == player_x) & moves
    taken_later, hit_later = met & (kind == GOLD), met & (kind == ENEMY)
    kind = jnp.where(taken_later, NOTHING, kind)

    harder = ramp(game) if ramping else game
    next_state = AsterixState(
        player_x=player_x,
        player_y=player_y,
        kind=kind,
        x=x,
        dx=dx,
        spawn_speed=harder.spawn_speed,
        spawn_timer=jnp.where(due, game.spawn_speed, game.spawn_timer) - 1,
        move_speed=harder.move_speed,
        move_timer=jnp.where(moves, game.move_speed, game.move_timer) - 1,
        ramp_timer=harder.ramp_timer,
        ramp_index=harder.ramp_index,
    )
    return next_state, count(taken) + count(taken_later), jnp.any(hit | hit_later)


def ramp(game: AsterixState) -> AsterixState:
    """Returns the game with its speeds and its ramp after a step: harder every 102nd, until it is as hard as can be."""
    open_ = (game.spawn_speed > 1) | (game.move_speed > 1)
    now = open_ & (game.ramp_timer < 0)
    slower = now & (game.move_speed > 1) & (game.ramp_index % 2 == 1)
    return eqx.tree_at(
        lambda g: (g.spawn_speed, g.move_speed, g.ramp_timer, g.ramp_index),
        game,
        (
            game.spawn_speed - (now & (game.spawn_speed > 1)).astype(jnp.int32),
            game.move_speed - slower.astype(jnp.int32),
            jnp.where(now, RAMP_INTERVAL, game.ramp_timer - open_.astype(jnp.int32)),
            game.ramp_index + now.astype(jnp.int32),
        ),
    )
