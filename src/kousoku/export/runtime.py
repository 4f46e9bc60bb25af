"""Functions that a NumPy file needs besides its own lines: their source goes into it as it is."""

import base64
import math

import numpy as np


def array(dtype, shape, text):
    """Makes an array from its bytes (little-endian) in base 64."""
    return np.frombuffer(base64.b64decode(text), np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)


def refuse(given, fix, field="observation"):
    """Returns the error for an observation, or something else, that cannot be used."""
    return ValueError(f"{field}: got {given}; {fix}")


def parts_of(obs, parts, refuse):
    """Returns the parts of an observation, a batch each, and whether it was a single one.

    Each of `parts` is (names that lead to it, shape, dtype, least, most); the bounds are None for real numbers.
    """
    found, batches = [], set()
    for names, shape, dtype, least, most in parts:
        x, field = part_of(obs, names, shape, refuse), "observation" + "".join(f"[{name!r}]" for name in names)
        numbers = x.dtype.kind in "biuf"
        if x.shape != shape and (x.ndim == 0 or x.shape[1:] != shape):
            given = x.shape if x.ndim or numbers else x.item()
            raise refuse(given, f"use an array of shape {shape}, or a batch of them, {('N', *shape)}", field)
        if not numbers or (most is not None and not np.all(are_whole(x))):
            raise refuse(x.dtype.name if x.ndim or numbers else x.item(), f"use {dtype}", field)
        given, x = x, x if most is None else within_32_bits(x)
        if most is not None and x.size and not (np.all(x >= least) and np.all(x <= most)):
            low, high = given.min().item(), given.max().item()
            raise refuse(low if low == high else f"{low} to {high}", f"use whole numbers from {least} to {most}", field)
        if x.dtype.kind == "f" and np.isnan(x).any():
            place = np.argwhere(np.isnan(x))[0].tolist()
            raise refuse(np.nan, "use a number: for NaN there is no action", f"{field}{place or ''}")
        single = x.ndim == len(shape)
        batches.add(None if single else len(x))
        found.append((x[None] if single else x).astype(dtype))
    if len(batches) != 1:
        raise refuse("parts of different lengths", "use as many of each part")
    return found, batches == {None}


def are_whole(x):
    """Returns of each number whether it is a whole one, which floats may hold as well."""
    return np.isfinite(x) & (x == np.floor(x)) if x.dtype.kind == "f" else np.ones(x.shape, bool)


def within_32_bits(x):
    """Returns whole numbers of any dtype, each as near as 32 bits have it; the very last of these is not used."""
    if x.dtype.itemsize <= 2:
        return x
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    return np.clip(wide, 0 if x.dtype.kind == "u" else -(2**31), 2**31 - 2)


def part_of(obs, names, shape, refuse):
    """Returns one part of an observation as an array: of a dict, a tuple by its place, or a field of a dataclass."""
    path = ""
    for name in names:
        fields = getattr(obs, "_fields", None) or getattr(obs, "__dataclass_fields__", ())
        if hasattr(obs, "keys") and name in obs:
            obs = obs[name]
        elif name in fields:
            obs = getattr(obs, name)
        elif isinstance(obs, (tuple, list)) and name.isdigit() and int(name) < len(obs):
            obs = obs[int(name)]
        else:
            raise refuse(dict_words(obs) or type(obs).__name__, f"give a part {name!r}", f"observation{path}")
        path += f"[{name!r}]"
    if is_dict(obs):
        fits = " or ".join(f"obs{path}[{name!r}]" for name in obs if is_like(obs[name], shape))
        fix = f"give {fits}" if fits else f"use an array of shape {shape}"
        raise refuse(dict_words(obs), fix, f"observation{path}")
    try:
        return np.asarray(obs)
    except ValueError:
        raise refuse("rows of different lengths", "use an array of numbers", f"observation{path}") from None


def is_dict(obs):
    """Returns whether names lead to its parts, and it is no array, as a column of a table is."""
    return hasattr(obs, "keys") and not hasattr(obs, "__array__")


def dict_words(obs):
    """Returns in words which names a dict has; nothing of what is no dict."""
    return f"a dict with {', '.join(map(repr, obs)) or 'nothing'}" if is_dict(obs) else ""


def is_like(x, shape):
    """Returns whether numbers are of a shape, or a batch of such."""
    try:
        x = np.asarray(x)
    except ValueError:
        return False
    return x.dtype.kind in "biuf" and (x.shape == shape or (x.ndim > 0 and x.shape[1:] == shape))


def carry_of(carry, initial, count, refuse):
    """Returns the carry of `count` environments, checked; with an axis more, that of one where the count is None."""
    fix = "use what initial_carry or the last step gave"
    if not isinstance(carry, (tuple, list)) or len(carry) != len(initial):
        raise refuse(f"{type(carry).__name__} {carry!r}"[:60], fix, "carry")
    try:
        found = [np.asarray(x, first.dtype) for x, first in zip(carry, initial, strict=True)]
    except (TypeError, ValueError):
        raise refuse("what are no numbers", fix, "carry") from None
    axes = () if count is None else (count,)
    if [x.shape for x in found] != [(*axes, *first.shape) for first in initial]:
        wanted = "initial_carry() for one observation" if count is None else f"initial_carry({count}) for so many"
        raise refuse(f"shapes {[x.shape for x in found]}", f"use {wanted}", "carry")
    return [x[None] for x in found] if count is None else found


def count_of(count, refuse):
    """Returns a number of environments, checked; None for one without an axis."""
    if count is None or (not isinstance(count, bool) and isinstance(count, (int, np.integer)) and count >= 0):
        return count
    raise refuse(repr(count), "use a whole number of at least 0, or nothing for one observation", "count")


def logistic(x):
    """Computes 1 / (1 + exp(-x))."""
    return np.ones_like(x) / (np.ones_like(x) + np.exp(-x))


def erf(x):
    """Computes the error function."""
    return np.vectorize(math.erf, otypes=[x.dtype])(x)


def whole_quotient(a, b):
    """Computes a / b of whole numbers, rounded towards zero."""
    quotient = a // b
    return (quotient + ((a % b != 0) & ((a < 0) != (b < 0)))).astype(quotient.dtype)


def whole(x, dtype):
    """Converts real numbers to whole ones: NaN to 0, and what is beyond the dtype to the last number that it has."""
    info, x = np.iinfo(dtype), x.astype(np.float64)
    beyond = float(info.max + 1)
    made = np.where((x > info.min) & (x < beyond), x, 0.0).astype(dtype)
    made = np.where(x >= beyond, dtype(info.max), made)
    return np.where(x <= info.min, dtype(info.min), made)


def shifted_right(x, by, first):
    """Shifts bits to the right: copies of the first one come in if `first` is "i", and zeros if it is "u"."""
    seen = f"{first}{x.dtype.itemsize}"
    return (x.view(seen) >> by.view(seen)).view(x.dtype)


def convolution(x, w, strides, padding, dilation, groups):
    """Convolves x [n, height, width, channels] with w [height, width, in, out], with as many spatial axes as w has."""
    axes = tuple(range(1, 1 + len(strides)))
    x = np.pad(x, ((0, 0), *padding, (0, 0)))
    reach = [(size - 1) * d + 1 for size, d in zip(w.shape[: len(dilation)], dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    steps = tuple(slice(None, None, s) for s in strides)
    holes = tuple(slice(None, None, d) for d in dilation)
    windows = windows[(slice(None), *steps, slice(None), *holes)]
    last = 1 + len(strides)
    over = list(range(last, last + 1 + len(strides))), list(range(1 + len(strides)))
    results = []
    for part, kernel in zip(np.split(windows, groups, last), np.split(w, groups, -1), strict=True):
        results.append(np.tensordot(part, np.moveaxis(kernel, -2, 0), over))
    return np.concatenate(results, -1)
