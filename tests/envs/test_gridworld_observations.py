"""What an agent sees: the window by hand, and four ways to tell the same cell."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.spaces import Box, Discrete, MultiDiscrete
from kousoku.envs.gridworld.env import GridState

MAP = """
S...
.PG.
#..C
"""
KINDS = ("index", "coordinates", "one_hot", "window")
WALLS, GOALS, PITS, CLIFFS = range(4)


def window(cell: tuple[int, int], radius: int = 1) -> list[np.ndarray]:
    """The planes of what is seen from a cell, as the step that stays there shows it."""
    env = ks.gridworld(MAP, observation="window", window_radius=radius, stay=True)
    _, timestep = env.step(jax.random.key(0), GridState(jnp.int32(cell[0] * 4 + cell[1])), jnp.int32(4))
    assert env.observation_space.contains(timestep.obs)
    return list(np.moveaxis(np.asarray(timestep.obs), -1, 0))


def test_the_spaces():
    spaces = [ks.gridworld(MAP, observation=kind).observation_space for kind in KINDS]
    assert spaces == [Discrete(12), MultiDiscrete((3, 4)), Box(0.0, 1.0, (12,)), Box(0.0, 1.0, (5, 5, 4))]
    assert ks.gridworld(MAP, observation="window", window_radius=0).observation_space.shape == (1, 1, 4)


def test_the_window_in_a_corner_has_walls_outside():
    walls, goals, pits, cliffs = window((0, 0))
    assert walls.tolist() == [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert pits.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert not goals.any()
    assert not cliffs.any()


def test_the_window_in_the_opposite_corner():
    walls, goals, _, cliffs = window((2, 2))
    assert walls.tolist() == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    assert goals.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert cliffs.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert window((1, 3))[CLIFFS].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert window((1, 3))[WALLS].tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_the_window_in_the_middle():
    walls, goals, pits, cliffs = window((1, 2))
    assert not walls.any()
    assert goals.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert pits.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert cliffs.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    walls, goals, pits, _ = window((2, 1))
    assert walls.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 1]]
    assert goals.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert pits.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_a_larger_window_has_the_smaller_one_in_its_middle():
    for cell in ((0, 0), (1, 0), (2, 1), (1, 3)):
        small, large = window(cell), window(cell, radius=3)
        for plane in (WALLS, GOALS, PITS, CLIFFS):
            np.testing.assert_array_equal(large[plane][2:5, 2:5], small[plane])
    assert large[WALLS].sum() == 49 - 12 + 1


def test_the_window_shows_the_map_of_the_moment():
    env = ks.gridworld(["S.G\n...", "S#G\n..."], change_at=(3,), observation="window", window_radius=1)
    right = [
        float(env.step(jax.random.key(0), GridState(jnp.int32(3), jnp.int32(clock)), jnp.int32(0))[1].obs[1, 2, WALLS])
        for clock in range(4)
    ]
    assert right == [0.0, 0.0, 1.0, 1.0], "the third step ends in the new map"
    later, timestep = env.restart(jax.random.key(0), GridState(jnp.int32(2), jnp.int32(3)))
    assert int(later.cell) == 0
    assert float(timestep.obs[1, 2, WALLS]) == 1.0


@pytest.mark.full("covered")
def test_all_four_describe_the_same_cell_along_a_random_walk():
    rows = ks.gridworld(MAP).layout.rows
    options = {"slip": 0.2, "stay": True, "moves": 8}
    envs = [ks.gridworld(MAP, observation=kind, window_radius=1, **options) for kind in KINDS]
    steps = [eqx.filter_jit(env.step) for env in envs]
    key = jax.random.key(2)
    states, timesteps = zip(*[env.reset(key) for env in envs], strict=True)
    visited = set()
    for i in range(60):
        index, (row, column), one_hot, seen = (np.asarray(timestep.obs) for timestep in timesteps)
        visited.add(int(index))
        assert index == row * 4 + column == np.argmax(one_hot)
        assert one_hot.sum() == 1
        assert seen[1, 1].tolist() == [float(rows[row][column] == glyph) for glyph in "#GPC"]
        assert all(env.observation_space.contains(t.obs) for env, t in zip(envs, timesteps, strict=True))
        assert all(t.obs.dtype == env.observation_space.dtype for env, t in zip(envs, timesteps, strict=True))
        act_key, step_key = jax.random.split(jax.random.fold_in(key, i))
        action = envs[0].action_space.sample(act_key)
        moved = [step(step_key, state, action) for step, state in zip(steps, states, strict=True)]
        states, timesteps = zip(*moved, strict=True)
        if timesteps[0].terminated:
            states, timesteps = zip(*[env.reset(act_key) for env in envs], strict=True)
    assert len(visited) >= 6


@pytest.mark.parametrize("kind", KINDS)
def test_every_start_is_seen_inside_its_space(kind):
    env = ks.gridworld("S.S\n.G.\nS.S", observation=kind)
    for key in jax.random.split(jax.random.key(0), 5):
        _, timestep = env.reset(key)
        assert env.observation_space.contains(timestep.obs)
        assert not timestep.terminated
