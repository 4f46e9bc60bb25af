"""The agent and the environment that a run folder's config describes."""

from __future__ import annotations

import json
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ... import envs
from ...agents.options import describe, rebuild, with_defaults
from ...core.agent import Agent
from ...core.agent_check import for_env, taught_in
from ...core.env import Env
from ...core.env_shapes import check_shapes
from ...core.errors import ConfigError, shorten
from ...core.leaves import key_like
from ...ops.schedules import in_run
from ..evaluation.evaluate import FinalState
from ..population import Population
from . import former_checkpoints
from .agent_code import check_own
from .env_config import MOST_TOLD, check_same, unplaced
from .tree_io import from_arrays, paths


def rebuild_both(config: dict[str, Any], agent: Agent | None, env: Env | None) -> tuple[Agent, Env]:
    """Returns the agent and the environment that a run was started with: as given, or made by their ids.

    Raises:
        ConfigError: if what is given is not what the run was started with, or what is not given has no id.
    """
    if env is not None:
        check_shapes(env)
    made = rebuild_env(config["env"]) if env is None else env
    if agent is None:
        agent = rebuild(config["agent"])
    else:
        agent = taught_in(for_env(agent, made.spec), made)
        check_same_agent(agent, config)
        agent = _begun(agent, config)
    check_own(agent, config)
    if env is None:
        if "fields" in config["env"]:
            check_same(made, config["env"])
        return agent, made
    if config["env"].get("registered"):
        if not eqx.tree_equal(env, rebuild_env(config["env"])):
            begun = f"{config['env']['id']} with the options {config['env']['options']}"
            raise ConfigError("env", env, f"the run was started with {begun}")
    else:
        check_same(env, config["env"])
    return agent, env


def given_again(config: dict[str, Any]) -> list[str]:
    """Returns which of "agent" and "env" whoever goes on with a run has to give, since no config makes them."""
    try:
        rebuild(config["agent"])
        has_agent = config.get("data", {}).get("path", "") is not None  # where data lie that are learned from
    except Exception:  # an agent's own code, too
        has_agent = False
    made = {"agent": has_agent, "env": config["env"].get("registered")}
    return [name for name, by_id in made.items() if not by_id]


def check_same_agent(agent: Agent, config: dict[str, Any]) -> None:
    """Refuses another agent than that of a run.

    A hyper-parameter that there was none of when the run was started has to be at its default.

    Raises:
        ConfigError: naming the first hyper-parameter that differs.
    """
    now = describe(_begun(agent, config))
    then = _joined(config["agent"], describe(_begun(with_defaults(agent, config["agent"]), config)))
    if then["id"] == type(agent).__name__:  # it has got its id since
        then = {**then, "id": now["id"]}
    for name in (*then, *now):
        if unplaced(_without_path(now.get(name, ...))) != unplaced(_without_path(then.get(name, ...))):
            fix = f"the run was started with {then.get(name, 'none')!r}"
            raise ConfigError(f"agent's {name}", now.get(name, ...), fix)
    data = agent.learns_from.recorded_data
    if "data" in config and _without_path(json.loads(json.dumps(data))) != _without_path(config["data"]):
        raise ConfigError("agent's data set", _data_told(data), f"the run learned from {_data_told(config['data'])}")


def _data_told(data: Any) -> str | None:
    """Returns what is told of recorded data, for a message: of a data set of ours its size and its hash."""
    if isinstance(data, dict) and {"transitions", "hash"} <= data.keys():
        return f"{data['transitions']} transitions, {data['hash']}"
    return None if data is None else shorten(data, MOST_TOLD)


def _joined(told: Any, defaults: Any) -> Any:
    """Returns what was told of an agent, or of a part of it, and defaults of what was not."""
    if not isinstance(told, dict) or not isinstance(defaults, dict) or told.get("type") != defaults.get("type"):
        return told
    return defaults | {name: _joined(value, defaults.get(name)) for name, value in told.items()}


def _without_path(told: Any) -> Any:
    """Returns what is told of a hyper-parameter; of a data set not where it lies, which may change."""
    return {name: part for name, part in told.items() if name != "path"} if isinstance(told, dict) else told


def _begun(agent: Agent, config: dict[str, Any]) -> Agent:
    """Returns an agent with schedules as a run began with them: shares are those of the steps that it was begun for."""
    return in_run(agent, begun_for(config))


def begun_for(config: dict[str, Any]) -> int:
    """Returns the steps that a run was begun for, of which shares in its schedules are."""
    return config.get("begun_for", config["steps"])


def rebuild_env(config: dict[str, Any]) -> Env:
    """Makes the environment that a run was started with.

    Raises:
        ConfigError: if it has no id to be made by.
    """
    if not config.get("registered"):
        fix = "it was made in Python and has no id; make it again and give it, or register it"
        raise ConfigError("env", config.get("id"), fix)
    if "fields" in config and config["id"] not in envs.list_envs() and ":" not in config["id"]:
        fix = "code of one's own registered it: import that first, in the shell by --import FILE"
        raise ConfigError("env", config["id"], fix)
    return envs.make(config["id"], **config["options"])


def rebuild_final_state(population: Population, leaves: list[np.ndarray]) -> FinalState:
    """Makes the members' states and their environments' from a file's arrays.

    Raises:
        ConfigError: if the arrays are not those of these agents on this environment.
    """
    agent, env = population.agent(0), population.env(0)  # a sweep gives numbers where these may have none
    one = jax.eval_shape(lambda key: FinalState(agent.init(env.spec, key), env.reset(key)[0]), key_like())
    needed = list(
        zip((f"agent.{path}" for path in paths(one.agent_state)), jax.tree.leaves(one.agent_state), strict=True)
    )
    of_agents = len(leaves) - len(jax.tree.leaves(one.env_state))
    leaves = [*former_checkpoints.fill_up(needed, leaves[:of_agents]), *leaves[of_agents:]]
    return from_arrays(f"{describe(agent)['id']} on this environment", population.size, one, leaves)
