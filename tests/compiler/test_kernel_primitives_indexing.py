"""Reading and writing at computed positions in a kernel, against XLA: inside, outside, in every mode."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax
from kernel_oracle import LANES_AND_SEEDS, check, examples, for_all, shared_of, values, width_of

pytestmark = pytest.mark.property

MODES = ("clip", "fill", "promise_in_bounds")
KEPT = ("float32", "int8", "int32", "uint16", "bool", "int64", "float64")
ARRAYS = ((5,), (40,), (5, 9), (4, 5, 3), (1, 7))
PLACES = ("int32", "int8", "uint8", "uint32", "int64")


def places(rng, shape, dtype, size, inside=False):
    """Positions in and around an array, or far from it."""
    if inside:
        return rng.integers(0, size, shape).astype(dtype)
    near = rng.integers(-2 * size if np.dtype(dtype).kind == "i" else 0, 2 * size, shape)
    far = rng.choice([np.iinfo(dtype).min, np.iinfo(dtype).max, 127, 100], shape)
    return np.where(rng.random(shape) < 0.8, near, far).astype(dtype)


@examples(3)
def test_slices(count):
    @for_all(count, st.sampled_from(KEPT), st.sampled_from(ARRAYS), st.sampled_from(PLACES), LANES_AND_SEEDS)
    def run(dtype, shape, index, case):
        lanes, seed = case
        sizes = [int(n) for n in np.random.default_rng(seed).integers(1, np.array(shape) + 1)]

        def function(x, y, *starts):
            part = lax.dynamic_slice(x, starts, sizes)
            return part, lax.dynamic_update_slice(x, y, starts), lax.dynamic_update_slice(x, part, starts[::-1]), x

        def draw(rng):
            starts = [places(rng, (), index, n) for n in shape]
            return [values(rng, shape, dtype), values(rng, sizes, dtype), *starts]

        with width_of(dtype, index):
            check(function, draw, lanes, shared_of(seed, 2 + len(shape)) if lanes else (), seed)


@pytest.mark.full("covered")
@examples(4)
def test_reading_at_indices(count):
    cases = st.tuples(st.sampled_from(KEPT), st.sampled_from(ARRAYS), st.sampled_from(PLACES), st.sampled_from(MODES))

    @for_all(count, cases, st.sampled_from([(), (3,), (7, 5), (0,)]), LANES_AND_SEEDS)
    def run(what, chosen, case):
        dtype, shape, index, mode = what
        lanes, seed = case
        inside = mode == "promise_in_bounds"

        def function(x, i):
            last = x.at[..., i].get(mode=mode)
            rows = x.at[i].get(mode=mode) if x.ndim < 3 else x.at[:, i].get(mode=mode, wrap_negative_indices=False)
            filled = x.at[i].get(mode="fill", fill_value=1)
            return last, rows, filled, x[..., 0].at[i].get(mode=mode) if x.ndim > 1 else last

        def draw(rng):
            return [values(rng, shape, dtype), places(rng, chosen, index, min(shape), inside)]

        with width_of(dtype, index):
            check(function, draw, lanes, shared_of(seed, 2) if lanes else (), seed)


@pytest.mark.full("covered")
@examples(2)
def test_reading_with_batch_axes(count):
    """What vmap of an indexed read makes, within a lane."""

    @for_all(count, st.sampled_from([(4, 5), (9, 8), (3, 4, 5)]), st.sampled_from(MODES), LANES_AND_SEEDS)
    def run(shape, mode, case):
        lanes, seed = case

        def function(x, i):
            read = jax.vmap(lambda row, j: row.at[j].get(mode=mode))(x, i)
            return (
                read,
                jax.vmap(lambda row, j: row.at[j].add(1))(x, i),
                jnp.take_along_axis(x.reshape(len(x), -1)[:, 0], i, 0, mode="clip"),
            )

        def draw(rng):
            return [values(rng, shape, "int32"), places(rng, shape[:1], "int32", shape[1], mode == "promise_in_bounds")]

        check(function, draw, lanes, shared_of(seed, 2) if lanes else (), seed)


INT_WRITES = ("set", "add", "subtract", "multiply", "min", "max")


@examples(5)
def test_writing_at_indices(count):
    cases = st.tuples(
        st.sampled_from(("int32", "uint8", "int64", "bool")), st.sampled_from(ARRAYS), st.sampled_from(PLACES)
    )

    @for_all(count, cases, st.sampled_from([(), (3,), (7,)]), LANES_AND_SEEDS)
    def run(what, chosen, case):
        dtype, shape, index = what
        lanes, seed = case
        mode = ("clip", "drop", None)[seed % 3]
        names = ("set", "min", "max") if dtype == "bool" else INT_WRITES
        names = [names[(seed + i) % len(names)] for i in range(2)]
        unique = "set" in names

        def function(x, i, y):
            i = i if not unique or not i.ndim else i[:1]
            y = jnp.broadcast_to(y, jnp.shape(x[i]))
            return [getattr(x.at[i], name)(y, mode=mode) for name in names], x

        def draw(rng):
            return [values(rng, shape, dtype), places(rng, chosen, index, shape[0]), values(rng, (), dtype)]

        with width_of(dtype, index):
            check(function, draw, lanes, shared_of(seed, 3) if lanes else (), seed)


@pytest.mark.full("covered")
@examples(2)
def test_writing_floats(count):
    @for_all(count, st.sampled_from(ARRAYS), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case

        def function(x, i, y):
            added = x.at[i].add(y)
            return added.at[..., 0].max(y), added.at[i].apply(lambda old: old * 2 + 1), x.ravel().at[i].set(y)

        def draw(rng):
            return [
                rng.normal(size=shape).astype(np.float32),
                places(rng, (), "int32", shape[0]),
                np.float32(rng.normal()),
            ]

        check(function, draw, lanes, shared_of(seed, 3) if lanes else (), seed, ulp=2)


@pytest.mark.full("covered")
@examples(2)
def test_writing_windows(count):
    """Several windows of a scatter in a row, which overlap or do not fit."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))

    @for_all(count, st.sampled_from([(5, 9), (4, 5)]), st.sampled_from(("add", "mul", "min", "max")), LANES_AND_SEEDS)
    def run(shape, name, case):
        lanes, seed = case
        mode = ("clip", "drop", "promise_in_bounds")[seed % 3]

        def function(x, i, y):
            return getattr(lax, f"scatter_{name}")(x, i, y, numbers, mode=mode)

        def draw(rng):
            chosen = places(rng, (3, 2), "int32", 4, False)
            if mode == "promise_in_bounds":
                chosen = np.clip(chosen, 0, 2)
            return [values(rng, shape, "int32"), chosen, values(rng, (3, 2, 2), "int32")]

        check(function, draw, lanes, shared_of(seed, 3) if lanes else (), seed)


@pytest.mark.full("covered")
@examples(2)
def test_writing_in_branches_and_loops(count):
    """Only lanes that take a branch write, also where what is written is the same in all of them."""

    @for_all(count, st.sampled_from([(5,), (40,)]), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case

        def function(p, n, i, x):
            def branch(y):
                table = jnp.zeros(shape, jnp.int32).at[2].set(7).at[i].add(1)
                return y.at[1].set(5).at[i].multiply(3) + table

            def turn(carry):
                j, y = carry
                return j + 1, lax.dynamic_update_slice(y.at[j].set(j), jnp.full((2,), 9, jnp.int32), (j + i,))

            taken = lax.cond(p, branch, lambda y: y, x)
            return taken, lax.while_loop(lambda c: c[0] < n, turn, (jnp.int32(0), x))

        def draw(rng):
            n, i = rng.integers(0, 6, 2).astype(np.int32)
            return [np.asarray(rng.random() < 0.5), np.asarray(n), np.asarray(i), values(rng, shape, "int32")]

        check(function, draw, lanes, shared_of(seed, 4) if lanes else (), seed)


def test_tables_at_indices_of_their_own():
    """A large slice of a table that all lanes share, from where each lane says."""
    table = np.arange(200, dtype=np.int32)

    def function(i, x):
        part = lax.dynamic_slice(jnp.asarray(table), (i,), (50,))
        return (
            jnp.concatenate([part, part]),
            lax.cumsum(part),
            lax.sort(-part),
            part.at[3].set(1),
            jnp.take(x, i + part[:3]),
        )

    check(function, lambda rng: [places(rng, (), "int32", 200), values(rng, (100,), "float32")], 11, (1,))
