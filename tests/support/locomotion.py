"""Gymnasium's robots as the reference: its simulator's states from contact-rich motion, and what it makes of a step.

Each of its steps is compared with one of ours from the same state, in float64, with its solver run to convergence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from physics_states import silent

from kousoku.envs.locomotion import RobotState
from kousoku.physics import State

ENDLESS = 20  # steps that an episode goes on after its end, so that what follows is seen too

# A body with two legs that stands for ants and humanoids where these take too long to compile.
SMALL = """
<mujoco>
  <option timestep="0.004" integrator="RK4"/>
  <default><joint armature="0.02" damping="0.3" limited="true"/><geom friction="0.8 0.1 0.1" density="200"/></default>
  <worldbody>
    <geom type="plane" size="5 5 1" conaffinity="1"/>
    <body name="torso" pos="0 0 1.2">
      <joint type="free" limited="false" armature="0" damping="0"/>
      <geom type="capsule" fromto="-0.1 0 0 0.1 0.05 0" size="0.12"/>
      <body name="left" pos="0.1 0.1 -0.1">
        <joint name="left_hip" axis="0 1 0" range="-60 60"/>
        <geom type="capsule" fromto="0 0 0 0.1 0.1 -0.6" size="0.05"/>
      </body>
      <body name="right" pos="-0.1 -0.1 -0.1">
        <joint name="right_hip" axis="1 1 0" range="-60 60"/>
        <geom type="capsule" fromto="0 0 0 -0.1 -0.1 -0.6" size="0.05"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="between"><joint joint="left_hip" coef="1"/><joint joint="right_hip" coef="-0.5"/></fixed>
  </tendon>
  <actuator>
    <motor joint="left_hip" gear="40" ctrllimited="true" ctrlrange="-1 1"/>
    <motor joint="right_hip" gear="40" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
</mujoco>
"""


class Step(NamedTuple):
    """What Gymnasium was given and made of it."""

    qpos: np.ndarray
    qvel: np.ndarray
    warmstart: np.ndarray
    kept: np.ndarray
    action: np.ndarray
    obs: np.ndarray
    reward: float
    terminated: bool
    info: dict[str, Any]


def theirs(id: str, **options: Any) -> Any:
    """Gymnasium's environment without wrappers, whose iterations run to the end, whatever its file asks for.

    Of the solver, which is Newton's, and of what finds the contacts of a cylinder: at its own tolerance C's step of a
    Pusher that pushes may be 1e-5 away from the one that is right.
    """
    with silent():
        env = gymnasium.make(id, **options).unwrapped
    env.model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    env.model.opt.tolerance, env.model.opt.iterations = 0.0, 100
    env.model.opt.ccd_tolerance, env.model.opt.ccd_iterations = 1e-15, 1000
    return env


def kept(id: str, env: Any) -> np.ndarray:
    """What the task wants to know of the step before."""
    if id == "Ant-v5":
        return env.data.body(env._main_body).xpos[:2].copy()
    if id == "Humanoid-v5":
        return np.average(env.data.xipos, axis=0, weights=env.model.body_mass)[:2]
    return np.zeros(0)


def play(id: str, env: Any, count: int, seed: int, *, strength: float = 1.2) -> list[Step]:
    """`count` steps with random actions, some of them beyond their ranges, from several episodes."""
    rng = np.random.default_rng(seed)
    low, high = env.model.actuator_ctrlrange.T
    found: list[Step] = []
    env.reset(seed=seed)
    after = 0
    while len(found) < count:
        action = (low + high) / 2 + strength * (high - low) / 2 * rng.uniform(-1.0, 1.0, env.model.nu)
        data = env.data
        before = data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy(), kept(id, env)
        obs, reward, terminated, truncated, info = env.step(action)
        assert not truncated
        found.append(Step(*before, action, obs.copy(), float(reward), bool(terminated), info))
        after += bool(terminated) or not rng.integers(100)
        if after > ENDLESS:
            env.reset()
            after = 0
    return found


def ours(env: Any, steps: list[Step], dtype: Any, numbers: Any = None) -> Any:
    """Our timesteps from the same states, stacked."""
    fields = (np.stack([getattr(step, name) for step in steps]) for name in ("qpos", "qvel", "warmstart", "kept"))
    given = [jnp.asarray(field, dtype) for field in fields]
    actions = jnp.asarray(np.stack([step.action for step in steps]), dtype)
    key = jax.random.key(0)

    def one(qpos: Any, qvel: Any, warmstart: Any, before: Any, action: Any) -> Any:
        physics = State(qpos, qvel, jnp.zeros((env.model.na,), dtype), warmstart)
        return env.step(key, RobotState(physics, before if before.size else None, numbers or {}), action)[1]

    return jax.jit(jax.vmap(one))(*given, actions)


def errors(timesteps: Any, steps: list[Step]) -> dict[str, np.ndarray]:
    """By what is compared: the greatest difference of each step, relative to one plus the largest number."""
    found = {
        "obs": _error(timesteps.obs, [step.obs for step in steps]),
        "reward": _error(timesteps.reward, [step.reward for step in steps]),
    }
    return found | {
        name: _error(getattr(timesteps.info, name), [step.info[name] for step in steps]) for name in steps[0].info
    }


def _error(mine: Any, other: list[Any]) -> np.ndarray:
    a, b = np.asarray(mine, float).reshape(len(other), -1), np.asarray(other, float).reshape(len(other), -1)
    scale = 1.0 + np.abs(b).max(axis=1, initial=0.0)
    assert np.isfinite(a).all()
    return np.abs(a - b).max(axis=1, initial=0.0) / scale
