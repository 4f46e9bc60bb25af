"""dm_control's suite as the reference: its physics, observations and rewards from first states of ours.

Its 1.0.50 looks for fields of flexible bodies that MuJoCo 4 has no more; they are taken from its tables here, as no
domain of ours has any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs.dm_control import SuiteState
from kousoku.physics import State

suite = pytest.importorskip("dm_control.suite")
sizes = pytest.importorskip("dm_control.mujoco.wrapper.mjbindings").sizes

for _struct, _owner in (("mjmodel", mujoco.MjModel), ("mjdata", mujoco.MjData)):
    for _gone in [name for name in sizes.array_sizes[_struct] if not hasattr(_owner, name)]:
        del sizes.array_sizes[_struct][_gone]


class Step(NamedTuple):
    """What dm_control was given and made of it."""

    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    warmstart: np.ndarray
    goal: np.ndarray
    numbers: dict[str, Any]
    action: np.ndarray
    obs: np.ndarray
    reward: float


def theirs(id: str) -> Any:
    """dm_control's environment of an id of ours, whose solver runs to the end."""
    domain, task = id.removeprefix("dm_control/").removesuffix("-v0").split("-")
    env = suite.load(domain, task, task_kwargs={"random": 0})  # the same states in every run of a test
    options = env.physics.model.ptr.opt
    options.solver, options.tolerance, options.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 0.0, 100
    options.ccd_tolerance, options.ccd_iterations = 1e-15, 1000
    return env


def flat(observation: dict[str, Any]) -> np.ndarray:
    """dm_control's observation as one vector, in its order."""
    return np.concatenate([np.ravel(part) for part in observation.values()]).astype(np.float64)


def put(env: Any, state: SuiteState) -> np.ndarray:
    """Puts a state of ours into dm_control's physics, and returns what its task observes there."""
    physics = env.physics
    with physics.reset_context():
        physics.data.qpos[:], physics.data.qvel[:] = state.physics.qpos, state.physics.qvel
        set_goal(physics, np.asarray(state.goal))
        for name, values in state.numbers.items():
            for row, value in values.items() if isinstance(values, dict) else [(slice(None), values)]:
                getattr(physics.model, name)[row] = value
    return flat(env.task.get_observation(physics))


def set_goal(physics: Any, goal: np.ndarray) -> None:
    if goal.size:
        is_geom = mujoco.mj_name2id(physics.model.ptr, mujoco.mjtObj.mjOBJ_GEOM, "target") >= 0
        kind = "geom" if is_geom else "site"
        getattr(physics.named.model, f"{kind}_pos")["target"] = goal


def actions(env: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random commands, some beyond their ranges; then waves, extremes, and none at all, a quarter each."""
    model = env.physics.model
    # Commands without bounds are as those between -1 and 1.
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
    shape = (count // 4, low.size)
    waves = np.sin(0.3 * np.arange(shape[0])[:, None] + rng.uniform(0.0, 6.3, low.size))
    parts = [rng.uniform(-1.2, 1.2, shape), waves, rng.choice([-1.0, 1.0], shape), np.zeros(shape)]
    return (low + high) / 2 + (high - low) / 2 * np.concatenate(parts)


def play(id: str, count: int, seed: int) -> list[Step]:
    """`count` steps of dm_control's, in four episodes, each from a first state of ours."""
    env, own = theirs(id), ks.make(id)
    env.reset()
    rng, reset = np.random.default_rng(seed), jax.jit(lambda key: own.reset(key))
    found: list[Step] = []
    for episode, part in enumerate(np.split(actions(env, count, rng), 4)):
        state, _ = reset(jax.random.key(100 * seed + episode))
        put(env, state)
        goal = np.asarray(state.goal, np.float64)
        numbers = jax.tree.map(lambda values: np.asarray(values, np.float64), state.numbers)
        for action in part:
            data = env.physics.data
            before = data.qpos.copy(), data.qvel.copy(), data.act.copy(), data.qacc_warmstart.copy()
            timestep = env.step(action)
            found.append(Step(*before, goal, numbers, action, flat(timestep.observation), timestep.reward))
    return found


def ours(env: ks.Env, steps: list[Step], dtype: Any) -> Any:
    """Our timesteps from the same states, stacked; our solver runs to the end, too."""
    env = eqx.tree_at(lambda e: e.model, env, env.model.with_numbers(tolerance=jnp.zeros((), dtype)))
    fields = ("qpos", "qvel", "act", "warmstart", "goal", "action")
    given = [jnp.asarray(np.stack([getattr(step, name) for step in steps]), dtype) for name in fields]
    numbers = jax.tree.map(lambda *rows: jnp.asarray(np.stack(rows), dtype), *[step.numbers for step in steps])
    key = jax.random.key(0)

    def one(qpos: Any, qvel: Any, act: Any, warmstart: Any, goal: Any, action: Any, numbers: Any) -> Any:
        return env.step(key, SuiteState(State(qpos, qvel, act, warmstart), goal, numbers), action)[1]

    return jax.jit(jax.vmap(one))(*given, numbers)
