"""Cells of a grid as bytes, and MiniGrid's codes of them: (object, colour, state).

A byte is kind + 16 colour. Kinds are MiniGrid's numbers of objects; a door is three kinds, by its state, so that every
cell fits into one byte.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt8

UNSEEN, EMPTY, WALL, FLOOR, OPEN_DOOR, KEY, BALL, BOX, GOAL, LAVA, AGENT, CLOSED_DOOR, LOCKED_DOOR = range(13)
RED, GREEN, BLUE, PURPLE, YELLOW, GREY = range(6)
COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
NUM_KINDS, NUM_COLORS, NUM_STATES = 11, 6, 3

Whole = Int[Array, ""]
Flag = Bool[Array, ""]
Cells = UInt8[Array, "width height"]

CAN_BE_ENTERED = (EMPTY, FLOOR, OPEN_DOOR, GOAL, LAVA)
CAN_BE_PICKED_UP = (KEY, BALL, BOX)
HIDES = (WALL, CLOSED_DOOR, LOCKED_DOOR)


def cell(kind: int, color: int) -> int:
    """Returns the byte of an object."""
    return kind + 16 * color


NOTHING = cell(EMPTY, RED)
GREY_WALL, GREEN_GOAL, RED_LAVA, BLUE_BALL = cell(WALL, GREY), cell(GOAL, GREEN), cell(LAVA, RED), cell(BALL, BLUE)


def kind_of(cells: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Returns the kinds of cells that are int32."""
    return cells & 15


def is_any(kind: Int[Array, "*n"], kinds: tuple[int, ...]) -> Bool[Array, "*n"]:
    """Tells where a kind is one of some."""
    return (sum(1 << k for k in kinds) >> kind) & 1 == 1


def codes(cells: Int[Array, "w h"], direction: Whole) -> UInt8[Array, "w h 3"]:
    """Returns MiniGrid's (object, colour, state) of cells; an agent's state is its direction."""
    kind, color = kind_of(cells), cells >> 4
    is_door = kind > AGENT
    state = jnp.where(is_door, kind - AGENT, jnp.where(kind == AGENT, direction, 0))
    return jnp.stack([jnp.where(is_door, OPEN_DOOR, kind), color, state], axis=-1).astype(jnp.uint8)


def one_hot(coded: UInt8[Array, "w h 3"], num_states: int) -> UInt8[Array, "w h c"]:
    """Returns each of object, colour and state as ones and zeros: 11 + 6 + num_states of them."""
    sizes = (NUM_KINDS, NUM_COLORS, num_states)
    parts = [jax.nn.one_hot(coded[..., i], size, dtype=jnp.uint8) for i, size in enumerate(sizes)]
    return jnp.concatenate(parts, axis=-1)


def cell_at(cells: Cells, x: Whole, y: Whole) -> Whole:
    """Returns one cell, as int32."""
    return cells[x, y].astype(jnp.int32)


def put(cells: Cells, x: Whole | int, y: Whole | int, new: Whole | int) -> Cells:
    """Returns the grid with another object in one cell."""
    return cells.at[x, y].set(jnp.asarray(new, jnp.int32).astype(jnp.uint8))
