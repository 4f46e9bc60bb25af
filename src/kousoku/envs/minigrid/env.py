"""The rules that all tasks share: turning, walking, carrying, opening; what is seen, and what a success is worth."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from ...core.env import Env
from ...core.errors import ConfigError, check_count
from ...core.scene import Scene
from ...core.spaces import Box, Dict, Discrete
from ...core.timestep import Timestep
from ...ops.trees import arrays_on_device
from ..fields import choice, convert_fields, count, flag, limit
from ..timesteps import first_timestep, never
from .cells import (
    AGENT,
    BOX,
    CAN_BE_ENTERED,
    CAN_BE_PICKED_UP,
    CLOSED_DOOR,
    COLORS,
    EMPTY,
    GOAL,
    KEY,
    LAVA,
    LOCKED_DOOR,
    NOTHING,
    NUM_COLORS,
    NUM_KINDS,
    NUM_STATES,
    OPEN_DOOR,
    Cells,
    Flag,
    Whole,
    cell_at,
    codes,
    is_any,
    kind_of,
    one_hot,
    put,
)
from .layout import Layout, is_cell
from .picture import grid_scene
from .view import ahead, look, seen_cells, view_positions, visible

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)
LARGEST_VIEW = 31

VIEWS: tuple[str, ...] = ("partial", "full")


def view_size(value: Any) -> int:
    """Returns the side of a view, checked.

    Raises:
        ConfigError: for what is no odd number from 3 to 31.
    """
    size = check_count("agent_view_size", value, low=3, high=LARGEST_VIEW)
    if size % 2 == 0:
        raise ConfigError("agent_view_size", value, f"use an odd number, such as {size - 1}")
    return size


class MiniGridState(eqx.Module):
    """A grid, and who acts in it.

    Attributes:
        cells: [width, height] bytes, see `cells`.
        x, y: the agent's cell, from the top left.
        direction: where it looks: 0 right, 1 down, 2 left, 3 up.
        carrying: the cell that the agent has picked up; an empty one if none.
        step_count: steps taken.
        mission: the colour that the mission names, 0 to 5; 0 where it names none.
        obstacles: [n, 2] cells of the balls that roll; None where there are none.
    """

    cells: Cells
    x: Whole
    y: Whole
    direction: Whole
    carrying: Whole
    step_count: Whole
    mission: Whole
    obstacles: Int[Array, "n 2"] | None


class MiniGrid(Env):
    """One of MiniGrid's tasks. A subclass says how an episode begins, and when it succeeds but for reaching a goal.

    Observation: the package's image, Box(0, 10, (7, 7, 3), uint8): object, colour and state of each cell before the
    agent, from left to right and from afar to near; 0 for what it does not see. Action: Discrete(7): left, right,
    forward, pickup, drop, toggle, done. Reward: 1 - 0.9 step / time_limit for a success, which terminates the episode;
    so does lava, for nothing.

    Attributes:
        view: what is seen, `partial` or `full`: the whole grid with the agent in it, as the package's FullyObsWrapper.
        one_hot: whether object, colour and state are ones and zeros, as the package's OneHotPartialObsWrapper.
        direction: whether the observation is a Dict of `image` and `direction`, as the package's but for the mission.
        agent_view_size: side of the square that is seen, odd.
        time_limit: steps until an episode is truncated; None for the package's, which goes with the size; a copy
            with another size keeps the number.

    References:
        Chevalier-Boisvert et al., Minigrid and Miniworld, arXiv:2306.13831; the package minigrid 3.2.0.
    """

    view: str = choice("view", "partial", VIEWS)
    one_hot: bool = flag("one_hot", False)
    direction: bool = flag("direction", False)
    agent_view_size: int = eqx.field(static=True, default=7, converter=view_size)
    time_limit: int | None = limit(None)

    see_through_walls: ClassVar[bool] = False
    mission_text: ClassVar[str]

    def __post_init__(self) -> None:
        convert_fields(self)
        if self.time_limit is None:
            self.time_limit = self.package_time_limit

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Width and height of the grid."""

    @property
    @abstractmethod
    def package_time_limit(self) -> int:
        """The package's `max_steps`."""

    @abstractmethod
    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws where everything is before the first step."""

    def succeeded(self, action: Whole, front: Whole, state: MiniGridState) -> Flag:
        """Returns whether an action was a success, though no goal was reached.

        Args:
            action: that was taken.
            front: the cell before the agent, after the action and seen from where it was.
            state: after the action.
        """
        del action, front, state
        return never()

    @property
    def observation_space(self) -> Box | Dict:
        """Codes of cells, or ones and zeros."""
        width, height = self.shape if self.view == "full" else (self.agent_view_size,) * 2
        channels = NUM_KINDS + NUM_COLORS + self._num_states if self.one_hot else 3
        image = Box(0.0, 1.0 if self.one_hot else float(AGENT), (width, height, channels), np.dtype(np.uint8))
        return Dict({"image": image, "direction": Discrete(4)}) if self.direction else image

    @property
    def action_space(self) -> Discrete:
        """Left, right, forward, pickup, drop, toggle, done."""
        return Discrete(DONE + 1)

    @property
    def _num_states(self) -> int:
        return 4 if self.view == "full" else NUM_STATES  # of the agent itself, four directions are seen

    def reset(self, key: PRNGKeyArray) -> tuple[MiniGridState, Timestep]:
        """Draws a layout and begins in it."""
        return self.begin(self.layout(key))

    def begin(self, layout: Layout) -> tuple[MiniGridState, Timestep]:
        """Begins an episode in a layout that is given."""
        state = MiniGridState(
            layout.cells,
            layout.x,
            layout.y,
            layout.direction,
            jnp.int32(NOTHING),
            jnp.int32(0),
            layout.mission,
            layout.obstacles,
        )
        return state, first_timestep(self.observe(state))

    def step(self, key: PRNGKeyArray, state: MiniGridState, action: Whole) -> tuple[MiniGridState, Timestep]:
        """Takes an action; one outside the space does nothing."""
        del key
        return self.act(state, action)

    def act(self, state: MiniGridState, action: Whole) -> tuple[MiniGridState, Timestep]:
        """Turns, walks, picks up, drops or toggles, and tells what came of it."""
        dx, dy = ahead(state.direction)
        front_x, front_y = state.x + dx, state.y + dy
        before = cell_at(state.cells, front_x, front_y)
        kind = kind_of(before)
        walks = (action == FORWARD) & is_any(kind, CAN_BE_ENTERED)
        front, carrying = handled(action, before, state.carrying)
        turn = (action == RIGHT).astype(jnp.int32) - (action == LEFT).astype(jnp.int32)
        after = MiniGridState(
            put(state.cells, front_x, front_y, front),
            jnp.where(walks, front_x, state.x),
            jnp.where(walks, front_y, state.y),
            (state.direction + turn) & 3,
            carrying,
            state.step_count + 1,
            state.mission,
            state.obstacles,
        )
        success = (walks & (kind == GOAL)) | self.succeeded(action, front, after)
        ended = success | (walks & (kind == LAVA))
        reward = jnp.where(success, self._worth(after.step_count), 0.0)
        return after, Timestep(self.observe(after), reward, ended, never())

    def _worth(self, step_count: Whole) -> Array:
        assert self.time_limit is not None
        return 1.0 - 0.9 * (step_count.astype(jnp.float32) / jnp.float32(self.time_limit))

    def observe(self, state: MiniGridState) -> Any:
        """Returns the observation of a state."""
        if self.view == "full":
            cells = jnp.where(is_cell(state.cells, state.x, state.y), AGENT, state.cells.astype(jnp.int32))
        else:
            seen = look(state.cells, *self._positions(state))
            cells = seen_cells(seen, self.see_through_walls, state.carrying)
        image = codes(cells, state.direction)
        if self.one_hot:
            image = one_hot(image, self._num_states)
        return {"image": image, "direction": state.direction} if self.direction else image

    def _positions(self, state: MiniGridState) -> tuple[Array, Array]:
        return view_positions(state.x, state.y, state.direction, self.agent_view_size)

    def mission(self, state: MiniGridState) -> str:
        """Returns the package's text of what is to be done."""
        return self.mission_text.format(color=COLORS[int(state.mission)])

    def scene(self, state: MiniGridState) -> Scene:
        """Draws the grid in the package's colours, lighter where the agent sees."""
        return grid_scene(jax.device_get(state), jax.device_get(_lit(self, arrays_on_device(state))))


class SquareGrid(MiniGrid):
    """A task in a square grid, whose time limit goes with the number of cells.

    Attributes:
        size: cells of a side, walls included.
        steps_a_cell: of the package's time limit.
    """

    size: int = count("size", 8, 5, 64)

    steps_a_cell: ClassVar[int] = 4

    @property
    def shape(self) -> tuple[int, int]:
        """A square."""
        return self.size, self.size

    @property
    def package_time_limit(self) -> int:
        """The same number of steps for each cell."""
        return self.steps_a_cell * self.size**2


def handled(action: Whole, before: Whole, carrying: Whole) -> tuple[Whole, Whole]:
    """Returns the cell before the agent and what it carries, after it picked up, dropped or toggled."""
    kind, held = kind_of(before), kind_of(carrying)
    picks = (action == PICKUP) & is_any(kind, CAN_BE_PICKED_UP) & (held == EMPTY)
    drops = (action == DROP) & (kind == EMPTY)  # of nothing carried, nothing is dropped
    front = jnp.where(action == TOGGLE, toggled(before, carrying), before)
    front = jnp.where(picks, NOTHING, jnp.where(drops, carrying, front))
    return front, jnp.where(picks, before, jnp.where(drops, NOTHING, carrying))


def toggled(before: Whole, carrying: Whole) -> Whole:
    """Returns a cell after a toggle: doors open and close, a locked one with its key; a box is empty, and gone."""
    kind, color = kind_of(before), before >> 4
    unlocks = (kind_of(carrying) == KEY) & (carrying >> 4 == color)
    opens = (kind == CLOSED_DOOR) | ((kind == LOCKED_DOOR) & unlocks)
    new = jnp.where(opens, OPEN_DOOR, jnp.where(kind == OPEN_DOOR, CLOSED_DOOR, kind))
    return jnp.where(kind == BOX, NOTHING, new + 16 * color)


@eqx.filter_jit
def _lit(env: MiniGrid, state: MiniGridState) -> Bool[Array, "width height"]:
    """Tells which cells of the grid the agent sees."""
    xs, ys = env._positions(state)
    view = look(state.cells, xs, ys)
    seen = jnp.ones_like(view, bool) if env.see_through_walls else visible(view)
    width, height = state.cells.shape
    inside = seen & (xs >= 0) & (xs < width) & (ys >= 0) & (ys < height)
    return jnp.zeros((width, height), bool).at[xs, ys].max(inside, mode="drop")
