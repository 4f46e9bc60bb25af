"""Streams of randomness: which key is used for what; each use has a stream of its own."""

from __future__ import annotations

from enum import IntEnum

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, Key, PRNGKeyArray, UInt32

from ..compiler import kernel
from ..ops.trees import to_device


class Stream(IntEnum):
    """The numbers that a member's key is folded with."""

    AGENT = 0
    FIRST_EPISODE = 1
    ACT = 2
    ENV = 3
    UPDATE = 4
    EPOCH = 5


class IterationKeys(eqx.Module):
    """The keys of one iteration.

    Attributes:
        act, env: of each step, [T, B]; of a single step without axes.
        update: of the update.
    """

    act: Key[Array, "..."]
    env: Key[Array, "..."]
    update: PRNGKeyArray


def member_key(seed: Integer[Array, ""]) -> PRNGKeyArray:
    """Returns the key that everything random of a member comes from."""
    return jax.random.key(seed)


def key_of(number: int) -> PRNGKeyArray:
    """Returns `jax.random.key(number)`, whose number a guard of transfers lets pass: it is meant to be moved."""
    return jax.random.key(to_device(np.int64(number)))


def fold_in_each(keys: Key[Array, " N"], number: int) -> Key[Array, " N"]:
    """Returns keys folded with one number each, which a guard of transfers lets pass."""
    return jax.vmap(jax.random.fold_in, (0, None))(keys, to_device(np.uint32(number)))


def epoch_key(key: PRNGKeyArray, epoch: Integer[Array, ""]) -> PRNGKeyArray:
    """Returns a member's key for iterations beyond what int32 counts: each epoch of them has one of its own."""
    return jax.random.fold_in(jax.random.fold_in(key, Stream.EPOCH), epoch)


@jax.jit
def epoch_keys(keys: Key[Array, " N"], epoch: Integer[Array, ""]) -> Key[Array, " N"]:
    """Returns the members' keys of an epoch."""
    return jax.vmap(epoch_key, (0, None))(keys, epoch)


def seed_of(key: PRNGKeyArray) -> UInt32[Array, ""]:
    """Returns a key's seed for what is random outside of JAX: below 2^31, as everybody takes it."""
    return jax.random.bits(key, dtype=jnp.uint32) >> 1


def agent_key(key: PRNGKeyArray) -> PRNGKeyArray:
    """Returns the key that an agent begins with, from its member's."""
    return jax.random.fold_in(key, Stream.AGENT)


def step_keys(key: PRNGKeyArray, step: Int[Array, ""]) -> IterationKeys:
    """Returns the keys of one step of a single environment, from the member's key and the step's number alone.

    The stream comes first and the step second, so that a loop over steps folds in streams once; keys that nothing uses
    are dropped by the compiler.
    """
    streams = (Stream.ACT, Stream.ENV, Stream.UPDATE)
    return IterationKeys(*(jax.random.fold_in(jax.random.fold_in(key, stream), step) for stream in streams))


def slot_keys(key: PRNGKeyArray, iteration: Int[Array, ""], num_steps: int, slots: Int[Array, " B"]) -> IterationKeys:
    """Returns the keys of T steps of B slots.

    What is random in slot i at step t depends on the member's key, i and t alone: not on the number of slots or
    devices.

    Args:
        key: the member's.
        iteration: how many were made before.
        num_steps: T.
        slots: the slots' numbers.
    """
    times = iteration * jnp.int32(num_steps) + jnp.arange(num_steps, dtype=jnp.int32)
    act, env = (_of_stream(key, stream, times, slots) for stream in (Stream.ACT, Stream.ENV))
    return IterationKeys(act, env, jax.random.fold_in(jax.random.fold_in(key, Stream.UPDATE), iteration))


def _of_stream(
    key: PRNGKeyArray, stream: Stream, times: Int[Array, " T"], slots: Int[Array, " B"]
) -> Key[Array, "T B"]:
    """Returns the keys of one stream, of every step and slot at once: one call of the kernel instead of one a step."""
    of_step = jax.vmap(_key_of, (None, None, 0))
    return jax.vmap(of_step, (None, 0, None))(jax.random.fold_in(key, stream), times, slots)


@kernel
def _key_of(stream_key: PRNGKeyArray, time: Int[Array, ""], slot: Int[Array, ""]) -> PRNGKeyArray:
    return jax.random.fold_in(jax.random.fold_in(stream_key, time), slot)
