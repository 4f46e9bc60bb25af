"""Constraints: equalities, joints' and tendons' friction and limits, and contacts.

References:
    MuJoCo documentation, Computation, "Constraint model".
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra.scalar import Num
from ..collision.candidates import Candidate, candidates
from ..model import Model
from ..stages.smooth import Smooth
from .contact import contacts
from .equality import equalities
from .friction_limit import friction, limits
from .jacobian import Constraint


def constraints(
    model: Model,
    s: Smooth,
    qpos: Sequence[Num],
    qvel: Sequence[Num],
    pairs: Sequence[Candidate] | None = None,
) -> list[Constraint]:
    """All that the model can have, in MuJoCo's order: equalities, friction, limits, contacts.

    Args:
        model, s: the mechanism and where it is.
        qpos, qvel: positions [nq] and velocities [nv].
        pairs: the pairs of geoms that may touch; all that the model has if not given.
    """
    if model.no_constraint:
        return []
    found: list[Constraint] = []
    if not model.no_equality:
        found += equalities(model, s, qpos, qvel)
    if not model.no_frictionloss:
        found += friction(model, s, qvel)
    if not model.no_limit:
        found += limits(model, s, qpos, qvel)
    return found + contacts(model, s, candidates(model) if pairs is None else pairs)
