"""Derivatives that JAX is told: of the solver's solution, and of the Newton-Euler algorithm (mjd_rne_vel)."""
