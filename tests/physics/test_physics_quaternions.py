"""Orientations that are no unit quaternions, as a user may give them: C MuJoCo makes the same of them."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_mjcf import mjcf
from physics_models_smooth import NO_CONTACT

from kousoku.physics import Model, State, initial_state, load, sensors, step
from kousoku.physics.forward import forward

MODEL = mjcf(
    """<body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/></body>
      <body pos="2 0 1"><joint name="ball" type="ball" stiffness="3" damping=".1"/>
        <geom type="box" size=".1 .2 .3" pos=".1 0 .1"/></body>""",
    "<sensor><ballquat joint='ball'/></sensor>",
    option='integrator="{}"',
    head=NO_CONTACT,
)
QUATERNIONS = {
    "zero": (0.0, 0.0, 0.0, 0.0),
    "shorter than MINVAL": (0.0, 9e-16, 0.0, 0.0),
    "longer than MINVAL": (0.0, 2e-15, 0.0, 0.0),
    "tiny": (-1e-16, 1e-17, 1e-30, 0.0),
    "small": (1e-10, 2e-10, 0.0, -1e-10),
    "large": (300.0, -400.0, 20.0, 10.0),
    "negative": (-1.0, 0.1, 0.0, 0.0),
    "unit": (0.6, 0.8, 0.0, 0.0),
}


@eqx.filter_jit
def stepped(model: Model, state: State) -> tuple[State, jax.Array]:
    ctrl = jnp.zeros(0, state.qpos.dtype)
    return step(model, state, ctrl), sensors(forward(model, state, ctrl))


@pytest.mark.by_default("Euler")
@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast"])
def test_a_step_from_any_quaternion_is_that_of_c(integrator):
    compiled = mujoco.MjModel.from_xml_string(MODEL.format(integrator))
    with jax.enable_x64(True):
        model = load(compiled)
        for name, quaternion in QUATERNIONS.items():
            data = mujoco.MjData(compiled)
            data.qpos[3:7] = data.qpos[7:11] = quaternion
            data.qvel[:] = np.linspace(-1.0, 1.0, compiled.nv)
            begun = initial_state(model, jnp.float64)
            begun = eqx.tree_at(lambda s: (s.qpos, s.qvel), begun, (jnp.array(data.qpos), jnp.array(data.qvel)))
            after, measured = stepped(model, begun)
            mujoco.mj_step(compiled, data)
            np.testing.assert_allclose(after.qpos, data.qpos, atol=1e-12, err_msg=name)
            np.testing.assert_allclose(after.qvel, data.qvel, atol=1e-12, err_msg=name)
            np.testing.assert_allclose(measured, data.sensordata, atol=1e-12, err_msg=name)


def test_a_zero_quaternion_turns_as_the_identity_does_in_float32():
    model = load(MODEL.format("Euler"))
    begun = initial_state(model, jnp.float32)
    begun = eqx.tree_at(lambda s: s.qvel, begun, jnp.linspace(-1.0, 1.0, model.nv, dtype=jnp.float32))
    none = eqx.tree_at(lambda s: s.qpos, begun, begun.qpos.at[3:].set(0.0))
    (found, measured), (wanted, right) = stepped(model, none), stepped(model, begun)
    np.testing.assert_array_equal(found.qpos, wanted.qpos)
    np.testing.assert_array_equal(found.qvel, wanted.qvel)
    np.testing.assert_array_equal(measured, right)
    assert float(jnp.abs(found.qpos[8:]).min()) > 1e-4  # it turns


BALL = mjcf(
    "<body pos='0 0 1'><joint type='ball'/><geom type='box' size='.1 .2 .3' pos='.1 0 .1'/></body>", head=NO_CONTACT
)


@pytest.mark.parametrize("name", QUATERNIONS)
def test_slopes_are_finite_wherever_a_body_points(name):
    model = load(BALL)
    begun = initial_state(model, jnp.float32)

    def total(qvel: jax.Array) -> jax.Array:
        qpos = jnp.array(QUATERNIONS[name], jnp.float32)
        return jnp.sum(step(model, eqx.tree_at(lambda s: (s.qpos, s.qvel), begun, (qpos, qvel)), jnp.zeros(0)).qpos)

    slope = jax.grad(total)(jnp.array([1.0, 2.0, 3.0]))
    assert bool(jnp.isfinite(slope).all())
    assert bool((slope != 0.0).all())
