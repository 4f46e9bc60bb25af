"""Decomposes factorisations of matrices, and what is solved by them, into steps that take a column each, in JAX.

Each step leaves a matrix that is a row and a column smaller: Golub & Van Loan, Matrix Computations (4th edition, 2013),
section 3.1 (triangular systems), algorithm 3.4.1 (LU with partial pivoting) and algorithm 4.2.2 (Cholesky, outer
products). What a matrix without a factorisation gives is LAPACK's answer, as JAX hands it on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from ..ir import Unsupported

LARGEST = 32
"""Columns of a matrix at most: of larger ones, LAPACK's blocks are faster than what is written here step by step."""

Function = Callable[..., Any]


def cholesky(**_: Any) -> Function:
    """Decomposes a matrix's factorisation into L Lᵀ; only the lower triangle is read."""
    return lambda a: _each(_lower_factor, a)


def triangular_solve(*, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool, **_: Any) -> Function:
    """Decomposes the solution x of A x = b, or of x A = b, for a triangular A, or its transpose."""
    other_triangle = transpose_a == left_side

    def solve(a: Array, b: Array) -> Array:
        t = a.T if other_triangle else a
        x = _substitute(t, b if left_side else b.T, lower != other_triangle, unit_diagonal)
        return x if left_side else x.T

    return lambda a, b: _each(solve, a, b)


def lu(**_: Any) -> Function:
    """Decomposes a matrix's factorisation into P L U, L and U in one matrix, with exchanges of rows and their order."""

    def factor(a: Array) -> tuple[Array, Array, Array]:
        factors, pivots = _factors(a)
        return factors, pivots, _order(pivots, len(a))

    return lambda a: _each(factor, a)


def lu_pivots_to_permutation(*, permutation_size: int, **_: Any) -> Function:
    """Decomposes the order of rows that exchanges, one after another, lead to."""
    return lambda pivots: _each(lambda row: _order(row, permutation_size), pivots, axes=1)


def _each(function: Function, *matrices: Array, axes: int = 2) -> Any:
    """Applies a function of matrices, or of vectors where `axes` is 1, along all axes before them."""
    columns = matrices[0].shape[-1]
    if not 0 < columns <= LARGEST:
        raise Unsupported(f"factoring, or solving by, a matrix of {columns} columns (1 to {LARGEST} have one)")
    for _ in range(matrices[0].ndim - axes):
        function = jax.vmap(function)
    return function(*matrices)


def _lower_factor(a: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Returns L with L Lᵀ = a; NaN everywhere where there is none, and from the first column on that has a NaN."""
    columns, none = [], jnp.asarray(False)
    for j in range(len(a)):
        root = jnp.sqrt(a[0, 0])
        none |= a[0, 0] <= 0
        below = a[1:, 0] / root
        columns.append(jnp.concatenate([jnp.zeros(j, a.dtype), root[None], below]))
        a = a[1:, 1:] - jnp.outer(below, below)
    return jnp.where(none, jnp.nan, jnp.stack(columns, 1))


def _substitute(t: Float[Array, "n n"], b: Float[Array, "n m"], lower: bool, unit: bool) -> Float[Array, "n m"]:
    """Returns x with t x = b, row after row: of a lower triangle from the first, of an upper one from the last."""
    rows: list[Array] = []
    for i in range(len(t)) if lower else reversed(range(len(t))):
        row = b[0 if lower else i]
        row = row if unit else row / t[i, i]
        others = slice(i + 1, None) if lower else slice(i)
        b = (b[1:] if lower else b[:i]) - jnp.outer(t[others, i], row)
        rows.append(row)
    return jnp.stack(rows if lower else rows[::-1])


def _factors(a: Float[Array, "m n"]) -> tuple[Float[Array, "m n"], Int[Array, " k"]]:
    """Returns L below the diagonal and U above it, and which row each was exchanged with."""
    rows, pivots = [], []
    for j in range(min(a.shape)):
        chosen = jnp.argmax(jnp.abs(a[:, j])).astype(jnp.int32)
        row = a[chosen]
        a = jnp.where((lax.iota(jnp.int32, len(a)) == chosen)[:, None], a[0], a)[1:]
        factors = jnp.where(row[j] == 0, a[:, j], a[:, j] / row[j])
        a = jnp.concatenate([a[:, :j], factors[:, None], a[:, j + 1 :] - jnp.outer(factors, row[j + 1 :])], 1)
        rows.append(row)
        pivots.append(j + chosen)
    return jnp.concatenate([jnp.stack(rows), a]), jnp.stack(pivots)


def _order(pivots: Int[Array, " k"], size: int) -> Int[Array, " m"]:
    """Returns the order of that many rows after row i was exchanged with row pivots[i], for each i in turn."""
    places = rows = lax.iota(pivots.dtype, size)
    for i in range(pivots.size):
        rows = jnp.where(places == i, rows[pivots[i]], jnp.where(places == pivots[i], rows[i], rows))
    return rows


DECOMPOSITIONS: dict[str, Callable[..., Function]] = {
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
    "lu": lu,
    "lu_pivots_to_permutation": lu_pivots_to_permutation,
}
