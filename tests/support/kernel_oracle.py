"""Kernels against plain JAX: the same function, compiled by both, on the same lanes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE, is_quick
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import kousoku as ks
from kousoku.compiler import fallback

LANES = (None, 1, 3, 16, 37)
"""One lane without an axis, and numbers of lanes below, at and above a group, most of them with an incomplete one."""

Draw = Callable[[np.random.Generator], Sequence[Any]]


def check(
    function: Callable[..., Any],
    draw: Draw,
    lanes: int | None = None,
    shared: Sequence[int] = (),
    seed: int = 0,
    ulp: float = 0,
    absolute: float = 0.0,
) -> None:
    """Assert that the kernel of `function` does what XLA does.

    Args:
        function: of one lane.
        draw: makes the arguments of one lane.
        lanes: how many, None for no axis of lanes.
        shared: arguments that have no axis of lanes.
        ulp: how far floats may be apart, in units of the last place of the larger.
        absolute: a distance that does not count.
    """
    columns = columns_of(draw, lanes or 1, seed)
    compare(function, columns, [range(len(columns)) if lanes is None else shared], ulp, absolute)


def columns_of(draw: Draw, lanes: int, seed: int) -> list[Any]:
    """The arguments of that many lanes, each with an axis of lanes."""
    rng = np.random.default_rng(seed)
    return [_stacked(column) for column in zip(*(draw(rng) for _ in range(lanes)), strict=True)]


def compare(
    function: Callable[..., Any],
    columns: Sequence[Any],
    ways: Sequence[Sequence[int]] = ((),),
    ulp: float = 0,
    absolute: float = 0.0,
) -> None:
    """Assert that kernel and XLA give the same, in each of some ways to share arguments among lanes.

    XLA always runs over lanes of their own. Where it knows that they share something it may compute something else:
    x / y becomes x * (1 / y). Where the sign of a zero differs, zeros are those of the operations one by one: XLA makes
    the float of an integer that was a float a truncation, which of -0.3 is -0, and of no integer.

    Args:
        function: of one lane.
        columns: the arguments, with an axis of lanes.
        ways: in each, which arguments all lanes share: the first one's. If all are, there is no axis of lanes, and
            vectors along arrays are tried as well (in the full tests always).
        ulp: how far floats may be apart, in units of the last place of the larger.
        absolute: a distance that does not count.
    """
    reference = jax.jit(jax.vmap(function), compiler_options=FAST_COMPILE)
    alone = len(columns)
    both = [(shared, False) for shared in ways] + [(s, True) for s in ways if len(s) == alone or not is_quick()]
    for shared, arrays in both:
        kernel = ks.kernel(lambda *xs: function(*xs), arrays=arrays)
        repeated = [_repeated(c) if i in shared else c for i, c in enumerate(columns)]
        axes = tuple(None if i in shared else 0 for i in range(len(columns)))
        with no_fallback():
            run = jax.jit(kernel if len(shared) == alone else jax.vmap(kernel, in_axes=axes))
            given = run(*(c[0] if i in shared else c for i, c in enumerate(columns)))
        wanted = reference(*repeated)
        assert jax.tree.structure(given) == jax.tree.structure(wanted)
        if not (ulp or absolute or same_zeros(given, wanted)):
            with jax.disable_jit():
                wanted = jax.tree.map(zeros_of, wanted, jax.vmap(function)(*repeated))
        for (path, g), w in zip(jax.tree.leaves_with_path(given), jax.tree.leaves(wanted), strict=True):
            how = f"vectors along {'arrays' if arrays else 'lanes'}, shared arguments {[*shared]}"
            with noted(f"result{jax.tree_util.keystr(path)}, {how}"):
                assert_same(g, w[0] if len(shared) == alone else w, ulp, absolute)


def same_zeros(given: Any, wanted: Any) -> bool:
    """Whether zeros have the same signs wherever both are zero; `given` may be of one lane."""
    pairs = zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True)
    floats = [(np.asarray(g), np.asarray(w)) for g, w in pairs if jnp.issubdtype(w.dtype, jnp.floating)]
    return not any(((g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w))).any() for g, w in floats)


def zeros_of(x: Any, exact: Any) -> Any:
    """Numbers of which those that are zero have the signs that the exact ones have."""
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x
    x, exact = np.asarray(x), np.asarray(exact)
    return np.where((x == 0) & (exact == 0), exact, x)


@contextmanager
def noted(text: str) -> Iterator[None]:
    """A context whose failures tell where they happened."""
    try:
        yield
    except Exception as error:
        error.add_note(text)
        raise


@contextmanager
def no_fallback() -> Iterator[None]:
    """A context in which falling back to plain JAX is an error."""
    fallback._warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ks.KernelWarning)
        yield


def assert_same(given: Any, wanted: Any, ulp: float = 0, absolute: float = 0.0) -> None:
    """Equal in shape, dtype and value: NaN is NaN, -0 is -0; subnormal numbers count as zero."""
    if jax.dtypes.issubdtype(wanted.dtype, jax.dtypes.prng_key):
        given, wanted = jax.random.key_data(given), jax.random.key_data(wanted)
    assert (given.shape, given.dtype) == (wanted.shape, wanted.dtype)
    g, w = np.asarray(given), np.asarray(wanted)
    if w.dtype.kind != "f":
        np.testing.assert_array_equal(g, w)
        return
    g, w = flushed(g), flushed(w)
    if not (ulp or absolute):
        np.testing.assert_array_equal(g, w)
        number = ~np.isnan(w)
        np.testing.assert_array_equal(np.signbit(g[number]), np.signbit(w[number]))
        return
    np.testing.assert_array_equal(np.isnan(g), np.isnan(w))
    finite = np.isfinite(w) & np.isfinite(g)
    np.testing.assert_array_equal(g[~finite], w[~finite])
    unit = np.spacing(np.maximum(np.abs(w[finite]), np.finfo(w.dtype).tiny))
    difference = np.abs(g[finite].astype(np.float64) - w[finite])
    assert np.all(difference <= ulp * unit + absolute), f"{(difference / unit).max()} ulp: {g} for {w}"


def flushed(x: np.ndarray) -> np.ndarray:
    """Subnormal numbers as zeros."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def _repeated(column: Any) -> Any:
    """The first lane's argument in all lanes."""
    broadcast = jax.numpy.broadcast_to if isinstance(column, jax.Array) else np.broadcast_to
    return broadcast(column[0], column.shape)


def _stacked(column: Sequence[Any]) -> Any:
    if isinstance(column[0], jax.Array):
        return jax.numpy.stack(column)
    return np.stack(column)


# ---- cases

SHAPES = ((), (1,), (3,), (40,), (5, 9), (2, 3, 4), (0,), (3, 0))
"""Scalars, empty arrays, and sizes below and above what lives in registers."""

LANES_AND_SEEDS = st.tuples(st.sampled_from(LANES), st.integers(0, 1 << 30))


def examples(few: int, many: int = 60) -> Any:
    """Parametrises a test by how many examples it tries: few, or many in the full run."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.full("more cases"))])


def for_all(count: int, *strategies: Any) -> Callable[[Callable[..., None]], None]:
    """Runs the decorated function on that many examples: always the same, or those of the seed KOUSOKU_RANDOM_TESTS."""

    def run(function: Callable[..., None]) -> None:
        phases = [Phase.explicit, Phase.reuse, Phase.generate]
        chosen_seed = os.environ.get("KOUSOKU_RANDOM_TESTS", "")
        chosen = settings(
            max_examples=count,
            deadline=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
            derandomize=not chosen_seed,
        )
        test = chosen(given(*strategies)(function))
        (seeded(int(chosen_seed))(test) if chosen_seed else test)()

    return run


def shared_of(seed: int, count: int) -> tuple[int, ...]:
    """Which of `count` arguments have no axis of lanes: none in half of the cases, never all."""
    bits = seed % (1 << (count + 1))
    chosen = tuple(i for i in range(count) if bits >> i & 1) if bits >> count else ()
    return chosen if len(chosen) < count else ()


def width_of(*dtypes: Any) -> Any:
    """The context in which arrays of these dtypes exist."""
    return jax.enable_x64(True) if any(np.dtype(d).itemsize == 8 for d in dtypes) else nullcontext()


# ---- arguments


def edges(dtype: Any) -> np.ndarray:
    """Values at which something happens."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        some += [-1, -2, -3, -7, -100] if dtype.kind == "i" else []
        return np.array([n for n in some if info.min <= n <= info.max], dtype)
    info = np.finfo(dtype)
    some = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 127.5, 255.9, 32768.0, 65536.5, 2.0**31, 2.0**32, 2.0**63, 2.0**64]
    some += [1e-3, 0.1, 1 / 3, 1e7, 16777217.0, info.tiny, info.max, info.tiny / 4, info.eps, np.inf]
    return np.array([*some, *(-x for x in some), np.nan], dtype)


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, edgy: float = 0.5) -> np.ndarray:
    """Random numbers, a part of which (`edgy`) are edge values."""
    dtype = np.dtype(dtype)
    at_edge = rng.choice(edges(dtype), shape)
    if dtype.kind == "f":
        plain = (rng.normal(size=shape) * 3).astype(dtype)
    elif dtype.kind == "b":
        plain = rng.random(shape) < 0.5
    else:
        info = np.iinfo(dtype)
        plain = rng.integers(max(info.min, -20), min(info.max, 20), shape).astype(dtype)
    return np.where(rng.random(shape) < edgy, at_edge, plain)


NAMES = {
    "f": np.float32, "d": np.float64, "i": np.int32, "b": np.bool_, "u": np.uint32,
    "c": np.int8, "h": np.int16, "l": np.int64, "B": np.uint8, "H": np.uint16, "L": np.uint64,
}  # fmt: skip


def inputs(spec: str) -> Draw:
    """Arguments from words such as "f5x9 i k3": a letter for the dtype (k: a key), then the shape.

    Tame values: floats are normal, integers lie in [-3, 12).
    """

    def one(rng: np.random.Generator, word: str) -> Any:
        shape = tuple(map(int, word[1:].split("x"))) if word[1:] else ()
        if word[0] == "k":
            key = jax.random.key(int(rng.integers(1 << 31)))
            return jax.random.split(key, shape) if shape else key
        dtype = np.dtype(NAMES[word[0]])
        if dtype.kind == "f":
            return np.asarray(rng.normal(size=shape) * 2, dtype)
        if dtype.kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        return np.asarray(rng.integers(-3 if dtype.kind == "i" else 0, 12, shape), dtype)

    return lambda rng: [one(rng, word) for word in spec.split()]
