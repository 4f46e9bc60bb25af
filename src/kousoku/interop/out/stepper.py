"""Many slots of an environment, stepped from the host: NumPy in and out, one compiled program a call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool

from ... import envs
from ...collectors.env_kernel import EnvStructure, env_kernel, partition_env
from ...compiler import host_may_call, on_by_default
from ...compiler.frontend.keys import is_key
from ...core.env import Env
from ...core.env_shapes import check_shapes
from ...core.errors import ConfigError, check_count, check_keys
from ...core.host import HostEnv
from ...core.spaces import LARGEST
from ...training.guards.memory_check import check_transitions
from .actions import action_reader, read_one
from .direct_call import DirectCall
from .forks import check_not_forked
from .limits import with_limit
from .stepping import STEPS, HostSlot, ResetRule, StepResult, first_reset, reset_again, told_infos

MOST_DIRECT = 16
"""Direct calls that are kept, of functions and numbers of slots."""
LARGEST_SEED = 2**64 - 1


def made(env: str | Env, max_episode_steps: int | None = None, **options: Any) -> Env:
    """Returns an environment by id and options, or the one that is given; with another time limit if one is given.

    Raises:
        ConfigError: for what is no environment, one that runs on the host, where no program steps it, options of one
            that is made already, or a limit of one that cannot have another.
    """
    if isinstance(env, str):
        env = envs.make(env, **options)
    else:
        check_keys("option", options, ())
    check_shapes(env)
    if isinstance(env, HostEnv):
        raise ConfigError("env", env.name, "it runs on the host already: use the library's own object")
    if max_episode_steps is None:
        return env
    limit = check_count("max_episode_steps", max_episode_steps, high=LARGEST)
    return with_limit("max_episode_steps", env, limit)


class Stepper:
    """N slots of one environment. Slot i depends on its seed and its actions alone, whatever N is.

    Calls from several threads come one after the other. Everything that is returned is the caller's: fresh NumPy arrays
    [N, ...] that may be written to.

    Attributes:
        env: the environment.
        observation_space, action_space: its spaces, made once: some take longer to make than a step.
        num_slots: N.
        reset_rule: what follows an episode's end.
        tells_at_reset: whether a reset tells the same info as a step.
    """

    def __init__(self, env: Env, num_slots: int, reset_rule: ResetRule) -> None:
        self.env, self.num_slots, self.reset_rule = env, check_count("num_envs", num_slots), reset_rule
        check_transitions("num_envs", env, self.num_slots)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.tells_at_reset, diverges = told_infos(env)
        self._actions = action_reader(self.action_space, nan_ends=diverges)
        arrays, structure = partition_env(env)
        self._arrays, tree = jax.tree.flatten(arrays)
        self._programs = programs(structure, tree, reset_rule)
        self._slots: list[Any] | None = None
        self._direct: dict[tuple[SlotsProgram, int], DirectCall | None] = {}
        self._lock, self._by_default = threading.Lock(), functools.cache(on_by_default)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            slots = None if self._slots is None else jax.device_get(self._given_away())
        return {"env": self.env, "num_slots": self.num_slots, "reset_rule": self.reset_rule, "slots": slots}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["env"], state["num_slots"], state["reset_rule"])
        if state["slots"] is not None:
            self._programs.know_slots(self._arrays, self.num_slots)
            self._slots = jax.device_put(state["slots"])

    @property
    def has_begun(self) -> bool:
        """Whether there was a reset."""
        return self._slots is not None

    def reset(self, seeds: Sequence[Any], chosen: Bool[np.ndarray, " N"] | None = None) -> StepResult:
        """Begins new episodes, of all slots or of those that are chosen.

        Args:
            seeds: of each slot; with None, the slot goes on with the randomness that it has.
            chosen: which slots; None for all.

        Raises:
            ConfigError: for what is no seed, for a slot's first reset without one, or in a fork of a process that has
                used JAX.
        """
        check_not_forked()
        seeded = np.array([seed is not None for seed in seeds])
        words = key_words([0 if seed is None else seed for seed in seeds])
        with self._lock:
            if self._slots is None or (chosen is None and seeded.all()):
                if not seeded.all():
                    raise ConfigError("seed", None, "a slot's first episode needs a seed")
                self._slots, result = self._programs.begin(self._arrays, words)
            else:
                everyone = np.ones(self.num_slots, bool) if chosen is None else chosen
                return self._advance(self._programs.again, everyone, seeded, words)
            return on_host(result)

    def step(self, actions: Any) -> StepResult:
        """Takes one action in each slot.

        Raises:
            ConfigError: for actions of another shape or dtype, or whole numbers outside their space.
        """
        return self._step(self._actions.read(actions, (self.num_slots,)))

    def step_one(self, action: Any) -> StepResult:
        """Takes one action, without an axis of slots, in the only slot.

        Raises:
            ConfigError: as `step` does.
        """
        return self._step(read_one(self._actions, action))

    def _step(self, given: Any) -> StepResult:
        check_not_forked()
        with self._lock:
            return self._advance(self._programs.step, given)

    def _advance(self, program: SlotsProgram, *rest: Any) -> StepResult:
        """Takes a step of all slots, or resets them: by a kernel while that is short, else by a program of XLA's."""
        assert self._slots is not None
        direct = self._direct_call(program, self._slots, rest) if host_may_call(self._by_default) else None
        if direct is not None:
            self._slots, result = direct(self._slots, rest)
            return result
        self._slots, result = program.compiled(self._arrays, self._given_away(), *rest)
        return on_host(result)

    def _direct_call(self, program: SlotsProgram, slots: list[Any], rest: tuple[Any, ...]) -> DirectCall | None:
        """Returns the direct call of a program's function; None where XLA's program is due, this time or for good.

        Some environments' slots have other dtypes after a step than at first: that step is XLA's.
        """
        key = program, len(slots[0])
        if key not in self._direct:
            made = self._programs.direct(program, self._arrays, slots, rest)
            if made is not None and not made.takes(slots):
                return None
            if len(self._direct) >= MOST_DIRECT:
                self._direct.clear()
            self._direct[key] = made
        direct = self._direct[key]
        if direct is not None and not direct.pays:
            direct = self._direct[key] = None
        return direct if direct is not None and direct.takes(slots) else None

    def _given_away(self) -> list[Any]:
        """Returns the slots' state for what keeps or overwrites it: a copy of arrays that direct calls write to."""
        assert self._slots is not None
        return [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in self._slots]

    def step_some(self, actions: Any, numbers: np.ndarray) -> StepResult:
        """Takes one action in each of some slots, by their numbers [K], all different; returns what they tell.

        Raises:
            ConfigError: as `step` does.
        """
        given = self._actions.read(actions, numbers.shape)
        check_not_forked()
        with self._lock:
            program = self._programs.step
            if host_may_call(self._by_default) and self._direct.get((program, len(numbers)), program) is not None:
                slots = self._in_place()
                some = [leaf[numbers] for leaf in slots]
                direct = self._direct_call(program, some, (given,))
                if direct is not None:
                    some, result = direct(some, (given,))
                    for leaf, new in zip(slots, some, strict=True):
                        leaf[numbers] = new
                    return result
            self._slots, result = self._programs.step_some(self._arrays, self._given_away(), given, numbers)
            return on_host(result)

    def _in_place(self) -> list[Any]:
        """Returns the slots' state, from now on in arrays that may be written to, unless there are keys in it."""
        assert self._slots is not None
        if all(isinstance(leaf, np.ndarray) for leaf in self._slots) or any(map(is_key, self._slots)):
            return self._slots
        self._slots = [np.array(leaf) for leaf in self._slots]
        return self._slots

    def state(self, number: int) -> Any:
        """Returns the environment's state of one slot, on the host."""
        assert self._slots is not None
        with self._lock:
            leaves = jax.device_get([leaf[number].copy() for leaf in self._slots])
        return self._programs.unflatten(leaves).slot.env_state


@dataclass(frozen=True, eq=False)
class SlotsProgram:
    """A function that advances a slot, with XLA's program for all slots.

    Attributes:
        function: (environment, slot, the rest) -> (slot, its result).
        compiled: (leaves of the environment's arrays, leaves of the slots, the rest) -> (leaves, results).
    """

    function: Callable[..., Any]
    compiled: Callable[..., Any]


class Programs:
    """The compiled programs of one kind of environment, for any number of slots. Slots are lists of arrays [N, ...].

    A list of arrays passes JAX's fast way into a program; a module in Python does not.
    """

    def __init__(self, structure: EnvStructure, arrays_tree: Any, reset_rule: ResetRule) -> None:
        self._arrays_tree, self._structure = arrays_tree, structure
        self._slots_tree: Any = None
        step = STEPS[reset_rule]
        self.begin = jax.jit(lambda arrays, words: self._run(first_reset, arrays, words))
        self.step, self.again = self._advancing(step), self._advancing(reset_again)
        self.step_some = jax.jit(lambda *args: self._some(step, *args), donate_argnums=1)

    def _advancing(self, function: Callable[..., Any]) -> SlotsProgram:
        def every(arrays: list[Any], slots: list[Any], *rest: Any) -> tuple[list[Any], tuple[Any, ...]]:
            return self._run(function, arrays, self.unflatten(slots), *rest)

        return SlotsProgram(function, jax.jit(every, donate_argnums=1))

    def direct(
        self, program: SlotsProgram, arrays: list[Any], slots: list[Any], rest: tuple[Any, ...]
    ) -> DirectCall | None:
        """Returns a program's function as a kernel that the host calls; None where that cannot be."""

        def of_one(tree: Any) -> Any:
            return jax.tree.map(lambda leaf: np.zeros(leaf.shape[1:], leaf.dtype), tree)

        if any(map(is_key, slots)):
            return None  # no arrays of NumPy's
        run = env_kernel(program.function, self._structure)
        given = jax.tree.unflatten(self._arrays_tree, arrays)
        in_axes = (None, 0, *(0 for _ in rest))
        kernel = run.for_host(len(slots[0]), in_axes, given, self.unflatten(of_one(slots)), *of_one(rest))
        return None if kernel is None else DirectCall(kernel, arrays, len(slots))

    def know_slots(self, arrays: list[Any], count: int) -> None:
        """Learns the form of so many slots, where none have begun in this process."""
        if self._slots_tree is None:
            jax.eval_shape(self.begin, arrays, jax.ShapeDtypeStruct((count, 2), np.uint32))

    def unflatten(self, leaves: Sequence[Any]) -> HostSlot:
        """Returns slots as a struct."""
        return jax.tree.unflatten(self._slots_tree, leaves)

    def _run(self, function: Callable[..., Any], arrays: list[Any], *args: Any) -> tuple[list[Any], tuple[Any, ...]]:
        run = env_kernel(function, self._structure)
        given = jax.tree.unflatten(self._arrays_tree, arrays)
        slots, result = jax.vmap(run, in_axes=(None, *(0 for _ in args)))(given, *args)
        leaves, self._slots_tree = jax.tree.flatten(slots)
        return leaves, tuple(result)

    def _some(
        self, function: Callable[..., Any], arrays: list[Any], slots: list[Any], actions: Any, numbers: Any
    ) -> tuple[list[Any], tuple[Any, ...]]:
        some = [leaf[numbers] for leaf in slots]
        after, result = self._run(function, arrays, self.unflatten(some), actions)
        return [leaf.at[numbers].set(new) for leaf, new in zip(slots, after, strict=True)], result


@functools.lru_cache(maxsize=64)
def programs(structure: EnvStructure, arrays_tree: Any, reset_rule: ResetRule) -> Programs:
    """Returns the programs of an environment's structure: the same ones for all that are alike."""
    return Programs(structure, arrays_tree, reset_rule)


def on_host(result: tuple[Any, ...]) -> StepResult:
    """Returns results as NumPy arrays of the caller's own.

    What episodes ended with (`final_obs`, `final_info`) stays where it is until somebody reads it, as most steps end
    none.
    """
    leaves, tree = jax.tree.flatten(result[: len(StepResult._fields) - 2])
    return StepResult(*tree.unflatten([np.array(leaf) for leaf in leaves]), *result[-2:])


def key_words(seeds: Sequence[Any]) -> np.ndarray:
    """Returns the two words of each seed's key, uint32 [N, 2], as `jax.random.key` has them.

    Raises:
        ConfigError: for what is no whole number from 0 to 2**64 - 1.
    """
    whole = np.array([check_count("seed", seed, low=0, high=LARGEST_SEED) for seed in seeds], np.uint64)
    return np.stack([whole >> np.uint64(32), whole & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)
