"""From a jaxpr to a program: calls inlined, keys as words, constants folded, equal operations merged."""

from .reader import read

__all__ = ["read"]
