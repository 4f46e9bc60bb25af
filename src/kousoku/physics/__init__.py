"""Rigid bodies with MuJoCo's semantics, in plain JAX: one mechanism, pure functions.

Files here are what is called from outside, by MuJoCo's names: `step`, `forward`, `inverse`, `energy`, `contacts`,
`frames` (kinematics), `model`, `scene`, `touching`. Rooms are what these are made of:

    mjcf            MJCF files to a model, by MuJoCo's compiler; what is not supported is refused
    algebra         numbers that may be known, vectors, spatial algebra, the sparse factor
    control_flow    branches and loops over structures of numbers
    stages          the smooth dynamics, in the order of MuJoCo's pipeline
    collision       which geoms may touch, and where; rays
    constraint      constraints, their costs, and the solver
    derivatives     of the solver, and of the Newton-Euler algorithm
    integration     Euler, RK4, implicit, implicitfast
    sensors         mjData's sensordata
"""

from .contacts import Contacts, contacts, contacts_of
from .energy import energy
from .forward import Forward, forward
from .frames import Frames, kinematics
from .inverse import inverse
from .mjcf.load import load
from .model import Model, State, initial_state
from .sensors import sensors
from .step import simulate, step
from .touching import any_contact

__all__ = [
    "Contacts",
    "Forward",
    "Frames",
    "Model",
    "State",
    "any_contact",
    "contacts",
    "contacts_of",
    "energy",
    "forward",
    "initial_state",
    "inverse",
    "kinematics",
    "load",
    "sensors",
    "simulate",
    "step",
]
