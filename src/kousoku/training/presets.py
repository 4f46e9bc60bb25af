"""Tuned settings of agents for environments, as data: presets.toml."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ..agents.ids import AgentId
from ..envs.ids import EnvId


@dataclass(frozen=True)
class Preset:
    """The options of an agent on an environment, where they differ from the defaults.

    Attributes:
        options: of the agent, for `make_agent`.
        steps: environment steps to train; None where there is no preset.
        solved: the mean greedy return that these settings are meant to reach; None where there is no such number.
    """

    options: dict[str, Any] = field(default_factory=dict)
    steps: int | None = None
    solved: float | None = None


def preset(agent: AgentId | str, env: EnvId | str) -> Preset:
    """Returns the settings tuned for an agent and an environment, by id; empty ones where nobody has tuned any.

    Examples:
        >>> preset("ppo", "CartPole-v1").solved, preset("q_learning", "GridWorld-v0")
        (500.0, Preset(options={}, steps=None, solved=None))
    """
    return presets().get((agent, env), Preset())


@functools.cache
def presets() -> dict[tuple[str, str], Preset]:
    """Returns every preset, by the ids of agent and environment."""
    text = resources.files("kousoku.training").joinpath("presets.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {(agent, env): _preset(values) for agent, envs in tables.items() for env, values in envs.items()}


def _preset(values: dict[str, Any]) -> Preset:
    options = {name: _option(value) for name, value in values.items() if name not in ("steps", "solved")}
    solved = values.get("solved")
    return Preset(options, values.get("steps"), None if solved is None else float(solved))


def _option(value: Any) -> Any:
    """Returns an option as agents take it: several numbers, such as widths of layers, as a tuple."""
    return tuple(value) if isinstance(value, list) else value
