"""Twelve small tasks such as people write, unlike those of the library: PPO's defaults have to learn them."""

from .control import Drift, FarGoal, Tank
from .decisions import Inventory, Offset, SparseWalk, TrafficLight
from .payoffs import Aim, Dam, Landing
from .picture import Meeting
from .task import Task

TASKS: dict[str, Task] = {
    "drift, costs of 10,000": Drift(scale=1e4),
    "drift, costs of 0.001": Drift(scale=1e-3),
    "far goal, wide actions": FarGoal(),
    "tank in Pa": Tank(),
    "sparse walk": SparseWalk(),
    "inventory of 1,000 days": Inventory(),
    "traffic light": TrafficLight(),
    "rewards about 1,000": Offset(),
    "aim, one step": Aim(),
    "dam, one-sided": Dam(),
    "landing, paid at the end": Landing(),
    "meeting in a picture": Meeting(),
}

__all__ = ["TASKS", "Task"]
