"""Floating-point numbers as what they are made of: rounding, neighbours, the order of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..codegen.builder import Builder
from ..codegen.emitter import Emitter
from ..codegen.operand import BITS, Operand
from ..codegen.value import Value
from ..ir import Op
from .kinds import by_kind, call, icmp


def round_(k: Emitter, op: Op, x: Value) -> Value:
    """Rounds to the nearest integer; ties away from zero (0) or to even (1)."""
    even = int(op.params["rounding_method"]) == 1
    return k.map(op, call("llvm.roundeven") if even else round_away, x)


def round_away(b: Builder, x: Operand) -> Operand:
    """Rounds to the nearest integer, ties away from zero."""
    whole = b.intrinsic("llvm.trunc", x)
    rest = b.intrinsic("llvm.fabs", b.fsub(x, whole, exact=True))
    step = b.intrinsic("llvm.copysign", b.f(1.0, x), x)
    return b.select(b.fcmp("oge", rest, b.f(0.5, x)), b.fadd(whole, step, exact=True), whole)


def nextafter(b: Builder, x: Operand, y: Operand) -> Operand:
    """Returns the next number from x towards y, in integers: subnormal numbers count even where arithmetic
    flushes them.
    """
    bits, other = b.bits_of(x), b.bits_of(y)
    top = b.i(1 << (BITS[bits.type] - 1), bits)
    zero, one = b.i(0, bits), b.i(1, bits)
    sign, other_sign = b.and_(bits, top), b.and_(other, top)
    size, other_size = b.xor(bits, sign), b.xor(other, other_sign)
    towards_zero = b.or_(b.icmp("ugt", size, other_size), b.icmp("ne", sign, other_sign))
    moved = b.add(bits, b.select(towards_zero, b.i(-1, bits), one))
    moved = b.select(b.icmp("eq", size, zero), b.or_(other_sign, one), moved)
    result = b.select(b.fcmp("oeq", x, y), y, b.bitcast(moved, x.type))
    return b.select(b.fcmp("uno", x, y), b.fadd(x, y), result)


def is_finite(b: Builder, x: Operand) -> Operand:
    """Returns whether x is neither infinite nor NaN."""
    return b.fcmp("olt", b.intrinsic("llvm.fabs", x), b.f(float("inf"), x))


def rank(b: Builder, x: Operand) -> Operand:
    """Returns an integer that orders floats: -NaN, -inf, ..., -0, +0, ..., inf, NaN."""
    bits = b.bits_of(x)
    sign = b.ashr(bits, b.i(BITS[bits.type] - 1, bits))
    return b.xor(bits, b.and_(sign, b.i((1 << (BITS[bits.type] - 1)) - 1, bits)))


def total_order(predicate: str) -> Callable[..., Value]:
    """Returns a rule for a comparison by rank."""
    signed, unsigned = (predicate if predicate == "eq" else sign + predicate for sign in "su")
    return by_kind(
        f=lambda b, x, y: b.icmp(signed, rank(b, x), rank(b, y)), i=icmp(signed), u=icmp(unsigned), b=icmp(unsigned)
    )


RULES: dict[str, Callable[..., Any]] = {
    "is_finite": by_kind(f=is_finite),
    "floor": by_kind(f=call("llvm.floor")),
    "ceil": by_kind(f=call("llvm.ceil")),
    "round": round_,
    "nextafter": by_kind(f=nextafter),
    "eq_to": total_order("eq"),
    "lt_to": total_order("lt"),
    "le_to": total_order("le"),
}
