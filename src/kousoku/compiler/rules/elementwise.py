"""Operations on single elements, with XLA's meaning in every corner.

Integers wrap around; x / 0 is -1 and x % 0 is x; a shift by as many bits as there are, or more, gives 0 or the sign;
min and max of anything and NaN are NaN; converting a float to an integer saturates, NaN becoming 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..elementary.remainder import fmod
from ..emit.builder import F64, I1, I32, Builder
from ..emit.emitter import Emitter
from ..emit.operand import BITS, LLVM_TYPES, Operand, int_constant
from ..emit.value import Value
from ..program import Op, Unsupported

Function = Callable[..., Operand]


def lazily(module: str, name: str) -> Function:
    from importlib import import_module

    return lambda *args: getattr(import_module(f"kousoku.compiler.elementary.{module}"), name)(*args)


def kind(value: Value) -> str:
    """NumPy's letter of the dtype's kind: f, i, u or b."""
    return value.dtype.kind


def simple(function: Function) -> Callable[..., Value]:
    """A rule for a function that does not depend on the sign of integers."""
    return lambda k, op, *xs: k.map(op, function, *xs)


def by_kind(**functions: Function) -> Callable[..., Value]:
    """A rule with a function for each kind of dtype; `x` for any that is not named."""

    def rule(k: Emitter, op: Op, *xs: Value) -> Value:
        function = functions.get(kind(xs[0]), functions.get("x"))
        if function is None:
            raise Unsupported(f"{op.name} of {xs[0].dtype}")
        return k.map(op, function, *xs)

    return rule


def binary(name: str) -> Function:
    """An LLVM instruction of two operands."""
    return lambda b, x, y: b.binary(name, x, y)


def icmp(predicate: str) -> Function:
    """An integer comparison."""
    return lambda b, x, y: b.icmp(predicate, x, y)


def fcmp(predicate: str) -> Function:
    """A floating-point comparison."""
    return lambda b, x, y: b.fcmp(predicate, x, y)


def call(name: str) -> Function:
    """An LLVM intrinsic."""
    return lambda b, *xs: b.intrinsic(name, *xs)


def compare(signed: str, unsigned: str, floating: str) -> Callable[..., Value]:
    """A rule for a comparison."""
    return by_kind(i=icmp(signed), u=icmp(unsigned), b=icmp(unsigned), f=fcmp(floating))


# ---- division


def divide(b: Builder, x: Operand, y: Operand, signed: bool, remainder: bool) -> Operand:
    """x / y or x % y of integers.

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
    wide = x.wide or y.wide
    if wide and BITS[x.type] <= 32 and b.lanes > 1:
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
    """A shift whose result is 0 (or the sign) where the count is not less than the bits."""

    def function(b: Builder, x: Operand, count: Operand) -> Operand:
        bits = BITS[x.type]
        if count.value is not None and int(count.value) < bits:
            return b.binary(name, x, count)
        within = b.icmp("ult", count, b.i(bits, count))
        if name == "ashr":
            return b.binary(name, x, b.select(within, count, b.i(bits - 1, count)))
        return b.select(within, b.binary(name, x, b.select(within, count, b.i(0, count))), b.i(0, x))

    return function


# ---- min, max, sign


def float_extreme(which: str) -> Function:
    """IEEE's minimum or maximum: NaN if either is, and -0 below +0."""

    def function(b: Builder, x: Operand, y: Operand) -> Operand:
        predicate = "olt" if which == "min" else "ogt"
        pick = b.select(b.fcmp(predicate, x, y), x, y)
        if x.value is not None and x.value == x.value and x.value != 0:
            return b.select(b.fcmp("uno", y, y), y, pick)
        if y.value is not None and y.value == y.value and y.value != 0:
            return b.select(b.fcmp("uno", x, x), x, pick)
        merge = b.or_ if which == "min" else b.and_
        equal = b.bitcast(merge(b.bits_of(x), b.bits_of(y)), x.type)
        pick = b.select(b.fcmp("oeq", x, y), equal, pick)
        return b.select(b.fcmp("uno", x, x), x, b.select(b.fcmp("uno", y, y), y, pick))

    return function


def maximum(which: str) -> Callable[..., Value]:
    """The rule of min or max."""
    return by_kind(
        f=float_extreme(which),
        i=call(f"llvm.s{which}"),
        u=call(f"llvm.u{which}"),
        b=binary("or" if which == "max" else "and"),
    )


def extreme(which: str, dtype: np.dtype) -> Function:
    """min or max of two operands of that dtype."""
    if dtype.kind == "f":
        return float_extreme(which)
    if dtype.kind == "b":
        return binary("or" if which == "max" else "and")
    return call(f"llvm.{'s' if dtype.kind == 'i' else 'u'}{which}")


def float_sign(b: Builder, x: Operand) -> Operand:
    """1, -1, or x itself if it is 0 or NaN."""
    one = b.intrinsic("llvm.copysign", b.f(1.0, x), x)
    return b.select(b.fcmp("one", x, b.f(0.0, x)), one, x)


def int_sign(b: Builder, x: Operand) -> Operand:
    """1, 0 or -1."""
    return b.or_(b.ashr(x, b.i(BITS[x.type] - 1, x)), b.cast("zext", b.icmp("ne", x, b.i(0, x)), x.type))


def clamp(k: Emitter, op: Op, low: Value, x: Value, high: Value) -> Value:
    """min(max(low, x), high)."""
    top, bottom = extreme("min", x.dtype), extreme("max", x.dtype)
    return k.map(op, lambda b, a, y, c: top(b, bottom(b, a, y), c), low, x, high)


# ---- conversions


def convert(k: Emitter, op: Op, x: Value) -> Value:
    """To another dtype."""
    source, target = x.dtype, op.outputs[0].dtype
    return k.map(op, lambda b, a: converted(b, a, source, target), x)


def converted(b: Builder, a: Operand, source: np.dtype, target: np.dtype) -> Operand:
    """One element as another dtype."""
    to = LLVM_TYPES[target.name]
    if target.kind == "b":
        return b.fcmp("une", a, b.f(0.0, a)) if source.kind == "f" else b.icmp("ne", a, b.i(0, a))
    if source.kind in "iub" and target.kind == "f":
        return b.cast("sitofp" if source.kind == "i" else "uitofp", a, to)
    if source.kind == "f" and target.kind in "iu":
        name = "llvm.fptosi.sat" if target.kind == "i" else "llvm.fptoui.sat"
        return saturated(b, name, a, to)
    if source.kind == "f":
        return b.cast("fpext" if BITS[to] > BITS[a.type] else "fptrunc", a, to)
    if BITS[to] < BITS[a.type]:
        return b.cast("trunc", a, to)
    return b.cast("sext" if source.kind == "i" else "zext", a, to)


def saturated(b: Builder, name: str, a: Operand, to: str) -> Operand:
    """A float as an integer: the nearest that there is, NaN as 0."""
    result, given = b.type_of(to, a.wide), b.type_of(a.type, a.wide)
    short = {"float": "f32", "double": "f64"}[a.type]
    vector = f"v{b.lanes}" if a.wide and b.lanes > 1 else ""
    full = f"{name}.{vector}{to}.{vector}{short}"
    b.declarations[full] = f"declare {result} @{full}({given})"
    return b.define(to, a.wide, f"call {result} @{full}({b.typed(a)})")


def bitcast(k: Emitter, op: Op, x: Value) -> Value:
    """The same bits."""
    target = op.outputs[0].dtype
    if target.itemsize != x.dtype.itemsize or "b" in (target.kind, x.dtype.kind):
        raise Unsupported(f"bitcast_convert_type of {x.dtype} to {target}")
    return k.map(op, lambda b, a: b.bitcast(a, LLVM_TYPES[target.name]), x)


def reduce_precision(k: Emitter, op: Op, x: Value) -> Value:
    """Fewer bits: only the dtype's own are supported."""
    own = {4: (8, 23), 8: (11, 52)}[x.dtype.itemsize]
    if (op.params["exponent_bits"], op.params["mantissa_bits"]) != own:
        raise Unsupported("reduce_precision to fewer bits")
    return x


# ---- choices


def select_n(k: Emitter, op: Op, which: Value, *cases: Value) -> Value:
    """cases[which], element by element."""
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


# ---- floating point


def round_(k: Emitter, op: Op, x: Value) -> Value:
    """To the nearest integer; ties away from zero (0) or to even (1)."""
    even = int(op.params["rounding_method"]) == 1
    return k.map(op, call("llvm.roundeven") if even else round_away, x)


def round_away(b: Builder, x: Operand) -> Operand:
    """To the nearest integer, ties away from zero."""
    whole = b.intrinsic("llvm.trunc", x)
    rest = b.intrinsic("llvm.fabs", b.fsub(x, whole, exact=True))
    step = b.intrinsic("llvm.copysign", b.f(1.0, x), x)
    return b.select(b.fcmp("oge", rest, b.f(0.5, x)), b.fadd(whole, step, exact=True), whole)


def nextafter(b: Builder, x: Operand, y: Operand) -> Operand:
    """The next number from x towards y."""
    bits_x, bits_y = b.bits_of(x), b.bits_of(y)
    top = 1 << (BITS[bits_x.type] - 1)
    sign = b.and_(bits_y, b.i(top, bits_x))
    smallest = b.or_(sign, b.i(1, bits_x))
    x_is_zero = b.fcmp("oeq", x, b.f(0.0, x))
    away = b.fcmp("olt", b.intrinsic("llvm.fabs", x), b.intrinsic("llvm.fabs", y))
    opposite = b.icmp("ne", b.and_(bits_x, b.i(top, bits_x)), sign)
    up = b.and_(away, b.not_(opposite))
    moved = b.add(bits_x, b.select(up, b.i(1, bits_x), b.i(-1, bits_x)))
    result = b.bitcast(b.select(x_is_zero, smallest, moved), x.type)
    result = b.select(b.fcmp("oeq", x, y), y, result)
    return b.select(b.fcmp("uno", x, y), b.fadd(x, y), result)


def is_finite(b: Builder, x: Operand) -> Operand:
    """Neither infinite nor NaN."""
    return b.fcmp("olt", b.intrinsic("llvm.fabs", x), b.f(float("inf"), x))


def integer_pow(k: Emitter, op: Op, x: Value) -> Value:
    """x ** n for a static integer n."""
    n = op.params["y"]
    if kind(x) == "f":
        return k.map(op, lambda b, a: lazily("power", "integer_pow")(b, a, n), x)

    def function(b: Builder, a: Operand) -> Operand:
        result, base, rest = b.i(1, a), a, n
        while rest:
            result = b.mul(result, base) if rest & 1 else result
            base, rest = (b.mul(base, base) if rest > 1 else base), rest >> 1
        return result

    return k.map(op, function, x)


def pow_(k: Emitter, op: Op, x: Value, y: Value) -> Value:
    """x ** y; an integer y raises to an integer power."""
    if kind(x) != "f":
        raise Unsupported(f"pow of {x.dtype}")
    if kind(y) == "f":
        return k.map(op, lazily("power", "pow"), x, y)
    source, target = y.dtype, x.dtype
    if BITS[LLVM_TYPES[source.name]] > 24 and target.itemsize == 4 or target.itemsize == 8 and source.itemsize == 8:
        raise Unsupported(f"pow of {target} and {source}")
    return k.map(op, lambda b, a, n: lazily("power", "pow")(b, a, converted(b, n, source, target)), x, y)


def absolute(b: Builder, x: Operand) -> Operand:
    """|x| of an integer; the lowest stays."""
    return b.intrinsic("llvm.abs", x, flags=(0,))


def count_zeros(b: Builder, x: Operand) -> Operand:
    """Leading zero bits."""
    return b.intrinsic("llvm.ctlz", x, flags=(0,))


def float_function(function: Function) -> Callable[..., Value]:
    """A rule for an elementary function."""
    return by_kind(f=function)


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
    "div": _division(remainder=False),
    "rem": _division(remainder=True),
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
    "shift_left": simple(shift("shl")),
    "shift_right_logical": simple(shift("lshr")),
    "shift_right_arithmetic": simple(shift("ashr")),
    "population_count": simple(call("llvm.ctpop")),
    "clz": simple(count_zeros),
    "eq": compare("eq", "eq", "oeq"),
    "ne": compare("ne", "ne", "une"),
    "lt": compare("slt", "ult", "olt"),
    "le": compare("sle", "ule", "ole"),
    "gt": compare("sgt", "ugt", "ogt"),
    "ge": compare("sge", "uge", "oge"),
    "select_n": select_n,
    "convert_element_type": convert,
    "bitcast_convert_type": bitcast,
    "reduce_precision": reduce_precision,
    "is_finite": by_kind(f=is_finite),
    "floor": by_kind(f=call("llvm.floor")),
    "ceil": by_kind(f=call("llvm.ceil")),
    "round": round_,
    "nextafter": by_kind(f=nextafter),
    "sqrt": by_kind(f=call("llvm.sqrt")),
    "rsqrt": by_kind(f=_reciprocal_root),
    "cbrt": float_function(lazily("power", "cbrt")),
    "exp": float_function(lazily("exponential", "exp")),
    "exp2": float_function(lazily("exponential", "exp2")),
    "expm1": float_function(lazily("exponential", "expm1")),
    "log": float_function(lazily("logarithm", "log")),
    "log1p": float_function(lazily("logarithm", "log1p")),
    "logistic": float_function(lazily("exponential", "logistic")),
    "sin": float_function(lazily("trigonometric", "sin")),
    "cos": float_function(lazily("trigonometric", "cos")),
    "tan": float_function(lazily("trigonometric", "tan")),
    "asin": float_function(lazily("inverse_trigonometric", "asin")),
    "acos": float_function(lazily("inverse_trigonometric", "acos")),
    "atan": float_function(lazily("inverse_trigonometric", "atan")),
    "atan2": float_function(lazily("inverse_trigonometric", "atan2")),
    "sinh": float_function(lazily("hyperbolic", "sinh")),
    "cosh": float_function(lazily("hyperbolic", "cosh")),
    "tanh": float_function(lazily("hyperbolic", "tanh")),
    "asinh": float_function(lazily("hyperbolic", "asinh")),
    "acosh": float_function(lazily("hyperbolic", "acosh")),
    "atanh": float_function(lazily("hyperbolic", "atanh")),
    "erf": float_function(lazily("error", "erf")),
    "erfc": float_function(lazily("error", "erfc")),
    "erf_inv": float_function(lazily("error", "erf_inv")),
    "lgamma": float_function(lazily("gamma", "lgamma")),
    "digamma": float_function(lazily("gamma", "digamma")),
}

assert I1 and int_constant
