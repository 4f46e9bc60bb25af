"""The named grids against the numbers that the literature gives for them.

References:
    Sutton and Barto (2nd ed.): examples 3.5, 3.8, 6.5, 6.6, 8.1, exercise 6.9, figures 8.4, 8.5.
    Sutton, Precup and Singh, Between MDPs and semi-MDPs, Artificial Intelligence 112 (1999), section 3.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks

pytestmark = pytest.mark.reference

UP, RIGHT, DOWN, LEFT = range(4)


def shortest(model: ks.TabularModel) -> dict[int, int]:
    """Fewest steps from each possible start to an end, by breadth-first search over possible outcomes."""
    found = {}
    for start in np.flatnonzero(model.start).tolist():
        seen, frontier, steps = {start}, {start}, 0
        while frontier and start not in found:
            steps += 1
            ahead = set()
            for s in frontier:
                possible = model.probability[s] > 0
                if (possible & model.terminated[s]).any():
                    found[start] = steps
                ahead |= set(model.next_state[s][possible & ~model.terminated[s]].tolist())
            frontier = ahead - seen
            seen |= frontier
    return found


def steps_to_the_goal(id: str, **options) -> int:
    (steps,) = shortest(ks.make(id, **options).model()).values()
    return steps


def best_return(model: ks.TabularModel, discount: float = 1.0) -> np.ndarray:
    """v*(s) in float64, as many sweeps as it takes."""
    v = np.zeros(model.num_states)
    for _ in range(2000):
        goes_on = discount * np.where(model.terminated, 0.0, v[model.next_state])
        v = (model.probability * (model.reward + goes_on)).sum(axis=-1).max(axis=-1)
    return v


# Example 3.5: the grid with two teleports


def test_teleports_values_of_the_random_policy():
    """Figure 3.2 right: v_pi of the equiprobable policy at discount 0.9, from the linear system (3.14)."""
    model = ks.make("TeleportGrid-v0").model()
    assert model.num_outcomes == 1
    transition = np.zeros((25, 25))
    for action in range(4):
        transition[np.arange(25), model.next_state[:, action, 0]] += 0.25
    v = np.linalg.solve(np.eye(25) - 0.9 * transition, model.reward[..., 0].mean(axis=1))
    figure = [
        [3.3, 8.8, 4.4, 5.3, 1.5],
        [1.5, 3.0, 2.3, 1.9, 0.5],
        [0.1, 0.7, 0.7, 0.4, -0.4],
        [-1.0, -0.4, -0.4, -0.6, -1.2],
        [-1.9, -1.3, -1.2, -1.4, -2.0],
    ]
    np.testing.assert_allclose(v.reshape(5, 5), figure, atol=0.0501)
    assert not model.terminated.any()


def test_teleports_optimal_values():
    """Figure 3.5 middle: v* at discount 0.9."""
    figure = [
        [22.0, 24.4, 22.0, 19.4, 17.5],
        [19.8, 22.0, 19.8, 17.8, 16.0],
        [17.8, 19.8, 17.8, 16.0, 14.4],
        [16.0, 17.8, 16.0, 14.4, 13.0],
        [14.4, 16.0, 14.4, 13.0, 11.7],
    ]
    v = best_return(ks.make("TeleportGrid-v0").model(), 0.9)
    np.testing.assert_allclose(v.reshape(5, 5), figure, atol=0.0501)


def test_teleports_rewards():
    model = ks.make("TeleportGrid-v0").model()
    assert model.next_state[1, :, 0].tolist() == [21] * 4
    assert model.reward[1, :, 0].tolist() == [10.0] * 4
    assert model.next_state[3, :, 0].tolist() == [13] * 4
    assert model.reward[3, :, 0].tolist() == [5.0] * 4
    assert model.reward[0, :, 0].tolist() == [-1.0, 0.0, 0.0, -1.0]
    assert model.reward[24, :, 0].tolist() == [0.0, -1.0, -1.0, 0.0]
    assert model.reward[12, :, 0].tolist() == [0.0] * 4


# Examples 6.5 and 6.6


def test_windy_grid_takes_15_steps_and_7_with_king_s_moves():
    assert steps_to_the_goal("WindyGridWorld-v0") == 15
    assert steps_to_the_goal("WindyGridWorld-v0", moves=8) == 7
    assert steps_to_the_goal("WindyGridWorld-v0", moves=8, stay=True) == 7
    model = ks.make("WindyGridWorld-v0").model()
    assert (model.num_states, np.flatnonzero(model.start).tolist()) == (70, [30])
    assert best_return(model)[30] == -15.0


def test_windy_grid_step_by_step():
    """The book's optimal trajectory: nine steps right, four down, two left."""
    env = ks.make("WindyGridWorld-v0")
    state, _ = env.reset(jax.random.key(0))
    path = [RIGHT] * 9 + [DOWN] * 4 + [LEFT] * 2
    seen = []
    for i, action in enumerate(path):
        state, timestep = env.step(jax.random.key(i), state, jnp.int32(action))
        seen.append(divmod(int(timestep.obs), 10))
        assert float(timestep.reward) == -1.0
        assert bool(timestep.terminated) == (i == 14)
    up = [(3, 1), (3, 2), (3, 3), (2, 4), (1, 5), (0, 6), (0, 7), (0, 8), (0, 9)]
    assert seen == [*up, (1, 9), (2, 9), (3, 9), (4, 9), (4, 8), (3, 7)]


def test_cliff_costs_100_and_leads_back_and_the_best_return_is_minus_13():
    env = ks.make("CliffGridWorld-v0")
    model = env.model()
    start, goal = 36, 47
    assert np.flatnonzero(model.start).tolist() == [start]
    assert steps_to_the_goal("CliffGridWorld-v0") == 13
    assert best_return(model)[start] == -13.0
    for column in range(1, 11):
        above = 24 + column
        outcome = model.next_state[above, DOWN, 0], model.reward[above, DOWN, 0], model.terminated[above, DOWN, 0]
        assert outcome == (start, -100.0, False)
    assert (model.next_state[start, RIGHT, 0], model.reward[start, RIGHT, 0]) == (start, -100.0)
    assert (model.next_state[35, DOWN, 0], model.reward[35, DOWN, 0], model.terminated[35, DOWN, 0]) == (
        goal,
        -1.0,
        True,
    )
    assert model.reward[start, DOWN, 0] == -1.0


# Chapter 8's mazes


def test_dyna_maze_takes_14_steps():
    model = ks.make("DynaMaze-v0").model()
    assert steps_to_the_goal("DynaMaze-v0") == 14
    assert (model.num_states, np.flatnonzero(model.start).tolist()) == (54, [18])
    assert sorted(set(model.reward[model.probability > 0].tolist())) == [0.0, 1.0]
    assert sum(row.count("#") for row in ks.make("DynaMaze-v0").layout.rows) == 7


@pytest.mark.parametrize(
    ("id", "before", "after", "change"), [("BlockingMaze-v0", 10, 16, 1000), ("ShortcutMaze-v0", 16, 10, 3000)]
)
def test_the_way_before_and_after_the_change(id, before, after, change):
    env = ks.make(id)
    assert [*env.change_at] == [change]
    assert steps_to_the_goal(id) == before, "the model is the map's that a reset begins in"
    begun, _ = env.reset(jax.random.key(0))
    for clock, steps in ((change - 1, before), (change, after)):
        world = env.world_at(dataclasses.replace(begun, clock=jnp.int32(clock)))
        assert [*shortest(world.model()).values()] == [steps]
    assert np.flatnonzero(env.model().start).tolist() == [5 * 9 + 3]


def test_the_wall_of_figure_8_4_moves_after_1000_steps():
    env = ks.make("BlockingMaze-v0")
    state, _ = env.reset(jax.random.key(0))
    step = jax.jit(lambda cell, clock, action: env.step(jax.random.key(0), type(state)(cell, clock), action)[0].cell)
    below_right, below_left = 4 * 9 + 8, 4 * 9
    for clock, right, left in ((999, below_right - 9, below_left), (1000, below_right, below_left - 9)):
        assert int(step(jnp.int32(below_right), jnp.int32(clock), jnp.int32(UP))) == right
        assert int(step(jnp.int32(below_left), jnp.int32(clock), jnp.int32(UP))) == left


# Four rooms, and the article's grid


def test_four_rooms_has_104_cells_four_doors_and_a_way_of_20_steps():
    env = ks.make("FourRooms-v0")
    rows = env.layout.rows
    assert sum(len(row) - row.count("#") for row in rows) == 104
    doors = [(3, 6), (6, 2), (7, 9), (10, 6)]
    assert all(rows[r][c] == "." for r, c in doors)
    sealed = ["".join("#" if (r, c) in doors else glyph for c, glyph in enumerate(row)) for r, row in enumerate(rows)]
    with pytest.raises(ks.ConfigError, match="no way from the start"):
        ks.gridworld(sealed)
    assert steps_to_the_goal("FourRooms-v0") == 20


def test_the_article_s_grid_takes_18_steps():
    env = ks.make("GridWorld-v0")
    assert (env.layout.height, env.layout.width) == (8, 12)
    assert (env.layout.cells("S"), env.layout.cells("G")) == ([(7, 11)], [(0, 0)])
    assert steps_to_the_goal("GridWorld-v0") == 18
    np.testing.assert_allclose(best_return(env.model(), 0.9)[95], 0.9**17, rtol=1e-12)
    assert best_return(env.model(), 0.9)[0] == 0.0
