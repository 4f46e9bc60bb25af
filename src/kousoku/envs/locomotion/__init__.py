"""Robots: Gymnasium's eleven MuJoCo tasks, two more, and what one's own is made of."""

from .options import file, frames, limit, span
from .robot import Measured, Move, Robot, RobotInfo, RobotState, Start, StepOutcome
from .starts import noisy
from .world import World

__all__ = [
    "Measured",
    "Move",
    "Robot",
    "RobotInfo",
    "RobotState",
    "Start",
    "StepOutcome",
    "World",
    "file",
    "frames",
    "limit",
    "noisy",
    "span",
]
