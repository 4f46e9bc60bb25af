"""Seaquest's enemies: fish and submarines that cross the rows, and what submarines fire.

The package keeps them in lists, which have no end. There are never more than forty to keep, as one appears in a step at
most, an enemy crosses in 30 steps where as many appear, and the bullet that it may have fired is gone in 10 more.
Where a bullet meets several enemies in a cell, the package takes the first of its list, fish before submarines. Those
of a row go the same way and none overtakes another, so that the first is the one that will move first.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .game import SIZE, Flag, Rows, Whole, count, plane

SLOTS = 40
NOBODY, FISH, SUBMARINE = 0, 1, 2
SHOT_INTERVAL = 10
NOWHERE = -1
LATEST = 1 << 10
BULLETS = 2


class Enemies(eqx.Module):
    """Places for enemies, each with the bullet that it fired last.

    Attributes:
        kind: [40] 0 nobody, 1 a fish, 2 a submarine.
        x, y: [40] its cell.
        dx: [40] where it goes, -1 or 1; and its bullet.
        wait: [40] steps until it moves.
        reload: [40] steps until a submarine fires.
        bullet_x: [40] column of its bullet, which is in its row; -1 where there is none. It outlives who fired it.
    """

    kind: Int[Array, " n"]
    x: Int[Array, " n"]
    y: Int[Array, " n"]
    dx: Int[Array, " n"]
    wait: Int[Array, " n"]
    reload: Int[Array, " n"]
    bullet_x: Int[Array, " n"]


class Bullets(eqx.Module):
    """The player's bullets, the later first; never more than two, as each flies for nine steps and one comes in five.

    Attributes:
        x, y: [2] the cell; column -1 where there is none.
        dx: [2] where it goes, -1 or 1.
    """

    x: Int[Array, "2"]
    y: Int[Array, "2"]
    dx: Int[Array, "2"]


def no_enemies() -> Enemies:
    """Returns places for enemies, all empty."""
    none = jnp.zeros((SLOTS,), jnp.int32)
    return Enemies(none, none, none, none + 1, none, none, none + NOWHERE)


def no_bullets() -> Bullets:
    """Returns no bullets."""
    none = jnp.zeros((BULLETS,), jnp.int32)
    return Bullets(none + NOWHERE, none, none + 1)


def spawned(enemies: Enemies, due: Flag, right: Flag, submarine: Flag, y: Whole, speed: Whole) -> Enemies:
    """Returns the enemies with one more, if it is due and nobody in its row goes the other way."""
    dx = jnp.where(right, 1, -1)
    there = enemies.kind != NOBODY
    against = jnp.any(there & (enemies.y == y) & (enemies.dx != dx))
    empty = (~there & (enemies.bullet_x == NOWHERE)).astype(jnp.int32)
    first = (empty == 1) & (jnp.cumsum(empty, dtype=jnp.int32) == 1)
    new = first & due & ~against
    return Enemies(
        kind=jnp.where(new, jnp.where(submarine, SUBMARINE, FISH), enemies.kind),
        x=jnp.where(new, jnp.where(right, 0, SIZE - 1), enemies.x),
        y=jnp.where(new, y, enemies.y),
        dx=jnp.where(new, dx, enemies.dx),
        wait=jnp.where(new, speed, enemies.wait),
        reload=jnp.where(new, SHOT_INTERVAL, enemies.reload),
        bullet_x=enemies.bullet_x,
    )


def struck(enemies: Enemies, bullets: Bullets) -> tuple[Bool[Array, " n"], Bool[Array, "2"]]:
    """Returns which enemies the bullets strike, and which bullets strike one: of several, fish, and who moves first."""
    order = enemies.wait + jnp.where(enemies.kind == SUBMARINE, LATEST // 2, 0)
    return first_met(enemies, bullets, enemies.kind != NOBODY, order)


def first_met(
    enemies: Enemies, bullets: Bullets, able: Bool[Array, " n"], order: Int[Array, " n"]
) -> tuple[Bool[Array, " n"], Bool[Array, "2"]]:
    """Returns which enemies meet a bullet, one for each bullet, the first in order; and which bullets meet one."""
    met, used = jnp.zeros_like(able), []
    for i in range(BULLETS):
        here = able & (enemies.x == bullets.x[i]) & (enemies.y == bullets.y[i])
        ranks = jnp.where(here, order, LATEST)
        first = jnp.min(ranks)
        met = met | (here & (ranks == first))
        used.append(first < LATEST)
    return met, jnp.stack(used)


def moved(
    enemies: Enemies, bullets: Bullets, x: Whole, y: Whole, speed: Whole
) -> tuple[Enemies, Bullets, Whole, Flag]:
    """Moves all enemies and their bullets: returns (enemies, bullets, enemies that ran into a bullet, player is hit).

    Args:
        enemies: all.
        bullets: the player's.
        x, y: the player's cell.
        speed: steps between two moves of an enemy, less one.
    """
    there = enemies.kind != NOBODY
    in_row = enemies.y == y
    hit = there & in_row & (enemies.x == x)
    moves = there & (enemies.wait == 0)
    to_x = jnp.where(moves, enemies.x + enemies.dx, enemies.x)
    hit = hit | (moves & in_row & (to_x == x))
    submarine = enemies.kind == SUBMARINE
    at = eqx.tree_at(lambda e: e.x, enemies, to_x)
    inside = (to_x >= 0) & (to_x < SIZE)
    ran, used = first_met(at, bullets, moves & inside & ~(in_row & (to_x == x)), jnp.where(submarine, 0, 1))
    gone = ~inside | ran

    fires = submarine & (enemies.reload == 0)
    bullet_x = jnp.where(fires, to_x, enemies.bullet_x)
    flies = (bullet_x >= 0) & (bullet_x < SIZE)
    hit = hit | (flies & in_row & (bullet_x == x))
    bullet_x = jnp.where(flies, bullet_x + enemies.dx, NOWHERE)
    hit = hit | (in_row & (bullet_x == x))
    bullet_x = jnp.where(bullet_x < SIZE, bullet_x, NOWHERE)
    after = Enemies(
        kind=jnp.where(gone, NOBODY, enemies.kind),
        x=to_x,
        y=enemies.y,
        dx=enemies.dx,
        wait=jnp.where(moves, speed, enemies.wait - 1),
        reload=jnp.where(fires, SHOT_INTERVAL, enemies.reload - 1),
        bullet_x=bullet_x,
    )
    return after, spent(bullets, used), count(ran), jnp.any(hit)


def fired(bullets: Bullets, fires: Flag, x: Whole, y: Whole, right: Flag) -> Bullets:
    """Returns the bullets with one more, if it is fired."""

    def before(first: Whole, others: Int[Array, "2"]) -> Int[Array, "2"]:
        return jnp.where(fires, jnp.stack([first, others[0]]), others)

    return Bullets(before(x, bullets.x), before(y, bullets.y), before(jnp.where(right, 1, -1), bullets.dx))


def spent(bullets: Bullets, used: Bool[Array, "2"]) -> Bullets:
    """Returns the bullets without those that are used."""
    return Bullets(jnp.where(used, NOWHERE, bullets.x), bullets.y, bullets.dx)


def flown(bullets: Bullets) -> Bullets:
    """Returns the bullets a cell further; those beyond the edge are gone."""
    x = jnp.where(bullets.x == NOWHERE, NOWHERE, bullets.x + bullets.dx)
    return Bullets(jnp.where((x < 0) | (x >= SIZE), NOWHERE, x), bullets.y, bullets.dx)


def enemy_planes(enemies: Enemies) -> tuple[Rows, Rows, Rows, Rows]:
    """Returns the planes of fish, submarines, where both came from, and bullets of submarines."""
    there = enemies.kind != NOBODY
    fish = plane(enemies.x, enemies.y, enemies.kind == FISH)
    submarines = plane(enemies.x, enemies.y, enemies.kind == SUBMARINE)
    trails = plane(enemies.x - enemies.dx, enemies.y, there)
    return fish, submarines, trails, plane(enemies.bullet_x, enemies.y, enemies.bullet_x != NOWHERE)
