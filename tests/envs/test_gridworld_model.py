"""The engine against a second, slow reading of `gridworld`'s documentation, on random maps."""

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import kousoku as ks
from kousoku.envs.gridworld.env import GridState

pytestmark = pytest.mark.property

# (x to the right, y upwards) of each action as a complex number, so that a right angle is a factor of 1j.
MOVES = {
    "up": 1j, "right": 1, "down": -1j, "left": -1,
    "up-right": 1 + 1j, "down-right": 1 - 1j, "down-left": -1 - 1j, "up-left": -1 + 1j, "stay": 0,
}  # fmt: skip


def names_of(options: dict) -> list[str]:
    """The actions in the documented order."""
    return list(MOVES)[:4] + (list(MOVES)[4:8] if options["moves"] == 8 else []) + (["stay"] if options["stay"] else [])


class SlowGrid:
    """One cell and one action at a time. Cells are (row, column)."""

    def __init__(self, rows: list[str], options: dict) -> None:
        self.rows, self.options = rows, options
        self.height, self.width = len(rows), len(rows[0])
        self.start = next((r, c) for r in range(self.height) for c in range(self.width) if rows[r][c] == "S")

    def glyph(self, cell: tuple[int, int]) -> str:
        return self.rows[cell[0]][cell[1]]

    def beside(self, cell: tuple[int, int], shift: complex) -> tuple[int, int]:
        """The cell that lies `shift` away, or at the edge of the grid."""
        shift = complex(shift)
        row, column = cell[0] - int(shift.imag), cell[1] + int(shift.real)
        return min(max(row, 0), self.height - 1), min(max(column, 0), self.width - 1)

    def blown(self, cell: tuple[int, int], up: int) -> tuple[int, int]:
        """Where wind alone carries one: cell by cell, up to a wall."""
        for _ in range(abs(up)):
            after = self.beside(cell, 1j if up > 0 else -1j)
            if self.glyph(after) == "#":
                return cell
            cell = after
        return cell

    def land(self, cell: tuple[int, int], move: complex) -> tuple[int, int]:
        """Move and wind add up; where a wall is in the way of both together, one after the other."""
        move, wind = complex(move), self.options["wind"][cell[1]]
        up = int(move.imag) + wind
        first = int(np.sign(up))
        together = self.beside(cell, move.real + first * 1j)
        if self.glyph(together) != "#":
            return self.blown(together, up - first)
        moved = self.beside(cell, move)
        return self.blown(cell if self.glyph(moved) == "#" else moved, wind)

    def result(self, cell: tuple[int, int], move: complex) -> tuple[tuple[int, int], float, bool]:
        """(next cell, reward, ended) of a move that really happens."""
        o = self.options
        if cell in o["teleports"]:
            there, reward = o["teleports"][cell]
            return there, reward, self.glyph(there) in "GP"
        there, reward = self.land(cell, move), o["step_reward"]
        if self.glyph(there) == "C":
            return self.start, reward + o["cliff_reward"], False
        if self.glyph(there) == "G":
            reward += o["goal_reward"]
        if self.glyph(there) == "P":
            reward += o["pit_reward"]
        if there == cell and move != 0:
            reward += o["bump_reward"]
        return there, reward, self.glyph(there) in "GP"

    def outcomes(self, cell: tuple[int, int], name: str) -> dict[tuple[int, float, bool], float]:
        """{(next index, reward, ended): probability}"""
        if self.glyph(cell) in "GP":
            return {(cell[0] * self.width + cell[1], 0.0, True): 1.0}
        move, slip = MOVES[name], self.options["slip"]
        chances = [(1.0, 0)] if move == 0 else [(1.0 - slip, move), (slip / 2, move * 1j), (slip / 2, move * -1j)]
        found: dict[tuple[int, float, bool], float] = defaultdict(float)
        for probability, taken in chances:
            there, reward, ended = self.result(cell, taken)
            if probability > 0:
                found[there[0] * self.width + there[1], round(reward, 6), ended] += probability
        return dict(found)


@st.composite
def grids(draw, size: tuple[int, int] | None = None, slip: float | None = None) -> tuple[list[str], dict]:
    """A random map with one start, and random options that fit it."""
    height, width = size or (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    glyphs = draw(st.lists(st.sampled_from("....####GPC"), min_size=height * width, max_size=height * width))
    glyphs[draw(st.integers(0, height * width - 1))] = "S"
    rows = ["".join(glyphs[r * width : (r + 1) * width]) for r in range(height)]
    reward = st.sampled_from([0.0, -1.0, 0.25, 3.0])
    standing = [divmod(i, width) for i, glyph in enumerate(glyphs) if glyph not in "#C"]
    cells = st.sampled_from(standing)
    options = {
        "moves": 8 if size else draw(st.sampled_from([4, 8])),
        "stay": bool(size) or draw(st.booleans()),
        "slip": draw(st.sampled_from([0.0, 0.2, 1.0])) if slip is None else slip,
        "wind": tuple(draw(st.lists(st.integers(-3, 3), min_size=width, max_size=width))),
        "teleports": draw(st.dictionaries(cells, st.tuples(cells, reward), max_size=2)),
    }
    for name in ("step_reward", "goal_reward", "pit_reward", "cliff_reward", "bump_reward"):
        options[name] = draw(reward)
    return rows, options


def of_model(model: ks.TabularModel, s: int, a: int) -> dict[tuple[int, float, bool], float]:
    found: dict[tuple[int, float, bool], float] = defaultdict(float)
    for k in range(model.num_outcomes):
        if model.probability[s, a, k] > 0:
            outcome = (
                int(model.next_state[s, a, k]),
                round(float(model.reward[s, a, k]), 6),
                bool(model.terminated[s, a, k]),
            )
            found[outcome] += float(model.probability[s, a, k])
    return dict(found)


@pytest.mark.full("covered")
@settings(max_examples=100, deadline=None)
@given(grids())
def test_the_model_is_what_the_documentation_says(drawn):
    rows, options = drawn
    slow, env = SlowGrid(rows, options), ks.gridworld(rows, continuing=True, **options)
    model, names = env.model(), names_of(options)
    assert env.panels()[0].action_names == tuple(names)
    assert model.probability.shape[:2] == (slow.height * slow.width, len(names))
    np.testing.assert_allclose(model.probability.sum(axis=-1), 1.0, atol=1e-12)
    walls = {i for i, glyph in enumerate("".join(rows)) if glyph == "#"}
    for s in set(range(model.num_states)) - walls:
        for a, name in enumerate(names):
            found, expected = of_model(model, s, a), slow.outcomes(divmod(s, slow.width), name)
            assert found == pytest.approx(expected, abs=1e-9), (rows, options, divmod(s, slow.width), name)
            assert not walls & {there for there, _, _ in found}
    assert np.flatnonzero(model.start).tolist() == ["".join(rows).index("S")]


@pytest.mark.full("covered")
@settings(max_examples=15, deadline=None)
@given(grids(size=(4, 4), slip=0.0), st.integers(0, 2**31 - 1))
def test_without_slip_every_step_is_the_model_s(drawn, seed):
    rows, options = drawn
    env = ks.gridworld(rows, continuing=True, **options)
    model, actions = env.model(), env.action_space.n
    s, a = np.divmod(np.arange(16 * actions, dtype=np.int32), np.int32(actions))
    states = jax.vmap(GridState)(jnp.asarray(s))
    keys = jax.random.split(jax.random.key(seed), len(s))
    states, timesteps = jax.vmap(env.step)(keys, states, jnp.asarray(a))
    assert model.num_outcomes == 1
    np.testing.assert_array_equal(states.cell, model.next_state[s, a, 0])
    np.testing.assert_array_equal(timesteps.obs, model.next_state[s, a, 0])
    np.testing.assert_allclose(timesteps.reward, model.reward[s, a, 0], rtol=1e-6)
    np.testing.assert_array_equal(timesteps.terminated, model.terminated[s, a, 0])
    assert not timesteps.truncated.any()


@pytest.mark.full("covered")
@pytest.mark.parametrize("moves", [4, 8])
def test_steps_are_as_frequent_as_the_model_says(moves):
    env = ks.gridworld(["S.#", "...", ".PG"], moves=moves, stay=True, slip=0.3, wind=(0, 1, 0), bump_reward=-1.0)
    model, draws = env.model(), 20_000
    step = jax.jit(jax.vmap(env.step, in_axes=(0, None, None)))
    for s in (0, 4, 5):
        for a in range(env.action_space.n):
            keys = jax.random.split(jax.random.key(100 * s + a), draws)
            _, t = step(keys, GridState(jnp.int32(s)), jnp.int32(a))
            seen = zip(t.obs.tolist(), np.round(t.reward.tolist(), 6).tolist(), t.terminated.tolist(), strict=True)
            counts: dict[tuple[int, float, bool], int] = defaultdict(int)
            for outcome in seen:
                counts[outcome] += 1
            expected = of_model(model, s, a)
            assert set(counts) == set(expected)
            if len(expected) > 1:
                chances = [(counts[o], draws * p) for o, p in expected.items()]
                assert stats.chisquare(*zip(*chances, strict=True)).pvalue > 1e-4


@pytest.mark.parametrize(
    "number",
    [
        *({name: -0.5} for name in ("step_reward", "goal_reward", "pit_reward", "cliff_reward", "bump_reward")),
        {"slip": 0.25},
    ],
)
def test_grids_that_differ_in_numbers_alone_share_a_program(number):
    assert jax.tree.structure(ks.gridworld("S.G", **number)) == jax.tree.structure(ks.gridworld("S.G"))


@pytest.mark.parametrize(
    "rule", [{"moves": 8}, {"stay": True}, {"wind": (0, 1, 0)}, {"teleports": {(0, 2): ((0, 0), 1.0)}}]
)
def test_grids_of_other_rules_have_a_program_of_their_own(rule):
    assert jax.tree.structure(ks.gridworld("SG.", **rule)) != jax.tree.structure(ks.gridworld("SG."))
