"""Options that are one number: arrays of several are refused in one line, and one is made of each by vmap."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs import wrappers

CARTPOLE = ks.make("CartPole-v1")
MADE = {
    "gravity": lambda value: ks.make("CartPole-v1", gravity=value),
    "mass": lambda value: ks.make("Pendulum-v1", mass=value),
    "reset_noise_scale": lambda value: ks.make("InvertedPendulum-v5", reset_noise_scale=value),
    "repeat_action_probability": lambda value: wrappers.StickyAction(CARTPOLE, value),
    "min_reward": lambda value: wrappers.ClipReward(CARTPOLE, value, 1.0),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("several", [np.array([0.25, 0.5]), np.ones((1, 1)) / 2, jnp.array([0.25, 0.5])])
def test_several_numbers_are_refused_where_it_is_made(name, several):
    with pytest.raises(ks.ConfigError, match=rf"^{name}: got .*; use one number") as caught:
        MADE[name](several)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", MADE)
def test_so_are_several_that_are_traced(name):
    with pytest.raises(ks.ConfigError, match=rf"^{name}: got 'an array \[2\]'; use one number; `jax.vmap` makes an"):
        jax.jit(lambda several: jax.tree.leaves(MADE[name](several)))(jnp.array([0.25, 0.5], jnp.float32))


@pytest.mark.parametrize("name", MADE)
def test_vmap_makes_an_environment_of_each(name):
    values = jnp.array([0.25, 0.5], jnp.float32)
    made = eqx.filter_vmap(MADE[name])(values)
    found = np.asarray(getattr(made, name))
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("number", [np.float64(0.25), np.array(0.25), jnp.float32(0.25)])
@pytest.mark.parametrize("name", MADE)
def test_an_array_of_one_number_is_that(name, number):
    assert float(getattr(MADE[name](number), name)) == 0.25


@pytest.mark.parametrize("several", [np.array([0.1, 0.2]), jnp.array([0.1, 0.2])])
def test_ends_of_an_interval_are_one_number_each(several):
    with pytest.raises(ks.ConfigError, match=r"^healthy_z_range\[1\]: got .*; use one number"):
        ks.make("Hopper-v5", healthy_z_range=(0.1, several))


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda many: ks.make("Balls-v0", n=many), 1 << 20),
        (lambda many: ks.make("InvertedPendulum-v5", frame_skip=many), 1 << 16),
    ],
)
@pytest.mark.parametrize("many", [10**12, 1e30])
def test_more_than_any_memory_or_time_holds_is_refused(make, most, many):
    with pytest.raises(ks.ConfigError, match=rf"^\w+: got .*; use a whole number of at least 1 and at most {most}$"):
        make(many)
