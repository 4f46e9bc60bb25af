"""The loops: one meaning, three ways to run it.

`PythonLoop` calls one small compiled function after the other, so that one can print and step through it.
`CompiledLoop` runs a block of steps of all lanes in one program: for one lane or thousands, on one device or many.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Int, Key, PRNGKeyArray, PyTree

from ..compiler import compiles, kernel
from ..core.agent import Agent
from ..core.env import Env
from ..core.errors import ConfigError
from .closing import Layout
from .devices import filled, usable
from .hoist import split_by_key
from .interaction import Learner, StepKeys, interact, start, step_keys
from .lanes import Lanes, first, lane
from .parts import Structure, env_parts
from .rollout import advance
from .tally import Record, count

BLOCK_LANE_STEPS = 1 << 21
BATCH_LANE_STEPS = 1 << 17
FEW_LANES = 1


class Loop:
    """Advances all lanes. A learner is everything that they carry from step to step, a tree of arrays [N, ...]."""

    @abstractmethod
    def start(self) -> Any:
        """All lanes before their first step."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Where a learner lies."""

    @property
    def devices(self) -> int:
        """How many share the work."""
        return 1 if self.layout.mesh is None else self.layout.mesh.size

    @abstractmethod
    def whole(self, step: int) -> int:
        """The first step, from this one on, that the loop can stop at."""

    @abstractmethod
    def run(self, learner: Any, at: int, until: int) -> tuple[Any, int]:
        """Advance from step `at` towards `until`, as far as one call should go: the learner and the step reached."""


@dataclass(frozen=True)
class Program:
    """The static half of a compiled loop: equal programs share their compiled code.

    Attributes:
        agent, env: without their numbers and arrays.
        record: what is recorded.
        block: steps of one call, at most.
        batch: steps that random numbers are drawn for at once: few enough for them to stay in the processor's cache.
        mesh: the devices that share the lanes; None for one.
    """

    agent: Any
    env: Structure
    record: Record
    block: int
    batch: int
    mesh: Mesh | None


class CompiledLoop(Loop):
    """All lanes in one program, block by block; the lanes are spread over the devices."""

    def __init__(self, lanes: Lanes, env: Env, record: Record, devices: int | None, max_block: int) -> None:
        available = usable(devices)
        used = min(len(available), lanes.count)
        self.count = lanes.count
        self.numbers, self.keys = filled((lanes.numbers, lanes.keys), used)
        self.env_arrays, env_structure = env_parts(env)
        mesh = Mesh(np.array(available[:used]), ("lanes",)) if used > 1 else None
        if mesh is not None:
            self.numbers, self.keys = jax.device_put((self.numbers, self.keys), NamedSharding(mesh, P("lanes")))
            self.env_arrays = jax.device_put(self.env_arrays, NamedSharding(mesh, P()))
        block = max(1, min(BLOCK_LANE_STEPS * used // self.keys.shape[0], max_block))
        batch = max(1, min(block, BATCH_LANE_STEPS * used // self.keys.shape[0]))
        self.program = Program(lanes.structure, env_structure, record, block, batch, mesh)

    def start(self) -> Learner:
        return self._spread(_start(self.program, self.numbers, self.env_arrays, self.keys))

    @property
    def layout(self) -> Layout:
        return Layout(self.program.mesh, P("lanes"))

    def run(self, learner: Learner, at: int, until: int) -> tuple[Learner, int]:
        reached = min(until, at + self.program.block)
        bounds = np.int32(at), np.int32(reached - at)
        return _run_block(self.program, self.numbers, self.env_arrays, self.keys, learner, *bounds), reached

    def _spread(self, learner: Learner) -> Learner:
        """On every device its lanes; placed from the start as the blocks leave them, so that they compile once."""
        mesh = self.program.mesh
        return learner if mesh is None else jax.device_put(learner, NamedSharding(mesh, P("lanes")))

    def whole(self, step: int) -> int:
        return step

    def lower(self, learner: Learner) -> Any:
        """The block's program, lowered for this machine: for timing the compiler and asking for memory."""
        zero = np.int32(0)
        return _run_block.lower(self.program, self.numbers, self.env_arrays, self.keys, learner, zero, zero)


@partial(jax.jit, static_argnums=0)
def _start(program: Program, numbers: PyTree, env_arrays: PyTree, keys: Key[Any, " N"]) -> Learner:
    env = program.env.with_arrays(env_arrays)
    return jax.vmap(lambda n, k: start(eqx.combine(n, program.agent), env, k, program.record))(numbers, keys)


@partial(jax.jit, static_argnums=0, donate_argnums=4)
def _run_block(
    program: Program,
    numbers: PyTree,
    env_arrays: PyTree,
    keys: Key[Any, " N"],
    learner: Learner,
    at: Int[Any, ""],
    steps: Int[Any, ""],
) -> Learner:
    """`steps` steps (at most the program's block) from step `at` on, on every device its share of the lanes."""
    block = partial(_block, program)
    if program.mesh is not None:
        spread, same = P("lanes"), P()
        block = jax.shard_map(
            block,
            mesh=program.mesh,
            in_specs=(spread, same, spread, spread, same, same),
            out_specs=spread,
            check_vma=False,
        )
    return block(numbers, env_arrays, keys, learner, at, steps)


def _block(
    program: Program,
    numbers: PyTree,
    env_arrays: PyTree,
    keys: Key[Any, " N"],
    learner: Learner,
    at: Int[Any, ""],
    steps: Int[Any, ""],
) -> Learner:
    """One device's lanes: one kernel where that is possible, else XLA's loop."""
    whole = partial(_lane, program)
    alone = first(numbers), env_arrays, keys[0], first(learner), at, steps
    if keys.shape[0] > FEW_LANES and compiles(whole, *alone):
        lanes = jax.vmap(kernel(whole), in_axes=(0, None, 0, 0, None, None))
        return lanes(numbers, env_arrays, keys, learner, at, steps)
    return _batches(program, numbers, env_arrays, keys, learner, at, steps)


def _lane(
    program: Program,
    numbers: PyTree,
    env_arrays: PyTree,
    key: PRNGKeyArray,
    learner: Learner,
    at: Int[Any, ""],
    steps: Int[Any, ""],
) -> Learner:
    """All steps of one lane."""
    agent, env = eqx.combine(numbers, program.agent), program.env.with_arrays(env_arrays)

    def step(i: Int[Any, ""], learner: Learner) -> Learner:
        return interact(agent, env, learner, step_keys(key, at + i))[0]

    return jax.lax.fori_loop(0, steps, step, learner)


def _batches(
    program: Program,
    numbers: PyTree,
    env_arrays: PyTree,
    keys: Key[Any, " N"],
    learner: Learner,
    at: Int[Any, ""],
    steps: Int[Any, ""],
) -> Learner:
    """What depends on keys alone is drawn for a batch of steps at once (see `hoist`), the rest step by step."""

    def body(fixed: tuple[Any, Any], learner: Learner, keys: StepKeys) -> Learner:
        return interact(eqx.combine(fixed[0], program.agent), program.env.with_arrays(fixed[1]), learner, keys)[0]

    example = step_keys(keys[0], at)
    draw, rest = split_by_key(body, (first(numbers), env_arrays), first(learner), example)

    def draw_step(numbers: PyTree, env_arrays: PyTree, key: PRNGKeyArray, step: Int[Any, ""]) -> list[Any]:
        return draw((numbers, env_arrays), step_keys(key, step))

    def finish(numbers: PyTree, env_arrays: PyTree, learner: Learner, noise: list[Any], count: Int[Any, ""]) -> Learner:
        def step(i: Int[Any, ""], learner: Learner) -> Learner:
            return rest((numbers, env_arrays), learner, [part[i] for part in noise])

        return jax.lax.fori_loop(0, count, step, learner)

    def finish_together(learner: Learner, noise: list[Any], count: Int[Any, ""]) -> Learner:
        def step_all(i: Int[Any, ""], learner: Learner) -> Learner:
            now = [part[i] for part in noise]
            return jax.vmap(lambda n, one, x: rest((n, env_arrays), one, x))(numbers, learner, now)

        return jax.lax.fori_loop(0, count, step_all, learner)

    def run_batch(batch: Int[Any, ""], learner: Learner) -> Learner:
        alone = first(numbers), env_arrays, first(learner)
        begin = batch * program.batch
        times = at + begin + jnp.arange(program.batch, dtype=jnp.int32)
        one_draw = kernel(draw_step) if compiles(draw_step, first(numbers), env_arrays, keys[0], at) else draw_step
        draws = jax.vmap(jax.vmap(one_draw, (0, None, 0, None)), (None, None, None, 0))
        noise = draws(numbers, env_arrays, keys, times)
        count = jnp.minimum(program.batch, steps - begin)
        if keys.shape[0] > FEW_LANES or not compiles(finish, *alone, [part[:, 0] for part in noise], count):
            return finish_together(learner, noise, count)
        return jax.vmap(kernel(finish), (0, None, 0, 1, None))(numbers, env_arrays, learner, noise, count)

    return jax.lax.fori_loop(0, (steps + program.batch - 1) // program.batch, run_batch, learner)


class PythonLoop(Loop):
    """One lane after the other, one step after the other, each observation and action checked.

    The pieces are compiled; under `jax.disable_jit()` they are not, and breakpoints inside agents and environments
    work.
    """

    BLOCK = 200

    def __init__(self, lanes: Lanes, env: Env, record: Record) -> None:
        self.lanes, self.record = lanes, record
        self.agents = [lane(lanes.numbers, lanes.structure, i) for i in range(lanes.count)]
        numbers, structure = env_parts(env)
        self.env = structure.with_arrays(numbers)

    def start(self) -> Learner:
        begin = eqx.filter_jit(lambda agent, env, key: start(agent, env, key, self.record))
        learners = [begin(agent, self.env, key) for agent, key in zip(self.agents, self.lanes.keys, strict=True)]
        return _stack(learners)

    @property
    def layout(self) -> Layout:
        return Layout(None, P())

    def run(self, learner: Learner, at: int, until: int) -> tuple[Learner, int]:
        reached = min(until, at + self.BLOCK)
        done = []
        for i, (agent, key) in enumerate(zip(self.agents, self.lanes.keys, strict=True)):
            one = jax.tree.map(lambda leaf, i=i: leaf[i], learner)
            for step in range(at, reached):
                one = self.step(agent, one, step_keys(key, jnp.int32(step)))
            done.append(one)
        return _stack(done), reached

    def whole(self, step: int) -> int:
        return step

    def step(self, agent: Agent, learner: Learner, keys: StepKeys) -> Learner:
        """One step as one would write it by hand."""
        action, _ = _act(agent, learner.agent_state, learner.lane.obs, keys.act)
        check_in_space("action", self.env.action_space, action)
        env_lane, transition, end = _advance(self.env, learner.lane, action, keys.env)
        check_in_space("observation", self.env.observation_space, transition.next_obs)
        check_finite("reward", transition.reward)
        agent_state, metrics = _update(agent, learner.agent_state, transition, keys.update)
        return Learner(agent_state, env_lane, _count(learner.tally, transition, end, metrics))


_act = eqx.filter_jit(lambda agent, state, obs, key: agent.act(state, obs, key))
_advance = eqx.filter_jit(advance)
_update = eqx.filter_jit(lambda agent, state, transition, key: agent.update(state, transition, key))
_count = eqx.filter_jit(count)


def check_in_space(what: str, space: Any, value: Any) -> None:
    """Refuse a value outside its space: compiled code would clamp the index and go on."""
    if not space.contains(jax.device_get(value)):
        raise ConfigError(what, jax.device_get(value), f"the {what} space is {space}")


def check_finite(what: str, value: Any) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(jax.device_get(value)):
        raise ConfigError(what, float(value), f"the environment must give a finite {what}")


def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def unpad(tree: PyTree, num_lanes: int) -> PyTree:
    """The first `num_lanes` lanes, as NumPy arrays."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:num_lanes], tree)
