"""Members whose iterations are single steps: all steps of one in a kernel, or a loop whose draws are made ahead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from ...collectors.slot import kernel_slots, plain_slots
from ...compiler import compiles, decide, kernel
from ...core.collector import SlotFunctions, TrainState
from ...core.env import Env
from ..metrics.wide_sums import BLOCK
from ..population import MemberNumbers, Members, first, member_of
from . import grouped
from .iteration import block_ended, iterate
from .split_randomness import split_by_key

FEW_MEMBERS = 1


def advance(
    program: Any, members: Members, state: TrainState, done: Int[Array, ""], steps: Int[Array, ""]
) -> TrainState:
    """Advances the members on one device: one kernel where that is possible and worth it, else XLA's loop.

    An agent with networks is not worth it (see `compiler.cost`): their matrix products are left to XLA then, and the
    environment's steps are a kernel of their own. If it has slots, even a single one, its members are grouped as those
    whose iterations are longer.

    Args:
        program: a `TrainProgram`.
        members, state: of this device, [N, ...].
        done, steps: how many were made, and are to be made.
    """
    whole = partial(_member, program)
    alone = first(members.numbers), members.env_arrays, members.keys[0], first(state), done, steps
    in_axes = (0, None, 0, 0, None, None)
    take = decide(whole, *alone, lanes=members.count, in_axes=in_axes).take
    if take and members.count > FEW_MEMBERS:
        every = jax.vmap(kernel(whole, donate_argnums=3), in_axes=in_axes)
        return every(members.numbers, members.env_arrays, members.keys, state, done, steps)
    if not take and program.agent.learns_from.batched:
        return grouped.advance(program, members, state, done, steps)
    slots_of = kernel_slots if not take and compiles(whole, *alone) else plain_slots
    return _batches(program, members, state, done, steps, slots_of)


def _member(
    program: Any,
    numbers: MemberNumbers,
    env_arrays: PyTree,
    key: PRNGKeyArray,
    state: TrainState,
    done: Int[Array, ""],
    steps: Int[Array, ""],
) -> TrainState:
    """Takes all steps of one member. Those of its environment count as a kernel in either case, see `compiler.cost`."""
    agent, env = member_of(program, numbers, env_arrays)
    collector, slots = agent.learns_from, kernel_slots(env)

    def step(number: Int[Array, ""], state: TrainState) -> TrainState:
        return iterate(agent, slots, state, collector.keys(key, number, 1, None))

    return _take_steps(done, steps, step, state)


def _take_steps(
    done: Int[Array, ""],
    steps: Int[Array, ""],
    step: Callable[[Int[Array, ""], TrainState], TrainState],
    state: TrainState,
    each: Callable[..., Any] = lambda function: function,
) -> TrainState:
    """Takes steps in a loop over blocks of them: metrics are added to sums with rests at the end of a block only.

    That is where the number of steps is a multiple of `BLOCK`, and not where a call ends, so that how steps are shared
    out to calls, which depends on time, changes no sum.

    Args:
        done, steps: how many were made, and are to be made.
        step: takes one, given its number and the state.
        state: before them.
        each: makes of a function of one member's state one of `state`: `jax.vmap`, where that is of many.
    """

    def block(number: Int[Array, ""], state: TrainState) -> TrainState:
        begin = number * BLOCK
        end = begin + jnp.minimum(BLOCK, done + steps - begin)
        state = jax.lax.fori_loop(jnp.maximum(begin, done), end, step, state)
        return each(partial(block_ended, ends=end - begin == BLOCK))(state)

    return jax.lax.fori_loop(done // BLOCK, (done + steps - 1) // BLOCK + 1, block, state)


def _batches(
    program: Any,
    members: Members,
    state: TrainState,
    done: Int[Array, ""],
    steps: Int[Array, ""],
    slots_of: Callable[[Env], SlotFunctions],
) -> TrainState:
    """Draws what depends on keys alone for a batch of steps at once (see `split_randomness`); does the rest in turn."""
    collector = program.agent.learns_from
    numbers, env_arrays, keys = members.numbers, members.env_arrays, members.keys

    def body(fixed: tuple[Any, Any], state: TrainState, keys: Any) -> TrainState:
        agent, env = member_of(program, *fixed)
        return iterate(agent, slots_of(env), state, keys)

    example = collector.keys(keys[0], done, 1, None)
    draw, rest = split_by_key(body, (first(numbers), env_arrays), first(state), example)
    draw_step, finish = partial(_draw_step, draw, collector), partial(_finish, rest)

    def run_batch(batch: Int[Array, ""], state: TrainState) -> TrainState:
        alone = first(numbers), env_arrays, first(state)
        begin = done + batch * program.batch
        times = begin + jnp.arange(program.batch, dtype=jnp.int32)
        one_draw = kernel(draw_step) if compiles(draw_step, first(numbers), env_arrays, keys[0], done) else draw_step
        draws = jax.vmap(jax.vmap(one_draw, (0, None, 0, None)), (None, None, None, 0))
        noise = draws(numbers, env_arrays, keys, times)
        count = jnp.minimum(program.batch, done + steps - begin)
        one = *alone, [part[:, 0] for part in noise], begin, count
        if keys.shape[0] > FEW_MEMBERS or not decide(finish, *one, lanes=1).take:
            return finish(numbers, env_arrays, state, noise, begin, count, jax.vmap)
        alike = jax.vmap(kernel(finish, donate_argnums=2), (0, None, 0, 1, None, None))
        return alike(numbers, env_arrays, state, noise, begin, count)

    return jax.lax.fori_loop(0, (steps + program.batch - 1) // program.batch, run_batch, state)


def _draw_step(
    draw: Callable[..., list[Any]],
    collector: Any,
    numbers: MemberNumbers,
    env_arrays: PyTree,
    key: PRNGKeyArray,
    step: Int[Array, ""],
) -> list[Any]:
    """Draws what one member's step needs that depends on its key alone."""
    return draw((numbers, env_arrays), collector.keys(key, step, 1, None))


def _finish(
    rest: Callable[..., TrainState],
    numbers: MemberNumbers,
    env_arrays: PyTree,
    state: TrainState,
    noise: list[Any],
    begin: Int[Array, ""],
    count: Int[Array, ""],
    each: Callable[..., Any] = lambda function: function,
) -> TrainState:
    """Takes the steps of a batch whose draws are made: `rest` is a member's step without them.

    Numbers, state and noise are one member's, or those of all where `each` is `jax.vmap`: each step of all at once.
    """

    def step(number: Int[Array, ""], state: TrainState) -> TrainState:
        now = [part[number - begin] for part in noise]
        return each(lambda own, one, drawn: rest((own, env_arrays), one, drawn))(numbers, state, now)

    return _take_steps(begin, count, step, state, each)
