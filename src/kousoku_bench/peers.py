"""Other libraries' environments, as their documentation says to run many of them fast; each may be absent."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kousoku.core.promotion import their_promotion

from .by_hand.q_learning_c import NoCompiler, compiler_version

DRAWN = 16
NAMES = ("numba", "gymnax", "envpool", "gymnasium", "mujoco", "mujoco-mjx", "brax")


def versions() -> dict[str, str]:
    """Returns the versions of the libraries that are here, and of the C compiler."""
    found = installed(NAMES)
    with suppress(NoCompiler):
        found["cc"] = compiler_version()
    return found


def installed(names: Iterable[str]) -> dict[str, str]:
    """Returns the versions of those packages that are here."""
    found = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@contextmanager
def foreign() -> Iterator[None]:
    """Runs other libraries' code: its warnings are its own affair, and it may rely on JAX's promotions."""
    with warnings.catch_warnings(), their_promotion():
        warnings.simplefilter("ignore")
        yield


def gymnax_loop(id: str, steps: int) -> Callable[[Any, Any], Any]:
    """Returns a function (keys [N], carry [N, ...] or None) -> carry: a scan of random actions, vmapped; gymnax
    restarts episodes.
    """
    with foreign():
        gymnax = importlib.import_module("gymnax")
        env, params = gymnax.make(id)

    def step(carry: Any, _: None) -> tuple[Any, None]:
        key, _, state, reward, episodes = carry
        key, action_key, step_key = jax.random.split(key, 3)
        action = env.action_space(params).sample(action_key)
        obs, state, given, done, _ = env.step(step_key, state, action, params)
        return (key, obs, state, reward + given, episodes + done.astype(jnp.int32)), None

    def start(key: Any) -> Any:
        key, reset_key = jax.random.split(key)
        return key, *env.reset(reset_key, params), jnp.float32(0.0), jnp.int32(0)

    def run(keys: Any, carry: Any) -> Any:
        if carry is None:
            return jax.vmap(start)(keys)
        return jax.vmap(lambda one: jax.lax.scan(step, one, length=steps)[0])(carry)

    return run


def envpool_steps(id: str, count: int) -> Callable[[int], None]:
    """Returns a function that steps `count` environments a number of times, on all cores."""
    with foreign():
        envpool = importlib.import_module("envpool")
        env = envpool.make_gymnasium(id, num_envs=count, num_threads=os.cpu_count() or 1, seed=0)
        env.reset()
    return _stepped(env, env.action_space, count)


def gymnasium_steps(id: str, count: int, mode: str | None = None) -> tuple[Callable[[int], None], str]:
    """Returns the same with Gymnasium's vector environment of a mode, and its kind.

    By default it is the environment's own where there is one.
    """
    with foreign():
        gymnasium = importlib.import_module("gymnasium")
        own = gymnasium.spec(id).vector_entry_point is not None if mode is None else mode == "vector_entry_point"
        env = gymnasium.make_vec(id, count, vectorization_mode="vector_entry_point" if own else "sync")
        env.reset(seed=0)
        space = env.unwrapped.single_action_space
    return _stepped(env, space, count), "NumPy" if own else "sync"


def has_own_vector(id: str) -> bool:
    """Returns whether Gymnasium has a vector environment of its own for this id.

    Raises:
        ImportError: if Gymnasium is not there.
    """
    return importlib.import_module("gymnasium").spec(id).vector_entry_point is not None


def gymnasium_async_steps(id: str, count: int) -> Callable[[int], None]:
    """Returns the same with environments in processes of their own."""
    with foreign():
        gymnasium = importlib.import_module("gymnasium")
        env = gymnasium.make_vec(id, count, vectorization_mode="async")
        env.reset(seed=0)
        space = env.unwrapped.single_action_space
    return _stepped(env, space, count)


def gymnasium_alone_steps(id: str) -> Callable[[int], None]:
    """Returns the same with one environment, which is reset where its episode has ended."""
    with foreign():
        env = importlib.import_module("gymnasium").make(id)
        env.reset(seed=0)
    drawn = _drawn(env.action_space, 1)

    def run(steps: int) -> None:
        with foreign():
            for i in range(steps):
                _, _, terminated, truncated, _ = env.step(drawn[i % DRAWN, 0])
                if terminated or truncated:
                    env.reset()

    return run


def brax_loop(name: str, backend: str, steps: int) -> Callable[[Any, Any], Any]:
    """Returns what `gymnax_loop` does, of Brax, whose wrapper goes back to the first start."""
    with foreign():
        envs = importlib.import_module("brax.envs")

    def run(keys: Any, carry: Any) -> Any:
        env = envs.create(name, backend=backend, episode_length=1000, auto_reset=True, batch_size=keys.shape[0])
        if carry is None:
            return jax.random.key(0), env.reset(jax.random.key(1))
        key, state = carry

        def step(carry: Any, key: Any) -> tuple[Any, None]:
            action = jax.random.uniform(key, (keys.shape[0], env.action_size), minval=-1.0, maxval=1.0)
            return env.step(carry, action), None

        key, use = jax.random.split(key)
        return key, jax.lax.scan(step, state, jax.random.split(use, steps))[0]

    return run


def mjx_loop(id: str, steps: int) -> Callable[[Any, Any], Any]:
    """Returns what `gymnax_loop` does, of MJX: the physics alone, on from where it is; by Newton's method, as it has no
    PGS.
    """
    with foreign():
        mjx, gymnasium = importlib.import_module("mujoco.mjx"), importlib.import_module("gymnasium")
        env = gymnasium.make(id).unwrapped
        env.model.opt.solver = importlib.import_module("mujoco").mjtSolver.mjSOL_NEWTON
        model, skip = mjx.put_model(env.model), env.frame_skip
        low, high = env.action_space.low, env.action_space.high
        data = mjx.make_data(model)

    def walk(key: Any, data: Any) -> Any:
        def step(data: Any, key: Any) -> tuple[Any, None]:
            data = data.replace(ctrl=jax.random.uniform(key, low.shape, minval=low, maxval=high))
            return jax.lax.fori_loop(0, skip, lambda _, d: mjx.step(model, d), data), None

        key, use = jax.random.split(key)
        return key, jax.lax.scan(step, data, jax.random.split(use, steps))[0]

    def run(keys: Any, carry: Any) -> Any:
        if carry is None:
            return jax.vmap(lambda key: (key, data))(keys)
        return jax.vmap(walk)(*carry)

    return run


def _drawn(space: Any, count: int) -> np.ndarray:
    """Draws random actions, [DRAWN, count, ...], before they are needed: they cost these libraries nothing."""
    rng = np.random.default_rng(0)
    if hasattr(space, "n"):
        return rng.integers(space.n, size=(DRAWN, count))
    return rng.uniform(space.low, space.high, (DRAWN, count, *space.shape)).astype(np.float32)


def _stepped(env: Any, space: Any, count: int) -> Callable[[int], None]:
    """Returns a function that steps with random actions."""
    drawn = _drawn(space, count)

    def run(steps: int) -> None:
        with foreign():
            for i in range(steps):
                env.step(drawn[i % DRAWN])

    return run
