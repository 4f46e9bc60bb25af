"""A trained agent as a small function from observations to actions, in Python or as a file of its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ...collectors.streams import key_of
from ...core.agent import Agent
from ...core.env import EnvSpec
from ...core.errors import ConfigError
from ...core.host import Starts
from ...core.output_file import output_file
from ...core.spaces import Dict, Discrete, MultiDiscrete, Space
from ...core.whole_file import write_whole
from ...export.described import Described, Part
from ...export.program import depends, trace
from ...export.runtime import carry_of, count_of, parts_of
from ..io.tree_io import to_arrays
from .act import act_greedily, begin_carry
from .policy_functions import PolicyFunctions

Carry = tuple[np.ndarray, ...]
"""What a recurrent policy remembers of one environment, or of a batch of them; `()` for any other policy."""

WRITERS = (".py", ".onnx")


class Policy:
    """The greedy policy of an agent: a function from an observation, or a batch of them, to actions.

    Observations are NumPy arrays or lists (dicts of them for a Dict) as the environment gives them; scaling and
    clipping happen inside. Actions are NumPy, as the environment takes them. The same observation has the same action:
    ties of a table are broken once and for all.

    Attributes:
        title: what it is.
        spec: its spaces.
        starts: where the indices of a library's environment begin, if not at 0; observations and actions are as it has
            them.
        recurrent: whether it remembers, so that it is used by `initial_carry` and `step`.
        weights: a digest of what was learned, as hexadecimal digits.

    Examples:
        >>> import jax
        >>> from kousoku import Box, Discrete, EnvSpec, make_agent
        >>> agent = make_agent("ppo", hidden=(8,), init="lecun_normal")
        >>> spec = EnvSpec(Box(-1.0, 1.0, (4,)), Discrete(2))
        >>> policy = Policy(agent, agent.init(spec, jax.random.key(0)), spec)
        >>> policy([0.1, 0.2, 0.3, 0.4]) in (0, 1), policy(np.zeros((8, 4))).shape
        (True, (8,))
    """

    def __init__(self, agent: Agent, state: Any, spec: EnvSpec, title: str = "", starts: Starts | None = None) -> None:
        """Makes a policy of what an agent has learned; the state is of one member."""
        self.title, self.spec, self.starts = title, spec, starts
        self._agent, self._state = agent, state
        self._parts = tuple(parts_in(spec.observation_space))
        if starts is not None:
            self._parts = tuple(map(_begun_at, self._parts, starts.observation))
        self._whole = jax.device_get(begin_carry(agent, state))
        self._kept = tuple(range(len(jax.tree.leaves(self._whole))))
        key = key_of(0)

        def act(state: Any, obs: Any, carry: Any) -> tuple[Any, Any]:
            return act_greedily(agent, state, obs, carry, key, spec.action_space)

        self._act = act
        self._kept = self._carried()
        learned, rest = eqx.partition(state, eqx.is_array)
        self._learned, tree = jax.tree.flatten(learned)

        def apply(learned: list[Any], xs: list[Any]) -> tuple[Any, ...]:
            return self._apply(eqx.combine(jax.tree.unflatten(tree, learned), rest), xs)

        self._functions = PolicyFunctions(apply, self._learned)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._agent, self._state, self.spec, self.title, self.starts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self.weights)

    def __repr__(self) -> str:
        return f"<Policy: {self.title}>"

    @cached_property
    def weights(self) -> str:
        return _digest(self._state)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        """What is the same of two that are: all that was learned, and what the agent is.

        What else a state holds is as it was made from a space, whose bounds are not known everywhere.
        """
        rest = jax.tree.flatten(eqx.filter(self._agent, _is_array, inverse=True))
        return self.title, self.spec, self.starts, _digest((self._agent, self._state)), *rest

    @property
    def recurrent(self) -> bool:
        return bool(self._kept)

    def __call__(self, obs: Any) -> Any:
        """Returns the action for an observation, or the actions [N, ...] for a batch of them.

        Raises:
            ConfigError: for what is no observation, or if the policy is recurrent.
        """
        if self.recurrent:
            raise ConfigError("policy", "a call", "it remembers: use carry = policy.initial_carry() and policy.step")
        return self.step(obs, ())[0]

    def apply(self, obs: Any, carry: Any = ()) -> tuple[Any, Any]:
        """Returns (action, carry for the next step) for one observation, in JAX: to be traced, batched and compiled.

        Args:
            obs: arrays of JAX, as the environment gives them; nothing is checked.
            carry: as `initial_carry()` gives it.
        """
        parts = [_part_of(obs, names).astype(dtype) for names, _, dtype, _, _ in self._parts]
        action, *after = self._apply(self._state, [*parts, *carry])
        return action, tuple(after)

    def initial_carry(self, count: int | None = None) -> Carry:
        """Returns the carry at the start of an episode; with a count, of so many environments.

        Raises:
            ConfigError: for what is no count.
        """
        leaves, count = self._initial_carry(), count_of(count, _refuse)
        return tuple(x.copy() if count is None else np.repeat(x[None], count, axis=0) for x in leaves)

    def step(self, obs: Any, carry: Carry) -> tuple[Any, Carry]:
        """Returns (action, carry for the next step), for an observation or a batch of them.

        Raises:
            ConfigError: for what is no observation, or a carry of another shape.
        """
        with np.errstate(all="ignore"):  # as in the file: numbers beyond float32's are infinite
            xs, single = parts_of(obs, self._parts, _refuse)
            before = carry_of(carry, self._initial_carry(), None if single else len(xs[0]), _refuse)
        action, *after = self._functions([*xs, *before])
        if single:
            action = jax.tree.map(lambda x: x[0], action)  # a number is a scalar, which may be a key of a dict
            after = [x[0, ...] for x in after]
        return action, tuple(after)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes it as a file of its own: a name that ends in .py for NumPy code, in .onnx for an ONNX model.

        What a file of this name held stays where the new one cannot be written.

        Raises:
            ConfigError: for another ending, a folder, a file in a folder that does not exist, or an operation of the
                network that the format has no rule for.
        """
        target = output_file("path", path)
        if target.suffix == ".py":
            from ...export.numpy_file import numpy_file

            data = numpy_file(self.described()).encode("ascii")
        elif target.suffix == ".onnx":
            from ...export.onnx_file import onnx_file

            data = onnx_file(self.described())
        else:
            raise ConfigError("path", str(path), f"use a name that ends in {' or '.join(WRITERS)}")
        return write_whole(target, lambda part: part.write_bytes(data))

    def described(self) -> Described:
        """Returns the policy as a program with its inputs and outputs, for a file."""
        space = self.spec.action_space
        if isinstance(space, Dict):
            raise ConfigError("action space", space, "use the policy from Python: a file gives one array")
        shapes = [jax.ShapeDtypeStruct(shape, dtype) for _, shape, dtype, _, _ in self._parts]
        program = trace(lambda *xs: self._apply(self._state, xs), [*shapes, *self._initial_carry()])
        return Described(self.title, program, self._parts, self._initial_carry())

    def _initial_carry(self) -> Carry:
        leaves = jax.tree.leaves(self._whole)
        return tuple(leaves[i] for i in self._kept)

    def _apply(self, state: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the action and the kept parts of the next carry, from an observation's parts and those of a carry."""
        leaves, count = list(map(jnp.asarray, jax.tree.leaves(self._whole))), len(self._parts)
        for i, x in zip(self._kept, xs[count:], strict=True):
            leaves[i] = x
        starts = self.starts or Starts((None,) * count, ())
        indices = map(partial(_moved, sign=-1), xs[:count], starts.observation)
        obs = gathered(self.spec.observation_space, indices)
        action, after = self._act(state, obs, jax.tree.unflatten(jax.tree.structure(self._whole), leaves))
        if starts.action:
            actions, tree = jax.tree.flatten(action)
            action = jax.tree.unflatten(tree, map(_moved, actions, starts.action))
        made = jax.tree.leaves(after)
        return action, *(made[i] for i in self._kept)

    def _carried(self) -> tuple[int, ...]:
        """Returns the parts of the carry that a later action depends on: not a critic's, nor a running return."""
        if not self._kept:
            return ()
        shapes = [jax.ShapeDtypeStruct(shape, dtype) for _, shape, dtype, _, _ in self._parts]
        example = [*shapes, *jax.tree.leaves(self._whole)]
        program = trace(lambda *xs: self._flat(self._apply(self._state, xs)), example)
        actions, count = len(program.outputs) - len(self._kept), len(self._parts)
        needed: set[int] = set()
        while True:
            outputs = [*range(actions), *(actions + i for i in needed)]
            found = {i for i, used in enumerate(depends(program, outputs)[count:]) if used}
            if found <= needed:
                return tuple(sorted(needed))
            needed |= found

    @staticmethod
    def _flat(results: Any) -> tuple[Any, ...]:
        return tuple(jax.tree.leaves(results))


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype")


def _digest(tree: Any) -> str:
    """Returns a digest of all arrays of a tree, as hexadecimal digits."""
    sha = hashlib.sha256()
    for array in to_arrays(eqx.filter(tree, _is_array)):
        sha.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return sha.hexdigest()


def parts_in(space: Space, names: tuple[str, ...] = ()) -> list[Part]:
    """Returns the arrays that an observation consists of, a Dict's in the order of their names."""
    if isinstance(space, Dict):
        return [part for name in sorted(space.spaces) for part in parts_in(space.spaces[name], (*names, name))]
    dtype = jax.dtypes.canonicalize_dtype(space.dtype).name
    if isinstance(space, Discrete):
        return [(names, (), dtype, 0, space.n - 1)]
    if isinstance(space, MultiDiscrete):
        return [(names, space.shape, dtype, 0, tuple(n - 1 for n in space.nvec))]
    if space.dtype.kind == "f":
        return [(names, tuple(space.shape), dtype, None, None)]
    return [(names, tuple(space.shape), dtype, int(np.min(space.low)), int(np.max(space.high)))]


def _part_of(obs: Any, names: tuple[str, ...]) -> Any:
    """Returns one part of an observation, of a Dict by its names."""
    for name in names:
        obs = obs[name]
    return jnp.asarray(obs)


def _begun_at(part: Part, start: Any) -> Part:
    """Returns a part whose whole numbers begin somewhere else than at 0."""
    if start is None:
        return part
    names, shape, dtype, _, most = part
    last: Any = np.add(most, start).tolist()  # pyright: ignore[reportArgumentType] (indices have bounds)
    return names, shape, dtype, start, tuple(last) if shape else last


def _moved(x: Any, start: Any, sign: int = 1) -> Any:
    """Returns whole numbers a start further on, or further back."""
    return x if start is None else x + sign * np.asarray(start, np.int32)


def gathered(space: Space, parts: Any) -> Any:
    """Rebuilds an observation from an iterator over its parts."""
    if isinstance(space, Dict):
        return {name: gathered(space.spaces[name], parts) for name in sorted(space.spaces)}
    return next(parts)


def _refuse(given: Any, fix: str, field: str = "observation") -> ConfigError:
    return ConfigError(field, given, fix)
