"""Our SAC's speed, measured in the process that calls."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

from kousoku.collectors import updates
from kousoku.training.devices import use_all_cores

from .off_policy_settings import ENV, SACSettings
from .ppo_ours import rate

WARM_UPDATES = 512
LEAST_UPDATES = 2_048
MOST_STEPS = 100_000_000


def measure(given: dict[str, Any], spread: bool, seconds: float, updates_by_xla: bool = False) -> dict[str, float]:
    """Returns figures of training for about `seconds`, once everything is compiled and learning has started.

    Args:
        given: `SACSettings`, as JSON.
        spread: whether the cores are devices that share the agent; else XLA divides its work among them.
        seconds: of training.
        updates_by_xla: whether gradient steps are XLA's program rather than one kernel; all else is the same.
    """
    if spread:
        use_all_cores()
    settings = SACSettings(**given)
    warm, least = (
        settings.learning_starts + updates * settings.steps_per_update for updates in (WARM_UPDATES, LEAST_UPDATES)
    )
    with _left_to_xla() if updates_by_xla else contextlib.nullcontext():
        return settings.figures(rate(settings.agent(), ENV, 1, spread, seconds, warm, least, MOST_STEPS))


def _left_to_xla() -> contextlib.AbstractContextManager[Any]:
    """Has loops over updates compiled by XLA."""
    return mock.patch.object(updates, "on_arrays", lambda function, axis=None, donate_argnums=(): function)
