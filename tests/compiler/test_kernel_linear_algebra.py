"""Factorisations of matrices, and what is solved by them, against XLA, which calls LAPACK."""

from __future__ import annotations

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from kernel_oracle import check, width_of

import kousoku as ks
from kousoku.compiler import reason_against
from kousoku.compiler.frontend.linear_algebra import LARGEST

pytestmark = pytest.mark.property

DTYPES = (np.float32, np.float64)


def near(dtype, size=1.0):
    """How far results of well-conditioned systems may be apart, since sums have another order."""
    return {"absolute": 64 * size * np.finfo(dtype).eps, "ulp": 64}


def matrices(*shape, dtype=np.float32):
    """Draws a matrix that is no near relative of a singular one."""
    return lambda rng: rng.normal(size=shape) + 2 * max(shape[-2:]) * np.eye(*shape[-2:]), dtype


def drawn(*draws):
    return lambda rng: [np.asarray(draw(rng), dtype) for draw, dtype in draws]


def positive_definite(*shape, dtype=np.float32):
    def draw(rng):
        root = rng.normal(size=shape)
        return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])

    return draw, dtype


def numbers(*shape, dtype=np.float32):
    return lambda rng: rng.normal(size=shape), dtype


@pytest.mark.by_default(
    *(f"{dtype.__name__}-{shape}" for dtype, shape in ((DTYPES[0], "shape2"), (DTYPES[1], "shape4")))
)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (17, 17), (2, 3, 4, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype, shape):
    with width_of(dtype):
        check(jnp.linalg.cholesky, drawn(positive_definite(*shape, dtype=dtype)), 19, **near(dtype, 8.0))


def test_cholesky_reads_the_lower_triangle_alone():
    def factor(a):
        return lax.linalg.cholesky(jnp.tril(a) + jnp.triu(jnp.full_like(a, jnp.nan), 1), symmetrize_input=False)

    check(factor, drawn(positive_definite(4, 4)), 3, **near(np.float32, 8.0))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_what_is_not_positive_definite_has_no_factor(bad):
    """Lanes beside it keep theirs."""

    def factor(a, last):
        return jnp.linalg.cholesky(a.at[2, 2].set(last))

    rows = np.asarray([5.0, bad, 7.0], np.float32)
    diagonal = np.broadcast_to(np.diag(np.asarray([1, 2, 3, 4], np.float32)), (3, 4, 4))
    given = jax.vmap(ks.kernel(factor))(diagonal, rows)
    np.testing.assert_array_equal(given, jax.vmap(factor)(diagonal, rows))
    assert np.isnan(given).any((1, 2)).tolist() == [False, True, False]


@pytest.mark.by_default(
    "True-False-True-False", "False-True-True-True", "False-False-False-False", "True-True-False-True"
)
@pytest.mark.parametrize(("left", "lower", "transposed", "unit"), list(product((True, False), repeat=4)))
def test_triangular_systems(left, lower, transposed, unit):
    def solve(a, b):
        return lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit
        )

    small = lambda rng: 0.2 * rng.normal(size=(5, 5)) + np.eye(5)  # noqa: E731
    check(solve, drawn((small, np.float32), numbers(*((5, 3) if left else (3, 5)))), 19, **near(np.float32, 8.0))


def test_triangular_systems_with_axes_before():
    def solve(a, b):
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    check(solve, drawn(matrices(2, 3, 4, 4), numbers(2, 3, 4, 2)), 3, **near(np.float32))


@pytest.mark.by_default("float32-shape1", "float64-shape3", "float32-shape4")
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (4, 7), (7, 4), (2, 3, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(dtype, shape):
    """Rows are exchanged as LAPACK exchanges them: the matrix has its largest numbers anywhere."""
    with width_of(dtype):
        check(lambda a: lax.linalg.lu(a), drawn(numbers(*shape, dtype=dtype)), 19, **near(dtype, 64.0))


def test_lu_of_singular_matrices():
    def draw(rng):
        a = rng.integers(-3, 4, size=(4, 4)).astype(np.float32)
        a[:, 1] = 0
        return [a]

    check(lambda a: lax.linalg.lu(a), draw, 19, **near(np.float32, 8.0))


def test_the_order_that_exchanges_of_rows_lead_to():
    check(
        lambda pivots: lax.linalg.lu_pivots_to_permutation(pivots, 6),
        lambda rng: [np.asarray([rng.integers(i, 6) for i in range(4)], np.int32)],
        19,
    )


SOLUTIONS = {
    "solve": lambda a, b: jnp.linalg.solve(a, b),
    "cho_solve": lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b),
    "inv": lambda a, b: jnp.linalg.inv(a),
    "slogdet": lambda a, b: jnp.linalg.slogdet(a),
    "gradient": lambda a, b: jax.grad(lambda m: (jnp.linalg.solve(m, b) ** 2).sum())(a),
    "gradient of cholesky": lambda a, b: jax.grad(lambda m: (jnp.linalg.cholesky(m) @ b).sum())(a),
}


@pytest.mark.by_default("gradient", "slogdet")
@pytest.mark.parametrize("name", SOLUTIONS)
def test_what_is_made_of_them(name):
    check(SOLUTIONS[name], drawn(positive_definite(4, 4), numbers(4)), 19, ulp=1024, absolute=1e-4)


@pytest.mark.parametrize("size", [0, LARGEST + 1])
def test_sizes_without_a_rule_are_told(size):
    reason = str(reason_against(jnp.linalg.cholesky, jnp.zeros((size, size))))
    assert f"a matrix of {size} columns" in reason
    assert f"1 to {LARGEST}" in reason
