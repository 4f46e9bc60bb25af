"""Reduction modulo pi/2 of any finite float64, however large (Payne and Hanek's method) [1].

x = m 2^p with a 53-bit integer m. Of 2/pi only those 192 bits matter that are neither so high that m 2^p makes them
multiples of 4 nor so low that the product's 137th binary digit would not see them.

References:
    [1] M. Payne and R. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18 (1983).
"""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand, int_constant
from . import coefficients as c

DIGITS, TABLE = "kousoku.two_over_pi", 1280


def reduced(b: Builder, x: Operand) -> tuple[Operand, Operand, Operand]:
    """Reduces a uniform finite float64 with |x| >= 2^17: (n, r, lo) with x = n pi/2 + r + lo up to multiples of
    2 pi.
    """
    bits = b.bits_of(x)
    field = b.and_(b.lshr(bits, b.i(52, bits)), b.i(0x7FF, bits))
    mantissa = b.or_(b.and_(bits, b.i((1 << 52) - 1, bits)), b.i(1 << 52, bits))
    product = b.mul(b.cast("zext", mantissa, "i192"), window(b, field))
    quadrant, left = fraction(b, product)
    r, lo = times_half_pi(b, left)
    negative = b.icmp("slt", bits, b.i(0, bits))
    flipped = b.select(negative, b.sub(b.i(0, bits), quadrant), quadrant)
    return flipped, b.select(negative, b.fneg(r), r), b.select(negative, b.fneg(lo), lo)


def wide_int(value: int) -> Operand:
    """Returns a 192-bit constant."""
    return Operand(str(value), "i192")


def window(b: Builder, field: Operand) -> Operand:
    """Computes floor(2/pi 2^(p + 190)) mod 2^192, where `field` = p + 1075 is the argument's exponent field."""
    b.declarations[DIGITS] = f"@{DIGITS} = private unnamed_addr constant i{TABLE} {c.TWO_OVER_PI_DIGITS}, align 8"
    shift = b.sub(int_constant(c.TWO_OVER_PI_BITS - 190 + 1075, "i64"), field)
    byte, rest = b.lshr(shift, int_constant(3, "i64")), b.and_(shift, int_constant(7, "i64"))
    place = b.define("ptr", False, f"getelementptr i8, ptr @{DIGITS}, i64 {byte.text}")
    loaded = b.define("i256", False, f"load i256, ptr {place.text}, align 1")
    return b.cast("trunc", b.lshr(loaded, b.cast("zext", rest, "i256")), "i192")


def fraction(b: Builder, product: Operand) -> tuple[Operand, Operand]:
    """Returns the nearest integer to product / 2^190 (its low bits), and what is left, as a signed fraction of
    2^192.
    """
    left = b.shl(product, wide_int(2))
    up = b.cast("zext", b.icmp("slt", left, wide_int(0)), "i64")
    return b.add(b.cast("trunc", b.lshr(product, wide_int(190)), "i64"), up), left


def times_half_pi(b: Builder, left: Operand) -> tuple[Operand, Operand]:
    """Computes left / 2^192 pi/2 as a float64 and what it lacks."""
    negative = b.icmp("slt", left, wide_int(0))
    size = b.select(negative, b.sub(wide_int(0), left), left)
    zeros = b.intrinsic("llvm.ctlz", size, flags=(0,))
    digits = b.shl(size, zeros)
    mask = int_constant((1 << 53) - 1, "i64")
    high = b.cast("trunc", b.lshr(digits, wide_int(139)), "i64")
    low = b.and_(b.cast("trunc", b.lshr(digits, wide_int(86)), "i64"), mask)
    field = b.sub(int_constant(1023 - 53, "i64"), b.cast("trunc", zeros, "i64"))
    scale = b.bitcast(b.shl(field, int_constant(52, "i64")), "double")
    scale = b.select(negative, b.fneg(scale), scale)
    first, second, _ = (b.f(p, scale) for p in c.HALF_PI["double"])
    a = b.fmul(b.cast("uitofp", high, "double"), scale, exact=True)
    rest = b.fmul(b.fmul(b.cast("uitofp", low, "double"), scale, exact=True), b.f(2.0**-53, scale), exact=True)
    r = b.fmul(a, first, exact=True)
    lack = b.fma(a, second, b.fma(rest, first, b.fma(a, first, b.fneg(r))))
    total = b.fadd(r, lack, exact=True)
    return total, b.fsub(lack, b.fsub(total, r, exact=True), exact=True)
