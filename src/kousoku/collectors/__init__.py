"""Collectors: where an agent's data comes from, a file for each kind, and the slots in which episodes begin and end."""

from .differentiated import DifferentiatedRollouts
from .generations import Generations
from .offline import Offline
from .online import Online
from .replay import Replay
from .rollouts import Rollouts

COLLECTORS = (Online, Rollouts, DifferentiatedRollouts, Replay, Generations, Offline)
"""Those that a run folder can name; an agent's default may be any other."""
