"""Branches and loops that JAX lacks: over structures of numbers, over first rows of many, without copies per lane."""
