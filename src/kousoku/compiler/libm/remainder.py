"""The remainder of a division of floating-point numbers."""

from __future__ import annotations

from ..codegen.builder import Builder
from ..codegen.operand import Operand

EXACT_QUOTIENT = {"float": 2.0**22, "double": 2.0**51}


def fmod(b: Builder, x: Operand, y: Operand) -> Operand:
    """Computes x - n y with n = x / y rounded towards zero: exact, with the sign of x; NaN for y = 0 or infinite x.

    A quotient that fits the significand is at most one off, which shows in the sign of the rest; only where some lane's
    quotient is larger, the processor's slow remainder is taken for all.
    """
    a, c = b.intrinsic("llvm.fabs", x), b.intrinsic("llvm.fabs", y)
    quotient = b.intrinsic("llvm.trunc", b.fdiv(a, c))
    far = b.fcmp("ogt", quotient, b.f(EXACT_QUOTIENT[x.type], x))
    infinite = b.fcmp("oeq", c, b.f(float("inf"), c))
    far = b.any(b.and_(far, b.not_(infinite)))

    def near() -> list[Operand]:
        rest = b.fma(b.fneg(quotient), c, a)
        rest = b.select(b.fcmp("olt", rest, b.f(0.0, x)), b.fadd(rest, c, exact=True), rest)
        rest = b.select(b.fcmp("oge", rest, c), b.fsub(rest, c, exact=True), rest)
        return [b.select(infinite, b.fmul(a, b.f(1.0, x)), rest)]

    def slow() -> list[Operand]:
        return [b.binary("frem", a, c)]

    result = b.if_(far, slow, near, [x.varying or y.varying])[0]
    poisoned = b.fcmp("oeq", a, b.f(float("inf"), a))
    result = b.select(poisoned, b.f(float("nan"), x), result)
    return b.intrinsic("llvm.copysign", result, x)
