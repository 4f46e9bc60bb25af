"""Derivatives of the solver and of the Newton-Euler algorithm."""
