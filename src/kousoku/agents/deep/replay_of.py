"""The replay buffer of an agent whose fields are called as the buffer's."""

from __future__ import annotations

from typing import Any

from ...collectors.replay import Replay
from ...core.errors import check_number, check_size
from ...ops.schedules import check_schedule
from .update_ratio import steps_of_ratio

SIZES = ("num_envs", "capacity", "batch_size", "learning_starts")
OF_VALUES = ("n_step", "discount", "prioritised", "priority_alpha", "priority_beta")
"""What agents that learn values ask for besides: how transitions become targets, and which are drawn."""


def replay_of(agent: Any, more: tuple[str, ...] = (), steps: tuple[int, int] | None = None) -> Replay:
    """Returns the buffer that an agent's fields ask for; it checks those that are static.

    Args:
        agent: whose fields have the names `SIZES`.
        more: names that only some agents have.
        steps: (num_steps, gradient_steps) of a round; None for those of the agent's `update_ratio`.
    """
    by = "gradient_steps"
    if steps is None:
        steps, by = steps_of_ratio(agent.update_ratio, check_size("num_envs", agent.num_envs)), "update_ratio"
    fields = {name: getattr(agent, name) for name in (*SIZES, *more)}
    return Replay(num_steps=steps[0], gradient_steps=steps[1], gradient_steps_by=by, **fields)


def check_priorities(agent: Any) -> None:
    """Refuses numbers of prioritised replay that cannot work.

    Raises:
        ConfigError: naming the field.
    """
    check_number("priority_alpha", agent.priority_alpha, low=0, high=1)
    check_schedule("priority_beta", agent.priority_beta, low=0, high=1)
