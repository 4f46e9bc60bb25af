"""MiniGrid's empty rooms, and four rooms: a goal to walk to."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..fields import count, flag
from .cells import GREEN_GOAL, GREY_WALL, NOTHING, put
from .env import MiniGrid, SquareGrid
from .layout import Layout, between, is_cell, is_free, place, room_with_goal, started, walled, words_of


class EmptyRoom(SquareGrid):
    """MiniGrid-Empty: one room, the goal in its bottom right corner. Walls hide nothing, as there is nothing behind.

    Attributes:
        size: cells of a side, walls included.
        random_start: whether the agent begins anywhere, looking anywhere; else in the top left corner, looking right.

    Examples:
        >>> import jax
        >>> env = EmptyRoom(size=5)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> timestep.obs.shape, env.time_limit, env.mission(state)
        ((7, 7, 3), 100, 'get to the green goal square')
    """

    size: int = count("size", 8, 4, 64)
    random_start: bool = flag("random_start", False)

    see_through_walls: ClassVar[bool] = True
    mission_text: ClassVar[str] = "get to the green goal square"

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Puts the goal into its corner, and the agent where it begins."""
        return started(jnp.asarray(room_with_goal(*self.shape)), self.random_start, words_of(key, 2))


class FourRooms(MiniGrid):
    """MiniGrid-FourRooms: four rooms, a gap in each wall between two; agent and goal are anywhere.

    References:
        Sutton, Precup and Singh, Between MDPs and semi-MDPs (1999).

    Examples:
        >>> FourRooms().shape, FourRooms().time_limit
        ((19, 19), 100)
    """

    mission_text: ClassVar[str] = "reach the goal"

    @property
    def shape(self) -> tuple[int, int]:
        """19 x 19."""
        return 19, 19

    @property
    def package_time_limit(self) -> int:
        """The package's, whatever the size."""
        return 100

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the four gaps, then the agent, then the goal."""
        up, left, down, right, *words = words_of(key, 7)
        width, height = self.shape
        middle = width // 2
        walls = walled(width, height)
        walls[middle, :] = GREY_WALL
        walls[:, middle] = GREY_WALL
        cells = jnp.asarray(walls)
        for first, vertical, horizontal in ((1, up, left), (middle + 1, down, right)):
            cells = put(cells, middle, between(vertical, first, first + middle - 1), NOTHING)
            cells = put(cells, between(horizontal, first, first + middle - 1), middle, NOTHING)
        x, y = place(is_free(cells), words[0])
        goal = place(is_free(cells) & ~is_cell(cells, x, y), words[1])
        return Layout(put(cells, *goal, GREEN_GOAL), x, y, between(words[2], 0, 4), jnp.int32(0))
