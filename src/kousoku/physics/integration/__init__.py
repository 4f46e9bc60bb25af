"""From accelerations to the next state.

References:
    MuJoCo documentation, Computation, "Numerical integration". Seconds.
"""
