"""Our stages of a state, in known floats, so that nothing is compiled; and constraints' rows summed up.

C's rows and ours need not have the same order or form: the sums J^T D J and J^T D aref of all that act agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kousoku.physics.algebra.scalar import num, nums
from kousoku.physics.constraint import constraints
from kousoku.physics.constraint.cost import Huber
from kousoku.physics.stages.joints import ancestors, last_dof
from kousoku.physics.stages.smooth import smooth


def values(numbers: Any) -> np.ndarray:
    return np.array([n.value for n in numbers])


def evaluated(model: Any, state: Any) -> tuple[Any, list[Any]]:
    """Smooth stages and constraints of a state."""
    qpos, qvel, act, ctrl = (nums(np.asarray(x)) for x in (state.qpos, state.qvel, state.act, state.ctrl))
    s = smooth(model, qpos, qvel, act, ctrl)
    return s, constraints(model, s, qpos, qvel)


def summed(model: Any, s: Any, found: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """J^T D J and J^T D aref of all our constraints, pushed so hard that all their rows act."""
    stiffness, pull = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for c in found:
        one, other = _jacobian_and_weight(model, s, c)
        stiffness, pull = stiffness + one, pull + other
    return stiffness, pull


def summed_of_c(wanted: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The same of C's rows, of `Oracle.forward`."""
    pulled = wanted["efc_J"].T * wanted["efc_D"]
    return pulled @ wanted["efc_J"], pulled @ wanted["efc_aref"]


def _jacobian_and_weight(model: Any, s: Any, c: Any) -> tuple[np.ndarray, np.ndarray]:
    rows = len(c.aref)
    jacobian, weight = np.zeros((rows, model.nv)), np.zeros((rows, rows))
    for i in range(rows):
        if jac := c.jacobian.on_body:
            for d in ancestors(model, last_dof(model, jac.body)):
                jacobian[i, d] = s.com_pos.cdof[d].dot(jac.wrenches[i]).value
        else:
            jacobian[i, list(c.jacobian.rows[i])] = values(c.jacobian.rows[i].values())
    hard = 0.0 if isinstance(c.cost, Huber) else -1.0
    for (i, j), entry in c.cost.hessian([num(hard), *[num(0.0)] * (rows - 1)]).items():
        weight[i, j] = weight[j, i] = entry.value
    pulled = jacobian.T @ weight
    return pulled @ jacobian, pulled @ values(c.aref)
