"""One rule for each operation, in tables by family."""

from . import arrays, control, elementwise, indexing, random, reductions, sorting

RULES = {
    **elementwise.RULES,
    **arrays.RULES,
    **reductions.RULES,
    **indexing.RULES,
    **random.RULES,
    **sorting.RULES,
    **control.RULES,
}
