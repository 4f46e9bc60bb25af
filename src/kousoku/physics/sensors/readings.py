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
from ..algebra.scalar import SMALLEST, ZERO, Num, clipped, minimum, num, nums, stacked, total, where
from ..algebra.vector import Vec, quat, vec
from ..constraint.friction_limit import Limit
from ..energy import kinetic, momentum_of_subtrees, potential
from ..forward import Forward
from ..model import Model
from ..stages.actuation import Transmission
from ..stages.joints import joint
from ..stages.kinematics import row
from . import frame
from .contact import contact, in_site, listed
from .inputs import BODY, SITE, Seen, Sensor
from .rangefinder import rangefinder
from .rne_postconstraint import reaction
from .touch import touch

# MuJoCo's mjtDataType.
POSITIVE = 1
REACTIONS = {"accelerometer", "force", "torque", "framelinacc", "frameangacc"}
SUBTREES = {"subtreelinvel", "subtreeangmom"}


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
    every = [_sensor(model, i) for i in range(len(kinds))]
    asking = [sensor for kind, sensor in zip(kinds, every, strict=True) if kind == "contact"]
    seen = Seen(model, f, f.smooth, qpos, qvel, reacts, subtree, listed(f, asking) if asking else [])
    for i, (kind, sensor) in enumerate(zip(kinds, every, strict=True)):
        first = int(model.sensor_adr[i])
        values = READ[kind](seen, sensor)
        data[first : first + sensor.dim] = values if kind == "contact" else _cut(model, i, values)
    return data


def _sensor(model: Model, i: int) -> Sensor:
    fields = (int(getattr(model, f"sensor_{name}")[i]) for name in ("objtype", "objid", "reftype", "refid", "dim"))
    return Sensor(*fields, asked=tuple(int(x) for x in model.sensor_intprm[i]))


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


def _magnetometer(s: Seen, i: Sensor) -> Vec:
    return s.frame(SITE, i.obj)[0].mat.transposed() @ vec(nums(s.model.magnetic))


def _touch(s: Seen, i: Sensor) -> list[Num]:
    place, body = s.frame(SITE, i.obj)
    return [touch(s.forward, place, int(s.model.site_type[i.obj]), row(s.model.site_size, i.obj), body)]


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


def _inside_site(s: Seen, i: Sensor) -> list[Num]:
    """A body without mass stands for those that it carries."""
    light = i.objtype == BODY and i.obj > 0 and _is_zero(s.model.body_mass[i.obj])
    if light and not _is_zero(s.model.body_subtreemass[i.obj]):
        return [in_site(s, i.ref, s.smooth.tree.subtree_com[i.obj])]
    return [in_site(s, i.ref, s.frame(i.objtype, i.obj)[0].pos)]


def _is_zero(mass: Any) -> bool:
    return isinstance(mass, np.floating) and bool(mass < SMALLEST)


def _limit(kind: str, measure: Callable[[Limit, Num], Num]) -> Callable[[Seen, Sensor], list[Num]]:
    """Of the end of a range that holds; of the lower one if both do, and zero if none does."""

    def read(s: Seen, i: Sensor) -> list[Num]:
        found = ZERO
        for c, forces in reversed([*zip(s.forward.constraints, s.forward.solution.forces, strict=True)]):
            end = c.of
            if isinstance(end, Limit) and (end.kind, end.number) == (kind, i.obj):
                found = where(end.away < 0.0, measure(end, forces[0]), found, end.away)
        return [found]

    return read


READ: dict[str, Callable[[Seen, Sensor], Sequence[Num]]] = {
    "touch": _touch,
    "accelerometer": frame.accelerometer,
    "velocimeter": frame.velocimeter,
    "gyro": frame.gyro,
    "force": frame.force,
    "torque": frame.torque,
    "magnetometer": _magnetometer,
    "contact": contact,
    "rangefinder": rangefinder,
    "jointpos": lambda s, i: [s.qpos[joint(s.model, i.obj).qpos]],
    "jointvel": lambda s, i: [s.qvel[joint(s.model, i.obj).dof]],
    "tendonpos": lambda s, i: [s.smooth.tendons[i.obj].length],
    "tendonvel": lambda s, i: [s.smooth.tendons[i.obj].velocity(s.qvel)],
    "actuatorpos": lambda s, i: [s.smooth.actuation.length[i.obj]],
    "actuatorvel": _actuator_velocity,
    "actuatorfrc": lambda s, i: [_actuator_forces(s)[i.obj]],
    "jointactfrc": _joint_force,
    "tendonactfrc": _tendon_force,
    "jointlimitpos": _limit("joint", lambda end, force: end.away),
    "jointlimitvel": _limit("joint", lambda end, force: end.speed),
    "jointlimitfrc": _limit("joint", lambda end, force: force),
    "tendonlimitpos": _limit("tendon", lambda end, force: end.away),
    "tendonlimitvel": _limit("tendon", lambda end, force: end.speed),
    "tendonlimitfrc": _limit("tendon", lambda end, force: force),
    "ballquat": _ball_turn,
    "ballangvel": lambda s, i: [s.qvel[d] for d in joint(s.model, i.obj).dofs],
    "framepos": frame.position,
    "framequat": frame.orientation,
    "framexaxis": frame.axis(0),
    "frameyaxis": frame.axis(1),
    "framezaxis": frame.axis(2),
    "framelinvel": lambda s, i: frame.relative(s, i).lin,
    "frameangvel": lambda s, i: frame.relative(s, i).rot,
    "framelinacc": lambda s, i: frame.acceleration(s, i.objtype, i.obj)[0].lin,
    "frameangacc": lambda s, i: frame.acceleration(s, i.objtype, i.obj)[0].rot,
    "subtreecom": lambda s, i: s.smooth.tree.subtree_com[i.obj],
    "subtreelinvel": lambda s, i: s.subtree[i.obj][0],
    "subtreeangmom": lambda s, i: s.subtree[i.obj][1],
    "insidesite": _inside_site,
    "e_potential": _potential,
    "e_kinetic": _kinetic,
    "clock": _clock,
}
DONE = " ".join(READ)
