"""The contract that every environment keeps, as a check that a user can run on one of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .env import Env, Finite
from .errors import ConfigError
from .model import check_model
from .spaces import Box, Dict, Discrete, MultiDiscrete
from .timestep import Timestep

SPACES = (Discrete, MultiDiscrete, Box, Dict)


class ContractError(AssertionError):
    """An environment breaks the contract; the message lists every rule that it breaks."""


def check_env(env: Env, *, steps: int = 200, seed: int = 0) -> None:
    """Check that an environment does what every loop and agent relies on.

    Resets and steps it with random actions, compiled and not, alone and under `vmap`, and looks at shapes, dtypes,
    flags, spaces, purity and randomness.

    Args:
        env: the environment, your own or a registered one.
        steps: random steps to take.
        seed: of the actions and of the environment's randomness.

    Raises:
        ContractError: with one line for each rule that is broken.

    Examples:
        >>> import kousoku as ks
        >>> check_env(ks.make("GridWorld-v0"), steps=20)
    """
    if not isinstance(env, Env):
        raise ContractError(f"an environment must be a kousoku.Env, got {type(env).__name__}: subclass it")
    problems: list[str] = []
    for check in (_spaces, _reset, _step, _compiled, _batched, _randomness, _model):
        try:
            problems += list(check(env, steps, jax.random.key(seed)))
        except Exception as error:
            problems.append(f"{check.__name__.strip('_')}: raised {type(error).__name__}: {str(error).splitlines()[0]}")
        if problems and check in (_spaces, _reset, _step):
            break
    if problems:
        lines = "\n".join(f"  - {problem}" for problem in problems)
        raise ContractError(f"{type(env).__name__} breaks the contract of an environment:\n{lines}")


def _spaces(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Spaces are ours and agree with their own samples; the time limit is a count."""
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        if not isinstance(space, SPACES):
            yield f"{name} is a {type(space).__name__}: use Discrete, MultiDiscrete, Box or Dict of kousoku"
        elif not space.contains(jax.device_get(space.sample(key))):
            yield f"{name}: a sample of it is not contained in it"
    limit = env.time_limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        yield f"time_limit is {limit!r}: use None or a whole number of at least 1"


def _reset(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """The first timestep is complete, inside the space, with reward 0 and no flag set."""
    result = env.reset(key)
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], Timestep):
        yield "reset must return (state, Timestep)"
        return
    yield from _timestep("reset", env, result[1])
    timestep = jax.device_get(result[1])
    if np.any(timestep.terminated) or np.any(timestep.truncated):
        yield "reset: the first timestep must be neither terminated nor truncated"
    if np.any(timestep.reward != 0):
        yield f"reset: the first reward must be 0, got {timestep.reward}"
    again = env.reset(key)
    if not _equal(result, again):
        yield "reset: the same key must give the same result; take all randomness from the key"


def _step(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Each step keeps shapes and dtypes, and is a function of its arguments."""
    reset_key, walk_key = jax.random.split(key)
    state, _ = env.reset(reset_key)
    shape = _shapes(state)
    for i in range(min(steps, 20)):
        act_key, step_key, restart_key = jax.random.split(jax.random.fold_in(walk_key, i), 3)
        action = env.action_space.sample(act_key)
        before = jax.device_get(state)
        next_state, timestep = env.step(step_key, state, action)
        yield from _timestep("step", env, timestep)
        if _shapes(next_state) != shape:
            yield f"step: the state's structure, shapes or dtypes change: {shape} became {_shapes(next_state)}"
            return
        if not _equal((next_state, timestep), env.step(step_key, state, action)):
            yield "step: the same key, state and action must give the same result"
        if not _equal(before, state):
            yield "step: it changes the state that it was given; return a new one"
        state = env.restart(restart_key, next_state)[0] if timestep.terminated else next_state


def _compiled(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Compiled and interpreted agree, over an episode or more; no value depends on Python's side effects."""
    state, timestep = eqx.filter_jit(env.reset)(key)
    if not _close((state, timestep), env.reset(key)):
        yield "reset: compiled, it gives another result than without"
    step, restart = eqx.filter_jit(env.step), eqx.filter_jit(env.restart)
    for i in range(steps):
        act_key, step_key, restart_key = jax.random.split(jax.random.fold_in(key, i), 3)
        state, timestep = step(step_key, state, env.action_space.sample(act_key))
        if not env.observation_space.contains(jax.device_get(timestep.obs)):
            yield f"step {i}: observation {timestep.obs} is outside {env.observation_space}"
            return
        if not np.isfinite(timestep.reward):
            yield f"step {i}: reward is {timestep.reward}"
            return
        if timestep.terminated or timestep.truncated:
            state, _ = restart(restart_key, state)


def _batched(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """A lane gives the same alone as among others."""
    keys = jax.random.split(key, 3)
    states, timesteps = jax.vmap(env.reset)(keys)
    actions = jax.vmap(env.action_space.sample)(keys)
    batch = jax.vmap(env.step)(keys, states, actions)
    for i in range(3):
        alone = env.step(keys[i], _lane(states, i), _lane(actions, i))
        if not _close(_lane(batch, i), alone):
            yield "step: under jax.vmap a lane gives another result than alone"
            return


def _randomness(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """No key is used twice."""
    reset_key, act_key, step_key = jax.random.split(key, 3)
    with jax.debug_key_reuse(True), jax.disable_jit():
        try:
            state, _ = env.reset(reset_key)
            env.step(step_key, state, env.action_space.sample(act_key))
        except jax.errors.KeyReuseError as error:
            yield f"a PRNG key is used twice; split it first ({str(error).splitlines()[0]})"


def _model(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """The exact model, where there is one, is a model, and steps are among its outcomes."""
    if not isinstance(env, Finite) or not isinstance(env.observation_space, Discrete):
        return
    try:
        model = env.model()
        check_model(model)
    except ConfigError as error:
        yield f"model: {error}"
        return
    if model.num_states != env.observation_space.n:
        yield f"model: it has {model.num_states} states, but observations are {env.observation_space}"


def _timestep(where: str, env: Env, timestep: Any) -> Iterator[str]:
    if not isinstance(timestep, Timestep):
        yield f"{where} must return (state, Timestep)"
        return
    expected: tuple[tuple[str, Any], ...] = (("reward", jnp.float32), ("terminated", jnp.bool_), ("truncated", jnp.bool_))
    for name, dtype in expected:
        value = getattr(timestep, name)
        if jnp.shape(value) != () or jnp.result_type(value) != dtype:
            found = f"{jnp.result_type(value)}{list(jnp.shape(value))}"
            yield f"{where}: {name} must be a {jnp.dtype(dtype).name} scalar, got {found}"
    if not env.observation_space.contains(jax.device_get(timestep.obs)):
        yield f"{where}: observation {timestep.obs} is outside {env.observation_space}"
    weak = [path for path, leaf in _leaves(timestep) if getattr(jnp.asarray(leaf).aval, "weak_type", False)]
    if weak:
        yield f"{where}: {', '.join(weak)} has a weak type, which recompiles loops: give it a dtype"


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]


def _shapes(tree: Any) -> list[tuple[str, tuple[int, ...], str]]:
    return [(path, jnp.shape(leaf), str(jnp.asarray(leaf).dtype)) for path, leaf in _leaves(tree)]


def _lane(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _compare(same: Callable[[np.ndarray, np.ndarray], bool]) -> Callable[[Any, Any], bool]:
    def agree(a: Any, b: Any) -> bool:
        left, right = _leaves(jax.device_get(_plain(a))), _leaves(jax.device_get(_plain(b)))
        return len(left) == len(right) and all(same(x, y) for (_, x), (_, y) in zip(left, right, strict=True))

    return agree


def _plain(tree: Any) -> Any:
    """Keys as the words that they are made of."""

    def words(leaf: Any) -> Any:
        typed = hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return jax.random.key_data(leaf) if typed else leaf

    return jax.tree.map(words, tree)


_equal = _compare(lambda x, y: np.array_equal(x, y, equal_nan=True))
_close = _compare(lambda x, y: np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True))
