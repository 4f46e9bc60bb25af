"""Our SAC's speed, measured in the process that calls."""

from __future__ import annotations

from typing import Any

from kousoku.training.devices import use_all_cores

from .off_policy_settings import ENV, SACSettings
from .ppo_ours import rate

WARM_UPDATES = 512
LEAST_UPDATES = 2_048
MOST_STEPS = 100_000_000


def measure(given: dict[str, Any], spread: bool, seconds: float) -> dict[str, float]:
    """Returns figures of training for about `seconds`, once everything is compiled and learning has started.

    Args:
        given: `SACSettings`, as JSON.
        spread: whether the cores are devices that share the agent; else XLA divides its work among them.
        seconds: of training.
    """
    if spread:
        use_all_cores()
    settings = SACSettings(**given)
    warm, least = (
        settings.learning_starts + updates * settings.steps_per_update for updates in (WARM_UPDATES, LEAST_UPDATES)
    )
    return settings.figures(rate(settings.agent(), ENV, 1, spread, seconds, warm, least, MOST_STEPS))
