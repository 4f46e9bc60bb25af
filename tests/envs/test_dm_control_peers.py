"""The package dm_control beside ours: each of its states goes into ours, which takes the same action.

Observations and rewards are compared in float64, relative to one plus the largest number.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import no_fallback
from scipy import stats

pytest.importorskip("dm_control")

from dm_control.utils import rewards
from dm_control_suite import flat, ours, play, put, theirs

import kousoku as ks
from kousoku.envs.dm_control import tolerance
from kousoku.envs.dm_control.rewards import REACHES_ZERO, SIGMOIDS
from kousoku.envs.dm_control.suite import settled
from kousoku.physics import State, any_contact

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

IDS = [id for id in ks.list_envs() if id.startswith("dm_control/")]
LARGE = [id for id in IDS if re.search("humanoid-[^w]|peg|insert|stack_4", id)]
EXACT = 1e-9
BY_ITERATION = 1e-6
"""Where capsules touch ellipsoids: C finds these contacts by iteration, its normals to 5e-6."""
UNBOUNDED = 1e10
"""dm_control's word for no bound."""


@pytest.mark.parametrize("id", [pytest.param(id, marks=[pytest.mark.full("larger")] * (id in LARGE)) for id in IDS])
def test_a_step(id: str) -> None:
    with jax.enable_x64(True), no_fallback():
        steps = play(id, 400, 0)
        timesteps = ours(ks.make(id), steps, jnp.float64)
    theirs_obs, theirs_reward = np.stack([s.obs for s in steps]), np.array([s.reward for s in steps])
    scale = 1.0 + np.abs(theirs_obs).max(axis=1)
    error = np.abs(np.asarray(timesteps.obs) - theirs_obs).max(axis=1) / scale
    exact = BY_ITERATION if "CMU" in id else EXACT
    assert float(error.max()) < exact
    assert float(np.abs(np.asarray(timesteps.reward) - theirs_reward).max()) < exact
    assert not np.asarray(timesteps.terminated).any()
    assert np.ptp(theirs_reward) > 0.0 or theirs_reward[0] in (0.0, 1.0)


@pytest.mark.parametrize("id", IDS)
def test_spaces_times_and_names(id: str) -> None:
    env, reference = ks.make(id), theirs(id)
    first = reference.reset().observation
    assert env.observation_sizes == {name: np.size(part) for name, part in first.items()}
    assert list(env.observation_sizes) == list(first)
    assert env.observation_space.shape == flat(first).shape
    ends = reference.action_spec().minimum, reference.action_spec().maximum
    low, high = (np.float32(np.where(np.abs(end) < UNBOUNDED, end, np.sign(end) * np.inf)) for end in ends)
    np.testing.assert_array_equal(np.float32(env.action_space.low), low)
    np.testing.assert_array_equal(np.float32(env.action_space.high), high)
    assert env.dt == pytest.approx(reference.control_timestep())
    limit = reference._step_limit
    assert env.time_limit == (None if np.isinf(limit) else round(limit))


@pytest.mark.parametrize("id", IDS)
def test_the_first_observation(id: str) -> None:
    env, reference = ks.make(id), theirs(id)
    reference.reset()
    for seed in range(3):
        state, timestep = env.reset(jax.random.key(seed))
        np.testing.assert_allclose(timestep.obs, put(reference, state), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("id", IDS)
def test_first_states_are_distributed_as_dm_controls(id: str) -> None:
    env, reference, count = ks.make(id), theirs(id), 300
    states, timesteps = jax.jit(jax.vmap(lambda key: env.reset(key)))(jax.random.split(jax.random.key(5), 4 * count))
    found = []
    for _ in range(count):
        obs = flat(reference.reset().observation)
        found.append(np.concatenate([obs, reference.physics.data.qpos, reference.physics.data.qvel]))
    mine = np.concatenate([timesteps.obs, states.physics.qpos, states.physics.qvel], axis=1)
    for ours_, theirs_ in zip(mine.T, np.stack(found).T, strict=True):
        if np.ptp(theirs_) < 1e-12:
            # In float32 the forces of a body in free fall cancel to some 1e-5.
            np.testing.assert_allclose(ours_, theirs_[0], atol=3e-5 if "quadruped" in id else 1e-5)
        else:
            assert stats.ks_2samp(np.round(np.float64(ours_), 5), np.round(theirs_, 5)).pvalue > 1e-5


def test_the_cheetah_settles_as_dm_controls() -> None:
    env, reference = ks.make("dm_control/cheetah-run-v0"), theirs("dm_control/cheetah-run-v0")
    reference.reset()
    with jax.enable_x64(True):
        for seed in range(3):
            begin = env.begin(jax.random.key(seed))
            with reference.physics.reset_context():
                reference.physics.data.qpos[:] = begin.qpos
                reference.physics.step(nstep=200)
            zeros = jnp.zeros(9)
            state = State(jnp.asarray(begin.qpos, jnp.float64), zeros, jnp.zeros(0), zeros)
            found = ks.kernel(lambda s: settled(env.model, s, 200))(state)
            np.testing.assert_allclose(found.qpos, reference.physics.data.qpos, atol=1e-7)
            np.testing.assert_allclose(found.qvel, reference.physics.data.qvel, atol=1e-6)


@pytest.mark.parametrize(
    "id", ["dm_control/humanoid-stand-v0", "dm_control/hopper-stand-v0", "dm_control/walker-run-v0"]
)
def test_what_touches_at_first(id: str) -> None:
    env, reference = ks.make(id), theirs(id)
    physics = reference.physics
    rng, touches = np.random.default_rng(0), []
    qpos = np.repeat(np.asarray(env.model.qpos0)[None], 300, axis=0)
    qpos += rng.normal(0.0, 0.6, qpos.shape)
    for each in qpos:
        with physics.reset_context():
            physics.data.qpos[:] = each
        touches.append(physics.data.ncon > 0)
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(lambda q: any_contact(env.model, q)))(jnp.asarray(qpos))
    np.testing.assert_array_equal(found, touches)
    assert 0.05 < np.mean(touches) < 0.95


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
@pytest.mark.parametrize("bounds", [(0.0, 0.0), (-0.5, 1.0), (0.3, np.inf), (-np.inf, -0.2)])
@pytest.mark.parametrize("margin", [0.0, 0.25, 2.0])
@pytest.mark.parametrize("value", [0.0, 0.1, 0.5, 0.9])
def test_tolerance(sigmoid: str, bounds: Any, margin: float, value: float) -> None:
    if value == 0.0 and sigmoid not in REACHES_ZERO:
        return
    x = np.linspace(-4.0, 4.0, 321)
    with jax.enable_x64(True):
        found = ks.kernel(lambda x: tolerance(x, bounds, margin, sigmoid, value))(jnp.asarray(x))
    np.testing.assert_allclose(found, rewards.tolerance(x, bounds, margin, sigmoid, value), atol=1e-12)
