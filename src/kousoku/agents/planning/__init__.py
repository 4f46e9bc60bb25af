"""Planning from the exact model: functions of a `TabularModel` and a discount."""

from .policy_evaluation import policy_evaluation
from .policy_iteration import policy_iteration
from .value_iteration import Plan, value_iteration

__all__ = ["Plan", "policy_evaluation", "policy_iteration", "value_iteration"]
