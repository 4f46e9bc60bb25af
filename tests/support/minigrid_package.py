"""The package `minigrid` beside our tasks: its layouts as ours, and its steps with our actions and our balls' moves."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

import kousoku as ks
from kousoku.envs.minigrid.cells import AGENT, EMPTY, LOCKED_DOOR, NOTHING, OPEN_DOOR
from kousoku.envs.minigrid.env import MiniGrid, MiniGridState
from kousoku.envs.minigrid.layout import Layout


def package_env(id: str, **options: Any) -> Any:
    """Returns the package's environment, without Gymnasium's wrappers."""
    import minigrid  # noqa: F401

    return gymnasium.make(id, **options).unwrapped


def cells_of(encoded: Any) -> np.ndarray:
    """Returns our bytes of the package's (object, colour, state)."""
    kind, color, state = np.moveaxis(np.asarray(encoded).astype(int), -1, 0)
    is_door = kind == OPEN_DOOR
    return (np.where(is_door & (state > 0), AGENT + state, kind) + 16 * color).astype(np.uint8)


def object_of(byte: int) -> Any:
    """Returns the package's object of one of our bytes."""
    from minigrid.core.world_object import WorldObj

    kind, color = byte & 15, byte >> 4
    return WorldObj.decode(OPEN_DOOR, color, kind - AGENT) if kind > AGENT else WorldObj.decode(kind, color, 0)


def layout_of(package: Any) -> Layout:
    """Returns where everything is in the package's environment."""
    colors = ("red", "green", "blue", "purple", "yellow", "grey")
    named = [i for i, color in enumerate(colors) if color in package.mission.split()]
    balls = getattr(package, "obstacles", None)
    mission = named[0] if named and "pick up" in package.mission else 0
    x, y = package.agent_pos
    return Layout(
        jnp.asarray(cells_of(package.grid.encode())),
        *(jnp.int32(int(n)) for n in (x, y, package.agent_dir, mission)),
        None if balls is None else jnp.array([ball.cur_pos for ball in balls], jnp.int32),
    )


def put_layout(package: Any, layout: Layout) -> None:
    """Brings the package's environment to the beginning of an episode with a layout of ours."""
    package.reset(seed=0)
    objects = {}
    for x, y in np.ndindex(layout.cells.shape):
        objects[x, y] = object_of(int(layout.cells[x, y]))
        package.grid.set(x, y, objects[x, y])
    package.agent_pos, package.agent_dir = (int(layout.x), int(layout.y)), int(layout.direction)
    for name, kind in (("door", "door"), ("obj", "box"), ("obj", "ball")):
        there = [one for one in objects.values() if one is not None and one.type == kind]
        if hasattr(package, name) and there:
            setattr(package, name, there[0])
    if layout.obstacles is not None:
        package.obstacles = [objects[x, y] for x, y in layout.obstacles.tolist()]
        for ball, place in zip(package.obstacles, layout.obstacles.tolist(), strict=True):
            ball.cur_pos = tuple(place)


def carried_of(package: Any) -> int:
    """Returns our byte of what the package's agent carries."""
    carried = package.carrying
    return NOTHING if carried is None else int(cells_of(np.array(carried.encode())))


def state_of(env: MiniGrid, package: Any) -> MiniGridState:
    """Returns our state of where the package's environment is."""
    state, _ = env.begin(layout_of(package))
    return eqx.tree_at(lambda s: s.carrying, state, jnp.int32(carried_of(package)))


def into_the_midst(package: Any, rng: np.random.Generator) -> None:
    """Puts the agent anywhere, in half of the cases with the key in its hand and the locked door open."""
    cells = cells_of(package.grid.encode())
    keys = np.argwhere((cells & 15) == 5)
    if len(keys) and rng.random() < 0.5:
        x, y = keys[0]
        package.carrying = package.grid.get(x, y)
        package.grid.set(x, y, None)
        if rng.random() < 0.5 and not hasattr(package, "door"):  # an open one ends Unlock
            x, y = np.argwhere((cells & 15) == LOCKED_DOOR)[0]
            package.grid.get(x, y).is_locked = False
            package.grid.get(x, y).is_open = True
        if rng.random() < 0.3:
            package.carrying = None
    cells = cells_of(package.grid.encode())
    inside = np.zeros_like(cells, bool)
    inside[1:-1, 1:-1] = True
    if "MultiRoom" in type(package).__name__:
        for room in package.rooms:
            (x, y), (w, h) = room.top, room.size
            inside[x : x + w, y : y + h] |= True
        outside = np.ones_like(inside)
        for room in package.rooms:
            (x, y), (w, h) = room.top, room.size
            outside[x : x + w, y : y + h] = False
        inside &= ~outside
    free = np.argwhere(inside & ((cells & 15) == EMPTY))
    x, y = free[rng.integers(len(free))]
    package.agent_pos = (int(x), int(y))
    package.agent_dir = int(rng.integers(4))


class RolledBalls:
    """Stands for the chance of the package's moving obstacles: they go where ours went."""

    def __init__(self, package: Any) -> None:
        self.package, self.places = package, np.zeros((0, 2), int)
        self.place_obj = package.place_obj
        package.place_obj = self.place

    def place(self, ball: Any, **options: Any) -> Any:
        """Lets the package draw the cell that ours drew, again and again if it is refused."""
        number = next(i for i, one in enumerate(self.package.obstacles) if one is ball)
        turns = [0]

        def given(low: int, high: int) -> int:
            value = int(self.places[number][turns[0] % 2])
            turns[0] += 1
            return value if low <= value < high else low

        self.package._rand_int = given
        return self.place_obj(ball, **options)


def play(env: MiniGrid, states: Any, actions: Any, keys: Any) -> Any:
    """Plays actions [N, T] from states [N] in a kernel: returns states and timesteps [N, T] after each."""

    def one(state: MiniGridState, actions: Any, key: Any) -> Any:
        def step(state: MiniGridState, now: Any) -> Any:
            state, timestep = env.step(now[1], state, now[0])
            return state, (state, timestep)

        return jax.lax.scan(step, state, (actions, jax.random.split(key, len(actions))))[1]

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(ks.kernel(one)))(states, actions, keys))


def compare_step(package: Any, action: int, state: Any, timestep: Any, where: str) -> bool:
    """Lets the package take a step; asserts that it is ours, and tells whether the episode is over."""
    obs, reward, terminated, truncated, _ = package.step(action)
    np.testing.assert_array_equal(timestep.obs, obs["image"], where)
    np.testing.assert_array_equal(state.cells, cells_of(package.grid.encode()), where)
    told = [*map(int, package.agent_pos), package.agent_dir, carried_of(package), package.step_count, terminated]
    ours = [state.x, state.y, state.direction, state.carrying, state.step_count, timestep.terminated]
    assert list(map(int, ours)) == list(map(int, told)), where
    assert abs(float(timestep.reward) - reward) < 1e-6, where
    assert truncated == (int(state.step_count) >= package.max_steps), where
    return bool(terminated or truncated)
