"""Reads a jaxpr into a graph: calls inlined, keys as words, constants folded, equal operations merged."""

from .reader import from_jaxpr

__all__ = ["from_jaxpr"]
