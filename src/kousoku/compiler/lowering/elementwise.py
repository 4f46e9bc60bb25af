"""Operations on single elements, with XLA's meaning in every corner.

Integers wrap around; x / 0 is -1 and x % 0 is x; a shift by as many bits as there are, or more, gives 0 or the sign;
min and max of anything and NaN are NaN; converting a float to an integer saturates, NaN becoming 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen.builder import Builder
from ..codegen.emitter import Emitter
from ..codegen.operand import BITS, Operand
from ..codegen.value import Value
from ..ir import Op, Unsupported
from ..libm import error, exponential, gamma, hyperbolic, inverse_trigonometric, logarithm, power, trigonometric
from .conversions import converted
from .kinds import Function, binary, by_kind, call, compare, float_function, kind, simple

# ---- min, max, sign


def float_extreme(which: str) -> Function:
    """Computes IEEE's minimum or maximum: NaN if either is, and -0 below +0.

    The processor's own instruction chooses the second operand if they are equal or one is NaN.
    """
    predicate = "olt" if which == "min" else "ogt"

    def chosen(b: Builder, x: Operand, y: Operand) -> Operand:
        return b.select(b.fcmp(predicate, x, y), x, y)

    def function(b: Builder, x: Operand, y: Operand) -> Operand:
        for fixed, other in ((x, y), (y, x)):
            if fixed.value is not None and fixed.value == fixed.value:
                upper = math.copysign(1.0, fixed.value) > 0
                if fixed.value != 0 or upper == (which == "min"):
                    return chosen(b, fixed, other)
                if which == "max":
                    return b.fadd(chosen(b, fixed, other), fixed, exact=True)  # of -0 makes +0
        merge = b.or_ if which == "min" else b.and_
        equal = b.bitcast(merge(b.bits_of(x), b.bits_of(y)), x.type)
        pick = b.select(b.fcmp("oeq", x, y), equal, chosen(b, x, y))
        return b.select(b.fcmp("uno", x, x), x, pick)

    return function


def maximum(which: str) -> Callable[..., Value]:
    """Returns the rule of min or max."""
    return by_kind(
        f=float_extreme(which),
        i=call(f"llvm.s{which}"),
        u=call(f"llvm.u{which}"),
        b=binary("or" if which == "max" else "and"),
    )


def extreme(which: str, dtype: np.dtype) -> Function:
    """Computes min or max of two operands of that dtype."""
    if dtype.kind == "f":
        return float_extreme(which)
    if dtype.kind == "b":
        return binary("or" if which == "max" else "and")
    return call(f"llvm.{'s' if dtype.kind == 'i' else 'u'}{which}")


def float_sign(b: Builder, x: Operand) -> Operand:
    """Computes 1, -1, or x itself if it is 0 or NaN."""
    one = b.intrinsic("llvm.copysign", b.f(1.0, x), x)
    return b.select(b.fcmp("one", x, b.f(0.0, x)), one, x)


def int_sign(b: Builder, x: Operand) -> Operand:
    """Computes 1, 0 or -1."""
    return b.or_(b.ashr(x, b.i(BITS[x.type] - 1, x)), b.cast("zext", b.icmp("ne", x, b.i(0, x)), x.type))


def clamp(k: Emitter, op: Op, low: Value, x: Value, high: Value) -> Value:
    """Computes min(max(low, x), high)."""
    top, bottom = extreme("min", x.dtype), extreme("max", x.dtype)
    return k.map(op, lambda b, a, y, c: top(b, bottom(b, a, y), c), low, x, high)


# ---- choices


def select_n(k: Emitter, op: Op, which: Value, *cases: Value) -> Value:
    """Computes cases[which], element by element."""
    if len(cases) == 1:
        return cases[0]
    if which.dtype.kind == "b":
        return k.map(op, lambda b, c, no, yes: b.select(c, yes, no), which, *cases)

    def pick(b: Builder, number: Operand, *xs: Operand) -> Operand:
        chosen = xs[-1]
        for i in range(len(xs) - 2, -1, -1):
            chosen = b.select(b.icmp("sle", number, b.i(i, number)), xs[i], chosen)
        return chosen

    return k.map(op, pick, which, *cases)


# ---- powers


def integer_pow(k: Emitter, op: Op, x: Value) -> Value:
    """Computes x ** n for a static integer n."""
    n = op.params["y"]
    if kind(x) == "f":
        return k.map(op, lambda b, a: power.integer_pow(b, a, n), x)

    def function(b: Builder, a: Operand) -> Operand:
        result, base, rest = b.i(1, a), a, n
        while rest:
            result = b.mul(result, base) if rest & 1 else result
            base, rest = (b.mul(base, base) if rest > 1 else base), rest >> 1
        return result

    return k.map(op, function, x)


def pow_(k: Emitter, op: Op, x: Value, y: Value) -> Value:
    """Computes x ** y; an integer y raises to an integer power."""
    if kind(x) != "f":
        raise Unsupported(f"pow of {x.dtype}")
    if kind(y) == "f":
        return k.map(op, power.pow, x, y)
    source, target = y.dtype, x.dtype

    def function(b: Builder, a: Operand, n: Operand) -> Operand:
        size = power.pow(b, b.intrinsic("llvm.fabs", a), converted(b, n, source, target))
        odd = b.icmp("ne", b.and_(n, b.i(1, n)), b.i(0, n))
        return b.select(odd, b.intrinsic("llvm.copysign", size, a), size)

    return k.map(op, function, x, y)


def absolute(b: Builder, x: Operand) -> Operand:
    """Computes |x| of an integer; the lowest stays."""
    return b.intrinsic("llvm.abs", x, flags=(0,))


def count_zeros(b: Builder, x: Operand) -> Operand:
    """Computes leading zero bits."""
    return b.intrinsic("llvm.ctlz", x, flags=(0,))


def _arithmetic(floating: str, integer: str) -> Callable[..., Value]:
    def method(name: str) -> Function:
        return lambda b, x, y: getattr(b, name)(x, y)

    return by_kind(f=method(floating), i=method(integer), u=method(integer))


def _square(b: Builder, x: Operand) -> Operand:
    return b.fmul(x, x) if x.type in ("float", "double") else b.mul(x, x)


def _reciprocal_root(b: Builder, x: Operand) -> Operand:
    return b.fdiv(b.f(1.0, x), b.intrinsic("llvm.sqrt", x))


def _add_any(k: Emitter, op: Op, x: Value, y: Value) -> Any:
    return _arithmetic("fadd", "add")(k, op, x, y)


RULES: dict[str, Callable[..., Any]] = {
    "add": _arithmetic("fadd", "add"),
    "add_any": _add_any,
    "sub": _arithmetic("fsub", "sub"),
    "mul": _arithmetic("fmul", "mul"),
    "neg": by_kind(f=lambda b, x: b.fneg(x), x=lambda b, x: b.sub(b.i(0, x), x)),
    "abs": by_kind(f=call("llvm.fabs"), i=absolute, u=lambda b, x: x),
    "sign": by_kind(f=float_sign, i=int_sign, u=lambda b, x: b.cast("zext", b.icmp("ne", x, b.i(0, x)), x.type)),
    "max": maximum("max"),
    "min": maximum("min"),
    "clamp": clamp,
    "square": simple(_square),
    "integer_pow": integer_pow,
    "pow": pow_,
    "and": simple(lambda b, x, y: b.and_(x, y)),
    "or": simple(lambda b, x, y: b.or_(x, y)),
    "xor": simple(lambda b, x, y: b.xor(x, y)),
    "not": simple(lambda b, x: b.not_(x)),
    "population_count": simple(call("llvm.ctpop")),
    "clz": simple(count_zeros),
    "eq": compare("eq", "eq", "oeq"),
    "ne": compare("ne", "ne", "une"),
    "lt": compare("slt", "ult", "olt"),
    "le": compare("sle", "ule", "ole"),
    "gt": compare("sgt", "ugt", "ogt"),
    "ge": compare("sge", "uge", "oge"),
    "select_n": select_n,
    "sqrt": by_kind(f=call("llvm.sqrt")),
    "rsqrt": by_kind(f=_reciprocal_root),
    "cbrt": float_function(power.cbrt),
    "exp": float_function(exponential.exp),
    "exp2": float_function(exponential.exp2),
    "expm1": float_function(exponential.expm1),
    "log": float_function(logarithm.log),
    "log1p": float_function(logarithm.log1p),
    "logistic": float_function(exponential.logistic),
    "sin": float_function(trigonometric.sin),
    "cos": float_function(trigonometric.cos),
    "tan": float_function(trigonometric.tan),
    "asin": float_function(inverse_trigonometric.asin),
    "acos": float_function(inverse_trigonometric.acos),
    "atan": float_function(inverse_trigonometric.atan),
    "atan2": float_function(inverse_trigonometric.atan2),
    "sinh": float_function(hyperbolic.sinh),
    "cosh": float_function(hyperbolic.cosh),
    "tanh": float_function(hyperbolic.tanh),
    "asinh": float_function(hyperbolic.asinh),
    "acosh": float_function(hyperbolic.acosh),
    "atanh": float_function(hyperbolic.atanh),
    "erf": float_function(error.erf),
    "erfc": float_function(error.erfc),
    "erf_inv": float_function(error.erf_inv),
    "lgamma": float_function(gamma.lgamma),
    "digamma": float_function(gamma.digamma),
}
