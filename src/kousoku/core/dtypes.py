"""Dtypes in which spaces of ours have other libraries' numbers: of at most 32 bits.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .errors import LARGEST_SIZE


def narrowed(dtype: Any) -> np.dtype:
    """Returns the dtype in which a space has another library's numbers; what are no real numbers keep theirs.

    Floating point numbers are float32, whole ones of more than 16 bits int32, truth is uint8, 0 or 1. Whole numbers of
    32 bits without a sign are int32, too: no space of ours has larger ones, nor does a saved policy see any.
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind in "iu":
        return dtype if dtype.itemsize <= 2 else np.dtype(np.int32)
    is_float = dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))  # of another package
    return np.dtype(np.float32) if is_float else dtype


def ends_of(dtype: Any) -> tuple[float, float]:
    """Returns the least and the largest number of a dtype that spaces have; those of floating point have no ends.

    Examples:
        >>> ends_of("uint8"), ends_of("int64"), ends_of("float32")
        ((0, 255), (-2147483648, 2147483646), (-inf, inf))
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu":
        return -math.inf, math.inf
    info = np.iinfo(dtype)
    return max(info.min, -LARGEST_SIZE - 1), min(info.max, LARGEST_SIZE - 1)
