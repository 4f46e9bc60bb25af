"""Pairs of geoms that may touch, and their contact parameters: known before anything moves.

References:
    MuJoCo documentation, Computation, "Collision detection": selection and parameters of contact pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core.errors import ConfigError
from ..algebra.scalar import MINVAL, Num, logical_and, maximum, minimum, nums, total, where
from ..model import Model
from .narrow_phase import COLLISION_FUNCTIONS, GeomType
from .reach import are_out_of_reach, deciding_number

LEAST_FRICTION = 1e-5
"""MuJoCo's mjMINMU."""


@dataclass(frozen=True)
class Candidate:
    """Two geoms that may touch.

    Attributes:
        geom1, geom2: geoms, the type of the first not above that of the second.
        condim: 1 without friction, 3 sliding, 4 torsional too, 6 rolling too.
        friction: coefficients, two of sliding, one torsional, two rolling.
        solref, solimp: solver parameters of the constraint.
        margin: distance below which the contact is active, from which its position is counted, metres.
        solreffriction: solref of the friction in an elliptic cone, if it is not `solref`; known zeros otherwise.
    """

    geom1: int
    geom2: int
    condim: int
    friction: list[Num]
    solref: list[Num]
    solimp: list[Num]
    margin: Num
    solreffriction: list[Num] = field(default_factory=list)


def candidates(model: Model) -> list[Candidate]:
    """Returns all pairs that the model's filters let through, and those that it names."""
    if model.no_contact or model.no_constraint:
        return []
    named = [_named(model, p, a, b) for p, (a, b) in enumerate(_named_pairs(model).tolist())]
    return named + [_mixed(model, a, b) for a, b in _looked_at(model)]


def geom_types(model: Model, candidate: Candidate) -> tuple[GeomType, GeomType]:
    """Returns the types of its two geoms."""
    return GeomType(int(model.geom_type[candidate.geom1])), GeomType(int(model.geom_type[candidate.geom2]))


def type_pairs(model: Model) -> list[tuple[GeomType, GeomType]]:
    """Returns the types of geoms of all pairs that may touch, without repetition."""
    if model.no_contact or model.no_constraint:
        return []
    kinds = model.geom_type[np.concatenate([_named_pairs(model), _free_pairs(model)])]
    return [(GeomType(int(a)), GeomType(int(b))) for a, b in np.unique(kinds, axis=0)]


def first_unsupported(model: Model) -> tuple[int, int, int | None] | None:
    """Returns two geoms that may touch and that there is no collision function for, and which pair of the file names
    them, if one does; None if there are no such geoms.
    """
    if model.no_contact or model.no_constraint:
        return None
    named, free = _named_pairs(model), _free_pairs(model)
    lacking = np.flatnonzero(~_have_functions(model, named)).tolist()
    if lacking:
        a, b = named[lacking[0]].tolist()
        return a, b, lacking[0]
    missing = [(a, b) for a, b in free[~_have_functions(model, free)].tolist()]
    near = [pair for pair, never in zip(missing, are_out_of_reach(model, missing), strict=True) if not never]
    return (*near[0], None) if near else None


def _have_functions(model: Model, pairs: np.ndarray) -> np.ndarray:
    """Returns for which pairs of geoms [n, 2] there are collision functions [n]."""
    known = np.zeros((len(GeomType), len(GeomType)), bool)
    known[tuple(np.array(list(COLLISION_FUNCTIONS)).T)] = True
    return known[tuple(model.geom_type[pairs].T)]


def _looked_at(model: Model) -> list[tuple[int, int]]:
    """Returns the pairs that the file does not name and that are looked at: all with a collision function.

    Others are out of each other's reach, else a model is not loaded.

    Raises:
        ConfigError: if they are so by numbers that are leaves.
    """
    pairs = _free_pairs(model)
    have = _have_functions(model, pairs)
    for a, b in pairs[~have].tolist() if model.varied else []:
        if number := deciding_number(model, a, b):
            names = dict(model.names)["geom"]
            which = " and ".join(names[g] or f"geom {g}" for g in (a, b))
            fix = f"leave them as they are: {which} cannot touch so, and the engine has no contacts of the two"
            raise ConfigError(number, "other numbers", fix)
    return [(a, b) for a, b in pairs[have].tolist()]


def _by_type(model: Model, pairs: np.ndarray) -> np.ndarray:
    """Returns pairs of geoms [n, 2], in each the one whose type comes first."""
    turned = model.geom_type[pairs[:, 0]] > model.geom_type[pairs[:, 1]]
    return np.where(turned[:, None], pairs[:, ::-1], pairs)


def _named_pairs(model: Model) -> np.ndarray:
    """Returns the pairs of the file [npair, 2]."""
    return _by_type(model, np.stack([model.pair_geom1, model.pair_geom2], axis=1).astype(np.int64))


def _free_pairs(model: Model) -> np.ndarray:
    """Returns the pairs that the file does not name, and that no filter keeps apart [n, 2]."""
    a, b = np.triu_indices(model.ngeom, 1)
    one, other = np.sort(model.geom_bodyid[np.stack([a, b])].astype(np.int64), axis=0)
    excluded = np.isin((one << 16) + other, model.exclude_signature)
    named = np.sort(np.stack([model.pair_geom1, model.pair_geom2]).astype(np.int64), axis=0)
    settled = excluded | np.isin(a * model.ngeom + b, named[0] * model.ngeom + named[1])
    kinds, wants = model.geom_contype, model.geom_conaffinity
    meet = ((kinds[a] & wants[b]) | (kinds[b] & wants[a])) != 0
    grounds = np.isin(model.geom_type[np.stack([a, b])], (GeomType.PLANE, GeomType.HFIELD)).all(axis=0)
    weld = model.body_weldid
    w1, w2 = weld[one], weld[other]
    above1, above2 = weld[model.body_parentid[w1]], weld[model.body_parentid[w2]]
    family = ((w1 == above2) & (w1 != 0)) | ((w2 == above1) & (w2 != 0))
    filtered = settled | grounds | (w1 == w2) | (family & (not model.no_filterparent))
    return _by_type(model, np.stack([a, b], axis=1)[meet & ~filtered])


def _mixed(model: Model, a: int, b: int) -> Candidate:
    """Returns two geoms with their parameters: those of the one of higher priority, else mixed."""
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
    """Returns x / (x + y), the first one's share: zero where x is not above zero, and one half where neither is."""
    no_x, no_y, whole = x < MINVAL, y < MINVAL, x + y
    share = x / where(no_x, 1.0, where(no_y, 1.0, whole))
    return where(no_x, where(no_y, 0.5, 0.0), where(no_y, 1.0, share))


def _weighted(pair: list[list[Num]], share: Num) -> list[Num]:
    return [share * x + (1.0 - share) * y for x, y in zip(*pair, strict=True)]


def _mixed_solref(pair: list[list[Num]], share: Num) -> list[Num]:
    """Returns the weighted mean if both are time constant and damping ratio, else the least of both numbers."""
    standard = logical_and(pair[0][0] > 0.0, pair[1][0] > 0.0)
    least = [minimum(x, y) for x, y in zip(*pair, strict=True)]
    return [where(standard, x, y) for x, y in zip(_weighted(pair, share), least, strict=True)]


def _positive(friction: list[Num]) -> list[Num]:
    return [maximum(f, LEAST_FRICTION) for f in friction]


def _named(model: Model, p: int, a: int, b: int) -> Candidate:
    """Returns a pair of the file, with parameters of its own."""
    friction, solref, solimp = (nums(array[p]) for array in (model.pair_friction, model.pair_solref, model.pair_solimp))
    margin, slip = nums(model.pair_margin)[p], nums(model.pair_solreffriction[p])
    return Candidate(a, b, int(model.pair_dim[p]), _positive(friction), solref, solimp, margin, slip)
