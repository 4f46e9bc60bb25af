"""sinh, cosh, tanh and their inverses.

With n = rint(|x| / ln 2) and r = |x| - n ln 2, the addition theorems give sinh and cosh of |x| from cosh r, sinh r and
2^n, 2^-n, which are exact: no division, no loss of digits near zero.
"""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .exponential import exp_of_negative, without_ln2
from .float_format import FLOAT_FORMATS, at_most, copysign, fabs, integer, nearest, pick, power_of_two
from .logarithm import limits, log1p_of_regular
from .polynomial import polynomial


class Halves:
    """The sinh and cosh of n ln 2 and of r, the former divided by 2 so that nothing overflows early."""

    def __init__(self, b: Builder, size: Operand) -> None:
        layout = FLOAT_FORMATS[size.type]
        size = at_most(b, size, pick(size, 89.6, 710.6))
        n, bits = nearest(b, size, c.LOG2_E[size.type][0], layout.bias - 2)
        self.r = without_ln2(b, size, n)
        z = b.fmul(self.r, self.r, exact=True)
        self.sinh_rest = b.fmul(b.fmul(self.r, z, exact=True), polynomial(b, z, c.SINH), exact=True)
        self.cosh_rest = b.fmul(z, polynomial(b, z, c.COSH), exact=True)
        up = power_of_two(b, bits, size.type)
        twice = integer(size, (2 * layout.bias - 4) << layout.digits)
        field, zero = b.sub(twice, b.bits_of(up)), integer(size, 0)
        down = b.bitcast(b.select(b.icmp("slt", field, zero), zero, field), size.type)
        self.sinh_n, self.cosh_n = b.fsub(up, down, exact=True), b.fadd(up, down, exact=True)


def sinh(b: Builder, x: Operand) -> Operand:
    """Returns the hyperbolic sine."""
    size = fabs(b, x)
    h = Halves(b, size)
    rest = b.fma(h.sinh_n, h.cosh_rest, b.fmul(h.cosh_n, h.sinh_rest, exact=True))
    half = b.fadd(b.fma(h.cosh_n, h.r, h.sinh_n), rest, exact=True)
    value = b.fadd(half, half, exact=True)
    return copysign(b, b.select(b.fcmp("olt", size, pick(x, 2.0**-13, 2.0**-27)), size, value), x)


def cosh(b: Builder, x: Operand) -> Operand:
    """Returns the hyperbolic cosine."""
    h = Halves(b, fabs(b, x))
    rest = b.fma(h.cosh_n, h.cosh_rest, b.fmul(h.sinh_n, b.fadd(h.r, h.sinh_rest, exact=True), exact=True))
    half = b.fadd(h.cosh_n, rest, exact=True)
    return b.fadd(half, half, exact=True)


def tanh(b: Builder, x: Operand) -> Operand:
    """Returns the hyperbolic tangent: x + x^3 P(x^2), or 1 - 2 e^-2|x| / (1 + e^-2|x|) for |x| > 1."""
    size, one = fabs(b, x), b.f(1.0, x)
    z = b.fmul(x, x, exact=True)
    near = b.fma(b.fmul(size, z, exact=True), polynomial(b, z, c.TANH), size)
    power = exp_of_negative(b, b.fmul(at_most(b, size, pick(x, 9.5, 20.0)), b.f(-2.0, x), exact=True))
    far = b.fma(b.f(-2.0, x), b.fdiv(power, b.fadd(power, one, exact=True)), one)
    return copysign(b, b.select(b.fcmp("ogt", size, one), far, near), x)


def log1p_and_ln2(b: Builder, x: Operand, doubled: Operand) -> Operand:
    """Computes log(1 + x), plus ln 2 where `doubled`."""
    value = log1p_of_regular(b, x)
    more = b.select(doubled, b.f(c.LN2[x.type][0], x), b.f(0.0, x))
    return b.fadd(value, more, exact=True)


def asinh(b: Builder, x: Operand) -> Operand:
    """Computes sign(x) log(1 + |x| + x^2 / (1 + sqrt(1 + x^2))), or log(2 |x|) where x^2 + 1 is x^2."""
    size, one = fabs(b, x), b.f(1.0, x)
    great = b.fcmp("ogt", size, pick(x, 2.0**32, 2.0**60))
    square = b.fmul(x, x, exact=True)
    root = b.intrinsic("llvm.sqrt", b.fadd(square, one, exact=True))
    sum_ = b.fadd(size, b.fdiv(square, b.fadd(root, one, exact=True)), exact=True)
    value = log1p_and_ln2(b, b.select(great, size, sum_), great)
    value = b.select(b.fcmp("olt", size, b.f(float("inf"), x)), value, size)
    return copysign(b, b.select(b.fcmp("olt", size, pick(x, 2.0**-13, 2.0**-28)), size, value), x)


def acosh(b: Builder, x: Operand) -> Operand:
    """Computes log(1 + t + sqrt(2 t + t^2)) with t = x - 1, or log(2 x) where x^2 - 1 is x^2; NaN below 1."""
    t = b.fsub(x, b.f(1.0, x), exact=True)
    great = b.fcmp("ogt", x, pick(x, 2.0**32, 2.0**60))
    root = b.intrinsic("llvm.sqrt", b.fma(t, t, b.fadd(t, t, exact=True)))
    value = log1p_and_ln2(b, b.select(great, x, b.fadd(t, root, exact=True)), great)
    value = b.select(b.fcmp("olt", x, b.f(float("inf"), x)), value, x)
    return b.select(b.fcmp("olt", x, b.f(1.0, x)), b.f(float("nan"), x), value)


def atanh(b: Builder, x: Operand) -> Operand:
    """Computes sign(x) / 2 log(1 + 2 |x| / (1 - |x|))."""
    size = fabs(b, x)
    ratio = b.fdiv(b.fadd(size, size, exact=True), b.fsub(b.f(1.0, x), size, exact=True))
    value = b.fmul(limits(b, ratio, -1.0, log1p_of_regular(b, ratio)), b.f(0.5, x), exact=True)
    return copysign(b, b.select(b.fcmp("olt", size, pick(x, 2.0**-13, 2.0**-28)), size, value), x)
