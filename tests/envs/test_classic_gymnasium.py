"""The classic problems against Gymnasium's own steps, from the same state with the same action.

States are float32, random, and often on or near what matters: thresholds, walls, speed limits, goals, angles of +-pi.
Gymnasium's arithmetic is in float64 (in float32 in MountainCarContinuous). Flags are compared one by one: a flag may
differ only where Gymnasium's own value lies within a few units in the last place (ulps) of its threshold, which is
where float32 cannot tell the sides apart. The same holds for the car's speed at the left wall, which stops it. Every
difference is looked at, and their number is bounded: `MAX_CLOSE` of a thousand, though near states are sought out. Of a
million such transitions of CartPole about 200 differ, of the others none at ordinary speeds. For the float32 state that
was reached, CartPole's and MountainCar's flags obey Gymnasium's rule, in float64, without an exception.

Transitions of random play, which seldom meet an edge, agree without an exception. A million of them, and a million of
the others, run in the full tests for each id, all of them steps of Gymnasium.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.envs.classic.acrobot import AcrobotState
from kousoku.envs.classic.cartpole import CartPoleState
from kousoku.envs.classic.hill import MountainCarState
from kousoku.envs.classic.pendulum import PendulumState

pytestmark = pytest.mark.reference

IDS = ("CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")
TOLERANCE = 1e-6
TYPICAL, LARGEST = 6.0, 100.0
ULPS = 4
MAX_CLOSE = 0.5

Edges = tuple[float, ...]
Axis = tuple[float, float, Edges]


def theirs_of(id: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CartPole-v0 is said to be out of date
        return gymnasium.make(id, **options)


def ulp(x: Any) -> np.ndarray:
    """The distance of float32 numbers around x."""
    return np.spacing(np.abs(np.asarray(x)).astype(np.float32)).astype(np.float64)


@dataclass(frozen=True)
class Case:
    """One problem with its numbers.

    Attributes:
        id, options: ours, and Gymnasium's where it knows the same arguments.
        attributes: what Gymnasium has no arguments for.
        kind: our type of state.
        axes: (low, high, edges) of each number of a state.
        near: distance of Gymnasium's next state from the nearest threshold, in ulps.
        rule: Gymnasium's rule of when an episode ends, in float64, which our flag obeys for our own next state.
    """

    id: str
    kind: Callable[..., Any]
    axes: tuple[Axis, ...]
    near: Callable[[np.ndarray], np.ndarray]
    options: dict[str, Any] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    rule: Callable[[np.ndarray], np.ndarray] | None = None

    def states(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count, n] float32: most anywhere, some on an edge, some close to one."""
        columns = []
        for low, high, edges in self.axes:
            anywhere, place = rng.uniform(low, high, count), rng.uniform(size=count)
            edge = rng.choice(edges, count)
            close = edge + rng.normal(size=count) * 10.0 ** rng.uniform(-7, -1, count)
            columns.append(np.select([place < 0.1, place < 0.3], [edge, np.clip(close, low, high)], anywhere))
        return np.stack(columns, axis=1).astype(np.float32)


def cartpole_near(state: np.ndarray) -> np.ndarray:
    x, theta = np.abs(state[:, 0]), np.abs(state[:, 2])
    limit = 12 * 2 * math.pi / 360
    return np.minimum(np.abs(x - 2.4) / ulp(2.4), np.abs(theta - limit) / ulp(limit))


def hill_near(goal: float, goal_velocity: float = 0.0) -> Callable[[np.ndarray], np.ndarray]:
    def near(state: np.ndarray) -> np.ndarray:
        position, velocity = state.T
        wall, flag = np.abs(position + 1.2) / ulp(1.2), np.abs(position - goal) / ulp(goal)
        # the velocity is a sum of numbers up to 0.07
        slow = np.abs(velocity - goal_velocity) / ulp(0.07)
        return np.minimum(np.minimum(wall, flag), np.where(position >= goal, slow, np.inf))

    return near


def acrobot_near(state: np.ndarray) -> np.ndarray:
    """Two cosines of angles of up to pi, and their sum."""
    height = -np.cos(state[:, 0]) - np.cos(state[:, 0] + state[:, 1])
    return np.abs(height - 1.0) / ulp(np.pi)


def never_near(state: np.ndarray) -> np.ndarray:
    return np.full(len(state), np.inf)


FALL = 12 * 2 * math.pi / 360


def cartpole_ends(obs: np.ndarray) -> np.ndarray:
    return (np.abs(obs[:, 0]) > 2.4) | (np.abs(obs[:, 2]) > FALL)


def car_ends(obs: np.ndarray) -> np.ndarray:
    return (obs[:, 0] >= 0.5) & (obs[:, 1] >= 0.0)


CART_AXES = ((-2.6, 2.6, (-2.4, 0.0, 2.4)), (-4.0, 4.0, (0.0,)), (-0.3, 0.3, (-FALL, 0.0, FALL)), (-4.0, 4.0, (0.0,)))
SPEED_EDGES = (-0.07, 0.0, 0.07)
HILL_AXES = ((-1.2, 0.6, (-1.2, 0.45, 0.5, 0.6)), (-0.07, 0.07, SPEED_EDGES))
TURN_EDGES = tuple(sign * k * math.pi / 2 for k in (0, 1, 2) for sign in (-1, 1))
PENDULUM_AXES = ((-90.0, 90.0, (*TURN_EDGES, 3 * math.pi, 20 * math.pi)), (-8.0, 8.0, (-8.0, 0.0, 8.0)))
ANGLE = (-math.pi, math.pi, TURN_EDGES)
SLOW_AXES = (ANGLE, ANGLE, (-2.0, 2.0, (0.0,)), (-4.0, 4.0, (0.0,)))
TOP1, TOP2 = 4 * math.pi, 9 * math.pi
FAST_AXES = (ANGLE, ANGLE, (-TOP1, TOP1, (-TOP1, 0.0, TOP1)), (-TOP2, TOP2, (-TOP2, 0.0, TOP2)))


def pendulum_state(theta: Any, theta_dot: Any) -> PendulumState:
    return PendulumState(theta, theta_dot, jnp.zeros_like(theta))


CASES = {
    "CartPole-v0": Case("CartPole-v0", CartPoleState, CART_AXES, cartpole_near, rule=cartpole_ends),
    "CartPole-v1": Case("CartPole-v1", CartPoleState, CART_AXES, cartpole_near, rule=cartpole_ends),
    "MountainCar-v0": Case("MountainCar-v0", MountainCarState, HILL_AXES, hill_near(0.5), rule=car_ends),
    "MountainCarContinuous-v0": Case("MountainCarContinuous-v0", MountainCarState, HILL_AXES, hill_near(0.45)),
    "Pendulum-v1": Case("Pendulum-v1", pendulum_state, PENDULUM_AXES, never_near),
    "Acrobot-v1": Case("Acrobot-v1", AcrobotState, SLOW_AXES, acrobot_near),
}
OTHERS = {
    "the book's reward": Case(
        "CartPole-v1", CartPoleState, CART_AXES, cartpole_near, known={"sutton_barto_reward": True}
    ),
    "semi-implicit": Case(
        "CartPole-v1", CartPoleState, CART_AXES, cartpole_near, {"kinematics_integrator": "semi-implicit euler"},
        attributes={"kinematics_integrator": "semi-implicit euler"},
    ),
    "another cart": Case(
        "CartPole-v1", CartPoleState, CART_AXES, cartpole_near,
        {"gravity": 3.7, "masscart": 2.0, "masspole": 0.4, "length": 0.8, "force_mag": 5.0, "tau": 0.03},
        attributes={
            "gravity": 3.7, "total_mass": 2.4, "masspole": 0.4, "length": 0.8, "polemass_length": 0.4 * 0.8,
            "force_mag": 5.0, "tau": 0.03,
        },
    ),
    "a faster goal": Case(
        "MountainCar-v0", MountainCarState, HILL_AXES, hill_near(0.5, 0.03), known={"goal_velocity": 0.03}
    ),
    "another car": Case(
        "MountainCar-v0", MountainCarState, HILL_AXES, hill_near(0.3),
        {"goal_position": 0.3, "force": 0.004, "gravity": 0.001, "max_speed": 0.05, "max_position": 0.4},
        attributes={"goal_position": 0.3, "force": 0.004, "gravity": 0.001, "max_speed": 0.05, "max_position": 0.4},
    ),
    "a faster continuous goal": Case(
        "MountainCarContinuous-v0", MountainCarState, HILL_AXES, hill_near(0.45, 0.03), known={"goal_velocity": 0.03}
    ),
    "another continuous car": Case(
        "MountainCarContinuous-v0", MountainCarState, HILL_AXES, hill_near(0.2),
        {"power": 0.003, "max_speed": 0.05, "goal_position": 0.2, "min_action": -0.5, "max_action": 0.8},
        attributes={"power": 0.003, "max_speed": 0.05, "goal_position": 0.2, "min_action": -0.5, "max_action": 0.8},
    ),
    "Pendulum's g": Case("Pendulum-v1", pendulum_state, PENDULUM_AXES, never_near, known={"g": 9.81}),
    "another pendulum": Case(
        "Pendulum-v1", pendulum_state, PENDULUM_AXES, never_near,
        {"mass": 0.6, "length": 1.4, "dt": 0.03, "max_speed": 6.0, "max_torque": 1.2},
        attributes={"m": 0.6, "l": 1.4, "dt": 0.03, "max_speed": 6.0, "max_torque": 1.2},
    ),
    "the paper's acrobot": Case(
        "Acrobot-v1", AcrobotState, SLOW_AXES, acrobot_near, {"book_or_nips": "nips"},
        attributes={"book_or_nips": "nips"},
    ),
    "another acrobot": Case(
        "Acrobot-v1", AcrobotState, SLOW_AXES, acrobot_near,
        {
            "link_length_1": 1.2, "link_mass_1": 1.5, "link_mass_2": 0.8, "link_com_pos_1": 0.4, "link_com_pos_2": 0.6,
            "link_moi": 1.3, "max_vel_1": 3.0, "max_vel_2": 7.0, "dt": 0.1, "torque": 2.0,
        },
        attributes={
            "LINK_LENGTH_1": 1.2, "LINK_MASS_1": 1.5, "LINK_MASS_2": 0.8, "LINK_COM_POS_1": 0.4, "LINK_COM_POS_2": 0.6,
            "LINK_MOI": 1.3, "MAX_VEL_1": 3.0, "MAX_VEL_2": 7.0, "dt": 0.1, "AVAIL_TORQUE": [-2.0, 0.0, 2.0],
        },
    ),
}  # fmt: skip
FAST = Case("Acrobot-v1", AcrobotState, FAST_AXES, acrobot_near)


@dataclass(frozen=True)
class Both:
    """What ours and Gymnasium's made of the same states and actions: float64, ours first."""

    states: np.ndarray
    actions: np.ndarray
    obs: tuple[np.ndarray, np.ndarray]
    reward: tuple[np.ndarray, np.ndarray]
    terminated: tuple[np.ndarray, np.ndarray]
    reached: np.ndarray  # Gymnasium's own next state

    @property
    def error(self) -> np.ndarray:
        """[count] largest absolute plus relative error of an observation."""
        ours, theirs = self.obs
        return (np.abs(ours - theirs) / (1.0 + np.abs(theirs))).max(axis=1)


def both(case: Case, count: int, seed: int) -> Both:
    rng = np.random.default_rng(seed)
    ours = ks.make(case.id, **case.options, **case.known)
    theirs = theirs_of(case.id, **case.known).unwrapped
    for name, value in case.attributes.items():
        assert hasattr(theirs, name)
        setattr(theirs, name, value)
    theirs.reset(seed=seed)
    states = case.states(rng, count)
    if isinstance(ours.action_space, ks.Discrete):
        actions: Any = rng.integers(0, ours.action_space.n, count).astype(np.int32)
    else:
        high = float(ours.action_space.high)
        actions = np.clip(rng.uniform(-1.5 * high, 1.5 * high, (count, 1)), -2 * high, 2 * high).astype(np.float32)
    keys = jax.random.split(jax.random.key(seed), count)

    def one(key, state, action):
        return ours.step(key, case.kind(*state), action)[1]

    timestep = jax.jit(jax.vmap(one))(keys, jnp.asarray(states), jnp.asarray(actions))
    assert not np.any(timestep.truncated)
    assert timestep.info is None
    native = np.float32 if case.id == "MountainCarContinuous-v0" else np.float64
    found = [_their_step(theirs, states[i].astype(native), actions[i]) for i in range(count)]
    obs, reward, terminated, reached = (np.asarray(column, np.float64) for column in zip(*found, strict=True))
    pairs = [
        (np.asarray(a, np.float64), b)
        for a, b in zip((timestep.obs, timestep.reward, timestep.terminated), (obs, reward, terminated), strict=True)
    ]
    return Both(states, actions, *pairs, reached)


def _their_step(env: Any, state: np.ndarray, action: Any) -> tuple[Any, Any, Any, Any]:
    env.state = state
    env.steps_beyond_terminated = None  # CartPole gives no reward after the end
    obs, reward, terminated, truncated, info = env.step(action)
    assert not truncated
    assert info == {}
    return obs, reward, terminated, np.array(env.state, np.float64)


def check(case: Case, found: Both) -> None:
    if case.rule is not None:
        assert np.array_equal(found.terminated[0], case.rule(found.obs[0]))
    near = case.near(found.reached)
    other_flag = found.terminated[0] != found.terminated[1]
    reward_error = np.abs(found.reward[0] - found.reward[1]) / (1.0 + np.abs(found.reward[1]))
    different = other_flag | (found.error > TOLERANCE) | (reward_error > TOLERANCE)
    assert (near[different] <= ULPS).all(), _worst(found, different & (near > ULPS))
    assert different.sum() <= MAX_CLOSE * len(near) / 1000


def _worst(found: Both, where: np.ndarray) -> str:
    i = np.flatnonzero(where)[np.argmax(found.error[where])]
    return (
        f"{where.sum()} differ, such as {found.states[i]} with action {found.actions[i]}: obs {found.obs[0][i]}, "
        f"{found.obs[1][i]}, reward {found.reward[0][i]}, {found.reward[1][i]}, "
        f"terminated {found.terminated[0][i]}, {found.terminated[1][i]}"
    )


@pytest.mark.by_default("CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1")
@pytest.mark.parametrize("name", CASES)
def test_steps_are_gymnasiums(name):
    found = both(CASES[name], 2000, seed=1)
    check(CASES[name], found)
    if name != "Pendulum-v1":
        assert 0.005 < found.terminated[1].mean() < 0.9


@pytest.mark.by_default(
    "Pendulum?s g",
    "a faster continuous goal",
    "a faster goal",
    "another car",
    "another cart",
    "another continuous car",
    "another pendulum",
    "semi-implicit",
    "the paper?s acrobot",
)
@pytest.mark.parametrize("name", OTHERS)
def test_steps_are_gymnasiums_with_other_numbers(name):
    check(OTHERS[name], both(OTHERS[name], 700, seed=2))


def check_fast(found: Both) -> None:
    """What is more than 1e-6 off is of the size of what half an ulp of the state changes in Gymnasium's own step."""
    theirs = theirs_of("Acrobot-v1").unwrapped
    theirs.reset(seed=0)
    other_flag = found.terminated[0] != found.terminated[1]
    off = np.flatnonzero(other_flag | (found.error > TOLERANCE))
    rounding = np.array([_rounding(theirs, found.states[i], found.actions[i]) for i in off])
    times = np.maximum(found.error[off] - TOLERANCE, 0.0) / rounding
    assert np.median(found.error) < 3e-7
    assert np.quantile(times, 0.99) < TYPICAL
    assert times.max() < LARGEST
    height = -np.cos(found.reached[off, 0]) - np.cos(found.reached[off, 0] + found.reached[off, 1])
    unsure = np.abs(height - 1.0) <= 2.0 * (TOLERANCE + LARGEST * rounding)
    assert unsure[other_flag[off]].all()
    assert other_flag.sum() <= MAX_CLOSE * len(other_flag) / 1000


def _rounding(theirs: Any, state: np.ndarray, action: Any) -> float:
    """By how much Gymnasium's next state moves, at most, if each number moves by half an ulp, up or down."""
    exact, half = state.astype(np.float64), 0.5 * ulp(state)
    base = _their_step(theirs, exact, action)[3]
    moves = np.array([(1, *signs) for signs in itertools.product((-1, 1), repeat=3)])
    moved = np.array([_their_step(theirs, exact + half * move, action)[3] for move in moves]) - base
    moved[:, :2] = (moved[:, :2] + np.pi) % (2 * np.pi) - np.pi
    return float((np.abs(moved) / (1.0 + np.abs(base))).max())


def test_the_acrobot_at_its_fastest_is_as_exact_as_float32_allows():
    check_fast(both(FAST, 2000, seed=3))


class Played(Case):
    """States that somebody who pushes with the swing of the second link gets to, most of the time."""

    def states(self, rng: np.random.Generator, count: int) -> np.ndarray:
        theirs = theirs_of(self.id).unwrapped
        found: list[Any] = []
        while len(found) < count:
            theirs.reset(seed=len(found))
            for _ in range(300):
                swings = theirs.state[3] > 0
                _, _, terminated, _, _ = theirs.step(2 * int(swings == (rng.uniform() < 0.8)))
                found.append(theirs.state)
                if terminated:
                    break
        return np.array(found[:count], np.float32)


def test_the_acrobot_in_play_is_exact():
    played = Played(FAST.id, FAST.kind, FAST.axes, FAST.near)
    found = both(played, 2000, seed=4)
    assert np.abs(found.states).max(axis=0)[3] > 8.0
    check(played, found)


class RandomPlay(Case):
    """States of episodes of random actions, from Gymnasium's own starts."""

    def states(self, rng: np.random.Generator, count: int) -> np.ndarray:
        theirs = theirs_of(self.id)
        theirs.action_space.seed(int(rng.integers(2**31)))
        found: list[Any] = []
        ended = True
        while len(found) < count:
            if ended:
                theirs.reset(seed=int(rng.integers(2**31)))
            found.append(np.array(theirs.unwrapped.state, np.float32))
            _, _, terminated, truncated, _ = theirs.step(theirs.action_space.sample())
            ended = terminated or truncated
        return np.array(found)


def check_random_play(id: str, count: int, seed: int) -> None:
    """Flags without one exception, numbers to 1e-6."""
    case = CASES[id]
    found = both(RandomPlay(case.id, case.kind, case.axes, case.near), count, seed)
    np.testing.assert_array_equal(found.terminated[0], found.terminated[1])
    assert found.error.max() < TOLERANCE
    assert (np.abs(found.reward[0] - found.reward[1]) / (1.0 + np.abs(found.reward[1]))).max() < TOLERANCE


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", IDS)
def test_transitions_of_random_play_are_gymnasiums_without_exception(id):
    check_random_play(id, 3000, seed=5)


@pytest.mark.full("larger")
@pytest.mark.parametrize("id", IDS)
def test_a_million_transitions_of_random_play(id):
    for seed in range(20):
        check_random_play(id, 50_000, seed=300 + seed)


@pytest.mark.full("larger")
@pytest.mark.parametrize("name", CASES)
def test_a_million_steps_are_gymnasiums(name):
    for seed in range(20):
        check(CASES[name], both(CASES[name], 50_000, seed=100 + seed))


@pytest.mark.full("larger")
def test_a_million_steps_of_the_acrobot_at_any_speed():
    for seed in range(20):
        check_fast(both(FAST, 50_000, seed=200 + seed))


@pytest.mark.parametrize("id", IDS)
def test_spaces_limits_and_first_states(id):
    ours, theirs = ks.make(id), theirs_of(id)
    space = theirs.observation_space
    assert np.array_equal(np.asarray(ours.observation_space.low, np.float32), space.low)
    assert np.array_equal(np.asarray(ours.observation_space.high, np.float32), space.high)
    assert (ours.observation_space.shape, ours.observation_space.dtype) == (space.shape, space.dtype)
    if isinstance(theirs.action_space, gymnasium.spaces.Discrete):
        assert ours.action_space == ks.Discrete(int(theirs.action_space.n))
    else:
        assert ours.action_space.shape == theirs.action_space.shape == (1,)
        assert float(ours.action_space.low) == theirs.action_space.low[0]
        assert float(ours.action_space.high) == theirs.action_space.high[0]
    assert ours.time_limit == theirs.spec.max_episode_steps
    obs, timestep = theirs.reset(seed=0)[0], ours.reset(jax.random.key(0))[1]
    assert (timestep.obs.shape, timestep.obs.dtype) == (obs.shape, obs.dtype)


RESETS = {
    "CartPole-v1": ([(-0.05, 0.05)] * 4, ("reset_low", "reset_high")),
    "MountainCar-v0": ([(-0.6, -0.4)], ("reset_low", "reset_high")),
    "MountainCarContinuous-v0": ([(-0.6, -0.4)], ("reset_low", "reset_high")),
    "Pendulum-v1": ([(-math.pi, math.pi), (-1.0, 1.0)], ("x_init", "y_init")),
    "Acrobot-v1": ([(-0.1, 0.1)] * 4, ("reset_low", "reset_high")),
}


def first_states(env: ks.Env, count: int = 3000) -> np.ndarray:
    states, timestep = jax.vmap(env.reset)(jax.random.split(jax.random.key(7), count))
    assert not np.any(timestep.reward)
    return np.stack([np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(states)])


@pytest.mark.by_default("Acrobot-v1", "MountainCarContinuous-v0")
@pytest.mark.parametrize("id", RESETS)
def test_first_states_are_uniform_and_independent(id):
    bounds, _ = RESETS[id]
    columns = first_states(ks.make(id))
    for (low, high), column in zip(bounds, columns, strict=False):
        assert ((np.float32(low) <= column) & (column <= np.float32(high))).all()
        assert stats.kstest(column, stats.uniform(low, high - low).cdf).pvalue > 1e-4
    assert not columns[len(bounds) :].any()
    if len(bounds) > 1:
        mixed = np.corrcoef(columns[: len(bounds)]) - np.eye(len(bounds))
        assert np.abs(mixed).max() < 0.08


@pytest.mark.parametrize("id", RESETS)
def test_first_states_obey_bounds_as_gymnasiums_do(id):
    """The same numbers as in Gymnasium's `reset(options=...)` give the same range."""
    names = RESETS[id][1]
    given = (0.3, 0.2) if "x_init" in names else (-0.9, 0.1)
    columns = first_states(ks.make(id, **dict(zip(names, given, strict=True))))
    theirs = theirs_of(id).unwrapped
    options = dict(zip(names if "x_init" in names else ("low", "high"), given, strict=True))
    starts = []
    for seed in range(500):
        theirs.reset(seed=seed, options=options)
        starts.append(np.array(theirs.state, np.float64))
    for ours, column in zip(columns[: len(starts[0])], np.array(starts).T, strict=True):
        assert stats.ks_2samp(ours, column).pvalue > 1e-4
        assert abs(ours.min() - column.min()) < 0.02
        assert abs(ours.max() - column.max()) < 0.02


ENDLESS = {"CartPole-v0": True, "CartPole-v1": True}


@pytest.mark.by_default("Pendulum-v1")
@pytest.mark.parametrize("id", IDS)
def test_the_time_limit_truncates_and_does_not_terminate(id):
    options = {"x_threshold": 1e5, "theta_threshold_radians": 1e5} if id in ENDLESS else {}
    env = ks.make(id, **options)
    limit = gymnasium.spec(id).max_episode_steps
    still = jnp.int32(1) if isinstance(env.action_space, ks.Discrete) else jnp.zeros((1,), jnp.float32)

    def one(lane, key):
        lane, transition, end = advance(env, lane, still, key)
        return lane, (transition, end)

    keys = jax.random.split(jax.random.key(1), limit + 2)
    _, (transitions, ends) = jax.lax.scan(one, begin(env, jax.random.key(0)), keys)
    assert not np.any(transitions.terminated)
    assert np.flatnonzero(transitions.truncated).tolist() == [limit - 1]
    assert int(ends.length[limit - 1]) == limit
    after = np.asarray(transitions.obs[limit])
    assert not np.array_equal(after, transitions.next_obs[limit - 1])


@pytest.mark.full("covered")
def test_the_acrobots_noise_is_gymnasiums():
    """A step from rest is linear in a small torque, so that the speeds show how the noise is distributed."""
    ours, theirs = ks.make("Acrobot-v1", torque_noise_max=0.5), theirs_of("Acrobot-v1").unwrapped
    theirs.torque_noise_max = 0.5
    theirs.reset(seed=3)
    rest = AcrobotState(*jnp.zeros((4,), jnp.float32))
    keys = jax.random.split(jax.random.key(0), 1000)
    speeds = jax.vmap(lambda key: ours.step(key, rest, jnp.int32(1))[1].obs[5])(keys)
    others = [_their_step(theirs, np.zeros(4), 1)[0][5] for _ in range(1000)]
    assert stats.ks_2samp(np.asarray(speeds, np.float64), others).pvalue > 1e-4
