"""Sensors, in MuJoCo's order: what a robot measures of a state and of what it brings about.

References:
    MuJoCo documentation, XML reference, "sensor"; Computation, "Simulation pipeline".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxtyping import Array, Float

from ..core.errors import ConfigError
from .actuation import Transmission
from .energy import kinetic, momentum_of_subtrees, potential
from .forward import Forward
from .joints import joint
from .kinematics import Frame, geom_frame, row, site_frame
from .model import Model
from .reaction import Reaction, reaction
from .scalar import ZERO, Num, clipped, minimum, num, nums, stacked, total
from .smooth import Smooth
from .touch import touch
from .vector import Quat, Six, Vec, quat, vec

# MuJoCo's mjtObj and mjtDataType, as far as they count here.
BODY, GEOM, SITE = 1, 5, 6
POSITIVE = 1
REACTIONS = {"accelerometer", "force", "torque", "framelinacc", "frameangacc"}
SUBTREES = {"subtreelinvel", "subtreeangmom"}


@dataclass(frozen=True)
class Seen:
    """What sensors measure from.

    Attributes:
        model: the mechanism.
        forward: what its state brings about.
        smooth: of that.
        qpos, qvel: of the state.
        reaction: accelerations, and forces between bodies.
        subtree: velocity and angular momentum of each body and all that hangs on it.
    """

    model: Model
    forward: Forward
    smooth: Smooth
    qpos: list[Num]
    qvel: list[Num]
    reaction: Reaction | None
    subtree: list[tuple[Vec, Vec]]

    def frame(self, kind: int, number: int) -> tuple[Frame, int]:
        """The frame of a body, geom or site, and the body that it is fixed in."""
        k = self.smooth.kinematics
        if kind == GEOM:
            return geom_frame(self.model, k, number), int(self.model.geom_bodyid[number])
        if kind == SITE:
            return site_frame(self.model, k, number), int(self.model.site_bodyid[number])
        return (k.inertial if kind == BODY else k.bodies)[number], number

    def motion(self, frame: Frame, body: int, of: Sequence[Six]) -> Six:
        """A motion of a body, at a frame's place: how it turns, and how that point moves."""
        v = of[body]
        arm = frame.pos - self.smooth.tree.subtree_com[int(self.model.body_rootid[body])]
        return Six(v.rot, v.lin + v.rot.cross(arm))


@dataclass(frozen=True)
class Sensor:
    """One sensor.

    Attributes:
        objtype, obj: what it is fixed to.
        reftype, ref: in whose frame it measures; -1 for the world's.
    """

    objtype: int
    obj: int
    reftype: int
    ref: int


def sensors(f: Forward) -> Float[Array, " nsensordata"]:
    """What all sensors measure of what a state brings about: mjData's `sensordata`, without noise.

    Example:
        >>> import jax.numpy as jnp
        >>> from kousoku.physics import forward, initial_state, load
        >>> model = load("<mujoco><worldbody><body pos='0 0 2'><freejoint/><geom size='.1'/><site name='here'/></body>"
        ...     "</worldbody><sensor><framepos objtype='site' objname='here'/></sensor></mujoco>")
        >>> sensors(forward(model, initial_state(model), jnp.zeros(0)))
        Array([0., 0., 2.], dtype=float32)
    """
    return stacked(readings(f, nums(f.state.qpos), nums(f.state.qvel)), f.state.qpos.dtype)


def readings(f: Forward, qpos: list[Num], qvel: list[Num]) -> list[Num]:
    """The same, in numbers."""
    model = f.model
    data = [ZERO] * model.nsensordata
    if model.no_sensor or not model.nsensor:
        return data
    kinds = [str(kind) for kind in model.sensor_kind]
    reacts = reaction(f, qvel) if REACTIONS.intersection(kinds) else None
    subtree = momentum_of_subtrees(model, f.smooth) if SUBTREES.intersection(kinds) else []
    seen = Seen(model, f, f.smooth, qpos, qvel, reacts, subtree)
    for i, kind in enumerate(kinds):
        fields = (int(getattr(model, f"sensor_{name}")[i]) for name in ("objtype", "objid", "reftype", "refid"))
        first = int(model.sensor_adr[i])
        data[first : first + int(model.sensor_dim[i])] = _cut(model, i, READ[kind](seen, Sensor(*fields)))
    return data


def _cut(model: Model, i: int, values: Sequence[Num]) -> list[Num]:
    """Within the sensor's cutoff; directions have none."""
    cutoff = nums(model.sensor_cutoff)[i]
    kind = model.sensor_datatype[i]
    if kind > POSITIVE or (cutoff.known and cutoff.value <= 0.0):
        return list(values)
    return [minimum(v, cutoff) if kind == POSITIVE else clipped(v, -cutoff, cutoff) for v in values]


# ---- what each measures


def _ball_turn(s: Seen, i: Sensor) -> Sequence[Num]:
    first = joint(s.model, i.obj).qpos
    return quat(s.qpos[first : first + 4]).normalised()


def _position(s: Seen, i: Sensor) -> Vec:
    frame, _ = s.frame(i.objtype, i.obj)
    if i.ref < 0:
        return frame.pos
    other, _ = s.frame(i.reftype, i.ref)
    return other.mat.transposed() @ (frame.pos - other.pos)


def _orientation(s: Seen, i: Sensor) -> Quat:
    frame, _ = s.frame(i.objtype, i.obj)
    return frame.quat if i.ref < 0 else s.frame(i.reftype, i.ref)[0].quat.inverse() * frame.quat


def _axis(which: int) -> Callable[[Seen, Sensor], Vec]:
    def read(s: Seen, i: Sensor) -> Vec:
        axis = s.frame(i.objtype, i.obj)[0].mat.columns()[which]
        return axis if i.ref < 0 else s.frame(i.reftype, i.ref)[0].mat.transposed() @ axis

    return read


def _relative(s: Seen, i: Sensor) -> Six:
    """How an object moves, seen from a frame that moves too."""
    frame, body = s.frame(i.objtype, i.obj)
    v = s.motion(frame, body, s.smooth.motion.body)
    if i.ref < 0:
        return v
    other, other_body = s.frame(i.reftype, i.ref)
    u = s.motion(other, other_body, s.smooth.motion.body)
    back = other.mat.transposed()
    return Six(back @ (v.rot - u.rot), back @ (v.lin - u.lin - u.rot.cross(frame.pos - other.pos)))


def _at_site(s: Seen, i: Sensor) -> Six:
    frame, body = s.frame(SITE, i.obj)
    v, back = s.motion(frame, body, s.smooth.motion.body), frame.mat.transposed()
    return Six(back @ v.rot, back @ v.lin)


def _velocimeter(s: Seen, i: Sensor) -> Vec:
    return _at_site(s, i).lin


def _gyro(s: Seen, i: Sensor) -> Vec:
    return _at_site(s, i).rot


def _acceleration(s: Seen, kind: int, number: int) -> tuple[Six, Frame]:
    """Of a point that is fixed in a body: that of the field of accelerations, and what comes of its turning."""
    frame, body = s.frame(kind, number)
    assert s.reaction is not None
    v = s.motion(frame, body, s.smooth.motion.body)
    a = s.motion(frame, body, s.reaction.acceleration)
    return Six(a.rot, a.lin + v.rot.cross(v.lin)), frame


def _accelerometer(s: Seen, i: Sensor) -> Vec:
    a, frame = _acceleration(s, SITE, i.obj)
    return frame.mat.transposed() @ a.lin


def _magnetometer(s: Seen, i: Sensor) -> Vec:
    return s.frame(SITE, i.obj)[0].mat.transposed() @ vec(nums(s.model.magnetic))


def _force(s: Seen, i: Sensor) -> Vec:
    frame, body = s.frame(SITE, i.obj)
    assert s.reaction is not None
    return frame.mat.transposed() @ s.reaction.force[body].lin


def _torque(s: Seen, i: Sensor) -> Vec:
    frame, body = s.frame(SITE, i.obj)
    assert s.reaction is not None
    force = s.reaction.force[body]
    arm = frame.pos - s.smooth.tree.subtree_com[int(s.model.body_rootid[body])]
    return frame.mat.transposed() @ (force.rot - arm.cross(force.lin))


def _touch(s: Seen, i: Sensor) -> list[Num]:
    frame, body = s.frame(SITE, i.obj)
    return [touch(s.forward, frame, int(s.model.site_type[i.obj]), row(s.model.site_size, i.obj), body)]


def _actuator_velocity(s: Seen, i: Sensor) -> list[Num]:
    return [ZERO if s.model.no_actuation else s.smooth.actuation.velocity[i.obj]]


def _actuator_forces(s: Seen) -> list[Num]:
    return [ZERO] * s.model.nu if s.model.no_actuation else s.smooth.actuation.force


def _joint_force(s: Seen, i: Sensor) -> list[Num]:
    return [ZERO if s.model.no_actuation else s.smooth.actuation.qfrc[joint(s.model, i.obj).dof]]


def _tendon_force(s: Seen, i: Sensor) -> list[Num]:
    forces, target = _actuator_forces(s), s.model.actuator_trnid[:, 0]
    pulls = (s.model.actuator_trntype == Transmission.TENDON) & (target == i.obj)
    return [total(f for f, on in zip(forces, pulls, strict=True) if on)]


def _potential(s: Seen, i: Sensor) -> list[Num]:
    return [potential(s.model, s.smooth.kinematics, s.smooth.tendons, s.qpos)]


def _kinetic(s: Seen, i: Sensor) -> list[Num]:
    return [kinetic(s.smooth.tree, s.qvel)]


def _clock(s: Seen, i: Sensor) -> list[Num]:
    time = s.forward.state.time
    if time is None:
        raise ConfigError("state.time", None, "give seconds: the model has a clock; initial_state(model) has them")
    return [num(time)]


READ: dict[str, Callable[[Seen, Sensor], Sequence[Num]]] = {
    "touch": _touch,
    "accelerometer": _accelerometer,
    "velocimeter": _velocimeter,
    "gyro": _gyro,
    "force": _force,
    "torque": _torque,
    "magnetometer": _magnetometer,
    "jointpos": lambda s, i: [s.qpos[joint(s.model, i.obj).qpos]],
    "jointvel": lambda s, i: [s.qvel[joint(s.model, i.obj).dof]],
    "tendonpos": lambda s, i: [s.smooth.tendons[i.obj].length],
    "tendonvel": lambda s, i: [s.smooth.tendons[i.obj].velocity(s.qvel)],
    "actuatorpos": lambda s, i: [s.smooth.actuation.length[i.obj]],
    "actuatorvel": _actuator_velocity,
    "actuatorfrc": lambda s, i: [_actuator_forces(s)[i.obj]],
    "jointactfrc": _joint_force,
    "tendonactfrc": _tendon_force,
    "ballquat": _ball_turn,
    "ballangvel": lambda s, i: [s.qvel[d] for d in joint(s.model, i.obj).dofs],
    "framepos": _position,
    "framequat": _orientation,
    "framexaxis": _axis(0),
    "frameyaxis": _axis(1),
    "framezaxis": _axis(2),
    "framelinvel": lambda s, i: _relative(s, i).lin,
    "frameangvel": lambda s, i: _relative(s, i).rot,
    "framelinacc": lambda s, i: _acceleration(s, i.objtype, i.obj)[0].lin,
    "frameangacc": lambda s, i: _acceleration(s, i.objtype, i.obj)[0].rot,
    "subtreecom": lambda s, i: s.smooth.tree.subtree_com[i.obj],
    "subtreelinvel": lambda s, i: s.subtree[i.obj][0],
    "subtreeangmom": lambda s, i: s.subtree[i.obj][1],
    "e_potential": _potential,
    "e_kinetic": _kinetic,
    "clock": _clock,
}
DONE = " ".join(READ)
