"""Contacts between pairs of shapes.

References:
    MuJoCo documentation, Computation, "Collision detection". Metres; a distance below zero is a depth.
"""
