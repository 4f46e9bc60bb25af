"""What robots' tasks make of moves that are made by hand: rewards, ends and observations, without a simulation."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs.locomotion.humanoid_body import Anatomy
from kousoku.envs.locomotion.pusher import PusherPlaces
from kousoku.envs.locomotion.robot import Measured, Move
from kousoku.physics import State

WEIGHTS = {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.5, "healthy_reward": 3.0}


def physics(env: Any, qpos: dict[int, float], qvel: dict[int, float] | None = None) -> State:
    """Positions and velocities, 0 where nothing is given."""
    model = env.model
    return State(array(model.nq, qpos), array(model.nv, qvel or {}), array(model.na), array(model.nv))


def array(shape: Any, given: Any = None) -> jax.Array:
    """Zeros, but for what is given by index."""
    numbers = np.zeros(shape, np.float32)
    for i, value in (given or {}).items():
        numbers[i] = value
    return jnp.asarray(numbers)


def command(env: Any) -> jax.Array:
    """Commands whose squares sum to 0.14."""
    return array(env.model.nu, {0: 0.1, 1: -0.2, 2: 0.3})


def outcomes(env: Any, moves: list[Move]) -> Any:
    found = jax.jit(jax.vmap(env.outcome))(jax.tree.map(lambda *parts: np.stack(parts), *moves))
    return jax.device_get(found)


def assert_terms(info: Any, **wanted: Any) -> None:
    for name, value in wanted.items():
        np.testing.assert_allclose(getattr(info, name), value, rtol=2e-5, atol=1e-5, err_msg=name)


UPRIGHT: dict[str, list[tuple[dict[int, float], dict[int, float], bool]]] = {
    "Hopper-v5": [
        ({1: 0.71}, {}, True), ({1: 0.69}, {}, False), ({1: 200.0}, {}, True),
        ({1: 1.0, 2: 0.19}, {}, True), ({1: 1.0, 2: 0.21}, {}, False),
        ({1: 1.0, 2: -0.19}, {}, True), ({1: 1.0, 2: -0.21}, {}, False),
        ({1: 1.0, 3: 99.0, 5: -99.0}, {0: 99.0, 5: -99.0}, True), ({1: 1.0, 3: 101.0}, {}, False),
        ({1: 1.0, 5: -101.0}, {}, False), ({1: 1.0}, {0: 101.0}, False), ({1: 1.0}, {5: -101.0}, False),
    ],
    "Walker2d-v5": [
        ({1: 0.81}, {}, True), ({1: 0.79}, {}, False), ({1: 1.99}, {}, True), ({1: 2.01}, {}, False),
        ({1: 1.0, 2: 0.99}, {0: 200.0}, True), ({1: 1.0, 2: 1.01}, {}, False), ({1: 1.0, 2: -1.01}, {}, False),
    ],
}  # fmt: skip


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("id", UPRIGHT)
def test_robots_in_a_plane_are_paid_for_going_forward_upright_at_little_effort(id: str, ends: bool) -> None:
    """They go 0.24 m in a step of 8 ms: 30 m/s, worth 60; an effort of 0.14 costs 0.07."""
    env = ks.make(id, terminate_when_unhealthy=ends, **WEIGHTS)
    before, action = physics(env, {0: 0.5}), command(env)
    afters = [physics(env, {0: 0.74, **qpos}, qvel) for qpos, qvel, _ in UPRIGHT[id]]
    found = outcomes(env, [Move(before, after, action, None, Measured()) for after in afters])
    healthy = np.array([healthy for *_, healthy in UPRIGHT[id]])
    assert found.terminated.tolist() == (~healthy & ends).tolist()
    np.testing.assert_allclose(found.reward, 59.93 + 3.0 * healthy, rtol=1e-5)
    heights = np.array([qpos[1] for qpos, *_ in UPRIGHT[id]])
    assert_terms(found.info, x_position=0.74, z_distance_from_origin=heights - 1.25, x_velocity=30.0)
    assert_terms(found.info, reward_forward=60.0, reward_ctrl=-0.07, reward_survive=3.0 * healthy)
    assert not found.info.diverged.any()


def test_a_cheetah_is_paid_for_going_forward_at_little_effort() -> None:
    env = ks.make("HalfCheetah-v5", forward_reward_weight=2.0, ctrl_cost_weight=0.5)
    move = Move(physics(env, {0: 0.5}), physics(env, {0: 0.7}), command(env), None, Measured())
    found = outcomes(env, [move])
    np.testing.assert_allclose(found.reward, [8.0 - 0.07], rtol=1e-5)
    assert_terms(found.info, x_position=0.7, x_velocity=4.0, reward_forward=8.0, reward_ctrl=-0.07)
    assert not found.terminated.any()


def test_a_pendulum_is_paid_as_long_as_it_stands() -> None:
    env, rows = ks.make("InvertedPendulum-v5"), [(0.19, True), (-0.19, True), (0.21, False), (-0.21, False)]
    before, action = physics(env, {}), array(1)
    moves = [Move(before, physics(env, {0: 5.0, 1: angle}), action, None, Measured()) for angle, _ in rows]
    found = outcomes(env, moves)
    assert found.reward.tolist() == found.info.reward_survive.tolist() == [float(stands) for _, stands in rows]
    assert found.terminated.tolist() == [not stands for _, stands in rows]


@pytest.mark.parametrize("ends", [True, False])
def test_an_ant_is_paid_for_going_forward_on_its_feet_untouched(ends: bool) -> None:
    """It goes by (0.1, -0.2) m in 50 ms; forces whose squares sum to 25 cost 6.25."""
    env = ks.make("Ant-v5", contact_cost_weight=0.25, terminate_when_unhealthy=ends, **WEIGHTS)
    forces = array((env.model.nbody, 6), {(2, 1): -3.0, (13, 5): 4.0})
    measured = Measured(forces, array(2, {0: 0.4, 1: 0.1}))
    rows = [(0.19, False), (0.21, True), (0.99, True), (1.01, False)]
    before, kept, action = physics(env, {}), array(2, {0: 0.3, 1: 0.3}), command(env)
    moves = [Move(before, physics(env, {0: 3.0, 1: 4.0, 2: height}), action, kept, measured) for height, _ in rows]
    found, healthy = outcomes(env, moves), np.array([healthy for _, healthy in rows])
    np.testing.assert_allclose(found.reward, 4.0 - 0.07 - 6.25 + 3.0 * healthy, rtol=1e-5)
    assert found.terminated.tolist() == (~healthy & ends).tolist()
    assert_terms(found.info, x_position=3.0, y_position=4.0, distance_from_origin=5.0, x_velocity=2.0, y_velocity=-4.0)
    assert_terms(found.info, reward_forward=4.0, reward_ctrl=-0.07, reward_contact=-6.25, reward_survive=3.0 * healthy)


def anatomy(env: Any, first: float, last: float) -> Anatomy:
    """Two forces, and lengths and velocities of the tendons between hip and knee."""
    forces = array((env.model.nbody, 6), {(1, 0): first, (-1, -1): last})
    return Anatomy(forces, array(2, {0: 0.1, 1: 0.2}), array(2, {0: 0.3, 1: 0.4}), None, None, None)


FORCES = [(3.0, -4.0, 6.25), (0.0, 0.0, 1.0), (30.0, 0.0, 10.0)]
"""Of two bodies, and what they cost at 0.25 a unit squared, at least 1 and at most 10."""


@pytest.mark.parametrize("ends", [True, False])
def test_a_humanoid_is_paid_for_going_forward_on_its_feet_untouched(ends: bool) -> None:
    """Its centre of mass goes by (0.03, -0.06) m in 15 ms."""
    options = {"contact_cost_weight": 0.25, "contact_cost_range": (1.0, 10.0), "terminate_when_unhealthy": ends}
    env = ks.make("Humanoid-v5", **options, **WEIGHTS)
    before, action, kept = physics(env, {}), command(env), array(2, {0: 0.5, 1: 0.25})
    moves, rewards, survive, contact = [], [], [], []
    for height, healthy in ((0.99, False), (1.01, True), (1.99, True), (2.01, False)):
        for first, last, cost in FORCES:
            measured = Measured(anatomy(env, first, last), array(2, {0: 0.53, 1: 0.19}))
            moves.append(Move(before, physics(env, {0: 3.0, 1: 4.0, 2: height}), action, kept, measured))
            rewards.append(4.0 - 0.07 - cost + 3.0 * healthy)
            survive.append(3.0 * healthy)
            contact.append(-cost)
    found = outcomes(env, moves)
    np.testing.assert_allclose(found.reward, rewards, rtol=1e-5)
    assert found.terminated.tolist() == [ends and worth == 0.0 for worth in survive]
    assert_terms(found.info, x_position=3.0, y_position=4.0, distance_from_origin=5.0, x_velocity=2.0, y_velocity=-4.0)
    assert_terms(found.info, reward_forward=4.0, reward_ctrl=-0.07, reward_contact=contact, reward_survive=survive)
    assert_terms(found.info, tendon_length=[[0.1, 0.2]] * 12, tendon_velocity=[[0.3, 0.4]] * 12)


def test_a_lying_humanoid_is_paid_for_its_height() -> None:
    """The height over the physics' 3 ms, and 1; where it lies, it is 0.105 m high."""
    options = {"ctrl_cost_weight": 0.5, "impact_cost_weight": 0.25, "impact_cost_range": (1.0, 10.0)}
    env = ks.make("HumanoidStandup-v5", **options)
    before, after, action = physics(env, {}), physics(env, {0: 3.0, 1: 4.0, 2: 0.6}), command(env)
    moves = [Move(before, after, action, None, Measured(anatomy(env, first, last))) for first, last, _ in FORCES]
    found, costs = outcomes(env, moves), np.array([cost for *_, cost in FORCES])
    np.testing.assert_allclose(found.reward, 200.0 + 1.0 - 0.07 - costs, rtol=1e-5)
    assert not found.terminated.any()
    assert_terms(found.info, x_position=3.0, y_position=4.0, z_distance_from_origin=0.495)
    assert_terms(found.info, reward_linup=200.0, reward_quadctrl=-0.07, reward_impact=-costs)
    assert_terms(found.info, tendon_length=[[0.1, 0.2]] * 3, tendon_velocity=[[0.3, 0.4]] * 3)


def places(tip: list[float], cylinder: list[float], goal: list[float]) -> PusherPlaces:
    return PusherPlaces(*(array(3, dict(enumerate(place))) for place in (tip, cylinder, goal)))


def test_a_pusher_is_paid_for_the_cylinder_near_its_goal_and_the_tip_near_the_cylinder() -> None:
    """The tip is 3 m from the cylinder, that is 7 m from its goal."""
    env = ks.make("Pusher-v5", reward_near_weight=2.0, reward_dist_weight=0.25, reward_control_weight=0.5)
    now = places([1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [4.0, 7.0, 11.0])
    found = outcomes(env, [Move(physics(env, {}), physics(env, {}), command(env), None, Measured(now))])
    np.testing.assert_allclose(found.reward, [-6.0 - 1.75 - 0.07], rtol=1e-5)
    assert_terms(found.info, reward_near=-6.0, reward_dist=-1.75, reward_ctrl=-0.07)
    assert not found.terminated.any()


def observed(env: Any, measured: Measured) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is seen of positions 1, 2, ... and velocities 3, -6, 9, ..., and these."""
    qpos, qvel = (
        np.arange(1.0, env.model.nq + 1),
        3.0 * np.arange(1, env.model.nv + 1) * (-1.0) ** np.arange(env.model.nv),
    )
    state = physics(env, dict(enumerate(qpos)), dict(enumerate(qvel)))
    return np.asarray(jax.jit(env.observe)(state, measured)), qpos, qvel


@pytest.mark.parametrize(("id", "fastest"), [("HalfCheetah-v5", np.inf), ("Hopper-v5", 10.0), ("Walker2d-v5", 10.0)])
@pytest.mark.parametrize("without_x", [True, False])
def test_of_robots_in_a_plane_positions_and_velocities_are_seen(id: str, fastest: float, without_x: bool) -> None:
    env = ks.make(id, exclude_current_positions_from_observation=without_x)
    found, qpos, qvel = observed(env, Measured())
    np.testing.assert_array_equal(found, np.concatenate([qpos[without_x:], np.clip(qvel, -fastest, fastest)]))


@pytest.mark.parametrize("places_too", [True, False])
def test_of_a_humanoid_all_bodies_but_the_world_are_seen(places_too: bool) -> None:
    """Of the actuators' forces those of the free joint are left out."""
    env = ks.make("Humanoid-v5", exclude_current_positions_from_observation=not places_too)
    bodies, rng = env.model.nbody, np.random.default_rng(0)
    inertia, speeds, pushes, forces = (
        rng.normal(size=shape).astype(np.float32) for shape in ((bodies, 10), (bodies, 6), env.model.nv, (bodies, 6))
    )
    none = array(2)
    parts = Anatomy(jnp.asarray(forces), none, none, *map(jnp.asarray, (inertia, speeds, pushes)))
    found, qpos, qvel = observed(env, Measured(parts))
    wanted = [qpos[0 if places_too else 2 :], qvel, inertia[1:], speeds[1:], pushes[6:], forces[1:]]
    np.testing.assert_array_equal(found, np.concatenate([np.ravel(part) for part in wanted]))


def test_of_an_ant_contact_forces_of_all_bodies_but_the_world_are_seen() -> None:
    env = ks.make("Ant-v5")
    forces = np.random.default_rng(0).uniform(-1.0, 1.0, (env.model.nbody, 6)).astype(np.float32)
    found, qpos, qvel = observed(env, Measured(jnp.asarray(forces)))
    np.testing.assert_array_equal(found, np.concatenate([qpos[2:], qvel, forces[1:].ravel()]))


def test_of_a_pusher_the_arm_and_three_places_are_seen() -> None:
    env = ks.make("Pusher-v5")
    found, qpos, qvel = observed(env, Measured(places([21, 22, 23], [24, 25, 26], [27, 28, 29])))
    np.testing.assert_array_equal(found, np.concatenate([qpos[:7], qvel[:7], np.arange(21.0, 30.0)]))
