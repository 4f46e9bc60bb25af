"""Everything but constraints: where the mechanism is, how it moves, and how it would accelerate if nothing held it.

References:
    MuJoCo documentation, Computation, "General framework", "Actuation model" and "Passive forces".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import ZERO, Num
from ..algebra.sparse import Factor, SparseMatrix, factor
from ..model import Model
from .actuation import Actuation, actuation
from .com_pos import ComPos, com_pos
from .com_vel import ComVel, com_vel
from .crb import crb, mass_matrix_pattern
from .kinematics import Kinematics, kinematics
from .passive import passive
from .rne import rne
from .tendon import Tendon, tendons


@dataclass(frozen=True)
class Smooth:
    """The stages' results, by the names of MuJoCo's mjData.

    Attributes:
        kinematics, com_pos, tendons: what depends on the position.
        com_vel: what depends on the velocity too.
        actuation: what depends on the commands too.
        qM: the mass matrix.
        qLD: its factorisation.
        qfrc_bias: Coriolis, centrifugal and gravity forces [nv].
        qfrc_passive: springs, dampers, gravity compensation and fluid [nv].
        qfrc_smooth: qfrc_passive + qfrc_actuator - qfrc_bias [nv].
        qacc_smooth: the acceleration that they bring about without constraints [nv].
    """

    kinematics: Kinematics
    com_pos: ComPos
    qM: SparseMatrix
    tendons: list[Tendon]
    com_vel: ComVel
    qfrc_bias: list[Num]
    qfrc_passive: list[Num]
    actuation: Actuation
    qLD: Factor
    qfrc_smooth: list[Num]
    qacc_smooth: list[Num]


def smooth(model: Model, qpos: Sequence[Num], qvel: Sequence[Num], act: Sequence[Num], ctrl: Sequence[Num]) -> Smooth:
    """Runs all smooth stages, in MuJoCo's order.

    Args:
        model: the mechanism.
        qpos, qvel, act: positions [nq], velocities [nv] and activations [na].
        ctrl: commands [nu].
    """
    k = kinematics(model, qpos)
    com = com_pos(model, k)
    qM = crb(model, com)
    all_tendons = tendons(model, k, com, qpos)
    vel = com_vel(model, com, qvel)
    qfrc_bias = rne(model, com, vel, qvel)
    qfrc_passive = passive(model, k, com, vel, all_tendons, qpos, qvel)
    a = actuation(model, k, com, all_tendons, qpos, qvel, act, ctrl)
    qfrc_actuator = [ZERO] * model.nv if model.no_actuation else a.qfrc_actuator
    qfrc_smooth = [x - y + z for x, y, z in zip(qfrc_passive, qfrc_bias, qfrc_actuator, strict=True)]
    qLD = factor(mass_matrix_pattern(model), qM)
    qacc_smooth = qLD.solve(qfrc_smooth)
    return Smooth(k, com, qM, all_tendons, vel, qfrc_bias, qfrc_passive, a, qLD, qfrc_smooth, qacc_smooth)
