"""Lowers each operation by its rule, in tables by family."""

from . import (
    array_reductions,
    arrays,
    control,
    conversions,
    division,
    elementwise,
    floats,
    indexing,
    matrix_products,
    products,
    random,
    reductions,
    sorting,
)

RULES = {
    **elementwise.RULES,
    **division.RULES,
    **floats.RULES,
    **conversions.RULES,
    **arrays.RULES,
    **reductions.RULES,
    **products.RULES,
    **indexing.RULES,
    **random.RULES,
    **sorting.RULES,
    **control.RULES,
}

ARRAY_RULES = {**RULES, **array_reductions.RULES, **matrix_products.RULES}
"""Those of kernels whose vectors lie along arrays."""
