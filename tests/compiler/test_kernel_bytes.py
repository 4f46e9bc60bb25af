"""Large arrays of bytes in a kernel, several elements at a time, against XLA: boards, masks, images."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from kernel_oracle import check, no_fallback

import kousoku as ks

SIZES = (33, 64, 65, 66, 67)
"""Elements: those of whole blocks, and one, two and three more."""
LANES = (1, 3, 16, 37)
MASK = np.random.default_rng(3).integers(0, 2, 80).astype(bool)


def drawn(size, dtype):
    """Two boards, a condition and a whole number."""

    def draw(rng):
        high = 2 if dtype == "bool" else 256
        x, y = rng.integers(0, high, (2, size)).astype(np.uint8).astype(dtype)
        return x, y, np.bool_(rng.integers(2)), np.int32(rng.integers(-100, 100))

    return draw


FUNCTIONS = {
    "chain": lambda x, y, c, i: (x & y) ^ ~x | (y & jnp.asarray(MASK[: x.size], x.dtype)),
    "a number of each lane": lambda x, y, c, i: jnp.where(c, x, y) ^ (x == i.astype(x.dtype)).astype(x.dtype),
    "compared": lambda x, y, c, i: [x < y, x == y, (x != y).astype(jnp.int8), x.astype(bool) & c],
    "reductions": lambda x, y, c, i: [
        jnp.any(x & y),
        jnp.all(x | y),
        jnp.max(x),
        jnp.min(x ^ y),
        jnp.sum(x, dtype=int),
    ],
    "nothing holds": lambda x, y, c, i: [jnp.any(x & ~x), jnp.all(x | ~x), jnp.any((x != y) & c)],
    "rolled by all alike": lambda x, y, c, i: lax.fori_loop(
        0, 5, lambda k, z: y & jnp.roll(z, k * 7 - 11) | jnp.roll(x, k), x
    ),
    "rolled by each its own": lambda x, y, c, i: jnp.roll(x, i) & y,
    "a slice, moved inside": lambda x, y, c, i: lax.fori_loop(
        0, 4, lambda k, z: z ^ lax.dynamic_slice(jnp.concatenate([x, y]), (k * 90 - 60,), x.shape), x
    ),
    "rows of what all share": lambda x, y, c, i: lax.fori_loop(
        0,
        3,
        lambda k, z: z ^ jnp.asarray(np.tile(MASK[: x.size], (3, 1)) ^ np.eye(3, x.size, dtype=bool), x.dtype)[k],
        x,
    ),
    "branches": lambda x, y, c, i: lax.cond(c, lambda: (x & y, x), lambda: (x | y, y)),
    "a loop that lanes leave": lambda x, y, c, i: lax.while_loop(
        lambda s: s[0] < i % 7, lambda s: (s[0] + 1, (s[1] ^ y) | (s[1] & x)), (jnp.int32(0), x)
    )[1],
    "carried beside what it is a slice of": lambda x, y, c, i: lax.fori_loop(
        0,
        3,
        lambda k, s: (s[0] ^ jnp.concatenate([y, x]), lax.dynamic_slice(s[0], (k * 5,), x.shape) ^ s[1]),
        (jnp.concatenate([x, y]), y),
    ),
    "in place": lambda x, y, c, i: (x ^ y).at[i % x.size].set(x[0]) | y,
}
ARITHMETIC = {
    "wraps around": lambda x, y, c, i: x * y - y + jnp.asarray(100, x.dtype),
    "by each lane's number": lambda x, y, c, i: x // jnp.where(c, 3, 7).astype(x.dtype) + x % jnp.asarray(5, x.dtype),
    "extremes": lambda x, y, c, i: jnp.clip(jnp.maximum(x, y) - jnp.minimum(x, y), x, y),
    "bits": lambda x, y, c, i: (x << 3) ^ (y >> 2) ^ lax.population_count(x),
    "there and back": lambda x, y, c, i: (x.astype(jnp.int32) * 3 + i).astype(x.dtype) ^ y,
    "signed": lambda x, y, c, i: [lax.bitcast_convert_type(x, jnp.int8) < lax.bitcast_convert_type(y, jnp.int8), -x],
}


@pytest.mark.by_default("*-bool-37", "*-int8-16")
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
@pytest.mark.parametrize("what", FUNCTIONS)
def test_boards(what, dtype, lanes):
    size = SIZES[(len(what) + lanes) % len(SIZES)]
    check(FUNCTIONS[what], drawn(size, dtype), lanes)


@pytest.mark.by_default("*-uint8-64", "*-int8-67")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("what", ARITHMETIC)
def test_arithmetic(what, dtype, size):
    check(ARITHMETIC[what], drawn(size, dtype), 16)


@pytest.mark.by_default("*-shared1", "*-shared3")
@pytest.mark.parametrize("shared", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("what", ["chain", "compared", "reductions", "branches", "rolled by all alike"])
def test_what_all_lanes_share(what, shared):
    check(FUNCTIONS[what], drawn(65, "bool"), 37, shared)


def test_boards_of_several_axes():
    def play(board, move):
        moved = jnp.roll(board, 1, axis=0) | jnp.roll(board, -1, axis=1)
        hidden = moved & ~board
        return hidden.at[move % 9, move % 7].set(True), hidden.any(), hidden.any(axis=0), board.T & moved.T

    check(play, lambda rng: (rng.integers(0, 2, (9, 7)).astype(bool), np.int32(rng.integers(100))), 16)


@pytest.mark.parametrize("shape", [(5, 9), (2, 5, 7), (7, 1, 5)])
def test_what_is_known_is_read_in_rows_that_are_no_whole_blocks(shape):
    """The last elements are counted through all rows, of constants as of arrays in memory."""
    mask = MASK[: np.prod(shape)].reshape(shape)

    def run(x):
        return [x // jnp.full_like(x, 7), x ^ jnp.asarray(mask, x.dtype), jnp.where(mask, x, jnp.int8(3)), x + 1]

    check(run, lambda rng: [rng.integers(0, 100, shape).astype(np.int8)], lanes=3)


def test_it_is_done_for_several_elements_at_a_time():
    """A kernel of a board's operations has wide vectors and no loop over its single elements."""
    play = ks.kernel(lambda x, y: (x & y) ^ x)
    board = jax.ShapeDtypeStruct((64,), bool)
    text = play.explain(board, board, lanes=16).llvm_ir
    assert "<32 x i1>" in text or "<64 x i1>" in text


def test_one_byte_is_repeated():
    x = np.arange(17, dtype=np.uint8)[:, None]
    function = lambda x: (jnp.tile(x, 54), jnp.tile(x[0] > 3, (6, 9)))  # noqa: E731
    with no_fallback():
        given = jax.vmap(ks.kernel(function))(x)
    for g, w in zip(given, jax.vmap(function)(x), strict=True):
        np.testing.assert_array_equal(g, w)
