"""Environments of other JAX libraries as ours: a file for each library, made by id or of an object."""
