"""Runs passes over a graph, between the front end and code generation."""

from ..ir import Graph
from .joined_vectors import joined_vectors
from .matrix_products import matrix_products
from .narrow_products import narrow_products
from .product_ends import product_ends
from .sink_into_branches import sink_into_branches


def run_passes(graph: Graph, arrays: bool = False) -> Graph:
    """Returns the graph after all passes, in their order; dead code is left out by the front end and by each pass.

    Args:
        graph: what one lane does.
        arrays: whether vectors will lie along its arrays.
    """
    sunk = sink_into_branches(graph)
    return product_ends(matrix_products(narrow_products(joined_vectors(sunk)))) if arrays else sunk
