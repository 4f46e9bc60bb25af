"""Contact sensors: which contacts there are of some geoms, bodies or subtrees, or within a site, and what they do.

A sensor has slots. Each tells of one contact, of those that MuJoCo lists first, that are deepest or that are strongest;
or its only slot tells what all of them do together. MuJoCo lists pairs of geoms by their bodies, and the points of a
pair in an order that `ContactPoint` has.

References:
    MuJoCo documentation, XML reference, sensor/contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import jax.numpy as jnp

from ..algebra.scalar import MINVAL, ONE, ZERO, Num, maximum, nums, row, to_array, total, where
from ..algebra.vector import ZERO3, Vec
from ..collision.candidates import Candidate
from ..collision.ray import contains
from ..constraint.contact import Contact, tangent_sign
from ..contacts import along_axes, contact_forces
from ..forward import Forward
from ..model import Model
from .inputs import BODY, GEOM, SITE, XBODY, Sensor, SensorInputs

NEAREST, STRONGEST, NET_FORCE = 1, 2, 3
"""Values of a contact sensor's `reduce`: mindist, maxforce, netforce."""
FIELDS = {"found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3,
          "linvel": 3, "angvel": 3}  # fmt: skip
MOST_POINTS = 8
"""How many points two geoms have at most."""
NEVER = float("inf")


@dataclass(frozen=True)
class Match:
    """A contact that a sensor asks for.

    Attributes:
        contact: the point where geoms may touch.
        active: one if they do, and where the sensor looks; else zero.
        side: -1 if the sensor sees it from the other side, else 1.
        axes: its normal and two tangents, as MuJoCo chooses them.
        force: force along these axes, then torque about them.
        velocity: linear, then angular velocity along the same axes, of the second geom as seen from the first.
    """

    contact: Contact
    active: Num
    side: float
    axes: list[Vec]
    force: list[Num]
    velocity: list[Num]

    def fields(self) -> dict[str, Sequence[Num]]:
        """Returns all fields but how many there are."""
        point, (normal, tangent, _) = self.contact.point, self.axes
        return {
            "force": self._from_side(self.force[:3]),
            "torque": self._from_side(self.force[3:]),
            "dist": [point.dist],
            "pos": point.pos,
            "normal": normal * self.side,
            "tangent": tangent * self.side,
            "linvel": self._from_side(self.velocity[:3]),
            "angvel": self._from_side(self.velocity[3:]),
        }

    def _from_side(self, sizes: Sequence[Num]) -> list[Num]:
        """Returns what one geom does to the other from the sensor's side, where the first two axes are reversed."""
        return [sizes[0], sizes[1], sizes[2] * self.side]

    def wrench(self) -> tuple[Vec, Vec]:
        """Returns its force and torque in the world's axes; zero if it is not active."""
        axes = [axis * (self.active * self.side) for axis in self.axes]
        return along_axes(axes, self.force[:3]), along_axes(axes, self.force[3:])


def contact(s: SensorInputs, i: Sensor) -> list[Num]:
    """Measures all slots of a contact sensor, one after the other [dim]."""
    bits, reduce = i.intprm[:2]
    names = [name for bit, name in enumerate(FIELDS) if bits >> bit & 1]
    matches = _matches(s, i)
    count = total(m.active for m in matches)
    if reduce == NET_FORCE:
        found = _flat(names, _net_force(matches, count))
        return found + [ZERO] * (i.dim - len(found))
    return _slots(matches, reduce, names, i.dim, count, s.forward.state.qpos.dtype)


def sensed_contacts(f: Forward, sensors: Sequence[Sensor]) -> list[tuple[Contact, list[Num]]]:
    """Returns contacts that any of these sensors asks for, with their forces [6], in the order of MuJoCo's list."""
    found = contact_forces(f, lambda c: any(_side(f.model, i, c) for i in sensors))
    return sorted(found, key=lambda pair: _order(f.model, pair[0].candidate))


def _matches(s: SensorInputs, i: Sensor) -> list[Match]:
    found = []
    for c, force in s.contacts:
        side = _side(s.model, i, c.candidate)
        if not side:
            continue
        active = where(c.efc_pos < 0.0, in_site(s, i.objid, c.point.pos) if i.objtype == SITE else ONE, 0.0)
        signs = ONE, *[tangent_sign(c.point)] * 2
        axes = [axis * sign for axis, sign in zip(c.frame, signs, strict=True)]
        own = [f * sign for f, sign in zip(force, signs * 2, strict=True)]
        found.append(Match(c, active, side, axes, own, _velocity(s, c, axes)))
    return found


def _velocity(s: SensorInputs, c: Contact, axes: Sequence[Vec]) -> list[Num]:
    """Returns the second geom's linear, then angular velocity as seen from the first, along some axes [6]."""
    bodies = (int(s.model.geom_bodyid[g]) for g in (c.candidate.geom1, c.candidate.geom2))
    first, second = (s.motion_at(c.point.pos, body, s.smooth.com_vel.cvel) for body in bodies)
    return [axis.dot(b - a) for a, b in zip(reversed(first), reversed(second), strict=True) for axis in axes]


def _side(model: Model, i: Sensor, c: Candidate) -> float:
    """Returns 1 if the normals of two geoms' contacts point from the first that is asked for to the second.

    -1 if they point from the second to the first, and 0 if they are not asked for.
    """
    one, other = (
        [_is(model, g, kind, number) for g in (c.geom1, c.geom2)]
        for kind, number in ((i.objtype, i.objid), (i.reftype, i.refid))
    )
    return 1.0 if one[0] and other[1] else -1.0 if one[1] and other[0] else 0.0


def _is(model: Model, geom: int, kind: int, number: int) -> bool:
    """Returns whether a geom is the one asked for, or of the body or subtree asked for; true if nothing is."""
    body = int(model.geom_bodyid[geom])
    if kind == XBODY:
        while body > number:
            body = int(model.body_parentid[body])
    return {GEOM: geom, BODY: body, XBODY: body}.get(kind, number) == number


def _order(model: Model, c: Candidate) -> tuple[int, ...]:
    """Returns a key that sorts pairs of geoms by their bodies, in each the pairs that the file names first.

    MuJoCo's midphase sorts those of two bodies as contacts have them, the kind that comes first being the first.
    """
    ends = sorted((int(model.geom_bodyid[g]), g) for g in (c.geom1, c.geom2))
    named = [set(pair) == {c.geom1, c.geom2} for pair in zip(model.pair_geom1, model.pair_geom2, strict=True)]
    which = named.index(True) if any(named) else len(named)
    geoms = (ends[0][1], ends[1][1]) if model.no_midphase else (c.geom1, c.geom2)
    return ends[0][0], ends[1][0], which, *geoms


def in_site(s: SensorInputs, site: int, point: Vec) -> Num:
    """Returns one if a point of the world is in a site, else zero."""
    frame, _ = s.frame(SITE, site)
    size, own = row(s.model.site_size, site), frame.mat.transpose() @ (point - frame.pos)
    return where(contains(int(s.model.site_type[site]), size, own), 1.0, 0.0)


def _slots(matches: Sequence[Match], reduce: int, names: Sequence[str], dim: int, count: Num, dtype: Any) -> list[Num]:
    """Returns the fields of the contacts whose keys are least, in their order [dim]."""
    but_found, size = [name for name in names if name != "found"], sum(FIELDS[name] for name in names)
    if not matches:
        return [ZERO] * dim
    places = _places(matches)
    keys = to_array([_key(m, reduce, place) for m, place in zip(matches, places, strict=True)], dtype)
    ranks = to_array(places, dtype)
    table = jnp.stack([to_array(_flat(but_found, m.fields()), dtype) for m in matches]) if but_found else None
    found: list[Num] = []
    for slot in range(dim // size):
        filled = count > float(slot)
        if "found" in names:
            found.append(where(filled, count, 0.0))
        if table is not None:
            best = jnp.argmin(jnp.where(keys == keys.min(), ranks, NEVER))
            keys = jnp.where(jnp.arange(len(matches)) == best, NEVER, keys)
            found += [where(filled, x, 0.0) for x in nums(table[best])]
    return found


def _places(matches: Sequence[Match]) -> list[Num]:
    """Returns numbers that grow along MuJoCo's list of contacts, for contacts whose pairs of geoms are in its order."""
    found = []
    for pair, (_, same) in enumerate(groupby(matches, key=lambda m: id(m.contact.candidate))):
        points = [m.contact.point for m in same]
        order = points[0].order
        places = order() if order else [Num(float(place)) for place in range(len(points))]
        found += [place + float(MOST_POINTS * pair) for place in places]
    return found


def _key(m: Match, reduce: int, place: Num) -> Num:
    """Returns what contacts are chosen by: their place in the list, their distance, or minus their squared force."""
    f = Vec(*m.force[:3])
    key = m.contact.point.dist if reduce == NEAREST else -f.dot(f) if reduce == STRONGEST else place
    return where(m.active > 0.0, key, NEVER)


def _net_force(matches: Sequence[Match], count: Num) -> dict[str, Sequence[Num]]:
    """Returns force and torque of all contacts about the centre of their forces, in the world's axes, as fields."""
    wrenches = [m.wrench() for m in matches]
    weights = [force.norm_and_unit()[0] for force, _ in wrenches]
    points = [m.contact.point.pos for m in matches]
    centre = force = torque = ZERO3
    for weight, point in zip(weights, points, strict=True):
        centre = centre + point * (weight / maximum(total(weights), MINVAL))
    for (push, turn), point in zip(wrenches, points, strict=True):
        force, torque = force + push, torque + turn + (point - centre).cross(push)
    one = where(count > 0.0, 1.0, 0.0)
    axes = Vec(one, ZERO, ZERO), Vec(ZERO, one, ZERO)
    return dict(zip(FIELDS, ([count], force, torque, [ZERO], centre, *axes), strict=False))


def _flat(names: Sequence[str], fields: dict[str, Sequence[Num]]) -> list[Num]:
    return list(chain.from_iterable(fields[name] for name in names))
