"""Muscles: what an actuator of this kind pulls with, by its length and speed, and how fast it is activated.

    force = -(peak force) (FL(L) FV(V) activation + FP(L)),  with lengths and speeds in optimal fibre lengths

References:
    MuJoCo documentation, Modeling, "Muscle actuators"; API reference, mju_muscleGain, -Bias and -Dynamics.
    Millard, Uchida, Seth, Delp (2013), Flexing computational muscle, ASME J. Biomech. Eng. 135(2): activation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..algebra.scalar import MINVAL, ONE, ZERO, Num, clip, logical_and, maximum, nums, row, where
from ..model import Model


@dataclass(frozen=True)
class _Fibre:
    """A muscle's numbers, and where it is.

    Attributes:
        peak: the force at the optimal length, without motion, newtons.
        optimal: its optimal length, metres.
        length: in optimal lengths.
        least, most: lengths between which it pulls actively, in optimal lengths.
        fastest: the speed of shortening at which it does not pull any more, in optimal lengths per second.
        passive, lengthening: FP at the upper end of its range, and FV when it lengthens fast.
    """

    peak: Num
    optimal: Num
    length: Num
    least: Num
    most: Num
    fastest: Num
    passive: Num
    lengthening: Num

    @staticmethod
    def of(model: Model, i: int, numbers: Any, length: Num) -> _Fibre:
        """Returns actuator i's, from its numbers of gain or bias."""
        low, high, force, scale, least, most, fastest, passive, lengthening = row(numbers, i)[:9]
        shortest, longest = row(model.actuator_lengthrange, i)
        peak = where(force < 0.0, scale / maximum(nums(model.actuator_acc0)[i], MINVAL), force)
        optimal = (longest - shortest) / maximum(high - low, MINVAL)
        relative = low + (length - shortest) / maximum(optimal, MINVAL)
        return _Fibre(peak, optimal, relative, least, most, fastest, passive, lengthening)


def muscle_gain(model: Model, i: int, length: Num, velocity: Num) -> tuple[Num, Num]:
    """Returns actuator i's force for an activation of one, and its derivative with respect to the velocity."""
    fibre = _Fibre.of(model, i, model.actuator_gainprm, length)
    per_speed = 1.0 / maximum(fibre.optimal * fibre.fastest, MINVAL)
    factor, slope = _by_speed(velocity * per_speed, fibre.lengthening)
    force = -(fibre.peak * _by_length(fibre))
    return force * factor, force * slope * per_speed


def muscle_bias(model: Model, i: int, length: Num) -> Num:
    """Returns actuator i's force without activation: none below the optimal length, then more and more."""
    fibre = _Fibre.of(model, i, model.actuator_biasprm, length)
    bend = 0.5 * (1.0 + fibre.most)
    width = maximum(bend - 1.0, MINVAL)
    x, beyond = (fibre.length - 1.0) / width, (fibre.length - bend) / width
    passive = where(fibre.length <= bend, 0.5 * x * x, 0.5 + beyond)
    return where(fibre.length <= 1.0, 0.0, -(fibre.peak * fibre.passive * passive))


def muscle_dynamics(model: Model, i: int, command: Num, activation: Num) -> Num:
    """Returns the rate of change of actuator i's activation: faster up than down, if it is asked to."""
    up, down, width = row(model.actuator_dynprm, i)[:3]
    stretch = 0.5 + 1.5 * clip(activation, ZERO, ONE)
    rise, fall = up * stretch, down / stretch
    difference = clip(command, ZERO, ONE) - activation
    sharp = width < MINVAL
    x = clip(difference / where(sharp, 1.0, width) + 0.5, ZERO, ONE)
    smooth = x * x * x * (3.0 * x * (2.0 * x - 5.0) + 10.0)
    share = where(sharp, where(difference > 0.0, 1.0, 0.0), smooth)
    return difference / maximum(fall + (rise - fall) * share, MINVAL)


def _by_length(fibre: _Fibre) -> Num:
    """Returns FL: 1 at the optimal length and 0 beyond both ends, of four parabolas."""
    length, least, most = fibre.length, fibre.least, fibre.most
    rising, falling = 0.5 * (least + 1.0), 0.5 * (1.0 + most)

    def part(way: Num, width: Num) -> Num:
        x = way / maximum(width, MINVAL)
        return 0.5 * x * x

    below = where(length <= rising, part(length - least, rising - least), 1.0 - part(1.0 - length, 1.0 - rising))
    above = where(length <= falling, 1.0 - part(length - 1.0, falling - 1.0), part(most - length, most - falling))
    within = logical_and(length >= least, length <= most)
    return where(within, where(length <= 1.0, below, above), 0.0)


def _by_speed(speed: Num, lengthening: Num) -> tuple[Num, Num]:
    """Returns FV and its slope: 0 where it shortens as fast as it can, 1 at rest, more where it lengthens."""
    most = lengthening - 1.0
    width = maximum(most, MINVAL)
    shorter, longer = speed + 1.0, most - speed
    slower = where(speed <= 0.0, shorter * shorter, lengthening - longer * longer / width)
    slope = where(speed <= 0.0, 2.0 * shorter, 2.0 * longer / width)
    # Beyond both ends it is level; at a speed of 0, with nothing to lengthen by, it is the left part.
    fast, slow = speed <= -1.0, logical_and(speed > 0.0, speed > most)
    return where(fast, 0.0, where(slow, lengthening, slower)), where(fast, 0.0, where(slow, 0.0, slope))
