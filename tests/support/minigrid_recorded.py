"""Episodes of the package `minigrid`, recorded: what our tasks have to do without it.

`python tests/support/minigrid_recorded.py`, with the package installed, makes the recordings anew: from layouts of
ours, with random actions, of every task an episode that succeeds. Of every observation there is a checksum.
"""

from __future__ import annotations

import base64
import sys
import zlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from recordings import checksum, write

import kousoku as ks
from kousoku.envs.minigrid.env import MiniGrid
from kousoku.envs.minigrid.layout import Layout

PATH = Path(__file__).with_name("minigrid_recorded.json")
TASKS = (
    "Empty-Random-5x5", "FourRooms", "DoorKey-5x5", "LavaGapS5", "SimpleCrossingS9N2", "Unlock", "UnlockPickup",
    "KeyCorridorS3R2", "MultiRoom-N2-S4", "Dynamic-Obstacles-6x6",
)  # fmt: skip
PROBABILITIES = (0.12, 0.12, 0.4, 0.12, 0.08, 0.14, 0.02)
WALKS, STEPS, LENGTH = 20_000, 150, 30


def play(env: MiniGrid, layout: Layout, key: Any, actions: Any) -> Any:
    """Returns the states and timesteps of an episode; the balls' chance comes from the key."""

    def step(state: Any, now: Any) -> Any:
        state, timestep = env.step(now[1], state, now[0])
        return state, (state, timestep)

    return jax.lax.scan(step, env.begin(layout)[0], (actions, jax.random.split(key, len(actions))))[1]


def layout_to_json(layout: Layout) -> dict[str, Any]:
    """Returns a layout as text and numbers."""
    packed = base64.b64encode(zlib.compress(np.asarray(layout.cells).tobytes(), 9)).decode()
    numbers = [int(n) for n in (layout.x, layout.y, layout.direction, layout.mission)]
    balls = None if layout.obstacles is None else layout.obstacles.tolist()
    return {"cells": packed, "shape": list(layout.cells.shape), "agent": numbers, "obstacles": balls}


def layout_from_json(told: dict[str, Any]) -> Layout:
    """Returns the layout that was written down."""
    cells = np.frombuffer(zlib.decompress(base64.b64decode(told["cells"])), np.uint8).reshape(told["shape"])
    balls = None if told["obstacles"] is None else jnp.array(told["obstacles"], jnp.int32)
    return Layout(jnp.asarray(cells), *(jnp.int32(n) for n in told["agent"]), balls)


def record(task: str) -> dict[str, Any]:
    """Lets the package play an episode of about 30 steps that succeeded by chance."""
    from minigrid_package import RolledBalls, package_env, put_layout

    env = ks.make(f"MiniGrid-{task}-v0")
    p = np.array(PROBABILITIES[: env.action_space.n])
    actions = np.random.default_rng(0).choice(len(p), (WALKS, STEPS), p=p / p.sum()).astype(np.int32)

    def walk(key: Any, actions: Any) -> Any:
        layout_key, ball_key = jax.random.split(key)
        layout = env.layout(layout_key)
        states, timesteps = play(env, layout, ball_key, actions)
        return layout, ball_key, states.obstacles, timesteps.reward, timesteps.terminated

    keys = jax.random.split(jax.random.key(7), WALKS)
    layouts, ball_keys, balls, reward, terminated = jax.jit(jax.vmap(ks.kernel(walk)))(keys, actions)
    reward, terminated = np.asarray(reward), np.asarray(terminated)
    last = np.where(terminated.any(axis=1), terminated.argmax(axis=1), STEPS)
    success = (last < STEPS) & (reward[np.arange(WALKS), np.minimum(last, STEPS - 1)] > 0)
    chosen = int(np.where(success, abs(last - LENGTH), STEPS).argmin())
    assert success[chosen], f"{task}: no walk succeeded"
    layout = jax.tree.map(lambda x: np.asarray(x[chosen]), layouts)
    package = package_env(f"MiniGrid-{task}-v0")
    put_layout(package, layout)
    rolled = RolledBalls(package) if balls is not None else None
    sums, told = [], (0.0, False)
    for t in range(int(last[chosen]) + 1):
        if rolled is not None:
            rolled.places = np.asarray(balls[chosen, t])
        obs, value, over, _, _ = package.step(int(actions[chosen, t]))
        sums.append(checksum(obs["image"]))
        told = float(value), bool(over)
    return {
        "layout": layout_to_json(layout),
        "key": np.asarray(jax.random.key_data(ball_keys[chosen])).tolist(),
        "actions": "".join(map(str, actions[chosen, : len(sums)])),
        "checksums": "".join(sums),
        "reward": told[0],
        "terminated": told[1],
    }


def main() -> None:
    """Writes the recordings of all tasks."""
    made = {task: record(task) for task in TASKS}
    write(PATH, made)
    for task, one in made.items():
        sys.stdout.write(f"{task}: {len(one['actions'])} steps, reward {one['reward']:.3f}, {one['terminated']}\n")


if __name__ == "__main__":
    main()
