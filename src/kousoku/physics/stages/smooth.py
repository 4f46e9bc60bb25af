"""Everything but constraints: where the mechanism is, how it moves, and how it would accelerate if nothing held it.

References:
    MuJoCo documentation, Computation, "General framework", "Actuation model" and "Passive forces".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import ZERO, Num
from ..algebra.sparse import Factor, Pattern, factor
from ..model import Model
from .actuation import Actuation, actuation
from .dynamics import Motion, Tree, bias, tree, velocities
from .kinematics import Kinematics, kinematics
from .passive import passive
from .tendon import Tendon, tendons


@dataclass(frozen=True)
class Smooth:
    """The stages' results.

    Attributes:
        kinematics, tree, tendons: of the position.
        motion, bias, passive: of the velocity too.
        actuation: of the commands too.
        factor: of the mass matrix.
        force: passive, actuators' and applied forces less the bias [nv].
        acceleration: what they bring about without constraints [nv].
    """

    kinematics: Kinematics
    tree: Tree
    tendons: list[Tendon]
    motion: Motion
    bias: list[Num]
    passive: list[Num]
    actuation: Actuation
    factor: Factor
    force: list[Num]
    acceleration: list[Num]


def smooth(model: Model, qpos: Sequence[Num], qvel: Sequence[Num], act: Sequence[Num], ctrl: Sequence[Num]) -> Smooth:
    """All smooth stages, in MuJoCo's order."""
    k = kinematics(model, qpos)
    t = tree(model, k)
    ropes = tendons(model, qpos)
    m = velocities(model, t, qvel)
    c = bias(model, t, m, qvel)
    p = passive(model, k, t, m, ropes, qpos, qvel)
    a = actuation(model, k, t, ropes, qpos, qvel, act, ctrl)
    pushed = [ZERO] * model.nv if model.no_actuation else a.qfrc
    force = [x - y + z for x, y, z in zip(p, c, pushed, strict=True)]
    f = factor(Pattern.of(model), t.mass_matrix)
    return Smooth(k, t, ropes, m, c, p, a, f, force, f.solve(force))
