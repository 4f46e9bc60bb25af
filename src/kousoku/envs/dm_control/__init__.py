"""dm_control's suite: its domains and tasks, on our physics."""

from .rewards import tolerance
from .suite import Beginning, Look, SuiteEnv, SuiteState

__all__ = ["Beginning", "Look", "SuiteEnv", "SuiteState", "tolerance"]
