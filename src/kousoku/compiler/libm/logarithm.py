"""log and log1p.

log(x) = e ln 2 + log(1 + f) with x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
"""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand
from . import coefficients as c
from .float_format import FLOAT_FORMATS, integer, pick, power_of_two
from .polynomial import polynomial


def split(b: Builder, x: Operand) -> tuple[Operand, Operand]:
    """Splits a normal positive x into e + bias, as an integer, and 1 + f."""
    layout = FLOAT_FORMATS[x.type]
    above = b.add(b.bits_of(x), integer(x, (layout.bias << layout.digits) - layout.root_half))
    field = b.lshr(above, integer(x, layout.digits))
    mantissa = b.and_(above, integer(x, (1 << layout.digits) - 1))
    return field, b.bitcast(b.add(mantissa, integer(x, layout.root_half)), x.type)


def unbiased(b: Builder, field: Operand, x: Operand, extra: Operand | None = None) -> Operand:
    """Computes field - bias as a floating-point number.

    `extra` is 2**digits + bias where that is not the layout's own.
    """
    layout = FLOAT_FORMATS[x.type]
    unit = 2.0**layout.digits
    whole = b.bitcast(b.or_(field, integer(x, (layout.bias + layout.digits) << layout.digits)), x.type)
    return b.fsub(whole, b.f(unit + layout.bias, x) if extra is None else extra, exact=True)


def log_tail(b: Builder, f: Operand) -> Operand:
    """Computes log(1 + f) - f.

    In float32 f^2 (f P(f) - 1/2). In float64 with s = f / (2 + f) and z = s^2, since log(1 + f) = 2 atanh(s) and
    2 s = f - s f: -s (f - z Q(z)).
    """
    if f.type == "float":
        inner = b.fma(f, polynomial(b, f, c.LOG), b.f(-0.5, f))
        return b.fmul(b.fmul(f, f, exact=True), inner, exact=True)
    s = b.fdiv(f, b.fadd(f, b.f(2.0, f), exact=True))
    z = b.fmul(s, s, exact=True)
    return b.fmul(b.fneg(s), b.fma(b.fneg(z), polynomial(b, z, c.LOG_RATIO), f), exact=True)


def combined(b: Builder, e: Operand, f: Operand, lack: Operand | None = None) -> Operand:
    """Computes e ln 2 + log(1 + f + lack), where `lack` is the rounding error of f."""
    high, low = c.LN2[f.type]
    tail = b.fma(e, b.f(low, f), log_tail(b, f))
    if lack is not None:
        tail = b.fadd(tail, lack, exact=True)
    return b.fma(e, b.f(high, f), b.fadd(f, tail, exact=True))


def log_of_normal(b: Builder, x: Operand) -> Operand:
    """Computes log(x) for a normal, positive, finite x."""
    field, whole = split(b, x)
    return combined(b, unbiased(b, field, x), b.fsub(whole, b.f(1.0, x), exact=True))


def limits(b: Builder, x: Operand, pole: float, value: Operand) -> Operand:
    """Returns `value` but for x = pole (-inf), below (NaN), infinite (inf) and NaN."""
    value = b.select(b.fcmp("olt", x, b.f(float("inf"), x)), value, x)
    value = b.select(b.fcmp("oeq", x, b.f(pole, x)), b.f(float("-inf"), x), value)
    return b.select(b.fcmp("olt", x, b.f(pole, x)), b.f(float("nan"), x), value)


def log(b: Builder, x: Operand) -> Operand:
    """Returns the natural logarithm."""
    layout = FLOAT_FORMATS[x.type]
    tiny = b.fcmp("olt", x, b.f(layout.least, x))
    unit = 2.0**layout.digits
    normal = b.select(tiny, b.fmul(x, b.f(unit, x), exact=True), x)
    field, whole = split(b, normal)
    bias = unit + layout.bias
    e = unbiased(b, field, x, b.select(tiny, b.f(bias + layout.digits, x), b.f(bias, x)))
    return limits(b, x, 0.0, combined(b, e, b.fsub(whole, b.f(1.0, x), exact=True)))


def log1p_of_regular(b: Builder, x: Operand) -> Operand:
    """Computes log(1 + x) for finite x > -1; -0 may become 0.

    f = 2^-e (1 + x) - 1 = 2^-e x + (2^-e - 1) with one rounding, where e is that of the rounded 1 + x.
    """
    layout = FLOAT_FORMATS[x.type]
    field, _ = split(b, b.fadd(x, b.f(1.0, x), exact=True))
    four_over = power_of_two(b, b.sub(integer(x, 2 * layout.bias + 2), field), x.type)
    rest = b.fma(four_over, b.f(0.25, x), b.f(-1.0, x))
    quarter = b.fmul(x, b.f(0.25, x), exact=True)
    f = b.fma(quarter, four_over, rest)
    lack = b.fma(quarter, four_over, b.fsub(rest, f, exact=True))
    return combined(b, unbiased(b, field, x), f, lack)


def log1p(b: Builder, x: Operand) -> Operand:
    """Computes log(1 + x)."""
    value = limits(b, x, -1.0, log1p_of_regular(b, x))
    near = b.fcmp("olt", b.intrinsic("llvm.fabs", x), pick(x, 2.0**-25, 2.0**-54))
    return b.select(near, x, value)
