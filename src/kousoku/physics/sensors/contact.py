"""Contact sensors: which contacts there are of some geoms, bodies or subtrees, or within a site, and what they do.

A sensor has slots. Each tells of one contact, of those that MuJoCo lists first, that are deepest or that are strongest;
or its only slot tells what all of them do together. MuJoCo lists pairs of geoms by their bodies; of several points of
one pair it may list another one first.

References:
    MuJoCo documentation, XML reference, sensor/contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import jax.numpy as jnp

from ..algebra.scalar import ONE, SMALLEST, ZERO, Num, maximum, nums, stacked, total, where
from ..algebra.vector import NOWHERE, Vec
from ..collision.candidates import Candidate
from ..collision.ray import inside
from ..constraint.contact import Contact, tangent_sign
from ..contacts import in_world, met
from ..forward import Forward
from ..model import Model
from ..stages.kinematics import row
from .inputs import BODY, GEOM, SITE, XBODY, Seen, Sensor

NEAREST, STRONGEST, TOGETHER = 1, 2, 3
FIELDS = {"found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3,
          "linvel": 3, "angvel": 3}  # fmt: skip
NEVER = float("inf")


@dataclass(frozen=True)
class Match:
    """A contact that a sensor asks for.

    Attributes:
        contact: where geoms may touch.
        present: one if they do, and where the sensor looks; else zero.
        turned: -1 if the sensor sees it from the other side, else 1.
        axes: its normal and two tangents, as MuJoCo chooses them.
        force: along these axes, then torque about them.
        speed: along and about the same axes, of the second geom as seen from the first.
    """

    contact: Contact
    present: Num
    turned: float
    axes: list[Vec]
    force: list[Num]
    speed: list[Num]

    def told(self) -> dict[str, Sequence[Num]]:
        """All fields but how many there are."""
        touch, (normal, tangent, _) = self.contact.touch, self.axes
        return {
            "force": self._seen(self.force[:3]),
            "torque": self._seen(self.force[3:]),
            "dist": [touch.distance],
            "pos": touch.point,
            "normal": normal * self.turned,
            "tangent": tangent * self.turned,
            "linvel": self._seen(self.speed[:3]),
            "angvel": self._seen(self.speed[3:]),
        }

    def _seen(self, sizes: Sequence[Num]) -> list[Num]:
        """What one geom does to the other, from the sensor's side: there the first two axes point the other way."""
        return [sizes[0], sizes[1], sizes[2] * self.turned]

    def wrench(self) -> tuple[Vec, Vec]:
        """Its force and torque in the world's axes; nothing if it is not there."""
        axes = [axis * (self.present * self.turned) for axis in self.axes]
        return in_world(axes, self.force[:3]), in_world(axes, self.force[3:])


def contact(s: Seen, i: Sensor) -> list[Num]:
    """All slots of a contact sensor, one after the other."""
    bits, reduce = i.asked[:2]
    fields = [name for bit, name in enumerate(FIELDS) if bits >> bit & 1]
    matches = _matches(s, i)
    count = total(m.present for m in matches)
    if reduce == TOGETHER:
        found = _flat(fields, _together(matches, count))
        return found + [ZERO] * (i.dim - len(found))
    return _slots(matches, reduce, fields, i.dim, count, s.forward.state.qpos.dtype)


def listed(f: Forward, sensors: Sequence[Sensor]) -> list[tuple[Contact, list[Num]]]:
    """Contacts that any of these sensors asks for, with their forces, in the order of MuJoCo's list."""
    found = met(f, lambda c: any(_side(f.model, i, c) for i in sensors))
    return sorted(found, key=lambda pair: _place(f.model, pair[0].candidate))


def _matches(s: Seen, i: Sensor) -> list[Match]:
    found = []
    for c, force in s.contacts:
        side = _side(s.model, i, c.candidate)
        if not side:
            continue
        present = where(c.away < 0.0, in_site(s, i.obj, c.touch.point) if i.objtype == SITE else ONE, 0.0, c.away)
        signs = ONE, *[tangent_sign(c.touch)] * 2
        axes = [axis * sign for axis, sign in zip(c.axes, signs, strict=True)]
        own = [f * sign for f, sign in zip(force, signs * 2, strict=True)]
        found.append(Match(c, present, side, axes, own, _speed(s, c, axes)))
    return found


def _speed(s: Seen, c: Contact, axes: Sequence[Vec]) -> list[Num]:
    """How the second geom moves and turns, as seen from the first, along some axes."""
    bodies = (int(s.model.geom_bodyid[g]) for g in (c.candidate.first, c.candidate.second))
    first, second = (s.motion(c.touch.point, body, s.smooth.motion.body) for body in bodies)
    return [axis.dot(b - a) for a, b in zip(reversed(first), reversed(second), strict=True) for axis in axes]


def _side(model: Model, i: Sensor, c: Candidate) -> float:
    """1 if the normals of two geoms' contacts point from the first that is asked for to the second, -1 if they point
    from the second to the first, and 0 if they are not asked for."""
    one, other = (
        [_is(model, g, kind, number) for g in (c.first, c.second)]
        for kind, number in ((i.objtype, i.obj), (i.reftype, i.ref))
    )
    return 1.0 if one[0] and other[1] else -1.0 if one[1] and other[0] else 0.0


def _is(model: Model, geom: int, kind: int, number: int) -> bool:
    """Whether a geom is the one that is asked for, or of the body, or of the subtree; any is if none is asked for."""
    body = int(model.geom_bodyid[geom])
    if kind == XBODY:
        while body > number:
            body = int(model.body_parentid[body])
    return {GEOM: geom, BODY: body, XBODY: body}.get(kind, number) == number


def _place(model: Model, c: Candidate) -> tuple[int, ...]:
    """Pairs of geoms by their bodies, in each the pairs that the file names first, then the others.

    MuJoCo's midphase sorts those of two bodies as contacts have them, the kind that comes first being the first.
    """
    ends = sorted((int(model.geom_bodyid[g]), g) for g in (c.first, c.second))
    named = [set(pair) == {c.first, c.second} for pair in zip(model.pair_geom1, model.pair_geom2, strict=True)]
    which = named.index(True) if any(named) else len(named)
    geoms = (ends[0][1], ends[1][1]) if model.no_midphase else (c.first, c.second)
    return ends[0][0], ends[1][0], which, *geoms


def in_site(s: Seen, site: int, point: Vec) -> Num:
    """One if a point of the world is in a site, else zero."""
    frame, _ = s.frame(SITE, site)
    size, own = row(s.model.site_size, site), frame.mat.transposed() @ (point - frame.pos)
    return where(inside(int(s.model.site_type[site]), size, own), 1.0, 0.0, total([*size, *own]))


def _slots(matches: Sequence[Match], reduce: int, fields: Sequence[str], dim: int, count: Num, dtype: Any) -> list[Num]:
    """What is told of the contacts whose keys are least, in their order."""
    told, size = [name for name in fields if name != "found"], sum(FIELDS[name] for name in fields)
    if not matches:
        return [ZERO] * dim
    keys = stacked([_key(m, reduce, place) for place, m in enumerate(matches)], dtype)
    table = jnp.stack([stacked(_flat(told, m.told()), dtype) for m in matches]) if told else None
    found: list[Num] = []
    for slot in range(dim // size):
        there = count > float(slot)
        if "found" in fields:
            found.append(where(there, count, 0.0))
        if table is not None:
            best = jnp.argmin(keys)
            keys = jnp.where(jnp.arange(len(matches)) == best, NEVER, keys)
            found += [where(there, x, 0.0) for x in nums(table[best])]
    return found


def _key(m: Match, reduce: int, place: int) -> Num:
    """What contacts are chosen by: their place in the list, how far apart the surfaces are, or less their force."""
    f = Vec(*m.force[:3])
    key = m.contact.touch.distance if reduce == NEAREST else -f.dot(f) if reduce == STRONGEST else Num(float(place))
    return where(m.present > 0.0, key, NEVER, key + m.present)


def _together(matches: Sequence[Match], count: Num) -> dict[str, Sequence[Num]]:
    """The force and torque of all contacts about the centre of their forces, in the world's axes."""
    wrenches = [m.wrench() for m in matches]
    weights = [force.direction()[0] for force, _ in wrenches]
    points = [m.contact.touch.point for m in matches]
    centre = force = torque = NOWHERE
    for weight, point in zip(weights, points, strict=True):
        centre = centre + point * (weight / maximum(total(weights), SMALLEST))
    for (push, turn), point in zip(wrenches, points, strict=True):
        force, torque = force + push, torque + turn + (point - centre).cross(push)
    one = where(count > 0.0, 1.0, 0.0, count)
    axes = Vec(one, ZERO, ZERO), Vec(ZERO, one, ZERO)
    return dict(zip(FIELDS, ([count], force, torque, [ZERO], centre, *axes), strict=False))


def _flat(fields: Sequence[str], told: dict[str, Sequence[Num]]) -> list[Num]:
    return list(chain.from_iterable(told[name] for name in fields))
