"""Sources of the settings of a run: given by the user, or a preset's; all others are defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.record import GIVEN, SWEPT
from ..core.sweep_names import of_agent, of_env
from .config import OnResume, settings
from .presets import Preset

Sources = dict[str, dict[str, str]]


def sources(
    run: Mapping[str, Any], agent: Mapping[str, Any] | None, env: Mapping[str, Any] | None, preset: Preset
) -> Sources:
    """Returns a word for each setting that is no default, by part: {"agent": {name: word}, "env": ..., "run": ...}.

    Args:
        run: the settings of the run that were given; those that a run folder does not keep have no word.
        agent: the options of the agent that were given; None for an agent that was made in Python, whose settings
            may be from anywhere: its part is left out.
        env: the same of the environment.
        preset: what is used where nothing was given; its word tells whether it was tuned here.
    """
    told = {name: GIVEN for name, value in run.items() if name in _kept() and not _is_nothing(value)}
    if preset.steps is not None:
        told.setdefault("steps", preset.word)
    found, sweep = {"run": told}, run.get("sweep", {})
    if env is not None:
        found["env"] = dict.fromkeys(env, GIVEN) | dict.fromkeys(of_env(sweep), SWEPT)
    if agent is not None:
        found["agent"] = dict.fromkeys(preset.options, preset.word) | dict.fromkeys(agent, GIVEN)
        found["agent"] |= dict.fromkeys(of_agent(sweep), SWEPT)
    return found


def _kept() -> set[str]:
    """Returns the names of the settings that a run's configuration holds as such."""
    kept = {name for name, each in settings().items() if each.on_resume is OnResume.KEPT}
    return (kept | {"steps"}) - {"command"}


def _is_nothing(value: Any) -> bool:
    """Returns whether a setting is as good as not given: the shell gives an empty sweep where there is none."""
    return value is None or (isinstance(value, Mapping) and not value)
