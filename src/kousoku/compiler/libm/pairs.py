"""Sums of two numbers that hold twice the digits of one."""

from __future__ import annotations

from typing import NamedTuple

from ..codegen.builder import Builder
from ..codegen.operand import Operand


class Pair(NamedTuple):
    """A number high + low, where low is at most an ulp or so of high."""

    high: Operand
    low: Operand


def fast_sum(b: Builder, x: Operand, y: Operand) -> Pair:
    """Computes x + y exactly, for |x| >= |y| or x = 0."""
    high = b.fadd(x, y, exact=True)
    return Pair(high, b.fsub(y, b.fsub(high, x, exact=True), exact=True))


def product(b: Builder, x: Pair, y: Operand) -> Pair:
    """Computes x y; the error is some 2^-104 of it in float64."""
    high = b.fmul(x.high, y, exact=True)
    return Pair(high, b.fma(x.low, y, b.fma(x.high, y, b.fneg(high))))
