"""The mass matrix, by the composite rigid body algorithm (mj_makeM), and which of its entries differ from zero.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, table 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..algebra.scalar import nums
from ..algebra.sparse import Pattern, SparseMatrix
from ..model import Model
from .com_pos import ComPos
from .joints import ancestors


def crb(model: Model, com: ComPos) -> SparseMatrix:
    """Returns the mass matrix with the armature on its diagonal: mjData's qM.

    Its entries are those (i, j) where j is an ancestor of i or i itself; the others are zero or their mirror images.
    """
    composite = list(com.cinert)
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        if parent:
            composite[parent] = composite[parent] + composite[i]
    armature = nums(model.dof_armature)
    entries: SparseMatrix = {}
    for i in range(model.nv):
        momentum = composite[int(model.dof_bodyid[i])] @ com.cdof[i]
        for j in ancestors(model, i):
            entries[i, j] = com.cdof[j].dot(momentum)
        entries[i, i] = entries[i, i] + armature[i]
    return entries


def mass_matrix_pattern(model: Model, coupled: Iterable[Sequence[int]] = ()) -> Pattern:
    """Returns the pattern of the mass matrix and its factor.

    Args:
        model: the mechanism.
        coupled: sets of degrees of freedom that constraints couple beyond the tree, whose entries are to be in it too.
    """
    rows = [set(ancestors(model, i)) - {i} for i in range(model.nv)]
    for dofs in coupled:
        for i in dofs:
            rows[i].update(j for j in dofs if j < i)
    return Pattern.filled(rows)
