"""Fixed tendons: weighted sums of joint positions (mj_tendon).

References:
    MuJoCo documentation, XML reference, tendon/fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import Num, nums, total
from ..model import Model
from .joints import joint


@dataclass(frozen=True)
class Tendon:
    """A tendon at a position.

    Attributes:
        length: ten_length, metres or radians.
        jac: ten_J: derivative of the length with respect to each degree of freedom that the tendon is tied to.
    """

    length: Num
    jac: dict[int, Num]

    def velocity(self, qvel: Sequence[Num]) -> Num:
        """Returns ten_velocity, the rate at which the tendon lengthens."""
        return total(arm * qvel[d] for d, arm in self.jac.items())

    def add_qfrc(self, qfrc: list[Num], force: Num) -> None:
        """Adds J'f of a force f along the tendon to the generalised forces `qfrc` [nv], in place."""
        for d, arm in self.jac.items():
            qfrc[d] = qfrc[d] + arm * force


def tendons(model: Model, qpos: Sequence[Num]) -> list[Tendon]:
    """Returns all tendons at the joint positions `qpos` [nq]."""
    coefficients = nums(model.wrap_prm)
    found = []
    for i in range(model.ntendon):
        first = int(model.tendon_adr[i])
        wraps = range(first, first + int(model.tendon_num[i]))
        tied = [joint(model, int(model.wrap_objid[w])) for w in wraps]
        length = total(coefficients[w] * qpos[j.qposadr] for w, j in zip(wraps, tied, strict=True))
        found.append(Tendon(length, {j.dofadr: coefficients[w] for w, j in zip(wraps, tied, strict=True)}))
    return found
