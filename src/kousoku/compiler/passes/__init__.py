"""Runs passes over a graph, between the front end and code generation."""

from ..ir import Graph
from .sink_into_branches import sink_into_branches


def run_passes(graph: Graph) -> Graph:
    """Returns the graph after all passes, in their order; dead code is left out by the front end and by each pass."""
    return sink_into_branches(graph)
