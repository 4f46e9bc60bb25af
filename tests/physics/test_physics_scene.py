"""What mechanisms look like, and what touches what, beside C MuJoCo."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import compiled
from physics_states import silent

from kousoku.core.scene3d import WORLD
from kousoku.physics import Forward, forward, initial_state, load
from kousoku.physics.algebra.scalar import ZERO, nums
from kousoku.physics.constraint import constraints
from kousoku.physics.constraint.solver import Solution
from kousoku.physics.scene import body3d, compiled_body3d, contacts3d, joint_values, poses
from kousoku.physics.stages.smooth import smooth

SEEN = """
<mujoco>
  <asset><material name="leaf" rgba="0 1 0 1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" rgba=".8 .9 .8 1"/>
    <geom name="wall" type="box" size=".1 .2 .3" pos="1 2 3" quat="0 1 0 0" material="leaf" contype="0"
      conaffinity="0"/>
    <body name="a" pos="0 0 1"><freejoint name="root"/>
      <geom name="ball" size=".1" rgba="1 0 0 .5"/>
      <geom name="hidden" size=".2" group="3"/>
      <geom name="glass" size=".2" rgba="1 1 1 0"/>
      <body pos=".3 0 0"><joint name="hinge" axis="0 1 0" armature=".01"/><joint type="slide"/>
        <joint name="three" type="ball"/>
        <geom name="rod" type="capsule" size=".05 .2" pos="0 0 .1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def positions(model: mujoco.MjModel, seed: int = 0) -> np.ndarray:
    """Some joint positions, with quaternions of length one."""
    rng = np.random.default_rng(seed)
    qpos = model.qpos0.copy()
    velocity = rng.normal(size=model.nv)
    mujoco.mj_integratePos(model, qpos, velocity, 0.5)
    return qpos


def test_geoms_that_mujoco_shows_in_their_colours():
    body = body3d(load(SEEN), "seen")
    assert body.name == "seen"
    assert [geom.name for geom in body.geoms] == ["floor", "wall", "ball", "rod"]
    floor, wall, ball, rod = body.geoms
    assert (floor.kind, floor.size[:2], floor.frame) == ("plane", (0.0, 0.0), WORLD)
    assert (wall.kind, wall.color, wall.position) == ("box", (0.0, 1.0, 0.0, 1.0), (1.0, 2.0, 3.0))
    assert wall.quaternion == (0.0, 1.0, 0.0, 0.0)
    assert (ball.kind, ball.frame, ball.color) == ("sphere", 0, (1.0, 0.0, 0.0, 0.5))
    assert (rod.kind, rod.frame, rod.size[:2], rod.position) == ("capsule", 1, (0.05, 0.2), (0.0, 0.0, 0.1))


@pytest.mark.parametrize("name", ["ant", "half_cheetah", "humanoid", "reacher", "swimmer"])
def test_every_shown_geom_is_where_mujoco_has_it(name):
    with silent():
        theirs = compiled(name)
    data, ours = mujoco.MjData(theirs), load(theirs)
    data.qpos[:] = positions(theirs)
    mujoco.mj_kinematics(theirs, data)
    place, turn = poses(ours, data.qpos.astype(np.float32))
    np.testing.assert_allclose(place, data.xpos[1:], atol=2e-6)
    same = np.abs((np.asarray(turn) * data.xquat[1:]).sum(axis=1))
    np.testing.assert_allclose(same, 1.0, atol=2e-6)
    shown = [g for g in range(theirs.ngeom) if theirs.geom_group[g] < 3 and theirs.geom_rgba[g, 3] > 0]
    assert [geom.name for geom in body3d(ours).geoms] == [theirs.geom(g).name for g in shown]


def test_a_robot_that_shows_only_meshes_is_drawn_by_what_it_is_touched_by():
    """Its meshes are in group 2, capsules in group 3: where a capsule is in group 2, it alone is shown."""
    corners = "0 0 0  1 0 0  0 1 0  0 0 1"
    text = f"""<mujoco><asset><mesh name="m" vertex="{corners}"/></asset><worldbody><geom type="plane" size="1 1 1"/>
        <body><freejoint/><geom type="mesh" mesh="m" contype="0" conaffinity="0" group="2"/>
        <geom name="felt" type="capsule" size=".1 .2" group="3"/><geom name="other" size=".1" group="4"/></body>
        </worldbody></mujoco>"""
    for own, shown in ((text, ["felt", "other"]), (text.replace('group="3"', 'group="2"'), ["felt"])):
        theirs = mujoco.MjModel.from_xml_string(own)
        drawn = body3d(load(own))
        assert [geom.name for geom in drawn.geoms] == ["", *shown]
        assert drawn == compiled_body3d(theirs)


def test_what_joints_move_is_known_without_a_pose():
    """Frames 0 and 3 are fixed to the world; 2 is fixed to 1, which turns; 4, on a fixed one, slides."""
    text = """<mujoco><worldbody>
        <body><geom size=".1"/></body>
        <body><joint/><geom size=".1"/><body><geom size=".1"/></body></body>
        <body><geom size=".1"/><body><joint type="slide"/><geom size=".1"/></body></body>
        </worldbody></mujoco>"""
    assert body3d(load(text)).jointed == compiled_body3d(mujoco.MjModel.from_xml_string(text)).jointed == (1, 2, 4)


def test_a_robot_bolted_to_the_world_has_no_frames():
    model = load("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    place, turn = poses(model, jnp.zeros((0,), jnp.float32))
    assert (place.shape, turn.shape) == ((0, 3), (0, 4))


def test_joints_by_name():
    model = load(SEEN)
    found = joint_values(model, jnp.arange(13, dtype=jnp.float32))
    assert {name: float(value) for name, value in found.items()} == {
        "root x": 0.0, "root y": 1.0, "root z": 2.0, "hinge": 7.0, "joint 2": 8.0,
    }  # fmt: skip


def test_poses_are_traced():
    model = load(SEEN)
    qpos = np.asarray(model.qpos0, np.float32) + np.float32(0.1)
    traced = jax.jit(lambda qpos: poses(model, qpos))(jnp.asarray(qpos))
    for one, other in zip(traced, poses(model, qpos), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


CONTACTS = """
<mujoco>
  <option timestep="0.005" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body pos="0 0 .3"><freejoint/><geom name="rod" type="capsule" size=".1 .3" euler="0 80 0"/></body>
    <body pos=".1 .05 .55"><freejoint/><geom name="ball" size=".15"/></body>
  </worldbody>
</mujoco>
"""


def test_contact_points_and_forces_are_mujoco_s():
    """The forces along the contacts' axes are given; what is tested is what is made of them."""
    theirs = mujoco.MjModel.from_xml_string(CONTACTS)
    data = mujoco.MjData(theirs)
    while data.time < 0.4:
        mujoco.mj_step(theirs, data)
    mujoco.mj_forward(theirs, data)
    pushes = [np.zeros(6) for _ in data.contact]
    for i, push in enumerate(pushes):
        mujoco.mj_contactForce(theirs, data, i, push)
    expected = [(*c.pos, *(c.frame.reshape(3, 3).T @ push[:3])) for c, push in zip(data.contact, pushes, strict=True)]
    assert len(expected) >= 2
    assert max(abs(row[5]) for row in expected) > 1.0

    model = load(theirs)
    s = smooth(model, *(nums(np.asarray(x)) for x in (data.qpos, data.qvel, data.act, data.ctrl)))
    found = constraints(model, s, nums(data.qpos), nums(data.qvel))
    points = np.array([[float(x.value) for x in c.source.point.pos] for c in found])
    forces = [[ZERO] * 3 for _ in found]
    for contact, push in zip(data.contact, pushes, strict=True):
        forces[np.linalg.norm(points - contact.pos, axis=1).argmin()] = nums(push[:3])
    solution = Solution([], [], forces, jnp.int32(0))
    still = initial_state(model, jnp.float32)
    f = Forward(model=model, state=still, smooth=s, constraints=found, contact_list=None, solution=solution)
    shown = np.concatenate(contacts3d(f), axis=1)
    there = np.isfinite(shown)
    assert there.all(axis=1).sum() == len(expected)
    assert (there.all(axis=1) == there.any(axis=1)).all()
    np.testing.assert_allclose(sorted(shown[there[:, 0]].tolist()), sorted(expected), rtol=1e-4, atol=1e-4)


def test_nothing_can_touch():
    model = load("<mujoco><worldbody><body><joint type='slide'/><geom size='1'/></body></worldbody></mujoco>")
    state = initial_state(model, jnp.float32)
    points, forces = contacts3d(forward(model, state, jnp.zeros((0,), jnp.float32)))
    assert points.shape == forces.shape == (0, 3)
