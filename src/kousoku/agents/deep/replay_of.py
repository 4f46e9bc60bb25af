"""The replay buffer of an agent whose fields are called as the buffer's."""

from __future__ import annotations

from typing import Any

from ...collectors.replay import Replay
from ...core.errors import check_number
from ...ops.schedules import check_schedule

SHARED = (
    "num_envs", "capacity", "batch_size", "learning_starts", "n_step", "discount", "prioritised", "priority_alpha",
    "priority_beta",
)  # fmt: skip


def replay_of(agent: Any, num_steps: int, gradient_steps: int, more: tuple[str, ...] = ()) -> Replay:
    """Returns the buffer that an agent's fields ask for, with the sizes of a round; it checks those that are static.

    Args:
        agent: whose fields have the names `SHARED`, and `update_ratio`.
        num_steps, gradient_steps: of a round.
        more: names that only some agents have.
    """
    fields = {name: getattr(agent, name) for name in (*SHARED, *more)}
    by = "gradient_steps" if agent.update_ratio is None else "update_ratio"
    return Replay(num_steps=num_steps, gradient_steps=gradient_steps, gradient_steps_by=by, **fields)


def check_priorities(agent: Any) -> None:
    """Refuses numbers of prioritised replay that cannot work.

    Raises:
        ConfigError: naming the field.
    """
    check_number("priority_alpha", agent.priority_alpha, low=0, high=1)
    check_schedule("priority_beta", agent.priority_beta, low=0, high=1)
