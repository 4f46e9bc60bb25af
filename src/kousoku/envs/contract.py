"""The contract that every environment keeps, as a check that a user can run on one of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.env import Env, Finite
from ..core.env_shapes import class_of, door_for, is_pair, shape_problems, state_change, timestep_problems
from ..core.error_meanings import error_meaning
from ..core.errors import Brief, ConfigError, check_count
from ..core.host import HostEnv
from ..core.leaves import shapes
from ..core.model import TabularModel, check_model
from ..core.spaces import Discrete
from ..core.timestep import Timestep
from ..core.wrapper import kind_of
from .evidence import BATCH, RESET, RESTART, STEP, Evidence


class ContractError(Brief, AssertionError):
    """An environment breaks the contract; the message lists every rule that it breaks."""


def check_env(env: Env, *, steps: int = 200, seed: int = 0) -> None:
    """Checks that an environment does what every loop and agent relies on.

    Traces it and looks at spaces, shapes and dtypes (which `train` does, too); then resets and steps it with random
    actions, by values and compiled, alone and under `vmap`, and looks at flags, spaces, purity and randomness.

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
    steps, seed = check_count("steps", steps), check_count("seed", seed, low=0)
    if not isinstance(env, Env):
        got = env.__name__ if isinstance(env, type) else type(env).__name__
        by_id = f"kousoku.make({env!r}) makes it" if isinstance(env, str) else None
        fix = "subclass it" if env is Env else by_id or class_of(env) or door_for(env) or "subclass it"
        raise ContractError(f"an environment must be a kousoku.Env, got {got}: {fix}")
    if isinstance(env, HostEnv):
        raise ContractError(f"{env.name} runs on the host, where the checks of its own library are for it")
    problems: list[str] = []
    seen = Evidence(env, steps, seed)
    for check in (_shapes, _spaces, _reset, _step, _compiled, _batched, _randomness, _model):
        try:
            problems.extend(check(seen))  # keeps what came before an exception
        except Exception as error:
            problems.append(f"{check.__name__.strip('_')}: {error_meaning(error)}")
        if problems and check in (_shapes, _spaces, _reset, _step):
            break
    if problems:
        lines = "\n".join(f"  - {problem}" for problem in dict.fromkeys(problems))
        raise ContractError(f"{kind_of(env)} breaks the contract of an environment:\n{lines}")


def _shapes(seen: Evidence) -> Iterator[str]:
    """Checks all that is known before anything runs."""
    yield from shape_problems(seen.env)


def _spaces(seen: Evidence) -> Iterator[str]:
    """Checks that spaces contain their own samples."""
    action = jax.tree.map(itemgetter(0), seen.actions)
    for name, sample in (("observation_space", seen.observation), ("action_space", action)):
        if not getattr(seen.env, name).contains(sample):
            yield f"{name}: a sample of it is not contained in it"


def _reset(seen: Evidence) -> Iterator[str]:
    """Checks that a reset's and a restart's timestep is complete, inside the space, with reward 0 and no flag set."""
    result, again = seen.begun
    yield from _first("reset", seen.env, result)
    if not _equal(result, again):
        yield "reset: the same key must give the same result; take all randomness from the key"
    restarted = seen.restarted
    yield from _first("restart", seen.env, restarted)
    if shapes(restarted) != shapes(result):
        yield f"restart: it gives other shapes or dtypes than reset: {shapes(result)} became {shapes(restarted)}"


def _step(seen: Evidence) -> Iterator[str]:
    """Checks that a step keeps shapes and dtypes, and is a function of its arguments."""
    before, (result, again, after) = seen.begun[0][0], seen.stepped
    yield from _timestep("step", seen.env, result[1])
    yield from _weak("step", result)
    if shapes(result[0]) != shapes(before):
        yield state_change(shapes(before), result[0])
        return
    if not _equal(result, again):
        yield "step: the same key, state and action must give the same result"
    if not _equal(before, after):
        yield "step: it changes the state that it was given; return a new one"


def _compiled(seen: Evidence) -> Iterator[str]:
    """Checks that methods give the same traced as by values, and that the numbers of a walk are as they have to be."""
    if not _close(seen.walk.begun, seen.begun[0]):
        yield "reset: compiled, it gives another result than without"
    first, space = seen.walk.steps[0], seen.env.observation_space
    if not _close((first.next_state, first.timestep), seen.stepped.result):
        yield "step: compiled, it gives another result than without"
    for i, step in enumerate(seen.walk.steps):
        timestep = step.timestep
        if not space.contains(timestep.obs):
            yield f"step {i}: observation {timestep.obs} is outside {space}"
            return
        if not np.isfinite(timestep.reward):
            yield f"step {i}: reward is {timestep.reward}"
            return


def _batched(seen: Evidence) -> Iterator[str]:
    """Checks that an environment gives the same alone as among others, both compiled."""
    states = jax.eval_shape(seen.stacked_states)
    jax.eval_shape(jax.vmap(seen.env.reset), seen.keys(RESET))
    jax.eval_shape(jax.vmap(seen.env.restart), seen.keys(RESTART), states)
    alone = [(step.next_state, step.timestep) for step in seen.walk.steps[:BATCH]]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(_plain(alone)))
    if not _close(stacked, seen.together):
        yield "step: under jax.vmap an environment gives another result than alone"


def _randomness(seen: Evidence) -> Iterator[str]:
    """Checks that no key is used twice.

    JAX reads that off the traced program, at once. It may suspect one that is right, for it does not know which branch
    is taken: then the operations run one by one, and what they do counts.
    """
    for checked in (eqx.filter_jit(_used), jax.disable_jit()(_used)):
        reset_key, step_key, restart_key = map(seen.key, (RESET, STEP, RESTART))
        with jax.debug_key_reuse(True):
            try:
                checked(seen.env, reset_key, step_key, restart_key, seen.action(0))
                return
            except jax.errors.KeyReuseError as error:
                reuse = str(error).splitlines()[0]
    yield f"a PRNG key is used twice; split it first ({reuse})"


def _used(env: Env, reset_key: jax.Array, step_key: jax.Array, restart_key: jax.Array, action: Any) -> None:
    """Begins an episode, takes a step and begins the next, each with a key of its own; nothing of it is returned."""
    state, _ = env.reset(reset_key)
    state, _ = env.step(step_key, state, action)
    env.restart(restart_key, state)


def _model(seen: Evidence) -> Iterator[str]:
    """Checks that the exact model, where there is one, is a model, and that steps are among its outcomes."""
    env = seen.env
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
        yield from _outcomes(seen, model)


def _outcomes(seen: Evidence, model: TabularModel) -> Iterator[str]:
    """Starts and steps are possible in the model; not asked of an environment that changes over its lifetime."""
    if not _equal(seen.restart(0, seen.walk.begun[0]), seen.restart(0, seen.walk.steps[-1].next_state)):
        return
    first = jax.device_get(seen.walk.begun[1].obs)
    if not model.start[int(first)] > 0:
        yield f"model: an episode begins in {first}, which the model's start says is impossible"
        return
    for i, step in enumerate(seen.walk.steps):
        obs, action, timestep = int(step.obs), int(seen.actions[i]), step.timestep
        if not _possible(model, obs, action, timestep):
            outcome = f"observation {timestep.obs}, reward {timestep.reward}, terminated {timestep.terminated}"
            yield f"model: step from {obs} with action {action} gives {outcome}, which the model says is impossible"
            return


def _possible(model: TabularModel, obs: int, action: int, timestep: Timestep) -> bool:
    """Returns whether some outcome of (obs, action) agrees; where an episode ends, what follows does not count."""
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
