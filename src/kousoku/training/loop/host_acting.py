"""The choice of actions in environments on the host: by a program of XLA's, or by a kernel that the host calls.

A program takes some 50 microseconds to begin and to end; a small network's kernel is through after 5. Which of the two
it is depends on the agent, the number of slots and the machine, and never on how long something took: the same seed
makes the same run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from ...compiler import HostKernel, address, host_may_call
from ...compiler.frontend.keys import is_key
from .host_programs import Acting, HostProgram, HostPrograms, act_shapes

FEWEST_STEPS = 4
"""Steps of an iteration from which on a kernel pays: to begin one takes as long as a few programs."""


class HostActing(ABC):
    """The choice of all slots' actions, from the beginning of an iteration to its end."""

    @abstractmethod
    def begin(self, agents: Any, keys: Key[Array, "N ..."], acting: Acting) -> None:
        """Begins an iteration.

        Args:
            agents: what they have learned, [N, ...].
            keys: of the iteration, [N, T, B]; of single steps [N].
            acting: what the one before ended with.
        """

    @abstractmethod
    def act(self, obs: Sequence[np.ndarray], ended: np.ndarray, t: int) -> list[np.ndarray]:
        """Returns the actions of step `t` as the environment takes them, leaves [V, ...].

        Args:
            obs: leaves of what the agents see, [V, ...].
            ended: whether each slot's episode ended with the step before, [V].
            t: which step of the iteration this is.
        """

    @abstractmethod
    def end(self) -> Acting:
        """Returns what the iteration's steps were chosen as."""


class ProgramActing(HostActing):
    """Acting by a program of XLA's for each step.

    Args:
        programs: those of the loop.
        numbers: of the agents, [N, ...].
        axes: N and B, or N alone.
    """

    def __init__(self, programs: HostPrograms, numbers: Any, axes: tuple[int, ...]) -> None:
        self._programs, self._numbers, self._axes = programs, numbers, axes

    def begin(self, agents: Any, keys: Key[Array, "N ..."], acting: Acting) -> None:
        self._leaves, self._structure = jax.tree.flatten((self._numbers, agents))
        self._keys, self._acting = keys, acting

    def act(self, obs: Sequence[np.ndarray], ended: np.ndarray, t: int) -> list[np.ndarray]:
        seen = [leaf.reshape(*self._axes, *leaf.shape[1:]) for leaf in obs]
        now = ended.reshape(self._axes), self._keys, np.int32(t)
        self._acting, actions = self._programs.act(self._structure, self._leaves, self._acting, seen, *now)
        return [np.asarray(leaf).reshape(-1, *leaf.shape[len(self._axes) :]) for leaf in actions]

    def end(self) -> Acting:
        return self._acting


class KernelActing(HostActing):
    """Acting by a kernel that the host calls, once for each member and step.

    All that an iteration makes, T steps of N members with B slots each, is in arrays [T, N, B, ...] of its own. Where
    the calls read and write is worked out when it begins, but for what the environments tell.

    Args:
        kernel: of one member's slots, see `HostPrograms.act_in_slot`.
        numbers: of the agents, [N, ...].
        learned: how many leaves numbers and agents have.
        num_steps: T.
    """

    def __init__(self, kernel: HostKernel, numbers: Any, learned: int, num_steps: int) -> None:
        self._kernel, self._numbers, self._num_steps = kernel, jax.tree.leaves(numbers), num_steps
        self._trees = kernel.tree.children()
        self._carry_from, self._told_from = learned, learned + self._trees[0].num_leaves
        self._words_at = len(kernel.given) - 1
        self._homes, self._copies = kernel.plan
        self._needed = {*kernel.inputs, *(number for _, is_input, number in self._copies if is_input)}
        self._dtypes = [dtype for _, dtype in kernel.given[self._told_from : self._words_at]]
        told = [(place, number) for place, number in enumerate(kernel.inputs) if self._told_from <= number]
        self._told = [(place, number - self._told_from) for place, number in told if number != self._words_at]

    def begin(self, agents: Any, keys: Key[Array, "N T B"], acting: Acting) -> None:
        self._members = np.arange(keys.shape[0])
        learned = enumerate([*self._numbers, *jax.tree.leaves(agents)])
        self._learned = {i: np.ascontiguousarray(leaf) for i, leaf in learned if i in self._needed}
        self._first_carry = [np.array(leaf) for leaf in jax.tree.leaves(acting.carry)]
        self._words = np.ascontiguousarray(np.asarray(_words_of(keys)).swapaxes(0, 1))
        axes = self._num_steps, keys.shape[0]
        self._made: list[np.ndarray] = [np.empty((*axes, *shape), dtype) for shape, dtype in self._kernel.made]
        for result, is_input, source in self._copies:
            if not is_input:
                self._made[result] = self._made[source]
        self._inputs = np.empty((*axes, len(self._kernel.inputs)), np.int64)
        for place, number in enumerate(self._kernel.inputs):
            self._place(self._inputs[..., place], number)
        self._outputs = np.empty((*axes, len(self._homes)), np.int64)
        for place, home in enumerate(self._homes):
            self._outputs[..., place] = _places(self._made[home], 2)
        self._calls = list(zip(_places(self._inputs, 2).tolist(), _places(self._outputs, 2).tolist(), strict=True))

    def _place(self, places: np.ndarray, number: int) -> None:
        """Notes where an input of the kernel's is at each step, [T, N], if that is known before the steps."""
        if number < self._carry_from:
            places[:] = _places(self._learned[number], 1)
        elif number < self._told_from:
            carried = number - self._carry_from
            places[0], places[1:] = _places(self._first_carry[carried], 1), _places(self._made[carried], 2)[:-1]
        elif number == self._words_at:
            places[:] = _places(self._words, 2)

    def act(self, obs: Sequence[np.ndarray], ended: np.ndarray, t: int) -> list[np.ndarray]:
        kernel, inputs = self._kernel, self._inputs[t]
        told = [np.ascontiguousarray(leaf, dtype) for leaf, dtype in zip((*obs, ended), self._dtypes, strict=True)]
        for place, number in self._told:
            leaf = told[number]
            inputs[:, place] = address(leaf) + (leaf.nbytes // len(inputs) * self._members if len(inputs) > 1 else 0)
        for given, made in zip(*self._calls[t], strict=True):
            kernel.call(given, made, kernel.lanes)
        for result, is_input, number in self._copies:
            if is_input:
                self._made[result][t] = self._given(number, t, told)
        carry, actions, _ = self._trees
        acted = self._made[carry.num_leaves : carry.num_leaves + actions.num_leaves]
        return [leaf[t].reshape(-1, *leaf.shape[3:]) for leaf in acted]

    def _given(self, number: int, t: int, told: list[np.ndarray]) -> np.ndarray:
        """Returns one of the kernel's inputs at a step, [N, B, ...] or [N, 1, ...]."""
        if number < self._carry_from:
            return self._learned[number][:, None]
        if number < self._told_from:
            carried = number - self._carry_from
            return self._made[carried][t - 1] if t else self._first_carry[carried]
        if number == self._words_at:
            return self._words[t]
        leaf = told[number - self._told_from]
        return leaf.reshape(len(self._members), self._kernel.lanes, *leaf.shape[1:])

    def end(self) -> Acting:
        carry, actions, chosen = self._trees
        after = [leaf[-1] for leaf in self._made[: carry.num_leaves]]
        together = [np.swapaxes(leaf, 0, 1) for leaf in self._made[carry.num_leaves + actions.num_leaves :]]
        return Acting(carry.unflatten(after), chosen.unflatten(together))


_words_of = jax.jit(jax.random.key_data)


def _places(array: np.ndarray, axes: int) -> np.ndarray:
    """Returns where the parts of an array lie along its first axes, 1 or 2."""
    parts = [np.arange(size) * stride for size, stride in zip(array.shape[:axes], array.strides, strict=False)]
    return address(array) + (parts[0] if axes == 1 else parts[0][:, None] + parts[1])


def acting_of(
    programs: HostPrograms, program: HostProgram, numbers: Any, agents: Any, axes: tuple[int, ...]
) -> HostActing:
    """Returns what chooses the actions of a population.

    Args:
        programs: of its loop.
        program: their static half.
        numbers, agents: of the members, [N, ...].
        axes: N and B, or N alone.
    """
    collector = program.agent.learns_from
    pays = collector.batched and collector.num_steps >= FEWEST_STEPS and host_may_call()
    by_kernel = _kernel_acting(programs, program, numbers, agents, collector.num_envs) if pays else None
    return by_kernel or ProgramActing(programs, numbers, axes)


def _kernel_acting(
    programs: HostPrograms, program: HostProgram, numbers: Any, agents: Any, slots: int
) -> KernelActing | None:
    """Returns acting by a kernel; None where there is none, or it would take too long."""
    given = act_shapes(program, numbers, agents)
    if any(map(is_key, jax.tree.leaves(given))):
        return None  # no arrays of NumPy's
    of_one = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), given)
    kernel = programs.act_in_slot(slots, (None, None, 0, 0, 0, 0), *of_one)
    if kernel is None:
        return None
    return KernelActing(kernel, numbers, len(jax.tree.leaves(given[:2])), program.agent.learns_from.num_steps)
