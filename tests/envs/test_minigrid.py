"""MiniGrid without the package: recordings of it, rules by hand, layouts, views, what is refused, and pictures."""

from __future__ import annotations

import json
import math
from collections import Counter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from minigrid_recorded import PATH, layout_from_json, play
from recordings import first_other

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.core.scene import Circle, Rect
from kousoku.envs.minigrid.cells import (
    BALL,
    BLUE_BALL,
    BOX,
    CLOSED_DOOR,
    EMPTY,
    GOAL,
    GREEN_GOAL,
    GREY_WALL,
    HIDES,
    KEY,
    LAVA,
    LOCKED_DOOR,
    NOTHING,
    OPEN_DOOR,
    RED_LAVA,
    WALL,
    cell,
)
from kousoku.envs.minigrid.door_key import DoorKey
from kousoku.envs.minigrid.dynamic_obstacles import DynamicObstacles, rolled
from kousoku.envs.minigrid.env import DONE, DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE, MiniGridState, handled
from kousoku.envs.minigrid.key_corridor import reached
from kousoku.envs.minigrid.layout import Layout, walled
from kousoku.envs.minigrid.picture import object_shapes
from kousoku.envs.minigrid.view import visible

RECORDED = json.loads(PATH.read_text(encoding="utf-8"))
KEY_OF_ALL = jax.random.key(0)


def assert_replays(task, compiled):
    """Checks that a task is the package's, in all that a recording of it has."""
    wanted, env = RECORDED[task], ks.make(f"MiniGrid-{task}-v0")
    actions = np.array([int(a) for a in wanted["actions"]], np.int32)
    key = jax.random.wrap_key_data(jnp.array(wanted["key"], jnp.uint32))
    replay = compiled(lambda layout, key, actions: play(env, layout, key, actions)[1])
    timesteps = jax.device_get(jax.jit(replay)(layout_from_json(wanted["layout"]), key, actions))
    assert first_other(timesteps.obs, wanted["checksums"]) is None
    assert np.flatnonzero(timesteps.terminated).tolist() == [len(actions) - 1] * wanted["terminated"]
    assert timesteps.reward[-1] == pytest.approx(wanted["reward"], abs=1e-6)
    assert not timesteps.reward[:-1].any()


@pytest.mark.reference
@pytest.mark.parametrize("task", RECORDED)
def test_a_recording_of_the_package_is_played_again(task):
    assert_replays(task, lambda replay: replay)


@pytest.mark.by_default("Unlock", "UnlockPickup")
@pytest.mark.reference
@pytest.mark.parametrize("task", RECORDED)
def test_a_kernel_plays_a_recording_of_the_package_again(task):
    with no_fallback():
        assert_replays(task, ks.kernel)


# ---- rules by hand

BLUE_KEY, RED_KEY, BLUE_BOX, RED_BALL = cell(KEY, 2), cell(KEY, 0), cell(BOX, 2), cell(BALL, 0)
OPEN, CLOSED, LOCKED = (cell(kind, 2) for kind in (OPEN_DOOR, CLOSED_DOOR, LOCKED_DOOR))
HANDLED = [
    # action, before, carrying: then front, carrying
    (PICKUP, BLUE_KEY, NOTHING, NOTHING, BLUE_KEY),
    (PICKUP, BLUE_BOX, NOTHING, NOTHING, BLUE_BOX),
    (PICKUP, RED_BALL, NOTHING, NOTHING, RED_BALL),
    (PICKUP, RED_BALL, BLUE_KEY, RED_BALL, BLUE_KEY),
    *((PICKUP, fixed, NOTHING, fixed, NOTHING) for fixed in (NOTHING, GREY_WALL, OPEN, LOCKED, GREEN_GOAL, RED_LAVA)),
    (DROP, NOTHING, BLUE_KEY, BLUE_KEY, NOTHING),
    (DROP, NOTHING, NOTHING, NOTHING, NOTHING),
    *((DROP, full, BLUE_KEY, full, BLUE_KEY) for full in (GREY_WALL, RED_BALL, OPEN, GREEN_GOAL, RED_LAVA)),
    (TOGGLE, CLOSED, NOTHING, OPEN, NOTHING),
    (TOGGLE, OPEN, RED_KEY, CLOSED, RED_KEY),
    (TOGGLE, LOCKED, BLUE_KEY, OPEN, BLUE_KEY),
    (TOGGLE, LOCKED, RED_KEY, LOCKED, RED_KEY),
    (TOGGLE, LOCKED, BLUE_BOX, LOCKED, BLUE_BOX),
    (TOGGLE, LOCKED, NOTHING, LOCKED, NOTHING),
    (TOGGLE, BLUE_BOX, BLUE_KEY, NOTHING, BLUE_KEY),
    *((TOGGLE, fixed, BLUE_KEY, fixed, BLUE_KEY) for fixed in (NOTHING, GREY_WALL, RED_BALL, RED_KEY, GREEN_GOAL)),
    *((action, BLUE_KEY, NOTHING, BLUE_KEY, NOTHING) for action in (LEFT, RIGHT, FORWARD, DONE, -1, 7)),
]


def test_what_is_picked_up_dropped_and_toggled():
    given = jnp.array([case[:3] for case in HANDLED], jnp.int32)
    front, carrying = jax.jit(jax.vmap(handled))(*given.T)
    for case, *found in zip(HANDLED, front.tolist(), carrying.tolist(), strict=True):
        assert found == list(case[3:]), case


def world(*before, direction=0, size=7, **options):
    """A room with the agent at (1, 1) and some cells before it."""
    cells = walled(size, size)
    for i, code in enumerate(before):
        cells[2 + i, 1] = code
    env = DoorKey(size=size, **options)
    one = jnp.int32(1)
    return env, env.begin(Layout(jnp.asarray(cells), one, one, jnp.int32(direction), jnp.int32(0)))[0]


step = eqx.filter_jit(lambda env, state, action: env.act(state, action))


@pytest.mark.by_default("24", "36", "37", "43", "44", "6", "82", "9")
@pytest.mark.parametrize("before", [NOTHING, OPEN, GREEN_GOAL, RED_LAVA, GREY_WALL, CLOSED, LOCKED, BLUE_KEY, RED_BALL])
def test_where_the_agent_may_walk_and_what_that_brings(before):
    env, state = world(before)
    after, timestep = step(env, state, jnp.int32(FORWARD))
    assert (int(after.x) == 2) == (before in (NOTHING, OPEN, GREEN_GOAL, RED_LAVA))
    assert bool(timestep.terminated) == (before in (GREEN_GOAL, RED_LAVA))
    assert float(timestep.reward) == pytest.approx(1 - 0.9 / 490 if before == GREEN_GOAL else 0.0)


def test_turning():
    env, state = world()
    seen = []
    for action in (RIGHT, RIGHT, RIGHT, RIGHT, LEFT, DONE, 9, -2):
        state, _ = step(env, state, jnp.int32(action))
        seen.append(int(state.direction))
    assert seen == [1, 2, 3, 0, 3, 3, 3, 3]
    assert int(state.step_count) == 8


def test_a_success_is_worth_less_the_later_it_comes():
    env, state = world(GREEN_GOAL, time_limit=10)
    for _ in range(4):
        state, timestep = step(env, state, jnp.int32(DONE))
        assert float(timestep.reward) == 0
    _, timestep = step(env, state, jnp.int32(FORWARD))
    assert float(timestep.reward) == pytest.approx(1 - 0.9 * 5 / 10)
    assert not timestep.truncated  # clocks are the loop's


# ---- views


def process_vis(view):
    """The package's loop, in Python: from the agent's cell on, light spreads right, then left, row by row."""
    size = view.shape[0]
    seen = np.zeros((size, size), bool)
    seen[size // 2, size - 1] = True
    dark = np.isin(view & 15, HIDES)
    for j in reversed(range(size)):
        for columns, side in ((range(size - 1), 1), (range(size - 1, 0, -1), -1)):
            for i in columns:
                if seen[i, j] and not dark[i, j]:
                    seen[i + side, j] = True
                    if j > 0:
                        seen[i + side, j - 1] = seen[i, j - 1] = True
    return seen


@pytest.mark.by_default("3")
@pytest.mark.parametrize("size", [3, 7, 9])
def test_what_is_hidden(size):
    rng = np.random.default_rng(size)
    share = rng.random((400, 1, 1))
    some = rng.choice([WALL, CLOSED_DOOR, LOCKED_DOOR], (400, size, size))
    views = np.where(rng.random((400, size, size)) < share, some, rng.choice([EMPTY, OPEN_DOOR, GOAL, LAVA, BALL]))
    found = np.asarray(jax.jit(jax.vmap(visible))(jnp.asarray(views, jnp.int32)))
    for view, seen in zip(views, found, strict=True):
        np.testing.assert_array_equal(seen, process_vis(view))


def test_the_view_is_turned_with_the_agent_who_sees_what_it_carries():
    env, state = world(BLUE_KEY, RED_BALL)
    state, timestep = step(env, state, jnp.int32(PICKUP))
    assert timestep.obs[3, 6].tolist() == [KEY, 2, 0]
    assert timestep.obs[3, 5].tolist() == [EMPTY, 0, 0]
    assert timestep.obs[3, 4].tolist() == [BALL, 0, 0]
    assert timestep.obs[2, 6].tolist() == [WALL, 5, 0]  # on its left hand
    assert timestep.obs[4, 6].tolist() == [EMPTY, 0, 0]
    assert timestep.obs[1].tolist() == [[0, 0, 0]] * 7  # behind that wall
    state, timestep = step(env, state, jnp.int32(RIGHT))
    assert timestep.obs[2, 6].tolist() == [EMPTY, 0, 0]  # on its left hand is now what it took the key from
    assert timestep.obs[1, 6].tolist() == [BALL, 0, 0]


def test_options_of_what_is_observed():
    env, state = world(CLOSED)
    full = DoorKey(size=7, view="full", direction=True)
    seen = full.observe(eqx.tree_at(lambda s: s.direction, state, jnp.int32(3)))
    assert int(seen["direction"]) == 3
    assert seen["image"].shape == (7, 7, 3)
    assert seen["image"][1, 1].tolist() == [10, 0, 3]
    assert seen["image"][2, 1].tolist() == [4, 2, 1]
    ones = DoorKey(size=7, one_hot=True)
    image = ones.observe(state)
    assert image.shape == ones.observation_space.shape == (7, 7, 20)
    assert np.flatnonzero(image[3, 5]).tolist() == [4, 11 + 2, 17 + 1]
    assert np.asarray(image).sum(axis=-1).tolist() == np.full((7, 7), 3).tolist()
    assert DoorKey(size=7, one_hot=True, view="full").observation_space.shape == (7, 7, 21)
    small = DoorKey(size=7, agent_view_size=3)
    np.testing.assert_array_equal(small.observe(state), env.observe(state)[2:5, 4:])


# ---- layouts


def drawn(id, count=300):
    env = ks.make(id)
    layouts = jax.jit(jax.vmap(ks.kernel(lambda key: env.layout(key))))(jax.random.split(KEY_OF_ALL, count))
    return env, jax.device_get(layouts)


def ways(cells, x, y, opens):
    """The cells to which the agent can walk, if all doors open but for locked ones without their key."""
    seen, frontier = set(), [(int(x), int(y))]
    while frontier:
        here = frontier.pop()
        kind = int(cells[here]) & 15
        if here in seen or kind in (WALL, LAVA) or (kind == LOCKED_DOOR and not opens):
            continue
        seen.add(here)
        frontier += [(here[0] + dx, here[1] + dy) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    return seen


@pytest.mark.by_default("MiniGrid-LavaCrossingS9N3-v0", "MiniGrid-MultiRoom-N2-S4-v0", "MiniGrid-Unlock-v0")
@pytest.mark.parametrize("id", [id for id in ks.list_envs() if id.startswith("MiniGrid-")])
def test_every_layout_can_be_solved(id):
    env, layouts = drawn(id)
    for i in range(len(layouts.x)):
        cells = layouts.cells[i]
        assert cells.shape == env.shape
        assert int(cells[layouts.x[i], layouts.y[i]]) == NOTHING
        kinds = cells & 15
        keys = [(int(x), int(y)) for x, y in np.argwhere(kinds == KEY)]
        goals = [(int(x), int(y)) for x, y in np.argwhere(np.isin(kinds, (GOAL, BOX)))]
        balls = [(int(x), int(y)) for x, y in np.argwhere(kinds == BALL)] if "KeyCorridor" in id else []
        near = ways(cells, layouts.x[i], layouts.y[i], opens=False)
        assert all(one in near for one in keys)
        assert all((one in near) == (not keys) for one in goals + balls)
        assert all(one in ways(cells, layouts.x[i], layouts.y[i], opens=True) for one in goals + balls)
        locks = cells[kinds == LOCKED_DOOR]
        assert len(locks) == len(keys)
        assert all(lock >> 4 == cells[key] >> 4 for lock, key in zip(locks, keys, strict=True))


def even(counts):
    """Asserts that counts are those of equal probabilities: chi squared is below its mean and six deviations."""
    counts = np.array(list(counts))
    expected = counts.sum() / len(counts)
    chi = float(((counts - expected) ** 2 / expected).sum())
    assert chi < len(counts) - 1 + 6 * math.sqrt(2 * len(counts)), counts


def test_what_doorkey_draws_is_what_the_package_draws():
    """5 x 5: the wall is in the third column, door and agent each in one of its rows, the key in another cell."""
    _, layouts = drawn("MiniGrid-DoorKey-5x5-v0", 4000)
    kinds = layouts.cells & 15
    assert (kinds[:, 2, :] != EMPTY).all()
    doors, keys = np.argwhere(kinds == LOCKED_DOOR)[:, 1:], np.argwhere(kinds == KEY)[:, 1:]
    assert set(map(tuple, doors.tolist())) == {(2, 1), (2, 2)}
    assert (layouts.x == 1).all()
    assert (keys[:, 0] == 1).all()
    triples = Counter(zip(doors[:, 1].tolist(), layouts.y.tolist(), keys[:, 1].tolist(), strict=True))
    assert len(triples) == 2 * 3 * 2
    even(triples.values())
    even(np.bincount(layouts.direction))


def test_rooms_that_can_be_reached():
    assert reached(jnp.array([True, False, False]), jnp.array([True, True])).all()
    assert reached(jnp.array([False, False, True]), jnp.array([True, True])).all()
    assert reached(jnp.array([False, True, False]), jnp.array([False, True])).tolist() == [False, True, True]
    assert not reached(jnp.array([False, False]), jnp.array([True])).any()
    assert reached(jnp.array([True]), jnp.zeros(0, bool)).all()


@pytest.mark.parametrize("id", [id for id in ks.list_envs() if "-Empty-" in id or "-Dynamic-" in id])
def test_agents_begin_in_the_corner_unless_ids_say_random(id):
    env = ks.make(id)
    assert env.random_start == ("Random" in id)
    if env.size == 5:
        layouts = jax.jit(jax.vmap(lambda key: env.layout(key)))(jax.random.split(KEY_OF_ALL, 20))
        starts = set(zip(layouts.x.tolist(), layouts.y.tolist(), layouts.direction.tolist(), strict=True))
        assert len(starts) > 10 if env.random_start else starts == {(1, 1, 0)}


# ---- balls that roll


@pytest.mark.full("covered")
def test_a_ball_rolls_to_an_empty_cell_around_it_each_equally_likely():
    env = DynamicObstacles(size=5, n_obstacles=1)
    cells = walled(5, 5)
    cells[-2, -2] = GREEN_GOAL
    cells[2, 2] = cell(BALL, 2)
    one = jnp.int32(1)
    layout = Layout(jnp.asarray(cells), one, one, jnp.int32(0), jnp.int32(0), jnp.array([[2, 2]], jnp.int32))
    state, _ = env.begin(layout)
    after = jax.jit(jax.vmap(rolled, (0, None)))(jax.random.split(KEY_OF_ALL, 3500), state)
    places = Counter(map(tuple, after.obstacles[:, 0].tolist()))
    assert places.keys() == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)} - {(1, 1), (2, 2), (3, 3)}
    even(places.values())
    assert ((np.asarray(after.cells) & 15) == BALL).sum() == 3500


@pytest.mark.parametrize(("empty", "to"), [([], (2, 2)), ([(3, 3)], (3, 3))])
def test_a_ball_does_not_roll_onto_the_agent(empty, to):
    """Among walls and the agent it stays; where one more cell is empty it goes there, and leaves an empty one."""
    cells = jnp.full((6, 6), GREY_WALL, jnp.uint8).at[2, 2].set(BLUE_BALL)
    for place in ((1, 2), *empty):
        cells = cells.at[place].set(NOTHING)
    no = jnp.int32(0)
    state = MiniGridState(cells, jnp.int32(1), jnp.int32(2), no, no, no, no, jnp.array([[2, 2]]))
    after = rolled(jax.random.key(0), state)
    assert after.obstacles.tolist() == [list(to)]
    assert jnp.array_equal(after.cells, cells.at[2, 2].set(NOTHING).at[to].set(BLUE_BALL))


@pytest.mark.parametrize(
    ("before", "action", "collides"),
    [
        (cell(BALL, 2), FORWARD, True),
        (GREY_WALL, FORWARD, True),
        (cell(BALL, 2), LEFT, False),
        (cell(BALL, 2), TOGGLE, False),  # turns left
        (NOTHING, FORWARD, False),
    ],
)
def test_walking_into_something_costs_one_and_ends(before, action, collides):
    env, cells = DynamicObstacles(size=5, n_obstacles=1), walled(5, 5)
    cells[2, 1] = before
    ball = [2, 1] if before == cell(BALL, 2) else [3, 3]
    cells[tuple(ball)] = cell(BALL, 2)
    one = jnp.int32(1)
    state, _ = env.begin(Layout(jnp.asarray(cells), one, one, jnp.int32(0), jnp.int32(0), jnp.array([ball], jnp.int32)))
    after, timestep = eqx.filter_jit(env.step)(KEY_OF_ALL, state, jnp.int32(action))
    assert bool(timestep.terminated) == collides
    assert float(timestep.reward) == -1.0 * collides
    assert int(after.direction) == (0 if action == FORWARD else 3)


# ---- learning


@pytest.mark.full("learning")
@pytest.mark.parametrize(
    ("task", "steps", "num_steps", "worth"), [("Empty-5x5", 100_000, 64, 0.95), ("DoorKey-5x5", 400_000, 128, 0.9)]
)
def test_ppo_learns(task, steps, num_steps, worth):
    """The best return of Empty-5x5 is 0.955."""
    env = ks.make(f"MiniGrid-{task}-v0", one_hot=True)
    settings = {"num_envs": 32, "num_steps": num_steps, "hidden": (64,), "body": "mlp", "learning_rate": 1e-3}
    agent = ks.make_agent("ppo", entropy_coefficient=0.01, **settings)
    run = ks.train(agent, env, steps=steps, eval_episodes=0, out="")
    assert run.evaluate(episodes=100).returns.mean() > worth


# ---- what is refused, and pictures


@pytest.mark.parametrize(
    ("id", "options", "words"),
    [
        ("Empty-5x5", {"size": 3}, "size: got 3"),
        ("Empty-5x5", {"size": "5"}, "size: got '5'"),
        ("KeyCorridorS3R1", {"room_size": None}, "room_size: got None"),
        ("MultiRoom-N6", {"num_rooms": "six"}, "num_rooms: got 'six'"),
        ("MultiRoom-N6", {"num_rooms": 0}, "num_rooms: got 0"),
        ("Empty-5x5", {"view": "half"}, "view: got 'half'"),
        ("Empty-5x5", {"agent_view_size": 4}, "agent_view_size: got 4; use an odd number, such as 3"),
        ("Empty-5x5", {"agent_view_size": 1}, "agent_view_size: got 1"),
        ("Empty-5x5", {"one_hot": 1}, "one_hot: got 1"),
        ("Empty-5x5", {"time_limit": 0}, "time_limit: got 0"),
        ("LavaCrossingS9N1", {"size": 8}, "size: got 8; use an odd number, such as 9"),
        ("LavaCrossingS9N1", {"num_crossings": 7}, "num_crossings: got 7; use at most 6"),
        ("KeyCorridorS3R1", {"room_size": 2}, "room_size: got 2"),
        ("MultiRoom-N6", {"num_rooms": 7}, "num_rooms: got 7"),
        ("Dynamic-Obstacles-5x5", {"n_obstacles": 0}, "n_obstacles: got 0"),
    ],
)
def test_bad_options(id, options, words):
    with pytest.raises(ConfigError, match=words):
        ks.make(f"MiniGrid-{id}-v0", **options)


def test_limits_are_the_packages_unless_given():
    assert ks.make("MiniGrid-Empty-5x5-v0").time_limit == 100
    assert ks.make("MiniGrid-Empty-5x5-v0", size=10).time_limit == 400
    assert ks.make("MiniGrid-Empty-5x5-v0", time_limit=7).time_limit == 7
    assert ks.make("MiniGrid-MultiRoom-N4-S5-v0").time_limit == 120
    assert ks.make("MiniGrid-MultiRoom-N4-S5-v1").time_limit == 80


@pytest.mark.parametrize("kind", [GOAL, LAVA, OPEN_DOOR, CLOSED_DOOR, LOCKED_DOOR, KEY, BALL, BOX])
@pytest.mark.parametrize(("x", "y", "size"), [(3.0, 5.0, 1.0), (2.5, 0.5, 0.25)])
def test_all_that_is_drawn_of_a_cell_lies_in_it(kind, x, y, size):
    shapes = object_shapes(kind, 2, x, y, size)
    assert shapes
    corners = []
    for shape in shapes:
        if isinstance(shape, Rect):
            assert min(shape.width, shape.height) > 0
            corners += [(shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)]
        elif isinstance(shape, Circle):
            corners += [(shape.x + side, shape.y + side) for side in (-shape.radius, shape.radius)]
        else:
            corners += shape.points
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    assert (low >= np.array([x, y]) - 1e-6).all()
    assert (high <= np.array([x, y]) + size + 1e-6).all()
    assert (high - low).max() > 0.5 * size


def test_nothing_is_drawn_of_an_empty_cell():
    assert object_shapes(EMPTY, 0, 0.0, 0.0) == []


def test_a_picture_has_everything_in_its_colour_and_what_is_seen_lighter():
    env, state = world(BLUE_KEY, CLOSED, RED_BALL)
    state, _ = step(env, state, jnp.int32(PICKUP))
    scene = env.scene(jax.device_get(state))
    assert (scene.width, scene.height) == (7.0, 7.0)
    colors = Counter(shape.color for shape in scene.foreground)
    assert colors["#5b8cff"] == 4 + 3  # the key that is carried, and the door
    assert colors["#ff4f4f"] == 1  # the ball
    lit = {(int(shape.x), int(shape.y)) for shape in scene.foreground if shape.color == "#3a3a42"}
    assert {(1, 1), (2, 1), (3, 1), (5, 4)} <= lit
    assert (5, 5) not in lit  # too far on its right hand
    dark = {(int(shape.x), int(shape.y)) for shape in scene.background[1:]}
    assert len(dark) == 49
