"""Constraints: their Jacobians, reference accelerations and costs.

A constraint has one or more rows. Their Jacobian is written out by degree of freedom, or, where they hold one body of
the tree against the world, left as wrenches on that body: products with it then pass along the tree once for all such
constraints together, and what they add to the Hessian is an inertia that the body carries.

References:
    MuJoCo documentation, Computation, "Constraint model" and "Constraint solver", primal problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ..algebra.scalar import ZERO, Num, total
from ..algebra.sparse import SparseMatrix
from ..algebra.spatial import SpatialVec
from ..algebra.vector import Vec
from ..model import Model
from ..stages.com_pos import ComPos
from ..stages.com_vel import ComVel
from ..stages.joints import ancestors, last_dof, moving_ancestor
from .cost import ConstraintCost

SparseRow = dict[int, Num]
"""A row of a Jacobian, by degree of freedom; those that are not there are zero."""


@dataclass(frozen=True)
class BodyJacobian:
    """Rows of a constraint on one body: what a unit of each row's force does to it.

    Attributes:
        body: the body.
        wrenches: torque and force of each row about the centre of mass of the body's tree.
        arm, axes: if all rows push at one point, the point from that centre, and the rows' directions.
    """

    body: int
    wrenches: list[SpatialVec]
    arm: Vec | None = None
    axes: Sequence[Vec] = ()


@dataclass(frozen=True)
class Jacobian:
    """The Jacobian of a constraint's rows, in one of two forms.

    Attributes:
        rows: the rows by degree of freedom.
        on_body: the only body that they move, one with joints of its own; the rows are then its wrenches times the
            `cdof` of the degrees of freedom that move it.
    """

    rows: list[SparseRow] = field(default_factory=list)
    on_body: BodyJacobian | None = None


@dataclass(frozen=True)
class Constraint:
    """Rows that belong together.

    Attributes:
        cost: the function of their residuals.
        aref: their reference accelerations [rows].
        jacobian: their Jacobian.
        body_jacobians: the moving bodies that they act on; none for joints and tendons.
        source: what they belong to: a contact, a limit, or a name.
        active: above zero where the constraint is active, if it is conditional; elsewhere all its numbers are zero.
        tendons: derivative of its only row's position with respect to the length of each tendon that it is of.
    """

    cost: ConstraintCost
    aref: list[Num]
    jacobian: Jacobian
    body_jacobians: list[BodyJacobian] = field(default_factory=list)
    source: object = None
    active: Num | None = None
    tendons: dict[int, Num] = field(default_factory=dict)


def cannot_move_along(model: Model, com: ComPos, wrench: SpatialVec, body: int) -> bool:
    """Returns whether no degree of freedom moves the body along the wrench, whatever its position."""

    def is_zero(cdof: SpatialVec) -> bool:
        pairs = zip((*cdof.rot, *cdof.lin), (*wrench.rot, *wrench.lin), strict=True)
        return all(a.is_known(0.0) or b.is_known(0.0) for a, b in pairs)

    return all(is_zero(com.cdof[d]) for d in ancestors(model, last_dof(model, body)))


def efc_vel(vel: ComVel, jacobians: Sequence[BodyJacobian]) -> list[Num]:
    """Returns J qvel of rows that act on bodies [rows]: mjData's efc_vel."""
    powers = ([w.dot(vel.cvel[jac.body]) for w in jac.wrenches] for jac in jacobians)
    return [total(column) for column in zip(*powers, strict=True)]


def jacobian(model: Model, com: ComPos, jacobians: Sequence[BodyJacobian], opposite: bool = False) -> Jacobian:
    """Returns the Jacobian of rows that act on one or two moving bodies.

    Args:
        model: the mechanism.
        com: its position.
        jacobians: the rows on each body, at least one.
        opposite: whether the wrenches on two bodies are each other's negatives, about the same point: then what moves
            both counts for nothing.
    """
    if len(jacobians) == 1:
        return Jacobian(on_body=replace(jacobians[0], body=moving_ancestor(model, jacobians[0].body)))
    return Jacobian(sparse_rows(model, com, jacobians, opposite))


def sparse_rows(
    model: Model, com: ComPos, jacobians: Sequence[BodyJacobian], opposite: bool = False
) -> list[SparseRow]:
    """Returns the Jacobian of rows that act on bodies by degree of freedom; arguments as those of `jacobian`."""
    chains = [list(ancestors(model, last_dof(model, jac.body))) for jac in jacobians]
    shared = set(chains[0]).intersection(*chains[1:]) if opposite else set()
    rows: list[SparseRow] = [{} for _ in jacobians[0].wrenches]
    for jac, dofs in zip(jacobians, chains, strict=True):
        for d in dofs:
            if d not in shared:
                for found, wrench in zip(rows, jac.wrenches, strict=True):
                    found[d] = found.get(d, ZERO) + com.cdof[d].dot(wrench)
    return [dict(sorted(r.items())) for r in rows]


def jac_mul(rows: Sequence[SparseRow], x: Sequence[Num]) -> list[Num]:
    """Returns J x [rows] for x [nv]."""
    return [total(j * x[d] for d, j in r.items()) for r in rows]


def add_jac_t_mul(qfrc: dict[int, Num] | list[Num], rows: Sequence[SparseRow], force: Sequence[Num]) -> None:
    """Adds J'f to the generalised forces `qfrc`, in place, for forces f [rows]."""
    for r, f in zip(rows, force, strict=True):
        for d, j in r.items():
            qfrc[d] = qfrc[d] + j * f


def add_jac_t_hessian_jac(entries: SparseMatrix, rows: Sequence[SparseRow], hessian: SparseMatrix) -> None:
    """Adds J'CJ to `entries` on and below the diagonal, in place, for rows J and a cost's Hessian C [rows, rows].

    Entry by entry: what an entry is the sum of need not leave its register.
    """
    sides = [(here, other, entry) for (i, j), entry in hessian.items() for here, other in {(i, j), (j, i)}]
    columns = sorted(set(chain.from_iterable(rows)))
    for i in columns:
        turned = [ZERO] * len(rows)  # column i of C J
        for here, other, entry in sides:
            if i in rows[other]:
                turned[here] = turned[here] + entry * rows[other][i]
        for j in columns[: columns.index(i) + 1]:
            parts = [(a, r[j]) for a, r in zip(turned, rows, strict=True) if j in r]
            parts = [(a, b) for a, b in parts if not (a.is_known(0.0) or b.is_known(0.0))]
            if parts:
                entries[i, j] = total((entries.get((i, j), ZERO), *(a * b for a, b in parts)))
