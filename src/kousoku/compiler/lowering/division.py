"""Quotients, remainders and shifts, where processors and XLA disagree about the corners."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..codegen.builder import F64, I32, Builder
from ..codegen.operand import BITS, Operand
from ..codegen.value import Value
from ..libm.remainder import fmod
from .kinds import Function, by_kind, simple


def divide(b: Builder, x: Operand, y: Operand, signed: bool, remainder: bool) -> Operand:
    """Computes x / y or x % y of integers.

    Processors divide no vectors of integers: up to 32 bits it is done exactly in double precision, by constants LLVM
    multiplies.
    """
    zero, one = b.i(0, x), b.i(1, x)
    op = ("s" if signed else "u") + ("rem" if remainder else "div")
    if y.value is not None and y.value not in (0, (1 << BITS[y.type]) - 1):
        return b.binary(op, x, y)
    by_zero = b.icmp("eq", y, zero)
    overflow = None
    if signed:
        lowest = b.icmp("eq", x, b.i(1 << (BITS[x.type] - 1), x))
        overflow = b.and_(lowest, b.icmp("eq", y, b.i(-1, y)))
    bad = by_zero if overflow is None else b.or_(by_zero, overflow)
    safe = b.select(bad, one, y)
    varying = x.varying or y.varying
    if varying and BITS[x.type] <= 32 and b.lanes > 1:
        result = _divide_as_doubles(b, x, safe, signed, remainder)
    else:
        result = b.binary(op, x, safe)
    at_zero = x if remainder else b.i(-1, x)
    result = b.select(by_zero, at_zero, result)
    if overflow is not None:
        result = b.select(overflow, zero if remainder else x, result)
    return result


def _divide_as_doubles(b: Builder, x: Operand, y: Operand, signed: bool, remainder: bool) -> Operand:
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    quotient = b.cast(back, b.fdiv(b.cast(to, x, F64), b.cast(to, y, F64)), I32 if BITS[x.type] == 32 else x.type)
    return b.sub(x, b.binary("mul", quotient, y)) if remainder else quotient


def _division(remainder: bool) -> Callable[..., Value]:
    return by_kind(
        f=fmod if remainder else (lambda b, x, y: b.fdiv(x, y)),
        i=partial(divide, signed=True, remainder=remainder),
        u=partial(divide, signed=False, remainder=remainder),
    )


# ---- shifts


def shift(name: str) -> Function:
    """Returns a shift whose result is 0 (or the sign) where the count is not less than the bits."""

    def function(b: Builder, x: Operand, count: Operand) -> Operand:
        bits = BITS[x.type]
        if count.value is not None and int(count.value) < bits:
            return b.binary(name, x, count)
        within = b.icmp("ult", count, b.i(bits, count))
        if name == "ashr":
            return b.binary(name, x, b.select(within, count, b.i(bits - 1, count)))
        return b.select(within, b.binary(name, x, b.select(within, count, b.i(0, count))), b.i(0, x))

    return function


RULES: dict[str, Callable[..., Any]] = {
    "div": _division(remainder=False),
    "rem": _division(remainder=True),
    "shift_left": simple(shift("shl")),
    "shift_right_logical": simple(shift("lshr")),
    "shift_right_arithmetic": simple(shift("ashr")),
}
