"""MinAtar's Seaquest: a submarine picks up divers, shoots fish and submarines, and needs air."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32

from .divers import MOST_ABOARD, Divers, diver_planes, no_divers, swum, with_diver
from .enemies import Bullets, fired, flown, no_bullets
from .enemy_groups import AllEnemies, Arrival, advanced, group_planes, nobody
from .game import (
    ALL_ACTIONS,
    DOWN,
    FIRE,
    LEFT,
    RIGHT,
    SIZE,
    UP,
    Flag,
    MinAtar,
    Rows,
    Whole,
    digits,
    move,
    plane,
    side,
    spot,
)

MAX_OXYGEN = 200
OXYGEN_A_CELL = MAX_OXYGEN // SIZE
SPAWN_SPEED, DIVER_SPAWN_SPEED = 20, 30
MOVE_INTERVAL, LEAST_MOVE_INTERVAL = 5, 2
SHOT_COOL_DOWN = 5
ROWS = 8
GAUGES = SIZE - 1


class SeaquestState(eqx.Module):
    """The player's submarine, and all that is under water.

    Attributes:
        x, y: the cell of its front.
        right: whether it looks to the right.
        oxygen: steps that its air lasts.
        aboard: divers that it has picked up.
        surfaced: whether it has been at the surface since the step before.
        bullets: its bullets.
        divers: under water.
        enemies: fish and submarines, with their bullets.
        spawn_speed: steps between two enemies that appear.
        spawn_timer: steps until the next appears.
        diver_timer: steps until the next diver appears.
        move_speed: steps between two moves of an enemy, less one.
        ramp_index: how often the game became harder.
        shot_timer: steps until the player may fire.
    """

    x: Whole
    y: Whole
    right: Flag
    oxygen: Whole
    aboard: Whole
    surfaced: Flag
    bullets: Bullets
    divers: Divers
    enemies: AllEnemies
    spawn_speed: Whole
    spawn_timer: Whole
    diver_timer: Whole
    move_speed: Whole
    ramp_index: Whole
    shot_timer: Whole


class SeaquestDraws(eqx.Module):
    """The draws of a step: where something appears, and what.

    Attributes:
        right: whether an enemy goes to the right.
        submarine: whether it is a submarine, with probability 1/3.
        y: its row, 1 to 8.
        diver_right: whether a diver goes to the right.
        diver_y: its row, 1 to 8.
    """

    right: Flag
    submarine: Flag
    y: Whole
    diver_right: Flag
    diver_y: Whole


class Seaquest(MinAtar):
    """MinAtar's Seaquest.

    The player's submarine moves anywhere but on the sea floor and fires to where it looks. A fish or submarine that it
    hits, or that runs into its bullet, gives 1. Its air lasts 200 steps and is new at the surface, where one of the
    divers aboard leaves; all six leave at once, for a reward of 1 for each twentieth step of air that is left. Every
    time the game becomes harder, with `difficulty_ramping`. The episode terminates where an enemy or its bullet reaches
    the player, without air, and at the surface without divers. As in the package, six that leave at once leave -1
    behind: from then on the surface is safe without divers, until as many are picked up. Channels: sub_front, sub_back,
    friendly_bullet, trail, enemy_bullet, enemy_fish, enemy_sub, oxygen_guage, diver_guage, diver.

    References:
        Young and Tian, MinAtar, arXiv:1903.03176; the package minatar 1.0.15.

    Examples:
        >>> env = Seaquest()
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> timestep.obs.shape, env.action_space
        ((10, 10, 10), Discrete(n=6))
    """

    channels: ClassVar[tuple[str, ...]] = (
        "sub_front", "sub_back", "friendly_bullet", "trail", "enemy_bullet",
        "enemy_fish", "enemy_sub", "oxygen_guage", "diver_guage", "diver",
    )  # fmt: skip
    minimal_actions: ClassVar[tuple[int, ...]] = ALL_ACTIONS
    words_to_start: ClassVar[int] = 0
    words_to_play: ClassVar[int] = 1

    def start(self, words: UInt32[Array, " n"]) -> SeaquestState:
        return first_state()

    def draw(self, words: UInt32[Array, " n"]) -> SeaquestDraws:
        (right, submarine, y, diver_right, diver_y), _ = digits(words[0], 2, 3, ROWS, 2, ROWS)
        return SeaquestDraws(right == 0, submarine == 0, y + 1, diver_right == 0, diver_y + 1)

    def play(self, game: SeaquestState, action: Whole, draws: SeaquestDraws) -> tuple[SeaquestState, Whole, Flag]:
        return play(game, action, draws, self.difficulty_ramping)

    def planes(self, game: SeaquestState) -> tuple[Rows, ...]:
        fish, submarines, enemy_trails, enemy_bullets = group_planes(game.enemies)
        divers, diver_trails = diver_planes(game.divers)
        columns, floor = jnp.arange(SIZE, dtype=jnp.int32), jnp.int32(GAUGES)
        air = jax.lax.div(jnp.maximum(game.oxygen, 0), jnp.int32(OXYGEN_A_CELL))
        rows = jnp.zeros((SIZE,), jnp.int32) + floor
        return (
            spot(game.x, game.y),
            spot(game.x - jnp.where(game.right, 1, -1), game.y),
            plane(game.bullets.x, game.bullets.y, game.bullets.x >= 0),
            enemy_trails | diver_trails,
            enemy_bullets,
            fish,
            submarines,
            plane(columns, rows, columns < air),
            plane(columns, rows, (columns >= GAUGES - game.aboard) & (columns < GAUGES)),
            divers,
        )


def first_state() -> SeaquestState:
    """Returns a game in which the player is alone, at the surface."""
    return SeaquestState(
        x=jnp.int32(5),
        y=jnp.int32(0),
        right=jnp.array(False),
        oxygen=jnp.int32(MAX_OXYGEN),
        aboard=jnp.int32(0),
        surfaced=jnp.array(True),
        bullets=no_bullets(),
        divers=no_divers(),
        enemies=nobody(),
        spawn_speed=jnp.int32(SPAWN_SPEED),
        spawn_timer=jnp.int32(SPAWN_SPEED),
        diver_timer=jnp.int32(DIVER_SPAWN_SPEED),
        move_speed=jnp.int32(MOVE_INTERVAL),
        ramp_index=jnp.int32(0),
        shot_timer=jnp.int32(0),
    )


def play(game: SeaquestState, action: Whole, draws: SeaquestDraws, ramping: bool) -> tuple[SeaquestState, Whole, Flag]:
    """Lets others appear, moves the player, its bullets, divers and enemies, in this order, and then looks to its air:
    returns (game, reward, terminated).
    """
    due, diver_due = game.spawn_timer == 0, game.diver_timer == 0
    divers = with_diver(game.divers, diver_due, draws.diver_right, draws.diver_y)
    spawn_timer = jnp.where(due, game.spawn_speed, game.spawn_timer)
    diver_timer = jnp.where(diver_due, DIVER_SPAWN_SPEED, game.diver_timer)

    fires = (action == FIRE) & (game.shot_timer == 0)
    shot_timer = jnp.where(fires, SHOT_COOL_DOWN, game.shot_timer)
    bullets = flown(fired(game.bullets, fires, game.x, game.y, game.right))
    x, y = move(game.x, side(action, LEFT, RIGHT)), move(game.y, side(action, UP, DOWN), 0, ROWS)
    right = (action == RIGHT) | (game.right & (action != LEFT))

    divers, aboard = swum(divers, x, y, game.aboard)
    arrival = Arrival(due, draws.right, draws.submarine, draws.y)
    enemies, bullets, met, caught = advanced(game.enemies, bullets, arrival, x, y, game.move_speed)
    under = SeaquestState(
        x=x,
        y=y,
        right=right,
        oxygen=game.oxygen,
        aboard=aboard,
        surfaced=game.surfaced,
        bullets=bullets,
        divers=divers,
        enemies=enemies,
        spawn_speed=game.spawn_speed,
        spawn_timer=spawn_timer - (spawn_timer > 0).astype(jnp.int32),
        diver_timer=diver_timer - (diver_timer > 0).astype(jnp.int32),
        move_speed=game.move_speed,
        ramp_index=game.ramp_index,
        shot_timer=shot_timer - (shot_timer > 0).astype(jnp.int32),
    )
    after, saved, suffocated = breathed(under, ramping)
    return after, met + saved, caught | suffocated


def breathed(game: SeaquestState, ramping: bool) -> tuple[SeaquestState, Whole, Flag]:
    """Uses air, or takes it at the surface: returns (game, reward of divers, terminated)."""
    below = game.y > 0
    arrives = ~below & ~game.surfaced
    surfaces = arrives & (game.aboard != 0)
    full = surfaces & (game.aboard == MOST_ABOARD)
    reward = jnp.where(full, jax.lax.div(game.oxygen, jnp.int32(OXYGEN_A_CELL)), 0)
    left = jnp.where(full, 0, game.aboard) - surfaces.astype(jnp.int32)
    harder = surfaces & ramping & ((game.spawn_speed > 1) | (game.move_speed > LEAST_MOVE_INTERVAL))
    faster = harder & (game.move_speed > LEAST_MOVE_INTERVAL) & (game.ramp_index % 2 == 1)
    after = eqx.tree_at(
        lambda g: (g.oxygen, g.aboard, g.surfaced, g.spawn_speed, g.move_speed, g.ramp_index),
        game,
        (
            jnp.where(surfaces, MAX_OXYGEN, game.oxygen - below.astype(jnp.int32)),
            left,
            ~below & (game.surfaced | surfaces),
            game.spawn_speed - (harder & (game.spawn_speed > 1)).astype(jnp.int32),
            game.move_speed - faster.astype(jnp.int32),
            game.ramp_index + harder.astype(jnp.int32),
        ),
    )
    return after, reward, (game.oxygen <= 0) | (arrives & (game.aboard == 0))
