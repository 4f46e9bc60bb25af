"""Sensors against C MuJoCo, from the same states, in float64.

Most are evaluated from C's own accelerations and external forces, in known floats, so that nothing is compiled and
nothing but the sensors is compared; whole steps of a robot's sensors go through the kernel.
"""

from __future__ import annotations

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_mjcf import mjcf
from physics_models_smooth import CREATURE
from physics_states import Oracle, State, stack, states

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.ops.trees import with_fields
from kousoku.physics import Forward, forward, initial_state, load, sensors, step
from kousoku.physics import State as Ours
from kousoku.physics.algebra.scalar import ZERO, Num, nums
from kousoku.physics.algebra.vector import vec
from kousoku.physics.collision.geom import GeomType
from kousoku.physics.collision.ray import FAR, RAY_INTERVALS, ray_distance, ray_hits
from kousoku.physics.constraint import constraints
from kousoku.physics.constraint.contact import Contact
from kousoku.physics.constraint.friction_limit import Limit
from kousoku.physics.constraint.jacobian import Constraint
from kousoku.physics.constraint.solver import Solution
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.sensors import readings
from kousoku.physics.sensors.rne_postconstraint import cfrc_ext, rne_postconstraint
from kousoku.physics.stages.smooth import smooth

EXACT = 1e-10
FRAMES = [("body", "hand"), ("xbody", "shin"), ("geom", "head"), ("site", "foot")]
SMALL = f"""{CREATURE.replace('<geom type="ellipsoid"', '<geom name="head" type="ellipsoid"')}
  <body name="other" pos="2 0 1"><joint name="rail" type="slide" axis="1 0 1" range="-.1 .1" limited="true"/>
    <joint name="turn" axis="0 1 0"/><geom size=".1 .1" type="capsule"/><site name="other" pos=".1 .2 .3"/></body>
  <body name="plate" pos="5 0 0"><geom size=".1"/><site name="plate"/></body><site name="world" pos="1 2 3"/>"""


def _all_sensors() -> str:
    lines = []
    for kind in ("pos", "quat", "xaxis", "yaxis", "zaxis", "linvel", "angvel", "linacc", "angacc"):
        for i, (shape, name) in enumerate(FRAMES):
            lines.append(f'<frame{kind} objtype="{shape}" objname="{name}"/>')
            if "acc" not in kind:
                for other, its in (FRAMES[(i + 1) % 4], ("site", "other"), ("site", "world")):
                    lines.append(f'<frame{kind} objtype="{shape}" objname="{name}" reftype="{other}" refname="{its}"/>')
    for kind in ("accelerometer", "gyro", "velocimeter", "magnetometer", "force", "torque"):
        lines += [f'<{kind} site="{site}"/>' for site in ("base", "foot", "other", "plate", "world")]
    for kind in ("subtreecom", "subtreelinvel", "subtreeangmom"):
        lines += [f'<{kind} body="{body}"/>' for body in ("base", "arm", "leg", "hand", "other", "world", "plate")]
    for kind in ("jointpos", "jointvel", "jointactuatorfrc"):
        lines += [f'<{kind} joint="{joint}"/>' for joint in ("swing", "reach", "knee", "turn")]
    for kind in ("tendonpos", "tendonvel", "tendonactuatorfrc"):
        lines += [f'<{kind} tendon="{name}"/>' for name in ("short", "long")]
    for kind in ("actuatorpos", "actuatorvel", "actuatorfrc"):
        lines += [f'<{kind} actuator="{name}"/>' for name in ("motor", "servo", "rope", "gas")]
    lines += ['<ballquat joint="head"/>', '<ballangvel joint="head"/>', "<e_potential/>", "<e_kinetic/>"]
    lines += ['<accelerometer site="foot" cutoff="3"/>', '<framepos objtype="site" objname="foot" cutoff=".2"/>']
    lines += ['<jointvel joint="knee" cutoff=".1"/>']
    return "\n".join(lines)


ALL = mjcf(
    SMALL,
    f"""<tendon><fixed name="short"><joint joint="swing" coef="2"/><joint joint="reach" coef="-1"/></fixed>
      <fixed name="long" stiffness="3" springlength=".1 .2"><joint joint="knee" coef="1"/><joint joint="hip" coef=".5"/>
      </fixed></tendon>
    <actuator><motor name="motor" joint="swing" gear="3"/><position name="servo" joint="knee" kp="5" kv=".1"/>
      <motor name="rope" tendon="long" gear="2"/><motor tendon="long"/>
      <general name="gas" joint="turn" dyntype="filter" dynprm=".1" gainprm="2"/></actuator>
    <sensor>{_all_sensors()}</sensor>""",
    option='gravity="1 -2 -9" magnetic=".1 -.4 .3"',
    head='<default><geom contype="0" conaffinity="0"/><joint stiffness=".3" springref=".1"/></default>',
)


TIES = mjcf(
    """<body name="plate" pos=".3 0 1"><geom size=".05"/><site name="plate" pos=".1 .1 0" euler=".1 .2 .3"/></body>
    <body name="box" pos="0 0 1"><freejoint/><geom type="box" size=".1 .05 .03"/><site name="box" pos=".1 0 0"/>
      <body name="arm" pos=".2 0 0"><joint axis="0 1 0"/><geom type="box" size=".1 .05 .03"/>
        <body name="hand" pos=".05 0 0"><geom size=".03"/><site name="hand"/></body></body></body>
    <body name="ball" pos="0 .3 1"><joint type="ball"/><geom type="box" size=".1 .05 .03"/></body>""",
    "<equality>{}</equality>",
    head='<default><geom contype="0" conaffinity="0"/></default>',
)


@pytest.mark.parametrize(
    "tie",
    [
        '<connect body1="box" body2="ball" anchor="0 .1 0"/>',
        '<connect body1="plate" body2="ball" anchor="0 .1 0"/>',
        '<connect body1="ball" body2="plate" anchor="0 .1 0"/>',
        '<connect site1="hand" site2="plate"/>',
        '<weld body1="box" body2="ball" torquescale="3"/>',
        '<weld body1="ball" body2="plate" anchor=".1 0 0"/><connect body1="plate" body2="box" anchor="0 0 .1"/>',
        '<connect body1="box" body2="ball" anchor="0 0 0" active="false"/><weld site1="plate" site2="hand"/>',
    ],
)
def test_forces_of_ties_on_all_bodies(tie):
    """MuJoCo's cfrc_ext and cfrc_int, of bodies that cannot move too."""
    theirs = mujoco.MjModel.from_xml_string(TIES.format(tie))
    model, oracle = from_mujoco(theirs), Oracle(theirs)
    for state in states(theirs, 3, seed=4):
        oracle.forward(state)
        mujoco.mj_rnePostConstraint(oracle.model, oracle.data)
        f = seen_by(model, oracle, state)
        for ours, wanted in (
            (cfrc_ext(f), oracle.data.cfrc_ext),
            (rne_postconstraint(f, nums(state.qvel)).cfrc_int, oracle.data.cfrc_int),
        ):
            found = np.array([[x.value for x in (*six.rot, *six.lin)] for six in ours])
            np.testing.assert_allclose(found[1:], wanted[1:], atol=EXACT * (1.0 + np.abs(wanted).max()))
        assert np.abs(oracle.data.cfrc_ext).max() > 0.1


PATH = '<site site="{}"/><site site="{}"/>'
SPATIAL = {
    "spring": ('<spatial stiffness="30" springlength=".1">{}</spatial>', ""),
    "damper": ('<spatial damping="3">{}</spatial>', ""),
    "friction": ('<spatial frictionloss="3">{}</spatial>', ""),
    "limit": ('<spatial range="0 .1" limited="true">{}</spatial>', ""),
    "lower limit": ('<spatial range=".6 4" limited="true">{}</spatial>', ""),
    "actuators": ('<spatial name="t">{}</spatial>', '<motor tendon="t" gear="2"/><position tendon="t" kp="7"/>'),
    "equality": ('<spatial name="t">{}</spatial>', '<equality><tendon tendon1="t" polycoef=".1"/></equality>'),
    "of two": (
        '<spatial name="t">{}</spatial><spatial name="u"><site site="arm"/><site site="plate"/></spatial>',
        '<equality><tendon tendon1="t" tendon2="u" polycoef=".1 2 .3"/></equality>',
    ),
    "of fixed": (
        '<spatial name="t">{}</spatial><fixed name="u"><joint joint="arm" coef="2"/></fixed>',
        '<equality><tendon tendon1="u" tendon2="t" polycoef=".1 2 .3"/></equality>',
    ),
}
PATHS = {
    "to a body": PATH.format("world", "arm"),
    "to one that cannot move": PATH.format("plate", "arm"),
    "between bodies": PATH.format("arm", "hand"),
    "pulley": f'{PATH.format("world", "arm")}<pulley divisor="2"/>{PATH.format("arm", "hand")}',
    "round a geom": '<site site="world"/><geom geom="post"/><site site="hand"/>',
    "round a part of a body": '<site site="world"/><geom geom="knob"/><site site="hand"/>',
    "passing one": '<site site="plate"/><geom geom="ball"/><site site="hand"/>',
}
PULLED = """<site name="world" pos="0 0 1"/>
  <geom name="post" type="cylinder" size=".2 1" pos=".05 0 .6" euler="90 0 0"/>
  <body name="plate" pos=".3 0 1"><geom name="ball" size=".05" pos=".5 .5 .5"/><site name="plate" pos=".1 .1 0"/></body>
  <body pos="0 0 .5"><joint name="arm" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><site name="arm" pos=".2 0 .1"/>
    <geom name="knob" size=".15" pos="0 .03 0" mass="0"/>
    <body pos=".1 0 .2"><joint axis="1 0 0"/><geom size=".05" pos=".1 .1 0"/><site name="hand" pos=".1 .1 .05"/></body>
  </body>"""


@pytest.mark.by_default("spring-round a*", "equality-between bodies", "of two-to one*", "actuators-pulley")
@pytest.mark.parametrize("way", PATHS)
@pytest.mark.parametrize("what", SPATIAL)
def test_what_spatial_tendons_do_to_bodies(what, way):
    """Fixed tendons turn joints, and pull at no body: MuJoCo's force, torque and cfrc_ext."""
    tendons, rest = SPATIAL[what]
    rest = rest if "<equality>" in rest else f"<actuator>{rest}</actuator>"
    lines = "".join(f'<{kind} site="{site}"/>' for kind in ("force", "torque") for site in ("arm", "hand", "plate"))
    theirs = mujoco.MjModel.from_xml_string(
        mjcf(
            PULLED,
            f"<tendon>{tendons.format(PATHS[way])}</tendon>{rest}<sensor>{lines}</sensor>",
            head='<default><geom contype="0" conaffinity="0"/></default>',
        )
    )
    model, oracle, names = from_mujoco(theirs), Oracle(theirs), numbered(theirs)
    for state in states(theirs, 3, seed=7):
        oracle.forward(state)
        mujoco.mj_rnePostConstraint(theirs, oracle.data)
        f = seen_by(model, oracle, state)
        ours = np.array([x.value for x in readings(f, nums(state.qpos), nums(state.qvel))])
        assert_same(ours, oracle.data.sensordata, names, EXACT)
        for ours, its in zip(cfrc_ext(f)[1:], oracle.data.cfrc_ext[1:], strict=True):
            np.testing.assert_allclose([x.value for x in (*ours.rot, *ours.lin)], its, rtol=1e-9, atol=1e-9)


def test_the_end_of_a_range_that_nothing_moves_to_is_not_told():
    """A pendulum that hangs straight below the other end of its tendon: MuJoCo has no row for it."""
    theirs = mujoco.MjModel.from_xml_string(
        mjcf(
            """<site name="world" pos="0 0 1"/><body pos="0 0 .5"><joint name="swing" axis="0 1 0"/>
            <geom size=".1" pos="0 0 -.3"/><site name="end" pos="0 0 -.3"/></body>""",
            """<tendon><spatial name="t" range="0 .3" limited="true"><site site="world"/><site site="end"/></spatial>
            <fixed name="u" range=".1 .2" limited="true"><joint joint="swing" coef="0"/></fixed></tendon>
            <sensor><tendonlimitpos tendon="t"/><tendonlimitfrc tendon="t"/><tendonlimitvel tendon="t"/>
            <tendonlimitpos tendon="u"/><tendonlimitfrc tendon="u"/></sensor>""",
        )
    )
    model, data = from_mujoco(theirs), mujoco.MjData(theirs)
    for angle in (0.0, 0.3):
        ours = sensors(forward(model, replace(initial_state(model), qpos=jnp.array([angle])), jnp.zeros(0)))
        data.qpos[:] = angle
        mujoco.mj_forward(theirs, data)
        kept = [0, 2, 3, 4] if angle else [0, 1, 2, 3, 4]  # its weight is that where it hangs: too large for float32
        np.testing.assert_allclose(ours[jnp.array(kept)], data.sensordata[kept], rtol=1e-6)
        assert np.any(data.sensordata) == (angle > 0.0)


def seen_by(model, oracle: Oracle, state: State) -> Forward:
    """What C brought about, its forces of equalities, friction and limits among it."""
    qpos, qvel, act, ctrl = (nums(x) for x in (state.qpos, state.qvel, state.act, state.ctrl))
    s = smooth(model, qpos, qvel, act, ctrl)
    found = constraints(model, s, qpos, qvel)
    sizes = iter(nums(oracle.data.efc_force.copy()))
    inactive = [isinstance(c.source, Limit) and c.source.efc_pos.value >= 0.0 for c in found]
    forces = [[ZERO if none else next(sizes) for _ in c.aref] for c, none in zip(found, inactive, strict=True)]
    solution = Solution(nums(oracle.data.qacc), [], forces, jnp.zeros((), jnp.int32))
    now = with_fields(initial_state(model), qpos=state.qpos, qvel=state.qvel)  # NumPy's, in float64
    return Forward(model=model, state=now, smooth=s, constraints=found, contact_list=None, solution=solution)


@pytest.mark.by_default("implicit")
@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit"])
def test_a_clock_tells_the_time(integrator):
    world = "<body><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body>"
    text = mjcf(world, "<sensor><clock/><clock cutoff='.006'/></sensor>", option=f"integrator='{integrator}'")
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    model = from_mujoco(theirs)

    def later(state):
        return jax.lax.fori_loop(0, 5, lambda i, s: step(model, s, jnp.zeros(0)), state)

    after = jax.jit(ks.kernel(later))(initial_state(model))
    mujoco.mj_step(theirs, data, 5)
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(after.time, data.time, rtol=1e-6)
    np.testing.assert_allclose(sensors(forward(model, after, jnp.zeros(0))), data.sensordata, rtol=1e-6)
    with pytest.raises(ConfigError, match=r"state\.time: got None; give seconds: the model has a clock"):
        sensors(forward(model, Ours(after.qpos, after.qvel, after.act, after.warmstart), jnp.zeros(0)))


def test_only_a_model_with_a_clock_keeps_the_time():
    model = load(mjcf("<body><joint/><geom size='.1'/></body>"))
    assert initial_state(model).time is None
    assert step(model, initial_state(model), jnp.zeros(0)).time is None


def told(model, oracle: Oracle, state: State) -> np.ndarray:
    """Our sensors, of C's accelerations and contact forces."""
    wanted = oracle.forward(state)
    qpos, qvel, act, ctrl = (nums(x) for x in (state.qpos, state.qvel, state.act, state.ctrl))
    s = smooth(model, qpos, qvel, act, ctrl)
    found = constraints(model, s, qpos, qvel)
    solution = Solution(nums(wanted["qacc"]), [], [_forces(oracle, c) for c in found], jnp.zeros((), jnp.int32))
    f = Forward(
        model=model, state=initial_state(model), smooth=s, constraints=found, contact_list=None, solution=solution
    )
    return np.array([x.value for x in readings(f, qpos, qvel)])


def _forces(oracle: Oracle, c: Constraint) -> list[Num]:
    """C's forces of the contact that is nearest to one of ours; none if it has no such contact."""
    force, forces = np.zeros(6), []
    if isinstance(c.source, Contact):
        point = np.array([x.value for x in c.source.point.pos])
        geoms = [c.source.candidate.geom1, c.source.candidate.geom2]
        near = [
            (np.linalg.norm(contact.pos - point), i)
            for i, contact in enumerate(oracle.data.contact)
            if list(contact.geom) == geoms
        ]
        if near and min(near)[0] < 1e-6:
            mujoco.mj_contactForce(oracle.model, oracle.data, min(near)[1], force)
        forces = [force[i] for i in c.source.used]
    return nums(np.array(forces))


def assert_same(ours: np.ndarray, theirs: np.ndarray, names: list[str], tolerance: float) -> None:
    wrong = np.abs(ours - theirs) > tolerance * (1.0 + np.abs(theirs))
    assert not wrong.any(), [(names[i], ours[i], theirs[i]) for i in np.flatnonzero(wrong)]


def numbered(theirs: mujoco.MjModel) -> list[str]:
    """What each number of sensordata is."""
    kinds = [mujoco.mjtSensor(int(kind)).name for kind in theirs.sensor_type]
    return [f"{kind} {i}" for i, kind in enumerate(kinds) for _ in range(theirs.sensor_dim[i])]


@pytest.mark.by_default("<flag spring=?disable? gravity=?disable?/>")
@pytest.mark.parametrize(
    "flags",
    ["", "<flag actuation='disable'/>", "<flag sensor='disable'/>", "<flag spring='disable' gravity='disable'/>"],
)
def test_every_sensor(flags):
    theirs = mujoco.MjModel.from_xml_string(ALL.replace("<worldbody>", f"<option>{flags}</option><worldbody>"))
    model, oracle, names = from_mujoco(theirs), Oracle(theirs), numbered(theirs)
    for state in states(theirs, 2, seed=1):
        ours = told(model, oracle, state)
        assert (np.abs(oracle.data.sensordata).max() > 1) == ("sensor" not in flags)
        assert_same(ours, oracle.data.sensordata, names, EXACT)


# Floors, a scale that cannot move, and bodies that fall on both and on one another, with friction and turning contacts.
SCALE = mjcf(
    """<geom type="plane" size="5 5 1"/><body name="scale" pos="0 0 .1"><geom type="capsule" size=".1 .3"
      euler="1.5708 0 0" condim="6"/><site name="scale" pos=".1 0 0" euler=".1 .2 .3" size=".3"/></body>
    <body name="ball" pos="0 0 .35"><freejoint/><geom size=".1" condim="4"/><site name="ball" size=".12"/>
      <site name="centre" size=".03"/><site name="aside" size=".03" pos=".2 0 0"/>
      <body name="welded" pos="0 .14 -.05"><geom size=".06"/>
        <site name="welded" type="box" size=".1 .1 .1"/></body></body>
    <body name="arm" pos="1 0 .2"><joint name="arm" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 -.6 0 .02" size=".06"/>
      <site name="arm" type="capsule" size=".05 .2" pos="-.4 0 -.05" euler="0 1.5 0"/>
      <site name="tip" type="ellipsoid" size=".2 .1 .1" pos="-.5 0 0"/>
      <site name="back" type="cylinder" size=".2 .3" pos="-.5 0 0"/></body>""",
    "<sensor>"
    + "".join(f'<touch site="{s}"/>' for s in ("scale", "ball", "welded", "arm", "tip", "back"))
    + "".join(f'<{k} site="{s}"/>' for s in ("scale", "welded", "arm") for k in ("force", "torque", "accelerometer"))
    + '<touch site="ball" cutoff="2"/><touch site="centre"/><touch site="aside"/></sensor>',
    head='<default><geom friction=".8 .02 .01"/></default>',
)

BALL = mjcf(
    """<geom type="plane" size="5 5 1"/><body name="ball" pos="0 0 .1"><joint type="slide" axis="0 0 1"/>
      <joint axis="0 1 0"/><geom size=".1"/><geom size=".05" pos=".1 0 0"/><site name="in" size=".2"/></body>""",
    """<sensor><touch site="in"/><force site="in"/><accelerometer site="in"/>
      <framelinvel objtype="body" objname="ball"/><subtreeangmom body="ball"/>
      <framequat objtype="site" objname="in"/></sensor>""",
)


def test_touch_and_forces_of_contacts():
    theirs = mujoco.MjModel.from_xml_string(SCALE)
    model, oracle, names = from_mujoco(theirs), Oracle(theirs), numbered(theirs)
    given = states(theirs, 40, seed=2)
    touched = np.array([oracle.forward(state)["sensordata"][:6] != 0 for state in given])
    assert touched.any(axis=0).all()
    assert oracle.data.sensordata[-1] == 0
    for i in sorted(set(touched.argmax(axis=0))):
        ours = told(model, oracle, given[i])
        assert_same(ours, oracle.data.sensordata, names, EXACT)


# Five balls in a heap, each of which may touch every other: more pairs than are written out.
HEAP = mjcf(
    '<geom type="plane" size="5 5 1"/>'
    + "".join(
        f"""<body pos="{0.03 * i} 0 {0.12 + 0.19 * i}"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
          <geom size=".1" condim="{{0}}"/><site name="s{i}" size=".05" pos="0 0 {{1}}"/></body>"""
        for i in range(5)
    ),
    "<sensor>" + "".join(f'<touch site="s{i}"/><force site="s{i}"/>' for i in range(5)) + "</sensor>",
)


# Boxes, balls and capsules of one tree and of others, named pairs and a zone, and what is asked of their contacts.
WHOSE = ('', 'geom1="floor"', 'geom2="floor"', 'body1="box"', 'subtree1="box"', 'subtree1="box" geom2="floor"',
         'geom1="floor" subtree2="world"', 'site="zone"', 'site="zone" body2="world"', 'body1="ball" body2="box"',
         'subtree2="ball"', 'geom1="hand" geom2="head"')  # fmt: skip
EVERYTHING = "found force torque dist pos normal tangent"
MOVING = f"{EVERYTHING} linvel angvel"


def _contact_sensors(*whose: str, every: int = 1) -> str:
    """All ways of choosing contacts, of everything, or of every so many."""
    ways = [
        *((reduce, num, MOVING) for reduce in ("none", "mindist", "maxforce") for num in (1, 3)),
        ("netforce", 1, EVERYTHING), ("none", 2, "found"), ("mindist", 9, "dist normal"),
    ]  # fmt: skip
    lines = [f'<contact {who} reduce="{r}" num="{n}" data="{data}"/>' for who in whose for r, n, data in ways]
    return "<sensor>" + "\n".join(lines[::every]) + "</sensor>"


PILE = mjcf(
    """<geom name="floor" type="plane" size="5 5 1"/><site name="zone" type="box" size=".2 .3 .1" pos=".1 .1 0"/>
    <body name="box" pos="0 0 .1"><freejoint/><geom name="box" type="box" size=".2 .1 .1"/>
      <body name="arm" pos=".3 0 0"><joint axis="0 1 0" range="-1 1"/>
        <geom name="hand" type="capsule" size=".06 .12" euler="0 1.57 0" condim="{condim}"/></body></body>
    <body name="ball" pos="0 0 .29"><freejoint/><geom name="ball" size=".1"/>
      <geom name="head" size=".07" pos=".3 0 -.1"/></body>
    <body name="plank" pos="-.2 .15 .1"><joint type="slide" axis="0 0 1"/><joint axis="1 0 0"/>
      <geom name="plank" type="capsule" size=".05 .2" euler="1.57 0 0"/></body>""",
    """<contact><pair geom1="head" geom2="floor" condim="1"/><pair geom1="ball" geom2="box" friction="1 1 .1 .1 .1"/>
      <exclude body1="plank" body2="ball"/></contact>{sensors}""",
    head='<default><geom friction=".8 .02 .01"/></default>',
    option='cone="{cone}"',
)
LIMITS = mjcf(
    """<body name="ball" pos="0 0 1"><joint name="ball" type="ball" range="0 .5"/><geom size=".1" pos=".1 0 0"/>
      <body pos=".2 0 0"><joint name="turn" axis="0 1 0" range="-.3 .2" margin=".1"/><geom size=".1" pos=".1 0 0"/>
      <body pos=".2 0 0"><joint name="slide" type="slide" range="-.01 .01" margin=".05"/><geom size=".05"/>
      <body pos=".2 0 0"><joint name="free" axis="0 0 1"/><geom size=".05" pos="0 .1 0"/></body></body></body>
    </body>""",
    """<tendon><fixed name="rope" range="-.2 .1" limited="true"><joint joint="turn" coef="1"/>
      <joint joint="free" coef="-.5"/></fixed></tendon><sensor>"""
    + "".join(f'<jointlimit{w} joint="{j}"/>' for w in ("pos", "vel", "frc") for j in ("ball", "turn", "slide"))
    + "".join(f'<tendonlimit{w} tendon="rope"/>' for w in ("pos", "vel", "frc"))
    + "</sensor>",
    head='<default><geom contype="0" conaffinity="0"/></default>',
)


ROOM = mjcf(
    """<geom type="plane" size="2 3 .1"/><geom type="plane" size="0 0 .1" pos="0 0 3" euler="3.1416 0 0"/>
    <geom type="box" size=".2 .3 .4" pos="1 .2 .4" euler=".2 .3 .5"/>
    <geom type="cylinder" size=".3 .5" pos="-1 0 .5"/>
    <geom type="ellipsoid" size=".2 .5 .3" pos="0 1.2 .8"/><geom type="capsule" size=".2 .4" pos=".3 -1 .6"/>
    <geom size="9" rgba="1 1 1 0"/><geom size=".3" pos="-1 -1 1" material="seen"/><geom size="8" material="clear"/>
    <body name="box" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/>
      <body name="eyes" pos="0 0 .3"><joint type="ball"/><geom size=".05"/><site name="up"/>
        <site name="on" euler="0 1.57 0"/><site name="back" euler="0 4.36 0"/>
        <site name="left" euler="1.57 0 .35"/></body>
    </body>"""
    + "".join(
        f'<site name="{shape}" type="{shape}" size=".7 .8 .9" pos=".2 .1 1" euler=".7 0 0"/>'
        for shape in ("box", "cylinder", "ellipsoid", "capsule", "sphere")
    ),
    "<sensor>"
    + "".join(f'<rangefinder site="{s}" cutoff="{c}"/>' for s in ("up", "on", "back", "left") for c in (0, 0.5))
    + "".join(f'<rangefinder site="{s}" data="dist dir origin point depth"/>' for s in ("up", "left"))
    + "".join(
        f'<insidesite site="{shape}" objtype="{kind}" objname="{name}"/>'
        for shape in ("box", "cylinder", "ellipsoid", "capsule", "sphere")
        for kind, name in (("body", "eyes"), ("xbody", "box"), ("site", "left"))
    )
    + "</sensor>",
    head="""<default><geom contype="0" conaffinity="0"/></default>
      <asset><material name="seen" rgba="1 1 1 .5"/><material name="clear" rgba="1 1 1 0"/></asset>""",
)


# What is known of where it is: a cart that only goes along x, a puck that overlaps the floor by as much everywhere.
CART = mjcf(
    """<geom type="plane" size="5 5 1"/><geom type="cylinder" size=".3 .2" pos="1 0 .2" contype="0" conaffinity="0"/>
    <site name="mark" pos=".5 0 1"/><site name="rink" type="cylinder" size="1 .1" pos="2 0 0"/>
    <body name="cart" pos="0 0 1"><joint type="slide" axis="1 0 0" range="-3 3" damping=".1"/><geom size=".1"/>
      <site name="down" zaxis="0 0 -1"/><site name="zone" type="capsule" size=".3 .2"/></body>
    <body name="frame" pos="9 0 0"><body pos="-7 0 0"><joint type="slide" axis="1 0 0" range="-2 2" damping=".1"/>
      <geom size=".02"/></body></body>
    <body name="puck" pos="2 0 .045"><joint type="slide" axis="1 0 0" range="-2 2" damping=".1"/>
      <joint type="slide" axis="0 1 0" range="-2 2" damping=".1"/><geom size=".05"/></body>""",
    """<sensor><rangefinder site="down"/><insidesite site="zone" objtype="site" objname="mark"/>
      <insidesite site="rink" objtype="body" objname="puck"/><insidesite site="rink" objtype="xbody" objname="cart"/>
      <insidesite site="rink" objtype="body" objname="frame"/><insidesite site="rink" objtype="xbody" objname="frame"/>
      <contact site="rink" data="found dist"/><contact data="force" cutoff="1"/></sensor>""",
)


def _pile(cone: str, condim: int, *whose: str, every: int = 1) -> str:
    return PILE.format(cone=cone, condim=condim, sensors=_contact_sensors(*whose, every=every))


def _heap() -> str:
    asked = _contact_sensors("", 'body2="world"', "subtree1='b'", every=4)
    return HEAP.format(3, 0).replace("<body pos", "<body name='b' pos", 1).replace("<sensor>", asked[:-9], 1)


@pytest.mark.by_default("cart")
@pytest.mark.parametrize(
    "xml",
    [
        pytest.param(BALL, id="ball"),
        pytest.param(HEAP.format(3, 0.08), id="heap"),
        pytest.param(HEAP.format(1, -0.08), id="heap_without_friction"),
        pytest.param(LIMITS, id="limits"),
        pytest.param(ROOM, id="room"),
        pytest.param(CART, id="cart"),
        pytest.param(_pile("pyramidal", 4, *WHOSE, every=5), id="pile"),
        pytest.param(_pile("pyramidal", 6, *WHOSE), id="pile_whole"),
        pytest.param(_pile("elliptic", 6, *WHOSE, every=3), id="pile_elliptic"),
        pytest.param(_heap(), id="contacts_of_a_heap"),
    ],
)
def test_sensors_of_a_step_in_the_kernel(xml):
    theirs = mujoco.MjModel.from_xml_string(xml)
    given, oracle, names = states(theirs, 40, seed=3), Oracle(theirs), numbered(theirs)
    with jax.enable_x64(True):
        model, many = from_mujoco(oracle.model), stack(given)

        def measured(qpos, qvel, act, warmstart, ctrl):
            return sensors(forward(model, Ours(qpos, qvel, act, warmstart), ctrl))

        arrays = map(jnp.asarray, (many.qpos, many.qvel, many.act, many.qacc_warmstart, many.ctrl))
        ours = np.asarray(jax.jit(jax.vmap(ks.kernel(measured)))(*arrays))
    for i, state in enumerate(given):
        oracle.forward(state)
        assert_same(ours[i], oracle.data.sensordata, names, 1e-8)
    rarely_nonzero = [i for i, name in enumerate(names) if re.search("TOUCH|CONTACT|LIMIT|INSIDE", name)]
    assert 0 < (np.abs(ours[:, rarely_nonzero]) > 0).mean() < 1


def test_of_two_ends_of_a_range_that_are_active_the_lower_one_is_told():
    """With C's forces, which come in the order of ours: the lower end first, those that are active alone."""
    theirs = mujoco.MjModel.from_xml_string(LIMITS)
    model, oracle, names = from_mujoco(theirs), Oracle(theirs), numbered(theirs)
    both, slide = 0, theirs.joint("slide")
    for state in states(theirs, 8, seed=3):
        state.qpos[slide.qposadr[0]] = 0.002  # both ends act, within their margin
        wanted = oracle.forward(state)
        qpos, qvel, act, ctrl = (nums(x) for x in (state.qpos, state.qvel, state.act, state.ctrl))
        s = smooth(model, qpos, qvel, act, ctrl)
        found, sizes = constraints(model, s, qpos, qvel), iter(nums(oracle.data.efc_force.copy()))
        forces = [[next(sizes) if c.source.efc_pos.value < 0.0 else ZERO] for c in found]
        assert next(sizes, None) is None
        solution = Solution(nums(wanted["qacc"]), [], forces, jnp.zeros((), jnp.int32))
        f = Forward(
            model=model, state=initial_state(model), smooth=s, constraints=found, contact_list=None, solution=solution
        )
        assert_same(np.array([x.value for x in readings(f, qpos, qvel)]), oracle.data.sensordata, names, EXACT)
        both += np.sum(oracle.data.efc_id == slide.id) == 2
    assert both == 8


def test_what_rays_meet_and_what_is_inside():
    theirs = mujoco.MjModel.from_xml_string(ROOM)
    model, oracle, names = from_mujoco(theirs), Oracle(theirs), numbered(theirs)
    wanted = []
    for state in states(theirs, 30, seed=5):
        ours = told(model, oracle, state)
        wanted.append(oracle.data.sensordata.copy())
        assert_same(ours, wanted[-1], names, EXACT)
    met = np.array(wanted)[:, [i for i, name in enumerate(names) if "RANGE" in name][:4]] >= 0
    assert 0.1 < met.mean() < 0.99
    inside = np.array(wanted)[:, [i for i, name in enumerate(names) if "INSIDE" in name]]
    assert 0.05 < inside.mean() < 0.95


@pytest.mark.full("more cases")
def test_sizes_may_be_anything_that_jax_traces():
    with jax.enable_x64(True):  # where a force is 0 float32 leaves rounding of 33 N, which no relative bound holds
        model = load(CART)
        state, ctrl = initial_state(model), jnp.zeros(0)

        def told_of(site_size, geom_size):
            return sensors(forward(model.with_numbers(site_size=site_size, geom_size=geom_size), state, ctrl))

        found = jax.jit(told_of)(model.site_size, model.geom_size)
        np.testing.assert_allclose(found, sensors(forward(model, state, ctrl)), rtol=1e-12, atol=1e-12)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("way", [jax.grad, jax.jacfwd])
def test_how_far_a_ray_goes_has_a_derivative_though_it_misses_something(way):
    model = load(
        mjcf(
            """<geom type="plane" size="9 9 1"/><geom size=".3" pos="3 0 1"/>
            <geom type="capsule" size=".1 .3" pos="0 3 1"/>
            <body pos="0 0 2"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/><geom size=".1"/>
              <site name="down" zaxis="0 0 -1"/></body>""",
            "<sensor><rangefinder site='down'/></sensor>",
        )
    )

    def far(qpos):
        return sensors(forward(model, replace(initial_state(model), qpos=qpos), jnp.zeros(0)))[0]

    slope = way(far)(jnp.array([0.5, 0.3]))  # (2 + z) / cos(angle)
    np.testing.assert_allclose(slope, [1 / np.cos(0.3), 2.5 * np.sin(0.3) / np.cos(0.3) ** 2], rtol=1e-5)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("flag", ["", '<flag midphase="disable"/>'])
@pytest.mark.parametrize("floor", ["plane", "box"])
def test_contacts_come_in_the_order_of_pairs_of_geoms(floor, flag):
    """Of a body with two geoms that both touch two of the world's, of which the first is not of the first kind."""
    theirs = mujoco.MjModel.from_xml_string(
        mjcf(
            f"""<geom type="box" size="2 2 .1" pos="0 0 -.1"/>
            <geom type="{floor}" size="2 2 .1" pos="0 0 {-0.1 * (floor == "box") - 0.004}"/>
            <body pos="0 0 .09"><freejoint/><geom size=".1"/><geom size=".1" pos=".3 0 0"/></body>
            <body pos="0 1 .09"><freejoint/><geom size=".1"/></body>""",
            "<sensor><contact num='6' data='dist pos'/></sensor>",
        ).replace("<worldbody>", f"<option>{flag}</option><worldbody>")
    )
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    model = from_mujoco(theirs)
    with jax.enable_x64(True):
        found = sensors(forward(model, initial_state(model, jnp.float64), jnp.zeros(0)))
    assert data.ncon == 6
    np.testing.assert_allclose(found, data.sensordata, atol=1e-7)


@pytest.mark.by_default("0")
@pytest.mark.parametrize("shape", [GeomType.PLANE, *RAY_INTERVALS])
def test_rays_go_as_far_as_c_says(shape):
    rng = np.random.default_rng(shape)
    hits = 0
    for i in range(300):
        size, start, along = rng.uniform(0.2, 1.5, 3), rng.normal(size=3), rng.normal(size=3)
        size[:2] *= i % 5 > 0 or shape != GeomType.PLANE
        along = np.eye(3)[i % 3] if i % 4 == 0 else along / np.linalg.norm(along)
        wanted = mujoco.mju_rayGeom(np.zeros(3), np.eye(3).ravel(), size, start, along, shape, None)
        found = ray_distance(shape, nums(size), vec(nums(start)), vec(nums(along))).value
        assert found == (FAR if wanted < 0 else pytest.approx(wanted, abs=1e-9))
        hits += wanted >= 0
    assert 10 < hits < 260


@pytest.mark.by_default("4", "5")
@pytest.mark.parametrize("shape", RAY_INTERVALS)
def test_rays_meet_a_shape_where_c_says_so(shape):
    rng = np.random.default_rng(shape)
    hits = 0
    for i in range(300):
        size, start, along = rng.uniform(0.2, 1.5, 3), rng.normal(size=3), rng.normal(size=3)
        along = np.eye(3)[i % 3] if i % 4 == 0 else along / np.linalg.norm(along)
        hit = mujoco.mju_rayGeom(np.zeros(3), np.eye(3).ravel(), size, start, along, shape, None) >= 0
        assert ray_hits(shape, nums(size), vec(nums(start)), vec(nums(along))) == hit
        hits += hit
    assert 40 < hits < 260
