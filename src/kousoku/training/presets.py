"""Settings of agents for environments, tuned here or published by others, as data: presets.toml."""

from __future__ import annotations

import fnmatch
import functools
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, get_args

from ..agents import AGENTS
from ..agents.ids import AgentId
from ..core.errors import ConfigError
from ..core.record import TUNED
from ..envs import ENVS
from ..envs.ids import EnvId


@dataclass(frozen=True)
class Preset:
    """The options of an agent on an environment, where they differ from the defaults.

    Attributes:
        options: of the agent, for `make_agent`.
        steps: environment steps to train; None where there is no preset.
        solved: the mean greedy return that these settings are meant to reach; None where there is no such number.
        source: where others published them; None where they were tuned here.
        family: the pattern of environments' ids that they are for, such as "MinAtar/*-v1"; None where they are for one.
    """

    options: dict[str, Any] = field(default_factory=dict)
    steps: int | None = None
    solved: float | None = None
    source: str | None = None
    family: str | None = None

    @property
    def word(self) -> str:
        """Where the settings come from: "tuned", or "from" and a source."""
        return TUNED if self.source is None else f"from {self.source}"

    def text(self, value: Any) -> str | None:
        """Returns a value of the preset with the word, such as "0.001, tuned"; None where it has none."""
        return None if value is None else f"{value}, {self.word}"


def preset(agent: AgentId | str, env: EnvId | str) -> Preset:
    """Returns the settings for an agent on an environment, by id; empty ones where there are none.

    Most were tuned here, some are those that others published (`source`).

    Raises:
        ConfigError: for an agent or an environment that is not known; other libraries' environments are not looked up.

    Examples:
        >>> preset("ppo", "CartPole-v1").solved, preset("q_learning", "GridWorld-v0")
        (500.0, Preset(options={}, steps=None, solved=None, source=None, family=None))
        >>> preset("pqn", "MinAtar/Breakout-v1").word
        'from arXiv:2407.04811'
    """
    for registry, id in ((AGENTS, agent), (ENVS, env)):
        if registry.library_of(id) is None and id not in registry.ids():
            raise ConfigError(f"{registry.kind} id", id, registry.suggest(id))
    return presets().get((agent, env), Preset())


@functools.cache
def presets() -> dict[tuple[str, str], Preset]:
    """Returns every preset, by the ids of agent and environment. The file may name environments by a pattern."""
    text = resources.files("kousoku.training").joinpath("presets.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {
        (agent, env): _preset(values, pattern)
        for agent, envs in tables.items()
        for pattern, values in envs.items()
        for env in fnmatch.filter(get_args(EnvId), pattern) or [pattern]
    }


def _preset(values: dict[str, Any], pattern: str) -> Preset:
    options = {name: _option(value) for name, value in values.items() if name not in ("steps", "solved", "source")}
    solved = values.get("solved")
    goal, family = None if solved is None else float(solved), pattern if "*" in pattern else None
    return Preset(options, values.get("steps"), goal, values.get("source"), family)


def _option(value: Any) -> Any:
    """Returns an option as agents take it: several numbers, such as widths of layers, as a tuple."""
    return tuple(value) if isinstance(value, list) else value
