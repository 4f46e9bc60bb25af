"""asin, acos, atan and atan2."""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .float_format import copysign, fabs, integer
from .polynomial import polynomial


def angle(b: Builder, quarters: int, like: Operand) -> tuple[Operand, Operand]:
    """Computes quarters pi/2 as a number and what it lacks."""
    high, low = (c.HALF_PI if quarters == 1 else c.PI)[like.type][:2]
    return b.f(high, like), b.f(low, like)


def odd_rest(b: Builder, x: Operand, z: Operand, table: dict[str, tuple[float, ...]], extra: Operand) -> Operand:
    """Computes x z P(z) + extra."""
    return b.fma(b.fmul(x, z, exact=True), polynomial(b, z, table), extra)


def asin(b: Builder, x: Operand) -> Operand:
    """Returns the arc sine; pi/2 - 2 asin(sqrt((1 - |x|) / 2)) for |x| > 1/2."""
    size, zero = fabs(b, x), b.f(0.0, x)
    far, z, root = folded(b, size)
    high, low = angle(b, 1, x)
    minus = b.fmul(root, b.f(-2.0, x), exact=True)
    base = b.select(far, b.fadd(high, minus, exact=True), size)
    rest = odd_rest(b, b.select(far, minus, size), z, c.ASIN, b.select(far, low, zero))
    return copysign(b, b.fadd(base, rest, exact=True), x)


def folded(b: Builder, size: Operand) -> tuple[Operand, Operand, Operand]:
    """Returns whether size > 1/2, the square of the arc sine's argument, and its root if so: sqrt((1 - size) / 2)."""
    far = b.fcmp("ogt", size, b.f(0.5, size))
    half = b.fma(size, b.f(-0.5, size), b.f(0.5, size))
    return far, b.select(far, half, b.fmul(size, size, exact=True)), b.intrinsic("llvm.sqrt", half)


def acos(b: Builder, x: Operand) -> Operand:
    """Returns the arc cosine: 2 asin(sqrt((1 - x) / 2)), pi/2 - asin(x), or pi - 2 asin(sqrt((1 + x) / 2))."""
    size, zero = fabs(b, x), b.f(0.0, x)
    far, z, root = folded(b, size)
    below = b.fcmp("olt", x, zero)
    (half_high, half_low), (high, low) = angle(b, 1, x), angle(b, 2, x)
    base = b.select(far, b.select(below, high, zero), half_high)
    extra = b.select(far, b.select(below, low, zero), half_low)
    twice = b.fadd(root, root, exact=True)
    signed = b.select(far, b.select(below, b.fneg(twice), twice), b.fneg(x))
    rest = odd_rest(b, signed, z, c.ASIN, extra)
    return b.fadd(b.fadd(base, signed, exact=True), rest, exact=True)


def atan(b: Builder, x: Operand) -> Operand:
    """Returns the arc tangent; pi/2 - atan(1 / |x|) for |x| > 1."""
    size, zero = fabs(b, x), b.f(0.0, x)
    far = b.fcmp("ogt", size, b.f(1.0, x))
    ratio = b.select(far, b.fdiv(b.f(-1.0, x), size), size)
    high, low = angle(b, 1, x)
    base = b.fadd(b.select(far, high, zero), ratio, exact=True)
    rest = odd_rest(b, ratio, b.fmul(ratio, ratio, exact=True), c.ATAN, b.select(far, low, zero))
    return copysign(b, b.fadd(base, rest, exact=True), x)


def atan2(b: Builder, y: Operand, x: Operand) -> Operand:
    """Returns the angle of (x, y), with C's results for zeros and infinities."""
    height, width = fabs(b, y), fabs(b, x)
    steep = b.fcmp("ogt", height, width)
    less, more = b.select(steep, width, height), b.select(steep, height, width)
    ratio = b.fdiv(less, more)
    ratio = b.select(b.fcmp("oeq", less, more), b.f(1.0, x), ratio)
    ratio = b.select(b.fcmp("oeq", more, b.f(0.0, x)), b.f(0.0, x), ratio)
    left = b.icmp("slt", b.bits_of(x), integer(x, 0))
    zero = b.f(0.0, x)
    (half_high, half_low), (high, low) = angle(b, 1, x), angle(b, 2, x)
    base = b.select(steep, half_high, b.select(left, high, zero))
    extra = b.select(steep, half_low, b.select(left, low, zero))
    signed = b.select(b.xor(steep, left), b.fneg(ratio), ratio)
    rest = odd_rest(b, signed, b.fmul(ratio, ratio, exact=True), c.ATAN, extra)
    value = b.fadd(b.fadd(base, signed, exact=True), rest, exact=True)
    value = b.select(b.fcmp("uno", x, y), b.f(float("nan"), x), value)
    return copysign(b, value, y)
