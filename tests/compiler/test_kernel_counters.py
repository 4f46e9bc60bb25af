"""Loops that lanes leave one after the other: what counts the same in all that still run is one number."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import kousoku as ks


def listed(count, x):
    """Writes `count` rows of a list that nothing initialises, and adds them up."""
    rows = lax.empty((50, 7), jnp.float32)
    numbers = jnp.arange(7, dtype=jnp.float32)
    rows = lax.fori_loop(0, count, lambda i, rows: rows.at[i].set(x * i.astype(jnp.float32) + numbers), rows)
    return lax.fori_loop(0, count, lambda i, found: found + rows[i].sum(), jnp.float32(0))


def test_a_list_of_each_lanes_own_length():
    counts, x = jnp.arange(40, dtype=jnp.int32) % 11, jnp.linspace(0.0, 1.0, 40, dtype=jnp.float32)
    ours = jax.vmap(ks.kernel(listed))(counts, x)
    n = np.asarray(counts, np.float64)
    np.testing.assert_allclose(ours, np.asarray(x) * 7 * n * (n - 1) / 2 + 21 * n, rtol=1e-6)


def test_its_rows_are_read_and_written_side_by_side():
    """Only inputs and results, which lie lane after lane, are gathered and scattered."""

    def scattered(function):
        lines = ks.kernel(function).explain(jnp.int32(3), jnp.float32(1.0)).llvm_ir.splitlines()
        return sum("call" in line and ("gather" in line or "scatter" in line) for line in lines)

    assert scattered(listed) == scattered(lambda count, x: count.astype(jnp.float32) + x)


def test_each_lane_keeps_its_own_count():
    def halved(x):
        def going(carry):
            return carry[1] > 1.0

        return lax.while_loop(going, lambda carry: (carry[0] + 1, carry[1] / 2), (jnp.int32(0), x))

    x = jnp.array([0.5, 1.0, 3.0, 1000.0, 2.0**40, 7.0], jnp.float32)
    counts, rest = jax.vmap(ks.kernel(halved))(x)
    assert counts.tolist() == [0, 0, 2, 10, 40, 3]
    np.testing.assert_array_equal(rest, np.asarray(x) / 2.0 ** np.array([0, 0, 2, 10, 40, 3]))


def test_a_counter_inside_a_branch_and_a_loop():
    """Lanes that do not take the branch count nothing, whatever the others do."""

    def nested(n, taken):
        def outer(i, found):
            inner = lax.fori_loop(0, n, lambda j, s: s + j * i, jnp.int32(0))
            return found + lax.cond(taken, lambda: inner, lambda: jnp.int32(-1))

        return lax.fori_loop(0, n + 1, outer, jnp.int32(0))

    n, taken = jnp.arange(12, dtype=jnp.int32), jnp.arange(12) % 3 != 0
    np.testing.assert_array_equal(jax.vmap(ks.kernel(nested))(n, taken), jax.vmap(nested)(n, taken))
