"""Which loop an agent is trained in."""

from __future__ import annotations

from ..core.agent import AnyAgent, RolloutAgent, TabularAgent
from ..core.env import Env
from ..core.errors import ConfigError
from .config import TrainConfig
from .lanes import Lanes
from .loops import CompiledLoop, Loop, PythonLoop
from .on_policy import OnPolicyLoop, check_rollout
from .tally import Record


def make_loop(agent: AnyAgent, lanes: Lanes, env: Env, config: TrainConfig) -> Loop:
    """The loop for this kind of agent.

    Raises:
        ConfigError: for a run that is shorter than a rollout, a loop that the agent cannot be trained in, or tables to
            record of an agent that has none.
    """
    record = Record.of(tuple(config.record))
    if record.q_values and not isinstance(agent, TabularAgent):
        raise ConfigError("record", "q_values", f"{type(agent).__name__} has no table of action values; leave it out")
    if isinstance(agent, RolloutAgent):
        check_rollout(agent, config.steps)
        if config.loop != "compiled":
            raise ConfigError("loop", config.loop, "an agent that learns from rollouts is trained by the compiled loop")
        return OnPolicyLoop(lanes, env, record, config.devices)
    if config.loop == "python":
        return PythonLoop(lanes, env, record)
    return CompiledLoop(lanes, env, record, config.devices, config.record_every or config.steps)
