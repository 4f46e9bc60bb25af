"""Arguments of a training as people give them: ids in their order, and names of settings and hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..agents import AGENTS
from ..agents.options import hyper_parameters, in_our_names, option_names
from ..core.agent import Agent
from ..core.errors import ConfigError, check_keys
from ..envs import ENVS
from .config import settings


def check_ids(agent: object, env: object) -> None:
    """Refuses an environment's id where an agent's belongs, and the other way round.

    Raises:
        ConfigError: naming the right order.
    """
    agents, envs = AGENTS.ids(), ENVS.ids()
    if isinstance(agent, str) and agent in envs and agent not in agents:
        first = env if isinstance(env, str) and env in agents else "AGENT"
        raise ConfigError("agent", agent, f"that is an environment, and the agent comes first: {first} {agent}")
    if isinstance(env, str) and env in agents and env not in envs:
        raise ConfigError("environment", env, f"that is an agent, which comes first: {env} ENV")


def split_arguments(
    agent: str | Agent, agent_options: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns (settings of the run, options of the agent), in our names.

    A name that both have is the setting's; `agent_options` gives it to the agent.

    Raises:
        ConfigError: for a name that neither has (with the nearest of both), one that is given twice, or an option of an
            agent that is made already.
    """
    made = not isinstance(agent, str)
    own = hyper_parameters(agent) if made else option_names(agent)
    given = in_our_names(named, [*settings(), "agent_options", *own])
    agent_options = given.pop("agent_options", agent_options)
    check_keys("train setting" if made else f"train setting or option of {agent}", given, [*settings(), *own])
    asked = {name: value for name, value in given.items() if name in settings()}
    options = {name: value for name, value in given.items() if name not in settings()}
    if agent_options is not None:
        options = _joined(options, agent_options, own)
    if made and options:
        name, value = next(iter(options.items()))
        raise ConfigError(name, value, "the agent is made already; give it to make_agent, or the agent by id")
    if isinstance(asked.get("sweep"), Mapping):
        asked["sweep"] = in_our_names(asked["sweep"], own)
    return asked, options


def _joined(options: dict[str, Any], agent_options: Any, own: list[str]) -> dict[str, Any]:
    """Returns both ways to give an agent's options as one."""
    if not isinstance(agent_options, Mapping):
        raise ConfigError("agent_options", agent_options, "give {name: value}")
    more = in_our_names(agent_options, own)
    check_keys("agent_options", more, own)
    for name in more:
        if name in options:
            raise ConfigError(f"agent_options[{name!r}]", more[name], f"{name} is given too; give one of the two")
    return options | more
