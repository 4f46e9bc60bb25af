"""Arrays as short text for a page: 16 bits a number. `packed.ts` and `film.ts` in `viewer/src/player` unpack them.

References:
    Glenn Fiedler, Snapshot Compression (2015), on sending the smallest three of a quaternion's components.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, UInt16

LEVELS = 65534
MISSING = 65535
QUATERNION_LEVELS = 32767


def packed(array: Float[np.ndarray, "... d"]) -> dict[str, Any]:
    """Packs numbers as steps between the lowest and the highest of each component: x = low + step (high - low) / 65534.

    Numbers that are not finite become a step of their own. The error is half a step at most.

    Examples:
        >>> packed(np.array([[0.0], [1.0], [np.nan]]))
        {'low': [0.0], 'high': [1.0], 'data': 'AAD+////'}
    """
    x = np.asarray(array, np.float64)
    x = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    finite = np.isfinite(x)
    low = np.where(finite, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, x, -np.inf).max(axis=0, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    span = np.where(high > low, high - low, 1.0)
    step = np.rint((np.where(finite, x, low) - low) / span * LEVELS)
    return {"low": low.tolist(), "high": high.tolist(), "data": as_text(np.where(finite, step, MISSING), "<u2")}


def packed_values(values: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Packs numbers over time by name, each [T]."""
    return [{"name": str(name), **packed(np.asarray(v, np.float64)[:, None])} for name, v in values.items()]


def smallest_three(quaternions: Float[np.ndarray, "... 4"]) -> UInt16[np.ndarray, "... 3"]:
    """Packs rotations in 3 x 16 bits: the three smaller components of a unit quaternion, in 15 bits each.

    Their sizes are at most 1 / sqrt(2); the largest is positive (q and -q turn alike) and follows from length one.
    Which it is stands in the top bits of the first two numbers.
    """
    q = quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)
    largest = np.abs(q).argmax(axis=-1, keepdims=True)
    q = q * np.where(np.take_along_axis(q, largest, axis=-1) < 0, -1.0, 1.0)
    others = np.arange(3) + (np.arange(3) >= largest)
    small = np.take_along_axis(q, others, axis=-1)
    step = np.rint(np.clip(small * np.sqrt(0.5) + 0.5, 0.0, 1.0) * QUATERNION_LEVELS).astype(np.uint16)
    top = np.concatenate([largest >> 1, largest & 1, np.zeros_like(largest)], axis=-1).astype(np.uint16)
    return step | top << np.uint16(15)


def as_text(array: np.ndarray, dtype: str) -> str:
    """Writes an array's bytes in a given dtype as base 64."""
    return base64.b64encode(np.ascontiguousarray(array).astype(dtype).tobytes()).decode()
