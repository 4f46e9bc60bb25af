"""Our tasks beside the package `minigrid`: the same grids and actions give the same observations, rewards and ends."""

from __future__ import annotations

from collections import Counter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from minigrid_package import (
    RolledBalls,
    compare_step,
    into_the_midst,
    layout_of,
    object_of,
    package_env,
    play,
    state_of,
)

import kousoku as ks
from kousoku.envs.minigrid.cells import NOTHING
from kousoku.envs.minigrid.door_key import DoorKey

pytestmark = [
    pytest.mark.peers,
    pytest.mark.reference,
    pytest.mark.filterwarnings("ignore:.*MultiRoom-N4-S5-v0 is out of date"),
]

IDS = [id for id in ks.list_envs() if id.startswith("MiniGrid-")]
ACTIONS = (0.12, 0.12, 0.4, 0.12, 0.08, 0.14, 0.02)
"""Probabilities of left, right, forward, pickup, drop, toggle and done: more walking than by chance alone."""


@pytest.fixture(autouse=True, scope="module")
def _package():
    pytest.importorskip("minigrid")


@pytest.mark.parametrize("id", IDS)
def test_its_steps_are_the_packages(id):
    compare(id, episodes=12, longest=150)


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", IDS)
def test_sixty_thousand_steps(id):
    compare(id, episodes=1000, longest=400, least=60_000)


def compare(id, episodes, longest, least=0):
    """Asserts that episodes from the package's layouts are the package's, step for step; half begin in their midst."""
    env, rng = ks.make(id), np.random.default_rng(0)
    steps, ends = 0, Counter()
    while episodes > 0 or steps < least:
        count = min(max(episodes, 100), 200) if least else episodes
        taken, ended = compare_some(id, env, rng, count, min(longest, env.time_limit))
        episodes, steps, ends = episodes - count, steps + taken, ends + ended
    assert ends["terminated"] or not least, ends
    if least:
        rolls = "Dynamic" in id  # balls end all episodes of small grids before
        assert ends["truncated"] or env.time_limit > longest or rolls, ends


def compare_some(id, env, rng, count, length):
    packages = [package_env(id) for _ in range(count)]
    states = []
    for i, package in enumerate(packages):
        package.reset(seed=int(rng.integers(1 << 30)))
        if i % 2 and "Dynamic" not in id:
            into_the_midst(package, rng)
        states.append(state_of(env, package))
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *states)
    p = np.array(ACTIONS[: env.action_space.n]) / sum(ACTIONS[: env.action_space.n])
    actions = rng.choice(env.action_space.n, (count, length), p=p).astype(np.int32)
    with no_fallback():
        after, timesteps = play(env, stacked, actions, jax.random.split(jax.random.key(int(rng.integers(99))), count))
    steps, ends = 0, Counter()
    for i, package in enumerate(packages):
        balls = RolledBalls(package) if after.obstacles is not None else None
        for t in range(length):
            state, timestep = jax.tree.map(lambda x, i=i, t=t: x[i, t], (after, timesteps))
            if balls is not None:
                balls.places = state.obstacles
            steps += 1
            if compare_step(package, int(actions[i, t]), state, timestep, f"{id}, episode {i}, step {t}"):
                ends["terminated" if timestep.terminated else "truncated"] += 1
                break
    return steps, ends


# ---- grids of anything, so that every rule is met


def anything(rng, size):
    """Returns a grid with walls around it, in which every third cell has any object of any colour."""
    kinds = [2, 2, 2, 4, 5, 6, 7, 8, 9, 11, 12]
    cells = np.where(rng.random((size, size)) < 0.35, rng.choice(kinds, (size, size)), 1)
    cells = cells + 16 * np.where(cells == 1, 0, rng.integers(6, size=cells.shape))
    cells = np.where((cells & 15) == 2, 2 + 16 * 5, np.where((cells & 15) == 8, 8 + 16, cells))
    cells = np.where((cells & 15) == 9, 9, cells)
    for side in (0, -1):
        cells[side, :] = cells[:, side] = 2 + 16 * 5
    return cells.astype(np.uint8)


def put_anything(package, rng, size):
    """Fills the package's grid, and puts the agent, perhaps with something in its hand, into an empty cell."""
    cells = anything(rng, size)
    for x, y in np.ndindex(size, size):
        package.grid.set(x, y, object_of(int(cells[x, y])))
    free = np.argwhere((cells & 15) == 1)
    package.agent_pos, package.agent_dir = tuple(int(c) for c in free[rng.integers(len(free))]), int(rng.integers(4))
    held = int(rng.choice([NOTHING, 5 + 16 * int(rng.integers(6)), 6, 7 + 16]))
    package.carrying = None if held == NOTHING else object_of(held)


@pytest.mark.parametrize("count", [40, pytest.param(3000, marks=pytest.mark.full("larger"))])
@pytest.mark.parametrize("size", [5, 8, 16])
def test_grids_of_anything(size, count):
    env, rng, length = DoorKey(size=size), np.random.default_rng(size), 60
    package = package_env(f"MiniGrid-DoorKey-{size}x{size}-v0")
    begun = []
    for _ in range(count):
        package.reset()
        put_anything(package, rng, size)
        begun.append(state_of(env, package))
    states = jax.tree.map(lambda *x: jnp.stack(x), *begun)
    actions = rng.choice(7, (count, length), p=(0.2, 0.2, 0.2, 0.1, 0.1, 0.2, 0)).astype(np.int32)
    after, timesteps = play(env, states, actions, jax.random.split(jax.random.key(0), count))
    met = Counter()
    for i in range(count):
        package.reset()
        for x, y in np.ndindex(size, size):
            package.grid.set(x, y, object_of(int(begun[i].cells[x, y])))
        package.agent_pos, package.agent_dir = (int(begun[i].x), int(begun[i].y)), int(begun[i].direction)
        package.carrying = None if int(begun[i].carrying) == NOTHING else object_of(int(begun[i].carrying))
        for t in range(length):
            state, timestep = jax.tree.map(lambda x, i=i, t=t: x[i, t], (after, timesteps))
            before = int((begun[i] if t == 0 else jax.tree.map(lambda x, i=i, t=t: x[i, t - 1], after)).carrying)
            met[int(actions[i, t]), before & 15, int(state.carrying) & 15] += 1
            if compare_step(package, int(actions[i, t]), state, timestep, f"grid {i}, step {t}"):
                break
    assert count < 1000 or {(3, 1, 5), (3, 1, 6), (3, 1, 7), (4, 5, 1), (4, 6, 1), (4, 7, 1)} <= met.keys()


@pytest.mark.parametrize("size", [3, 5, 9, 15])
def test_views_of_other_sizes(size):
    from minigrid.wrappers import ViewSizeWrapper

    rng, env = np.random.default_rng(size), DoorKey(size=16, agent_view_size=size)
    package = ViewSizeWrapper(package_env("MiniGrid-DoorKey-16x16-v0"), size)
    seen = eqx.filter_jit(env.observe)
    for _ in range(60):
        package.reset()
        put_anything(package.unwrapped, rng, 16)
        wanted = package.observation(package.unwrapped.gen_obs())["image"]
        np.testing.assert_array_equal(seen(state_of(env, package.unwrapped)), wanted)


def test_the_whole_grid_ones_and_zeros_and_directions():
    from minigrid.wrappers import FullyObsWrapper, OneHotPartialObsWrapper

    rng, package = np.random.default_rng(1), package_env("MiniGrid-DoorKey-8x8-v0")
    full, ones = FullyObsWrapper(package), OneHotPartialObsWrapper(package)
    ours_full, ours_ones = DoorKey(view="full", direction=True), DoorKey(one_hot=True, direction=True)
    see_full, see_ones = eqx.filter_jit(ours_full.observe), eqx.filter_jit(ours_ones.observe)
    for _ in range(60):
        package.reset()
        put_anything(package, rng, 8)
        state, obs = state_of(ours_full, package), package.gen_obs()
        for found, wanted in ((see_full(state), full.observation(obs)), (see_ones(state), ones.observation(obs))):
            np.testing.assert_array_equal(found["image"], wanted["image"])
            assert int(found["direction"]) == wanted["direction"]


@pytest.mark.parametrize("id", IDS)
def test_spaces_limits_and_missions_are_the_packages(id):
    env, package = ks.make(id, direction=True), package_env(id)
    obs, _ = package.reset(seed=0)
    image = env.observation_space.spaces["image"]
    assert image.shape == package.observation_space["image"].shape
    assert image.dtype == package.observation_space["image"].dtype
    assert env.action_space.n == package.action_space.n
    assert env.time_limit == package.max_steps
    assert env.shape == (package.width, package.height)
    assert env.see_through_walls == package.see_through_walls
    assert env.mission(state_of(env, package)) == obs["mission"]


# ---- layouts


@pytest.mark.parametrize("id", IDS)
def test_layouts_have_the_packages_distribution(id):
    check_layouts(id, 400)


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", IDS)
def test_layouts_have_the_packages_distribution_closely(id):
    check_layouts(id, 10_000)


def check_layouts(id, count):
    env, package = ks.make(id), package_env(id)
    keys = jax.random.split(jax.random.key(1), 5 * count)
    ours = jax.device_get(jax.jit(jax.vmap(ks.kernel(lambda key: env.layout(key))))(keys))
    package.reset(seed=3)
    theirs = []
    for _ in range(count):
        package.reset()
        theirs.append(layout_of(package))
    theirs = jax.tree.map(lambda *x: np.stack(x), *jax.device_get(theirs))
    found, wanted = features(ours), features(theirs)
    for name in wanted:
        same_distribution(found[name], wanted[name], f"{id}: {name}")


def features(layouts):
    """Returns numbers [N] that say what a layout is like: where things are, which colours they have, how many."""
    cells = layouts.cells.astype(int)
    kind, color = cells & 15, cells >> 4
    height = cells.shape[2]
    agent = layouts.x * height + layouts.y
    told = {"agent": agent, "direction": layouts.direction, "mission": layouts.mission}
    for code in range(1, 13):
        there = (kind == code).reshape(len(kind), -1)
        numbers = there.sum(axis=1)
        told[f"number of {code}"] = numbers
        if there.any() and numbers.max() <= 12:
            first, last = there.argmax(axis=1), there.shape[1] - 1 - there[:, ::-1].argmax(axis=1)
            told |= {f"first {code}": first, f"last {code}": last}
            told[f"agent from {code}"] = (first // height - layouts.x) * 100 + first % height - layouts.y
            flat = color.reshape(len(kind), -1)
            rows = np.arange(len(kind))
            told[f"colours of {code}"] = flat[rows, first] * 6 + flat[rows, last]
    coarse = np.stack([(kind == 2)[:, i::3, j::3].sum(axis=(1, 2)) for i in range(3) for j in range(3)], axis=1)
    told |= {f"walls {i}": coarse[:, i] for i in range(9)}
    return told


def same_distribution(ours, theirs, what):
    """Asserts that two samples are of one distribution: chi squared of a table of two rows; rare values are one."""
    values, codes = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    table = np.stack([np.bincount(c, minlength=len(values)) for c in (codes[: len(ours)], codes[len(ours) :])])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    rare = expected[1] < 5
    table = np.concatenate([table[:, ~rare], table[:, rare].sum(axis=1, keepdims=True)], axis=1)
    table = table[:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi, freedom = float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1
    assert chi <= freedom + 6 * np.sqrt(2 * freedom) + 12, f"{what}: chi squared is {chi:.0f} of {freedom}\n{table}"
