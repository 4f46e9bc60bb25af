"""Other dtypes: conversions, the same bits, fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen import index as ix
from ..codegen.builder import F32, I16, Builder
from ..codegen.emitter import Emitter
from ..codegen.operand import BITS, INT_OF_FLOAT, LLVM_TYPES, Operand, int_constant
from ..codegen.value import Position, Value
from ..ir import Op, Unsupported
from .kinds import simple


def convert(k: Emitter, op: Op, x: Value) -> Value:
    """Converts to another dtype."""
    source, target = x.dtype, op.outputs[0].dtype
    return k.map(op, lambda b, a: converted(b, a, source, target), x)


def converted(b: Builder, a: Operand, source: np.dtype, target: np.dtype) -> Operand:
    """Returns one element as another dtype."""
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
    """Returns a float as an integer: the nearest that there is, NaN as 0."""
    result, given = b.type_of(to, a.varying), b.type_of(a.type, a.varying)
    short = {"float": "f32", "double": "f64"}[a.type]
    vector = f"v{b.lanes}" if b.is_vector(a) else ""
    full = f"{name}.{vector}{to}.{vector}{short}"
    b.declarations[full] = f"declare {result} @{full}({given})"
    return b.define(to, a.varying, f"call {result} @{full}({b.typed(a)})")


def bitcast(k: Emitter, op: Op, x: Value) -> Value:
    """Returns the same bits; a last axis appears or goes where the sizes differ, the lowest bits being first."""
    source, target = x.dtype, op.outputs[0].dtype
    if "b" in (target.kind, source.kind):
        raise Unsupported(f"bitcast_convert_type of {source} to {target}")
    to = LLVM_TYPES[target.name]
    if target.itemsize == source.itemsize:
        return k.map(op, lambda b, a: b.bitcast(a, to), x)
    element = _part(to) if target.itemsize < source.itemsize else _whole(to, source.itemsize)
    return k.lazy(op.outputs[0].shape, target, (k.reusable(x),), lambda p, v: element(k.b, p, v))


def _part(to: str) -> Callable[[Builder, Position, Value], Operand]:
    def element(b: Builder, p: Position, x: Value) -> Operand:
        bits = _as_integer(b, x.at(p[:-1]))
        place = ix.as_lanes(b, ix.scale(b, p[-1], BITS[to]))
        if isinstance(place, int):
            shift = int_constant(place, bits.type)
        else:
            shift = b.cast("trunc" if BITS[bits.type] < BITS[place.type] else "zext", place, bits.type)
        return b.bitcast(b.cast("trunc", b.lshr(bits, shift), INT_OF_FLOAT.get(to, to)), to)

    return element


def _whole(to: str, size: int) -> Callable[[Builder, Position, Value], Operand]:
    integer = INT_OF_FLOAT.get(to, to)

    def element(b: Builder, p: Position, x: Value) -> Operand:
        total = int_constant(0, integer)
        for i in range(x.shape[-1]):
            part = b.cast("zext", _as_integer(b, x.at((*p, i))), integer)
            total = b.or_(total, b.shl(part, int_constant(8 * size * i, integer)))
        return b.bitcast(total, to)

    return element


def _as_integer(b: Builder, a: Operand) -> Operand:
    return b.bits_of(a) if a.type in INT_OF_FLOAT else a


def reduce_precision(k: Emitter, op: Op, x: Value) -> Value:
    """Rounds to fewer bits, ties to even; what is too large becomes infinite, what would be subnormal zero."""
    own_exponent, own_digits = {4: (8, 23), 8: (11, 52)}[x.dtype.itemsize]
    exponent, digits = op.params["exponent_bits"], op.params["mantissa_bits"]

    def function(b: Builder, a: Operand) -> Operand:
        bits = b.bits_of(a)
        sign = b.and_(bits, b.i(1 << (BITS[bits.type] - 1), bits))
        size = b.xor(bits, sign)
        if digits < own_digits:
            size = _rounded(b, size, own_digits - digits)
        if exponent < own_exponent:
            bias, reach = (1 << (own_exponent - 1)) - 1, (1 << (exponent - 1)) - 1
            field = b.lshr(size, b.i(own_digits, bits))
            infinite = b.i(((1 << own_exponent) - 1) << own_digits, bits)
            size = b.select(b.icmp("ugt", field, b.i(bias + reach, bits)), infinite, size)
            size = b.select(b.icmp("ule", field, b.i(bias - reach, bits)), b.i(0, bits), size)
        result = b.bitcast(b.or_(sign, size), a.type)
        return b.select(b.fcmp("uno", a, a), a, result)

    return k.map(op, function, x)


def _rounded(b: Builder, bits: Operand, dropped: int) -> Operand:
    """Rounds to the nearest without the lowest bits, ties to even."""
    odd = b.and_(b.lshr(bits, b.i(dropped, bits)), b.i(1, bits))
    up = b.add(b.add(bits, odd), b.i((1 << (dropped - 1)) - 1, bits))
    return b.and_(up, b.i(-1 << dropped, bits))


def round_to_half(b: Builder, a: Operand) -> Operand:
    """Returns the nearest number of float16, ties to even, of float32.

    In integers, which every processor has: below 2^-14, float16 counts in steps of 2^-24, as float32 does around 0.5.
    """
    bits = b.bits_of(a)
    sign = b.and_(bits, b.i(1 << 31, bits))
    size = b.xor(bits, sign)
    step, absolute = b.f(0.5, a), b.bitcast(size, a.type)
    small = b.bits_of(b.fsub(b.fadd(absolute, step, exact=True), step, exact=True))
    normal = _rounded(b, size, 13)
    normal = b.select(b.icmp("uge", normal, b.i(HALF_BEYOND, bits)), b.i(INFINITY, bits), normal)
    found = b.select(b.icmp("ult", size, b.i(HALF_LEAST_NORMAL, bits)), small, normal)
    found = b.select(b.icmp("ugt", size, b.i(INFINITY, bits)), size, found)
    return b.bitcast(b.or_(found, sign), a.type)


def half_to_bits(b: Builder, a: Operand) -> Operand:
    """Returns the bits of a number of float16 that is held as float32."""
    return b.bitcast(b.cast("fptrunc", a, "half"), I16)


def half_from_bits(b: Builder, bits: Operand) -> Operand:
    """Returns the number of float16 with these bits, as float32."""
    return b.cast("fpext", b.bitcast(bits, "half"), F32)


INFINITY, HALF_BEYOND, HALF_LEAST_NORMAL = (int(np.float32(x).view(np.uint32)) for x in (np.inf, 65536.0, 2.0**-14))

RULES: dict[str, Callable[..., Any]] = {
    "round_to_half": simple(round_to_half),
    "half_to_bits": simple(half_to_bits),
    "half_from_bits": simple(half_from_bits),
    "convert_element_type": convert,
    "bitcast_convert_type": bitcast,
    "reduce_precision": reduce_precision,
}
