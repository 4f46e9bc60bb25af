"""The loop of environments on the host: programs act and learn, and between them the environments step.

An iteration is a program that chooses actions, called for each of its T steps, and one that learns from all of them:
the agent's collector gathers what was taken (`SlotFunctions.taken`) and goes on as with environments in JAX. Nothing
overlaps: each action is chosen by what was learned from all steps of the iterations before.
"""

from __future__ import annotations

import math
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...collectors.host_slots import HostSlots, HostStep
from ...collectors.streams import epoch_keys
from ...core.agent import Agent
from ...core.collector import TrainState, acting_key_shapes
from ...core.env import Env
from ...core.errors import ConfigError, EnvError
from ...core.host import HostEnv
from ...core.words import plural
from ...ops.trees import to_device
from ..config import TrainConfig
from ..make_population import population_size
from ..metrics.metric_sums import Recording
from ..population import Population
from .base import TrainLoop, place_of
from .host_acting import HostActing, acting_of
from .host_programs import Acting, HostProgram, HostRecord, SlotsAfter, programs_of
from .iteration import sums_before


def check_host(agent: Agent, env: Env, config: TrainConfig) -> None:
    """Refuses what cannot be done with an environment on the host.

    Raises:
        ConfigError: for an agent whose collector has to step it in a program, naming some that can learn; for a vector
            of another size than all slots, or one that is to be evaluated in on the way.
    """
    if not isinstance(env, HostEnv):
        return
    if acting_key_shapes(agent.learns_from) is None:
        fix = f"it needs an environment in its program, and {env.name} runs on the host; use 'ppo', 'sac' or 'dqn'"
        raise ConfigError("agent", type(agent).__name__, fix)
    if env.count is None:
        return
    members, num_envs = population_size(config), agent.learns_from.num_envs
    if env.count != members * num_envs:
        needed = f"{plural(members, 'agent')} x {num_envs}"
        fix = f"{env.name} is a vector of {env.count} environments, and {needed} is not as many"
        raise ConfigError("num_envs", num_envs, fix)
    if config.eval_every is not None:
        fix = f"training has the vector {env.name} to itself; give a function that makes one environment"
        raise ConfigError("eval_every", config.eval_every, fix)


class HostEnvLoop(TrainLoop):
    """All members of a population in one vector of environments on the host, N x B of them."""

    def __init__(self, population: Population, recording: Recording) -> None:
        env, agent = population.env(0), population.structure
        assert isinstance(env, HostEnv)
        self._env, self.collector = env, agent.learns_from
        self._program = HostProgram(agent, population.envs.structure)
        self._programs = programs_of(self._program)
        self._numbers, self._keys = population.numbers.agent, population.keys
        self._epoch = 0, self._keys
        self._axes = (population.size, self.collector.num_envs) if self.collector.batched else (population.size,)
        self._sums = jax.tree.map(to_device, sums_before(population.agent(0), env, recording))
        self._slots: HostSlots | None = None
        self._acting: Acting | None = None
        self._chooser: HostActing | None = None
        self._ended = np.zeros(math.prod(self._axes), bool)

    @property
    def iteration_steps(self) -> int:
        return self.collector.iteration_steps

    def start(self, trained: Any = None) -> TrainState:
        """Makes the state before the first step; environments are made when that is taken."""
        return self._programs.start(self._numbers, self._keys, self._sums, trained)

    def run(self, state: TrainState, at: int, until: int) -> tuple[TrainState, int]:
        """Advances to `until`, or to the iteration in which an environment fails: `error` tells of it then."""
        done, goal = at // self.iteration_steps, self.whole(until) // self.iteration_steps
        try:
            if self._slots is None:
                self._slots, state = self.begin(state, done)
            for number in range(done, goal):
                state = self._iterate(self._slots, state, number)
                done = number + 1
        except EnvError as error:
            self.error = error
        return state, done * self.iteration_steps

    def close(self) -> None:
        if self._slots is not None:
            self._slots.close()
            self._slots = None

    def begin(self, state: TrainState, done: int) -> tuple[HostSlots, TrainState]:
        """Begins new episodes after so many iterations: the slots, and the state with what agents carry then."""
        seeds = self._programs.seeds(self._keys, to_device(np.uint32(done % 2**32)))
        slots = HostSlots(self._env, jax.device_get(seeds).reshape(-1).tolist())
        number = np.int32(place_of(self.collector, done).number)
        acting, agents, data = self._programs.begin_acting(self._numbers, state.agent, state.data, number)
        self._acting, carry = acting, jax.tree.map(jnp.copy, acting.carry)
        self._chooser = acting_of(self._programs, self._program, self._numbers, agents, self._axes)
        return slots, TrainState(agents, state.slots, carry, data, state.metrics)

    def _iterate(self, slots: HostSlots, state: TrainState, number: int) -> TrainState:
        steps = self.collect(slots, state, number)
        place, acting = place_of(self.collector, number), cast(Acting, self._acting)
        given = TrainState(state.agent, (), state.carry, state.data, state.metrics)  # the slots are in what was taken
        members, iteration = self._keys_in(place.epoch), np.int32(place.number)
        record, after = self._record(steps), self._after(slots)
        return self._programs.learn(self._numbers, members, given, acting, record, after, iteration)

    def collect(self, slots: HostSlots, state: TrainState, number: int) -> list[HostStep]:
        """Takes the steps of one iteration, given its number."""
        place, chooser = place_of(self.collector, number), cast(HostActing, self._chooser)
        keys = self._programs.acting_keys(self._keys_in(place.epoch), np.int32(place.number))
        chooser.begin(state.agent, keys, cast(Acting, self._acting))
        steps = list[HostStep]()
        for t in range(self.collector.num_steps):
            steps.append(slots.step(chooser.act(slots.obs, self._ended, t)))
            self._ended = steps[-1].ended
        self._acting = chooser.end()
        return steps

    def _by_member(self, leaves: Any) -> list[np.ndarray]:
        """Returns leaves [V, ...] as [N, B, ...]."""
        return [leaf.reshape(*self._axes, *leaf.shape[1:]) for leaf in leaves]

    def _record(self, steps: list[HostStep]) -> HostRecord:
        """Returns the steps of an iteration, [T, N, B, ...]; of single steps [N, ...]."""

        def together(*of_steps: np.ndarray) -> np.ndarray:
            stacked = np.stack(of_steps) if self.collector.batched else of_steps[0]
            return stacked.reshape(*stacked.shape[: self.collector.batched], *self._axes, *of_steps[0].shape[1:])

        told = [[getattr(step, name) for name in HostRecord._fields] for step in steps]
        return HostRecord(*jax.tree.map(together, *told))

    def _after(self, slots: HostSlots) -> SlotsAfter:
        length, episode_return = self._by_member([slots.length, slots.episode_return])
        return SlotsAfter(self._by_member(slots.obs), length, episode_return)

    def _keys_in(self, epoch: int) -> Array:
        """Returns the members' keys of an epoch."""
        if epoch != self._epoch[0]:
            keys = epoch_keys(self._keys, to_device(np.uint32(epoch)))
            self._epoch = epoch, keys
        return self._epoch[1]
