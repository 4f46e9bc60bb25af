"""Operations that move elements about in a kernel, against XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax
from kernel_oracle import (
    LANES_AND_SEEDS,
    SHAPES,
    assert_same,
    check,
    examples,
    for_all,
    no_fallback,
    shared_of,
    values,
    width_of,
)

import kousoku as ks

pytestmark = pytest.mark.property

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def moves(shape, rng):
    """Functions of two arrays of that shape, with random parameters."""
    rank = len(shape)
    size = int(np.prod(shape))
    order = tuple(int(i) for i in rng.permutation(rank))
    axes = tuple(i for i in range(rank) if rng.random() < 0.5)
    starts = [int(rng.integers(0, n + 1)) for n in shape]
    stops = [int(rng.integers(s, n + 1)) for s, n in zip(starts, shape, strict=True)]
    steps = [int(rng.integers(1, 4)) for _ in shape]
    borders = [(int(rng.integers(-1, 3)), int(rng.integers(-1, 3)), int(rng.integers(0, 3))) for _ in shape]
    borders = [b if n > 1 else (1, 0, 0) for b, n in zip(borders, shape, strict=True)]
    reps = tuple(int(rng.integers(1, 3)) for _ in shape)
    made = [
        lambda x, y: lax.reshape(x, (size,)),
        lambda x, y: lax.reshape(x, (1, *shape[::-1], 1)),
        lambda x, y: lax.transpose(x, order),
        lambda x, y: lax.rev(lax.transpose(x, order), axes),
        lambda x, y: lax.slice(x, starts, stops, steps),
        lambda x, y: lax.pad(x, jnp.ones((), x.dtype), borders),
        lambda x, y: lax.broadcast_in_dim(x, (2, *shape, 3), tuple(range(1, rank + 1))),
        lambda x, y: lax.expand_dims(x, (0, rank + 1)),
        lambda x, y: jnp.tile(x, (2, *reps)),
        lambda x, y: jnp.stack([x, y, x], axis=rank),
        lambda x, y: lax.broadcasted_iota(x.dtype if x.dtype != bool else jnp.int8, (*shape, 2), rank),
    ]
    if rank:
        axis = int(rng.integers(rank))
        cut = int(rng.integers(shape[axis] + 1))
        made += [
            lambda x, y: lax.concatenate([x, y, x], axis),
            lambda x, y: lax.split(x, (cut, shape[axis] - cut), axis),
            lambda x, y: jnp.unstack(x, axis=axis),
            lambda x, y: lax.squeeze(lax.expand_dims(y, (axis,)), (axis,)),
            lambda x, y: lax.rev(lax.concatenate([lax.rev(x, (axis,)), y], axis), axes),
            lambda x, y: jnp.roll(x, 1, axis),
        ]
    return [made[i] for i in rng.permutation(len(made))[:5]]


@examples(6)
def test_moves(count):
    @for_all(count, st.sampled_from(DTYPES), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case
        with width_of(dtype):
            chosen = moves(shape, np.random.default_rng(seed))
            check(
                lambda x, y: [f(x, y) for f in chosen],
                lambda rng: [values(rng, shape, dtype), values(rng, shape, dtype)],
                lanes,
                shared_of(seed, 2) if lanes else (),
                seed,
            )


@pytest.mark.full("covered")
@examples(3)
def test_moves_of_what_is_computed(count):
    """Moves of arrays that are sums, which may never be stored."""

    @for_all(count, st.sampled_from([(40,), (5, 9), (9, 5, 2)]), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case
        first, second = moves(shape, np.random.default_rng(seed))[:2]

        def function(x, y):
            made = jax.tree.leaves(first(x + y, x - y))[0]
            return made, jax.tree.leaves(second(x * 2, y + 1))[0] * 3, lax.rev(made, range(made.ndim))

        check(function, lambda rng: [values(rng, shape, "int32"), values(rng, shape, "int32")], lanes, (), seed)


@pytest.mark.full("covered")
def test_moves_of_constants():
    """What is known is computed while reading."""
    x = np.arange(45, dtype=np.int32).reshape(5, 9) % 7

    for seed in range(3):
        chosen = moves(x.shape, np.random.default_rng(seed))

        def function(z, chosen=chosen):
            return [a + z for f in chosen for a in jax.tree.leaves(f(jnp.asarray(x), jnp.asarray(x + 1)))]

        check(function, lambda rng: [values(rng, (), "int32")], 5)


SHARED = [lax.max, lax.min, lax.eq, lax.lt, lax.ge, lax.ne, lambda x, y: lax.select_n(x == y, x, y)]
FOLDED = {
    "b": [*SHARED, lax.bitwise_xor],
    "f": [*SHARED, lax.add, lax.sub, lax.mul, lax.div, lax.rem],
    "i": [
        *SHARED, lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.shift_left, lax.shift_right_logical,
        lax.shift_right_arithmetic, lax.bitwise_xor,
    ],
}  # fmt: skip


@pytest.mark.by_default("int64")
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "float32", "bool"])
def test_constants_are_folded_as_xla_computes(dtype):
    """Operations on constants, which are computed while reading, and those that must be left alone."""
    functions = FOLDED[np.dtype(dtype).kind.replace("u", "i")]
    with width_of(dtype):
        rng = np.random.default_rng(7)
        for edgy in (0.0, 0.5):
            x, y = values(rng, (30,), dtype, edgy), values(rng, (30,), dtype, edgy)
            wanted = jax.jit(lambda a, c: [f(a, c) for f in functions])(x, y)
            with no_fallback():
                given = jax.jit(ks.kernel(lambda z, a=x, c=y: [(f(a, c), z) for f in functions]))(0.0)
            for (g, _), w in zip(given, wanted, strict=True):
                assert_same(g, w)
