"""What is no grid: refused in one line that names the field, the value and what would do."""

import math

import numpy as np
import pytest
from fresh_process import refusals, without_types_checked

import kousoku as ks

OK = "S.G"


def refusal(map, **options) -> str:
    with pytest.raises(ks.ConfigError) as caught:
        ks.gridworld(map, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    assert "; " in message
    return message


@pytest.mark.parametrize(
    ("map", "message"),
    [
        ("", "map: got ''; give at least one row with at least one cell"),
        (" \n\n ", "map: got ' \\n\\n '; give at least one row with at least one cell"),
        ([], "map: got []; give at least one row with at least one cell"),
        (["", ""], "map: got ['', '']; give at least one row with at least one cell"),
        (
            np.empty((0, 5), str),
            "map: got array([], shape=(0, 5), dtype='<U1'); give at least one row with at least one cell",
        ),
        (np.array([["S", "", "G"]]), "map[0, 1]: got ''; a cell is one character"),
        (np.array([["S", "."], [".", "G."]]), "map[1, 1]: got 'G.'; a cell is one character"),
        (
            "S\t.\n.\tG",
            "map row 0: got 'S\\t.'; there is a tab in it, which is no cell; write each cell",
        ),
        (["S.", "..G"], "map row 1: got '..G'; every row needs 2 cells like row 0"),
        ("S.G\n..", "map row 1: got '..'; every row needs 3 cells like row 0"),
        ("S..\n\n..G", "map row 1: got ''; every row needs 3 cells like row 0"),
        ("S.\n.X", "map row 1 column 1: got 'X'; use '.' floor, '#' wall, 'S' start, 'G' goal, 'P' pit, 'C' cliff"),
        ("S.\n.g", "map row 1 column 1: got 'g'; use '.' floor, '#' wall, 'S' start, 'G' goal, 'P' pit, 'C' cliff"),
        (
            np.array([[0, 1]]),
            "map row 0 column 0: got '0'; use '.' floor, '#' wall, 'S' start, 'G' goal, 'P' pit, 'C' cliff",
        ),
        (["." * 2000] * 2000, "map: got '2000 x 2000 cells'; use at most 1048576 cells"),
        ("..G", "map: got 'a map without a start'; mark at least one cell with 'S'"),
        ("S..", "map: got 'a map without a goal'; mark a cell with 'G', or pass continuing=True"),
        ("S.P", "map: got 'a map without a goal'; mark a cell with 'G', or pass continuing=True"),
        ("SS.G\nC...", "map: got '2 starts and a cliff'; a cliff leads back to the start: mark just one"),
    ],
)
def test_what_is_no_map(map, message):
    assert refusal(map) == message


@pytest.mark.parametrize(
    ("map", "options", "start"),
    [
        ("S#G", {}, (0, 0)),
        ("SPG", {}, (0, 0)),
        ("SCG", {}, (0, 0)),
        ("S.G#S", {}, (0, 4)),
        ("S#\n#G", {}, (0, 0)),
        ("S#G", {"wind": (3, 3, 3)}, (0, 0)),
        ("S.\nG.", {"wind": (2, 2)}, (0, 0)),
        ("S.G", {"teleports": {(0, 1): ((0, 0), 1.0)}}, (0, 0)),
    ],
)
def test_a_goal_that_cannot_be_reached(map, options, start):
    assert refusal(map, **options).startswith(f"map: got 'no way from the start at {start} to a goal'; open a way")
    ks.gridworld(map, continuing=True, **options)


def test_ways_that_are_there():
    ks.gridworld("S#\n#G", moves=8)
    ks.gridworld("SPG\n...")
    ks.gridworld("S.G#S.G")
    ks.gridworld("S.S\n.G.")
    ks.gridworld("SG\n..", slip=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moves": 5}, "moves: got 5; use 4 or 8"),
        ({"slip": 1.5}, "slip: got 1.5; use a number in [0, 1]"),
        ({"slip": -0.1}, "slip: got -0.1; use a number in [0, 1]"),
        ({"slip": math.nan}, "slip: got nan; use a number in [0, 1]"),
        *[
            ({f"{name}_reward": bad}, f"{name}_reward: got {bad}; use a number in [-1e+30, 1e+30]")
            for name in ("step", "goal", "pit", "cliff", "bump")
            for bad in (math.nan, math.inf, -1e31)
        ],
        ({"wind": (1, 2)}, "wind: got (1, 2); give one number for each of the 3 columns"),
        ({"wind": (0, 1, 0, 0)}, "wind: got (0, 1, 0, 0); give one number for each of the 3 columns"),
        ({"time_limit": 0}, "time_limit: got 0; use a whole number of at least 1 and at most 2147483647"),
        ({"time_limit": -3}, "time_limit: got -3; use a whole number of at least 1 and at most 2147483647"),
        (
            {"time_limit": 2**40},
            "time_limit: got 1099511627776; use a whole number of at least 1 and at most 2147483647",
        ),
        ({"window_radius": -1}, "window_radius: got -1; use a whole number of at least 0 and at most 64"),
        ({"observation": "windw"}, "observation: got 'windw'; did you mean 'window'? use one of 'index', "),
        ({"observation": ""}, "observation: got ''; use one of 'index', 'coordinates', 'one_hot', 'window'"),
        (
            {"teleports": {(0, 3): ((0, 0), 1.0)}},
            "teleports: got (0, 3); use a (row, column) inside 1 x 3 that is no wall",
        ),
        ({"teleports": {(0, 0): ((-1, 0), 1.0)}}, "teleports: got (-1, 0); use a (row, column) inside 1 x 3"),
        ({"teleports": {(0, 0): ((0, 1), math.nan)}}, "teleports[(0, 0)] reward: got nan; use a number in"),
    ],
)
def test_numbers_and_words_that_make_no_sense(options, message):
    assert refusal(OK, **options).startswith(message)


def test_teleports_onto_walls_and_cliffs():
    for there in ((0, 1), (0, 2)):
        for teleports in ({(1, 0): (there, 1.0)}, {there: ((1, 0), 1.0)}):
            message = f"teleports: got {there}; use a (row, column) inside 2 x 4 that is no wall or cliff"
            assert refusal("S#CG\n....", teleports=teleports) == message


A, B = "S.G\n...", "S#G\n..."


@pytest.mark.parametrize(
    ("map", "change_at", "message"),
    [
        ([A, B], (0,), "change_at[0]: got 0; use a whole number of at least 1"),
        ([A, B, A], (5, 5), "change_at[1]: got 5; use a whole number of at least 6"),
        ([A, B, A], (5, 2), "change_at[1]: got 2; use a whole number of at least 6"),
        ([A, B], (2**31,), "change_at[0]: got 2147483648; use a whole number of at least 1 and at most 2147483647"),
        ([A, B], (5, 9), "map: got '2 maps'; give 3: one more than change_at has steps"),
        ([A, B, A], (5,), "map: got '3 maps'; give 2: one more than change_at has steps"),
        (A, (5,), "map: got '1 maps'; give 2: one more than change_at has steps"),
        ([A, B], (), "change_at: got (); say when each of the 2 maps begins, or give one map"),
        ([A, "S..G\n...."], (5,), "map[1]: got '2 x 4 cells'; use 2 x 3 as in map[0]"),
        ([A, "..G\nS.."], (5,), "map[1]: got 'other starts than map[0]'; mark the same start cells in every map"),
        ([A, "SSG\n..."], (5,), "map[1]: got 'other starts than map[0]'; mark the same start cells in every map"),
        ([A, "S.\n..G"], (5,), "map[1] row 1: got '..G'; every row needs 2 cells like row 0"),
        ([A, "S.X\n..."], (5,), "map[1] row 0 column 2: got 'X'; use '.' floor"),
        ([A, "S#G\n.#."], (5,), "map[1]: got 'no way from the start at (0, 0) to a goal'; open a way"),
        ([A, "S..\n..."], (5,), "map[1]: got 'a map without a goal'; mark a cell with 'G'"),
    ],
)
def test_maps_that_do_not_follow_each_other(map, change_at, message):
    assert refusal(map, change_at=change_at).startswith(message)


def test_values_of_another_kind_are_refused_as_well_where_nothing_checks_types():
    calls = {
        "map: got None; give a string": "ks.gridworld(None)",
        "map: got 5; give a string": "ks.gridworld(5)",
        "map: got [['S', 'G']]; give a string": "ks.gridworld([['S', 'G']])",
        "map: got '1 maps'; give 2": "ks.gridworld(5, change_at=(3,))",
        "change_at: got 5; give a list of steps": "ks.gridworld(OK, change_at=5)",
        "change_at[0]: got 'a'; use a whole": "ks.gridworld([OK, OK], change_at=['a'])",
        "change_at[0]: got 1.5; use a whole": "ks.gridworld([OK, OK], change_at=[1.5])",
        "moves: got '4'; use 4 or 8": "ks.gridworld(OK, moves='4')",
        "stay: got 'no'; use True or False": "ks.gridworld(OK, stay='no')",
        "continuing: got 'no'; use True": "ks.gridworld(OK, continuing='no')",
        "slip: got '0.1'; use a number": "ks.gridworld(OK, slip='0.1')",
        "slip: got [0.1]; use a number": "ks.gridworld(OK, slip=[0.1])",
        "goal_reward: got None; use a number": "ks.gridworld(OK, goal_reward=None)",
        "wind: got 1; give one number": "ks.gridworld(OK, wind=1)",
        "wind: got '010'; give one number": "ks.gridworld(OK, wind='010')",
        "wind[1]: got 0.5; use a whole number": "ks.gridworld(OK, wind=(0, 0.5, 0))",
        "wind[2]: got nan; use a number": "ks.gridworld(OK, wind=(0, 1, float('nan')))",
        "wind[0]: got inf; use a number": "ks.gridworld(OK, wind=(float('inf'), 1, 0))",
        "wind[0]: got '1'; use a number": "ks.gridworld(OK, wind=('1', 1, 0))",
        "time_limit: got 1.5; use a whole": "ks.gridworld(OK, time_limit=1.5)",
        "time_limit: got True; use a whole": "ks.gridworld(OK, time_limit=True)",
        "observation: got None; use one of": "ks.gridworld(OK, observation=None)",
        "teleports: got [1]; use a dict": "ks.gridworld(OK, teleports=[1])",
        "teleports[(0, 0)]: got 5; use ((row": "ks.gridworld(OK, teleports={(0, 0): 5})",
        "teleports[(0, 1)]: got (0, 0); use ((row": "ks.gridworld(OK, teleports={(0, 1): (0, 0)})",
        "teleports[(0, 1)]: got ((0, 0), 1.0, 2.0); use ((row": (
            "ks.gridworld(OK, teleports={(0, 1): ((0, 0), 1.0, 2.0)})"
        ),
        "teleports[(0, 1)] reward: got '1'; use a number": "ks.gridworld(OK, teleports={(0, 1): ((0, 0), '1')})",
        "teleports: got (0, 0, 0); use a (row": "ks.gridworld(OK, teleports={(0, 1): ((0, 0, 0), 1.0)})",
        "teleports: got 0; use a (row, column)": "ks.gridworld(OK, teleports={0: ((0, 1), 1.0)})",
        "teleports: got (0.5, 1); use a (row": "ks.gridworld(OK, teleports={(0, 0): ((0.5, 1), 1.0)})",
        "option of Maze-v0: got 'loop'; did": "ks.make('Maze-v0', loop=1)",
    }
    messages = refusals(calls, "import kousoku as ks; OK = 'S.G'")
    for start, message in messages.items():
        assert message.startswith(start), message
        assert "\n" not in message


NUMBERS = "step_reward", "goal_reward", "pit_reward", "cliff_reward", "bump_reward", "slip"
ARRAYS = "import jax, jax.numpy as jnp, numpy as np, kousoku as ks; OK, TWO = 'S.G', np.array([0.25, 0.5])"


def test_arrays_and_bytes_where_numbers_and_lists_belong():
    two = "array([0.25, 0.5 ])"
    calls = {f"{name}: got {two}; use one number in": f"ks.gridworld(OK, {name}=TWO)" for name in NUMBERS} | {
        "slip: got b'x'; use a number in [0, 1]": "ks.gridworld(OK, slip=b'x')",
        "slip: got VmapTracer": "jax.vmap(lambda slip: ks.gridworld(OK, slip=slip))(jnp.ones(2))",
        "moves: got array([4, 8]); use 4 or 8": "ks.gridworld(OK, moves=np.array([4, 8]))",
        "moves: got Array(4, dtype=int32); use 4 or 8": "ks.gridworld(OK, moves=jnp.int32(4))",
        f"teleports: got {two}; use a dict {{(row": "ks.gridworld(OK, teleports=TWO)",
        f"teleports[(0, 0)] reward: got {two}; use": "ks.gridworld(OK, teleports={(0, 0): ((0, 1), TWO)})",
        f"teleports[(0, 0)]: got ({two}, 1.0); use": "ks.gridworld(OK, teleports={(0, 0): (TWO, 1.0)})",
        "wind: got Array(1., dtype=float32); give one": "ks.gridworld(OK, wind=jnp.float32(1))",
        "wind: got np.float32(1.0); give one": "ks.gridworld(OK, wind=np.float32(1))",
        "wind: got b'123'; give one number": "ks.gridworld(OK, wind=b'123')",
        "wind: got {0, 1, 2}; give one number": "ks.gridworld(OK, wind={0, 1, 2})",
        f"wind[0]: got {two}; use one number in": "ks.gridworld(OK, wind=[TWO] * 3)",
        "change_at: got Array(2, dtype=int32); give a list": "ks.gridworld(OK, change_at=jnp.int32(2))",
        "change_at: got b'x'; give a list of steps": "ks.gridworld(OK, change_at=b'x')",
        f"change_at[0]: got {two}; use a whole number": "ks.gridworld(OK, change_at=[TWO])",
        "map: got array('S', dtype='<U1'); give a": "ks.gridworld(np.array('S'))",
        "map: got '1 maps'; give 2": "ks.gridworld(np.array('S'), change_at=(5,))",
        "map: got array(['S.G'], dtype='<U3'); give a": "ks.gridworld(np.array(['S.G']))",
        "map: got b'S.G'; give a": "ks.gridworld(b'S.G')",
    }
    for start, message in refusals(calls, ARRAYS).items():
        assert message.startswith(start), message
        assert "\n" not in message


def test_arrays_of_one_number_and_lists_that_are_arrays_are_taken():
    script = f"""
import json
{ARRAYS}
def rules(number, array):
    options = dict.fromkeys({NUMBERS}, number) | {{"teleports": {{(0, 1): ((0, 0), number)}}}}
    made = ks.gridworld((OK, OK), wind=array([0, 1, 0]), change_at=np.array([5]), continuing=True, **options)
    return repr(made.rules), made.change_at.tolist()
numbers = np.float32(0.5), np.array(0.5), jnp.float32(0.5)
print(json.dumps([rules(0.5, tuple), [rules(number, array) for number in numbers for array in (np.array, jnp.array)]]))
"""
    plain, made = without_types_checked(script)
    assert plain[1] == [5]
    assert made == [plain] * 6
