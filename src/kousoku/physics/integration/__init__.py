"""MuJoCo's integrators Euler, RK4, implicit and implicitfast: from accelerations to the next state.

References:
    MuJoCo documentation, Computation, "Numerical integration". Seconds.
"""
