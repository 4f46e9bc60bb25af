"""Our environments with gymnax's methods: pure functions, auto-reset, flags that stay apart."""

import sys
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Asked, Counting
from fresh_process import check_refusals, without_types_checked

import kousoku as ks
from kousoku.core.errors import error_text
from kousoku.interop.libraries import imported


def test_an_episode_that_ends_is_followed_by_the_next_and_tells_its_true_last_observation():
    env = ks.to_gymnax(Counting(length=2))
    params = env.default_params
    obs, state = env.reset(jax.random.key(0), params)
    start = obs[0]
    obs, state, reward, done, info = env.step(jax.random.key(1), state, jnp.int32(0), params)
    assert (obs.tolist(), float(reward), bool(done)) == ([start, 1], 1, False)
    obs, state, reward, done, info = env.step(jax.random.key(2), state, jnp.int32(0), params)
    assert bool(done)
    assert bool(info["terminated"])
    assert not bool(info["truncated"])
    assert float(info["discount"]) == 0.0
    assert info["next_obs"].tolist() == [start, 2]
    assert obs[1] == 0
    assert obs[0] != start
    assert state.obs.tolist() == obs.tolist()


def test_the_clock_ends_an_episode_with_discount_1():
    env = ks.to_gymnax(Counting(length=9), max_episode_steps=1)
    assert env.default_params.max_steps_in_episode == 1
    _, state = env.reset(jax.random.key(0))
    _, _, _, done, info = env.step(jax.random.key(1), state, jnp.int32(0))
    assert bool(done)
    assert bool(info["truncated"])
    assert float(info["discount"]) == 1.0


def test_what_is_no_key_is_refused():
    one, several = "; use jax.random.key(0)", "; use one key, or jax.vmap for several"
    cases = {}
    for call in ("reset({})", "reset_env({})", "step({}, state, 0)", "step_env({}, state, 0)"):
        cases["env." + call.format(0)] = "key: got 0" + one
    for key in ("None", "'x'", "[0, 1]", "np.zeros(2, np.int32)", "np.zeros(4, np.uint32)"):
        cases[f"env.reset({key})"] = one
    for key in ("keys", "jax.random.key_data(keys)", "np.zeros((3, 2), np.uint32)"):
        cases[f"env.reset({key})"] = several
    cases["as_key('rng', 0)"] = "rng: got 0" + one
    setup = """
import jax, numpy as np, kousoku as ks
from kousoku.interop.out.stepping import as_key
env, keys, state = ks.to_gymnax("CartPole-v1"), jax.random.split(jax.random.key(0), 3), None
"""
    check_refusals(cases, setup)


def test_a_key_may_be_given_by_its_words_and_several_under_vmap():
    env, keys = ks.to_gymnax(Counting(length=2)), jax.random.split(jax.random.key(0), 3)
    alone = jnp.stack([env.reset(key)[0] for key in keys])
    for several in (keys, jax.random.key_data(keys)):
        assert jnp.array_equal(jax.vmap(env.reset)(several)[0], alone)


def test_actions_of_another_shape_are_refused_where_they_are_traced():
    cart, swing = "use a whole number", "use an array like float32 [1]"
    cases = {
        "step('CartPole-v1', jnp.array([1]))": "action: got 'int32 [1]'; " + cart,
        "step_env('CartPole-v1', np.zeros((1, 1)))": "action: got 'float64 [1, 1]'; " + cart,
        "step('CartPole-v1', [1])": "action: got 'int64 [1]'; " + cart,
        "step('CartPole-v1', None)": "action: got None; " + cart,
        "step_env('CartPole-v1', 'left')": "action: got 'left'; " + cart,
        "step('CartPole-v1', jax.random.key(0))": "action: got ",
        "step('Pendulum-v1', np.zeros(3))": "action: got 'float64 [3]'; " + swing,
        "step_env('Pendulum-v1', np.zeros((3, 1)))": "action: got 'float64 [3, 1]'; " + swing,
        "jax.jit(lambda a: step('CartPole-v1', a))(jnp.zeros(3))": "action: got 'float32 [3]'; " + cart,
        "jax.vmap(lambda a: step('CartPole-v1', a))(jnp.zeros((3, 1)))": "action: got 'float32 [1]'; " + cart,
        "jax.jit(lambda a: step('CartPole-v1', [a]))(1)": "action: got 'int32 [1]'; " + cart,
        "jax.vmap(lambda a: step('Pendulum-v1', [a, a]))(jnp.zeros(3))": "action: got 'float32 [2]'; " + swing,
        "jax.jit(lambda a: step('Pendulum-v1', [a, [a]]))(1.0)": "action: got ",
        "jax.jit(lambda a: step('Pendulum-v1', {'torque': a}))(1.0)": "action: got ",
        "sheet.step(key, drawn, 1)": "action: got 1; use a dict with 'force', 'ink'",
        "sheet.step(key, drawn, {'ink': ink})": "use a dict with 'force', 'ink'",
        "sheet.step(key, drawn, {'ink': ink, 'force': [0.0, 1.0]})": "action: got 'float64 [2]'; use a number",
    }
    setup = """
import jax, jax.numpy as jnp, numpy as np, kousoku as ks
key, ink, made = jax.random.key(0), np.zeros(2, np.uint8), {}
def step(id, action, method="step"):
    env = made.setdefault(id, ks.to_gymnax(id))
    return getattr(env, method)(key, env.reset(key)[1], action)
def step_env(id, action):
    return step(id, action, "step_env")
class Sheet(ks.Env):
    time_limit = None
    observation_space = ks.Box(0.0, 1.0)
    action_space = ks.Dict({"ink": ks.Box(0, 9, (2,), "uint8"), "force": observation_space})
    def reset(self, key):
        return self.step(key, 0, {"force": jnp.float32(0.0)})
    def step(self, key, state, action):
        obs = action["force"]
        return obs, ks.Timestep(obs, obs, jnp.array(False), jnp.array(False))
sheet = ks.to_gymnax(Sheet())
drawn = sheet.reset(key)[1]
"""
    check_refusals(cases, setup)


def test_actions_in_other_forms_are_the_same_ones():
    told = without_types_checked("""
import json, jax, jax.numpy as jnp, numpy as np, kousoku as ks
key, told = jax.random.key(0), {}
forms = {
    "CartPole-v1": [1, True, 1.0, np.int64(1), np.array(1.0), jnp.int32(1)],
    "Pendulum-v1": [0.5, [0.5], np.float32(0.5), np.array([0.5]), np.array([[0.5]]), jnp.array([0.5])],
}
for id, actions in forms.items():
    env = ks.to_gymnax(id)
    _, state = env.reset(key)
    told[id] = [env.step_env(key, state, action)[0].tolist() for action in actions]
print(json.dumps(told))
""")
    for obs in told.values():
        assert obs == obs[:1] * 6


def test_lists_of_traced_numbers_and_other_libraries_arrays_are_actions():
    told = without_types_checked("""
import json, jax, jax.numpy as jnp, numpy as np, kousoku as ks
class Theirs:
    dtype = "theirs.float64"
    def __init__(self, array):
        self.array, self.shape = array, array.shape
    def __array__(self, dtype=None, copy=None):
        return self.array
key, told = jax.random.key(0), {}
forms = {"CartPole-v1": (1, [lambda a: a]), "Pendulum-v1": (0.5, [lambda a: [a], lambda a: (a,), lambda a: [[a]]])}
for id, (action, made) in forms.items():
    env = ks.to_gymnax(id)
    _, state = env.reset(key)
    took = lambda given: env.step_env(key, state, given)[0]
    shape = env.env.action_space.shape
    told[id] = [took(np.full(shape, action)).tolist(), took(Theirs(np.full(shape, action))).tolist()]
    for form in made:
        told[id].append(jax.jit(lambda a: took(form(a)))(action).tolist())
        told[id].append(jax.vmap(lambda a: took(form(a)))(jnp.array([action] * 2))[1].tolist())
print(json.dumps(told))
""")
    for obs in told.values():
        np.testing.assert_allclose(obs, obs[:1] * len(obs), rtol=1e-6)


@pytest.mark.parametrize("method", ["step", "step_env"])
@pytest.mark.parametrize("given", [True, False], ids=["given", "none"])
def test_a_step_does_not_ask_for_the_space_of_actions_anew(method, given):
    env = ks.to_gymnax(Asked(length=99))
    key, params = jax.random.key(0), env.default_params if given else None
    _, state = env.reset(key, params)
    getattr(env, method)(key, state, jnp.int32(0), params)
    before = len(env.env.asked)
    for _ in range(3):
        state = getattr(env, method)(key, state, jnp.int32(0), params)[1]
    assert len(env.env.asked) == before
    assert state.obs[1] == 3


def test_actions_are_those_of_the_parameters():
    env = ks.to_gymnax("CartPole-v1")
    params = env.default_params.replace(env="Pendulum-v1")
    key = jax.random.key(0)
    _, state = env.reset(key, params)
    assert env.step(key, state, jnp.zeros(1), params)[0].shape == (3,)
    with pytest.raises(ks.ConfigError, match=r"use an array like float32 \[1\]"):
        env.step(key, state, jnp.zeros(3), params)


@pytest.mark.parametrize("env", [Counting(length=9), ks.wrappers.TimeLimit(Counting(length=9), 5)], ids=type)
def test_parameters_with_another_time_limit_end_episodes_by_it(env):
    made = ks.to_gymnax(env)
    _, state = made.reset(jax.random.key(0))
    for limit, wanted in ((2, [False, True]), (7, [False] * 6 + [True]), (2**31 - 1, [False] * 8 + [True])):
        params, now, ends = made.default_params.replace(max_steps_in_episode=limit), state, []
        assert params.max_steps_in_episode == limit
        while not any(ends):
            _, now, _, done, _ = made.step_env(jax.random.key(1), now, jnp.int32(0), params)
            ends.append(bool(done))
        assert ends == wanted


def test_the_same_limit_is_the_same_task_however_it_was_set():
    """MiniGrid's reward reads the limit, also through wrappers; what a wrapper makes of it may depend on it."""
    made = [ks.to_gymnax("MiniGrid-Empty-5x5-v0", **how) for how in ({"time_limit": 20}, {"wrap": "flatten"})]
    given = [made[0].default_params, made[1].default_params.replace(max_steps_in_episode=20)]
    rewards = []
    for env, params in zip(made, given, strict=True):
        _, state = env.reset(jax.random.key(0), params)
        for action in (2, 2, 1, 2, 2):
            _, state, reward, _, info = env.step_env(jax.random.key(1), state, jnp.int32(action), params)
        assert bool(info["terminated"])
        rewards.append(float(reward))
    assert rewards[0] == rewards[1] == pytest.approx(1 - 0.9 * 5 / 20)
    short = made[1].default_params.replace(max_steps_in_episode=9).replace(max_steps_in_episode=20)
    assert short.env == given[1].env


class Fixed(Counting):
    """One whose limit is no option."""

    time_limit: int | None = eqx.field(static=True, default=9, init=False)


@pytest.mark.parametrize(
    ("env", "limit", "told"),
    [
        (lambda: ks.make("MountainCar-v0", wrap="repeat_action:3", time_limit=10), 20, "give it to the environment"),
        (lambda: ks.make("MountainCar-v0", wrap="time_limit:5", time_limit=10), 11, "give it to the environment"),
        (Fixed, 10, "Fixed has a time limit of its own"),
    ],
    ids=["repeated", "limited", "fixed"],
)
def test_a_limit_that_would_make_another_task_is_refused(env, limit, told):
    params = ks.to_gymnax(env()).default_params
    assert params.replace(max_steps_in_episode=params.max_steps_in_episode).env is params.env
    with pytest.raises(ks.ConfigError, match=f"max_steps_in_episode: got {limit}; {told}"):
        params.replace(max_steps_in_episode=limit)


def test_a_fixed_limit_may_be_a_shorter_one():
    params = ks.to_gymnax(Fixed()).default_params
    assert params.replace(max_steps_in_episode=4).replace(max_steps_in_episode=5).max_steps_in_episode == 5


def test_actions_are_repeated_after_the_limit_as_before_it():
    """Brax's episodes may be longer than the environment's: its trainers have their own limit."""
    env = ks.make("CliffWalking-v1", time_limit=4, wrap="repeat_action:3")
    state, _ = env.reset(jax.random.key(0))
    rewards = []
    for _ in range(4):
        state, timestep = env.step(jax.random.key(1), state, jnp.int32(0))
        rewards.append(float(timestep.reward))
    assert rewards == [-3.0, -1.0, -3.0, -3.0]


def test_parameters_of_another_environment_step_that_one():
    made = ks.to_gymnax("CartPole-v1")
    heavy = ks.to_gymnax("CartPole-v1", gravity=30.0).default_params
    _, state = made.reset(jax.random.key(0))
    same, other = made.default_params.replace(), made.default_params.replace(env=heavy.env)
    got = [made.step(jax.random.key(1), state, jnp.int32(0), p)[0] for p in (same, made.default_params, other, heavy)]
    assert jnp.array_equal(got[0], got[1])
    assert jnp.array_equal(got[2], got[3])
    assert not jnp.array_equal(got[0], got[2])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"gravity": 1.0}, "parameter: got 'gravity'"),
        ({"max_steps_in_episode": 0}, "max_steps_in_episode: got 0"),
        ({"max_steps_in_episode": 2**31}, "max_steps_in_episode: got 2147483648"),
        ({"env": "CartPol-v1"}, "did you mean CartPole-v1"),
    ],
)
def test_what_are_no_parameters_is_refused(changes, told):
    with pytest.raises(ks.ConfigError, match=told):
        ks.to_gymnax("CartPole-v1").default_params.replace(**changes)


@pytest.mark.parametrize("options", [{}, {"wrap": "frame_stack:2"}], ids=["bare", "wrapped"])
def test_it_comes_back_as_an_environment_of_ours(options):
    ours = ks.make("CartPole-v1", time_limit=5, **options)
    back = ks.from_gymnax(ks.to_gymnax(ours))
    assert back.time_limit == 5
    state, first = ours.reset(jax.random.key(0))
    there, told = back.reset(jax.random.key(0))
    assert jnp.allclose(first.obs, told.obs, atol=1e-6)
    for _ in range(6):  # beyond the limit, which is no end of the task
        state, wanted = ours.step(jax.random.key(1), state, jnp.int32(0))
        there, told = back.step(jax.random.key(1), there, jnp.int32(0))
        assert jnp.allclose(wanted.obs, told.obs, atol=1e-6)
        assert (bool(told.terminated), bool(told.truncated)) == (False, False)


@pytest.mark.parametrize("wrap", ["repeat_action:3", "flatten"])
def test_that_is_the_very_one_with_its_wrappers_and_may_have_another_limit(wrap):
    ours = ks.to_gymnax("MountainCar-v0", wrap=wrap, time_limit=10)
    assert ks.from_gymnax(ours) is ours.env
    assert ks.from_gymnax(ours, ours.default_params.replace(env="CartPole-v1")).action_space == ks.Discrete(2)
    if wrap == "flatten":
        assert ks.from_gymnax(ours, time_limit=7).time_limit == 7
    else:
        with pytest.raises(ks.ConfigError, match="time_limit: got 7; give it to the environment"):
            ks.from_gymnax(ours, time_limit=7)
    with pytest.raises(ks.ConfigError, match="params: got 3; it has no env"):
        ks.from_gymnax(ours, 3)


def test_step_env_stays_where_it_led():
    env = ks.to_gymnax(Counting(length=1))
    _, state = env.reset_env(jax.random.PRNGKey(0))  # two words are a key, too
    obs, state, _, done, info = env.step_env(jax.random.PRNGKey(1), state, jnp.int32(0))
    assert bool(done)
    assert obs.tolist() == info["next_obs"].tolist() == state.obs.tolist()
    assert obs[1] == 1


@pytest.mark.full("covered")
def test_a_loop_over_many_is_one_program_and_numbers_of_the_environment_are_its_parameters():
    env = ks.to_gymnax("CartPole-v1")
    params = env.default_params

    @partial(jax.vmap, in_axes=(0, None))
    def returns(key, params):
        obs, state = env.reset(key, params)

        def step(carry, key):
            obs, state = carry
            action = (obs[2] > 0).astype(jnp.int32)
            obs, state, reward, done, _ = env.step(key, state, action, params)
            return (obs, state), (reward, done)

        return jax.lax.scan(step, (obs, state), jax.random.split(key, 60))[1]

    keys = jax.random.split(jax.random.key(0), 4)
    reward, done = jax.jit(returns)(keys, params)
    assert float(reward.sum()) == 240.0
    heavy = ks.to_gymnax("CartPole-v1", gravity=30.0).default_params
    program = jax.jit(returns)
    assert not jnp.array_equal(program(keys, heavy)[1], done)
    program(keys, params)
    assert program._cache_size() == 1  # another gravity is another number, not another program


def test_without_gymnax_spaces_are_ours(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnax", None)
    env = ks.to_gymnax("CartPole-v1")
    assert env.num_actions == 2
    assert env.action_space(env.default_params) == ks.Discrete(2)
    assert env.observation_space().shape == (4,)
    assert ks.to_gymnax("Pendulum-v1").num_actions == 1
    assert env.name == "CartPole-v1"


@pytest.mark.parametrize(("make", "module"), [("to_brax", "brax.envs.base"), ("to_dm_env", "dm_env")])
def test_a_library_that_is_missing_is_told_in_one_line(make, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ks.ConfigError, match="pip install"):
        getattr(ks, make)("Pendulum-v1")


def test_a_library_that_is_broken_is_told_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise AttributeError('jax has no attribute core\\nat all')")
    monkeypatch.syspath_prepend(tmp_path)
    told = (
        r"^environment: got 'to_brax'; pytest .* cannot be imported \(jax has no attribute core at all\); 1.0 or later"
    )
    with pytest.raises(ks.ConfigError, match=told) as caught:
        imported("environment", "to_brax", "broken_library", "pytest", "1.0", "pip install pytest")
    assert "\n" not in str(caught.value)


def test_a_gymnax_that_is_broken_is_told_where_its_spaces_are_asked_for(tmp_path, monkeypatch):
    (tmp_path / "gymnax").mkdir()
    (tmp_path / "gymnax" / "__init__.py").write_text("raise AttributeError('jax has no attribute core')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "gymnax"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ks.ConfigError, match="gymnax is installed and cannot be imported"):
        ks.to_gymnax("CartPole-v1").action_space()


def test_what_a_library_says_is_one_short_line():
    assert error_text(ValueError("first\n  second")) == "first second"
    assert error_text(KeyError()) == "KeyError"
    assert len(error_text(ValueError("x" * 999))) == 200


def test_stable_baselines3_that_is_missing_is_told_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    with pytest.raises(ks.ConfigError, match="pip install stable-baselines3"):
        ks.to_sb3_vec("Pendulum-v1", 2)
