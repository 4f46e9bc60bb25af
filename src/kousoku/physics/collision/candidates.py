"""Which geoms can touch, and with what friction and softness: known before anything moves.

References:
    MuJoCo documentation, Computation, "Collision detection": selection and parameters of contact pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model import Model
from ..scalar import Num, maximum, nums, total, where
from .shapes import PAIRS, Shape

LEAST_FRICTION = 1e-5


@dataclass(frozen=True)
class Candidate:
    """Two geoms that may touch.

    Attributes:
        first, second: geoms, the kind of the first not above that of the second.
        condim: 1 without friction, 3 sliding, 4 torsional too, 6 rolling too.
        friction: two of sliding, one torsional, two rolling.
        solref, solimp: of the constraint.
        margin: distance from which it acts, and from which it is counted as zero.
    """

    first: int
    second: int
    condim: int
    friction: list[Num]
    solref: list[Num]
    solimp: list[Num]
    margin: Num


def candidates(model: Model) -> list[Candidate]:
    """All pairs that the model's filters let through, and those that it names."""
    if model.no_contact or model.no_constraint:
        return []
    found = [_named(model, p) for p in range(model.npair)]
    named = {int(s) for s in model.pair_signature}
    for a in range(model.ngeom):
        for b in range(a + 1, model.ngeom):
            if _may_touch(model, a, b, named):
                first, second = (b, a) if model.geom_type[a] > model.geom_type[b] else (a, b)
                found.append(_mixed(model, first, second))
    return found


def missing(model: Model) -> list[tuple[Shape, Shape]]:
    """Kinds of pairs that may touch and that there is no function for."""
    kinds = {tuple(Shape(int(model.geom_type[g])) for g in (c.first, c.second)) for c in candidates(model)}
    return [pair for pair in sorted(kinds) if pair not in PAIRS]  # type: ignore[misc]


def _may_touch(model: Model, a: int, b: int, named: set[int]) -> bool:
    one, other = sorted((int(model.geom_bodyid[a]), int(model.geom_bodyid[b])))
    signature = (one << 16) + other
    if signature in named or signature in {int(s) for s in model.exclude_signature}:
        return False
    kinds = model.geom_contype, model.geom_conaffinity
    if not (kinds[0][a] & kinds[1][b] or kinds[0][b] & kinds[1][a]):
        return False
    if model.geom_type[a] == Shape.PLANE and model.geom_type[b] == Shape.PLANE:
        return False
    weld, parent = model.body_weldid, model.body_parentid
    w1, w2 = int(weld[one]), int(weld[other])
    if w1 == w2:
        return False
    above = int(weld[int(parent[w1])]), int(weld[int(parent[w2])])
    family = (w1 == above[1] and w1 != 0) or (w2 == above[0] and w2 != 0)
    return bool(model.no_filterparent) or not family


def _mixed(model: Model, a: int, b: int) -> Candidate:
    """The parameters of two geoms: those of the one of higher priority, else mixed."""
    friction, solref, solimp = (
        [nums(array[g]) for g in (a, b)] for array in (model.geom_friction, model.geom_solref, model.geom_solimp)
    )
    priority = int(model.geom_priority[a]) - int(model.geom_priority[b])
    if priority:
        leader = 0 if priority > 0 else 1
        condim = int(model.geom_condim[(a, b)[leader]])
        mixed = friction[leader], solref[leader], solimp[leader]
    else:
        condim = max(int(model.geom_condim[a]), int(model.geom_condim[b]))
        share = _share(*(nums(model.geom_solmix)[g] for g in (a, b)))
        largest = [maximum(x, y) for x, y in zip(*friction, strict=True)]
        mixed = largest, _mixed_solref(solref, share), _weighted(solimp, share)
    slide, turn, roll = mixed[0]
    margin = total(nums(model.geom_margin)[g] for g in (a, b))
    return Candidate(a, b, condim, _positive([slide, slide, turn, roll, roll]), mixed[1], mixed[2], margin)


def _share(x: Num, y: Num) -> Num:
    """How much the first counts."""
    small = 1e-15
    both = x + y
    if x.known and y.known:
        if x.value < small and y.value < small:
            return Num(0.5)
        return Num(0.0 if x.value < small else 1.0 if y.value < small else x.value / both.value)
    return where(x < small, where(y < small, 0.5, both * 0.0), where(y < small, 1.0, x / both))


def _weighted(pair: list[list[Num]], share: Num) -> list[Num]:
    return [share * x + (1.0 - share) * y for x, y in zip(*pair, strict=True)]


def _mixed_solref(pair: list[list[Num]], share: Num) -> list[Num]:
    standard = pair[0][0] > 0.0, pair[1][0] > 0.0
    if all(isinstance(s, bool) for s in standard):
        return _weighted(pair, share) if all(standard) else [_least(x, y) for x, y in zip(*pair, strict=True)]
    raise NotImplementedError("geom_solref that differs from lane to lane")


def _least(x: Num, y: Num) -> Num:
    return Num(min(x.value, y.value))


def _positive(friction: list[Num]) -> list[Num]:
    return [maximum(f, LEAST_FRICTION) for f in friction]


def _named(model: Model, p: int) -> Candidate:
    a, b = int(model.pair_geom1[p]), int(model.pair_geom2[p])
    if model.geom_type[a] > model.geom_type[b]:
        a, b = b, a
    get: Any = lambda name: nums(getattr(model, f"pair_{name}")[p])  # noqa: E731
    margin = nums(model.pair_margin)[p]
    return Candidate(a, b, int(model.pair_dim[p]), _positive(get("friction")), get("solref"), get("solimp"), margin)
