"""dm_control's acrobot, cartpole, cheetah, fish, humanoid, point_mass, swimmer and walker on small files of ours.

How episodes begin, what is observed, what is rewarded: by hand; of fish, humanoid and swimmer in
test_dm_control_swimmers.py. Steps are beside the package's own in test_dm_control_peers.py.
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
from dm_control_movers import FILES, KEYS, MANY, QUARTER, assert_uniform, begun, gaussian
from dm_control_small import seen

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.envs.dm_control.acrobot import SuiteAcrobot
from kousoku.envs.dm_control.cartpole import SuiteCartpole
from kousoku.envs.dm_control.cheetah import SuiteCheetah
from kousoku.envs.dm_control.fish import SuiteFish
from kousoku.envs.dm_control.humanoid import SuiteHumanoid
from kousoku.envs.dm_control.point_mass import SuitePointMass
from kousoku.envs.dm_control.suite import SuiteState, settled
from kousoku.envs.dm_control.swimmer import SuiteSwimmer
from kousoku.envs.dm_control.walker import SuiteWalker
from kousoku.envs.locomotion.robot import at_rest
from kousoku.physics import State

TASKS: dict[str, tuple[type[Any], float, dict[str, Any]]] = {
    "acrobot-swingup": (SuiteAcrobot, 0.01, {"sparse": False}),
    "acrobot-swingup_sparse": (SuiteAcrobot, 0.01, {"sparse": True}),
    "cartpole-balance": (SuiteCartpole, 0.01, {"swing_up": False, "sparse": False, "num_poles": 1}),
    "cartpole-balance_sparse": (SuiteCartpole, 0.01, {"swing_up": False, "sparse": True, "num_poles": 1}),
    "cartpole-swingup": (SuiteCartpole, 0.01, {"swing_up": True, "sparse": False, "num_poles": 1}),
    "cartpole-swingup_sparse": (SuiteCartpole, 0.01, {"swing_up": True, "sparse": True, "num_poles": 1}),
    "cartpole-two_poles": (SuiteCartpole, 0.01, {"swing_up": True, "sparse": False, "num_poles": 2}),
    "cartpole-three_poles": (SuiteCartpole, 0.01, {"swing_up": True, "sparse": False, "num_poles": 3}),
    "cheetah-run": (SuiteCheetah, 0.01, {"settling_steps": 200}),
    "fish-upright": (SuiteFish, 0.04, {"swimming": False}),
    "fish-swim": (SuiteFish, 0.04, {"swimming": True}),
    "humanoid-stand": (SuiteHumanoid, 0.025, {"move_speed": 0.0, "pure_state": False}),
    "humanoid-walk": (SuiteHumanoid, 0.025, {"move_speed": 1.0, "pure_state": False}),
    "humanoid-run": (SuiteHumanoid, 0.025, {"move_speed": 10.0, "pure_state": False}),
    "humanoid-run_pure_state": (SuiteHumanoid, 0.025, {"move_speed": 10.0, "pure_state": True}),
    "point_mass-easy": (SuitePointMass, 0.02, {"randomize_gains": False}),
    "point_mass-hard": (SuitePointMass, 0.02, {"randomize_gains": True}),
    "swimmer-swimmer6": (SuiteSwimmer, 0.03, {"num_links": 6}),
    "swimmer-swimmer15": (SuiteSwimmer, 0.03, {"num_links": 15}),
    "walker-stand": (SuiteWalker, 0.025, {"move_speed": 0.0}),
    "walker-walk": (SuiteWalker, 0.025, {"move_speed": 1.0}),
    "walker-run": (SuiteWalker, 0.025, {"move_speed": 8.0}),
}
"""Of each task its class, the seconds of a step, and its options."""
PERSON = ("joint_angles", "head_height", "extremities", "torso_vertical", "com_velocity", "velocity")
SIZES: list[tuple[type[Any], dict[str, Any], dict[str, int]]] = [
    (SuiteAcrobot, {}, {"orientations": 4, "velocity": 2}),
    (SuiteCartpole, {"num_poles": 3}, {"position": 7, "velocity": 4}),
    (SuiteCheetah, {}, {"position": 3, "velocity": 4}),
    (SuiteFish, {}, {"joint_angles": 7, "upright": 1, "target": 3, "velocity": 13}),
    (SuiteFish, {"swimming": False}, {"joint_angles": 7, "upright": 1, "velocity": 13}),
    (SuiteHumanoid, {}, dict(zip(PERSON, (1, 1, 12, 3, 3, 7), strict=True))),
    (SuiteHumanoid, {"pure_state": True}, {"position": 8, "velocity": 7}),
    (SuitePointMass, {}, {"position": 2, "velocity": 2}),
    (SuiteSwimmer, {"num_links": 3}, {"joints": 2, "to_target": 2, "body_velocities": 9}),
    (SuiteWalker, {}, {"orientations": 6, "height": 1, "velocity": 5}),
]
"""Of a task what is observed in the small file, in dm_control's order."""


@pytest.fixture(autouse=True)
def small_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dm_control_small.install(tmp_path, monkeypatch, FILES)


@pytest.mark.parametrize("task", TASKS)
def test_tasks_are_the_suites(task: str) -> None:
    made, seconds, options = TASKS[task]
    env = ks.make(f"dm_control/{task}-v0")
    assert type(env) is made
    assert {name: getattr(env, name) for name in options} == options
    assert (round(env.dt, 9), env.time_limit) == (seconds, 1000)


@pytest.mark.parametrize(("made", "options", "sizes"), SIZES)
def test_the_parts_of_an_observation_keep_their_order(
    made: type[Any], options: dict[str, Any], sizes: dict[str, int]
) -> None:
    assert [*made(**options).observation_sizes.items()] == [*sizes.items()]


# ---- acrobot


def test_the_links_of_an_acrobot_are_seen_from_upright() -> None:
    env = SuiteAcrobot()
    found = env.observe(seen(env, [0.3, 0.4], [5.0, 6.0]))
    wanted = [math.sin(0.3), math.sin(0.7), math.cos(0.3), math.cos(0.7)]
    np.testing.assert_allclose(found["orientations"], wanted, atol=1e-6)
    assert found["velocity"].tolist() == [5.0, 6.0]


@pytest.mark.parametrize("angles", [(0.0, 0.0), (0.05, 0.05), (0.3, -0.2), (0.9, 0.4), (math.pi, 0.0)])
def test_a_tip_should_be_at_the_target(angles: tuple[float, float]) -> None:
    first, second = angles[0], sum(angles)
    away = math.hypot(math.sin(first) + math.sin(second), 2.0 - math.cos(first) - math.cos(second))
    for sparse, outside in ((False, gaussian(away - 0.2)), (True, 0.0)):
        env = SuiteAcrobot(sparse=sparse)
        np.testing.assert_allclose(env.reward(seen(env, angles)), 1.0 if away <= 0.2 else outside, rtol=1e-4)


def test_an_acrobot_begins_at_any_angles() -> None:
    begin = begun(SuiteAcrobot())
    assert_uniform(begin.qpos, -math.pi, math.pi)
    assert begin.qvel is None


# ---- cartpole


def test_a_cart_and_the_directions_of_its_poles_are_seen() -> None:
    env = SuiteCartpole(num_poles=3)
    found = env.observe(seen(env, [0.7, 0.1, 0.2, 0.4], [1.0, 2.0, 3.0, 4.0]))
    turns = [part for angle in (0.1, 0.3, 0.7) for part in (math.cos(angle), math.sin(angle))]
    np.testing.assert_allclose(found["position"], [0.7, *turns], atol=1e-6)
    assert found["velocity"].tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("qpos", "qvel", "push", "worth"),
    [
        ((0.0, 0.0, 0.0), (9.0, 0.0, 0.0), 0.0, 1.0),
        ((0.0, math.pi, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0),
        ((0.0, QUARTER, QUARTER), (0.0, 0.0, 0.0), 0.0, 0.25),
        ((-1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, (1 + gaussian(0.5)) / 2),
        ((0.0, 0.0, 0.0), (0.0, 1.0, -2.5), 0.0, (1 + gaussian(0.5)) / 2),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.5, 0.95),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), -3.0, 0.8),
    ],
)
def test_poles_should_stand_in_the_middle_at_rest(
    qpos: tuple[float, ...], qvel: tuple[float, ...], push: float, worth: float
) -> None:
    env = SuiteCartpole(num_poles=2)
    np.testing.assert_allclose(env.reward(seen(env, qpos, qvel, control=(push,))), worth, atol=1e-6)


@pytest.mark.parametrize(
    ("qpos", "worth"),
    [
        ((0.24, 0.0, 0.0), 1.0),
        ((-0.24, 0.09, 0.0), 1.0),
        ((0.26, 0.0, 0.0), 0.0),
        ((-0.26, 0.0, 0.0), 0.0),
        ((0.0, 0.11, -0.11), 0.0),
        ((0.0, 0.0, 0.11), 0.0),
    ],
)
def test_a_sparse_reward_is_that_of_all_poles_upright(qpos: tuple[float, ...], worth: float) -> None:
    env = SuiteCartpole(num_poles=2, sparse=True)
    assert float(env.reward(seen(env, qpos, [9.0, 9.0, 9.0], control=(1.0,)))) == worth


def test_poles_begin_near_upright_or_hanging() -> None:
    near = begun(SuiteCartpole(swing_up=False, num_poles=2))
    assert_uniform(near.qpos, [-0.1, -0.034, -0.034], [0.1, 0.034, 0.034])
    hanging = begun(SuiteCartpole(num_poles=3))
    np.testing.assert_allclose(hanging.qpos.mean(axis=0), [0.0, math.pi, 0.0, 0.0], atol=0.02)
    np.testing.assert_allclose(hanging.qpos.std(axis=0), [0.01, 0.01, 0.1, 0.1], rtol=0.15)
    for begin in (near, hanging):
        np.testing.assert_allclose(begin.qvel.std(axis=0), 0.01, rtol=0.15)
        np.testing.assert_allclose(begin.qvel.mean(axis=0), 0.0, atol=0.002)
        assert np.abs(np.corrcoef(np.hstack([begin.qpos, begin.qvel]).T) - np.eye(begin.qpos.shape[1] * 2)).max() < 0.25


def test_a_pole_stands_on_the_one_before_and_the_floor_is_below_all() -> None:
    for poles, floor in ((1, -0.05), (2, -1.05), (3, -2.05)):
        model = SuiteCartpole(num_poles=poles).model
        assert model.body_pos[2:].tolist() == [[0.0, 0.0, float(i > 0)] for i in range(poles)]
        assert model.body_parentid.tolist() == [0, 0, *range(1, poles + 1)]
        np.testing.assert_allclose(model.geom_pos[model.id("geom", "floor")], [0.0, 0.0, floor])
        sizes = model.geom_size[[model.id("geom", f"pole_{i + 1}") for i in range(poles)]]
        np.testing.assert_allclose(sizes[:, :2], [[0.045, 0.5]] * poles)


# ---- cheetah


@pytest.mark.parametrize(
    ("speed", "swing", "worth"), [(3.0, 0.0, 0.3), (9.0, 5.0, 0.85), (12.0, 0.0, 1.0), (-2.0, 0.0, 0.0)]
)
def test_a_cheetah_should_run(speed: float, swing: float, worth: float) -> None:
    """Its leg, a quarter of all, swings 0.4 m below its hip: backwards by a tenth of its angle's speed."""
    env = SuiteCheetah()
    look = seen(env, [7.0, 0.2, 0.0, 0.0], [speed, 1.0, 0.0, swing])
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-5)
    found = env.observe(look)
    np.testing.assert_allclose(found["position"], [0.2, 0.0, 0.0], atol=1e-6)
    assert found["velocity"].tolist() == [speed, 1.0, 0.0, swing]


def test_a_cheetahs_legs_are_bent_anyhow_and_its_trunk_is_level() -> None:
    begin = begun(SuiteCheetah())
    assert not begin.qpos[:, :3].any()
    assert_uniform(begin.qpos[:, 3:], math.radians(-30), math.radians(60))
    assert begin.qvel is None


def test_a_cheetah_settles_as_mujocos_does() -> None:
    """MuJoCo's first step has the accelerations of the file's posture, where positions are set and nothing follows."""
    env, theirs = SuiteCheetah(), mujoco.MjModel.from_xml_string(FILES["cheetah.xml"])
    data, begin = mujoco.MjData(theirs), np.array([0.0, 0.0, 0.0, 0.9])
    mujoco.mj_forward(theirs, data)
    data.qpos[:] = begin
    mujoco.mj_step2(theirs, data)
    for _ in range(5):
        mujoco.mj_step1(theirs, data)
        mujoco.mj_step2(theirs, data)
    with jax.enable_x64(True):
        zeros = jnp.zeros(4)
        start = State(jnp.asarray(begin), zeros, jnp.zeros(0), zeros)
        found = jax.jit(lambda state: settled(env.model, state, 6))(start)
    np.testing.assert_allclose(found.qpos, data.qpos, atol=1e-9)
    np.testing.assert_allclose(found.qvel, data.qvel, atol=1e-9)


# ---- point mass


@pytest.mark.parametrize(
    ("place", "pushes", "worth"),
    [
        ((0.0, 0.0), (0.0, 0.0), 1.0),
        ((0.009, -0.012), (0.0, 0.0), 1.0),
        ((0.0135, -0.018), (0.0, 0.0), gaussian(0.5)),
        ((0.03, 0.0), (0.0, 0.0), 0.1),
        ((0.0, 0.0), (1.0, 0.0), 0.9),
        ((0.0, 0.0), (0.5, -0.5), 0.95),
    ],
)
def test_a_ball_should_be_in_the_middle_at_little_effort(
    place: tuple[float, float], pushes: tuple[float, float], worth: float
) -> None:
    env = SuitePointMass()
    look = seen(env, place, [3.0, 4.0], control=pushes)
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-5)
    found = env.observe(look)
    np.testing.assert_allclose(found["position"], place, rtol=1e-6)
    assert found["velocity"].tolist() == [3.0, 4.0]


def test_only_the_hard_task_draws_its_pulls() -> None:
    easy, hard = begun(SuitePointMass()), begun(SuitePointMass(randomize_gains=True))
    for begin in (easy, hard):
        assert_uniform(begin.qpos, -0.25, 0.28)
        assert begin.qvel is None
    assert easy.numbers == {}
    assert set(hard.numbers) == {"wrap_prm"}
    pulls = hard.numbers["wrap_prm"].reshape(MANY, 2, 2)
    np.testing.assert_allclose(np.linalg.norm(pulls, axis=2), 1.0, rtol=1e-5)
    first, second = np.arctan2(pulls[..., 1], pulls[..., 0]).T
    assert_uniform(first[:, None], -math.pi, math.pi)
    assert_uniform(second[:, None], -math.pi, math.pi)
    between = (second - first) % (2.0 * math.pi)
    least = math.acos(0.9)
    left = between < math.pi
    assert 0.4 < left.mean() < 0.6
    assert (np.abs(np.cos(between)) <= 0.9 + 1e-6).all()
    assert_uniform((between % math.pi)[:, None], least, math.pi - least)


def test_a_ball_is_pulled_where_its_episode_has_it() -> None:
    env = SuitePointMass(randomize_gains=True)
    pulls = jnp.array([0.6, 0.8, -0.8, 0.6], jnp.float32)
    state = SuiteState(at_rest(env.model, jnp.zeros(2), jnp.zeros(2)), jnp.zeros(0), {"wrap_prm": pulls})
    moved = [env.step(KEYS[0], state, jnp.array(push))[0].physics.qvel for push in ([1.0, 0.0], [0.0, -1.0])]
    push = 0.02 * 0.1 / 0.3  # a time step of gear / mass
    np.testing.assert_allclose(moved, [[0.6 * push, 0.8 * push], [0.8 * push, -0.6 * push]], rtol=1e-4)


# ---- walker


def test_a_walker_sees_how_its_bodies_are_turned() -> None:
    env = SuiteWalker()
    found = env.observe(seen(env, [-0.1, 5.0, 0.3, 0.4, -0.2], [1.0, 2.0, 3.0, 4.0, 5.0]))
    turns = [part for angle in (0.3, 0.7, 0.1) for part in (math.cos(angle), math.sin(angle))]
    np.testing.assert_allclose(found["orientations"], turns, atol=1e-6)
    np.testing.assert_allclose(found["height"], 1.2, rtol=1e-6)
    assert found["velocity"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("wanted", "height", "angle", "speed", "worth"),
    [
        (0.0, 1.2, 0.0, 0.0, 1.0),
        (0.0, 1.4, QUARTER, 5.0, 3.5 / 4.0),
        (0.0, 0.6, 0.0, 0.0, 1.3 / 4.0),
        (0.0, 0.9, math.pi, 0.0, 3.0 * gaussian(0.5) / 4.0),
        (1.0, 1.3, 0.0, 1.0, 1.0),
        (1.0, 1.3, 0.0, 0.75, (1.0 + 5.0 * 0.75) / 6.0),
        (8.0, 1.3, 0.0, 4.0, 3.5 / 6.0),
        (8.0, 1.3, math.pi, 0.0, 0.75 / 6.0),
        (1.0, 1.3, 0.0, -1.0, 1.0 / 6.0),
    ],
)
def test_a_walker_should_stand_and_go(wanted: float, height: float, angle: float, speed: float, worth: float) -> None:
    env = SuiteWalker(move_speed=wanted)
    look = seen(env, [height - 1.3, 0.0, angle, 0.0, 0.0], [0.0, speed, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(env.reward(look), worth, atol=1e-5)


def test_a_walker_begins_in_any_posture() -> None:
    begin = begun(SuiteWalker())
    assert not begin.qpos[:, :2].any()
    assert_uniform(begin.qpos[:, 2:3], -math.pi, math.pi)
    assert_uniform(begin.qpos[:, 3:], math.radians(-20), math.radians(100))
    assert begin.qvel is None


# ---- options that are wrong


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (SuiteHumanoid, {"move_speed": -1.0}),
        (SuiteHumanoid, {"pure_state": "yes"}),
        (SuiteFish, {"swimming": 1}),
        (SuiteAcrobot, {"sparse": 0}),
        (SuiteCartpole, {"num_poles": 11}),
        (SuiteSwimmer, {"num_links": 51}),
        (SuitePointMass, {"randomize_gains": None}),
        (SuiteCheetah, {"time_limit": 0}),
    ],
)
def test_wrong_options_are_refused(made: type[Any], options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=f"^{name}: got "):
        made(**options)
