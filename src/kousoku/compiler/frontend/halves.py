"""Holds float16 values as float32: the result of each operation is rounded to float16.

A sum, difference, product, quotient or root of two such numbers, rounded to float32 and then to float16, is what
rounding once would give, since float32 has more than twice float16's digits. Elementary functions are float32's,
rounded, as XLA's are; sums over axes and products of matrices are rounded at the end. Where float16's own bits are
asked for, they are made.

References:
    Figueroa (1995), When is double rounding innocuous?, ACM SIGNUM 30(3). doi:10.1145/221332.221334
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir import Atom, Literal, Unsupported

if TYPE_CHECKING:
    from .reader import JaxprReader

HALF, HELD, BITS = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.uint16)

EXACT = frozenset({
    "abs", "argmax", "argmin", "broadcast_in_dim", "ceil", "clamp", "concatenate", "cond", "copy", "copy_p",
    "cummax", "cummin", "dynamic_slice", "dynamic_update_slice", "empty", "empty2", "expand_dims", "floor",
    "gather", "max", "min", "neg", "pad", "reduce", "reduce_max", "reduce_min", "rem", "reshape", "rev", "round",
    "scan", "scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub", "select_n",
    "sign", "slice", "sort", "split", "squeeze", "stack", "tile", "top_k", "transpose", "unstack", "while",
})  # fmt: skip
"""Operations whose results are numbers of float16 where their inputs are, or that round within themselves."""


def is_half(aval: Any) -> bool:
    """Returns whether an abstract value is an array of float16."""
    return getattr(aval, "dtype", None) == HALF


def rounded(array: np.ndarray) -> np.ndarray:
    """Returns the nearest numbers of float16, as float32."""
    return array.astype(HALF).astype(HELD)


def own_reading(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom] | None:
    """Appends an operation that looks at float16's own bits; returns None for any other.

    Raises:
        Unsupported: for some of them.
    """
    name = eqn.primitive.name
    if name == "nextafter":
        raise Unsupported("nextafter of float16")
    if name == "convert_element_type" and eqn.invars[0].aval.dtype == np.float64:
        if isinstance(inputs[0], Literal):  # by float32 it would be rounded twice
            return [Literal(rounded(inputs[0].value))]
        raise Unsupported("convert_element_type of float64 to float16")
    if name == "reduce_precision":
        if eqn.params["exponent_bits"] < 5 or eqn.params["mantissa_bits"] < 10:
            raise Unsupported("reduce_precision of float16")
        return inputs
    return _bitcast(reader, eqn, inputs) if name == "bitcast_convert_type" else None


def _bitcast(reader: JaxprReader, eqn: Any, inputs: list[Atom]) -> list[Atom]:
    source, target, params = eqn.invars[0].aval, eqn.outvars[0].aval, eqn.params
    if is_half(source) and is_half(target):
        return inputs
    if is_half(source):
        inputs = reader.append("half_to_bits", inputs, {}, [(source.shape, BITS)])
    if not is_half(target):
        return reader.append("bitcast_convert_type", inputs, params, [(target.shape, np.dtype(target.dtype))])
    inputs = reader.append("bitcast_convert_type", inputs, params, [(target.shape, BITS)])
    return reader.append("half_from_bits", inputs, {}, [(target.shape, HELD)])


def with_rounding(reader: JaxprReader, name: str, outs: Sequence[Any], results: list[Atom]) -> list[Atom]:
    """Appends the rounding of an operation's results that are float16; returns them."""
    if name in EXACT:
        return results
    return [
        reader.append("round_to_half", [a], {}, [(a.shape, HELD)])[0] if is_half(out) else a
        for a, out in zip(results, outs, strict=True)
    ]
