"""GridWorld: one engine for every map."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import Env
from ...core.errors import ConfigError, check_choice, check_count, check_flag, is_number
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.scene import Scene
from ...core.spaces import LARGEST, Discrete, Space
from ...core.timestep import Timestep
from ..fields import check_limit, known_number
from ..finite import OutcomeTable
from .draw import grid_panel, grid_scene
from .dynamics import Rules, action_moves, build_model, check_ways
from .layout import CLIFF, WALL, GridLayout, Map, check_layout, check_wind, is_list, parse_layout
from .observe import OBSERVATIONS, channels, observation_space, observe

LARGEST_REWARD = 1e30
IN_TABLES = "the world's tables are made of it"


class GridState(eqx.Module):
    """Cell of the agent, and the steps lived so far (kept over resets; only changing maps read it)."""

    cell: Int[Array, ""]
    clock: Int[Array, ""] | None = None


class GridWorld(Env):
    """An agent on a grid of cells. Make one with `gridworld(...)` or by id.

    Observation: the cell's index row * width + column (Discrete), (row, column) (MultiDiscrete), one-hot (Box), or an
    egocentric window of walls, goals, pits and cliffs (Box). Action: Discrete: up, right, down, left, with 8 moves the
    diagonals too, and stay if allowed. A goal or a pit terminates the episode. Nothing truncates it but the time limit.

    Attributes:
        tables: outcomes of every cell and action; with P maps, cell index + phase * cells.
        exact: one exact model for each phase.
        planes: [P, H + 2r, W + 2r, C] what the window shows.
        change_at: steps of the environment's life at which the next map begins.
    """

    tables: OutcomeTable
    exact: tuple[TabularModel, ...]
    planes: Float[Array | np.ndarray, "P Hp Wp C"]
    change_at: Int[Array | np.ndarray, " changes"]
    layouts: tuple[GridLayout, ...] = eqx.field(static=True)
    rules: Rules = eqx.field(static=True)
    observation: str = eqx.field(static=True)
    window_radius: int = eqx.field(static=True)
    time_limit: int | None = eqx.field(static=True)

    @property
    def layout(self) -> GridLayout:
        """The first map."""
        return self.layouts[0]

    @property
    def observation_space(self) -> Space:
        return observation_space(self.observation, self.layout.height, self.layout.width, self.window_radius)

    @property
    def action_space(self) -> Discrete:
        return Discrete(len(self.rules.moves))

    def reset(self, key: PRNGKeyArray) -> tuple[GridState, Timestep]:
        """Draws a start cell, each start equally likely; the clock begins at 0."""
        clock = jnp.int32(0) if self._changes else None
        return self._begin(key, clock)

    def restart(self, key: PRNGKeyArray, state: GridState) -> tuple[GridState, Timestep]:
        """Draws a start cell; the clock goes on, so that a changed map stays changed."""
        return self._begin(key, state.clock)

    def step(self, key: PRNGKeyArray, state: GridState, action: Int[Array, ""]) -> tuple[GridState, Timestep]:
        """Moves. The reward is step_reward, plus what the cell that is reached gives."""
        phase = self._phase(state.clock)
        row = state.cell if phase is None else state.cell + phase * self.layout.num_cells
        cell, reward, terminated = self.tables.draw_outcome(key, row, action)
        clock = None if state.clock is None else state.clock + 1
        return GridState(cell, clock), Timestep(self._observe(cell, clock), reward, terminated, jnp.array(False))

    def world_at(self, state: GridState | None) -> GridWorld:
        """Returns the world of one map: the one of a concrete state's phase, the first for None."""
        if not self._changes:
            return self
        phase = 0 if state is None else self._concrete_phase(state)
        return dataclasses.replace(
            self,
            tables=OutcomeTable.of(self.exact[phase]),
            exact=(self.exact[phase],),
            planes=self.planes[phase : phase + 1],
            change_at=self.change_at[:0],
            layouts=(self.layouts[phase],),
        )

    def model(self) -> TabularModel:
        """Returns the exact model; of the first map, where the map changes."""
        return self.exact[0]

    def panels(self) -> tuple[Panel, ...]:
        """Draws the map (the first one, where it changes)."""
        return (grid_panel(self.layout, self.rules),)

    def scene(self, state: GridState) -> Scene:
        """Draws the map with the agent on it."""
        return grid_scene(self.layouts[self._concrete_phase(state)], int(state.cell))

    @property
    def _changes(self) -> bool:
        return len(self.layouts) > 1

    def _phase(self, clock: Int[Array, ""] | None) -> Int[Array, ""] | None:
        if clock is None:
            return None
        return jnp.sum(clock >= jnp.asarray(self.change_at), dtype=jnp.int32)

    def _concrete_phase(self, state: GridState) -> int:
        return 0 if state.clock is None else int(np.sum(np.asarray(state.clock) >= np.asarray(self.change_at)))

    def _begin(self, key: PRNGKeyArray, clock: Int[Array, ""] | None) -> tuple[GridState, Timestep]:
        cell = self.tables.draw_start(key)
        obs = self._observe(cell, clock)
        return GridState(cell, clock), Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def _observe(self, cell: Int[Array, ""], clock: Int[Array, ""] | None) -> Array:
        phase = self._phase(clock)
        planes = jnp.asarray(self.planes)[0 if phase is None else phase]
        layout = self.layout
        return observe(self.observation, cell, layout.width, layout.num_cells, planes, self.window_radius)


def gridworld(
    map: Map | Sequence[Map],
    *,
    change_at: Sequence[int] = (),
    moves: int = 4,
    stay: bool = False,
    slip: float = 0.0,
    wind: Sequence[int] = (),
    step_reward: float = 0.0,
    goal_reward: float = 1.0,
    pit_reward: float = -1.0,
    cliff_reward: float = -100.0,
    bump_reward: float = 0.0,
    teleports: Mapping[tuple[int, int], tuple[tuple[int, int], float]] | None = None,
    continuing: bool = False,
    observation: str = "index",
    window_radius: int = 2,
    time_limit: int | None = None,
) -> GridWorld:
    """Makes a GridWorld from a map.

    Args:
        map: lines of '.' floor, '#' wall, 'S' start, 'G' goal, 'P' pit, 'C' cliff (back to the start, the episode
            goes on); or one map for each phase where `change_at` is given.
        change_at: steps of the environment's life, increasing, at which the next map takes over.
        moves: directions of moves: 4, or 8 with the diagonals (corners may be cut).
        stay: whether there is an action that does not move; the wind blows it all the same.
        slip: probability that a move goes at a right angle instead, to each side with slip / 2. Staying never slips.
        wind: for each column, cells that a move from there is blown upwards (negative: downwards). Move and wind add
            up, the grid's edge holds both, and only the cell where they end counts as entered. A wall stops the wind;
            where one stands in the way of the two together, the move comes first and the wind after it.
        step_reward: reward of every step; a cost is negative.
        goal_reward: reward added when a goal is entered.
        pit_reward: reward added when a pit is entered.
        cliff_reward: reward added when a cliff is entered.
        bump_reward: reward added when a move leaves the agent where it was: not when it stays, nor over a cliff.
        teleports: {(row, column): ((row, column), reward)}: every action from the first cell leads to the second one
            and gives just this reward.
        continuing: whether to allow a map without a goal.
        observation: form of the observation, "index", "coordinates", "one_hot" or "window".
        window_radius: the window shows 2 * radius + 1 cells each way.
        time_limit: steps until an episode is truncated.

    Raises:
        ConfigError: for a map or a number that makes no sense, naming it.

    Examples:
        >>> import jax
        >>> env = gridworld("S.G", step_reward=-1.0)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> int(timestep.obs), float(timestep.reward)
        (1, -1.0)
    """
    check_choice("observation", observation, OBSERVATIONS)
    if not is_number(moves) or moves not in (4, 8):
        raise ConfigError("moves", moves, "use 4 or 8")
    for name, flag in (("stay", stay), ("continuing", continuing)):
        check_flag(name, flag)
    radius = check_count("window_radius", window_radius, low=0, high=64) * (observation == "window")
    layouts = _parse_layouts(map, change_at)
    rewards = {
        "step_reward": step_reward,
        "goal_reward": goal_reward,
        "pit_reward": pit_reward,
        "cliff_reward": cliff_reward,
        "bump_reward": bump_reward,
    }
    rewards = {name: _known_reward(name, value) for name, value in rewards.items()}
    slip = known_number("slip", slip, IN_TABLES, low=0.0, high=1.0)
    limit = check_limit(time_limit)
    rules = Rules(
        moves=action_moves(moves, stay),
        wind=check_wind("wind", wind, layouts[0].width),
        slip=slip,
        teleports=_check_teleports(teleports if _is_given(teleports) else {}, layouts),
        **rewards,
    )
    models = _checked_models(layouts, rules, continuing)
    return GridWorld(
        tables=OutcomeTable.of(_stack(models)),
        exact=models,
        planes=np.stack([channels(layout, radius) for layout in layouts]),
        change_at=np.asarray(change_at, np.int32).reshape(-1),
        layouts=layouts,
        rules=rules,
        observation=observation,
        window_radius=radius,
        time_limit=limit,
    )


def _checked_models(layouts: tuple[GridLayout, ...], rules: Rules, continuing: bool) -> tuple[TabularModel, ...]:
    """Returns each map's model.

    Raises:
        ConfigError: for a map without what a task needs, or, unless `continuing`, without a way to a goal.
    """
    names = ["map"] if len(layouts) == 1 else [f"map[{phase}]" for phase in range(len(layouts))]
    for name, layout in zip(names, layouts, strict=True):
        check_layout(name, layout, continuing=continuing)
    models = tuple(build_model(layout, rules) for layout in layouts)
    if not continuing:
        for name, layout, model in zip(names, layouts, models, strict=True):
            check_ways(name, layout, model)
    return models


def _parse_layouts(map: Any, change_at: Sequence[int]) -> tuple[GridLayout, ...]:
    several = is_list(map)
    if not is_list(change_at):
        raise ConfigError("change_at", change_at, "give a list of steps, such as (1000,)")
    if not len(change_at):
        if several and any(isinstance(row, str) and "\n" in row for row in map):
            raise ConfigError("change_at", change_at, f"say when each of the {len(map)} maps begins, or give one map")
        return (parse_layout("map", map),)
    for i, step in enumerate(change_at):
        check_count(f"change_at[{i}]", step, low=1 if i == 0 else int(change_at[i - 1]) + 1, high=LARGEST)
    if not several or len(map) != len(change_at) + 1:
        given = len(map) if several else 1
        raise ConfigError("map", f"{given} maps", f"give {len(change_at) + 1}: one more than change_at has steps")
    layouts = tuple(parse_layout(f"map[{phase}]", grid) for phase, grid in enumerate(map))
    for phase, layout in enumerate(layouts):
        if (layout.height, layout.width) != (layouts[0].height, layouts[0].width):
            size = f"{layouts[0].height} x {layouts[0].width}"
            raise ConfigError(f"map[{phase}]", f"{layout.height} x {layout.width} cells", f"use {size} as in map[0]")
        if layout.cells("S") != layouts[0].cells("S"):
            raise ConfigError(f"map[{phase}]", "other starts than map[0]", "mark the same start cells in every map")
    return layouts


def _check_teleports(
    teleports: Mapping[tuple[int, int], tuple[tuple[int, int], float]], layouts: tuple[GridLayout, ...]
) -> tuple[tuple[tuple[int, int], tuple[int, int], float], ...]:
    if not isinstance(teleports, Mapping):
        raise ConfigError("teleports", teleports, "use a dict {(row, column): ((row, column), reward)}")
    checked = []
    for here, gateway in teleports.items():
        if not isinstance(gateway, Sequence) or len(gateway) != 2 or not isinstance(gateway[0], Sequence):
            raise ConfigError(f"teleports[{here}]", gateway, "use ((row, column), reward)")
        there, reward = gateway
        reward = _known_reward(f"teleports[{here}] reward", reward)
        checked.append((_open_cell(here, layouts), _open_cell(there, layouts), reward))
    return tuple(checked)


def _is_given(teleports: Any) -> TypeGuard[Mapping[tuple[int, int], tuple[tuple[int, int], float]]]:
    """Returns whether there are any; whether they are of the right form is not asked."""
    return hasattr(teleports, "shape") or bool(teleports)


def _known_reward(name: str, value: Any) -> float:
    return known_number(name, value, IN_TABLES, low=-LARGEST_REWARD, high=LARGEST_REWARD)


def _open_cell(cell: Any, layouts: tuple[GridLayout, ...]) -> tuple[int, int]:
    height, width = layouts[0].height, layouts[0].width
    whole = isinstance(cell, Sequence) and len(cell) == 2 and all(isinstance(i, (int, np.integer)) for i in cell)
    inside = whole and 0 <= cell[0] < height and 0 <= cell[1] < width
    if not inside or any(layout.rows[cell[0]][cell[1]] in (WALL, CLIFF) for layout in layouts):
        raise ConfigError("teleports", cell, f"use a (row, column) inside {height} x {width} that is no wall or cliff")
    return int(cell[0]), int(cell[1])


def _stack(models: tuple[TabularModel, ...]) -> TabularModel:
    """Stacks all phases in one table, phase after phase; the engine adds phase * cells to a cell's index.

    `next_state` stays a cell of the grid, since the phase of the next step is the clock's to say.
    """
    rows = [np.concatenate([np.asarray(p) for p in parts]) for parts in zip(*(_parts(m) for m in models), strict=True)]
    start = np.concatenate([np.asarray(models[0].start)] + [np.zeros_like(models[0].start)] * (len(models) - 1))
    return TabularModel(rows[0], rows[1], rows[2], rows[3], start)


def _parts(model: TabularModel) -> tuple[Array | np.ndarray, ...]:
    return model.probability, model.next_state, model.reward, model.terminated
