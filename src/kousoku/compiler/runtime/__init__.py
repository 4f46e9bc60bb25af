"""Kernels while programs run."""
