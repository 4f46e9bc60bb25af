"""All of Seaquest's enemies, in groups: where a kernel runs, groups that are empty in every lane cost nothing.

The package keeps enemies in lists, which have no end. There are never more than forty places taken, as one enemy
appears in a step at most, crosses in 30 steps where that many appear, and the bullet that it may have fired is gone in
10 more. Mostly there are a few, in the first group, since each takes the first place that is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp

from ...compiler import any_lane
from .enemies import (
    FISH,
    LATEST,
    SUBMARINE,
    Bullets,
    Enemies,
    against,
    busy,
    enemy_planes,
    first_met,
    list_order,
    moved,
    no_enemies,
    placed,
    spent,
    without_met,
)
from .game import Flag, Rows, Whole

GROUPS = 5

Groups = tuple[Enemies, ...]


def no_groups() -> Groups:
    """Returns groups without enemies."""
    return (no_enemies(),) * GROUPS


def with_enemy(groups: Groups, due: Flag, right: Flag, submarine: Flag, y: Whole, speed: Whole) -> Groups:
    """Returns the enemies with one more, if it is due and nobody in its row goes the other way."""
    dx, kind = jnp.where(right, 1, -1), jnp.where(submarine, SUBMARINE, FISH)
    wanted = due & ~reduce(jnp.logical_or, (against(group, y, dx) for group in groups))
    after = []
    for group in groups:
        group, wanted = jax.lax.cond(
            any_lane(wanted),
            lambda group, wanted: placed(group, wanted, kind, y, dx, speed),
            lambda group, wanted: (group, wanted),
            group,
            wanted,
        )
        after.append(group)
    return tuple(after)


def struck(groups: Groups, bullets: Bullets) -> tuple[Groups, Bullets, Whole]:
    """Lets bullets strike, each one enemy: returns (groups, bullets that are left, how many are struck)."""
    return _met(groups, [list_order(group) for group in groups], bullets)


def passed(groups: Groups, bullets: Bullets, x: Whole, y: Whole, speed: Whole) -> tuple[Groups, Bullets, Whole, Flag]:
    """Moves all enemies: returns (groups, bullets that are left, how many ran into one, whether the player is hit).

    Args:
        groups: all enemies.
        bullets: the player's.
        x, y: the player's cell.
        speed: steps between two moves of an enemy, less one.
    """
    idle = lambda group: (group, jnp.full_like(group.x, LATEST), jnp.array(False))  # noqa: E731
    found = [_if_busy(group, lambda group: moved(group, x, y, speed), idle) for group in groups]
    hit = reduce(jnp.logical_or, (hit for _, _, hit in found))
    groups, bullets, number = _met(tuple(group for group, _, _ in found), [order for _, order, _ in found], bullets)
    return groups, bullets, number, hit


def group_planes(groups: Groups) -> tuple[Rows, ...]:
    """Returns the planes of fish, submarines, where both came from, and bullets of submarines."""
    nothing = jnp.zeros((10,), jnp.int32)
    idle = lambda group: (nothing,) * 4  # noqa: E731
    found = [_if_busy(group, enemy_planes, idle) for group in groups]
    return tuple(reduce(jnp.bitwise_or, planes) for planes in zip(*found, strict=True))


def _met(groups: Groups, orders: list[Any], bullets: Bullets) -> tuple[Groups, Bullets, Whole]:
    """Lets each bullet meet the first in order: returns (groups, bullets that are left, how many are met)."""
    nobody = lambda group, order: jnp.full_like(bullets.x, LATEST)  # noqa: E731
    meets = lambda group, order: first_met(group, order, bullets)  # noqa: E731
    firsts = [_if_busy(group, meets, nobody, order) for group, order in zip(groups, orders, strict=True)]
    first = reduce(jnp.minimum, firsts)
    some = jnp.any(first < LATEST)
    after, number = [], jnp.int32(0)
    for group, order in zip(groups, orders, strict=True):
        group, met = jax.lax.cond(
            any_lane(some),
            lambda group, order: without_met(group, order, bullets, first),
            lambda group, order: (group, jnp.int32(0)),
            group,
            order,
        )
        after.append(group)
        number = number + met
    return tuple(after), spent(bullets, first < LATEST), number


def _if_busy(group: Enemies, function: Callable[..., Any], idle: Callable[..., Any], *args: Any) -> Any:
    """Returns what the function gives; where a group is empty it is what `idle` gives, for less."""
    return jax.lax.cond(any_lane(busy(group)), function, idle, group, *args)
