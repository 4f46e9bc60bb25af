"""How softly a constraint is held: impedance, reference acceleration and regularisation.

References:
    MuJoCo documentation, Computation, "Constraint model"; Modeling, "Solver parameters".
"""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra.scalar import ONE, SMALLEST, Num, absolute, clipped, maximum, power, where
from ..model import Model

LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999


@dataclass(frozen=True)
class Softness:
    """Impedance, and stiffness and damping of the reference, of a constraint at its distance."""

    impedance: Num
    stiffness: Num
    damping: Num

    def reference(self, velocity: Num, away: Num) -> Num:
        """The acceleration that a row wants."""
        return -(self.damping * velocity) - self.stiffness * self.impedance * away

    def regularisation(self, inverse_inertia: Num) -> Num:
        """R of a row along which the mechanism has this inverse inertia."""
        return maximum(inverse_inertia * (1.0 - self.impedance) / self.impedance, SMALLEST)


def softness(model: Model, solref: list[Num], solimp: list[Num], away: Num) -> Softness:
    """At a distance `away` from where the constraint begins to act."""
    low, high = (clipped(d, LEAST_IMPEDANCE, MOST_IMPEDANCE) for d in solimp[:2])
    width, middle = maximum(solimp[2], 0.0), clipped(solimp[3], LEAST_IMPEDANCE, MOST_IMPEDANCE)
    impedance = _impedance(low, high, width, middle, maximum(solimp[4], 1.0), away)
    time, ratio = solref
    standard, direct = time > 0.0, Softness(impedance, -time / (high * high), -ratio / high)
    safe = time if model.no_refsafe else maximum(time, 2.0 * Num(model.timestep))
    stiffness = ONE / maximum(high * high * safe * safe * ratio * ratio, SMALLEST)
    damping = 2.0 / maximum(high * safe, SMALLEST)
    return Softness(impedance, where(standard, stiffness, direct.stiffness), where(standard, damping, direct.damping))


def _impedance(low: Num, high: Num, width: Num, middle: Num, exponent: Num, away: Num) -> Num:
    flat = low.known and high.known and low.value == high.value
    if flat or (width.known and width.value <= SMALLEST):
        return 0.5 * (low + high)
    x = absolute(away) / width
    curve = x
    if not exponent.is_known(1.0):
        rising = power(x, exponent) / power(middle, exponent - 1.0)
        falling = 1.0 - power(maximum(1.0 - x, 0.0), exponent) / power(1.0 - middle, exponent - 1.0)
        curve = where(x <= middle, rising, falling)
    return where(x >= 1.0, high, low + curve * (high - low))
