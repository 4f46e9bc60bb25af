"""MiniGrid's Unlock and UnlockPickup: two rooms, a locked door, its key, and perhaps a box behind it."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .cells import BOX, KEY, LOCKED_DOOR, OPEN_DOOR, Cells, Flag, Whole, kind_of, put
from .env import PICKUP, TOGGLE, MiniGrid, MiniGridState
from .layout import Layout, Word, words_of
from .rooms import RoomGrid, any_color, colored

ROOMS = RoomGrid(room_size=6, num_rows=1, num_cols=2)


class TwoRooms(MiniGrid):
    """A task in two rooms, with a locked door between them."""

    @property
    def shape(self) -> tuple[int, int]:
        """Two rooms."""
        return ROOMS.shape

    @property
    def package_time_limit(self) -> int:
        """Eight steps a cell of a room."""
        return 8 * ROOMS.room_size**2


class Unlock(TwoRooms):
    """MiniGrid-Unlock: find the key and open the door.

    Examples:
        >>> Unlock().shape, Unlock().time_limit
        ((11, 6), 288)
    """

    mission_text: ClassVar[str] = "open the door"

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws door, key and agent."""
        return locked(jnp.asarray(ROOMS.walls()), jnp.int32(0), words_of(key, 4))

    def succeeded(self, action: Whole, front: Whole, state: MiniGridState) -> Flag:
        """Returns whether the door was opened; there is one only."""
        return (action == TOGGLE) & (kind_of(front) == OPEN_DOOR)


class UnlockPickup(TwoRooms):
    """MiniGrid-UnlockPickup: open the door and pick up the box in the other room.

    A toggle makes the box vanish, as in the package, and with it what was to be picked up.

    Examples:
        >>> import jax
        >>> env = UnlockPickup()
        >>> env.mission(env.reset(jax.random.key(0))[0])
        'pick up the grey box'
    """

    mission_text: ClassVar[str] = "pick up the {color} box"

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the box, and what `Unlock` has."""
        color_word, box_word, *words = words_of(key, 6)
        cells, color = jnp.asarray(ROOMS.walls()), any_color(color_word)
        x, y = ROOMS.place_in_room(cells, 1, 0, box_word)
        return locked(put(cells, x, y, colored(BOX, color)), color, words)

    def succeeded(self, action: Whole, front: Whole, state: MiniGridState) -> Flag:
        """Returns whether the box was picked up; there is one only."""
        return (action == PICKUP) & (kind_of(state.carrying) == BOX)


def locked(cells: Cells, mission: Whole, words: list[Word]) -> Layout:
    """Locks the door between the rooms, and puts its key and the agent into the left one; by four words."""
    color_word, door_word, key_word, agent_word = words
    color = any_color(color_word)
    cells = put(cells, ROOMS.stride, ROOMS.along_wall(door_word, 0), colored(LOCKED_DOOR, color))
    cells = put(cells, *ROOMS.place_in_room(cells, 0, 0, key_word), colored(KEY, color))
    return Layout(cells, *ROOMS.place_agent(cells, 0, 0, agent_word), mission)
