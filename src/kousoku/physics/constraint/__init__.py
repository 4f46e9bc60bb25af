"""Constraints (mj_makeConstraint): equalities, joints' and tendons' friction and limits, contacts; and their solver.

    jacobian        `Constraint`: rows, their Jacobian and reference acceleration
    cost            the function of a constraint's residuals
    impedance       weights and reference acceleration, from solref and solimp
    equality        connect, weld, joint and tendon
    friction_limit  dry friction and ranges of joints and tendons
    contact         contacts that are written out
    self_contacts   contacts between many moving bodies, found at run time
    problem         the function that constrained acceleration minimises
    conditional     its part from constraints that are hardly ever active
    contact_list    its part from contacts found at run time
    solver          Newton's method

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
from .friction_limit import frictionloss, limits
from .jacobian import Constraint


def constraints(
    model: Model,
    s: Smooth,
    qpos: Sequence[Num],
    qvel: Sequence[Num],
    pairs: Sequence[Candidate] | None = None,
) -> list[Constraint]:
    """Returns all that the model can have, in MuJoCo's order: equalities, friction, limits, contacts.

    Args:
        model: the mechanism.
        s: its smooth dynamics.
        qpos, qvel: positions [nq] and velocities [nv].
        pairs: the pairs of geoms that may touch; all that the model has if not given.
    """
    if model.no_constraint:
        return []
    found: list[Constraint] = []
    if not model.no_equality:
        found += equalities(model, s, qpos, qvel)
    if not model.no_frictionloss:
        found += frictionloss(model, s, qvel)
    if not model.no_limit:
        found += limits(model, s, qpos, qvel)
    return found + contacts(model, s, candidates(model) if pairs is None else pairs)
