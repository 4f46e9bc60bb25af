"""The contract that every environment keeps, as a check that a user can run on one of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from .env import Env, Finite
from .env_shapes import is_pair, shape_problems, shapes, state_change, timestep_problems
from .errors import ConfigError
from .model import TabularModel, check_model
from .spaces import Discrete, Space
from .timestep import Timestep

INTERPRETED = 20
"""Steps that are taken without compiling them, at most."""
BATCH = 3
"""Steps that are compared with the same ones taken together."""


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
    drawn = _drawn(env, steps, key)
    action = jax.tree.map(itemgetter(0), drawn.steps.action)
    for name, sample in (("observation_space", drawn.observation), ("action_space", action)):
        if not getattr(env, name).contains(sample):
            yield f"{name}: a sample of it is not contained in it"


def _reset(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that a reset's and a restart's timestep is complete, inside the space, with reward 0 and no flag set."""
    drawn = _drawn(env, steps, key)
    reset_key, restart_key = map(_key, (drawn.reset_key, drawn.steps.restart_key[0]))
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
    drawn = _drawn(env, steps, key)
    state, _ = env.reset(_key(drawn.reset_key))
    shape = shapes(state)
    for i in range(min(steps, INTERPRETED)):
        step_key, action, restart_key = drawn.step(i)
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
    """Checks that compiled and interpreted agree, and that the numbers of a compiled walk are as they have to be."""
    drawn = _drawn(env, steps, key)
    walk = _walked(env, drawn.reset_key, drawn.steps)
    if not _close(walk.begun, env.reset(_key(drawn.reset_key))):
        yield "reset: compiled, it gives another result than without"
    observations, rewards = jax.device_get((walk.timesteps.obs, walk.timesteps.reward))
    for i in range(steps):
        obs = jax.tree.map(itemgetter(i), observations)
        if not env.observation_space.contains(obs):
            yield f"step {i}: observation {obs} is outside {env.observation_space}"
            return
        if not np.isfinite(rewards[i]):
            yield f"step {i}: reward is {rewards[i]}"
            return


def _batched(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that an environment gives the same alone as among others, both compiled: that takes less long."""
    drawn = _drawn(env, steps, key)
    walk = _walked(env, drawn.reset_key, drawn.steps)
    words, actions, restart_words = jax.tree.map(itemgetter(slice(BATCH)), drawn.steps)
    jax.eval_shape(jax.vmap(env.reset), _key(words))
    jax.eval_shape(jax.vmap(env.restart), _key(restart_words), walk.states)
    if not _close(walk.alone, _together(env, words, walk.states, actions)):
        yield "step: under jax.vmap an environment gives another result than alone"


@eqx.filter_jit
def _together(env: Env, words: ArrayLike, states: Any, actions: Any) -> tuple[Any, Timestep]:
    return jax.vmap(env.step)(_key(words), states, actions)


def _randomness(env: Env, steps: int, key: jax.Array) -> Iterator[str]:
    """Checks that no key is used twice.

    JAX reads that off the traced program, at once. It may suspect one that is right, for it does not know which branch
    is taken: then the operations run one by one, and what they do counts.
    """
    drawn = _drawn(env, steps, key)
    for checked in (eqx.filter_jit(_used), jax.disable_jit()(_used)):
        reset_key, step = _key(drawn.reset_key), drawn.step(0)
        with jax.debug_key_reuse(True):
            try:
                checked(env, reset_key, step)
                return
            except jax.errors.KeyReuseError as error:
                said = str(error).splitlines()[0]
    yield f"a PRNG key is used twice; split it first ({said})"


def _used(env: Env, reset_key: jax.Array, step: _Step) -> None:
    """Begins an episode, takes a step and begins the next, each with a key of its own; nothing of it is returned."""
    state, _ = env.reset(reset_key)
    state, _ = env.step(step.key, state, step.action)
    env.restart(step.restart_key, state)


class _Step(NamedTuple):
    """Keys and action of one step and of a restart after it, or of T steps.

    Attributes:
        key: its key's words, uint32 [words].
        action: a sample of the action space.
        restart_key: the words of the key of a restart.
    """

    key: Any
    action: Any
    restart_key: Any


class _Drawn(NamedTuple):
    """Random keys, actions and an observation for the checks, on the host.

    Attributes:
        reset_key: the words of the key of a reset.
        steps: of T steps, `BATCH` at least.
        observation: a sample of the observation space.
    """

    reset_key: np.ndarray
    steps: _Step
    observation: Any

    def step(self, index: int) -> _Step:
        """Returns what one step needs, with keys in the place of their words."""
        words, action, restart_words = jax.tree.map(itemgetter(index), self.steps)
        return _Step(_key(words), jax.tree.map(jax.device_put, action), _key(restart_words))


def _drawn(env: Env, steps: int, key: jax.Array) -> _Drawn:
    """Draws keys by NumPy, for programs that split keys take long to compile; and samples in one program."""
    seed = np.asarray(jax.random.key_data(key))
    count = max(steps, BATCH)
    words = np.random.default_rng(seed).integers(0, 2**32, (3, count + 1, *seed.shape), np.uint32)
    spaces = (env.observation_space, env.action_space)
    observation, actions = jax.device_get(_samples(spaces, words[0, :1], words[0, 1:]))
    first = jax.tree.map(itemgetter(0), observation)
    return _Drawn(words[1, 0], _Step(words[1, 1:], actions, words[2, 1:]), first)


def _key(words: ArrayLike) -> jax.Array:
    """Returns the key of these words, or the keys; outside a program nothing is compiled for it."""
    return jax.random.wrap_key_data(jax.device_put(words))


@eqx.filter_jit
def _samples(spaces: tuple[Space, Space], *words: ArrayLike) -> list[Any]:
    """Returns samples of each space, one for each of its keys."""
    keys = map(_key, words)
    return [jax.lax.map(space.sample, some) for space, some in zip(spaces, keys, strict=True)]


class _Walk(NamedTuple):
    """Record of T random steps, from one compiled program, of an environment that restarts when an episode ends.

    Attributes:
        begun: what the first reset gave.
        obs: before each step.
        timesteps: that it gave.
        states: before each of the first `BATCH` steps.
        alone: (state, timestep) that each of these gave.
        last: the state after all steps.
    """

    begun: tuple[Any, Timestep]
    obs: Any
    timesteps: Timestep
    states: Any
    alone: tuple[Any, Timestep]
    last: Any


@eqx.filter_jit
def _walked(env: Env, reset_key: ArrayLike, steps: _Step) -> _Walk:
    """Resets, and takes T steps."""
    begun = env.reset(_key(reset_key))

    def advance(before: tuple[Any, Any], step: _Step) -> tuple[tuple[Any, Any], Any]:
        state, timestep = env.step(_key(step.key), before[0], step.action)

        def restart() -> tuple[Any, Any]:
            begun, first = env.restart(_key(step.restart_key), state)
            return begun, first.obs

        ended = timestep.terminated | timestep.truncated
        after = jax.lax.cond(ended, restart, lambda: (state, timestep.obs))
        return after, (*before, state, timestep)

    (last, _), (befores, obs, afters, timesteps) = jax.lax.scan(advance, (begun[0], begun[1].obs), steps)
    states, *alone = jax.tree.map(lambda leaf: leaf[:BATCH], (befores, afters, timesteps))
    return _Walk(begun, obs, timesteps, states, tuple(alone), last)


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
    drawn = _drawn(env, steps, key)
    walk = _walked(env, drawn.reset_key, drawn.steps)
    if not _equal(walk.begun, eqx.filter_jit(env.restart)(_key(drawn.reset_key), walk.last)):
        return
    first = walk.begun[1].obs
    if not model.start[int(first)] > 0:
        yield f"model: an episode begins in {first}, which the model's start says is impossible"
        return
    rows = jax.device_get((walk.obs, drawn.steps.action, walk.timesteps))
    for i in range(steps):
        obs, action, timestep = jax.tree.map(itemgetter(i), rows)
        if not _possible(model, int(obs), int(action), timestep):
            outcome = f"observation {timestep.obs}, reward {timestep.reward}, terminated {timestep.terminated}"
            yield f"model: step from {obs} with action {action} gives {outcome}, which the model says is impossible"
            return


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
            if getattr(jax.typeof(leaf), "weak_type", False):
                yield f"{where}: {part}{path} has a weak type, which recompiles loops: give it a dtype"


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]


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
