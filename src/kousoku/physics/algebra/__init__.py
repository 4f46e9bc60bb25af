"""Numbers, vectors and matrices that leave out what is known to be zero or one.

scalar: numbers, by NumPy's names. vector: vectors, quaternions, rotations. spatial: motions, forces and inertias.
sparse: symmetric matrices in the pattern of a kinematic tree.
"""
