"""A JAX function of one lane, compiled to one SIMD kernel over all lanes. It knows JAX and nothing of RL."""
