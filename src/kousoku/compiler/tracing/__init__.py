"""From a Python function to its jaxpr, by tracing or from disk."""
