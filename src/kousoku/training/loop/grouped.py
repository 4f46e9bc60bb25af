"""Members whose iterations are long: some of them at a time, each operation on as many numbers as the cache holds."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from jaxtyping import Array, Int, Key, PRNGKeyArray

from ...collectors.slot import kernel_slots
from ...compiler import backends
from ...core.collector import TrainState, largest_divisor
from ..population import MemberNumbers, Members, first, member_of
from .iteration import block_ended, iterate

CACHED_SAMPLES = 2048  # of networks 64 wide: 1,536 and 1,920 made more steps than 512, 640 and 2,560


def advance(
    program: Any, members: Members, state: TrainState, done: Int[Array, ""], iterations: Int[Array, ""]
) -> TrainState:
    """Advances the members on one device: a group of them by all iterations, then the next group.

    Matrix products and all else that networks do is left to XLA; the environments' steps are in the kernel.

    Args:
        program: a `TrainProgram`.
        members, state: of this device, [N, ...].
        done, iterations: how many were made, and are to be made.
    """
    collector = program.agent.learns_from

    def one(numbers: MemberNumbers, key: PRNGKeyArray, state: TrainState, i: Int[Array, ""]) -> TrainState:
        agent, env = member_of(program, numbers, members.env_arrays)
        here = jax.tree.leaves(state.slots)[0].shape[0]
        keys = agent.learns_from.keys(key, i, here, program.axis)
        slots = kernel_slots(env)._replace(shared=members.shared)
        return block_ended(iterate(agent, slots, state, keys, program.axis))

    def group(numbers: MemberNumbers, keys: Key[Array, " n"], state: TrainState) -> TrainState:
        if not collector.steps_are_fixed:
            return jax.vmap(lambda *args: alone(args))(numbers, keys, state)
        step = jax.vmap(one, (0, 0, 0, None))
        return jax.lax.fori_loop(0, iterations, lambda i, s: step(numbers, keys, s, done + i), state)

    def alone(args: tuple[MemberNumbers, PRNGKeyArray, TrainState]) -> TrainState:
        numbers, key, state = args
        if collector.steps_are_fixed:
            return jax.lax.fori_loop(0, iterations, lambda i, s: one(numbers, key, s, done + i), state)
        data = collector.ask_for_steps(state.data, iterations * collector.iteration_steps)
        asked = dataclasses.replace(state, data=data)
        return jax.lax.while_loop(
            lambda s: collector.steps_are_due(s.data), lambda s: one(numbers, key, s, done), asked
        )

    count, together = members.count, program.per_vmap
    parts = members.numbers, members.keys, state
    if count == 1:
        return jax.tree.map(lambda x: x[None], alone(first(parts)))
    if together == 1:
        return jax.lax.map(alone, parts)
    if together == count:
        return group(*parts)
    grouped = jax.tree.map(lambda x: x.reshape(count // together, together, *x.shape[1:]), parts)
    made = jax.lax.map(lambda args: group(*args), grouped)
    return jax.tree.map(lambda x: x.reshape(count, *x.shape[2:]), made)


def agents_per_vmap(samples: int, agents: int) -> int:
    """Returns how many agents a processor's core had better advance at once: a divisor of their number.

    More samples in one operation are worth it only while they stay in the core's cache; fewer are not worth the
    operation. Of a number that is no divisor, the agents left over would need a program of their own. Other platforms
    advance all at once.

    Args:
        samples: of one agent's gradient step.
        agents: how many there are.

    Examples:
        >>> agents_per_vmap(512, 15), agents_per_vmap(128, 15), agents_per_vmap(128, 17), agents_per_vmap(8192, 15)
        (3, 15, 17, 1)
        >>> agents_per_vmap(128, 1), agents_per_vmap(512, 7), agents_per_vmap(64, 62)
        (1, 1, 31)
    """
    if not backends.current().cache_bound:
        return agents
    wanted = max(1, CACHED_SAMPLES // samples)
    most = largest_divisor(agents, wanted)
    if most == agents or 4 * most >= wanted:
        return most
    return next(d for d in range(wanted, agents + 1) if agents % d == 0)
