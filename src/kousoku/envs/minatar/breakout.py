"""MinAtar's Breakout: a paddle keeps a ball in play, which breaks three rows of bricks."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, UInt32

from .game import LEFT, RIGHT, SIZE, STAY, Flag, MinAtar, Rows, Whole, digits, move, side, spot

BRICK_ROWS = range(1, 4)
WALL = (1 << SIZE * len(BRICK_ROWS)) - 1
FLOOR = SIZE - 1


class BreakoutState(eqx.Module):
    """Paddle, ball and bricks.

    Attributes:
        pos: column of the paddle.
        ball_x, ball_y: where the ball is.
        dx, dy: where it goes next, each -1 or 1.
        last_x, last_y: where it was, or would have been without a bounce: the trail.
        bricks: a bit for each of rows 1 to 3, row by row.
        strike: the ball was in a brick's cell in the last step, so that it breaks none in this one.
    """

    pos: Whole
    ball_x: Whole
    ball_y: Whole
    dx: Whole
    dy: Whole
    last_x: Whole
    last_y: Whole
    bricks: Whole
    strike: Flag


class Breakout(MinAtar):
    """MinAtar's Breakout.

    A paddle moves along the floor. The ball goes diagonally, is reflected by walls and bricks, and by the paddle: back
    where it came from if it meets the paddle from aside. Each brick that breaks gives 1, and when all are gone and the
    ball comes down, three new rows stand. The episode terminates where the ball reaches the floor beside the paddle.
    It starts in one of the upper corners, each equally likely. Channels: paddle, ball, trail, brick.

    References:
        Young and Tian, MinAtar, arXiv:1903.03176; the package minatar 1.0.15.

    Examples:
        >>> import jax
        >>> env = Breakout(use_minimal_action_set=True)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> timestep.obs.shape, env.action_space
        ((10, 10, 4), Discrete(n=3))
    """

    channels: ClassVar[tuple[str, ...]] = ("paddle", "ball", "trail", "brick")
    minimal_actions: ClassVar[tuple[int, ...]] = (STAY, LEFT, RIGHT)
    words_to_start: ClassVar[int] = 1
    words_to_play: ClassVar[int] = 0

    def start(self, words: UInt32[Array, " n"]) -> BreakoutState:
        (right,), _ = digits(words[0], 2)
        return first_state(right)

    def draw(self, words: UInt32[Array, " n"]) -> None:
        return None

    def play(self, game: BreakoutState, action: Whole, draws: None) -> tuple[BreakoutState, Whole, Flag]:
        return play(game, action)

    def planes(self, game: BreakoutState) -> tuple[Rows, ...]:
        mask, width = (1 << SIZE) - 1, jnp.int32(0)
        rows: list[Any] = [width] * SIZE
        for i, y in enumerate(BRICK_ROWS):
            rows[y] = (game.bricks >> (i * SIZE)) & mask
        paddle, ball = spot(game.pos, jnp.int32(FLOOR)), spot(game.ball_x, game.ball_y)
        return paddle, ball, spot(game.last_x, game.last_y), jnp.stack(rows)


def first_state(right: Whole) -> BreakoutState:
    """Returns a game whose ball is in the left upper corner (0) or the right one (1)."""
    x, y = right * (SIZE - 1), jnp.int32(3)
    return BreakoutState(
        pos=jnp.int32(4),
        ball_x=x,
        ball_y=y,
        dx=1 - 2 * right,
        dy=jnp.int32(1),
        last_x=x,
        last_y=y,
        bricks=jnp.int32(WALL),
        strike=jnp.array(False),
    )


def play(game: BreakoutState, action: Whole) -> tuple[BreakoutState, Whole, Flag]:
    """Moves the paddle, then the ball: returns (game, reward, terminated)."""
    pos = move(game.pos, side(action, LEFT, RIGHT))
    beyond, y = game.ball_x + game.dx, game.ball_y + game.dy
    x = jnp.clip(beyond, 0, SIZE - 1)
    dx = jnp.where(x == beyond, game.dx, -game.dx)
    ceiling = y < 0
    brick = jnp.where(
        (y >= BRICK_ROWS.start) & (y < BRICK_ROWS.stop),
        jnp.left_shift(1, jnp.clip((y - BRICK_ROWS.start) * SIZE + x, 0, 31)),
        0,
    )
    strike = (game.bricks & brick) != 0
    breaks = strike & ~game.strike
    down = ~strike & (y == FLOOR)
    bricks = jnp.where(down & (game.bricks == 0), WALL, game.bricks & ~jnp.where(breaks, brick, 0))
    # The paddle is met from above by where the ball was, from aside by where it would be.
    above = down & (game.ball_x == pos)
    aside = down & ~above & (x == pos)
    stays = breaks | above | aside
    next_state = BreakoutState(
        pos=pos,
        ball_x=x,
        ball_y=jnp.where(ceiling, 0, jnp.where(stays, game.ball_y, y)),
        dx=jnp.where(aside, -dx, dx),
        dy=jnp.where(ceiling | stays, -game.dy, game.dy),
        last_x=game.ball_x,
        last_y=game.ball_y,
        bricks=bricks,
        strike=strike,
    )
    return next_state, breaks.astype(jnp.int32), down & ~above & ~aside
