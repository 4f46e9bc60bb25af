"""Impedance of constraints: how softly they are held, from `solref` and `solimp` (mj_makeImpedance).

References:
    MuJoCo documentation, Computation, "Constraint model"; Modeling, "Solver parameters".
"""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra.scalar import MINVAL, ONE, Num, absolute, clip, maximum, power, where
from ..model import Model

MINIMP, MAXIMP = 1e-4, 0.9999
"""MuJoCo's mjMINIMP and mjMAXIMP."""


@dataclass(frozen=True)
class Impedance:
    """Impedance of a constraint at its position, and stiffness and damping of its reference: mjData's efc_KBIP.

    Attributes:
        imp: d, between 0 and 1.
        k: stiffness [1/s^2].
        b: damping [1/s].
    """

    imp: Num
    k: Num
    b: Num

    def aref(self, vel: Num, pos: Num) -> Num:
        """Returns the reference acceleration -b vel - k d pos of a row: mjData's efc_aref.

        Args:
            vel: the row's velocity.
            pos: its violation, less the margin.
        """
        return -(self.b * vel) - self.k * self.imp * pos

    def regularisation(self, invweight: Num) -> Num:
        """Returns R = (1 - d) / d times a row's approximate inverse inertia `invweight`: mjData's efc_R, 1 / efc_D."""
        return maximum(invweight * (1.0 - self.imp) / self.imp, MINVAL)


def impedance(model: Model, solref: list[Num], solimp: list[Num], pos: Num) -> Impedance:
    """Returns the impedance at the violation `pos`, less the margin.

    Args:
        model: the mechanism, for its time step.
        solref: time constant and damping ratio, or minus stiffness and damping.
        solimp: dmin, dmax, width, midpoint and power.
        pos: how far the constraint is from where it begins to act.
    """
    low, high = (clip(d, MINIMP, MAXIMP) for d in solimp[:2])
    width, midpoint = maximum(solimp[2], 0.0), clip(solimp[3], MINIMP, MAXIMP)
    imp = _impedance_curve(low, high, width, midpoint, maximum(solimp[4], 1.0), pos)
    time, ratio = solref
    standard, direct = time > 0.0, Impedance(imp, -time / (high * high), -ratio / high)
    safe = time if model.no_refsafe else maximum(time, 2.0 * Num(model.timestep))
    k = ONE / maximum(high * high * safe * safe * ratio * ratio, MINVAL)
    b = 2.0 / maximum(high * safe, MINVAL)
    return Impedance(imp, where(standard, k, direct.k), where(standard, b, direct.b))


def _impedance_curve(low: Num, high: Num, width: Num, midpoint: Num, exponent: Num, pos: Num) -> Num:
    """Returns d(pos), which rises from `low` at 0 to `high` at `width`; their mean where there is no width."""
    flat, narrow = low.known and high.known and low.value == high.value, width <= MINVAL
    if flat or narrow is True:
        return 0.5 * (low + high)
    x = absolute(pos) / where(narrow, 1.0, width)
    curve = x
    if not exponent.is_known(1.0):
        rising = power(x, exponent) / power(midpoint, exponent - 1.0)
        falling = 1.0 - power(maximum(1.0 - x, 0.0), exponent) / power(1.0 - midpoint, exponent - 1.0)
        curve = where(x <= midpoint, rising, falling)
    return where(narrow, 0.5 * (low + high), where(x >= 1.0, high, low + curve * (high - low)))
