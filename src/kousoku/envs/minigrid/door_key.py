"""MiniGrid's DoorKey: a key opens the door to the goal."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .cells import GREY_WALL, KEY, LOCKED_DOOR, YELLOW, cell, put
from .env import SquareGrid
from .layout import Layout, between, columns_and_rows, is_cell, is_free, place, room_with_goal, words_of


class DoorKey(SquareGrid):
    """MiniGrid-DoorKey: a wall with a locked door; the key and the agent are on its left, the goal is on its right.

    Attributes:
        size: cells of a side, walls included.

    Examples:
        >>> DoorKey(size=6).time_limit, DoorKey(size=6).observation_space.shape
        (360, (7, 7, 3))
    """

    steps_a_cell: ClassVar[int] = 10
    mission_text: ClassVar[str] = "use the key to open the door and then get to the goal"

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the wall, the agent, the door and the key."""
        wall_word, agent_word, direction_word, door_word, key_word = words_of(key, 5)
        walls = room_with_goal(*self.shape)
        columns, _ = columns_and_rows(*self.shape)
        wall = between(wall_word, 2, self.size - 2)
        cells = jnp.where(columns == wall, GREY_WALL, walls).astype(jnp.uint8)
        cells = put(cells, wall, between(door_word, 1, self.size - 2), cell(LOCKED_DOOR, YELLOW))
        left = is_free(cells) & (columns < wall)
        x, y = place(left, agent_word)
        key_cell = place(left & ~is_cell(cells, x, y), key_word)
        cells = put(cells, *key_cell, cell(KEY, YELLOW))
        return Layout(cells, x, y, between(direction_word, 0, 4), jnp.int32(0))
