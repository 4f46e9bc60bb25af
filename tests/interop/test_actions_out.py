"""Actions that other libraries' agents give our environments: clipped to boxes, or refused in one line."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import check_refusals

import kousoku as ks

BOUNDS = {"uint8": (3, 200), "int8": (-100, 100), "int16": (-30_000, 7), "int32": (-5, 9), "uint32": (0, 70_000)}
FAR = [2**8, -1, 2**16, 2**32, -(2**31) - 1, 2**63 - 1, -(2**63), 4, 0, -7]


class Paint(ks.Env):
    """Observes the action that was taken."""

    box: ks.Box = eqx.field(static=True)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return self.box

    @property
    def action_space(self):
        return self.box

    def reset(self, key):
        return self._told(jnp.asarray(np.broadcast_to(np.asarray(self.box.low), (2,)), self.box.dtype))

    def step(self, key, state, action):
        return self._told(action)

    def _told(self, obs):
        return obs, ks.Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))


class Sheet(ks.Env):
    """Observes the whole numbers of an action; its one fraction is the reward."""

    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return ks.Box(0, 9, (2,), "uint8")

    @property
    def action_space(self):
        return ks.Dict({"ink": self.observation_space, "force": ks.Box(0.0, 1.0)})

    def reset(self, key):
        return self._told(jnp.zeros(2, jnp.uint8), jnp.float32(0.0))

    def step(self, key, state, action):
        return self._told(action["ink"], action["force"])

    def _told(self, obs, reward):
        return obs, ks.Timestep(obs, reward, jnp.array(False), jnp.array(False))


def taken_alone(env, action):
    made = ks.to_gymnasium(env)
    made.reset(seed=0)
    return made.step(action)[0]


def taken_in_a_vector(env, action):
    made = ks.to_gymnasium_vec(env, 3)
    made.reset(seed=0)
    return made.step(np.stack([action] * 3))[0][1]


def taken_in_a_pool(env, action):
    made = ks.to_envpool(env, 3)
    made.reset()
    return made.step(np.stack([action] * 3))[0][1]


def taken_by_one_of_a_pool(env, action):
    made = ks.to_envpool(env, 3)
    made.reset()
    return made.step(action[None], np.array([2]))[0][0]


DOORS = [taken_alone, taken_in_a_vector, taken_in_a_pool, taken_by_one_of_a_pool]


@pytest.mark.by_default("taken_alone-uint8", "taken_in_a_vector-int8", "taken_by_one_of_a_pool-uint8")
@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("door", DOORS)
def test_whole_numbers_beyond_a_box_are_clipped_to_it_and_do_not_wrap_round(door, dtype):
    low, high = BOUNDS[dtype]
    env = Paint(ks.Box(low, high, (2,), dtype))
    for one, other in zip(FAR, FAR[1:] + FAR[:1], strict=True):
        got = door(env, np.array([one, other]))
        assert got.tolist() == [min(max(one, low), high), min(max(other, low), high)]
        assert got.dtype == dtype


def test_numbers_of_every_whole_dtype_are_clipped_to_bounds_for_each_entry():
    env = ks.to_gymnasium(Paint(ks.Box((0, 10), (5, 255), (2,), "uint8")))
    env.reset(seed=0)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        most, least = np.iinfo(dtype).max, np.iinfo(dtype).min
        assert env.step(np.array([most, most], dtype))[0].tolist() == [5, min(most, 255)]
        assert env.step(np.array([least, least], dtype))[0].tolist() == [0, 10]
        assert env.step(np.array([3, 77], dtype))[0].tolist() == [3, 77]


def test_bounds_that_no_float32_holds_are_kept():
    low, high = -(2**24) - 1, 2**31 - 2
    env = ks.to_gymnasium(Paint(ks.Box(low, high, (2,), "int32")))
    env.reset(seed=0)
    for dtype in (np.int32, np.int64):
        assert env.step(np.array([low, high], dtype))[0].tolist() == [low, high]
        assert env.step(np.array([low - 1, high + 1], dtype))[0].tolist() == [low, high]


def test_actions_in_a_dict_are_clipped_each_to_its_own_box():
    env = ks.to_gymnasium(Sheet())
    env.reset(seed=0)
    assert env.step({"ink": np.array([256, -1]), "force": 0.5})[0].tolist() == [9, 0]
    envs = ks.to_gymnasium_vec(Sheet(), 2)
    envs.reset(seed=0)
    given = {"ink": np.array([[256, -1], [300, 4]]), "force": np.array([-0.5, 7.0])}
    obs, reward, *_ = envs.step(given)
    assert obs.tolist() == [[9, 0], [9, 4]]
    assert reward.tolist() == [0, 1]
    given["ink"] = np.array([[10, 0], [9, 255]], np.uint8)
    assert envs.step(given)[0].tolist() == [[9, 0], [9, 9]]


@pytest.mark.parametrize("entry", [2.0, np.nan, True])
def test_fractions_and_booleans_are_no_whole_numbers_of_a_box(entry):
    env = ks.to_gymnasium(Paint(ks.Box(0, 200, (2,), "uint8")))
    env.reset(seed=0)
    with pytest.raises(ks.ConfigError, match=r"^action: got '(float64|bool) \[2\]'; use an array like uint8 \[2\]$"):
        env.step(np.array([entry, entry]))


def test_numbers_of_a_box_of_fractions_are_clipped():
    env = ks.to_gymnasium(Paint(ks.Box(-1.0, 2.0, (2,))))
    env.reset(seed=0)
    for given, wanted in (([-9, 9], [-1, 2]), ([-np.inf, np.inf], [-1, 2]), ([1e30, -1e30], [2, -1])):
        assert np.array_equal(env.step(np.array(given))[0], wanted)


DOORS = {
    "one": lambda env: ks.to_gymnasium(env),
    "vector": lambda env: ks.to_gymnasium_vec(env, 2),
    "pool": lambda env: ks.to_envpool(env, 2),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("id", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_no_number_is_refused_by_its_place_and_the_episode_goes_on(door, id):
    env = DOORS[door](id)
    env.reset()
    place, shape = ("[0]", (1,)) if door == "one" else ("[1, 0]", (2, 1))
    given = np.zeros(shape, np.float32)
    given[-1] = np.nan
    with pytest.raises(ks.ConfigError) as caught:
        env.step(given)
    assert str(caught.value) == f"action{place}: got nan; use a number: after NaN all that follows would be NaN"
    obs, reward, *_ = env.step(np.zeros(shape, np.float32))
    assert np.isfinite(obs).all()
    assert np.isfinite(reward).all()


def test_no_number_in_a_dict_is_refused_too():
    env = ks.to_gymnasium(Sheet())
    env.reset(seed=0)
    with pytest.raises(ks.ConfigError, match=r"^action: got nan; use a number"):
        env.step({"ink": np.array([1, 1]), "force": np.nan})


def test_no_number_goes_to_environments_that_end_an_episode_with_it():
    envs = ks.to_gymnasium_vec("Balls-v0", 2, n=1)
    envs.reset(seed=0)
    _, reward, terminated, _, info = envs.step(np.array([[0.5], [np.nan]], np.float32))
    assert (terminated.tolist(), info["diverged"].tolist()) == ([False, True], [False, True])
    assert (reward[0] < 0, reward[1]) == (True, 0.0)


@pytest.mark.parametrize(("bound", "wanted"), [(2.0, 2.0), (math.inf, math.inf)])
@pytest.mark.parametrize("far", [1e40, 1e300, np.longdouble("1e400")], ids=repr)
def test_numbers_that_no_float32_holds_are_clipped_and_nothing_is_said(far, bound, wanted):
    env = ks.to_gymnasium(Paint(ks.Box(-bound, bound, (2,))))
    env.reset(seed=0)
    assert env.step(np.array([-far, far]))[0].tolist() == [-wanted, wanted]


def test_what_are_no_actions_of_one_environment_is_told_without_the_axis_of_many():
    cart = "stepped('CartPole-v1', {})"
    check_refusals(
        {
            cart.format("np.array([1])"): "action: got 'int64 [1]'; use a whole number",
            cart.format("1.0"): "action: got 1.0; use a whole number",
            cart.format("'left'"): "action: got 'left'; use a whole number",
            cart.format("None"): "action: got None; use a whole number",
            cart.format("2"): "action: got 2; the action space is Discrete(n=2)",
            cart.format("[[1], [1, 2]]"): "action: got [[1], [1, 2]]; use a whole number",
            "stepped('Pendulum-v1', 0.5)": "action: got 0.5; use an array like float32 [1]",
            "stepped('Pendulum-v1', [[0.5]])": "action: got 'float64 [1, 1]'; use an array like float32 [1]",
            "many.step(0)": "action: got 0; use an array like int32 [3]",
            "many.step([[0], [0], [1]])": "action: got 'int64 [3, 1]'; use an array like int32 [3]",
        },
        """
import gymnasium, numpy as np, kousoku as ks
def stepped(id, action):
    env = gymnasium.make("kousoku/" + id).unwrapped
    env.reset(seed=0)
    return env.step(action)
many = gymnasium.make_vec("kousoku/CartPole-v1", 3)
many.reset(seed=0)
""",
    )


def test_a_number_of_a_box_without_axes_is_asked_for_as_one():
    env = ks.to_gymnasium(Sheet())
    env.reset(seed=0)
    with pytest.raises(ks.ConfigError, match=r"got 'float64 \[1\]'; use a number$"):
        env.step({"ink": np.zeros(2, int), "force": np.zeros(1)})
