"""Fixed tendons: weighted sums of joint positions.

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
        length: in metres or radians.
        arms: how it lengthens with each degree of freedom that it is tied to.
    """

    length: Num
    arms: dict[int, Num]

    def velocity(self, qvel: Sequence[Num]) -> Num:
        """How fast it lengthens."""
        return total(arm * qvel[d] for d, arm in self.arms.items())

    def add(self, force: list[Num], pull: Num) -> None:
        """Add what a force along the tendon does to generalised forces."""
        for d, arm in self.arms.items():
            force[d] = force[d] + arm * pull


def tendons(model: Model, qpos: Sequence[Num]) -> list[Tendon]:
    """All tendons."""
    coefficients = nums(model.wrap_prm)
    found = []
    for i in range(model.ntendon):
        first = int(model.tendon_adr[i])
        wraps = range(first, first + int(model.tendon_num[i]))
        tied = [joint(model, int(model.wrap_objid[w])) for w in wraps]
        length = total(coefficients[w] * qpos[j.qpos] for w, j in zip(wraps, tied, strict=True))
        found.append(Tendon(length, {j.dof: coefficients[w] for w, j in zip(wraps, tied, strict=True)}))
    return found
