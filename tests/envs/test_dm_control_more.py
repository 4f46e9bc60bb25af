"""dm_control's ball in cup, finger, lqr, quadruped and humanoid_CMU on small files of ours.

How episodes begin and end, what is observed, what is rewarded. Steps are beside the package's own in
test_dm_control_peers.py.
"""

from __future__ import annotations

import math
from typing import Any

import dm_control_small
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from dm_control_small import about, seen

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.core.scene3d import WORLD
from kousoku.envs.dm_control import SuiteState
from kousoku.envs.dm_control.ball_in_cup import SuiteBallInCup
from kousoku.envs.dm_control.finger import SuiteFinger
from kousoku.envs.dm_control.humanoid_cmu import SuiteHumanoidCMU
from kousoku.envs.dm_control.lqr import SuiteLqr
from kousoku.envs.dm_control.quadruped import HAIR, LIFT, SuiteQuadruped
from kousoku.envs.dm_control.randomizers import randomize_joints
from kousoku.envs.locomotion.robot import at_rest
from kousoku.physics import any_contact

KEY = jax.random.key(0)
MORE = ("ball_in_cup", "turn", "quadruped", "humanoid_CMU")
MANY = 400
FEELINGS = {"egocentric_state": 3, "torso_velocity": 3, "torso_upright": 1, "imu": 6, "force_torque": 6}
POINT = {"position": 4, "velocity": 3, "touch": 2}
CASES: dict[str, tuple[type[Any], dict[str, Any], dict[str, int]]] = {
    "ball_in_cup": (SuiteBallInCup, {}, {"position": 4, "velocity": 4}),
    "spin": (SuiteFinger, {}, POINT),
    "turn": (SuiteFinger, {"spinning": False}, POINT | {"target_position": 2, "dist_to_target": 1}),
    "lqr_1_1": (SuiteLqr, {"num_bodies": 1}, {"position": 1, "velocity": 1}),
    "lqr_6_2": (SuiteLqr, {"num_bodies": 6, "num_actuators": 2}, {"position": 6, "velocity": 6}),
    "quadruped": (SuiteQuadruped, {}, FEELINGS),
    "fetch": (SuiteQuadruped, {"fetching": True}, FEELINGS | {"ball_state": 9, "target_position": 3}),
    "humanoid_CMU": (
        SuiteHumanoidCMU,
        {},
        {
            "joint_angles": 1,
            "head_height": 1,
            "extremities": 12,
            "torso_vertical": 3,
            "com_velocity": 3,
            "velocity": 7,
        },
    ),
}


@pytest.fixture(autouse=True)
def small_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dm_control_small.install(tmp_path, monkeypatch)


def begun(env: Any, count: int = MANY) -> tuple[SuiteState, dict[str, np.ndarray]]:
    """First states, and the parts of what is observed there."""
    states, timesteps = jax.jit(jax.vmap(lambda key: env.reset(key)))(jax.random.split(KEY, count))
    ends = np.cumsum([*env.observation_sizes.values()])[:-1]
    parts = np.split(np.asarray(timesteps.obs), ends, axis=1)
    return jax.tree.map(np.asarray, states), dict(zip(env.observation_sizes, parts, strict=True))


def touching(env: Any, qpos: Any) -> np.ndarray:
    return np.asarray(jax.jit(jax.vmap(ks.kernel(lambda q: any_contact(env.model, q))))(jnp.asarray(qpos)))


@pytest.mark.parametrize("case", CASES)
def test_sizes_are_the_suites(case: str) -> None:
    made, options, sizes = CASES[case]
    assert [*made(**options).observation_sizes.items()] == [*sizes.items()]


@pytest.mark.parametrize(
    "case", ["lqr_1_1", *(pytest.param(case, marks=pytest.mark.full("more cases")) for case in MORE)]
)
def test_the_contract_holds(case: str) -> None:
    made, options, _ = CASES[case]
    ks.check_env(made(**options), steps=20)


# ---- ball in cup


def test_a_ball_begins_anywhere_but_touches_nothing() -> None:
    env = SuiteBallInCup()
    states, parts = begun(env)
    cup, ball = np.split(states.physics.qpos, 2, axis=1)
    assert not cup.any()
    np.testing.assert_allclose(ball.min(axis=0), [-0.2, 0.2], atol=0.01)
    np.testing.assert_allclose(ball.max(axis=0), [0.2, 0.5], atol=0.01)
    assert (np.abs(ball[:, 0]) <= 0.2).all()
    assert ((ball[:, 1] >= 0.2) & (ball[:, 1] <= 0.5)).all()
    assert not touching(env, states.physics.qpos).any()
    inside = (np.abs(ball[:, 0]) < 0.02) & (ball[:, 1] > 0.34) & (ball[:, 1] < 0.4)
    assert inside.any(), "some begin in the cup"
    np.testing.assert_array_equal(parts["position"], states.physics.qpos)


@pytest.mark.parametrize(
    ("ball", "worth"),
    [
        ((0.0, 0.35), 1.0),
        ((0.029, 0.35), 1.0),
        ((-0.031, 0.35), 0.0),
        ((0.0, 0.331), 1.0),
        ((0.0, 0.371), 0.0),
        ((0.029, 0.369), 1.0),
    ],
)
def test_a_ball_counts_where_all_of_it_is_in_the_cup(ball: tuple[float, float], worth: float) -> None:
    env = SuiteBallInCup()
    for cup in ((0.0, 0.0), (0.3, -0.1)):
        moved = [cup[0], cup[1], ball[0] + cup[0], ball[1] + cup[1]]
        assert float(env.reward(seen(env, moved))) == worth


# ---- finger


def test_a_finger_begins_at_any_angles_that_touch_nothing() -> None:
    env = SuiteFinger(spinning=False, target_radius=0.05)
    states, parts = begun(env)
    angles, goal = states.physics.qpos, states.goal
    ends = np.array([np.radians(100), np.radians(90), np.pi])
    assert (np.abs(angles) <= ends + 1e-6).all()
    np.testing.assert_allclose(np.abs(angles).max(axis=0), ends, atol=0.05)
    anyhow = jax.jit(jax.vmap(lambda key: randomize_joints(env.model, key)))(jax.random.split(KEY, MANY))
    begun_touching, touches = touching(env, np.stack([angles, anyhow]).reshape(-1, 3)).reshape(2, MANY)
    assert not begun_touching.any()
    assert touches.any(), "of all angles some touch"
    assert not parts["touch"].any()
    assert (goal[:, 1] == 0.0).all()
    away = goal[:, [0, 2]] - [0.2, 0.4]
    np.testing.assert_allclose(np.hypot(*away.T), 0.12, atol=1e-6)
    assert np.histogram(np.arctan2(*away.T), 8, (-np.pi, np.pi))[0].min() > MANY / 16
    np.testing.assert_allclose(parts["target_position"], away, atol=1e-6)
    tip = parts["position"][:, 2:]
    np.testing.assert_allclose(tip, 0.12 * np.stack([-np.sin(angles[:, 2]), np.cos(angles[:, 2])], axis=1), atol=1e-6)
    far = np.hypot(*(away - tip).T) - 0.05
    np.testing.assert_allclose(parts["dist_to_target"][:, 0], far, atol=1e-6)


@pytest.mark.parametrize(("speed", "worth"), [(-15.0, 1.0), (-40.0, 1.0), (-14.99, 0.0), (15.0, 0.0)])
def test_a_spinner_should_turn_backwards(speed: float, worth: float) -> None:
    env = SuiteFinger()
    assert float(env.reward(seen(env, qvel=[-20.0, -20.0, speed]))) == worth


@pytest.mark.parametrize("radius", [0.03, 0.07, 1e6])
def test_a_tip_should_be_in_the_target(radius: float) -> None:
    env = SuiteFinger(spinning=False, target_radius=radius)
    for angle, share in ((0.0, 0.99), (1.0, 0.99), (1.0, 1.01), (-2.0, 1.5)):
        way = 2.0 * math.asin(min(1.0, share * radius / 0.24))  # of the tip along its circle
        x, z = 0.2 - 0.12 * math.sin(angle), 0.4 + 0.12 * math.cos(angle)
        look = seen(env, [0.0, 0.0, angle + way], goal=(x, 7.0, z))
        assert float(env.reward(look)) == float(share < 1.0 or radius > 0.24)


def test_a_fingers_marks_are_drawn() -> None:
    env, spinning = SuiteFinger(spinning=False, target_radius=0.05), SuiteFinger()
    marks = {geom.name: geom for geom in env.body3d().geoms if geom.name in ("target", "tip")}
    assert [marks[name].size[0] for name in ("target", "tip")] == [0.05, 0.025]
    qpos = jnp.array([0.0, 0.0, 0.7], jnp.float32)
    goal = jnp.array([0.3, 0.0, 0.5], jnp.float32)
    positions, quaternions = env.poses(SuiteState(at_rest(env.model, qpos, jnp.zeros(3)), goal, {}))
    assert positions.shape[0] == quaternions.shape[0] == env.model.nbody
    np.testing.assert_array_equal(positions[marks["target"].frame], goal)
    assert env.model.id("body", "spinner") == marks["tip"].frame + 1
    np.testing.assert_allclose(marks["tip"].position, [0.0, 0.0, 0.12])
    assert not {"target", "tip"} & {geom.name for geom in spinning.body3d().geoms}
    still = SuiteState(at_rest(spinning.model, qpos, jnp.zeros(3)), jnp.zeros(0), {})
    assert spinning.poses(still)[0].shape[0] == spinning.model.nbody - 1
    np.testing.assert_array_equal(env.model.body_mass, spinning.model.body_mass)
    assert (float(env.model.dof_damping[2]), float(spinning.model.dof_damping[2])) == (0.4, 0.03)
    numbers = [env.model.id("geom", name) for name in marks]
    assert not np.asarray([env.model.geom_contype, env.model.geom_conaffinity])[:, numbers].any()


# ---- lqr


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_springs_are_those_of_the_packages_seed(seed: int) -> None:
    draws = np.random.RandomState(seed)  # the package draws a stiffness and a damping of each mass in turn
    wanted = [(draws.uniform(15, 25), draws.uniform(0, 0)) for _ in range(6)]
    model = SuiteLqr(num_bodies=6, num_actuators=2, seed=seed).model
    np.testing.assert_array_equal(np.float64(model.jnt_stiffness), [stiffness for stiffness, _ in wanted])
    np.testing.assert_array_equal(model.dof_damping, 0.0)
    assert (model.nu, model.ntendon, len(np.unique(model.jnt_stiffness))) == (2, 5, 6)
    assert model.actuator_trnid[:, 0].tolist() == [0, 1]


def test_masses_begin_on_a_sphere_at_rest() -> None:
    states, parts = begun(SuiteLqr(num_bodies=3, num_actuators=3))
    np.testing.assert_allclose(np.linalg.norm(parts["position"], axis=1), math.sqrt(2.0), rtol=1e-6)
    assert len(np.unique(parts["position"] > 0.0, axis=0)) == 8
    assert np.abs(parts["position"].mean(axis=0)).max() < 0.2
    assert not parts["velocity"].any()
    ones = begun(SuiteLqr(num_bodies=1))[1]["position"]
    np.testing.assert_allclose(np.unique(ones), [-math.sqrt(2.0), math.sqrt(2.0)], rtol=1e-6)
    assert states.goal.size == 0


def test_rest_and_little_effort_are_worth_most() -> None:
    env = SuiteLqr(num_bodies=3, num_actuators=2)
    look = seen(env, [0.5, -1.0, 2.0], [9.0, 9.0, 9.0], control=(3.0, -4.0))
    np.testing.assert_allclose(env.reward(look), 1.0 - (0.5 * 5.25 + 0.05 * 25.0), rtol=1e-6)
    assert float(env.reward(seen(env, control=(0.0, 0.0)))) == 1.0


@pytest.mark.parametrize(
    ("qpos", "qvel", "push", "over"),
    [
        ((0.0, 0.0), (0.0, 0.0), 0.0, True),
        ((5e-7, -5e-7), (0.0, 4e-7), 0.0, True),
        ((0.0, 0.0), (0.0, 0.0), 1.0, False),
        ((8e-7, 8e-7), (0.0, 0.0), 0.0, False),
        ((0.0, 0.0), (0.0, 1e-5), 0.0, False),
        ((1.0, 1.0), (0.0, 0.0), 0.0, False),
    ],
)
def test_an_episode_ends_at_rest_and_only_then(
    qpos: tuple[float, float], qvel: tuple[float, float], push: float, over: bool
) -> None:
    env = SuiteLqr()
    physics = at_rest(env.model, jnp.array(qpos, jnp.float32), jnp.array(qvel, jnp.float32))
    state = SuiteState(physics, jnp.zeros(0), {})
    _, timestep = env.step(KEY, state, jnp.array([push], jnp.float32))
    assert bool(timestep.terminated) == over
    assert not timestep.truncated
    assert not timestep.info.diverged
    assert bool(env.is_over(seen(env, timestep.obs[:2], timestep.obs[2:]))) == over


def test_an_lqr_has_no_time_limit_but_one_of_its_own() -> None:
    assert (SuiteLqr().time_limit, SuiteLqr(time_limit=5).time_limit) == (None, 5)
    low, high = SuiteLqr().action_space.low, SuiteLqr().action_space.high
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
    assert not SuiteBallInCup().is_over(seen(SuiteBallInCup(), jnp.zeros(4)))


# ---- quadruped


def test_where_the_ball_should_come_to_is_drawn() -> None:
    drawn = {geom.name: geom for geom in SuiteQuadruped(fetching=True).body3d().geoms}
    assert (drawn["target"].frame, drawn["target"].size[0]) == (WORLD, 0.4)
    assert "target" not in {geom.name for geom in SuiteQuadruped().body3d().geoms}


@pytest.mark.parametrize("fetching", [False, pytest.param(True, marks=pytest.mark.full("more cases"))])
def test_a_robot_begins_just_above_the_ground(fetching: bool) -> None:
    env = SuiteQuadruped(fetching=fetching)
    begin = jax.jit(jax.vmap(ks.kernel(lambda key: env.begin(key))))(jax.random.split(KEY, MANY))
    qpos = np.asarray(begin.qpos)
    lower = qpos - np.eye(env.model.nq, dtype=np.float32)[2] * np.float32(0.0101)
    here, below = touching(env, np.concatenate([qpos, lower])).reshape(2, MANY)
    assert not here.any()
    assert below.all()
    heights = (qpos[:, 2] - HAIR) / LIFT
    np.testing.assert_allclose(heights, np.round(heights), atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(qpos[:, 3:7], axis=1), 1.0, rtol=1e-6)
    assert (qpos[:, 7] == np.float32(env.model.qpos0[7])).all()
    upright = 1.0 - 2.0 * (qpos[:, 4] ** 2 + qpos[:, 5] ** 2)
    if not fetching:
        assert not qpos[:, :2].any()
        assert begin.qvel is None
        assert np.histogram(upright, 8, (-1.0, 1.0))[0].min() > MANY / 16
        return
    np.testing.assert_array_equal(qpos[:, 4:6], 0.0)
    assert np.histogram(np.arctan2(qpos[:, 6], qpos[:, 3]), 8, (0.0, np.pi))[0].min() > MANY / 16
    for place in (qpos[:, :2], qpos[:, 8:10]):
        assert (np.abs(place) <= 3.6).all()
        np.testing.assert_allclose(np.abs(place).max(axis=0), 3.6, atol=0.1)
    assert (qpos[:, 10] == 2.0).all()
    np.testing.assert_array_equal(qpos[:, 11:], [[1.0, 0.0, 0.0, 0.0]] * MANY)
    thrown = np.asarray(begin.qvel)
    np.testing.assert_allclose(thrown[:, 7:9].std(axis=0), 5.0, atol=1.0)
    assert not np.delete(thrown, [7, 8], axis=1).any()


@pytest.mark.slow_because("a small robot is compiled")
def test_what_a_robot_feels_at_first_is_without_its_servos() -> None:
    env = SuiteQuadruped()
    states, parts = begun(env, 3)
    text, gone = dm_control_small.FILES["quadruped.xml"], '<geom name="terrain" type="box" size="4 4 .5"/>'
    materials = {"./common/materials.xml": dm_control_small.FILES["common/materials.xml"].encode()}
    theirs = mujoco.MjModel.from_xml_string(text.replace(gone, ""), materials)
    data = mujoco.MjData(theirs)
    for i in range(3):
        data.qpos[:8] = states.physics.qpos[i]
        found = []
        for disabled in (mujoco.mjtDisableBit.mjDSBL_ACTUATION, 0):
            theirs.opt.disableflags = int(disabled)
            mujoco.mj_forward(theirs, data)
            found.append([data.sensor(name).data.copy() for name in ("accelerometer", "gyro", "force", "torque")])
        (*imu, force, torque), (pushed, *_) = found
        np.testing.assert_allclose(parts["imu"][i], np.concatenate(imu), atol=1e-3)
        np.testing.assert_allclose(parts["force_torque"][i], np.arcsinh([*force, *torque]), atol=1e-3)
        assert np.abs(pushed - imu[0]).max() > 1.0, "its servos would push"


def test_a_mechanism_without_actuation_is_the_same_otherwise() -> None:
    model = SuiteQuadruped().model
    idle = model.without_actuation()
    assert (model.no_actuation, idle.no_actuation) == (False, True)
    assert {name for name in model.structure if not np.array_equal(model.structure[name], idle.structure[name])} == {
        "no_actuation"
    }
    assert idle.constants is model.constants


def test_what_other_tasks_have_is_removed() -> None:
    walk, run, fetch = SuiteQuadruped(), SuiteQuadruped(move_speed=5.0), SuiteQuadruped(fetching=True)
    names = {env: dict(env.model.names) for env in (walk, run, fetch)}
    more = {"ball", "target", "wall_px", "wall_py", "wall_nx", "wall_ny"}
    assert set(names[fetch]["geom"]) - set(names[walk]["geom"]) == more
    assert names[walk] == names[run]
    assert not any("terrain" in found["geom"] for found in names.values())
    assert all("rangefinder" not in env.model.structure["sensor_kind"] for env in names)
    sides = [float(env.model.geom_size[env.model.id("geom", "floor"), 0]) for env in (walk, run, fetch)]
    assert sides == [10.0, 100.0, 4.0]


@pytest.mark.parametrize(
    ("angle", "speed", "worth"),
    [
        (0.0, 0.5, 1.0),
        (0.0, 2.0, 1.0),
        (0.0, 0.25, 0.75),
        (0.0, 0.0, 0.5),
        (0.0, -0.5, 0.0),
        (math.pi / 2, 1.0, 0.5),
        (math.pi, 1.0, 0.0),
    ],
)
def test_a_robot_should_move_forward_upright(angle: float, speed: float, worth: float) -> None:
    env = SuiteQuadruped()
    turn = about(angle, 0)
    look = seen(env, [0.0, 0.0, 1.0, *turn, 0.0], [speed, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-6)
    np.testing.assert_allclose(env.observe(look)["torso_upright"], math.cos(angle), atol=1e-6)


@pytest.mark.parametrize(
    ("robot", "ball", "worth"),
    [
        ((-0.6, 0.0), (0.0, 0.0), 1.0),
        ((-0.6, 0.0), (0.3, 0.2), 1.0),
        ((2.0, 1.0), (2.6, 1.0), 0.5 + 0.5 * (1.0 - (math.hypot(2.6, 1.0) - 0.4) / (4.0 * math.sqrt(2.0)))),
        ((-2.6, 0.0), (0.0, 0.0), 1.0 - (2.0 - 0.45) / (4.0 * math.sqrt(2.0))),
    ],
)
def test_a_ball_should_be_brought_to_the_middle(
    robot: tuple[float, float], ball: tuple[float, float], worth: float
) -> None:
    env = SuiteQuadruped(fetching=True)
    look = seen(env, [*robot, 0.5, *about(0.0, 2), 0.0, *ball, 0.2, *about(1.0, 0)])
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-6)


def test_a_ball_is_seen_from_the_torso() -> None:
    env = SuiteQuadruped(fetching=True)
    speeds = [1.0, 2.0, 3.0, 0.0, 0.0, 9.0, 7.0, 2.0, 2.0, 2.0, 0.1, 0.2, 0.3]
    found = env.observe(seen(env, [1.0, 2.0, 0.5, *about(math.pi / 2, 2), 0.3, 1.0, 4.0, 1.5, *about(1.0, 0)], speeds))
    # Turned by a quarter to the left, it has the world's y before it and the world's -x at its left.
    np.testing.assert_allclose(found["ball_state"], [2.0, 0.0, 1.0, 0.0, -1.0, -1.0, 0.2, -0.1, 0.3], atol=1e-6)
    np.testing.assert_allclose(found["target_position"], [-2.0, 1.0, -0.5], atol=1e-6)
    np.testing.assert_allclose(found["torso_velocity"], [2.0, -1.0, 3.0], atol=1e-6)
    np.testing.assert_allclose(found["egocentric_state"], [0.3, 7.0, 0.0], atol=1e-6)


# ---- humanoid_CMU


@pytest.mark.parametrize(
    ("options", "angle", "speed", "worth"),
    [
        ({}, math.pi / 2, 0.0, 1.0 / 6.0),
        ({}, math.pi / 2, 1.0, 1.0),
        ({"move_speed": 10.0}, math.pi / 2, 5.0, (1.0 + 2.5) / 6.0),
        ({"move_speed": 0.0}, math.pi / 2, 0.0, 1.0),
        ({"move_speed": 0.0}, math.pi / 2, 2.0, 0.55),
        ({}, -math.pi / 2, 1.0, 0.0),
    ],
)
def test_a_person_of_motion_capture_stands_along_y(
    options: dict[str, Any], angle: float, speed: float, worth: float
) -> None:
    env = SuiteHumanoidCMU(**options)
    look = seen(env, [0.0, 0.0, 1.2, *about(angle, 0), 0.0], [speed, *[0.0] * 6])
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-5)
    found = env.observe(look)
    np.testing.assert_allclose(found["torso_vertical"], [0.0, math.sin(angle), 0.0], atol=1e-6)
    hands_and_feet = [[x, y, 0.05] for _, x, y in (dm_control_small.LIMBS[i] for i in (0, 2, 1, 3))]
    np.testing.assert_allclose(found["extremities"], np.ravel(hands_and_feet), atol=1e-6)


# ---- options that are wrong


@pytest.mark.parametrize(
    ("made", "name", "options"),
    [
        (SuiteLqr, "num_actuators", {"num_actuators": 3}),
        (SuiteLqr, "num_actuators", {"num_bodies": 1, "num_actuators": 2}),
        (SuiteLqr, "num_actuators", {"num_actuators": 0}),
        (SuiteLqr, "num_bodies", {"num_bodies": 0}),
        (SuiteLqr, "num_bodies", {"num_bodies": 51}),
        (SuiteLqr, "seed", {"seed": -1}),
        (SuiteLqr, "seed", {"seed": 2**32}),
        (SuiteLqr, "seed", {"seed": True}),
        (SuiteLqr, "time_limit", {"time_limit": 0}),
        (SuiteFinger, "target_radius", {"target_radius": 0.0}),
        (SuiteFinger, "target_radius", {"target_radius": math.inf}),
        (SuiteFinger, "target_radius", {"target_radius": jnp.ones(())}),
        (SuiteFinger, "spinning", {"spinning": 1}),
        (SuiteQuadruped, "move_speed", {"move_speed": 0.0}),
        (SuiteQuadruped, "move_speed", {"move_speed": math.nan}),
        (SuiteQuadruped, "fetching", {"fetching": "yes"}),
        (SuiteHumanoidCMU, "move_speed", {"move_speed": -1.0}),
        (SuiteBallInCup, "time_limit", {"time_limit": 1.5}),
    ],
)
def test_wrong_options_are_refused(made: type[Any], name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: got ") as caught:
        made(**options)
    assert "\n" not in str(caught.value)
