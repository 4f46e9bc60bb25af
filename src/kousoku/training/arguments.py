"""Arguments of a training as people give them: ids in their order, and names of settings and hyper-parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..agents import AGENTS
from ..agents.options import hyper_parameters, option_names
from ..core.agent import Agent
from ..core.arguments import check_named, in_our_names
from ..core.env import Env
from ..core.errors import ConfigError, check_keys, is_number
from ..core.sweep_names import ENV_PREFIX
from ..core.synonyms import near_name
from ..envs import ENVS
from .config import settings


def check_ids(agent: object, env: object) -> None:
    """Refuses an environment or its id where an agent belongs, and the other way round.

    Raises:
        ConfigError: naming the right order.
    """
    as_agent, as_env = _kind(agent), _kind(env)
    if issubclass(as_agent, Env):
        raise ConfigError("agent", as_agent.__name__, "that is an environment, and the agent comes first")
    if issubclass(as_env, Agent):
        raise ConfigError("env", as_env.__name__, "that is an agent, which comes first")
    agents, envs = AGENTS.ids(), ENVS.ids()
    if isinstance(agent, str) and agent in envs and agent not in agents:
        first = env if isinstance(env, str) and env in agents else "AGENT"
        raise ConfigError("agent", agent, f"that is an environment, and the agent comes first: {first} {agent}")
    if isinstance(env, str) and env in agents and env not in envs:
        raise ConfigError("environment", env, f"that is an agent, which comes first: {env} ENV")


def _kind(thing: object) -> type:
    """Returns the class of an object; of a class, that itself."""
    return thing if isinstance(thing, type) else type(thing)


def check_started_with(agent: object, env: object) -> None:
    """Refuses what can be neither the agent nor the environment that a run was started with.

    Raises:
        ConfigError: for anything but an agent and an environment: an id, or an agent's number.
    """
    for field, given, kind in (("agent", agent, Agent), ("env", env, Env)):
        if given is not None and not isinstance(given, kind):
            number = "; an agent's number is `member`" if field == "agent" and is_number(given) else ""
            own = f"or give the kousoku.{kind.__name__} that it was started with{number}"
            raise ConfigError(field, given, f"leave it out, as the run knows its own; {own}")


def split_arguments(
    agent: str | Agent, env: object, agent_options: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns (settings of the run, options of the agent), in our names.

    A name that both have is the setting's; `agent_options` gives it to the agent.

    Raises:
        ConfigError: for a name that neither has (with the nearest of both, or how to give it to the environment), one
            that is given twice, or an option of an agent that is made already.
    """
    made = not isinstance(agent, str)
    own = hyper_parameters(agent) if made else option_names(agent)
    given = in_our_names(named, [*settings(), "agent_options", *own])
    agent_options = given.pop("agent_options", agent_options)
    if isinstance(env, str):
        _check_of_env(env, given, {*settings(), *own})
    check_keys("train setting" if made else f"train setting or option of {agent}", given, [*settings(), *own])
    asked = {name: value for name, value in given.items() if name in settings()}
    options = {name: value for name, value in given.items() if name not in settings()}
    if agent_options is not None:
        options = _joined(options, agent_options, own)
    if made and options:
        name, value = next(iter(options.items()))
        raise ConfigError(name, value, "the agent is made already; give it to make_agent, or the agent by id")
    if "env_options" in asked:
        check_named("env_options", asked["env_options"])
    if "sweep" in asked:
        asked["sweep"] = in_our_names(check_named("sweep", asked["sweep"], "[values]"), own)
        fixed = options | {ENV_PREFIX + name: value for name, value in asked.get("env_options", {}).items()}
        for name in asked["sweep"]:
            if name in fixed:
                raise ConfigError(
                    f"sweep[{name!r}]", asked["sweep"][name], f"{fixed[name]!r} is given too; give one of the two"
                )
    return asked, options


def _check_of_env(env: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuses what is not known, but is an option of the environment, or a word for one."""
    unknown = [name for name in given if name not in known]
    options = ENVS.options(env) if unknown else {}
    for name in unknown:
        own = name if name in options else near_name(name)
        if own in options:
            raise ConfigError(name, given[name], f"it is an option of {env}: give env_options={{{own!r}: ...}}")


def _joined(options: dict[str, Any], agent_options: Any, own: list[str]) -> dict[str, Any]:
    """Returns both ways to give an agent's options as one."""
    more = in_our_names(check_named("agent_options", agent_options), own)
    check_keys("agent_options", more, own)
    for name in more:
        if name in options:
            raise ConfigError(f"agent_options[{name!r}]", more[name], f"{name} is given too; give one of the two")
    return options | more
