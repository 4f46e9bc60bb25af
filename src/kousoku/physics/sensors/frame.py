"""What is measured of frames: where they are, how they turn and move, and what pushes at them."""

from __future__ import annotations

from collections.abc import Callable

from ..algebra.vector import Quat, Six, Vec
from ..stages.kinematics import Frame
from .inputs import SITE, Seen, Sensor


def position(s: Seen, i: Sensor) -> Vec:
    """Where an object is, in the world or in another frame [m]."""
    frame, _ = s.frame(i.objtype, i.obj)
    if i.ref < 0:
        return frame.pos
    other, _ = s.frame(i.reftype, i.ref)
    return other.mat.transposed() @ (frame.pos - other.pos)


def orientation(s: Seen, i: Sensor) -> Quat:
    """How an object is turned, in the world or in another frame."""
    frame, _ = s.frame(i.objtype, i.obj)
    return frame.quat if i.ref < 0 else s.frame(i.reftype, i.ref)[0].quat.inverse() * frame.quat


def axis(which: int) -> Callable[[Seen, Sensor], Vec]:
    """One axis of an object's frame, in the world's axes or another frame's."""

    def read(s: Seen, i: Sensor) -> Vec:
        own = s.frame(i.objtype, i.obj)[0].mat.columns()[which]
        return own if i.ref < 0 else s.frame(i.reftype, i.ref)[0].mat.transposed() @ own

    return read


def relative(s: Seen, i: Sensor) -> Six:
    """How an object moves, seen from a frame that moves too."""
    frame, body = s.frame(i.objtype, i.obj)
    v = s.motion(frame.pos, body, s.smooth.motion.body)
    if i.ref < 0:
        return v
    other, other_body = s.frame(i.reftype, i.ref)
    u = s.motion(other.pos, other_body, s.smooth.motion.body)
    back = other.mat.transposed()
    return Six(back @ (v.rot - u.rot), back @ (v.lin - u.lin - u.rot.cross(frame.pos - other.pos)))


def _at_site(s: Seen, i: Sensor) -> Six:
    frame, body = s.frame(SITE, i.obj)
    v, back = s.motion(frame.pos, body, s.smooth.motion.body), frame.mat.transposed()
    return Six(back @ v.rot, back @ v.lin)


def velocimeter(s: Seen, i: Sensor) -> Vec:
    """The velocity of a site, in its own axes [m/s]."""
    return _at_site(s, i).lin


def gyro(s: Seen, i: Sensor) -> Vec:
    """How fast a site turns, in its own axes [rad/s]."""
    return _at_site(s, i).rot


def acceleration(s: Seen, kind: int, number: int) -> tuple[Six, Frame]:
    """Of a point that is fixed in a body: that of the field of accelerations, and what comes of its turning."""
    frame, body = s.frame(kind, number)
    assert s.reaction is not None
    v = s.motion(frame.pos, body, s.smooth.motion.body)
    a = s.motion(frame.pos, body, s.reaction.acceleration)
    return Six(a.rot, a.lin + v.rot.cross(v.lin)), frame


def accelerometer(s: Seen, i: Sensor) -> Vec:
    """The acceleration of a site, gravity included, in its own axes [m/s^2]."""
    a, frame = acceleration(s, SITE, i.obj)
    return frame.mat.transposed() @ a.lin


def force(s: Seen, i: Sensor) -> Vec:
    """The force between a site's body and the one that carries it, in the site's axes [N]."""
    frame, body = s.frame(SITE, i.obj)
    assert s.reaction is not None
    return frame.mat.transposed() @ s.reaction.force[body].lin


def torque(s: Seen, i: Sensor) -> Vec:
    """The torque between the same bodies about the site, in its axes [N m]."""
    frame, body = s.frame(SITE, i.obj)
    assert s.reaction is not None
    load = s.reaction.force[body]
    arm = frame.pos - s.smooth.tree.subtree_com[int(s.model.body_rootid[body])]
    return frame.mat.transposed() @ (load.rot - arm.cross(load.lin))
