"""GridWorld: one engine for every map, and named maps from the literature."""

from .env import GridState, GridWorld, gridworld

__all__ = ["GridState", "GridWorld", "gridworld"]
