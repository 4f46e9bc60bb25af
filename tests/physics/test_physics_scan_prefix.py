"""Loops over the first few rows: their results and derivatives, beside those of a loop as long as there are rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.physics.control_flow.scan_prefix import scan_prefix

MOST = 6
LENGTHS = jnp.arange(MOST + 1, dtype=jnp.int32)


def given():
    rng = np.random.default_rng(0)
    rows = jnp.asarray(rng.normal(size=(MOST, 3)))
    return rows, jnp.asarray(rng.normal(size=3)), jnp.asarray(rng.normal(size=3))


def with_nan(rows):
    """For each length, the rows, with NaN beyond."""
    there = np.arange(MOST) < np.asarray(LENGTHS)[:, None]
    return jnp.asarray(np.where(there[..., None], rows, np.nan))


def step(known, carry, row):
    """A carry, and a block of two rows for each row."""
    carry = carry + jnp.sin(row * known) * carry
    return carry, jnp.stack([carry, row * row * known])


def looped(length, rows, start, known):
    def body(carry, row):
        return step(known, carry, row)

    carry, blocks = scan_prefix(length, rows, start, body)
    there = jnp.arange(2 * MOST, dtype=jnp.int32) < jnp.int32(2) * length
    return jnp.concatenate([carry, jnp.where(there[:, None], blocks, 0.0).reshape(-1)])


def written_out(length, rows, start, known):
    blocks = jnp.zeros((2 * MOST, 3), rows.dtype)
    for i in range(length):
        start, block = step(known, start, rows[i])
        blocks = blocks.at[2 * i : 2 * i + 2].set(block)
    return jnp.concatenate([start, blocks.reshape(-1)])


WAYS = {
    "plain": jax.vmap,
    "jit": lambda function, axes: jax.jit(jax.vmap(function, axes)),
    "kernel": lambda function, axes: jax.jit(jax.vmap(ks.kernel(function), axes)),
}


@pytest.mark.by_default("jit")
@pytest.mark.parametrize("way", WAYS)
def test_results_are_those_of_the_rows_that_are_there(way):
    with jax.enable_x64(True):
        rows, start, known = given()
        many = with_nan(rows)
        found = WAYS[way](looped, (0, 0, None, None))(LENGTHS, many, start, known)
        wanted = jnp.stack([written_out(n, rows, start, known) for n in range(MOST + 1)])
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.full("covered")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_derivatives_are_those_of_the_rows_that_are_there(way, derivative):
    """By rows, of which those beyond the end are NaN, by the start, and by what the body is closed over."""
    with jax.enable_x64(True):
        rows, start, known = given()
        many = with_nan(rows)
        slopes = derivative(looped, (1, 2, 3))
        found = WAYS[way](slopes, (0, 0, None, None))(LENGTHS, many, start, known)
        wanted = [jax.jacfwd(written_out, (1, 2, 3))(n, rows, start, known) for n in range(MOST + 1)]
    for part, parts in zip(found, zip(*wanted, strict=True), strict=True):
        np.testing.assert_allclose(part, jnp.stack(parts), rtol=1e-12, atol=1e-13)


def along(function, parts, which):
    """A function's value, and how it changes with one of its arguments alone."""
    before, x, after = parts[:which], parts[which], parts[which + 1 :]
    return jax.jvp(lambda x: function(*before, x, *after), (x,), (jnp.ones_like(x),))


@pytest.mark.by_default("what the body is closed over")
@pytest.mark.parametrize("which", [1, 2, 3], ids=["rows", "start", "what the body is closed over"])
def test_a_derivative_by_one_of_them_alone(which):
    with jax.enable_x64(True):
        parts = [2, *given()]
        found = along(lambda length, *rest: looped(jnp.int32(length), *rest), parts, which)
        wanted = along(written_out, parts, which)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert np.abs(wanted[1]).max() > 0.1


@pytest.mark.full("larger")
def test_second_derivatives():
    with jax.enable_x64(True):
        rows, start, known = given()
        found = jax.hessian(lambda known: looped(jnp.int32(3), rows, start, known).sum())(known)
        wanted = jax.hessian(lambda known: written_out(3, rows, start, known).sum())(known)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
    assert np.abs(wanted).max() > 0.1
