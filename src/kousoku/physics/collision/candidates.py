"""Which geoms can touch, and with what friction and softness: known before anything moves.

References:
    MuJoCo documentation, Computation, "Collision detection": selection and parameters of contact pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import Model
from ..scalar import SMALLEST, Num, both, maximum, minimum, nums, total, where
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
        solreffriction: of the friction in an elliptic cone, if it is not `solref`; known zeros otherwise.
    """

    first: int
    second: int
    condim: int
    friction: list[Num]
    solref: list[Num]
    solimp: list[Num]
    margin: Num
    solreffriction: list[Num] = field(default_factory=list)


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


def shapes(model: Model, candidate: Candidate) -> tuple[Shape, Shape]:
    """The kinds of its two geoms."""
    return Shape(int(model.geom_type[candidate.first])), Shape(int(model.geom_type[candidate.second]))


def missing(model: Model) -> list[tuple[Shape, Shape]]:
    """Kinds of pairs that may touch and that there is no function for."""
    return sorted({shapes(model, candidate) for candidate in candidates(model)} - PAIRS.keys())


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
    """How much the first counts: x / (x + y), and one half where both are zero."""
    no_x, no_y = x < SMALLEST, y < SMALLEST
    whole = where(both(no_x, no_y), 1.0, x + y)
    return where(no_x, where(no_y, 0.5, 0.0, whole), where(no_y, 1.0, x / whole, whole), whole)


def _weighted(pair: list[list[Num]], share: Num) -> list[Num]:
    return [share * x + (1.0 - share) * y for x, y in zip(*pair, strict=True)]


def _mixed_solref(pair: list[list[Num]], share: Num) -> list[Num]:
    """Weighted if both are a time constant and a damping ratio; if one is a stiffness and a damping, the least ones."""
    standard = both(pair[0][0] > 0.0, pair[1][0] > 0.0)
    least = [minimum(x, y) for x, y in zip(*pair, strict=True)]
    return [where(standard, x, y, share) for x, y in zip(_weighted(pair, share), least, strict=True)]


def _positive(friction: list[Num]) -> list[Num]:
    return [maximum(f, LEAST_FRICTION) for f in friction]


def _named(model: Model, p: int) -> Candidate:
    """A pair of the file, with parameters of its own."""
    a, b = int(model.pair_geom1[p]), int(model.pair_geom2[p])
    if model.geom_type[a] > model.geom_type[b]:
        a, b = b, a
    friction, solref, solimp = (nums(array[p]) for array in (model.pair_friction, model.pair_solref, model.pair_solimp))
    margin, slip = nums(model.pair_margin)[p], nums(model.pair_solreffriction[p])
    return Candidate(a, b, int(model.pair_dim[p]), _positive(friction), solref, solimp, margin, slip)
