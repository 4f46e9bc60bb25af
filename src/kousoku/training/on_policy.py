"""The loop of agents that learn from rollouts: collect T steps of B environments, update, and again.

A block of updates is one program. In it the environments step in the kernel, and no number visits the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Int, Key, PRNGKeyArray, PyTree

from ..compiler import kernel
from ..core.agent import RolloutAgent, largest_divisor
from ..core.env import Env
from ..core.errors import ConfigError
from ..core.timestep import Rollout
from ..nn import clip_to
from ..ops.trees import select
from .closing import Layout
from .devices import filled, usable
from .interaction import Stream
from .lanes import Lanes, first
from .loops import Loop
from .parts import Structure, env_parts, on_parts
from .rollout import EpisodeEnd, Lane, advance, begin
from .rollout_tally import count_rollout, empty_rollout_tally
from .tally import Record

BLOCK_STEPS = 1 << 17
CACHED_SAMPLES = 2048  # of networks 64 wide: 1,536 and 1,920 made more steps than 512, 640 and 2,560
AXIS = "envs"


class RolloutLearner(eqx.Module):
    """Everything that one agent carries from update to update.

    Attributes:
        agent_state: what it has learned.
        memory: [B, ...] what it keeps for each environment.
        lane: [B, ...] its environments, a `Lane`.
        tally: what was recorded since the last report, a `Tally`.

    Each may also be the `PartitionSpec` of that part: how it is spread over devices.
    """

    agent_state: Any
    memory: Any
    lane: Any
    tally: Any


@dataclass(frozen=True)
class Program:
    """The static half of the loop: equal programs share their compiled code.

    Attributes:
        agent, env: without their numbers and arrays.
        record: what is recorded.
        mesh: the devices; None for one.
        spread: what the devices share out: "agents", or the "envs" of a single agent.
        together: how many agents a device advances at once.
    """

    agent: Any
    env: Structure
    record: Record
    mesh: Mesh | None
    spread: str
    together: int


class OnPolicyLoop(Loop):
    """All agents in one program; several devices share the agents, or the environments of the only one."""

    def __init__(self, lanes: Lanes, env: Env, record: Record, devices: int | None) -> None:
        agent = lanes.structure
        self.rollout_steps = agent.num_envs * agent.num_steps
        available = usable(devices)
        spread = "envs" if lanes.count == 1 else "agents"
        if spread == "agents":
            used = min(len(available), lanes.count)
        elif devices is None:
            used = agent.num_devices(len(available))
        else:
            used = largest_divisor(agent.num_envs, len(available))
        numbers, keys = filled((lanes.numbers, lanes.keys), used if spread == "agents" else 1)
        env_arrays, env_structure = env_parts(env)
        mesh = Mesh(np.array(available[:used]), (spread,)) if used > 1 else None
        here = keys.shape[0] // (used if spread == "agents" else 1)
        together = worth_together(agent.gradient_samples, here) if jax.default_backend() == "cpu" else here
        self.program = Program(agent, env_structure, record, mesh, spread, together)
        each = _specs(self.program).agent_state
        self.numbers, self.keys = _placed(mesh, (numbers, keys), (each, each))
        self.env_arrays = _placed(mesh, env_arrays, P())
        self.max_updates = max(1, BLOCK_STEPS // (self.rollout_steps * self.keys.shape[0]))

    def start(self) -> RolloutLearner:
        program = self.program
        divided = program.mesh.size if program.mesh and program.spread == "envs" else 1
        lanes = program.agent.num_envs * program.together // divided
        on_parts(_move, program.env).begin_compiling(lanes, (None, 0, 0, 0))
        learner = _starting(jax.default_backend())(self.program, self.numbers, self.env_arrays, self.keys)
        return _placed(self.program.mesh, learner, _specs(self.program))

    @property
    def layout(self) -> Layout:
        return Layout(self.program.mesh, _specs(self.program))

    def run(self, learner: RolloutLearner, at: int, until: int) -> tuple[RolloutLearner, int]:
        """As many whole rollouts as reach `until`, or as one call should make."""
        done = at // self.rollout_steps
        updates = min(-(-until // self.rollout_steps) - done, self.max_updates)
        bounds = np.int32(done), np.int32(updates)
        learner = _compiled(self.program)(self.numbers, self.env_arrays, self.keys, learner, *bounds)
        return learner, (done + updates) * self.rollout_steps

    def whole(self, step: int) -> int:
        return -(-step // self.rollout_steps) * self.rollout_steps

    def lower(self, learner: RolloutLearner) -> Any:
        """The block's program, lowered for this machine: for timing the compiler and asking for memory."""
        zero = np.int32(0)
        return _compiled(self.program).lower(self.numbers, self.env_arrays, self.keys, learner, zero, zero)


def _placed(mesh: Mesh | None, tree: Any, specs: Any) -> Any:
    """On every device its share, as the blocks leave it: so they compile once, and nothing is moved between them."""
    if mesh is None:
        return tree
    places = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))
    return jax.device_put(tree, places)


def _specs(program: Program) -> RolloutLearner:
    """Which part of a learner lies where: a prefix tree. Agents are the first axis, environments the second."""
    if program.spread == "agents":
        each = P("agents")
        return RolloutLearner(each, each, each, each)
    return RolloutLearner(P(), P(None, AXIS), P(None, AXIS), P())


@functools.cache
def _starting(platform: str) -> Any:
    """`_start`, compiled. It runs once: on a CPU it is not worth XLA's optimiser."""
    options: Any = {"xla_backend_optimization_level": 0} if platform == "cpu" else None
    return jax.jit(_start, static_argnums=0, compiler_options=options)


def _start(program: Program, numbers: PyTree, env_arrays: PyTree, keys: Key[Array, " N"]) -> RolloutLearner:
    env = program.env.with_arrays(env_arrays)

    def one(numbers: PyTree, key: PRNGKeyArray) -> RolloutLearner:
        return begin_all(eqx.combine(numbers, program.agent), env, key, program.record)

    return jax.lax.map(lambda args: one(*args), (numbers, keys))


def begin_all(agent: RolloutAgent, env: Env, key: PRNGKeyArray, record: Record) -> RolloutLearner:
    """One agent before its first step; environment i has a key of its own, whatever their number."""
    agent_state = agent.init(env.spec, jax.random.fold_in(key, Stream.AGENT))
    first_key = jax.random.fold_in(key, Stream.FIRST_EPISODE)
    indices = jnp.arange(agent.num_envs, dtype=jnp.int32)
    arrays, structure = env_parts(env)
    new = on_parts(begin, structure)
    lane = jax.vmap(lambda i: new(arrays, jax.random.fold_in(first_key, i)))(indices)
    start = agent.start(agent_state)
    memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (agent.num_envs, *x.shape)), start)
    # By the very function that rollouts call, for what it was traced to is kept; a robot's step alone takes seconds.
    one = jax.tree.map(lambda leaf: leaf[0], lane)
    _, transition, _ = jax.eval_shape(on_parts(_move, structure), arrays, one, env.action_space.sample(key), key)
    tally = empty_rollout_tally(agent, (agent_state, memory, lane), transition.info, record)
    return RolloutLearner(agent_state, memory, lane, tally)


@functools.lru_cache(maxsize=64)
def _compiled(program: Program) -> Any:
    """`_run` of a program. JAX would compare programs, agent and environment with them, at each of its calls."""
    return jax.jit(partial(_run, program), donate_argnums=3)


def _run(
    program: Program,
    numbers: PyTree,
    env_arrays: PyTree,
    keys: Key[Array, " N"],
    learner: RolloutLearner,
    done: Int[Array, ""],
    updates: Int[Array, ""],
) -> RolloutLearner:
    """`updates` updates of every agent, after `done` of them."""
    work = partial(_updates, program)
    if program.mesh is not None:
        specs, each = _specs(program), P("agents") if program.spread == "agents" else P()
        work = jax.shard_map(
            work,
            mesh=program.mesh,
            in_specs=(each, P(), each, specs, P(), P()),
            out_specs=specs,
            check_vma=False,
        )
    return work(numbers, env_arrays, keys, learner, done, updates)


def _updates(
    program: Program,
    numbers: PyTree,
    env_arrays: PyTree,
    keys: Key[Array, " N"],
    learner: RolloutLearner,
    done: Int[Array, ""],
    updates: Int[Array, ""],
) -> RolloutLearner:
    """One device's share."""
    env = program.env.with_arrays(env_arrays)
    axis = AXIS if program.mesh is not None and program.spread == "envs" else None

    def one(i: Int[Array, ""], numbers: PyTree, key: PRNGKeyArray, learner: RolloutLearner) -> RolloutLearner:
        agent = eqx.combine(numbers, program.agent)
        collected, rollout, happened = collect(agent, env, learner, key, i, axis)
        update_key = jax.random.fold_in(jax.random.fold_in(key, Stream.UPDATE), i)
        state, memory, metrics = agent.update(collected.agent_state, collected.memory, rollout, update_key, axis=axis)
        tally = count_rollout(learner.tally, rollout, happened.info, happened.end, metrics, axis)
        return RolloutLearner(state, memory, collected.lane, tally)

    def update(i: Int[Array, ""], learner: RolloutLearner) -> RolloutLearner:
        return _of_each(partial(one, done + i), program.together, numbers, keys, learner)

    return jax.lax.fori_loop(0, updates, update, learner)


def _of_each(function: Callable[..., Any], together: int, *parts: PyTree) -> Any:
    """`function` of every agent's parts: in groups of `together` agents, one group after the other."""
    count = jax.tree.leaves(parts)[0].shape[0]
    if count == 1:
        return jax.tree.map(lambda x: x[None], function(*map(first, parts)))
    if together == count:
        return jax.vmap(function)(*parts)
    return jax.lax.map(lambda one: function(*one), parts, batch_size=together if together > 1 else None)


def worth_together(samples: int, agents: int) -> int:
    """How many agents a processor's core had better advance at once: a divisor of their number.

    More samples in one operation are worth it only while they stay in the core's cache; fewer are not worth the
    operation. Of a number that is no divisor, the agents left over would need a program of their own.

    Args:
        samples: of one agent's gradient step.
        agents: how many there are.

    Examples:
        >>> worth_together(512, 15), worth_together(128, 15), worth_together(128, 17), worth_together(8192, 15)
        (3, 15, 17, 1)
        >>> worth_together(128, 1), worth_together(512, 7), worth_together(64, 62)
        (1, 1, 31)
    """
    wanted = max(1, CACHED_SAMPLES // samples)
    most = largest_divisor(agents, wanted)
    if most == agents or 4 * most >= wanted:
        return most
    return next(d for d in range(wanted, agents + 1) if agents % d == 0)


class Collected(eqx.Module):
    """The infos of a rollout and the ends of its episodes, [T, B, ...]."""

    info: Any
    end: EpisodeEnd


def collect(
    agent: RolloutAgent,
    env: Env,
    learner: RolloutLearner,
    key: PRNGKeyArray,
    update: Int[Array, ""],
    axis: str | None = None,
) -> tuple[RolloutLearner, Rollout, Collected]:
    """T steps of all environments here, in the policy of the agent's present state.

    What is random in environment i at step t depends on the agent's key, i and t alone: not on the number of
    environments or devices.

    Args:
        agent, env: of one agent.
        learner: before the rollout.
        key: the agent's.
        update: how many updates were made before.
        axis: of the devices that share the environments.
    """
    state, before = learner.agent_state, learner.memory
    here = learner.lane.episode_step.shape[0]
    offset = 0 if axis is None else jax.lax.axis_index(axis) * here
    index = offset + jnp.arange(here, dtype=jnp.int32)
    fresh = agent.start(state)
    arrays, structure = env_parts(env)
    move = partial(on_parts(_move, structure), arrays)

    def step(carry: tuple[Lane, Any], keys: tuple[Array, Array]) -> tuple[tuple[Lane, Any], Any]:
        (lane, memory), (act_keys, env_keys) = carry, keys
        action, memory, extras = jax.vmap(lambda o, m, k: agent.act(state, o, m, k))(lane.obs, memory, act_keys)
        lane, transition, end = jax.vmap(move)(lane, action, env_keys)
        memory = jax.vmap(lambda ended, m: select(ended, fresh, m))(end.ended, memory)
        return (lane, memory), (eqx.tree_at(lambda t: t.action, transition, action), extras, end)

    times = update * jnp.int32(agent.num_steps) + jnp.arange(agent.num_steps, dtype=jnp.int32)
    keys = _keys(key, Stream.ACT, times, index), _keys(key, Stream.ENV, times, index)
    (lane, memory), (made, extras, end) = jax.lax.scan(step, (learner.lane, before), keys)
    rollout = Rollout(
        made.obs, made.action, extras, made.reward, made.terminated, made.truncated, made.next_obs, before
    )
    return RolloutLearner(state, memory, lane, learner.tally), rollout, Collected(made.info, end)


def _move(env: Env, lane: Lane, action: PyTree[Array], key: PRNGKeyArray) -> Any:
    """A step under an action that is clipped to its bounds."""
    return advance(env, lane, clip_to(env.action_space, action), key)


def _keys(key: PRNGKeyArray, stream: Stream, times: Int[Array, " T"], index: Int[Array, " B"]) -> Key[Array, "T B"]:
    """The keys of one stream, of every step and environment at once: one call of the kernel instead of one a step."""
    of_step = jax.vmap(_key_of, (None, None, 0))
    return jax.vmap(of_step, (None, 0, None))(jax.random.fold_in(key, stream), times, index)


@kernel
def _key_of(stream_key: PRNGKeyArray, time: Int[Array, ""], index: Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.fold_in(stream_key, time), index)


def check_rollout(agent: RolloutAgent, steps: int) -> None:
    """Refuse a run that is shorter than one rollout.

    Raises:
        ConfigError: naming the rollout's size.
    """
    rollout = agent.num_envs * agent.num_steps
    if steps < rollout:
        size = f"{agent.num_envs} environments x {agent.num_steps} steps"
        raise ConfigError("steps", steps, f"one rollout has {size}; use at least {rollout}")
