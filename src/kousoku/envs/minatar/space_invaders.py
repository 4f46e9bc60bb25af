"""MinAtar's Space Invaders: a cannon against waves of aliens that come down and shoot back."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from .game import FIRE, LEFT, OFF_GRID, RIGHT, SIZE, STAY, Flag, MinAtar, Rows, Whole, move, plane, side, spot

HEIGHT, WIDTH = 4, 6
WAVE = (1 << HEIGHT * WIDTH) - 1
LEFT_COLUMN = 2
GROUND = SIZE - 1
SHOT_COOL_DOWN = 5
MOVE_INTERVAL, LEAST_MOVE_INTERVAL = 12, 6
ALIEN_SHOT_INTERVAL = 10
BULLETS = 2


class Aliens(eqx.Module):
    """A wave of aliens, which all move at once.

    Attributes:
        alive: a bit for each, row by row.
        left: column of the wave's first column.
        top: row of the wave's first row.
        direction: -1 to the left, 1 to the right.
    """

    alive: Whole
    left: Whole
    top: Whole
    direction: Whole


class SpaceInvadersState(eqx.Module):
    """Cannon, aliens and bullets.

    There are two bullets at most, as each flies for nine steps and a new one comes after five; and one of the aliens',
    as each is gone when the next comes.

    Attributes:
        pos: column of the cannon.
        aliens: the wave.
        bullet_x, bullet_y: [2] the cannon's bullets, the later first; row -1 where there is none.
        alien_bullet_x, alien_bullet_y: the aliens' bullet; row -1 where there is none.
        shot_timer: steps until the cannon may fire.
        move_interval: most steps between two moves of the aliens.
        alien_move_timer: steps until the aliens move.
        alien_shot_timer: steps until one of them fires.
        ramp_index: how often the game became harder.
    """

    pos: Whole
    aliens: Aliens
    bullet_x: Int[Array, "2"]
    bullet_y: Int[Array, "2"]
    alien_bullet_x: Whole
    alien_bullet_y: Whole
    shot_timer: Whole
    move_interval: Whole
    alien_move_timer: Whole
    alien_shot_timer: Whole
    ramp_index: Whole


class SpaceInvaders(MinAtar):
    """MinAtar's Space Invaders.

    The cannon moves along the ground and fires upwards. Aliens move to the side, and down where one of them is at the
    edge; the fewer there are the faster. The nearest one fires back. Each alien that is hit gives 1. When all are gone
    the next wave comes, with `difficulty_ramping` a little faster. The episode terminates where an alien or its bullet
    reaches the cannon, or an alien the ground and the edge. Nothing but sticky actions is random. Channels: cannon,
    alien, alien_left, alien_right (the aliens again, by where they go), friendly_bullet, enemy_bullet.

    References:
        Young and Tian, MinAtar, arXiv:1903.03176; the package minatar 1.0.15.

    Examples:
        >>> env = SpaceInvaders(use_minimal_action_set=True)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> timestep.obs.shape, env.action_space
        ((10, 10, 6), Discrete(n=4))
    """

    channels: ClassVar[tuple[str, ...]] = (
        "cannon", "alien", "alien_left", "alien_right", "friendly_bullet", "enemy_bullet"
    )  # fmt: skip
    minimal_actions: ClassVar[tuple[int, ...]] = (STAY, LEFT, RIGHT, FIRE)
    words_to_start: ClassVar[int] = 0
    words_to_play: ClassVar[int] = 0

    def start(self, words: UInt32[Array, " n"]) -> SpaceInvadersState:
        return first_state()

    def draw(self, words: UInt32[Array, " n"]) -> None:
        return None

    def play(self, game: SpaceInvadersState, action: Whole, draws: None) -> tuple[SpaceInvadersState, Whole, Flag]:
        return play(game, action, self.difficulty_ramping)

    def planes(self, game: SpaceInvadersState) -> tuple[Rows, ...]:
        aliens, none = alien_plane(game.aliens), jnp.int32(0)
        to_left = game.aliens.direction < 0
        return (
            spot(game.pos, jnp.int32(GROUND)),
            aliens,
            jnp.where(to_left, aliens, none),
            jnp.where(to_left, none, aliens),
            plane(game.bullet_x, game.bullet_y, game.bullet_y != OFF_GRID),
            spot(game.alien_bullet_x, game.alien_bullet_y),
        )


def first_state() -> SpaceInvadersState:
    """Returns a game with a whole wave and no bullet."""
    off_grid = jnp.int32(OFF_GRID)
    return SpaceInvadersState(
        pos=jnp.int32(5),
        aliens=Aliens(jnp.int32(WAVE), jnp.int32(LEFT_COLUMN), jnp.int32(0), jnp.int32(-1)),
        bullet_x=jnp.zeros((BULLETS,), jnp.int32),
        bullet_y=jnp.full((BULLETS,), OFF_GRID, jnp.int32),
        alien_bullet_x=jnp.int32(0),
        alien_bullet_y=off_grid,
        shot_timer=jnp.int32(0),
        move_interval=jnp.int32(MOVE_INTERVAL),
        alien_move_timer=jnp.int32(MOVE_INTERVAL),
        alien_shot_timer=jnp.int32(ALIEN_SHOT_INTERVAL),
        ramp_index=jnp.int32(0),
    )


def play(game: SpaceInvadersState, action: Whole, ramping: bool) -> tuple[SpaceInvadersState, Whole, Flag]:
    """Moves the cannon, bullets and aliens, in this order, and then looks what is hit: returns (game, reward,
    terminated).
    """
    fires = (action == FIRE) & (game.shot_timer == 0)
    shot_timer = jnp.where(fires, SHOT_COOL_DOWN, game.shot_timer)
    pos = move(game.pos, side(action, LEFT, RIGHT))
    bullet_x = jnp.where(fires, jnp.stack([pos, game.bullet_x[0]]), game.bullet_x)
    bullet_y = jnp.where(fires, jnp.stack([jnp.int32(GROUND), game.bullet_y[0]]), game.bullet_y)
    bullet_y = jnp.maximum(bullet_y - 1, OFF_GRID)

    falls = (game.alien_bullet_y != OFF_GRID) & (game.alien_bullet_y < GROUND)
    alien_bullet_y = jnp.where(falls, game.alien_bullet_y + 1, OFF_GRID)
    shot = (alien_bullet_y == GROUND) & (game.alien_bullet_x == pos)
    caught = alien_at(game.aliens, pos, jnp.int32(GROUND)) != 0

    aliens, alien_move_timer, met = aliens_after(game, pos)
    caught = caught | met

    answers = game.alien_shot_timer == 0
    nearest_x, nearest_y = nearest_alien(aliens, pos)
    alien_shot_timer = jnp.where(answers, ALIEN_SHOT_INTERVAL, game.alien_shot_timer) - 1

    hits = alien_at(aliens, bullet_x, bullet_y)
    bullet_y = jnp.where(hits != 0, OFF_GRID, bullet_y)
    left = aliens.alive & ~(hits[0] | hits[1])
    cleared = left == 0
    harder = (cleared & (game.move_interval > LEAST_MOVE_INTERVAL) & ramping).astype(jnp.int32)
    fresh = Aliens(jnp.int32(WAVE), jnp.int32(LEFT_COLUMN), jnp.int32(0), aliens.direction)
    rest = Aliens(left, aliens.left, aliens.top, aliens.direction)
    next_state = SpaceInvadersState(
        pos=pos,
        aliens=jax.tree.map(lambda new, old: jnp.where(cleared, new, old), fresh, rest),
        bullet_x=bullet_x,
        bullet_y=bullet_y,
        alien_bullet_x=jnp.where(answers, nearest_x, game.alien_bullet_x),
        alien_bullet_y=jnp.where(answers, nearest_y, alien_bullet_y),
        shot_timer=shot_timer - (shot_timer > 0).astype(jnp.int32),
        move_interval=game.move_interval - harder,
        alien_move_timer=alien_move_timer,
        alien_shot_timer=alien_shot_timer,
        ramp_index=game.ramp_index + harder,
    )
    reward = jnp.sum(hits != 0, dtype=jnp.int32)
    return next_state, reward, shot | caught


def aliens_after(game: SpaceInvadersState, pos: Whole) -> tuple[Aliens, Whole, Flag]:
    """Returns the aliens after a step, their timer, and whether they moved and landed, or onto the cannon."""
    moves = game.alien_move_timer == 0
    moved, landed = moved_aliens(game.aliens)
    aliens = jax.tree.map(lambda new, old: jnp.where(moves, new, old), moved, game.aliens)
    number = jnp.bitwise_count(game.aliens.alive).astype(jnp.int32)
    alien_move_timer = jnp.where(moves, jnp.minimum(number, game.move_interval), game.alien_move_timer) - 1
    return aliens, alien_move_timer, moves & (landed | (alien_at(aliens, pos, jnp.int32(GROUND)) != 0))


def moved_aliens(aliens: Aliens) -> tuple[Aliens, Flag]:
    """Returns the aliens after a move, and whether one of them was on the ground when all turned at the edge.

    What leaves the ground comes in at the top: the package rolls its map, in the step that terminates the episode.
    """
    outer = jnp.where(aliens.direction < 0, 0, SIZE - 1) - aliens.left
    inside = (outer >= 0) & (outer < WIDTH)
    turns = inside & ((columns(aliens) >> jnp.clip(outer, 0, WIDTH - 1) & 1) != 0)
    lowest = GROUND - aliens.top
    row = (aliens.alive >> (WIDTH * jnp.clip(lowest, 0, HEIGHT - 1))) & ((1 << WIDTH) - 1)
    landed = turns & (lowest < HEIGHT) & (row != 0)
    down = jnp.where(aliens.top == GROUND, 0, aliens.top + 1)
    moved = Aliens(
        alive=aliens.alive,
        left=jnp.where(turns, aliens.left, aliens.left + aliens.direction),
        top=jnp.where(turns, down, aliens.top),
        direction=jnp.where(turns, -aliens.direction, aliens.direction),
    )
    return moved, landed


def columns(aliens: Aliens) -> Whole:
    """Returns a bit for each of the wave's columns in which an alien is alive."""
    both = aliens.alive | (aliens.alive >> 2 * WIDTH)
    return (both | (both >> WIDTH)) & ((1 << WIDTH) - 1)


def alien_at(aliens: Aliens, x: Int[Array, "*n"], y: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Returns the bit of the alien that is alive in a cell; 0 where there is none."""
    column, row = x - aliens.left, y - aliens.top
    row = jnp.where(row < 0, row + SIZE, row)  # a wave that has left the ground goes on at the top
    inside = (y >= 0) & (column >= 0) & (column < WIDTH) & (row < HEIGHT)
    bit = jnp.left_shift(1, jnp.clip(row * WIDTH + column, 0, 31))
    return jnp.where(inside, aliens.alive & bit, 0)


def nearest_alien(aliens: Aliens, pos: Whole) -> tuple[Whole, Whole]:
    """Returns the cell of the alien that fires: the lowest of the column nearest to the cannon, of two the left one."""
    column = jnp.arange(WIDTH, dtype=jnp.int32)
    x = aliens.left + column
    order = jnp.where((columns(aliens) >> column) & 1 == 1, 2 * jnp.abs(x - pos) + (x > pos).astype(jnp.int32), 1 << 10)
    chosen = jnp.min(order) == order
    nearest = jnp.sum(jnp.where(chosen, column, 0), dtype=jnp.int32)
    row = jnp.arange(HEIGHT, dtype=jnp.int32)
    y = wave_rows(aliens)
    lowest = jnp.max(jnp.where(aliens.alive >> (row * WIDTH + nearest) & 1 == 1, y, 0))
    return aliens.left + nearest, lowest


def wave_rows(aliens: Aliens) -> Int[Array, "4"]:
    """Returns in which rows the wave's rows are."""
    y = aliens.top + jnp.arange(HEIGHT, dtype=jnp.int32)
    return jnp.where(y >= SIZE, y - SIZE, y)


def alien_plane(aliens: Aliens) -> Rows:
    """Returns the plane of all aliens."""
    row = jnp.arange(HEIGHT, dtype=jnp.int32)
    bits = (aliens.alive >> (row * WIDTH)) & ((1 << WIDTH) - 1)
    shifted = jnp.where(aliens.left >= 0, bits << jnp.maximum(aliens.left, 0), bits >> jnp.maximum(-aliens.left, 0))
    at_row = jnp.arange(SIZE, dtype=jnp.int32)[:, None] == wave_rows(aliens)[None, :]
    return jax.lax.reduce_or(jnp.where(at_row, shifted[None, :], 0), axes=(1,))
