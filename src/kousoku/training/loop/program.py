"""A whole population in one compiled program: how it lies on the devices, and how far one call advances it."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Int, PRNGKeyArray

from ...collectors.env_kernel import EnvStructure, env_kernel
from ...collectors.slot import advance_clipped
from ...collectors.streams import epoch_keys
from ...compiler import backends, kernel_memory, kernels_are_on
from ...core.collector import TrainState, largest_divisor
from ...core.ours import is_ours
from ...ops.trees import to_device
from ..devices import pad_to, select_devices
from ..guards.collector_answers import devices_of
from ..guards.memory_check import check_program, is_far_from_full
from ..guards.replicas import check_divided, check_replicas
from ..metrics.drain import Placement
from ..metrics.metric_sums import MetricSums, Recording
from ..population import MemberNumbers, Members, Population, member_of
from . import grouped, stepwise
from .base import TrainLoop, place_of
from .iteration import begin, shapes_of, slots_of, sums_before

POPULATION, ENVS = "population", "envs"
STEPWISE_CALL, CALL = 1 << 23, 1 << 17
"""Steps of one call, at most, over all members on a device: where an iteration is a single step, and elsewhere."""
STEPWISE_BATCH = 1 << 17


@dataclass(frozen=True)
class TrainProgram:
    """The static half of a compiled loop: equal programs share their compiled code.

    Attributes:
        agent, env: without their numbers and arrays.
        recording: what is recorded.
        mesh: the devices; None for one.
        divided: what the devices share out: the "population", or the "envs" of its only member.
        per_vmap: how many members a device advances at once.
        batch: steps that random numbers are drawn for at once, where an iteration is a single step: few enough for
            them to stay in the processor's cache.
        kernels: whether functions are compiled by the kernel.
    """

    agent: Any
    env: EnvStructure
    recording: Recording
    mesh: Mesh | None
    divided: str
    per_vmap: int
    batch: int
    kernels: bool

    @property
    def axis(self) -> str | None:
        """The named axis of the devices that share a member's environments."""
        return ENVS if self.mesh is not None and self.divided == ENVS else None

    @property
    def specs(self) -> TrainState:
        """Which part of a training state lies where: members are the first axis, environment slots the second."""
        if self.mesh is None or self.divided == POPULATION:
            each = P(POPULATION)
            return TrainState(each, each, each, each, each)
        slots = P(None, ENVS)
        return TrainState(P(), slots, slots, slots, P())


class CompiledLoop(TrainLoop):
    """All members in one program; several devices share the population, or the environments of its only member."""

    def __init__(self, population: Population, recording: Recording, devices: int | None, report_every: int) -> None:
        agent, self._env = population.structure, population.env(0)
        self.collector = collector = agent.learns_from
        available = select_devices(devices)
        divided = ENVS if population.size == 1 and collector.num_envs > 1 else POPULATION
        if divided == POPULATION:
            used = min(len(available), population.size)
        elif devices is None:
            used = devices_of(collector, len(available))
        else:
            used = largest_divisor(collector.num_envs, len(available))
        parts = used if divided == POPULATION else 1
        numbers, keys = pad_to((population.numbers, population.keys), parts)
        here = keys.shape[0] // parts
        mesh = Mesh(np.array(available[:used]), (divided,)) if used > 1 else None
        call = (STEPWISE_CALL if collector.iteration_steps == 1 else CALL) // here
        to_report = -(-report_every // collector.iteration_steps)  # one ends with the iteration that reaches it
        self.iterations_per_call = max(1, min(call // collector.iteration_steps, to_report))
        self.program = TrainProgram(
            agent,
            population.envs.structure,
            recording,
            mesh,
            divided,
            grouped.agents_per_vmap(collector.gradient_samples, here),
            max(1, min(self.iterations_per_call, STEPWISE_BATCH // here)) if collector.iteration_steps == 1 else 1,
            kernels_are_on(),
        )
        self._advance = _compiled(self.program)
        each = self.program.specs.agent
        shared = jax.tree.map(to_device, collector.shared)
        parts = Members(numbers, keys, population.envs.arrays, shared)
        self.members = _place(mesh, parts, _member_specs(each))
        self._epoch = 0, self.members
        if self.program.axis is not None and not is_ours(type(collector)):
            check_divided(agent, shapes_of(population.agent(0), population.env(0), recording).state)
        sums = sums_before(population.agent(0), population.env(0), recording)
        self._sums = _place(mesh, jax.tree.map(to_device, sums), P())

    @property
    def iteration_steps(self) -> int:
        return self.collector.iteration_steps

    @property
    def placement(self) -> Placement:
        return Placement(self.program.mesh, self.program.specs)

    def start(self, trained: Any = None) -> TrainState:
        program = self.program
        if self.collector.batched and self.collector.tells_steps:
            shares = program.mesh.size if program.axis and program.mesh else 1
            lanes = self.collector.num_envs * program.per_vmap // shares
            own = jax.tree.map(lambda _: 0, self.members.numbers.env) if program.per_vmap > 1 else None
            env_kernel(advance_clipped, program.env).begin_compiling(lanes, (own, 0, 0, 0))
        trained = _place(program.mesh, trained, P())
        state = _starting(backends.current().name)(program, self.members, self._sums, trained)
        return _place(program.mesh, state, program.specs)

    def compile(self, state: TrainState) -> None:
        agent, devices = self.program.agent, jax.tree.leaves(state)[0].sharding.addressable_devices
        if not is_far_from_full(agent, state.agent, self._env, devices):
            lowered = self.lower(state)
            check_program(agent, lowered.compile(), kernel_memory(lowered), devices)

    def run(self, state: TrainState, at: int, until: int) -> tuple[TrainState, int]:
        """Advances by as many whole iterations as reach `until`, or as one call should make."""
        done = at // self.iteration_steps
        place = place_of(self.collector, done)
        iterations = min(self.whole(until) // self.iteration_steps - done, self.iterations_per_call, place.left)
        members, numbers = self._members_in(place.epoch), (np.int32(place.number), np.int32(iterations))
        with jax.transfer_guard_host_to_device("allow"):  # meant, and in a fraction of the time of `jax.device_put`
            state = self._advance(members, state, *numbers)
        if self.program.axis is not None:
            check_replicas(self.program.agent, state.agent)
        return state, (done + iterations) * self.iteration_steps

    def _members_in(self, epoch: int) -> Members:
        """Returns the members with their keys of an epoch."""
        if epoch != self._epoch[0]:
            number = _place(self.program.mesh, to_device(epoch, np.int32), P())
            keys = epoch_keys(self.members.keys, number)
            each = self.program.specs.agent
            self._epoch = epoch, dataclasses.replace(self.members, keys=_place(self.program.mesh, keys, each))
        return self._epoch[1]

    def lower(self, state: TrainState) -> Any:
        """Lowers the program for this machine."""
        return self._advance.lower(self.members, state, np.int32(0), np.int32(0))


def _member_specs(each: Any) -> Members:
    """Returns where the parts of members lie: numbers and keys as `each` says, what they share on every device."""
    return Members(each, each, P(), P())


def _place(mesh: Mesh | None, tree: Any, specs: Any) -> Any:
    """Puts on every device its share, as the program leaves it: so it compiles once, and nothing is moved between."""
    if mesh is None:
        return tree
    places = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))
    return jax.device_put(tree, places)


@functools.cache
def _starting(platform: str) -> Any:
    """Compiles `_start`. It runs once, which is not worth XLA's optimiser everywhere."""
    return jax.jit(_start, static_argnums=0, compiler_options=backends.current().startup_options)


def _start(program: TrainProgram, members: Members, sums: MetricSums, trained: Any) -> TrainState:
    """Makes every member's state, of several devices each with its own members.

    Left to XLA's partitioner, kernels over devices would be called by an address of this process, and the program would
    be compiled anew in each.
    """
    make = partial(_start_on_device, program)
    if program.mesh is not None:
        each = program.specs.agent
        make = jax.shard_map(
            make, mesh=program.mesh, in_specs=(_member_specs(each), P(), P()), out_specs=each, check_vma=False
        )
    return make(members, sums, trained)


def _start_on_device(program: TrainProgram, members: Members, sums: MetricSums, trained: Any) -> TrainState:
    """Makes the members of a device: networks one after the other, as batched linear algebra may hang on a processor.

    Devices that share a member's environments each make all of them, of which each then keeps its share.
    """

    def one(numbers: MemberNumbers, key: PRNGKeyArray) -> TrainState:
        agent, env = member_of(program, numbers, members.env_arrays)
        return begin(agent, env, slots_of(agent, env, members.shared), key, sums, trained)

    parts = members.numbers, members.keys
    batched = program.agent.learns_from.batched
    return jax.lax.map(lambda args: one(*args), parts) if batched else jax.vmap(one)(*parts)


@functools.lru_cache(maxsize=64)
def _compiled(program: TrainProgram) -> Any:
    """Compiles `_run` of a program, once. JAX would compare programs, with agent and environment, at each call."""
    return jax.jit(partial(_run, program), donate_argnums=1)


def _run(
    program: TrainProgram, members: Members, state: TrainState, done: Int[Array, ""], iterations: Int[Array, ""]
) -> TrainState:
    """Advances every member by some iterations, after `done` of them; every device has its share."""
    advance = partial(stepwise.advance if program.agent.learns_from.iteration_steps == 1 else grouped.advance, program)
    if program.mesh is not None:
        each = program.specs.agent
        advance = jax.shard_map(
            advance,
            mesh=program.mesh,
            in_specs=(_member_specs(each), program.specs, P(), P()),
            out_specs=program.specs,
            check_vma=False,
        )
    return advance(members, state, done, iterations)
