"""Some of Seaquest's enemies: fish and submarines that cross the rows, and what submarines fire.

Where a bullet meets several enemies in a cell, the package takes the first of its list, fish before submarines. Those
of a row go the same way and none overtakes another, so that the first is the one that will move first.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .game import OFF_GRID, SIZE, Flag, Rows, Whole, count, plane

PLACES = 8
NOBODY, FISH, SUBMARINE = 0, 1, 2
SHOT_INTERVAL = 10
LATEST = 1 << 10
BULLETS = 2

Order = Int[Array, "8"]


class Enemies(eqx.Module):
    """Eight places for enemies, each with the bullet that it fired last.

    Attributes:
        kind: [8] 0 nobody, 1 a fish, 2 a submarine.
        x, y: [8] its cell.
        dx: [8] where it goes, -1 or 1; and its bullet.
        wait: [8] steps until it moves.
        reload: [8] steps until a submarine fires.
        bullet_x: [8] column of its bullet, which is in its row; -1 where there is none. It outlives who fired it.
    """

    kind: Int[Array, "8"]
    x: Int[Array, "8"]
    y: Int[Array, "8"]
    dx: Int[Array, "8"]
    wait: Int[Array, "8"]
    reload: Int[Array, "8"]
    bullet_x: Int[Array, "8"]


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
    none = jnp.zeros((PLACES,), jnp.int32)
    return Enemies(none, none, none, none + 1, none, none, none + OFF_GRID)


def no_bullets() -> Bullets:
    """Returns no bullets."""
    none = jnp.zeros((BULLETS,), jnp.int32)
    return Bullets(none + OFF_GRID, none, none + 1)


def occupied(enemies: Enemies) -> Bool[Array, "8"]:
    """Tells for each place whether there is an enemy, or the bullet of one."""
    return (enemies.kind != NOBODY) | (enemies.bullet_x != OFF_GRID)


def busy(enemies: Enemies) -> Flag:
    """Returns whether there is an enemy, or the bullet of one."""
    return jnp.any(occupied(enemies))


def full(enemies: Enemies) -> Flag:
    """Returns whether no place is empty."""
    return jnp.all(occupied(enemies))


def against(enemies: Enemies, y: Whole, dx: Whole) -> Flag:
    """Returns whether one in this row goes the other way."""
    return jnp.any((enemies.kind != NOBODY) & (enemies.y == y) & (enemies.dx != dx))


def placed(enemies: Enemies, wanted: Flag, kind: Whole, y: Whole, dx: Whole, speed: Whole) -> tuple[Enemies, Flag]:
    """Puts one that is wanted in the first empty place: returns (enemies, whether it is still wanted)."""
    empty = (~occupied(enemies)).astype(jnp.int32)
    new = (empty == 1) & (jnp.cumsum(empty, dtype=jnp.int32) == 1) & wanted
    after = Enemies(
        kind=jnp.where(new, kind, enemies.kind),
        x=jnp.where(new, jnp.where(dx > 0, 0, SIZE - 1), enemies.x),
        y=jnp.where(new, y, enemies.y),
        dx=jnp.where(new, dx, enemies.dx),
        wait=jnp.where(new, speed, enemies.wait),
        reload=jnp.where(new, SHOT_INTERVAL, enemies.reload),
        bullet_x=enemies.bullet_x,
    )
    return after, wanted & ~jnp.any(new)


def list_order(enemies: Enemies) -> Order:
    """Returns in which order bullets strike those of a cell: fish before submarines, and who moves first."""
    order = enemies.wait + jnp.where(enemies.kind == SUBMARINE, LATEST // 2, 0)
    return jnp.where(enemies.kind != NOBODY, order, LATEST)


def first_met(enemies: Enemies, order: Order, bullets: Bullets) -> Int[Array, "2"]:
    """Returns the least order of those in the cell of each bullet; `LATEST` where there is none."""
    here = [jnp.where(_in_cell(enemies, bullets, i), order, LATEST) for i in range(BULLETS)]
    return jnp.stack([jnp.min(ranks) for ranks in here])


def without_met(enemies: Enemies, order: Order, bullets: Bullets, first: Int[Array, "2"]) -> tuple[Enemies, Whole]:
    """Returns the enemies without those of this order in the cell of a bullet, and how many they are."""
    met = jnp.zeros((PLACES,), bool)
    for i in range(BULLETS):
        met = met | (_in_cell(enemies, bullets, i) & (order == first[i]) & (order < LATEST))
    return eqx.tree_at(lambda e: e.kind, enemies, jnp.where(met, NOBODY, enemies.kind)), count(met)


def _in_cell(enemies: Enemies, bullets: Bullets, i: int) -> Bool[Array, "8"]:
    return (enemies.x == bullets.x[i]) & (enemies.y == bullets.y[i])


def moved(enemies: Enemies, x: Whole, y: Whole, speed: Whole) -> tuple[Enemies, Order, Flag]:
    """Moves enemies and their bullets.

    Args:
        enemies: all of them, also those that may run into a bullet of the player's: they still fire.
        x, y: the player's cell.
        speed: steps between two moves of an enemy, less one.

    Returns:
        The enemies; in which order they run into bullets, submarines before fish, `LATEST` for those that do not move
        or meet the player; whether the player is hit.
    """
    there = enemies.kind != NOBODY
    in_row = enemies.y == y
    hit = there & in_row & (enemies.x == x)
    moves = there & (enemies.wait == 0)
    to_x = jnp.where(moves, enemies.x + enemies.dx, enemies.x)
    meets = moves & in_row & (to_x == x)
    inside = (to_x >= 0) & (to_x < SIZE)
    submarine = enemies.kind == SUBMARINE
    order = jnp.where(moves & inside & ~meets, (~submarine).astype(jnp.int32), LATEST)

    fires = submarine & (enemies.reload == 0)
    bullet_x = jnp.where(fires, to_x, enemies.bullet_x)
    flies = (bullet_x >= 0) & (bullet_x < SIZE)
    shot = flies & in_row & (bullet_x == x)
    bullet_x = jnp.where(flies, bullet_x + enemies.dx, OFF_GRID)
    shot = shot | (in_row & (bullet_x == x))
    waited = there.astype(jnp.int32)
    after = Enemies(
        kind=jnp.where(inside, enemies.kind, NOBODY),
        x=to_x,
        y=enemies.y,
        dx=enemies.dx,
        wait=jnp.where(moves, speed, enemies.wait - waited),
        reload=jnp.where(fires, SHOT_INTERVAL, enemies.reload - waited),
        bullet_x=jnp.where(bullet_x < SIZE, bullet_x, OFF_GRID),
    )
    return after, order, jnp.any(hit | meets | shot)


def fired(bullets: Bullets, fires: Flag, x: Whole, y: Whole, right: Flag) -> Bullets:
    """Returns the bullets with one more, if it is fired."""

    def before(first: Whole, others: Int[Array, "2"]) -> Int[Array, "2"]:
        return jnp.where(fires, jnp.stack([first, others[0]]), others)

    return Bullets(before(x, bullets.x), before(y, bullets.y), before(jnp.where(right, 1, -1), bullets.dx))


def spent(bullets: Bullets, used: Bool[Array, "2"]) -> Bullets:
    """Returns the bullets without those that are used."""
    return Bullets(jnp.where(used, OFF_GRID, bullets.x), bullets.y, bullets.dx)


def flown(bullets: Bullets) -> Bullets:
    """Returns the bullets a cell further; those beyond the edge are gone."""
    x = jnp.where(bullets.x == OFF_GRID, OFF_GRID, bullets.x + bullets.dx)
    return Bullets(jnp.where((x < 0) | (x >= SIZE), OFF_GRID, x), bullets.y, bullets.dx)


def enemy_planes(enemies: Enemies) -> tuple[Rows, Rows, Rows, Rows]:
    """Returns the planes of fish, submarines, where both came from, and bullets of submarines."""
    there = enemies.kind != NOBODY
    fish = plane(enemies.x, enemies.y, enemies.kind == FISH)
    submarines = plane(enemies.x, enemies.y, enemies.kind == SUBMARINE)
    trails = plane(enemies.x - enemies.dx, enemies.y, there)
    return fish, submarines, trails, plane(enemies.bullet_x, enemies.y, enemies.bullet_x != OFF_GRID)
