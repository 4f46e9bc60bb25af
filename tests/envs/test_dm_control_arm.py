"""dm_control's planar arm on small files of ours: how episodes begin, what is observed, what is rewarded.

Steps are beside the package's own in test_dm_control_peers.py.
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

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.envs.dm_control import SuiteState
from kousoku.envs.dm_control.arm import JOINTS
from kousoku.envs.dm_control.manipulator import SuiteManipulator
from kousoku.envs.dm_control.stacker import SuiteStacker
from kousoku.envs.dm_control.suite import Look
from kousoku.envs.locomotion.robot import at_rest
from kousoku.envs.locomotion.world import Still, World
from kousoku.physics import any_contact

TASKS = {
    "bring_ball": (SuiteManipulator, {}),
    "bring_peg": (SuiteManipulator, {"use_peg": True}),
    "insert_ball": (SuiteManipulator, {"insert": True}),
    "insert_peg": (SuiteManipulator, {"use_peg": True, "insert": True}),
    "stack_2": (SuiteStacker, {}),
    "stack_4": (SuiteStacker, {"num_boxes": 4}),
}
MORE = ("insert_peg", "stack_2")
MANY = 400


@pytest.fixture(autouse=True)
def small_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dm_control_small.install(tmp_path, monkeypatch)


def begun(env: Any, count: int) -> tuple[SuiteState, np.ndarray]:
    states, timesteps = jax.jit(jax.vmap(lambda key: env.reset(key)))(jax.random.split(jax.random.key(0), count))
    return jax.tree.map(np.asarray, states), np.asarray(timesteps.obs)


def at(env: Any, joints: dict[str, float], bodies: dict[str, tuple[float, float, float]]) -> Look:
    """The world with joints and bodies where they are said to be: bodies at x and z, turned by an angle."""
    qpos = jnp.asarray(env.model.qpos0, jnp.float32)
    for joint, value in joints.items():
        qpos = qpos.at[env.model.jnt_qposadr[env.model.id("joint", joint)]].set(value)
    numbers: dict[str, Any] = {"body_pos": {}, "body_quat": {}}
    for body, (x, z, angle) in bodies.items():
        number = env.model.id("body", body)
        numbers["body_pos"][number] = jnp.array([x, 0.001, z])
        numbers["body_quat"][number] = jnp.array([math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0])
    model = env.model.with_numbers(**numbers)
    physics = at_rest(model, qpos, jnp.zeros(model.nv))
    return Look(
        World(model, Still(model, physics), jnp.float32), physics, jnp.zeros(model.nu), jnp.zeros(5), jnp.zeros(0)
    )


@pytest.mark.by_default("bring_peg", "insert_ball", "stack_2")
@pytest.mark.parametrize("task", TASKS)
def test_sizes_are_the_suites(task: str) -> None:
    made, options = TASKS[task]
    sizes = made(**options).observation_sizes
    own = {"arm_pos": 16, "arm_vel": 8, "touch": 5, "hand_pos": 4}
    boxes = options.get("num_boxes", 2)
    rest = (
        {"box_pos": 4 * boxes, "box_vel": 3 * boxes, "target_pos": 2}
        if made is SuiteStacker
        else {"object_pos": 4, "object_vel": 3, "target_pos": 4}
    )
    assert list(sizes.items()) == [*own.items(), *rest.items()]


@pytest.mark.slow_because("resets draw until nothing touches")
@pytest.mark.parametrize(
    "task", ["insert_ball", *(pytest.param(t, marks=pytest.mark.full("more cases")) for t in MORE)]
)
def test_episodes_begin_as_the_suites(task: str) -> None:
    made, options = TASKS[task]
    env = made(**options)
    states, obs = begun(env, MANY)
    model = env.model
    address = {name: int(model.jnt_qposadr[i]) for i, name in enumerate(dict(model.names)["joint"])}
    arm = states.physics.qpos[:, [address[joint] for joint in JOINTS]]
    low, high = np.where(model.jnt_limited[:8, None], model.jnt_range[:8], [-np.pi, np.pi]).T
    order = [dict(model.names)["joint"].index(joint) for joint in JOINTS]
    assert (arm >= low[order] - 1e-6).all()
    assert (arm <= high[order] + 1e-6).all()
    np.testing.assert_array_equal(arm[:, JOINTS.index("finger")], arm[:, JOINTS.index("thumb")])
    np.testing.assert_allclose(obs[:, :16].reshape(-1, 8, 2), np.stack([np.sin(arm), np.cos(arm)], axis=2), atol=1e-6)
    touches = ks.kernel(lambda s: any_contact(model.with_numbers(**s.numbers), s.physics.qpos))
    touching = jax.jit(jax.vmap(touches))(states)
    assert not touching.any()
    assert not obs[:, 24:29].any()
    if options.get("insert"):  # the way in is turned by 60 degrees at most
        turn = 2.0 * np.arctan2(obs[:, 43], obs[:, 42])
        assert (np.abs(turn) <= np.pi / 3.0 + 1e-6).all()
        assert np.histogram(turn, 4, (-np.pi / 3.0, np.pi / 3.0))[0].min() > MANY / 8


def test_an_object_begins_anywhere_or_in_the_hand_or_at_the_target() -> None:
    env = SuiteManipulator()
    states, obs = begun(env, MANY)
    grasp = ks.kernel(lambda physics: World(env.model, Still(env.model, physics), jnp.float32).site_xpos("grasp"))
    hand = np.asarray(jax.jit(jax.vmap(grasp))(states.physics))[:, [0, 2]]
    thing, target = obs[:, 33:35], obs[:, 40:42]
    in_hand, at_target = (np.abs(thing - there).max(axis=1) < 1e-5 for there in (hand, target))
    assert 0.0 < in_hand.mean() < 0.2
    assert 0.05 < at_target.mean() < 0.3
    elsewhere = ~in_hand & ~at_target
    speed = obs[:, 37]
    assert np.ptp(speed[elsewhere]) > 9.0
    assert (np.abs(speed) <= 5.0).all()
    assert (obs[:, 38:40] == 0.0).all()
    assert (np.abs(target[:, 0]) <= 0.4).all()
    assert ((target[:, 1] >= 0.1) & (target[:, 1] <= 0.4)).all()
    turn = 2.0 * np.arctan2(obs[:, 43], obs[:, 42])
    assert np.histogram(turn, 8, (-np.pi, np.pi))[0].min() > MANY / 16


def test_targets_of_a_stack_are_where_boxes_would_be() -> None:
    _, obs = begun(SuiteStacker(num_boxes=4), MANY)
    x, z = obs[:, -2:].T
    levels, counts = np.unique(np.round(z / 0.02, 4), return_counts=True)
    assert levels.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert counts.min() > MANY / 8
    assert 0.3 < np.abs(x).max() <= 0.37


def test_places_are_mujocos() -> None:
    """Of hand, ball and target, turned by more than half a turn, too."""
    env = SuiteManipulator(insert=True)
    joints = {"arm_root": 2.9, "arm_shoulder": 1.7, "arm_elbow": -0.4, "arm_wrist": 1.1, "ball_y": 4.0, "ball_x": 0.1}
    look = at(env, joints, {"target_ball": (0.2, 0.3, 2.5), "cup": (0.2, 0.3, 2.5)})
    seen = env.observe(look)
    root = dm_control_small.FILES["manipulator.xml"]
    theirs = mujoco.MjModel.from_xml_string(
        root, {"./common/materials.xml": dm_control_small.FILES["common/materials.xml"].encode()}
    )
    data = mujoco.MjData(theirs)
    for joint, value in joints.items():
        data.joint(joint).qpos[0] = value
    theirs.body("target_ball").pos[[0, 2]] = 0.2, 0.3
    theirs.body("target_ball").quat[:] = math.cos(1.25), 0.0, math.sin(1.25), 0.0
    mujoco.mj_kinematics(theirs, data)
    for part, body in (("hand_pos", "hand"), ("object_pos", "ball"), ("target_pos", "target_ball")):
        wanted = [*data.body(body).xpos[[0, 2]], *data.body(body).xquat[[0, 2]]]
        np.testing.assert_allclose(seen[part], wanted, atol=2e-6)


def test_a_ball_is_worth_what_it_is_near_the_target() -> None:
    env = SuiteManipulator()
    near = [
        float(env.reward(at(env, {"ball_x": 0.2 + d, "ball_z": 0.3}, {"target_ball": (0.2, 0.3, 0.0)})))
        for d in (0.0, 0.009, 0.03, 0.2)
    ]
    np.testing.assert_allclose(near, [1.0, 1.0, 0.1, 0.0], atol=5e-3)


def test_a_peg_is_worth_something_in_the_hand_and_more_at_the_target() -> None:
    env = SuiteManipulator(use_peg=True)
    target = {"target_peg": (-0.35, 0.12, 1.0)}
    straight = dict.fromkeys(JOINTS, 0.0)
    hand = at(env, straight, target).world.site_xpos("grasp")
    held = {"peg_x": float(hand[0]), "peg_z": float(hand[2]), "peg_y": math.pi}
    lies = {"peg_x": -0.35, "peg_z": 0.12, "peg_y": 1.0}
    worth = [float(env.reward(at(env, {**straight, **joints}, target))) for joints in (held, lies, {"peg_x": 0.4})]
    np.testing.assert_allclose(worth, [1.0 / 3.0, 1.0, 0.0], atol=2e-2)


def test_a_stack_is_worth_nothing_in_the_hand() -> None:
    env = SuiteStacker()
    hand = at(env, {}, {"target": (0.0, 0.02, 0.0)}).world.site_xpos("grasp")
    there = {"box1_x": float(hand[0]), "box1_z": float(hand[2])}
    worth = [
        env.reward(at(env, there, {"target": (there["box1_x"], there["box1_z"], 0.0)})),
        env.reward(at(env, {"box1_x": 0.3, "box1_z": 0.02}, {"target": (0.3, 0.02, 0.0)})),
        env.reward(at(env, {"box1_x": 0.34, "box1_z": 0.02}, {"target": (0.3, 0.02, 0.0)})),
    ]
    np.testing.assert_allclose(worth, [0.0, 1.0, 0.1], atol=2e-2)


@pytest.mark.parametrize(
    ("made", "options"),
    [(SuiteStacker, {"num_boxes": 5}), (SuiteStacker, {"num_boxes": 0}), (SuiteManipulator, {"use_peg": 1})],
)
def test_options_that_no_task_has(made: type[Any], options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=name):
        made(**options)
