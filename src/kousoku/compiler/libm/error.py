"""erf, erfc and the inverse of erf."""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .exponential import exp_near_zero, exp_of_negative, scaled, without_ln2
from .float_format import FLOAT_FORMATS, at_most, copysign, fabs, nearest, pick
from .logarithm import log_of_normal
from .polynomial import polynomial


def erfc_over_exp(b: Builder, size: Operand) -> Operand:
    """Computes exp(x^2) erfc(x) for x in [0, 38]: G((x - 2) / (x + 2)) / (x + 2)."""
    inverse = b.fdiv(b.f(1.0, size), b.fadd(size, b.f(2.0, size), exact=True))
    t = b.fma(inverse, b.f(-4.0, size), b.f(1.0, size))
    return b.fmul(polynomial(b, t, c.ERFC), inverse, exact=True)


def minus_square(b: Builder, size: Operand) -> tuple[Operand, Operand]:
    """Computes -x^2 rounded, and what it lacks."""
    square = b.fneg(b.fmul(size, size, exact=True))
    return square, b.fneg(b.fma(size, size, square))


def erf(b: Builder, x: Operand) -> Operand:
    """Returns the error function: x + x P(x^2) up to |x| = 1, then 1 - erfc(|x|)."""
    size = fabs(b, x)
    z = b.fmul(x, x, exact=True)
    near = b.fma(size, polynomial(b, z, c.ERF), size)
    clamped = at_most(b, size, pick(x, 4.0, 6.0))
    square, lack = minus_square(b, clamped)
    power = exp_of_negative(b, square)
    power = b.fma(power, lack, power)
    far = b.fma(b.fneg(power), erfc_over_exp(b, clamped), b.f(1.0, x))
    return copysign(b, b.select(b.fcmp("ogt", size, b.f(1.0, x)), far, near), x)


def erfc(b: Builder, x: Operand) -> Operand:
    """Computes 1 - erf(x).

    Beyond |x| = 0.8 by its own series, without loss of digits for large x; it becomes subnormal before it becomes 0.
    """
    size = at_most(b, fabs(b, x), pick(x, 10.15, 27.29))
    square, lack = minus_square(b, size)
    n, bits = nearest(b, square, c.LOG2_E[x.type][0], 2 * FLOAT_FORMATS[x.type].bias)
    near = exp_near_zero(b, without_ln2(b, square, n))
    near = b.fma(near, lack, near)
    value = scaled(b, b.fmul(near, erfc_over_exp(b, size), exact=True), n, bits)
    value = b.select(b.fcmp("olt", x, b.f(0.0, x)), b.fsub(b.f(2.0, x), value, exact=True), value)
    central = b.fma(b.fneg(x), polynomial(b, b.fmul(x, x, exact=True), c.ERF), b.fsub(b.f(1.0, x), x, exact=True))
    return b.select(b.fcmp("olt", fabs(b, x), b.f(0.8, x)), central, value)


def erf_inv(b: Builder, x: Operand) -> Operand:
    """Returns the inverse of erf: x P(w) with w = -log(1 - x^2), in the tails x P(sqrt(w)) [1].

    References:
        [1] M. Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2011), section 10.2: the
            variables; the polynomials are our own.
    """
    one = b.f(1.0, x)
    w = b.fneg(log_of_normal(b, b.fma(b.fneg(x), x, one)))
    small = x.type == "float"
    centre, tail = (c.ERF_INV_CENTRE, c.ERF_INV_TAIL) if small else (c.ERF_INV_CENTRE_64, c.ERF_INV_TAIL_64)
    near = polynomial(b, b.fsub(w, pick(x, 2.5, 3.0), exact=True), centre)
    far = polynomial(b, b.fsub(b.intrinsic("llvm.sqrt", w), pick(x, 3.0, 4.0), exact=True), tail)
    value = b.fmul(x, b.select(b.fcmp("olt", w, pick(x, 5.0, 6.0)), near, far), exact=True)
    size = fabs(b, x)
    value = b.select(b.fcmp("oeq", size, one), b.fmul(x, b.f(float("inf"), x), exact=True), value)
    return b.select(b.fcmp("ogt", size, one), b.f(float("nan"), x), value)
