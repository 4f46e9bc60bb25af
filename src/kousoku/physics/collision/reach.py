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


def are_out_of_reach(model: Model, pairs: list[tuple[int, int]]) -> list[bool]:
    """Returns whether the two geoms of each pair can never touch, with the numbers of the file."""
    balls: dict[tuple[int, int], Ball | None] = {}

    def ball(geom: int, carrier: int) -> Ball | None:
        if (geom, carrier) not in balls:
            balls[geom, carrier] = _ball(model, geom, carrier)
        return balls[geom, carrier]

    margins, found = model.constants["geom_margin"], []
    for a, b in pairs:
        carrier = _common_ancestor(model, int(model.geom_bodyid[a]), int(model.geom_bodyid[b]))
        one, other = ball(a, carrier), ball(b, carrier)
        reach = 0.0 if one is None or other is None else one[1] + other[1] + float(margins[a] + margins[b])
        found.append(one is not None and other is not None and bool(np.linalg.norm(one[0] - other[0]) > reach))
    return found


def deciding_number(model: Model, a: int, b: int) -> str | None:
    """Returns a number that is a leaf and decides how near two geoms may come; None if there is none."""
    for name in NUMBERS:
        varied = model.varied.get(name)
        if varied is not None and (not isinstance(varied, dict) or not varied.keys().isdisjoint(_between(model, a, b))):
            return name
    return None


def _between(model: Model, a: int, b: int) -> set[int]:
    """Returns the bodies from those of two geoms up to the one that carries both, without it."""
    one, other, found = int(model.geom_bodyid[a]), int(model.geom_bodyid[b]), set()
    carrier = _common_ancestor(model, one, other)
    for body in (one, other):
        while body != carrier:
            found.add(body)
            body = int(model.body_parentid[body])
    return found


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
