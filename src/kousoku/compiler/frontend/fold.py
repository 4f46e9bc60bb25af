"""Computes operations whose inputs are known, while reading.

Only what NumPy computes exactly as XLA does: integers, comparisons, moving elements about, and IEEE arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .halves import rounded

LIMIT = 4096

Fold = Callable[..., Any]


def _shift(op: Fold) -> Fold:
    def fold(a: Any, b: Any, **_: Any) -> Any:
        bits = a.dtype.itemsize * 8
        return op(a, b) if np.all((b >= 0) & (b < bits)) else None

    return fold


def _divide(a: Any, b: Any, **_: Any) -> Any:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if np.any(b == 0) or (a.dtype.kind != "u" and np.any((a == np.iinfo(a.dtype).min) & (b == -1))):
        return None
    floor, rest = np.divmod(a, b)
    return floor if a.dtype.kind == "u" else floor + ((rest != 0) & ((a < 0) != (b < 0)))


def _remainder(a: Any, b: Any, **_: Any) -> Any:
    return None if a.dtype.kind == "f" or np.any(b == 0) else np.fmod(a, b)


def _convert(a: Any, *, new_dtype: Any, **_: Any) -> Any:
    if a.dtype.kind == "f" and np.dtype(new_dtype).kind in "iu":
        bounds = np.iinfo(new_dtype)
        if not np.all(np.isfinite(a)) or np.any(a <= bounds.min) or np.any(a >= bounds.max):
            return None
    return a.astype(new_dtype)


def _broadcast(a: Any, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> Any:
    full = [1] * len(shape)
    for axis, dim in enumerate(broadcast_dimensions):
        full[dim] = a.shape[axis]
    return np.broadcast_to(a.reshape(full), shape)


def _slice(a: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or [1] * a.ndim
    return a[tuple(slice(*ends) for ends in zip(start_indices, limit_indices, steps, strict=True))]


def _select(which: Any, *cases: Any) -> Any:
    number = np.broadcast_to(which, cases[0].shape).astype(np.int64)
    return np.take_along_axis(np.stack(cases), np.clip(number, 0, len(cases) - 1)[None], 0)[0]


def _iota(*, dtype: Any, shape: Sequence[int], dimension: int, **_: Any) -> Any:
    along = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(along.reshape([-1 if i == dimension else 1 for i in range(len(shape))]), shape)


def _plain(op: Fold) -> Fold:
    return lambda *args, **_: op(*args)


FOLDS: dict[str, Fold] = {
    "add": _plain(np.add),
    "sub": _plain(np.subtract),
    "mul": _plain(np.multiply),
    "neg": _plain(np.negative),
    "div": _divide,
    "rem": _remainder,
    "and": _plain(np.bitwise_and),
    "or": _plain(np.bitwise_or),
    "xor": _plain(np.bitwise_xor),
    "not": _plain(np.invert),
    "shift_left": _shift(np.left_shift),
    "eq": _plain(np.equal),
    "ne": _plain(np.not_equal),
    "lt": _plain(np.less),
    "le": _plain(np.less_equal),
    "gt": _plain(np.greater),
    "ge": _plain(np.greater_equal),
    "select_n": _plain(_select),
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast,
    "reshape": lambda a, *, new_sizes, **_: a.reshape(new_sizes),
    "squeeze": lambda a, *, dimensions: np.squeeze(a, tuple(dimensions)),
    "expand_dims": lambda a, *, dimensions: np.expand_dims(a, tuple(dimensions)),
    "transpose": lambda a, *, permutation: np.transpose(a, permutation),
    "concatenate": lambda *arrays, dimension: np.concatenate(arrays, dimension),
    "rev": lambda a, *, dimensions: np.flip(a, dimensions),
    "slice": _slice,
    "iota": _iota,
    "round_to_half": rounded,
    "half_to_bits": lambda a: a.astype(np.float16).view(np.uint16),
    "half_from_bits": lambda a: a.view(np.float16).astype(np.float32),
}


def _int_only(op: Fold) -> Fold:
    return lambda *args, **_: None if args[0].dtype.kind == "f" else op(*args)


FOLDS["max"] = _int_only(np.maximum)
FOLDS["min"] = _int_only(np.minimum)
FOLDS["sign"] = _int_only(np.sign)
FOLDS["clamp"] = _int_only(lambda low, x, high: np.minimum(np.maximum(x, low), high))
FOLDS["shift_right_logical"] = _shift(
    lambda a, b: (a.view(f"u{a.dtype.itemsize}") >> b.astype(f"u{a.dtype.itemsize}")).view(a.dtype)
)
FOLDS["shift_right_arithmetic"] = _shift(
    lambda a, b: (a.view(f"i{a.dtype.itemsize}") >> b.astype(f"i{a.dtype.itemsize}")).view(a.dtype)
)


ARITHMETIC = frozenset({"add", "sub", "mul", "div", "neg", "eq", "ne", "lt", "le", "gt", "ge", "convert_element_type"})


def fold(name: str, arrays: Sequence[np.ndarray], params: dict[str, Any], size: int, dtype: Any) -> np.ndarray | None:
    """Computes the operation's result, or returns None if it is not to be computed now."""
    if name not in FOLDS or size > LIMIT or (name in ARITHMETIC and any(map(_subnormal, arrays))):
        return None
    with np.errstate(all="ignore"):
        result = FOLDS[name](*arrays, **params)
    if result is None or (name in ARITHMETIC and _subnormal(np.asarray(result))):
        return None
    return np.ascontiguousarray(np.asarray(result, dtype)).reshape(np.shape(result))


def reciprocal(divisor: np.ndarray) -> np.ndarray | None:
    """Returns 1 / divisor, by which XLA multiplies where a divisor is known; None where it divides."""
    if divisor.dtype.kind != "f" or _subnormal(divisor):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(1 / divisor, divisor.dtype)


def _subnormal(array: np.ndarray) -> bool:
    """Returns whether there are numbers that the processor may take for zero."""
    if array.dtype.kind != "f":
        return False
    return bool(np.any((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny)))
