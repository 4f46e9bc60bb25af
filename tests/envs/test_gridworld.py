"""GridWorld's rules by hand: maps, moves, walls, slip, wind, ends, cliffs, teleports."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs.gridworld.env import GridState
from kousoku.envs.gridworld.layout import parse_layout

UP, RIGHT, DOWN, LEFT, UP_RIGHT, DOWN_RIGHT, DOWN_LEFT, UP_LEFT = range(8)
KEY = jax.random.key(0)


def grid(*rows: str, **options) -> ks.Env:
    return ks.gridworld(list(rows), continuing=True, **options)


def lands(env: ks.Env, cell: tuple[int, int], action: int) -> tuple[int, int]:
    """Where the model of a deterministic grid leads."""
    width = env.layout.width
    return divmod(int(env.model().next_state[cell[0] * width + cell[1], action, 0]), width)


# Maps


@pytest.mark.parametrize(
    "written",
    [
        "S.#\n..G",
        "\n\n    S.#\n    ..G\n    ",
        "\tS.#\n\t..G",
        "S.#\r\n..G\r\n",
        "S #\n  G",
        "    S #\n      G",
        ["S.#", "..G"],
        ("S #", "  G"),
        np.array([list("S.#"), list("..G")]),
        np.array([list("S.#"), list("..G")], dtype="S1"),
        np.array([list("S.#"), list("..G")], dtype=object),
    ],
)
def test_a_map_may_be_written_in_many_ways(written):
    assert parse_layout("map", written).rows == ("S.#", "..G")


def test_a_space_is_floor_also_at_the_ends_of_a_line():
    assert parse_layout("map", "S  \n  G").rows == ("S..", "..G")
    assert parse_layout("map", "  S \n  G ").rows == ("S.", "G.")
    assert parse_layout("map", "S\n \nG").rows == ("S", ".", "G")
    assert parse_layout("map", [" S ", "  G"]).rows == (".S.", "..G")


def test_where_and_cells_agree_with_the_map():
    layout = parse_layout("map", ["S.#", "#.G"])
    assert layout.cells("#") == [(0, 2), (1, 0)]
    assert layout.where("#").tolist() == [[False, False, True], [True, False, False]]
    assert (layout.height, layout.width, layout.num_cells) == (2, 3, 6)


# Moves


def test_actions_are_clockwise_then_the_diagonals_then_stay():
    env = grid("...", ".S.", "...", moves=8, stay=True)
    around = [(0, 1), (1, 2), (2, 1), (1, 0), (0, 2), (2, 2), (2, 0), (0, 0), (1, 1)]
    assert [lands(env, (1, 1), a) for a in range(env.action_space.n)] == around
    assert grid("S..", stay=True).action_space.n == 5
    assert lands(grid("S.."), (0, 2), RIGHT) == (0, 2)
    assert lands(env, (0, 0), UP_LEFT) == (0, 0)
    assert lands(env, (0, 1), UP_LEFT) == (0, 0), "each coordinate is clipped on its own"


def test_a_diagonal_move_may_cut_a_corner_but_not_enter_a_wall():
    env = grid("S#", "#.", moves=8)
    assert lands(env, (0, 0), DOWN_RIGHT) == (1, 1)
    assert [lands(env, (0, 0), a) for a in (RIGHT, DOWN, UP_RIGHT)] == [(0, 0)] * 3


@pytest.mark.parametrize(
    ("action", "sides"),
    [(UP, {LEFT, RIGHT}), (LEFT, {UP, DOWN}), (UP_RIGHT, {UP_LEFT, DOWN_RIGHT}), (DOWN_LEFT, {UP_LEFT, DOWN_RIGHT})],
)
def test_a_slip_goes_at_right_angles_with_half_the_probability_each(action, sides):
    env, sure = grid("...", ".S.", "...", moves=8, slip=0.3), grid("...", ".S.", "...", moves=8)
    model = env.model()
    chances = dict(zip(model.next_state[4, action].tolist(), model.probability[4, action].tolist(), strict=True))
    index = {a: lands(sure, (1, 1), a)[0] * 3 + lands(sure, (1, 1), a)[1] for a in range(8)}
    assert chances == pytest.approx({index[action]: 0.7} | {index[side]: 0.15 for side in sides})


def test_staying_never_slips_and_never_bumps():
    env = grid("S..", stay=True, slip=0.5, bump_reward=-7.0, step_reward=-1.0)
    model, stay = env.model(), 4
    assert model.probability[0, stay].tolist() == [1.0, 0.0, 0.0]
    assert (model.next_state[0, stay, 0], model.reward[0, stay, 0]) == (0, -1.0)
    assert model.reward[0, LEFT].tolist() == [-8.0, -8.0, -8.0]
    assert model.reward[0, RIGHT].tolist() == [-1.0, -8.0, -8.0]


# Wind


@pytest.mark.parametrize(
    ("wind", "cell", "action", "there"),
    [
        (1, (3, 0), RIGHT, (2, 1)),
        (1, (3, 0), UP, (1, 0)),
        (1, (3, 0), DOWN, (3, 0)),
        (2, (3, 0), RIGHT, (1, 1)),
        (2, (3, 0), DOWN, (2, 0)),
        (-1, (1, 0), RIGHT, (2, 1)),
        (-2, (1, 0), UP, (2, 0)),
        (2, (1, 0), RIGHT, (0, 1)),
        (1, (4, 0), DOWN, (4, 0)),
        (9, (4, 0), DOWN, (0, 0)),
        (1 << 20, (4, 1), LEFT, (0, 0)),
    ],
)
def test_wind_adds_to_the_move_up_to_the_edge(wind, cell, action, there):
    assert lands(grid("..", "..", "S.", "..", "..", wind=(wind, wind)), cell, action) == there


def test_the_wind_of_the_column_that_one_leaves_counts():
    env = grid("...", "...", "S..", wind=(0, 2, 0))
    assert lands(env, (2, 0), RIGHT) == (2, 1)
    assert lands(env, (2, 1), RIGHT) == (0, 2)
    assert lands(env, (2, 1), LEFT) == (0, 0)


@pytest.mark.parametrize("wind", [1, 2, 3, 4])
def test_under_a_wall_the_wind_holds_one_against_a_move_down_however_strong_it_is(wind):
    assert lands(grid("#", "S", ".", ".", wind=(wind,)), (1, 0), DOWN) == (1, 0)


def test_wind_stops_at_a_wall():
    env = grid("..", ".#", "..", "..", "S.", wind=(3, 3), stay=True)
    assert lands(env, (4, 0), RIGHT) == (2, 1), "up to the wall in the column that it is blown along"
    assert lands(env, (4, 0), 4) == (1, 0)
    assert lands(env, (4, 1), 4) == (2, 1)
    assert lands(env, (2, 1), 4) == (2, 1)


def test_a_wall_beside_the_wind_s_way_lets_the_move_happen_first():
    env = grid("...", ".#.", "S..", wind=(2, 0, 0))
    assert lands(env, (2, 0), RIGHT) == (2, 1), "diagonally there is a wall; then the wind blows against it"
    blocked = grid("..", ".#", "S#", wind=(1, 0))
    assert lands(blocked, (2, 0), RIGHT) == (1, 0), "neither way is open: wind alone"


def test_only_the_cell_where_the_wind_ends_is_entered():
    model = grid("..", ".P", ".G", "S.", wind=(3, 0), step_reward=-1.0).model()
    assert (model.next_state[6, RIGHT, 0], model.reward[6, RIGHT, 0], model.terminated[6, RIGHT, 0]) == (1, -1.0, False)


# Ends, cliffs, teleports


def test_goals_and_pits_end_the_episode_and_nothing_follows():
    env = ks.gridworld("SG\nP.", step_reward=-1.0, goal_reward=10.0, pit_reward=-5.0)
    model = env.model()
    assert (model.next_state[0, RIGHT, 0], model.reward[0, RIGHT, 0], model.terminated[0, RIGHT, 0]) == (1, 9.0, True)
    assert (model.next_state[0, DOWN, 0], model.reward[0, DOWN, 0], model.terminated[0, DOWN, 0]) == (2, -6.0, True)
    for end in (1, 2):
        assert (model.next_state[end] == end).all()
        assert (model.reward[end] == 0).all()
        assert model.terminated[end].all()
    state, timestep = env.step(KEY, GridState(jnp.int32(1)), jnp.int32(DOWN))
    assert (int(state.cell), float(timestep.reward), bool(timestep.terminated)) == (1, 0.0, True)


def test_a_cliff_leads_back_to_the_start_and_the_episode_goes_on():
    env = ks.gridworld(["..G", "SC."], step_reward=-1.0, cliff_reward=-99.0, bump_reward=-3.0)
    for cell, action in ((3, RIGHT), (1, DOWN), (5, LEFT)):
        state, timestep = env.step(KEY, GridState(jnp.int32(cell)), jnp.int32(action))
        assert (int(state.cell), float(timestep.reward), bool(timestep.terminated)) == (3, -100.0, False)


def test_a_teleport_takes_every_action_and_gives_its_own_reward_alone():
    teleports = {(0, 1): ((1, 2), 10.0), (1, 1): ((0, 2), 5.0)}
    options = {"moves": 8, "stay": True, "slip": 0.5, "wind": (1, 1, 1), "step_reward": -1.0, "bump_reward": -1.0}
    env = ks.gridworld(["S.G", "..."], teleports=teleports, **options)
    model = env.model()
    assert (model.next_state[1][model.probability[1] > 0] == 5).all()
    assert (model.reward[1][model.probability[1] > 0] == 10.0).all()
    assert not model.terminated[1].any()
    assert (model.reward[4][model.probability[4] > 0] == 5.0).all(), "the goal's reward is not added"
    assert model.terminated[4][model.probability[4] > 0].all(), "but the goal ends the episode"


def test_a_goal_that_only_a_teleport_or_the_wind_reaches_is_a_goal():
    assert ks.gridworld("S#G", teleports={(0, 0): ((0, 2), 1.0)}).model().terminated[0].all()
    blown = ks.gridworld([".G", "S#"], wind=(1, 0))
    assert lands(blown, (1, 0), RIGHT) == (0, 1)
