"""Symmetric matrices in the pattern of a kinematic tree: products, and a factorisation that hardly fills in.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, tables 6.3 and 6.5: L^T D L from the leaves to the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import sub

from ..model import Model
from ..stages.joints import ancestors
from .scalar import ZERO, Num, total

Matrix = dict[tuple[int, int], Num]


@dataclass(frozen=True)
class Pattern:
    """Which entries of a symmetric matrix and of its factor may differ from zero.

    Attributes:
        below: for each row, the columns left of its diagonal, nearest first.
    """

    below: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(model: Model, coupled: Iterable[Sequence[int]] = ()) -> Pattern:
        """Of the mass matrix, and of what couples degrees of freedom beyond the tree."""
        entries = [set(ancestors(model, i)) - {i} for i in range(model.nv)]
        for dofs in coupled:
            for i in dofs:
                entries[i].update(j for j in dofs if j < i)
        for k in range(model.nv - 1, -1, -1):
            for i in entries[k]:
                entries[i].update(j for j in entries[k] if j < i)
        return Pattern(tuple(tuple(sorted(e, reverse=True)) for e in entries))

    @property
    def size(self) -> int:
        """Rows and columns."""
        return len(self.below)


@dataclass(frozen=True)
class Factor:
    """A = L^T D L with ones on L's diagonal.

    Attributes:
        pattern: of A and L.
        lower: L's entries below the diagonal.
        inverse: 1 / D.
    """

    pattern: Pattern
    lower: Matrix
    inverse: list[Num]

    def solve(self, right: Sequence[Num]) -> list[Num]:
        """x with A x = right."""
        return self.spread(self.scaled(self.gathered(right)))

    def gathered(self, right: Sequence[Num]) -> list[Num]:
        """x with L^T x = right, from the leaves to the root."""
        x, below = list(right), self.pattern.below
        for i in range(len(x) - 1, -1, -1):
            for j in below[i]:
                x[j] = x[j] - self.lower[i, j] * x[i]
        return x

    def scaled(self, right: Sequence[Num]) -> list[Num]:
        """x with D x = right."""
        return [a * d for a, d in zip(right, self.inverse, strict=True)]

    def spread(self, right: Sequence[Num]) -> list[Num]:
        """x with L x = right, from the root to the leaves; what is known first is taken away first."""
        x, below = list(right), self.pattern.below
        for i in range(len(x)):
            for j in reversed(below[i]):
                x[i] = x[i] - self.lower[i, j] * x[j]
        return x


def factor(pattern: Pattern, entries: Matrix) -> Factor:
    """Factorise a matrix whose lower entries are given; those that are not are zero.

    Entry by entry: what is taken from one is summed up while it is in a register.
    """
    work: Matrix = {}
    lower: Matrix = {}
    inverse = [ZERO] * pattern.size
    for k in range(pattern.size - 1, -1, -1):
        later = [m for m in range(pattern.size - 1, k, -1) if k in pattern.below[m]]
        for j in (k, *pattern.below[k]):
            taken = (lower[m, k] * work[m, j] for m in later if (m, j) in work)
            work[k, j] = reduce(sub, taken, entries.get((k, j), ZERO))
        inverse[k] = 1.0 / work[k, k]
        for j in pattern.below[k]:
            lower[k, j] = work[k, j] * inverse[k]
    return Factor(pattern, lower, inverse)


def multiplied(entries: Matrix, x: Sequence[Num]) -> list[Num]:
    """A x."""
    result = [ZERO] * len(x)
    for (i, j), value in entries.items():
        result[i] = result[i] + value * x[j]
        if i != j:
            result[j] = result[j] + value * x[i]
    return result


def product(entries: Matrix, x: Sequence[Num]) -> list[Num]:
    """A x, for any matrix of which both halves are given."""
    result = [ZERO] * len(x)
    for (i, j), value in entries.items():
        result[i] = result[i] + value * x[j]
    return result


def solved(pattern: Pattern, entries: Matrix, right: Sequence[Num]) -> list[Num]:
    """x with A x = right, for any matrix in the pattern of which both halves are given; entries that are not are zero.

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
