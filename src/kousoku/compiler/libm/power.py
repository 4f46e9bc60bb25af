"""sqrt, rsqrt, cbrt, integer powers and x ** y = 2^(y log2 |x|) with C's special cases.

The exponent y log2 |x| may be as great as 2^7 (2^10 in float64) and its absolute error is the result's relative error,
so the logarithm needs more digits than the type has: float32 goes through float64, float64 through pairs of numbers.

The cube root needs no division: the bits of x^(-1/3) are about a constant less a third of the bits of x; that guess y
is off by at most 3.5 %. With e = 1 - x y^3, x^(-1/3) = y (1 - e)^(-1/3), a polynomial in e.
"""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .exponential import scaled
from .float_format import FLOAT_FORMATS, at_least, at_most, copysign, fabs, integer, nearest, power_of_two
from .logarithm import split, unbiased
from .pairs import Pair, fast_sum, product
from .polynomial import polynomial

GUESS = {"float": (8, 0x54A1F800 >> 8), "double": (32, 1430186411)}


def sqrt(b: Builder, x: Operand) -> Operand:
    """Returns the square root, correctly rounded; NaN below zero."""
    return b.intrinsic("llvm.sqrt", x)


def rsqrt(b: Builder, x: Operand) -> Operand:
    """Computes 1 / sqrt(x), each correctly rounded."""
    return b.fdiv(b.f(1.0, x), sqrt(b, x))


def guess(b: Builder, x: Operand) -> Operand:
    """Estimates x^(-1/3) for a positive normal x: the upper bits' third is taken as a floating-point number."""
    layout = FLOAT_FORMATS[x.type]
    shift, constant = GUESS[x.type]
    unit = 2.0**layout.digits
    upper = b.or_(b.lshr(b.bits_of(x), integer(x, shift)), integer(x, (layout.bias + layout.digits) << layout.digits))
    third = b.fma(b.bitcast(upper, x.type), b.f(-1 / 3, x), b.f(unit + constant + unit / 3, x))
    return b.bitcast(b.shl(b.bits_of(third), integer(x, shift)), x.type)


def cbrt(b: Builder, x: Operand) -> Operand:
    """Returns the cube root: x y^2 with y = x^(-1/3), and one Newton step for the last digit."""
    layout = FLOAT_FORMATS[x.type]
    size = fabs(b, x)
    tiny = b.fcmp("olt", size, b.f(layout.least, x))
    up, down = (24, 8) if x.type == "float" else (54, 18)
    a = b.select(tiny, b.fmul(size, b.f(2.0**up, x), exact=True), size)
    y = guess(b, a)
    e = b.fma(b.fneg(b.fmul(a, y, exact=True)), b.fmul(y, y, exact=True), b.f(1.0, x))
    y = b.fma(b.fmul(y, e, exact=True), polynomial(b, e, c.CBRT), y)
    square = b.fmul(y, y, exact=True)
    root = b.fmul(a, square, exact=True)
    lack = b.fma(b.fneg(b.fmul(root, root, exact=True)), root, a)
    root = b.fma(b.fmul(lack, b.f(1 / 3, x), exact=True), square, root)
    root = b.select(tiny, b.fmul(root, b.f(2.0**-down, x), exact=True), root)
    regular = b.fcmp("olt", size, b.f(float("inf"), x))
    return copysign(b, b.select(regular, root, size), x)


def integer_pow(b: Builder, x: Operand, exponent: int) -> Operand:
    """Computes x ** exponent by repeated squaring; the reciprocal of that where the exponent is negative."""
    if exponent == 0:
        return b.f(1.0, x)
    result, square, left = None, x, abs(exponent)
    while left:
        if left & 1:
            result = square if result is None else b.fmul(result, square, exact=True)
        left >>= 1
        if left:
            square = b.fmul(square, square, exact=True)
    assert result is not None
    return result if exponent > 0 else b.fdiv(b.f(1.0, x), result)


def split_any(b: Builder, a: Operand) -> tuple[Operand, Operand]:
    """Computes (e, f) with a = 2^e (1 + f), for finite a > 0, subnormal numbers too."""
    layout = FLOAT_FORMATS[a.type]
    unit = 2.0**layout.digits
    tiny = b.fcmp("olt", a, b.f(layout.least, a))
    field, whole = split(b, b.select(tiny, b.fmul(a, b.f(unit, a), exact=True), a))
    bias = unit + layout.bias
    e = unbiased(b, field, a, b.select(tiny, b.f(bias + layout.digits, a), b.f(bias, a)))
    return e, b.fsub(whole, b.f(1.0, a), exact=True)


def pow(b: Builder, x: Operand, y: Operand) -> Operand:
    """Computes x ** y."""
    size = fabs(b, x)
    value = (_power32 if x.type == "float" else _power64)(b, size, y)
    return _signed(b, x, y, size, value)


def _limits(b: Builder, size: Operand, y: Operand, exponent: Operand) -> Operand:
    """Computes y log2(size) where size is 0, infinite or NaN, and 0 where either factor is."""
    infinity = b.f(float("inf"), size)
    wild = b.select(b.fcmp("oeq", size, b.f(0.0, size)), b.f(float("-inf"), size), size)
    regular = b.and_(b.fcmp("ogt", size, b.f(0.0, size)), b.fcmp("olt", size, infinity))
    zero = b.or_(b.fcmp("oeq", size, b.f(1.0, size)), b.fcmp("oeq", y, b.f(0.0, y)))
    if exponent.type != size.type:
        wild = b.cast("fpext", wild, exponent.type)
    outside = b.fmul(wild, b.cast("fpext", y, exponent.type), exact=True)
    return b.select(zero, b.f(0.0, exponent), b.select(regular, exponent, outside))


def _power32(b: Builder, size: Operand, y: Operand) -> Operand:
    """Computes size ** y in float64."""
    e, f = (b.cast("fpext", a, "double") for a in split_any(b, size))
    log2 = b.fma(f, polynomial(b, f, c.LOG2), e)
    exponent = _limits(b, size, y, b.fmul(log2, b.cast("fpext", y, "double"), exact=True))
    exponent = at_least(b, at_most(b, exponent, b.f(200.0, exponent)), b.f(-200.0, exponent))
    n, bits = nearest(b, exponent, 1.0, FLOAT_FORMATS["double"].bias)
    r = b.fsub(exponent, n, exact=True)
    scale = power_of_two(b, bits, "double")
    near = b.fma(r, polynomial(b, r, c.EXP2_SHORT), b.f(1.0, r))
    return b.cast("fptrunc", b.fmul(near, scale, exact=True), "float")


def _power64(b: Builder, size: Operand, y: Operand) -> Operand:
    """Computes size ** y with the logarithm as a pair."""
    log2 = _log2_pair(b, size)
    high, low = product(b, log2, y)
    bound = b.f(1100.0, y)
    exponent = at_least(b, at_most(b, _limits(b, size, y, high), bound), b.fneg(bound))
    low = b.select(b.fcmp("oeq", exponent, high), low, b.f(0.0, y))
    n, bits = nearest(b, exponent, 1.0, 2 * FLOAT_FORMATS["double"].bias)
    r = b.fsub(exponent, n, exact=True)
    start = product(b, Pair(*(b.f(p, y) for p in c.LN2["double"])), r)
    near = fast_sum(b, b.f(1.0, y), start.high)
    rest = b.fma(b.fmul(r, r, exact=True), polynomial(b, r, c.EXP2_REST), b.fadd(near.low, start.low, exact=True))
    grown = b.fadd(near.high, rest, exact=True)
    rest = b.fma(b.fmul(low, b.f(c.LN2["double"][0], y), exact=True), grown, rest)
    return scaled(b, b.fadd(near.high, rest, exact=True), n, bits)


def _log2_pair(b: Builder, size: Operand) -> Pair:
    """Computes log2(size) to about 2^-68; log(1 + f) = 2 s + s^3 (2/3 + z R(z)) with s = f / (2 + f), z = s^2."""
    e, f = split_any(b, size)
    two = b.f(2.0, f)
    below = fast_sum(b, two, f)
    s = b.fdiv(f, below.high)
    left = b.fma(b.fneg(s), below.low, b.fma(b.fneg(s), below.high, f))
    s = Pair(s, b.fdiv(left, below.high))
    square = product(b, s, s.high)
    z = Pair(square.high, b.fma(s.high, s.low, square.low))
    factor = fast_sum(b, b.f(2 / 3, f), b.fmul(z.high, polynomial(b, z.high, c.LOG_REST), exact=True))
    factor = Pair(factor.high, b.fadd(factor.low, b.f(2.0**-54 * 2 / 3, f), exact=True))
    cube = product(b, z, s.high)
    cube = Pair(cube.high, b.fma(z.high, s.low, cube.low))
    tail = product(b, cube, factor.high)
    tail = Pair(tail.high, b.fma(cube.high, factor.low, tail.low))
    log = fast_sum(b, b.fmul(s.high, two, exact=True), tail.high)
    log = Pair(log.high, b.fadd(log.low, b.fma(s.low, two, tail.low), exact=True))
    first, second = c.LOG2_E["double"]
    log2 = product(b, log, b.f(first, f))
    whole = fast_sum(b, e, log2.high)
    return Pair(whole.high, b.fadd(whole.low, b.fma(log.high, b.f(second, f), log2.low), exact=True))


def _signed(b: Builder, x: Operand, y: Operand, size: Operand, value: Operand) -> Operand:
    """Returns `value` with a sign where y is odd, and NaN where x is finite and negative and y no integer."""
    half = b.fmul(y, b.f(0.5, y), exact=True)
    whole = b.fcmp("oeq", b.intrinsic("llvm.rint", y), y)
    odd = b.and_(whole, b.fcmp("une", b.intrinsic("llvm.rint", half), half))
    zero = integer(x, 0)
    sign = b.and_(b.bits_of(x), integer(x, 1 << (31 if x.type == "float" else 63)))
    value = b.bitcast(b.xor(b.bits_of(value), b.select(odd, sign, zero)), x.type)
    negative = b.and_(b.fcmp("olt", x, b.f(0.0, x)), b.fcmp("olt", size, b.f(float("inf"), x)))
    return b.select(b.and_(negative, b.not_(whole)), b.f(float("nan"), x), value)
