"""FrozenLake, CliffWalking and Taxi against Gymnasium: every entry of their tables, every step, every first state."""

from __future__ import annotations

import itertools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map
from scipy import stats

from kousoku.core.env import Drawable, Finite
from kousoku.core.model import check_model
from kousoku.envs import make

pytestmark = pytest.mark.reference

IDS = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4")
OWN_MAPS = (
    ["SFG"],
    ["SFFFF", "HFSHG", "GFFFF"],
    ["GHS", "FHF", "FFF"],
    *(generate_random_map(size, p, seed) for size, p, seed in ((3, 0.9, 1), (5, 0.7, 2), (8, 0.8, 3), (11, 0.75, 4))),
)
SCHEDULE = (5.0, -2.0, -0.25)


def cases():
    """(name, ours, Gymnasium's) for every id and option."""
    for name in IDS:
        yield name, make(name), gymnasium.make(name).unwrapped
    for slippery, size in itertools.product((True, False), ("4x4", "8x8")):
        options = {"map_name": size, "is_slippery": slippery}
        yield f"lake {size} {slippery}", make("FrozenLake-v1", **options), lake(**options)
    for number, rows in enumerate(OWN_MAPS):
        for options in ({"is_slippery": False}, {"success_rate": 0.7, "reward_schedule": SCHEDULE}):
            yield (
                f"map {number} {list(options)}",
                make("FrozenLake-v1", custom_map=rows, **options),
                lake(desc=rows, **options),
            )
    for rate in (0.0, 1.0):
        yield f"lake {rate}", make("FrozenLake-v1", success_rate=rate), lake(success_rate=rate)
    for options in ({"is_rainy": True}, {"is_rainy": True, "rainy_probability": 0.55}):
        yield f"taxi {options}", make("Taxi-v4", **options), gymnasium.make("Taxi-v4", **options).unwrapped


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options).unwrapped


CASES = [pytest.param(ours, theirs, id=name) for name, ours, theirs in cases()]


@pytest.mark.parametrize(("ours", "theirs"), CASES)
def test_tables_equal_gymnasiums_entry_by_entry(ours, theirs):
    model = ours.model()
    check_model(model)
    assert (model.num_states, model.num_actions) == (theirs.observation_space.n, theirs.action_space.n)
    for s, a in itertools.product(range(model.num_states), range(model.num_actions)):
        listed = zip(
            model.probability[s, a], model.next_state[s, a], model.reward[s, a], model.terminated[s, a], strict=True
        )
        expected = theirs.P[s][a]
        entries = list(listed)
        assert entries[: len(expected)] == expected, (s, a)
        assert all(entry[0] == 0 for entry in entries[len(expected) :]), (s, a)
    assert np.array_equal(model.start, theirs.initial_state_distrib)


@pytest.mark.by_default(
    "lake 0.0",
    "lake 1.0",
    "lake 4x4 False",
    "lake 4x4 True",
    "lake 8x8 False",
    "map 1 [[]?success_rate?, ?reward_schedule?]",
)
@pytest.mark.parametrize(("ours", "theirs"), CASES)
def test_steps_are_gymnasiums_outcomes_with_their_frequencies(ours, theirs):
    """Every state and action many times over: each outcome is one of Gymnasium's, as often as it should be."""
    states, actions, draws = ours.observation_space.n, ours.action_space.n, 100
    s, a = (np.repeat(x.ravel(), draws).astype(np.int32) for x in np.mgrid[:states, :actions])
    keys = jax.random.split(jax.random.key(states), len(s))
    next_state, timestep = jax.jit(jax.vmap(ours.step))(keys, s, a)
    assert np.array_equal(next_state, timestep.obs)
    assert not np.any(timestep.truncated)
    seen = np.stack([next_state, timestep.reward, timestep.terminated], axis=-1).reshape(states, actions, draws, 3)
    statistic = freedom = 0.0
    for s, a in itertools.product(range(states), range(actions)):
        chances: dict[tuple[float, ...], float] = {}
        for p, *outcome in theirs.P[s][a]:
            key = tuple(np.float32(outcome).tolist())
            chances[key] = chances.get(key, 0.0) + p
        counts = dict.fromkeys((key for key, p in chances.items() if p > 0), 0)
        for outcome in seen[s, a].tolist():
            counts[tuple(outcome)] += 1
        statistic += sum((n - draws * chances[key]) ** 2 / (draws * chances[key]) for key, n in counts.items())
        freedom += len(counts) - 1
    assert freedom == 0 or stats.chi2.sf(statistic, freedom) > 1e-4


@pytest.mark.by_default("CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4")
@pytest.mark.parametrize(("ours", "theirs"), CASES)
def test_first_states_are_drawn_from_gymnasiums_distribution(ours, theirs):
    draws = 30_000
    first, timestep = jax.jit(jax.vmap(ours.reset))(jax.random.split(jax.random.key(7), draws))
    assert np.array_equal(first, timestep.obs)
    assert not np.any(timestep.reward)
    assert not np.any(timestep.terminated | timestep.truncated)
    possible = theirs.initial_state_distrib > 0
    counts = np.bincount(first, minlength=len(possible))
    assert not np.any(counts[~possible])
    if possible.sum() > 1:
        assert stats.chisquare(counts[possible], draws * theirs.initial_state_distrib[possible]).pvalue > 1e-4


@pytest.mark.parametrize("name", [*IDS, "Blackjack-v1"])
def test_time_limits_are_gymnasiums(name):
    assert make(name).time_limit == gymnasium.spec(name).max_episode_steps


@pytest.mark.by_default("True")
@pytest.mark.parametrize("rainy", [False, True])
def test_taxi_tells_gymnasiums_action_mask(rainy):
    ours, theirs = make("Taxi-v4", is_rainy=rainy), gymnasium.make("Taxi-v4", is_rainy=rainy).unwrapped
    masks = np.array([theirs.action_mask(s) for s in range(500)])
    state, timestep = jax.vmap(ours.reset)(jax.random.split(jax.random.key(0), 500))
    assert np.array_equal(timestep.info.action_mask, masks[state])
    actions = jnp.arange(500, dtype=jnp.int32) % 6
    states = jnp.arange(500, dtype=jnp.int32)
    after, timestep = jax.vmap(ours.step)(jax.random.split(jax.random.key(1), 500), states, actions)
    assert np.array_equal(timestep.info.action_mask, masks[after])


@pytest.mark.parametrize("name", IDS)
def test_panels_show_every_state_once_and_arrows_point_where_actions_lead(name):
    env = make(name) if "Slippery" in name or "Taxi" in name else make(name, is_slippery=False)
    assert isinstance(env, Finite)
    model, panels = env.model(), env.panels()
    shown = [state for panel in panels for row in panel.states for state in row]
    assert len(shown) == len(set(shown)) == (400 if name == "Taxi-v4" else model.num_states)
    ahead = 1 if model.num_outcomes == 3 else 0
    moved = 0
    for panel in panels:
        where = {state: (r, c) for r, row in enumerate(panel.states) for c, state in enumerate(row)}
        assert len(panel.action_names) == len(panel.action_arrows) == model.num_actions
        for (state, (r, c)), (action, arrow) in itertools.product(where.items(), enumerate(panel.action_arrows)):
            after = int(model.next_state[state, action, ahead])
            if arrow is None or after == state or model.reward[state, action, ahead] == -100:
                continue
            assert where[after] == (r + arrow[1], c + arrow[0])
            moved += 1
    assert moved > model.num_states


def test_labels_name_the_special_cells():
    assert {label[2] for label in make("FrozenLake-v1").panels()[0].labels} == {"S", "H", "G"}
    assert (3, 11, "G") in make("CliffWalking-v1").panels()[0].labels
    titles = [panel.title for panel in make("Taxi-v4").panels()]
    assert len(set(titles)) == 16
    assert "passenger in taxi, to B" in titles


@pytest.mark.parametrize("name", IDS)
def test_scenes_show_the_agent_where_it_is(name):
    env = make(name)
    assert isinstance(env, Drawable)
    for state in (0, 1, env.observation_space.n - 1):
        scene = env.scene(jnp.int32(state))
        cell = state // 20 if name == "Taxi-v4" else state
        row, column = divmod(cell, int(scene.width))
        agent = next(shape for shape in scene.foreground if shape.color in ("#e4572e", "#f2b632"))
        corner = (agent.y, agent.x)
        assert (int(corner[0]), int(corner[1])) == (row, column)
        for shape in (*scene.background, *scene.foreground):
            for x, y in (
                (getattr(shape, "x", 0), getattr(shape, "y", 0)),
                (getattr(shape, "x2", 0), getattr(shape, "y2", 0)),
            ):
                assert 0 <= x <= scene.width
                assert 0 <= y <= scene.height


@pytest.mark.by_default("CliffWalking-v1", "CliffWalkingSlippery-v1", "FrozenLake-v1", "FrozenLake8x8-v1")
@pytest.mark.parametrize("name", IDS)
def test_two_environments_of_one_kind_share_a_program(name):
    traced = []

    @jax.jit
    def first(env, key):
        traced.append(name)
        return env.reset(key)[1].obs

    one, other = make(name), make(name)
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert hash(jax.tree.structure(one)) == hash(jax.tree.structure(other))
    first(one, jax.random.key(0))
    first(other, jax.random.key(0))
    assert len(traced) == 1


def test_the_taxis_panels_have_a_wall_where_going_east_and_west_leads_nowhere():
    env = make("Taxi-v4")
    nexts = np.asarray(env.model().next_state)[..., 0]
    for panel in env.panels():
        names = panel.action_names
        stopped = {
            (c + 1.0, float(r), c + 1.0, r + 1.0)
            for r, row in enumerate(panel.states)
            for c, (here, there) in enumerate(itertools.pairwise(row))
            if nexts[here, names.index("east")] != there and nexts[there, names.index("west")] != here
        }
        assert len(stopped) == 6
        assert set(panel.walls) == stopped
