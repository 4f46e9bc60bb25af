"""All of Seaquest's enemies, in groups: where a kernel runs, groups that are empty in every lane cost nothing.

The package keeps enemies in lists, which have no end. There are never more than forty places taken, as one enemy
appears in a step at most, crosses in 30 steps where that many appear, and the bullet that it may have fired is gone in
10 more. Mostly there are a few, in the first group, since each takes the first place that is empty. The others are
carried as a word each, so that a state has few numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ...compiler import any_lane
from .enemies import (
    FISH,
    LATEST,
    PLACES,
    SUBMARINE,
    Bullets,
    Enemies,
    against,
    busy,
    enemy_planes,
    first_met,
    full,
    list_order,
    moved,
    no_enemies,
    occupied,
    placed,
    spent,
    without_met,
)
from .game import SIZE, Flag, Rows, Whole

GROUPS = 5
FIELDS = (("kind", 2, 0), ("x", 4, 1), ("y", 4, 0), ("dx", 2, 1), ("wait", 3, 0), ("reload", 4, 0), ("bullet_x", 4, 1))
"""Of a word, from the lowest bits up: field, bits, and what is added to the field."""

Groups = tuple[Enemies, ...]
Words = Int[Array, "32"]


class AllEnemies(eqx.Module):
    """All enemies.

    Attributes:
        first: the first group.
        others: [32] a word for each place of the other groups; 0 where it is empty.
    """

    first: Enemies
    others: Words

    @classmethod
    def of(cls, groups: Groups) -> AllEnemies:
        """Makes one of five groups."""
        return cls(groups[0], packed(groups[1:]))

    @property
    def groups(self) -> Groups:
        """The five groups."""
        return self.first, *unpacked(self.others)


def nobody() -> AllEnemies:
    """Returns no enemies."""
    return AllEnemies(no_enemies(), jnp.zeros(((GROUPS - 1) * PLACES,), jnp.int32))


def packed(groups: Groups) -> Words:
    """Returns a word for each place. What is no longer asked of an enemy, as when a fish would fire, may be lost."""
    return jnp.concatenate([_packed(group) for group in groups])


def _packed(group: Enemies) -> Int[Array, "8"]:
    word, shift = jnp.zeros((PLACES,), jnp.int32), 0
    for name, bits, added in FIELDS:
        value = jnp.clip(getattr(group, name) + added, 0, (1 << bits) - 1)
        word, shift = word | (value << shift), shift + bits
    return jnp.where(occupied(group), word, 0)


def unpacked(words: Words) -> Groups:
    """Returns the groups that the words stand for."""
    return tuple(_unpacked(words[i * PLACES : (i + 1) * PLACES]) for i in range(GROUPS - 1))


def _unpacked(words: Int[Array, "8"]) -> Enemies:
    there, fields, shift = words != 0, {}, 0
    for name, bits, added in FIELDS:
        fields[name] = ((words >> shift) & ((1 << bits) - 1)) - added
        shift += bits
    empty = no_enemies()
    return Enemies(**{name: jnp.where(there, value, getattr(empty, name)) for name, value in fields.items()})


class Arrival(eqx.Module):
    """An enemy that may appear.

    Attributes:
        due: whether it is to.
        right: whether it goes to the right.
        submarine: whether it is one, and no fish.
        y: its row.
    """

    due: Flag
    right: Flag
    submarine: Flag
    y: Whole


def advanced(
    all_enemies: AllEnemies, bullets: Bullets, arrival: Arrival, x: Whole, y: Whole, speed: Whole
) -> tuple[AllEnemies, Bullets, Whole, Flag]:
    """Lets one more enemy appear, the player's bullets strike, and all enemies move.

    Where all groups but the first are empty, and stay so, in every lane, nothing is asked of them.

    Args:
        all_enemies: all enemies.
        bullets: the player's.
        arrival: who may appear.
        x, y: the player's cell.
        speed: steps between two moves of an enemy, less one.

    Returns:
        The enemies, the bullets that are left, how many enemies met one, whether the player is hit.
    """

    def stepped(groups: Groups, bullets: Bullets) -> tuple[Groups, Bullets, Whole, Flag]:
        groups, bullets, shot = struck(with_enemy(groups, arrival, speed), bullets)
        groups, bullets, ran_into, hit = passed(groups, bullets, x, y, speed)
        return groups, bullets, shot + ran_into, hit

    def all_groups(all_enemies: AllEnemies, bullets: Bullets) -> tuple[AllEnemies, Bullets, Whole, Flag]:
        groups, *told = stepped(all_enemies.groups, bullets)
        return AllEnemies.of(groups), *told  # type: ignore[return-value]

    def first_alone(all_enemies: AllEnemies, bullets: Bullets) -> tuple[AllEnemies, Bullets, Whole, Flag]:
        (first,), *told = stepped((all_enemies.first,), bullets)
        return AllEnemies(first, all_enemies.others), *told  # type: ignore[return-value]

    others = jnp.any(all_enemies.others != 0) | (arrival.due & full(all_enemies.first))
    return jax.lax.cond(any_lane(others), all_groups, first_alone, all_enemies, bullets)


def with_enemy(groups: Groups, arrival: Arrival, speed: Whole) -> Groups:
    """Returns the enemies with one more, if it is due and nobody in its row goes the other way."""
    dx, kind, y = jnp.where(arrival.right, 1, -1), jnp.where(arrival.submarine, SUBMARINE, FISH), arrival.y
    wanted = arrival.due & ~reduce(jnp.logical_or, (against(group, y, dx) for group in groups))
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


def group_planes(all_enemies: AllEnemies) -> tuple[Rows, ...]:
    """Returns the planes of fish, submarines, where both came from, and bullets of submarines."""
    first = _if_busy(all_enemies.first, enemy_planes, lambda group: _no_planes())
    others = jax.lax.cond(
        any_lane(jnp.any(all_enemies.others != 0)),
        lambda words: _united([enemy_planes(group) for group in unpacked(words)]),
        lambda words: _no_planes(),
        all_enemies.others,
    )
    return _united([first, others])


def _no_planes() -> tuple[Rows, ...]:
    return (jnp.zeros((SIZE,), jnp.int32),) * 4


def _united(found: list[tuple[Rows, ...]]) -> tuple[Rows, ...]:
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
