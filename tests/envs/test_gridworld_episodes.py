"""GridWorld over a lane's life: starts, auto-resets, maps that change, lanes beside each other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import stats

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.envs.gridworld.env import GridState

UP, RIGHT, DOWN, LEFT = range(4)
KEY = jax.random.key(0)
BEFORE, AFTER = "S..G\n....", "S#.G\n...."


@pytest.mark.full("covered")
def test_every_start_is_equally_likely():
    env = ks.gridworld("SGS\n#.S\nSSS")
    cells = np.asarray(jax.vmap(lambda key: env.reset(key)[0].cell)(jax.random.split(KEY, 12_000)))
    starts, counts = np.unique(cells, return_counts=True)
    assert starts.tolist() == [0, 2, 5, 6, 7, 8]
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.full("covered")
def test_auto_resets_draw_fresh_starts():
    env = ks.gridworld("SSSS\nSSSS\n...G", time_limit=1)

    def step(lane, key):
        lane, _, end = advance(env, lane, jnp.int32(DOWN), key)
        return lane, (lane.obs, end.ended)

    starts, ended = jax.jit(lambda lane, keys: lax.scan(step, lane, keys)[1])(
        begin(env, KEY), jax.random.split(KEY, 1000)
    )
    assert ended.all()
    assert stats.chisquare(np.bincount(np.asarray(starts), minlength=8)).pvalue > 1e-4


@pytest.mark.full("covered")
def test_a_lane_is_the_same_among_any_number_of_lanes():
    env = ks.gridworld("SS.#\nS..P\n.#.G", slip=0.3, time_limit=7, observation="coordinates")

    actions = jnp.asarray(np.random.default_rng(0).integers(0, 4, (64, 40)), jnp.int32)
    keys = jax.random.split(KEY, (64, 40))

    def life(keys, actions):
        def step(lane, action_and_key):
            lane, transition, end = advance(env, lane, *action_and_key)
            return lane, (transition, end)

        return lax.scan(step, begin(env, keys[0]), (actions[1:], keys[1:]))[1]

    def lives(number):
        return jax.tree.leaves(jax.jit(jax.vmap(life))(keys[:number], actions[:number]))

    many = lives(64)
    for number in (1, 7):
        for few, among in zip(lives(number), many, strict=True):
            np.testing.assert_array_equal(few, among[:number])
    assert any((leaf[0] != leaf[1]).any() for leaf in many)


@pytest.mark.full("covered")
def test_the_wall_moves_exactly_at_its_step_and_the_clock_outlives_the_episodes():
    env = ks.gridworld([BEFORE, AFTER], change_at=(5,), time_limit=1)
    lane, seen = begin(env, KEY), []
    for i in range(9):
        lane, transition, end = advance(env, lane, jnp.int32(RIGHT), jax.random.fold_in(KEY, i))
        assert bool(end.ended)
        assert (int(lane.obs), int(lane.env_state.clock)) == (0, i + 1)
        seen.append(int(transition.next_obs))
    assert seen == [1] * 5 + [0] * 4


def test_maps_follow_each_other_in_their_order():
    env = ks.gridworld(["S..\n..G", "SP.\n..G", "S..\n..G"], change_at=(2, 5))
    ended = [
        bool(env.step(KEY, GridState(jnp.int32(0), jnp.int32(clock)), jnp.int32(RIGHT))[1].terminated)
        for clock in range(7)
    ]
    assert ended == [False, False, True, True, True, False, False]


def test_a_reset_begins_at_step_0_and_a_map_that_does_not_change_has_no_clock():
    env = ks.gridworld([BEFORE, AFTER], change_at=(5,))
    assert int(env.reset(KEY)[0].clock) == 0
    later, _ = env.restart(KEY, GridState(jnp.int32(3), jnp.int32(77)))
    assert (int(later.cell), int(later.clock)) == (0, 77)
    assert ks.gridworld(BEFORE).reset(KEY)[0].clock is None


@pytest.mark.full("covered")
def test_each_lane_has_a_clock_of_its_own():
    env = ks.gridworld([BEFORE, AFTER], change_at=(5,))
    clocks = jnp.array([0, 4, 5, 9], jnp.int32)
    states = jax.vmap(lambda clock: GridState(jnp.int32(0), clock))(clocks)
    after, _ = jax.vmap(lambda state: env.step(KEY, state, jnp.int32(RIGHT)))(states)
    assert after.cell.tolist() == [1, 1, 0, 0]
    assert after.clock.tolist() == [1, 5, 6, 10]


def test_one_who_stands_where_a_wall_appears_can_leave_but_not_come_back():
    env = ks.gridworld([BEFORE, AFTER], change_at=(5,))
    inside = GridState(jnp.int32(1), jnp.int32(5))
    assert [int(env.step(KEY, inside, jnp.int32(a))[0].cell) for a in (UP, RIGHT, DOWN, LEFT)] == [1, 2, 5, 0]
    below = GridState(jnp.int32(5), jnp.int32(6))
    assert int(env.step(KEY, below, jnp.int32(UP))[0].cell) == 5


def test_model_and_picture_are_of_the_map_that_a_state_is_in_or_a_reset_begins_in_and_so_is_the_scene():
    env = ks.gridworld([BEFORE, AFTER], change_at=(5,))
    begun = env.reset(KEY)[0]
    for world, beside, row in (
        (env, 1, (0, 1, 2, 3)),
        (env.world_at(None), 1, (0, 1, 2, 3)),
        (env.world_at(begun), 1, (0, 1, 2, 3)),
        (env.world_at(GridState(begun.cell, jnp.int32(4))), 1, (0, 1, 2, 3)),
        (env.world_at(GridState(begun.cell, jnp.int32(5))), 0, (0, -1, 2, 3)),
    ):
        assert world.model().next_state[0, RIGHT, 0] == beside
        assert world.panels()[0].states == (row, (4, 5, 6, 7))
    rows = [env.scene(GridState(jnp.int32(0), jnp.int32(clock))) for clock in (4, 5)]
    assert rows[0] != rows[1]


def test_the_world_of_a_state_is_an_environment_that_changes_no_more():
    env = ks.gridworld([BEFORE, AFTER], change_at=(5,), observation="window", window_radius=1)
    for clock, ahead in ((4, 1), (5, 0)):
        world = env.world_at(GridState(jnp.int32(0), jnp.int32(clock)))
        assert world.world_at(None) is world
        state, timestep = world.reset(KEY)
        np.testing.assert_array_equal(timestep.obs, env._observe(jnp.int32(0), jnp.int32(clock)))
        assert [int(world.step(KEY, state, jnp.int32(RIGHT))[0].cell) for _ in range(9)] == [ahead] * 9
    assert ks.gridworld(BEFORE).world_at(None) == ks.gridworld(BEFORE)


@pytest.mark.full("covered")
def test_changing_a_number_of_the_environment_under_vmap_randomises_the_domain():
    env = ks.gridworld("S.G", step_reward=-1.0)
    scales = jnp.array([0.0, 1.0, 5.0], jnp.float32)

    def reward(scale, action):
        scaled = eqx.tree_at(lambda e: e.tables.reward, env, env.tables.reward * scale)
        return scaled.step(KEY, GridState(jnp.int32(0)), action)[1].reward

    np.testing.assert_array_equal(jax.jit(jax.vmap(reward, in_axes=(0, None)))(scales, jnp.int32(RIGHT)), -scales)
    many = jax.vmap(lambda s: eqx.tree_at(lambda e: e.tables.reward, env, env.tables.reward * s))(scales)
    rewards = jax.vmap(lambda e: e.step(KEY, e.reset(KEY)[0], jnp.int32(LEFT))[1].reward)(many)
    np.testing.assert_array_equal(rewards, -scales)
