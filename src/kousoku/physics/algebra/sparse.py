"""Symmetric matrices in the pattern of a kinematic tree: products, and a factorisation that hardly fills in.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, tables 6.3 and 6.5: L^T D L from the leaves to the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import sub

from .scalar import ZERO, Num, total

SparseMatrix = dict[tuple[int, int], Num]
"""Entries by row and column; those that are not there are zero."""


@dataclass(frozen=True)
class Pattern:
    """The entries of a symmetric matrix and of its factor that may differ from zero.

    Attributes:
        below: for each row, the columns left of its diagonal, nearest first.
    """

    below: tuple[tuple[int, ...], ...]

    @staticmethod
    def filled(rows: Iterable[set[int]]) -> Pattern:
        """Returns the pattern of a matrix with what its L^T D L factorisation fills in.

        Args:
            rows: for each row, the columns left of its diagonal.
        """
        entries = [set(row) for row in rows]
        for k in range(len(entries) - 1, -1, -1):
            for i in entries[k]:
                entries[i].update(j for j in entries[k] if j < i)
        return Pattern(tuple(tuple(sorted(e, reverse=True)) for e in entries))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.below)


@dataclass(frozen=True)
class Factor:
    """A symmetric matrix as A = L^T D L with ones on L's diagonal: of the mass matrix, mjData's qLD and qLDiagInv.

    Attributes:
        pattern: which entries of A and L may differ from zero.
        lower: L's entries below the diagonal.
        inv_diag: 1 / D.
    """

    pattern: Pattern
    lower: SparseMatrix
    inv_diag: list[Num]

    def solve(self, right: Sequence[Num]) -> list[Num]:
        """Returns x with A x = right; MuJoCo's mj_solveM."""
        return self.solve_l(self.solve_d(self.solve_lt(right)))

    def solve_lt(self, right: Sequence[Num]) -> list[Num]:
        """Returns x with L^T x = right, from the leaves to the root."""
        x, below = list(right), self.pattern.below
        for i in range(len(x) - 1, -1, -1):
            for j in below[i]:
                x[j] = x[j] - self.lower[i, j] * x[i]
        return x

    def solve_d(self, right: Sequence[Num]) -> list[Num]:
        """Returns x with D x = right."""
        return [a * d for a, d in zip(right, self.inv_diag, strict=True)]

    def solve_l(self, right: Sequence[Num]) -> list[Num]:
        """Returns x with L x = right, from the root to the leaves; what is known first is taken away first."""
        x, below = list(right), self.pattern.below
        for i in range(len(x)):
            for j in reversed(below[i]):
                x[i] = x[i] - self.lower[i, j] * x[j]
        return x


def factor(pattern: Pattern, entries: SparseMatrix) -> Factor:
    """Factorises a symmetric positive definite matrix, of which entries on and below the diagonal are given.

    Entry by entry: what is taken from one is summed up while it is in a register.
    """
    work: SparseMatrix = {}
    lower: SparseMatrix = {}
    inv_diag = [ZERO] * pattern.size
    for k in range(pattern.size - 1, -1, -1):
        later = [m for m in range(pattern.size - 1, k, -1) if k in pattern.below[m]]
        for j in (k, *pattern.below[k]):
            taken = (lower[m, k] * work[m, j] for m in later if (m, j) in work)
            work[k, j] = reduce(sub, taken, entries.get((k, j), ZERO))
        inv_diag[k] = 1.0 / work[k, k]
        for j in pattern.below[k]:
            lower[k, j] = work[k, j] * inv_diag[k]
    return Factor(pattern, lower, inv_diag)


def mul_sym_vec(entries: SparseMatrix, x: Sequence[Num]) -> list[Num]:
    """Returns A x for a symmetric A, of which entries on and below the diagonal are given."""
    result = [ZERO] * len(x)
    for (i, j), value in entries.items():
        result[i] = result[i] + value * x[j]
        if i != j:
            result[j] = result[j] + value * x[i]
    return result


def mul_mat_vec(entries: SparseMatrix, x: Sequence[Num]) -> list[Num]:
    """Returns A x for any A, of which all entries are given."""
    result = [ZERO] * len(x)
    for (i, j), value in entries.items():
        result[i] = result[i] + value * x[j]
    return result


def solve_lu(pattern: Pattern, entries: SparseMatrix, right: Sequence[Num]) -> list[Num]:
    """Returns x with A x = right, for any A in the pattern and its mirror image, of which all entries are given.

    Elimination from the last row up, which leaves a lower triangle; without pivots, which matrices near a mass matrix
    do not need.
    """
    work, x = dict(entries), list(right)
    for k in range(pattern.size - 1, -1, -1):
        columns, inverse = pattern.below[k], 1.0 / work[k, k]
        for i in columns:
            share = work.get((i, k), ZERO) * inverse
            for j in columns:
                work[i, j] = work.get((i, j), ZERO) - share * work.get((k, j), ZERO)
            x[i] = x[i] - share * x[k]
    for k in range(pattern.size):
        x[k] = (x[k] - total(work.get((k, j), ZERO) * x[j] for j in pattern.below[k])) / work[k, k]
    return x
