"""lgamma and digamma, both in float64.

Arguments below 1/2 are reflected; arguments below 8 are carried to x + 8 by the recurrence; from 8 on it is Stirling's
series, fitted as a polynomial in 1 / z^2. lgamma has a polynomial of its own around its zeros at 1 and 2.
"""

from __future__ import annotations

import math

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .float_format import fabs
from .logarithm import log
from .polynomial import polynomial
from .trigonometric import cos_near_zero, sin_near_zero

SHIFT = 8


def in_double(b: Builder, x: Operand) -> Operand:
    """Converts x to float64."""
    return b.cast("fpext", x, "double")


def to_period(b: Builder, x: Operand) -> Operand:
    """Computes x less the nearest integer."""
    return b.fsub(x, b.intrinsic("llvm.rint", x), exact=True)


def sin_cos_of_pi(b: Builder, y: Operand) -> tuple[Operand, Operand]:
    """Computes sin(pi y) and cos(pi y) for y in [-1/2, 1/2]."""
    pi, zero = b.f(math.pi, y), b.f(0.0, y)
    size = fabs(b, y)
    steep = b.fcmp("ogt", size, b.f(0.25, y))
    turned = b.select(steep, b.fsub(b.f(0.5, y), size, exact=True), size)
    r = b.fmul(turned, pi, exact=True)
    sine, cosine = sin_near_zero(b, r, zero), cos_near_zero(b, r, zero)
    sin_size = b.select(steep, cosine, sine)
    return b.select(b.fcmp("olt", y, zero), b.fneg(sin_size), sin_size), b.select(steep, sine, cosine)


def carried(b: Builder, x: Operand) -> tuple[Operand, Operand, Operand]:
    """Computes (z, p, q): z = x + 8, p = x (x + 1) ... (x + 7) and q = dp/dx for x < 8; else z = x, p = 1, q = 0."""
    low = b.fcmp("olt", x, b.f(float(SHIFT), x))
    product, slope = x, b.f(1.0, x)
    for k in range(1, SHIFT):
        term = b.fadd(x, b.f(float(k), x), exact=True)
        slope = b.fma(slope, term, product)
        product = b.fmul(product, term, exact=True)
    z = b.select(low, b.fadd(x, b.f(float(SHIFT), x), exact=True), x)
    return z, b.select(low, product, b.f(1.0, x)), b.select(low, slope, b.f(0.0, x))


def lgamma(b: Builder, x: Operand) -> Operand:
    """Computes log |Gamma(x)|; infinite at 0, -1, -2, ... and at both infinities."""
    type, x = x.type, in_double(b, x)
    one = b.f(1.0, x)
    left = b.fcmp("olt", x, b.f(0.5, x))
    value = _lgamma_right(b, b.select(left, b.fsub(one, x, exact=True), x))
    sine, _ = sin_cos_of_pi(b, to_period(b, x))
    mirrored = b.fsub(b.f(math.log(math.pi), x), b.fadd(log(b, fabs(b, sine)), value, exact=True), exact=True)
    value = b.select(left, mirrored, value)
    infinity = b.f(float("inf"), x)
    value = b.select(b.fcmp("oeq", fabs(b, x), infinity), infinity, value)
    return b.cast("fptrunc", value, type) if type == "float" else value


def _lgamma_right(b: Builder, x: Operand) -> Operand:
    """Computes log Gamma(x) for x >= 1/2."""
    z, product, _ = carried(b, x)
    inverse = b.fdiv(b.f(1.0, x), z)
    series = polynomial(b, b.fmul(inverse, inverse, exact=True), c.STIRLING)
    rest = b.fma(series, inverse, b.f((math.log(2 * math.pi) - 1) / 2, x))
    rest = b.fsub(rest, log(b, product), exact=True)
    minus_one = b.fsub(log(b, z), b.f(1.0, x), exact=True)
    value = b.fma(b.fsub(z, b.f(0.5, x), exact=True), minus_one, rest)
    from_one, from_two = b.fsub(x, b.f(1.0, x), exact=True), b.fsub(x, b.f(2.0, x), exact=True)
    centred = polynomial(b, b.fsub(x, b.f(1.75, x), exact=True), c.LGAMMA)
    near = b.fma(b.fmul(from_one, from_two, exact=True), centred, b.f(0.0, x))
    between = b.and_(b.fcmp("oge", x, b.f(0.75, x)), b.fcmp("ole", x, b.f(2.75, x)))
    return b.select(between, near, value)


def digamma(b: Builder, x: Operand) -> Operand:
    """Returns the derivative of log Gamma(x); NaN at 0, -1, -2, ..."""
    type, x = x.type, in_double(b, x)
    one, zero = b.f(1.0, x), b.f(0.0, x)
    left = b.fcmp("olt", x, b.f(0.5, x))
    right = b.select(left, b.fsub(one, x, exact=True), x)
    z, product, slope = carried(b, right)
    inverse = b.fdiv(one, z)
    square = b.fmul(inverse, inverse, exact=True)
    series = b.fma(b.fneg(square), polynomial(b, square, c.DIGAMMA), b.fmul(inverse, b.f(-0.5, x), exact=True))
    value = b.fadd(log(b, z), b.fsub(series, b.fdiv(slope, product), exact=True), exact=True)
    period = to_period(b, x)
    sine, cosine = sin_cos_of_pi(b, period)
    cotangent = b.fdiv(b.fmul(cosine, b.f(math.pi, x), exact=True), sine)
    value = b.select(left, b.fsub(value, cotangent, exact=True), value)
    pole = b.and_(left, b.fcmp("oeq", period, zero))
    value = b.select(pole, b.f(float("nan"), x), value)
    return b.cast("fptrunc", value, type) if type == "float" else value
