"""Collision detection (mj_collision): which geoms may touch, where pairs of geoms do, and what rays meet.

    candidates      pairs of geoms that the filters let through, and their contact parameters
    narrow_phase    the function of each pair of geom types; a file for each of these, or few
    ray             rays and shapes (mj_ray)

References:
    MuJoCo documentation, Computation, "Collision detection". Metres; a distance below zero is a depth.
"""
