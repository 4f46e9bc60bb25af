"""Rigid bodies with MuJoCo's semantics, in plain JAX: one mechanism, pure functions."""

from .contacts import Contacts, contacts, contacts_of
from .energy import energy
from .forward import Forward, forward
from .frames import Frames, kinematics
from .inverse import inverse
from .mjcf.load import load
from .model import Model, State, initial_state
from .sensors import sensors
from .step import simulate, step

__all__ = [
    "Contacts",
    "Forward",
    "Frames",
    "Model",
    "State",
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
