"""Sensors of frames: where they are, how they turn and move, and what pushes at them."""

from __future__ import annotations

from collections.abc import Callable

from ..algebra.spatial import SpatialVec
from ..algebra.vector import Quat, Vec
from ..stages.kinematics import Frame
from .inputs import SITE, Sensor, SensorInputs


def position(s: SensorInputs, i: Sensor) -> Vec:
    """Measures where an object is, in the world or in another frame [m]."""
    frame, _ = s.frame(i.objtype, i.objid)
    if i.refid < 0:
        return frame.pos
    other, _ = s.frame(i.reftype, i.refid)
    return other.mat.transpose() @ (frame.pos - other.pos)


def orientation(s: SensorInputs, i: Sensor) -> Quat:
    """Measures how an object is turned, in the world or in another frame."""
    frame, _ = s.frame(i.objtype, i.objid)
    return frame.quat if i.refid < 0 else s.frame(i.reftype, i.refid)[0].quat.inverse() * frame.quat


def axis(which: int) -> Callable[[SensorInputs, Sensor], Vec]:
    """Returns a sensor of one axis of an object's frame, in the world's axes or another frame's."""

    def read(s: SensorInputs, i: Sensor) -> Vec:
        own = s.frame(i.objtype, i.objid)[0].mat.columns()[which]
        return own if i.refid < 0 else s.frame(i.reftype, i.refid)[0].mat.transpose() @ own

    return read


def velocity(s: SensorInputs, i: Sensor) -> SpatialVec:
    """Measures how an object moves, seen from a frame that moves too [rad/s, m/s]."""
    frame, body = s.frame(i.objtype, i.objid)
    v = s.motion_at(frame.pos, body, s.smooth.com_vel.cvel)
    if i.refid < 0:
        return v
    other, other_body = s.frame(i.reftype, i.refid)
    u = s.motion_at(other.pos, other_body, s.smooth.com_vel.cvel)
    to_local = other.mat.transpose()
    return SpatialVec(to_local @ (v.rot - u.rot), to_local @ (v.lin - u.lin - u.rot.cross(frame.pos - other.pos)))


def _site_velocity(s: SensorInputs, i: Sensor) -> SpatialVec:
    frame, body = s.frame(SITE, i.objid)
    v, to_local = s.motion_at(frame.pos, body, s.smooth.com_vel.cvel), frame.mat.transpose()
    return SpatialVec(to_local @ v.rot, to_local @ v.lin)


def velocimeter(s: SensorInputs, i: Sensor) -> Vec:
    """Measures the velocity of a site, in its own axes [m/s]."""
    return _site_velocity(s, i).lin


def gyro(s: SensorInputs, i: Sensor) -> Vec:
    """Measures the angular velocity of a site, in its own axes [rad/s]."""
    return _site_velocity(s, i).rot


def acceleration(s: SensorInputs, objtype: int, number: int) -> tuple[SpatialVec, Frame]:
    """Measures an object's acceleration in the world's axes, gravity included; returns it with the object's frame.

    The linear part is that of the body's field of accelerations at the point plus w x v.
    """
    frame, body = s.frame(objtype, number)
    assert s.rne is not None
    v = s.motion_at(frame.pos, body, s.smooth.com_vel.cvel)
    a = s.motion_at(frame.pos, body, s.rne.cacc)
    return SpatialVec(a.rot, a.lin + v.rot.cross(v.lin)), frame


def accelerometer(s: SensorInputs, i: Sensor) -> Vec:
    """Measures the acceleration of a site, gravity included, in its own axes [m/s^2]."""
    a, frame = acceleration(s, SITE, i.objid)
    return frame.mat.transpose() @ a.lin


def force(s: SensorInputs, i: Sensor) -> Vec:
    """Measures the force between a site's body and the one that carries it, in the site's axes [N]."""
    frame, body = s.frame(SITE, i.objid)
    assert s.rne is not None
    return frame.mat.transpose() @ s.rne.cfrc_int[body].lin


def torque(s: SensorInputs, i: Sensor) -> Vec:
    """Measures the torque between the same bodies about the site, in its axes [N m]."""
    frame, body = s.frame(SITE, i.objid)
    assert s.rne is not None
    wrench = s.rne.cfrc_int[body]
    arm = frame.pos - s.smooth.com_pos.subtree_com[int(s.model.body_rootid[body])]
    return frame.mat.transpose() @ (wrench.rot - arm.cross(wrench.lin))
