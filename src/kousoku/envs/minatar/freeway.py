"""MinAtar's Freeway: a chicken crosses eight rows of cars."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from .game import DOWN, SIZE, STAY, UP, Flag, MinAtar, Rows, Whole, column_bit, digits, move, side, spot

CARS = 8
FASTEST, SLOWEST = 1, 5
PLAYER_SPEED = 3
TIME_LIMIT = 2500
COLUMN, HOME = 4, SIZE - 1


class FreewayState(eqx.Module):
    """The chicken, and a car in each of the rows 1 to 8.

    Attributes:
        pos: row of the chicken, which is always in column 4.
        x: [8] columns of the cars.
        wait: [8] steps until a car moves.
        speed: [8] steps between two moves of a car, less one; negative to the left.
        move_timer: steps until the chicken may move.
        terminate_timer: steps that are left, less one.
    """

    pos: Whole
    x: Int[Array, "8"]
    wait: Int[Array, "8"]
    speed: Int[Array, "8"]
    move_timer: Whole
    terminate_timer: Whole


class Freeway(MinAtar):
    """MinAtar's Freeway.

    The chicken moves up and down, at most every third step. Each time it reaches the other side gives 1, puts it back
    and gives all cars new speeds and directions; a car that hits it puts it back. The episode terminates after 2501
    steps. Channels: chicken, car, and five for the speed of a car, which show where it came from.

    References:
        Young and Tian, MinAtar, arXiv:1903.03176; the package minatar 1.0.15.

    Examples:
        >>> import jax
        >>> env = Freeway(use_minimal_action_set=True)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> timestep.obs.shape, env.action_space
        ((10, 10, 7), Discrete(n=3))
    """

    channels: ClassVar[tuple[str, ...]] = ("chicken", "car", "speed1", "speed2", "speed3", "speed4", "speed5")
    minimal_actions: ClassVar[tuple[int, ...]] = (STAY, UP, DOWN)
    words_to_start: ClassVar[int] = 2
    words_to_play: ClassVar[int] = 2

    def start(self, words: UInt32[Array, " n"]) -> FreewayState:
        return first_state(speeds(words))

    def draw(self, words: UInt32[Array, " n"]) -> Int[Array, "8"]:
        return speeds(words)

    def play(self, game: FreewayState, action: Whole, draws: Int[Array, "8"]) -> tuple[FreewayState, Whole, Flag]:
        return play(game, action, draws)

    def planes(self, game: FreewayState) -> tuple[Rows, ...]:
        behind = column_bit((game.x - jnp.sign(game.speed)) % SIZE)
        trails = [jnp.pad(jnp.where(jnp.abs(game.speed) == n, behind, 0), 1) for n in range(FASTEST, SLOWEST + 1)]
        return spot(jnp.int32(COLUMN), game.pos), jnp.pad(column_bit(game.x), 1), *trails


def speeds(words: UInt32[Array, "2"]) -> Int[Array, "8"]:
    """Draws the cars' speeds, 1 to 5, and directions, all equally likely; four cars share a word."""
    drawn = []
    for word in (words[0], words[1]):
        numbers, _ = digits(word, *(SLOWEST, 2) * (CARS // 2))
        drawn += [(speed + 1) * (2 * right - 1) for speed, right in zip(numbers[::2], numbers[1::2], strict=True)]
    return jnp.stack(drawn)


def first_state(speed: Int[Array, "8"]) -> FreewayState:
    """Returns a game whose cars are all in the first column."""
    return FreewayState(
        pos=jnp.int32(HOME),
        x=jnp.zeros((CARS,), jnp.int32),
        wait=jnp.abs(speed),
        speed=speed,
        move_timer=jnp.int32(PLAYER_SPEED),
        terminate_timer=jnp.int32(TIME_LIMIT),
    )


def play(game: FreewayState, action: Whole, new_speed: Int[Array, "8"]) -> tuple[FreewayState, Whole, Flag]:
    """Moves the chicken, then the cars: returns (game, reward, terminated)."""
    vertical = jnp.where(game.move_timer == 0, side(action, UP, DOWN), 0)
    move_timer = jnp.where(vertical != 0, PLAYER_SPEED, game.move_timer)
    pos = move(game.pos, vertical)
    across = pos == 0
    pos = jnp.where(across, HOME, pos)
    speed = jnp.where(across, new_speed, game.speed)
    wait = jnp.where(across, jnp.abs(new_speed), game.wait)

    moves = wait == 0
    x = jnp.where(moves, game.x + jnp.sign(speed), game.x)
    x = jnp.where(x < 0, SIZE - 1, jnp.where(x >= SIZE, 0, x))
    in_its_row = jnp.arange(1, CARS + 1, dtype=jnp.int32) == pos
    hit = jnp.any(in_its_row & ((game.x == COLUMN) | (x == COLUMN)))
    left = game.terminate_timer - 1
    next_state = FreewayState(
        pos=jnp.where(hit, HOME, pos),
        x=x,
        wait=jnp.where(moves, jnp.abs(speed), wait - 1),
        speed=speed,
        move_timer=move_timer - (move_timer > 0).astype(jnp.int32),
        terminate_timer=left,
    )
    return next_state, across.astype(jnp.int32), left < 0
