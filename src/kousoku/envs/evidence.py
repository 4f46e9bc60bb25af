"""Evidence of what an environment does when it is tried, for its contract: few programs, each compiled once.

To compile takes longer than all else here. A processor's code is therefore not optimised; a walk is a loop over the
compiled methods, as each program that has a reset in it compiles the reset again; and methods that are called with
values run what they trace in one program instead of operation by operation, each of which is a program too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from operator import itemgetter
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer, eval_jaxpr
from jaxtyping import Array, Key, PRNGKeyArray

from ..compiler import backends
from ..core.env import Env
from ..core.leaves import key_like
from ..core.spaces import Space
from ..core.timestep import Timestep
from .quick_random import quick_keys

BATCH = 3
"""Steps that are compared with the same ones taken together."""
RESET, STEP, RESTART, SAMPLE = range(4)
"""What the words of keys are for."""


class Step(NamedTuple):
    """One step of a walk.

    Attributes:
        state: before it.
        obs: before it.
        next_state: after it.
        timestep: that it gave, on the host.
    """

    state: Any
    obs: Any
    next_state: Any
    timestep: Timestep


class Walk(NamedTuple):
    """Random steps by the compiled methods; where an episode ends, the next begins.

    Attributes:
        begun: (state, timestep) of the first reset.
        steps: taken one after the other.
    """

    begun: tuple[Any, Timestep]
    steps: list[Step]


class Stepped(NamedTuple):
    """A step by values, taken twice.

    Attributes:
        result: (state, timestep) that it gave.
        again: the same, the second time.
        given: the state that both were given, as they left it.
    """

    result: tuple[Any, Timestep]
    again: tuple[Any, Timestep]
    given: Any


class Evidence:
    """Results of an environment with random keys and actions; each thing is tried when it is first asked for.

    Attributes:
        env: the environment.
        steps: of the walk.
    """

    def __init__(self, env: Env, steps: int, seed: int) -> None:
        self.env, self.steps = env, steps
        self._seed = seed

    def key(self, what: int, index: int = 0) -> PRNGKeyArray:
        """Returns the key of a reset, a step or a restart; nothing is compiled for it."""
        return jax.random.wrap_key_data(jax.device_put(self._words[what, index]))

    def keys(self, what: int) -> Key[Array, " BATCH"]:
        """Returns the first `BATCH` keys."""
        return jax.random.wrap_key_data(jax.device_put(self._words[what, :BATCH]))

    def action(self, index: int) -> Any:
        """Returns the sample of the action space that a step takes."""
        return jax.tree.map(lambda actions: jax.device_put(actions[index]), self.actions)

    @property
    def observation(self) -> Any:
        """A sample of the observation space, on the host."""
        return jax.tree.map(itemgetter(0), self._samples[0])

    @property
    def actions(self) -> Any:
        """Samples of the action space, one for each step and `BATCH` at least, on the host."""
        return self._samples[1]

    @cached_property
    def begun(self) -> tuple[tuple[Any, Timestep], tuple[Any, Timestep]]:
        """A reset by values, twice with the same key."""
        key = self.key(RESET)
        return _by_values(lambda: (self.env.reset(key), self.env.reset(key)))

    @cached_property
    def restarted(self) -> tuple[Any, Timestep]:
        """A restart by values, where the environment has one of its own; else a reset."""
        if type(self.env).restart is Env.restart:
            return self.begun[0]
        key, state = self.key(RESTART), _copied(self.begun[0][0])
        return _by_values(lambda: self.env.restart(key, state))

    @cached_property
    def stepped(self) -> Stepped:
        """The first step by values, twice."""
        key, state, action = self.key(STEP), _copied(self.begun[0][0]), self.action(0)
        return _by_values(lambda: Stepped(self.env.step(key, state, action), self.env.step(key, state, action), state))

    @cached_property
    def walk(self) -> Walk:
        """A walk of `steps` steps, `BATCH` at least."""
        begun = self._reset(self._words[RESET, 0])
        (state, timestep), steps = begun, []
        for i in range(len(self._words[STEP])):
            obs, before = timestep.obs, state
            state, timestep = self._step(self._words[STEP, i], before, jax.tree.map(itemgetter(i), self.actions))
            steps.append(Step(before, obs, state, timestep))
            if timestep.terminated or timestep.truncated:
                state, timestep = self.restart(i, state)
        host = jax.device_get([step.timestep for step in steps])
        return Walk(begun, [step._replace(timestep=timestep) for step, timestep in zip(steps, host, strict=True)])

    def restart(self, index: int, state: Any) -> tuple[Any, Timestep]:
        """Begins the next episode by the compiled method."""
        return self._restart(self._words[RESTART, index], state)

    def stacked_states(self) -> Any:
        """Returns the states before the first steps of the walk, [BATCH, ...]."""
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *[step.state for step in self.walk.steps[:BATCH]])

    @cached_property
    def together(self) -> tuple[Any, Timestep]:
        """The first steps of the walk under `vmap`, [BATCH, ...]."""

        def steps(env: Env, keys: Key[Array, " BATCH"], actions: Any) -> tuple[Any, Timestep]:
            return jax.vmap(env.step)(keys, self.stacked_states(), actions)

        actions = jax.tree.map(itemgetter(slice(BATCH)), self.actions)
        return _compiled(self.env, steps)(self._words[STEP, :BATCH], actions)

    @cached_property
    def _words(self) -> np.ndarray:
        """Words of keys, uint32 [uses, steps, words of a key], by NumPy: programs that split keys compile long."""
        shape = jax.eval_shape(jax.random.key_data, key_like()).shape
        numbers = np.random.default_rng(self._seed % 2**32)
        return numbers.integers(0, 2**32, (4, max(self.steps, BATCH), *shape), np.uint32)

    @cached_property
    def _samples(self) -> Any:
        spaces = (self.env.observation_space, self.env.action_space)
        words = self._words[SAMPLE, :, :1]
        return jax.device_get(_samples(spaces, words[:1], words))

    @cached_property
    def _reset(self) -> Callable[..., Any]:
        return _compiled(self.env, type(self.env).reset)

    @cached_property
    def _restart(self) -> Callable[..., Any]:
        if type(self.env).restart is Env.restart:
            return lambda words, state: self._reset(words)
        return _compiled(self.env, type(self.env).restart)

    @cached_property
    def _step(self) -> Callable[..., Any]:
        return _compiled(self.env, type(self.env).step)


def _quick_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `jax.jit` of a function that runs a few times, which XLA need not optimise."""
    return jax.jit(function, compiler_options=backends.current().startup_options)


def _compiled(env: Env, method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method as a compiled function of words of keys and its other arguments; the environment is traced."""
    numbers, rest = eqx.partition(env, eqx.is_array)

    @_quick_jit
    @wraps(method)
    def call(numbers: Any, words: Array, *args: Any) -> Any:
        return method(eqx.combine(numbers, rest), jax.random.wrap_key_data(words), *args)

    return lambda *args: call(numbers, *args)


@eqx.filter_jit
def _samples(spaces: tuple[Space, Space], *words: Array | np.ndarray) -> list[Any]:
    """Returns samples of each space, one for each of its words."""
    return [jax.vmap(space.sample)(quick_keys(some)) for space, some in zip(spaces, words, strict=True)]


def _by_values(function: Callable[[], Any]) -> Any:
    """Returns what a function gives that has values at hand and no tracers; what it traces runs as one program.

    Arrays of JAX become arguments of the program: what is constant, XLA would work out while it compiles. A leaf that
    the function does not trace, such as an array of NumPy's, comes back as it is.
    """
    leaves: list[Any] = []
    tree: list[Any] = []

    def traced() -> list[Any]:
        leaves[:], structure = jax.tree.flatten(function())
        tree[:] = [structure]
        return [leaf for leaf in leaves if isinstance(leaf, Tracer)]

    closed = jax.make_jaxpr(traced)()

    def by_values(arrays: list[Any]) -> list[Any]:
        return eval_jaxpr(closed.jaxpr, arrays)

    computed = iter(_quick_jit(by_values)(closed.consts))
    return jax.tree.unflatten(tree[0], [next(computed) if isinstance(leaf, Tracer) else leaf for leaf in leaves])


def _copied(tree: Any) -> Any:
    """Returns the tree with copies of what can be changed in place."""
    return jax.tree.map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree)
