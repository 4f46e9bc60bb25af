"""Seaquest's divers: they cross the rows until they are picked up.

There are two at most: one appears every 30 steps and crosses in 60.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from .game import OFF_GRID, SIZE, Flag, Rows, Whole, plane

PLACES = 2
MOVE_INTERVAL = 5
MOST_ABOARD = 6


class Divers(eqx.Module):
    """Divers, the later first.

    Attributes:
        x, y: [2] the cell; column -1 where there is none.
        dx: [2] where it goes, -1 or 1.
        wait: [2] steps until it moves.
    """

    x: Int[Array, "2"]
    y: Int[Array, "2"]
    dx: Int[Array, "2"]
    wait: Int[Array, "2"]


def no_divers() -> Divers:
    """Returns no divers."""
    none = jnp.zeros((PLACES,), jnp.int32)
    return Divers(none + OFF_GRID, none, none + 1, none)


def with_diver(divers: Divers, due: Flag, right: Flag, y: Whole) -> Divers:
    """Returns the divers with one more, if it is due."""

    def before(first: Whole, others: Int[Array, "2"]) -> Int[Array, "2"]:
        return jnp.where(due, jnp.stack([first, others[0]]), others)

    return Divers(
        x=before(jnp.where(right, 0, SIZE - 1), divers.x),
        y=before(y, divers.y),
        dx=before(jnp.where(right, 1, -1), divers.dx),
        wait=before(jnp.int32(MOVE_INTERVAL), divers.wait),
    )


def swum(divers: Divers, x: Whole, y: Whole, aboard: Whole) -> tuple[Divers, Whole]:
    """Moves the divers, the later first, and picks up those whom the player meets: returns (divers, aboard).

    Whoever is met before a move does not move; with six aboard nobody else is picked up.
    """
    places, waits = [], []
    for i in range(PLACES):
        there, in_row = divers.x[i] != OFF_GRID, divers.y[i] == y
        room = aboard < MOST_ABOARD
        met = there & in_row & (divers.x[i] == x) & room
        moves = there & ~met & (divers.wait[i] == 0)
        to_x = jnp.where(moves, divers.x[i] + divers.dx[i], divers.x[i])
        met = met | (moves & in_row & (to_x == x) & room)
        aboard = aboard + met.astype(jnp.int32)
        places.append(jnp.where(met | (to_x < 0) | (to_x >= SIZE), OFF_GRID, to_x))
        waits.append(jnp.where(moves, MOVE_INTERVAL, divers.wait[i] - 1))
    return Divers(jnp.stack(places), divers.y, divers.dx, jnp.stack(waits)), aboard


def diver_planes(divers: Divers) -> tuple[Rows, Rows]:
    """Returns the planes of divers and of where they came from."""
    there: Bool[Array, "2"] = divers.x != OFF_GRID
    return plane(divers.x, divers.y, there), plane(divers.x - divers.dx, divers.y, there)
