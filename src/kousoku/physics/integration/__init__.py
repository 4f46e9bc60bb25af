"""From accelerations to the next state: MuJoCo's integrators Euler, RK4, implicit and implicitfast.

References:
    MuJoCo documentation, Computation, "Numerical integration". Seconds.
"""
