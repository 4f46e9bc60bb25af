"""The loop that a run is trained in."""

from __future__ import annotations

import jax

from ...core.agent import Agent
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.host import HostEnv
from ...core.leaves import key_like
from ...core.words import plural
from ..config import TrainConfig
from ..metrics.metric_sums import Recording
from ..population import Population
from .base import TrainLoop, whole_iterations
from .host_envs import HostEnvLoop
from .program import CompiledLoop
from .python_loop import PythonLoop


def make_loop(agent: Agent, population: Population, config: TrainConfig) -> TrainLoop:
    """Makes the loop that the config asks for.

    Raises:
        ConfigError: for a run that ends before the first update, an agent that the readable loop is not for, or tables
            to record of an agent that has none.
    """
    recording = Recording.of(tuple(config.record))
    if recording.q_values and not has_q_values(agent, population.env(0)):
        raise ConfigError("record", "q_values", f"{type(agent).__name__} has no table of action values; leave it out")
    check_length(agent, config.steps)
    if isinstance(population.env(0), HostEnv):
        if config.loop == "python":
            raise ConfigError("loop", "python", "of environments on the host there is one loop; leave it out")
        return HostEnvLoop(population, recording)
    if config.loop == "python":
        return PythonLoop(population, recording)
    return CompiledLoop(population, recording, config.devices, config.record_every or config.steps)


def check_length(agent: Agent, steps: int) -> None:
    """Refuses a run that ends before the first update.

    Raises:
        ConfigError: naming the collector's size.
    """
    collector, least = agent.learns_from, agent.learns_from.steps_before_learning
    if steps < least:
        size = f"one iteration has {plural(collector.num_envs, 'environment')} x {plural(collector.num_steps, 'step')}"
        why = size if least == collector.iteration_steps else f"the first update comes after {least} steps"
        raise ConfigError("steps", steps, f"{why}; use at least {least} to learn anything")


def check_goal(agent: Agent, steps: int, reached: int) -> None:
    """Refuses a new goal of a run that its last checkpoint is beyond, which is where an iteration ends.

    Raises:
        ConfigError: naming the step.
    """
    if whole_iterations(steps, agent.learns_from.iteration_steps) < reached:
        raise ConfigError("steps", steps, f"the run is at {reached}; ask for no fewer")


def has_q_values(agent: Agent, env: Env) -> bool:
    """Returns whether an agent has a table of action values."""

    def table(key: jax.Array) -> object:
        return agent.q_values(agent.init(env.spec, key))

    return jax.eval_shape(table, key_like()) is not None
