"""Where an agent's data comes from: one file for each kind, and the slots in which episodes end and begin."""

from .online import Online
from .replay import Replay
from .rollouts import Rollouts

COLLECTORS = (Online, Rollouts, Replay)
"""Those that a run folder can name; an agent's default may be any other."""
