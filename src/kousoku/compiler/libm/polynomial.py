"""Polynomials over lanes."""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.builder import Builder
from ..codegen.operand import Operand


def horner(b: Builder, x: Operand, coefficients: Sequence[float]) -> Operand:
    """Computes c_0 + x (c_1 + x (c_2 + ...)): the fewest operations, one long chain."""
    value = b.f(coefficients[-1], x)
    for c in reversed(coefficients[:-1]):
        value = b.fma(value, x, b.f(c, x))
    return value


def chains(b: Builder, x: Operand, coefficients: Sequence[float], count: int) -> Operand:
    """Computes sum_j x^j p_j(x^count), where each p_j is Horner's: `count` (a power of two) short chains side
    by side.
    """
    power, powers = x, []
    for _ in range(count.bit_length() - 1):
        powers.append(power)
        power = b.fmul(power, power)
    values = [horner(b, power, coefficients[j::count]) for j in range(count)]
    for step in powers:
        values = [b.fma(high, step, low) for low, high in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def polynomial(b: Builder, x: Operand, table: dict[str, tuple[float, ...]]) -> Operand:
    """Evaluates the table's polynomial at x: c_0 + x q(x), q in as many chains (1, 2 or 4) as its length is worth.

    The last step alone sees c_0, so that rounding errors of the chains reach the result only after a product with x.
    """
    first, *rest = table[x.type]
    count = 1 if len(rest) <= 4 else 2 if len(rest) <= 9 else 4
    return b.fma(chains(b, x, rest, count), x, b.f(first, x))
