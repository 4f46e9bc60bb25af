"""exp, exp2, expm1 and the logistic function.

exp(x) = 2^n exp(r) with n = rint(x / ln 2), r = x - n ln 2, |r| <= ln 2 / 2.
"""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .float_format import FLOAT_FORMATS, at_least, at_most, fabs, nearest, pick, power_of_two
from .polynomial import polynomial


def without_ln2(b: Builder, x: Operand, n: Operand) -> Operand:
    """Computes x - n ln 2; the first of two steps is exact."""
    high, low = c.LN2[x.type]
    return b.fma(n, b.f(-low, x), b.fma(n, b.f(-high, x), x))


def exp_near_zero(b: Builder, r: Operand) -> Operand:
    """Computes exp(r) = 1 + r (1 + r q(r))."""
    one = b.f(1.0, r)
    return b.fma(r, b.fma(r, polynomial(b, r, c.EXP), one), one)


def scaled(b: Builder, value: Operand, n: Operand, bits: Operand) -> Operand:
    """Computes value 2^n in two factors, so that it overflows and underflows as it should; `bits` hold n + 2 bias."""
    layout = FLOAT_FORMATS[value.type]
    shift = b.f(layout.round + layout.bias, value)
    half = b.bits_of(b.fma(n, b.f(0.5, value), shift))
    first, second = (power_of_two(b, field, value.type) for field in (half, b.sub(bits, half)))
    return b.fmul(b.fmul(value, first, exact=True), second, exact=True)


def exp(b: Builder, x: Operand) -> Operand:
    """Computes e^x."""
    x = at_least(b, at_most(b, x, pick(x, 88.8, 709.8)), pick(x, -104.0, -745.2))
    n, bits = nearest(b, x, c.LOG2_E[x.type][0], 2 * FLOAT_FORMATS[x.type].bias)
    r = without_ln2(b, x, n)
    return scaled(b, exp_near_zero(b, r), n, bits)


def exp2(b: Builder, x: Operand) -> Operand:
    """Computes 2^x; exact where x is an integer."""
    x = at_least(b, at_most(b, x, pick(x, 128.5, 1024.5)), pick(x, -150.5, -1075.5))
    n, bits = nearest(b, x, 1.0, 2 * FLOAT_FORMATS[x.type].bias)
    r = b.fsub(x, n, exact=True)
    return scaled(b, b.fma(r, polynomial(b, r, c.EXP2), b.f(1.0, x)), n, bits)


def expm1(b: Builder, x: Operand) -> Operand:
    """Computes e^x - 1 = 2 (2^(n-1) (exp(r) - 1) + (2^(n-1) - 1/2)), with n = 0 for |x| < 1/2."""
    size = fabs(b, x)
    within = at_least(b, at_most(b, x, pick(x, 88.9, 710.0)), pick(x, -18.0, -40.0))
    rounded = b.select(b.fcmp("olt", size, b.f(0.5, x)), b.f(0.0, x), within)
    n, bits = nearest(b, rounded, c.LOG2_E[x.type][0], FLOAT_FORMATS[x.type].bias - 1)
    scale = power_of_two(b, bits, x.type)
    r = without_ln2(b, within, n)
    near = b.fma(b.fmul(r, r, exact=True), polynomial(b, r, c.EXPM1), r)
    less = b.fsub(scale, b.f(0.5, x), exact=True)
    lost = b.fsub(b.fsub(scale, less, exact=True), b.f(0.5, x), exact=True)
    half = b.fadd(less, b.fma(near, scale, lost), exact=True)
    return b.select(b.fcmp("olt", size, pick(x, 2.0**-26, 2.0**-55)), x, b.fadd(half, half, exact=True))


def exp_of_negative(b: Builder, x: Operand) -> Operand:
    """Computes e^x for x in [-80, 0], where one factor is enough."""
    n, bits = nearest(b, x, c.LOG2_E[x.type][0], FLOAT_FORMATS[x.type].bias)
    return b.fmul(exp_near_zero(b, without_ln2(b, x, n)), power_of_two(b, bits, x.type), exact=True)


def logistic(b: Builder, x: Operand) -> Operand:
    """Computes 1 / (1 + e^-x) = e^min(x, 0) / (1 + e^-|x|)."""
    small = exp(b, b.fneg(fabs(b, x)))
    one = b.f(1.0, x)
    over = b.select(b.fcmp("olt", x, b.f(0.0, x)), small, one)
    return b.fdiv(over, b.fadd(one, small, exact=True))
