"""Floating-point numbers as they are laid out in bits, and the tricks that rest on it."""

from __future__ import annotations

from typing import NamedTuple

from ..codegen.builder import Builder
from ..codegen.operand import INT_OF_FLOAT, Operand, float_constant, int_constant


class FloatFormat(NamedTuple):
    """One binary format.

    Attributes:
        digits: bits of the stored mantissa.
        bias: exponent field of 1.0.
        round: 1.5 * 2**digits. Adding it rounds to an integer, which then stands in the sum's low bits.
        root_half: bits of sqrt(1/2).
        least: the least normal number.
    """

    digits: int
    bias: int
    round: float
    root_half: int
    least: float


FLOAT_FORMATS = {
    "float": FloatFormat(23, 127, 1.5 * 2.0**23, 0x3F3504F3, 2.0**-126),
    "double": FloatFormat(52, 1023, 1.5 * 2.0**52, 0x3FE6A09E667F3BCD, 2.0**-1022),
}


def pick(like: Operand, float32: float, float64: float) -> Operand:
    """Returns a constant that depends on the type of `like`."""
    return float_constant(float32 if like.type == "float" else float64, like.type)


def integer(like: Operand, value: int) -> Operand:
    """Returns an integer constant of the size of the floating-point `like`."""
    return int_constant(value, INT_OF_FLOAT[like.type])


def fabs(b: Builder, x: Operand) -> Operand:
    """Computes |x|."""
    return b.intrinsic("llvm.fabs", x)


def copysign(b: Builder, x: Operand, sign: Operand) -> Operand:
    """Computes |x| with the sign of `sign`."""
    return b.intrinsic("llvm.copysign", x, sign)


def at_most(b: Builder, x: Operand, bound: Operand) -> Operand:
    """Computes min(x, bound); NaN stays NaN."""
    return b.select(b.fcmp("ogt", x, bound), bound, x)


def at_least(b: Builder, x: Operand, bound: Operand) -> Operand:
    """Computes max(x, bound); NaN stays NaN."""
    return b.select(b.fcmp("olt", x, bound), bound, x)


def nearest(b: Builder, x: Operand, factor: float, low_bits: int = 0) -> tuple[Operand, Operand]:
    """Computes n = rint(x factor), and the bits of a number whose low bits hold n + low_bits.

    |x factor| must be far below 2**digits.
    """
    shift = b.f(FLOAT_FORMATS[x.type].round + low_bits, x)
    shifted = b.fadd(x, shift, exact=True) if factor == 1.0 else b.fma(x, b.f(factor, x), shift)
    return b.fsub(shifted, shift, exact=True), b.bits_of(shifted)


def power_of_two(b: Builder, field: Operand, type: str) -> Operand:
    """Returns the number whose exponent field is the low bits of `field`."""
    return b.bitcast(b.shl(field, integer(Operand("", type), FLOAT_FORMATS[type].digits)), type)
