"""How the forces of motion change with velocity: the derivative of centrifugal, Coriolis and gyroscopic forces.

For degrees of freedom i and j, one of which moves the other, with s their motions, r rotations of s, and I the inertia
of the deeper one's body and all that hangs on it,

    d bias_i / d velocity_j = s_i . (I t_j + (T r_j, 2 r_j x p))

where t_j = (v + w) x s_j for the velocities v before and w after j's joint, p is the linear momentum of I's bodies, and
T a sum over them. Translations do not enter: in a frame that moves evenly, forces are the same.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, table 5.1. Singh, Russell and Wensing (2022), Efficient
    analytical derivatives of rigid-body dynamics using spatial vector algebra, section IV.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..algebra.scalar import Num
from ..algebra.sparse import Matrix
from ..algebra.vector import NOWHERE, STILL, Inertia, Mat, Six, Vec
from ..model import Model
from ..stages.dynamics import UNITS, Motion, Tree
from ..stages.joints import Kind, ancestors, joints


class Swing(NamedTuple):
    """What bodies that move together do to a rotation of all of them.

    Attributes:
        inertia: of all.
        turn: T, by columns.
        momentum: their linear momentum.
    """

    inertia: Inertia
    turn: Mat
    momentum: Vec

    def __add__(self, other: Swing) -> Swing:  # type: ignore[override]
        turn = Mat(*(a + b for a, b in zip(self.turn, other.turn, strict=True)))
        return Swing(self.inertia + other.inertia, turn, self.momentum + other.momentum)

    def force(self, s: Six, t: Six) -> Six:
        """How the force changes with the velocity along s."""
        gyration = Six(self.turn.transposed() @ s.rot, s.rot.cross(self.momentum) * 2.0)
        return (self.inertia @ t) + gyration


def bias_slope(model: Model, t: Tree, m: Motion, qvel: Sequence[Num]) -> Matrix:
    """d bias_i / d velocity_j for all i and j of which one moves the other."""
    swings = [_swing(t.inertia[i], m.body[i]) if i else None for i in range(model.nbody)]
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        if parent:
            swings[parent] = swings[parent] + swings[i]  # type: ignore[operator]
    turns, found = _turns(model, t, m, qvel), {}
    for i in range(model.nv):
        swing, s = swings[int(model.dof_bodyid[i])], t.motion[i]
        assert swing is not None
        force, momentum = swing.force(s, turns[i]), swing.inertia @ s
        lever = swing.turn @ s.rot + swing.momentum.cross(s.lin) * 2.0
        for j in ancestors(model, i):
            found[j, i] = t.motion[j].dot(force)
            found[i, j] = turns[j].dot(momentum) + lever.dot(t.motion[j].rot)
    return found


def _swing(inertia: Inertia, v: Six) -> Swing:
    """Of one body: T r = w x J r - J (w x r) - (J w) x r - 2 h x (u x r), p = m u - h x w, for v = (w, u)."""
    w, u, h = v.rot, v.lin, inertia.h
    spun = Inertia(*inertia[:6], NOWHERE, inertia.mass)

    def turned(r: Vec) -> Vec:
        return (spun @ Six(r, NOWHERE)).rot

    columns = (w.cross(turned(r)) - turned(w.cross(r)) - turned(w).cross(r) - h.cross(u.cross(r)) * 2.0 for r in UNITS)
    return Swing(inertia, Mat(*columns), u * inertia.mass - h.cross(w))


def _turns(model: Model, t: Tree, m: Motion, qvel: Sequence[Num]) -> list[Six]:
    """(v + w) x s of every degree of freedom; the three of a ball move at once, and so do those of a free joint."""
    found: list[Six] = []
    for j in joints(model):
        groups = [j.dofs]
        if j.kind == Kind.FREE:
            groups = [range(j.dof, j.dof + 3), range(j.dof + 3, j.dof + 6)]
        for group in groups:
            own = STILL
            for d in group:
                own = own + t.motion[d] * qvel[d] if len(group) > 1 else own
            for d in group:
                found.append(m.dof[d] * 2.0 + own.cross_motion(t.motion[d]))
    return found
