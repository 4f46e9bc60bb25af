"""Traces a Python function to its jaxpr, or reads one that was traced before from disk."""
