"""Constraints: how they move with the mechanism, what they want, and which forces they may have for it.

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
from ..algebra.sparse import Matrix
from ..algebra.vector import Six, Vec
from ..model import Model
from ..stages.dynamics import Motion, Tree
from ..stages.joints import ancestors, last_dof
from .cost import Law

Dofs = dict[int, Num]


@dataclass(frozen=True)
class Grip:
    """What a unit of force of each row does to a body.

    Attributes:
        body: which.
        wrenches: torque and force about the centre of mass of the body's tree.
        arm, axes: if all rows push at one point, the point from that centre, and the rows' directions.
    """

    body: int
    wrenches: list[Six]
    arm: Vec | None = None
    axes: Sequence[Vec] = ()


@dataclass(frozen=True)
class Jacobian:
    """Of a constraint's rows, in one of two forms.

    Attributes:
        dofs: by degree of freedom, a dictionary a row.
        held: the only body that they move, one that moves by itself; the rows are then its wrenches times the motions
            of the degrees of freedom that move it.
    """

    dofs: list[Dofs] = field(default_factory=list)
    held: Grip | None = None


@dataclass(frozen=True)
class Constraint:
    """Rows that belong together.

    Attributes:
        law: which forces they may have.
        reference: the accelerations that they want.
        jacobian: how they move.
        grips: on which moving bodies they act; none for joints and tendons.
        of: what they belong to: a contact, or a name.
        there: above zero where they are there, if they seldom are; elsewhere all their numbers are zero.
    """

    law: Law
    reference: list[Num]
    jacobian: Jacobian
    grips: list[Grip] = field(default_factory=list)
    of: object = None
    there: Num | None = None


def moving(model: Model, body: int) -> int:
    """The nearest body that moves by itself and takes this one along; 0 if none does."""
    dof = last_dof(model, body)
    return int(model.dof_bodyid[dof]) if dof >= 0 else 0


def vanishes(model: Model, t: Tree, wrench: Six, body: int) -> bool:
    """Whether nothing that moves the body moves it along the wrench, whatever its position."""

    def known(motion: Six) -> bool:
        pairs = zip((*motion.rot, *motion.lin), (*wrench.rot, *wrench.lin), strict=True)
        return all(a.is_known(0.0) or b.is_known(0.0) for a, b in pairs)

    return all(known(t.motion[d]) for d in ancestors(model, last_dof(model, body)))


def speeds(m: Motion, grips: Sequence[Grip]) -> list[Num]:
    """J qvel of rows that act on bodies."""
    powers = ([w.dot(m.body[g.body]) for w in g.wrenches] for g in grips)
    return [total(column) for column in zip(*powers, strict=True)]


def jacobian(model: Model, t: Tree, grips: Sequence[Grip], opposite: bool = False) -> Jacobian:
    """Of rows that act on one or two moving bodies.

    Args:
        model: the mechanism.
        t: where it is.
        grips: at least one.
        opposite: whether the wrenches on two bodies are each other's negatives, about the same point: then what moves
            both counts for nothing.
    """
    if len(grips) == 1:
        return Jacobian(held=replace(grips[0], body=moving(model, grips[0].body)))
    return Jacobian(by_dof(model, t, grips, opposite))


def by_dof(model: Model, t: Tree, grips: Sequence[Grip], opposite: bool = False) -> list[Dofs]:
    """The Jacobian of rows that act on bodies, written out by degree of freedom."""
    chains = [list(ancestors(model, last_dof(model, g.body))) for g in grips]
    shared = set(chains[0]).intersection(*chains[1:]) if opposite else set()
    rows: list[Dofs] = [{} for _ in grips[0].wrenches]
    for grip, dofs in zip(grips, chains, strict=True):
        for d in dofs:
            if d not in shared:
                for found, wrench in zip(rows, grip.wrenches, strict=True):
                    found[d] = found.get(d, ZERO) + t.motion[d].dot(wrench)
    return [dict(sorted(r.items())) for r in rows]


def products(rows: Sequence[Dofs], x: Sequence[Num]) -> list[Num]:
    """J x."""
    return [total(j * x[d] for d, j in r.items()) for r in rows]


def add_pull(found: dict[int, Num] | list[Num], rows: Sequence[Dofs], forces: Sequence[Num]) -> None:
    """Add J^T f to what was found of each degree of freedom."""
    for r, f in zip(rows, forces, strict=True):
        for d, j in r.items():
            found[d] = found[d] + j * f


def add_congruent(found: Matrix, rows: Sequence[dict[int, Num]], curvature: Matrix) -> None:
    """Add J^T C J for rows J, entry by entry: what an entry is the sum of need not leave its register."""
    sides = [(here, other, entry) for (i, j), entry in curvature.items() for here, other in {(i, j), (j, i)}]
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
                found[i, j] = total((found.get((i, j), ZERO), *(a * b for a, b in parts)))
