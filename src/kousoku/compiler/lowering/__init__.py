"""Lowers each operation by its rule, in tables by family."""

from . import arrays, control, conversions, division, elementwise, floats, indexing, random, reductions, sorting

RULES = {
    **elementwise.RULES,
    **division.RULES,
    **floats.RULES,
    **conversions.RULES,
    **arrays.RULES,
    **reductions.RULES,
    **indexing.RULES,
    **random.RULES,
    **sorting.RULES,
    **control.RULES,
}
