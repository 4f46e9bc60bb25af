"""The JAX primitive that carries a function of one lane, and what it does on several devices."""
