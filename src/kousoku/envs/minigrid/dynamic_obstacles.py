"""MiniGrid's Dynamic-Obstacles: balls that roll about in an empty room."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt32

from ...core.spaces import Discrete
from ...core.timestep import Timestep
from ...ops.exploration import unit_interval
from ..fields import count, flag
from .cells import BLUE_BALL, EMPTY, GOAL, NOTHING, Cells, Whole, cell_at, is_any, kind_of, put
from .env import FORWARD, LEFT, MiniGridState, SquareGrid
from .layout import Layout, is_cell, is_free, place, room_with_goal, started, words_of
from .view import ahead

TRIES = 101
"""Cells that MiniGrid draws for an obstacle, before it lets it stay."""


class DynamicObstacles(SquareGrid):
    """MiniGrid-Dynamic-Obstacles: reach the goal, and walk neither into a ball nor into a wall, which costs 1 and ends.

    In each step every ball moves first, one after the other, to one of the empty cells around it. Whether the agent
    walks into something is told by what was before it when it decided. Action: Discrete(3): left, right, forward.

    Attributes:
        size: cells of a side, walls included.
        random_start: whether the agent begins anywhere, looking anywhere; else in the top left corner, looking right.
        n_obstacles: how many balls; more than size / 2 + 1 count as size / 2, as in the package.

    Examples:
        >>> DynamicObstacles(size=6, n_obstacles=3).action_space
        Discrete(n=3)
    """

    random_start: bool = flag("random_start", False)
    n_obstacles: int = count("n_obstacles", 4, 1, 64)

    see_through_walls: ClassVar[bool] = True
    mission_text: ClassVar[str] = "get to the green goal square"

    @property
    def action_space(self) -> Discrete:
        """Left, right, forward."""
        return Discrete(FORWARD + 1)

    @property
    def _num_obstacles(self) -> int:
        return self.n_obstacles if self.n_obstacles <= self.size / 2 + 1 else self.size // 2

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the agent, then the balls."""
        start_key, ball_key = jax.random.split(key)
        start = started(jnp.asarray(room_with_goal(*self.shape)), self.random_start, words_of(start_key, 2))

        def put_ball(cells: Cells, word: UInt32[Array, ""]) -> tuple[Cells, Int[Array, " 2"]]:
            x, y = place(is_free(cells) & ~is_cell(cells, start.x, start.y), word)
            return put(cells, x, y, BLUE_BALL), jnp.stack([x, y])

        words = jax.random.bits(ball_key, (self._num_obstacles,), jnp.uint32)
        cells, obstacles = jax.lax.scan(put_ball, start.cells, words)
        return Layout(cells, start.x, start.y, start.direction, start.mission, obstacles)

    def step(self, key: PRNGKeyArray, state: MiniGridState, action: Whole) -> tuple[MiniGridState, Timestep]:
        """Rolls the balls, then takes an action; one beyond the space turns left, as in the package."""
        action = jnp.where(action > FORWARD, LEFT, action)
        dx, dy = ahead(state.direction)
        front = kind_of(cell_at(state.cells, state.x + dx, state.y + dy))
        collides = (action == FORWARD) & ~is_any(front, (EMPTY, GOAL))
        after, timestep = self.act(rolled(key, state), action)
        reward = jnp.where(collides, -1.0, timestep.reward)
        where = lambda t: (t.reward, t.terminated)  # noqa: E731
        return after, eqx.tree_at(where, timestep, (reward, timestep.terminated | collides))


def rolled(key: PRNGKeyArray, state: MiniGridState) -> MiniGridState:
    """Moves each ball to one of the empty cells around it; it stays where there is none.

    It stays too where MiniGrid, which draws cells until one is empty, gives up: with one in nine empty, at (8/9)^101.
    """

    across, down = np.mgrid[-1:2, -1:2].astype(np.int32)

    def roll(cells: Cells, ball: tuple[Array, Array]) -> tuple[Cells, Int[Array, " 2"]]:
        (x, y), words = ball
        around = jax.lax.dynamic_slice(cells, (x - 1, y - 1), (3, 3))
        empty = (around == NOTHING) & ~((x + across == state.x) & (y + down == state.y))
        number = jnp.sum(empty, dtype=jnp.int32)
        stays = (number == 0) | ((number == 1) & (unit_interval(words[0]) < (8 / 9) ** TRIES))
        right, below = place(empty, words[1])
        new_x, new_y = jnp.where(stays, x, x + right - 1), jnp.where(stays, y, y + below - 1)
        return put(put(cells, x, y, NOTHING), new_x, new_y, BLUE_BALL), jnp.stack([new_x, new_y])

    assert state.obstacles is not None
    words = jax.random.bits(key, (len(state.obstacles), 2), jnp.uint32)
    cells, obstacles = jax.lax.scan(roll, state.cells, (state.obstacles, words))
    return eqx.tree_at(lambda s: (s.cells, s.obstacles), state, (cells, obstacles))
