"""Arrays as short text for a page: 16 bits a number, or as many as show it right.

`packed.ts` and `film.ts` in `viewer/src/player` unpack them.

References:
    Glenn Fiedler, Snapshot Compression (2015), on sending the smallest three of a quaternion's components.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt16

LEVELS = 65534
MISSING = 65535
QUATERNION_LEVELS = 32767
WHOLE_FROM, WHOLE_BELOW = 99.0, 1e6
TINY = 1e-290
"""Numbers below lose digits, so they are kept as they are."""


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
    half = np.where(high > low, high / 2 - low / 2, 1.0)  # a whole span may be too large for a float
    step = np.rint((np.where(finite, x, low) / 2 - low / 2) / half * LEVELS)
    return {"low": low.tolist(), "high": high.tolist(), "data": as_text(np.where(finite, step, MISSING), "<u2")}


def packed_readings(array: Float[np.ndarray, "... d"]) -> dict[str, Any]:
    """Packs numbers that a page shows as text: in 16 bits where these show the same, else as floats of 32 or 64 bits.

    Numbers that are not finite become NaN.

    Examples:
        >>> packed_readings(np.array([[0.0], [1.0]]))
        {'low': [0.0], 'high': [1.0], 'data': 'AAD+/w=='}
        >>> packed_readings(np.array([[0.0], [0.5], [1e6]]))
        {'bits': 32, 'data': 'AAAAAAAAAD8AJHRJ'}
    """
    x = np.asarray(array, np.float64)
    x = np.where(np.isfinite(x), x, np.nan)
    steps = packed(x)
    with np.errstate(over="ignore"):
        if _reads_alike(x, _unpacked(steps).reshape(x.shape)):
            return steps
        bits = 32 if _reads_alike(x, x.astype(np.float32).astype(np.float64)) else 64
    return {"bits": bits, "data": as_text(x, f"<f{bits // 8}")}


def packed_values(values: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Packs numbers over time by name, each [T]."""
    return [{"name": str(name), **packed_readings(np.asarray(v, np.float64)[:, None])} for name, v in values.items()]


def _unpacked(steps: Mapping[str, Any]) -> Float[np.ndarray, "n d"]:
    """Returns the numbers that a page finds in steps."""
    low, high = np.array(steps["low"]), np.array(steps["high"])
    step = np.frombuffer(base64.b64decode(steps["data"]), "<u2").reshape(-1, len(low))
    share = step / LEVELS
    return np.where(step == MISSING, np.nan, 2 * (low / 2 + share * (high / 2 - low / 2)))


def _reads_alike(numbers: Float[np.ndarray, "..."], others: Float[np.ndarray, "..."]) -> bool:
    """Returns whether a page shows the same for other numbers.

    It shows two or three digits, and of those from a hundred to a million all before the point.
    """
    size, other = np.abs(numbers), np.abs(others)
    known = np.isfinite(size) & (size > TINY) & (np.sign(numbers) == np.sign(others))
    size, other = np.where(known, size, 1.0), np.where(known, other, 1.0)
    last = 10.0 ** (np.floor(np.log10(size)) - 2)
    alike = known & _rounds_alike(size, other, last) & _rounds_alike(size, other, 10 * last)
    alike &= (size < WHOLE_FROM) | (size >= WHOLE_BELOW) | _rounds_alike(size, other, np.ones(1))
    return bool((alike | (numbers == others) | np.isnan(numbers)).all())


def _rounds_alike(
    sizes: Float[np.ndarray, "..."], others: Float[np.ndarray, "..."], unit: Float[np.ndarray, "..."]
) -> Bool[np.ndarray, "..."]:
    return np.floor(sizes / unit + 0.5) == np.floor(others / unit + 0.5)


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
