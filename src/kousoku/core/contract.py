"""The contract that every environment keeps, as a check that a user can run on one of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .env import Env, Finite
from .env_shapes import is_pair, shape_problems, shapes, state_change, timestep_problems
from .errors import ConfigError
from .model import TabularModel, check_model
from .spaces import Discrete
from .timestep import Timestep


class ContractError(AssertionError):
    """An environment breaks the contract; the message lists every rule that it breaks."""


def check_env(env: Env, *, steps: int = 200, seed: int = 0) -> None:
    """Checks that an environment does what every loop and agent relies on.

    Traces it and looks at spaces, shapes and dtypes (which `train` does, too); then resets and steps it with random
    actions, compiled and not, alone and under `vmap`, and looks at flags, spaces, purity and randomness.

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
    for check in (_shapes, _spaces, _reset, _step, _compiled, _batched, _randomness, _model):
        try:
            problems.extend(check(env, steps, jax.random.key(seed)))  # keeps what came before an exception
        except Exception as error:
            said = (str(error).splitlines() or [""])[0]
            problems.append(f"{check.__name__.strip('_')}: raised {type(error).__name__}: {said}")
        if problems and check in (_shapes, _spaces, _reset, _step):
            break
    if problems:
        lines = "\n".join(f"  - {problem}" for problem in dict.fromkeys(problems))
        raise ContractError(f"{type(env).__name__} breaks the contract of an environment:\n{lines}")


def _shapes(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks all that is known before anything runs."""
    yield from shape_problems(env)


def _spaces(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that spaces contain their own samples."""
    for name in ("observation_space", "action_space"):
        space = getattr(env, name)
        if not space.contains(jax.device_get(eqx.filter_jit(space.sample)(key))):
            yield f"{name}: a sample of it is not contained in it"


def _reset(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that a reset's and a restart's timestep is complete, inside the space, with reward 0 and no flag set."""
    reset_key, restart_key = jax.random.split(key)
    result = env.reset(reset_key)
    yield from _first("reset", env, result)
    if not is_pair(result):
        return
    if not _equal(result, env.reset(reset_key)):
        yield "reset: the same key must give the same result; take all randomness from the key"
    restarted = env.restart(restart_key, result[0])
    yield from _first("restart", env, restarted)
    if is_pair(restarted) and shapes(restarted) != shapes(result):
        yield f"restart: it gives other shapes or dtypes than reset: {shapes(result)} became {shapes(restarted)}"


def _step(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that each step keeps shapes and dtypes, and is a function of its arguments."""
    reset_key, walk_key = jax.random.split(key)
    state, _ = env.reset(reset_key)
    shape, sample = shapes(state), eqx.filter_jit(env.action_space.sample)
    for i in range(min(steps, 20)):
        act_key, step_key, restart_key = jax.random.split(jax.random.fold_in(walk_key, i), 3)
        action = sample(act_key)
        before = jax.tree.map(np.array, jax.device_get(_plain(state)))
        result = env.step(step_key, state, action)
        if not is_pair(result):
            yield "step must return (state, Timestep)"
            return
        next_state, timestep = result
        yield from _timestep("step", env, timestep)
        yield from _weak("step", (next_state, timestep))
        if shapes(next_state) != shape:
            yield state_change(shape, next_state)
            return
        if not _equal((next_state, timestep), env.step(step_key, state, action)):
            yield "step: the same key, state and action must give the same result"
        if not _equal(before, state):
            yield "step: it changes the state that it was given; return a new one"
        state = env.restart(restart_key, next_state)[0] if timestep.terminated else next_state


def _compiled(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that compiled and interpreted agree over an episode or more: no value depends on Python's side effects."""
    state, timestep = eqx.filter_jit(env.reset)(key)
    if not _close((state, timestep), env.reset(key)):
        yield "reset: compiled, it gives another result than without"
    step, restart = eqx.filter_jit(env.step), eqx.filter_jit(env.restart)
    sample = eqx.filter_jit(env.action_space.sample)
    for i in range(steps):
        act_key, step_key, restart_key = jax.random.split(jax.random.fold_in(key, i), 3)
        state, timestep = step(step_key, state, sample(act_key))
        if not env.observation_space.contains(jax.device_get(timestep.obs)):
            yield f"step {i}: observation {timestep.obs} is outside {env.observation_space}"
            return
        if not np.isfinite(timestep.reward):
            yield f"step {i}: reward is {timestep.reward}"
            return
        if timestep.terminated or timestep.truncated:
            state, _ = restart(restart_key, state)


def _batched(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that an environment gives the same alone as among others, both compiled: that takes less long."""
    keys, step = jax.random.split(key, 3), eqx.filter_jit(env.step)
    states, _ = jax.jit(jax.vmap(env.reset))(keys)
    actions = jax.jit(jax.vmap(env.action_space.sample))(keys)
    batch = jax.jit(jax.vmap(env.step))(keys, states, actions)
    for row, together in _rows(((keys, states, actions), batch)):
        if not _close(together, step(*row)):
            yield "step: under jax.vmap an environment gives another result than alone"
            return


def _randomness(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that no key is used twice."""
    reset_key, act_key, step_key, restart_key = jax.random.split(key, 4)
    action = eqx.filter_jit(env.action_space.sample)(act_key)
    with jax.debug_key_reuse(True), jax.disable_jit():
        try:
            state, _ = env.reset(reset_key)
            state, _ = env.step(step_key, state, action)
            env.restart(restart_key, state)
        except jax.errors.KeyReuseError as error:
            yield f"a PRNG key is used twice; split it first ({str(error).splitlines()[0]})"


def _model(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that the exact model, where there is one, is a model, and that steps are among its outcomes."""
    if not isinstance(env, Finite):
        return
    try:
        model = env.model()
    except ConfigError:
        return  # an environment may say that with these arguments it has no exact model
    try:
        check_model(model)
    except ConfigError as error:
        yield f"model: {error}"
        return
    observations, actions = env.observation_space, env.action_space
    if not isinstance(actions, Discrete) or model.num_actions != actions.n:
        yield f"model: it has {model.num_actions} actions, but actions are {actions}"
    elif isinstance(observations, Discrete) and model.num_states != observations.n:
        yield f"model: it has {model.num_states} states, but observations are {observations}"
    elif isinstance(observations, Discrete):
        yield from _outcomes(env, model, steps, key)


def _outcomes(env: Env, model: TabularModel, steps: int, key: jax.Array) -> Iterator[str]:
    """Starts and steps are possible in the model; not asked of an environment that changes over its lifetime."""
    reset_key, act_key, step_key, walk_key = jax.random.split(key, 4)
    reset, step, restart = eqx.filter_jit(env.reset), eqx.filter_jit(env.step), eqx.filter_jit(env.restart)
    state, timestep = reset(reset_key)
    later, _ = step(step_key, state, env.action_space.sample(act_key))
    if not _equal((state, timestep), restart(reset_key, later)):
        return
    if not model.start[int(timestep.obs)] > 0:
        yield f"model: an episode begins in {timestep.obs}, which the model's start says is impossible"
        return
    for i in range(steps):
        act_key, step_key, restart_key = jax.random.split(jax.random.fold_in(walk_key, i), 3)
        obs, action = int(timestep.obs), int(Discrete(model.num_actions).sample(act_key))
        state, timestep = step(step_key, state, jnp.int32(action))
        if not _possible(model, obs, action, jax.device_get(timestep)):
            outcome = f"observation {timestep.obs}, reward {timestep.reward}, terminated {timestep.terminated}"
            yield f"model: step from {obs} with action {action} gives {outcome}, which the model says is impossible"
            return
        if timestep.terminated or timestep.truncated:
            state, timestep = restart(restart_key, state)


def _possible(model: TabularModel, obs: int, action: int, timestep: Timestep) -> bool:
    """Tells whether some outcome of (obs, action) agrees; where an episode ends, what follows does not count."""
    alike = np.isclose(np.asarray(model.reward[obs, action]), timestep.reward, rtol=1e-5, atol=1e-6)
    alike &= np.asarray(model.terminated[obs, action]) == timestep.terminated
    alike &= timestep.terminated | (np.asarray(model.next_state[obs, action]) == timestep.obs)
    return bool(np.any(alike & (np.asarray(model.probability[obs, action]) > 0)))


def _first(where: str, env: Env, result: Any) -> Iterator[str]:
    if not is_pair(result):
        yield f"{where} must return (state, Timestep)"
        return
    yield from _timestep(where, env, result[1])
    yield from _weak(where, result)
    timestep = jax.device_get(result[1])
    if np.any(timestep.terminated) or np.any(timestep.truncated):
        yield f"{where}: the first timestep must be neither terminated nor truncated"
    if np.any(timestep.reward != 0):
        yield f"{where}: the first reward must be 0, got {timestep.reward}"


def _timestep(where: str, env: Env, timestep: Timestep) -> Iterator[str]:
    yield from timestep_problems(where, env, timestep)
    if not env.observation_space.contains(jax.device_get(timestep.obs)):
        yield f"{where}: observation {timestep.obs} is outside {env.observation_space}"


def _weak(where: str, result: tuple[Any, Any]) -> Iterator[str]:
    for part, tree in zip(("state", "timestep"), result, strict=True):
        for path, leaf in _leaves(tree):
            if getattr(jnp.asarray(leaf).aval, "weak_type", False):
                yield f"{where}: {part}{path} has a weak type, which recompiles loops: give it a dtype"


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]


@jax.jit
def _rows(tree: Any) -> list[Any]:
    """Returns the rows of a tree of arrays [3, ...], each a tree."""
    return [jax.tree.map(lambda leaf, i=i: leaf[i], tree) for i in range(3)]


def _compare(same: Callable[[np.ndarray, np.ndarray], bool]) -> Callable[[Any, Any], bool]:
    def agree(a: Any, b: Any) -> bool:
        left, right = _leaves(jax.device_get(_plain(a))), _leaves(jax.device_get(_plain(b)))
        return len(left) == len(right) and all(same(x, y) for (_, x), (_, y) in zip(left, right, strict=True))

    return agree


def _plain(tree: Any) -> Any:
    """Returns the tree with keys as the words that they are made of."""

    def words(leaf: Any) -> Any:
        typed = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return jax.random.key_data(leaf) if typed else leaf

    return jax.tree.map(words, tree)


_equal = _compare(lambda x, y: np.array_equal(x, y, equal_nan=True))
_close = _compare(lambda x, y: np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True))
