"""Branches and loops that JAX lacks: over structures of numbers, over the first rows of many, without copies a lane."""
