"""Geoms that are too far from each other to touch, whatever position their joints take.

Seen from the body that carries both, a hinge moves a geom round a circle, and a ball joint over a sphere: so it stays
in a ball that is known before anything moves. A slide may take it anywhere.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..model import Model
from ..stages.joints import JointType, body_joints

Ball: TypeAlias = tuple[np.ndarray, float]
"""Centre [3] and radius, metres."""

NUMBERS = ("body_pos", "body_quat", "jnt_pos", "jnt_axis", "geom_pos", "geom_size", "geom_rbound", "geom_margin")
"""Numbers of a model that decide how near two geoms may come."""


def is_out_of_reach(model: Model, a: int, b: int) -> bool:
    """Returns whether two geoms can never touch; it is not known where numbers that decide it are leaves."""
    if not model.varied.keys().isdisjoint(NUMBERS):
        return False
    carrier = _common_ancestor(model, int(model.geom_bodyid[a]), int(model.geom_bodyid[b]))
    balls = [_ball(model, geom, carrier) for geom in (a, b)]
    if balls[0] is None or balls[1] is None:
        return False
    (one, radius1), (other, radius2) = balls[0], balls[1]
    margin = float(model.constants["geom_margin"][a] + model.constants["geom_margin"][b])
    return bool(np.linalg.norm(one - other) > radius1 + radius2 + margin)


def _common_ancestor(model: Model, one: int, other: int) -> int:
    """Returns the nearest body that both bodies hang on; a body hangs on itself. A parent's number is the lower one."""
    while one != other:
        one, other = min(one, other), int(model.body_parentid[max(one, other)])
    return one


def _ball(model: Model, geom: int, carrier: int) -> Ball | None:
    """Returns a ball in the frame of a body that it hangs on, which a geom never leaves; None if it may go anywhere."""
    numbers = model.constants
    centre, radius = numbers["geom_pos"][geom], float(numbers["geom_rbound"][geom])
    if not radius:  # a plane
        return None
    body = int(model.geom_bodyid[geom])
    while body != carrier:
        for j in reversed(list(body_joints(model, body))):
            if j.type not in (JointType.HINGE, JointType.BALL):
                return None
            anchor = numbers["jnt_pos"][j.id]
            if j.type == JointType.HINGE:
                axis = numbers["jnt_axis"][j.id]
                anchor = anchor + axis * (axis @ (centre - anchor))
            centre, radius = anchor, radius + float(np.linalg.norm(centre - anchor))
        centre = numbers["body_pos"][body] + _turned(numbers["body_quat"][body], centre)
        body = int(model.body_parentid[body])
    return centre, radius


def _turned(turn: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Returns a point [3] turned by a unit quaternion [4]."""
    twice = 2.0 * np.cross(turn[1:], point)
    return point + turn[0] * twice + np.cross(turn[1:], twice)
