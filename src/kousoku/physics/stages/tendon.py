"""Tendons: weighted sums of joint positions, or paths from site to site (mj_tendon).

A path is straight between two sites, or goes round a geom between them. Behind a pulley it counts by the share that the
pulley's divisor leaves.

References:
    MuJoCo documentation, XML reference, tendon/fixed and tendon/spatial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..algebra.scalar import ONE, ZERO, Bool, Num, logical_not, nums, row, total, where
from ..algebra.vector import ZERO3, Vec, quat, vec
from ..model import Model
from .apply_ft import wrench_at_com
from .com_pos import ComPos
from .joints import ancestors, joint, last_dof
from .kinematics import Frame, Kinematics, geom_frame, site_frame
from .wrapping import Wrap, wrap


class WrapType(IntEnum):
    """MuJoCo's mjtWrap."""

    JOINT = 1
    PULLEY = 2
    SITE = 3
    SPHERE = 4
    CYLINDER = 5


@dataclass(frozen=True)
class Pull:
    """A point of a spatial tendon's path, where its force acts on a body.

    Attributes:
        body: which carries the point.
        pos: the point in the world.
        along: derivative of the tendon's length with respect to it: the force there for each newton along the tendon.
    """

    body: int
    pos: Vec
    along: Vec


@dataclass(frozen=True)
class Tendon:
    """A tendon at a position.

    Attributes:
        length: ten_length, metres or radians.
        jac: ten_J: derivative of the length with respect to each degree of freedom that the tendon is tied to.
        pulls: the points of its path; none of a fixed tendon, which pulls at no body.
    """

    length: Num
    jac: dict[int, Num]
    pulls: tuple[Pull, ...] = ()

    def velocity(self, qvel: Sequence[Num]) -> Num:
        """Returns ten_velocity, the rate at which the tendon lengthens."""
        return total(arm * qvel[d] for d, arm in self.jac.items())

    def add_qfrc(self, qfrc: list[Num], force: Num) -> None:
        """Adds J'f of a force f along the tendon to the generalised forces `qfrc` [nv], in place."""
        for d, arm in self.jac.items():
            qfrc[d] = qfrc[d] + arm * force


@dataclass(frozen=True)
class Leg:
    """A spatial tendon's way from one site to the next.

    Attributes:
        start, end: the sites.
        around: the entry of the path that is a geom between them; None if there is none.
        pulley: the entry of the pulley that it lies behind; None if there is none.
    """

    start: int
    end: int
    around: int | None
    pulley: int | None


@dataclass(frozen=True)
class _Point:
    """A point of a tendon's path: the body that carries it, and where it is in the world."""

    body: int
    pos: Vec


@dataclass(frozen=True)
class _Part:
    """A straight part of a tendon's path.

    Attributes:
        start, end: its ends.
        share: of its length that counts.
        counts: whether it is there.
        round: how long the way round a geom is that follows, metres.
    """

    start: _Point
    end: _Point
    share: Num
    counts: Bool = True
    round: Num = ZERO


def tendons(model: Model, k: Kinematics, com: ComPos, qpos: Sequence[Num]) -> list[Tendon]:
    """Returns all tendons at the joint positions `qpos` [nq]."""
    found = []
    for i in range(model.ntendon):
        wraps = path(model, i)
        is_fixed = model.wrap_type[wraps[0]] == WrapType.JOINT
        found.append(_fixed(model, qpos, wraps) if is_fixed else _spatial(model, k, com, wraps))
    return found


def path(model: Any, tendon: int) -> range:
    """Returns the entries of a tendon's path, of a model of ours or of MuJoCo's."""
    first = int(model.tendon_adr[tendon])
    return range(first, first + int(model.tendon_num[tendon]))


def legs(model: Any, wraps: range) -> Iterator[Leg]:
    """Yields the legs of a path, of a model of ours or of MuJoCo's; none of a fixed tendon."""
    pulley, last, around = None, None, None
    for w in wraps:
        kind = WrapType(int(model.wrap_type[w]))
        if kind == WrapType.PULLEY:
            pulley, last = w, None
        elif kind == WrapType.SITE:
            site = int(model.wrap_objid[w])
            if last is not None:
                yield Leg(last, site, around, pulley)
            last, around = site, None
        else:
            around = w


def way_round(model: Model, k: Kinematics, start: Vec, end: Vec, around: int, between: int = 0) -> Wrap:
    """Returns the way from one place in the world to another past the geom of an entry; see `wrap`."""
    geom, side = int(model.wrap_objid[around]), round(float(model.constants["wrap_prm"][around]))
    is_sphere, radius = model.wrap_type[around] == WrapType.SPHERE, row(model.geom_size, geom)[0]
    frame = geom_frame(model, k, geom)
    beside = None if side < 0 else _seen_from_geom(model, k, side, geom, frame)
    return wrap(start, end, frame, radius, bool(is_sphere), beside, between)


def _seen_from_geom(model: Model, k: Kinematics, site: int, geom: int, frame: Frame) -> Vec:
    """Returns where a site is in the frame of a geom: known, where one body carries both."""
    if model.site_bodyid[site] != model.geom_bodyid[geom]:
        return frame.mat.transpose() @ (site_frame(model, k, site).pos - frame.pos)
    offset = vec(row(model.site_pos, site)) - vec(row(model.geom_pos, geom))
    return quat(row(model.geom_quat, geom)).matrix().transpose() @ offset


def _fixed(model: Model, qpos: Sequence[Num], wraps: range) -> Tendon:
    coefficients = nums(model.wrap_prm)
    tied = [joint(model, int(model.wrap_objid[w])) for w in wraps]
    length = total(coefficients[w] * qpos[j.qposadr] for w, j in zip(wraps, tied, strict=True))
    return Tendon(length, {j.dofadr: coefficients[w] for w, j in zip(wraps, tied, strict=True)})


def _spatial(model: Model, k: Kinematics, com: ComPos, wraps: range) -> Tendon:
    length, jac, pulls = ZERO, {}, []
    for part in _parts(model, k, wraps):
        distance, direction = (part.end.pos - part.start.pos).norm_and_unit()
        length = length + where(part.counts, distance + part.round, 0.0) * part.share
        for d, arm in _arms(model, com, part.start, part.end, direction).items():
            jac[d] = jac.get(d, ZERO) + where(part.counts, arm, 0.0) * part.share
        along = direction * (where(part.counts, 1.0, 0.0) * part.share)
        pulls += [Pull(part.start.body, part.start.pos, -along), Pull(part.end.body, part.end.pos, along)]
    return Tendon(length, dict(sorted(jac.items())), tuple(pulls))


def _parts(model: Model, k: Kinematics, wraps: range) -> Iterator[_Part]:
    """Yields the straight parts of a path, with what lies round a geom behind each."""
    found = list(legs(model, wraps))
    sites = dict.fromkeys(site for leg in found for site in (leg.start, leg.end))
    points = {site: _Point(int(model.site_bodyid[site]), site_frame(model, k, site).pos) for site in sites}
    for leg in found:
        start, end = points[leg.start], points[leg.end]
        share = ONE if leg.pulley is None else 1.0 / nums(model.wrap_prm)[leg.pulley]
        if leg.around is None:
            yield _Part(start, end, share)
        else:
            yield from _round(model, k, start, end, share, leg.around)


def _round(model: Model, k: Kinematics, start: _Point, end: _Point, share: Num, w: int) -> Iterator[_Part]:
    """Yields the parts of a path past a geom: two with a way round it between them, or a straight one."""
    body, way = int(model.geom_bodyid[int(model.wrap_objid[w])]), way_round(model, k, start.pos, end.pos, w)
    yield _Part(start, _Point(body, way.first), share, way.touches, way.length)
    yield _Part(_Point(body, way.last), end, share, way.touches)
    yield _Part(start, end, share, logical_not(way.touches))


def _arms(model: Model, com: ComPos, start: _Point, end: _Point, direction: Vec) -> dict[int, Num]:
    """Returns how fast each degree of freedom moves the ends away from each other; what moves both does not."""
    chains = [set(ancestors(model, last_dof(model, point.body))) for point in (start, end)]
    arms = {}
    for point, own, other, sign in ((start, *chains, -1.0), (end, *reversed(chains), 1.0)):
        wrench = wrench_at_com(com, model, point.body, point.pos, direction * sign, ZERO3)
        arms |= {d: com.cdof[d].dot(wrench) for d in own - other}
    return arms
