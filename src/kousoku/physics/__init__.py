"""Rigid bodies with MuJoCo's semantics, in plain JAX: one mechanism, pure functions."""

from .load import load
from .model import Model, State, initial_state
from .step import forward, step

__all__ = ["Model", "State", "forward", "initial_state", "load", "step"]
