"""Represents one number of a kernel: the same for all lanes, or one for each lane."""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import NamedTuple

import numpy as np

from ..ir import DTYPES

LLVM_TYPES = dict(
    zip(DTYPES, ("i1", "i8", "i16", "i32", "i64", "i8", "i16", "i32", "i64", "float", "double"), strict=True)
)
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
INT_OF_FLOAT = {"float": "i32", "double": "i64"}


def element_bytes(type: str) -> int:
    """Returns how many bytes an element takes in memory."""
    return max(BITS[type], 8) // 8


class Operand(NamedTuple):
    """A value in static single assignment form.

    Attributes:
        text: its name in the IR, or the constant itself.
        type: LLVM type of one lane's element, such as "float" or "i32". Signedness is the operation's affair.
        varying: whether it is a vector with an element for each lane; else one scalar that all lanes share.
        value: the number, where it is a constant known here (integers as two's complement's unsigned reading).
    """

    text: str
    type: str
    varying: bool = False
    value: int | float | None = None


@cache
def int_constant(value: int, type: str) -> Operand:
    """Returns the integer or boolean `value`, wrapped around to the type's bits."""
    wrapped = value & ((1 << BITS[type]) - 1)
    text = ("false", "true")[wrapped] if type == "i1" else str(wrapped)
    return Operand(text, type, False, wrapped)


def float_constant(value: float, type: str) -> Operand:
    """Returns the floating-point number `value`, rounded to the type."""
    if type == "float":
        bits = int(np.float32(value).view(np.uint32))
        return Operand(float_text(bits), type, False, struct.unpack("f", struct.pack("I", bits))[0])
    return Operand(f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}", type, False, float(value))


def float_text(bits: int) -> str:
    """Returns LLVM's spelling of the float32 with these bits: the hexadecimal digits of the double of the same
    value.
    """
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return f"0x{sign << 63 | 0x7FF << 52 | mantissa << 29:016X}"
    value = math.ldexp(mantissa, -149) if exponent == 0 else math.ldexp(mantissa | 0x800000, exponent - 150)
    return f"0x{struct.unpack('Q', struct.pack('d', math.copysign(value, -1.0 if sign else 1.0)))[0]:016X}"


def constant(value: object, type: str) -> Operand:
    """Returns the NumPy or Python scalar `value` as a constant of an LLVM type."""
    if type in INT_OF_FLOAT:
        return float_constant(float(value), type)  # type: ignore[arg-type]
    return int_constant(int(value), type)  # type: ignore[call-overload]
