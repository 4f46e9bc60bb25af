"""Branches and loops over structures of numbers, with derivatives."""
