"""Sensors, in MuJoCo's order: what a robot measures of a state and of what it brings about.

References:
    MuJoCo documentation, XML reference, "sensor"; Computation, "Simulation pipeline".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from ...core.errors import ConfigError
from ..algebra.scalar import (
    MINVAL,
    ZERO,
    Num,
    absolute,
    clip,
    logical_and,
    minimum,
    num,
    nums,
    row,
    to_array,
    total,
    where,
)
from ..algebra.vector import Vec, quat, vec
from ..constraint.friction_limit import Limit
from ..energy import kinetic, potential, subtree_vel
from ..forward import Forward
from ..model import Model
from ..stages.actuation import actuators_of
from ..stages.joints import joint
from . import frame
from .contact import contact, in_site, sensed_contacts
from .inputs import BODY, SITE, Sensor, SensorInputs
from .rangefinder import rangefinder
from .rne_postconstraint import rne_postconstraint
from .touch import touch

POSITIVE = 1
"""MuJoCo's mjDATATYPE_POSITIVE."""
NEED_RNE = {"accelerometer", "force", "torque", "framelinacc", "frameangacc"}
NEED_SUBTREE_VEL = {"subtreelinvel", "subtreeangmom"}


def sensors(f: Forward) -> Float[Array, " nsensordata"]:
    """Measures all sensors of what a state brings about [nsensordata]: mjData's `sensordata`, without noise.

    Example:
        >>> import jax.numpy as jnp
        >>> from kousoku.physics import forward, initial_state, load
        >>> model = load("<mujoco><worldbody><body pos='0 0 2'><freejoint/><geom size='.1'/><site name='here'/></body>"
        ...     "</worldbody><sensor><framepos objtype='site' objname='here'/></sensor></mujoco>")
        >>> sensors(forward(model, initial_state(model), jnp.zeros(0)))
        Array([0., 0., 2.], dtype=float32)
    """
    return to_array(readings(f, nums(f.state.qpos), nums(f.state.qvel)), f.state.qpos.dtype)


def readings(f: Forward, qpos: list[Num], qvel: list[Num]) -> list[Num]:
    """Measures all sensors as numbers [nsensordata]; arguments and result as of `sensors`."""
    model = f.model
    data = [ZERO] * model.nsensordata
    if model.no_sensor or not model.nsensor:
        return data
    types = [str(kind) for kind in model.sensor_kind]
    rne = rne_postconstraint(f, qvel) if NEED_RNE.intersection(types) else None
    subtree = subtree_vel(model, f.smooth.com_pos, f.smooth.com_vel) if NEED_SUBTREE_VEL.intersection(types) else []
    all_sensors = [_sensor(model, i) for i in range(len(types))]
    of_contacts = [sensor for name, sensor in zip(types, all_sensors, strict=True) if name == "contact"]
    found = sensed_contacts(f, of_contacts) if of_contacts else []
    inputs = SensorInputs(model, f, f.smooth, qpos, qvel, rne, subtree, found)
    for i, (name, sensor) in enumerate(zip(types, all_sensors, strict=True)):
        first = int(model.sensor_adr[i])
        values = READ[name](inputs, sensor)
        data[first : first + sensor.dim] = values if name == "contact" else _cutoff(model, i, values)
    return data


def _sensor(model: Model, i: int) -> Sensor:
    fields = (int(getattr(model, f"sensor_{name}")[i]) for name in ("objtype", "objid", "reftype", "refid", "dim"))
    return Sensor(*fields, intprm=tuple(int(x) for x in model.sensor_intprm[i]))


def _cutoff(model: Model, i: int, values: Sequence[Num]) -> list[Num]:
    """Returns values within the sensor's cutoff; directions have none, and one of 0 is none."""
    cutoff = nums(model.sensor_cutoff)[i]
    datatype = model.sensor_datatype[i]
    limited = cutoff > 0.0
    if datatype > POSITIVE or limited is False:
        return list(values)
    within = [minimum(v, cutoff) if datatype == POSITIVE else clip(v, -cutoff, cutoff) for v in values]
    return [where(limited, clipped, v) for clipped, v in zip(within, values, strict=True)]


# ---- a function of each type, where it is more than a number of mjData


def _ball_quat(s: SensorInputs, i: Sensor) -> Sequence[Num]:
    first = joint(s.model, i.objid).qposadr
    return quat(s.qpos[first : first + 4]).normalised()


def _magnetometer(s: SensorInputs, i: Sensor) -> Vec:
    return s.frame(SITE, i.objid)[0].mat.transpose() @ vec(nums(s.model.magnetic))


def _touch(s: SensorInputs, i: Sensor) -> list[Num]:
    frame, body = s.frame(SITE, i.objid)
    return [touch(s.forward, frame, int(s.model.site_type[i.objid]), row(s.model.site_size, i.objid), body)]


def _actuator_velocity(s: SensorInputs, i: Sensor) -> list[Num]:
    return [ZERO if s.model.no_actuation else s.smooth.actuation.velocity[i.objid]]


def _actuator_forces(s: SensorInputs) -> list[Num]:
    return [ZERO] * s.model.nu if s.model.no_actuation else s.smooth.actuation.force


def _joint_actuator_force(s: SensorInputs, i: Sensor) -> list[Num]:
    return [ZERO if s.model.no_actuation else s.smooth.actuation.qfrc_actuator[joint(s.model, i.objid).dofadr]]


def _tendon_actuator_force(s: SensorInputs, i: Sensor) -> list[Num]:
    forces = _actuator_forces(s)
    return [total(forces[a] for a in actuators_of(s.model, i.objid))]


def _potential(s: SensorInputs, i: Sensor) -> list[Num]:
    return [potential(s.model, s.smooth.kinematics, s.smooth.tendons, s.qpos)]


def _kinetic(s: SensorInputs, i: Sensor) -> list[Num]:
    return [kinetic(s.smooth.qM, s.qvel)]


def _clock(s: SensorInputs, i: Sensor) -> list[Num]:
    time = s.forward.state.time
    if time is None:
        raise ConfigError("state.time", None, "give seconds: the model has a clock; initial_state(model) has them")
    return [num(time)]


def _inside_site(s: SensorInputs, i: Sensor) -> list[Num]:
    """Measures whether an object is in a site; a body without mass stands for those that it carries."""
    massless = i.objtype == BODY and i.objid > 0 and _is_zero(s.model.body_mass[i.objid])
    if massless and not _is_zero(s.model.body_subtreemass[i.objid]):
        return [in_site(s, i.refid, s.smooth.com_pos.subtree_com[i.objid])]
    return [in_site(s, i.refid, s.frame(i.objtype, i.objid)[0].pos)]


def _is_zero(mass: Any) -> bool:
    return isinstance(mass, np.floating) and bool(mass < MINVAL)


def _limit(kind: str, measure: Callable[[Limit, Num], Num]) -> Callable[[SensorInputs, Sensor], list[Num]]:
    """Returns a sensor of the end of a range that is active; of the lower one if both are, and zero if none is.

    An end that nothing moves to or from at this moment, as that of a tendon in line with its pendulum, is none.
    """

    def read(s: SensorInputs, i: Sensor) -> list[Num]:
        found = ZERO
        for c, forces in reversed([*zip(s.forward.constraints, s.forward.solution.efc_force, strict=True)]):
            limit = c.source
            if isinstance(limit, Limit) and (limit.kind, limit.id) == (kind, i.objid):
                moves = total(map(absolute, c.jacobian.rows[0].values())) > 0.0
                found = where(logical_and(moves, limit.efc_pos < 0.0), measure(limit, forces[0]), found)
        return [found]

    return read


READ: dict[str, Callable[[SensorInputs, Sensor], Sequence[Num]]] = {
    "touch": _touch,
    "accelerometer": frame.accelerometer,
    "velocimeter": frame.velocimeter,
    "gyro": frame.gyro,
    "force": frame.force,
    "torque": frame.torque,
    "magnetometer": _magnetometer,
    "contact": contact,
    "rangefinder": rangefinder,
    "jointpos": lambda s, i: [s.qpos[joint(s.model, i.objid).qposadr]],
    "jointvel": lambda s, i: [s.qvel[joint(s.model, i.objid).dofadr]],
    "tendonpos": lambda s, i: [s.smooth.tendons[i.objid].length],
    "tendonvel": lambda s, i: [s.smooth.tendons[i.objid].velocity(s.qvel)],
    "actuatorpos": lambda s, i: [s.smooth.actuation.length[i.objid]],
    "actuatorvel": _actuator_velocity,
    "actuatorfrc": lambda s, i: [_actuator_forces(s)[i.objid]],
    "jointactfrc": _joint_actuator_force,
    "tendonactfrc": _tendon_actuator_force,
    "jointlimitpos": _limit("joint", lambda limit, force: limit.efc_pos),
    "jointlimitvel": _limit("joint", lambda limit, force: limit.efc_vel),
    "jointlimitfrc": _limit("joint", lambda limit, force: force),
    "tendonlimitpos": _limit("tendon", lambda limit, force: limit.efc_pos),
    "tendonlimitvel": _limit("tendon", lambda limit, force: limit.efc_vel),
    "tendonlimitfrc": _limit("tendon", lambda limit, force: force),
    "ballquat": _ball_quat,
    "ballangvel": lambda s, i: [s.qvel[d] for d in joint(s.model, i.objid).dofs],
    "framepos": frame.position,
    "framequat": frame.orientation,
    "framexaxis": frame.axis(0),
    "frameyaxis": frame.axis(1),
    "framezaxis": frame.axis(2),
    "framelinvel": lambda s, i: frame.velocity(s, i).lin,
    "frameangvel": lambda s, i: frame.velocity(s, i).rot,
    "framelinacc": lambda s, i: frame.acceleration(s, i.objtype, i.objid)[0].lin,
    "frameangacc": lambda s, i: frame.acceleration(s, i.objtype, i.objid)[0].rot,
    "subtreecom": lambda s, i: s.smooth.com_pos.subtree_com[i.objid],
    "subtreelinvel": lambda s, i: s.subtree_vel[i.objid][0],
    "subtreeangmom": lambda s, i: s.subtree_vel[i.objid][1],
    "insidesite": _inside_site,
    "e_potential": _potential,
    "e_kinetic": _kinetic,
    "clock": _clock,
}
SUPPORTED = " ".join(READ)
