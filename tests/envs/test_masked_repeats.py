"""Actions that are repeated while a mask of actions allows them, and no longer."""

import jax
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.envs import wrappers

KEY = jax.random.key(0)


class Doors(ks.Env):
    """Three doors, of which every step closes some, as a list of masks says; it is observed which one was taken."""

    masks: tuple[tuple[int, ...], ...]
    named: str = "action_mask"
    time_limit = 20
    action_space = ks.Discrete(3)

    @property
    def observation_space(self):
        return ks.Dict({"taken": ks.Box(-1, 2, (), "int32"), self.named: ks.Box(0, 1, (3,), "uint8")})

    def reset(self, key):
        return jnp.int32(0), self._seen(jnp.int32(0), jnp.int32(-1), 0)

    def step(self, key, state, action):
        return state + 1, self._seen(state + 1, action, 1)

    def _seen(self, state, action, reward):
        obs = {"taken": action, self.named: jnp.array(self.masks, jnp.uint8)[state % len(self.masks)]}
        return ks.Timestep(obs, jnp.float32(reward), jnp.array(False), jnp.array(False))


ALL = (1, 1, 1)
NONE = (0, 0, 0)
LAST = (0, 0, 1)
FIRST_TWO = (1, 1, 0)


def taken(env, actions):
    """Returns the actions that the environment inside took last in each step, and the rewards."""
    state, _ = env.reset(KEY)
    step, seen = jax.jit(env.step), []
    for i, action in enumerate(actions):
        state, timestep = step(jax.random.fold_in(KEY, i), state, jnp.int32(action))
        seen.append((int(timestep.obs["taken"]), int(timestep.reward)))
    return [action for action, _ in seen], [reward for _, reward in seen]


@pytest.mark.parametrize(
    ("masks", "sticky"),
    [
        ((ALL,), [0, 0, 0, 0, 0]),
        ((NONE,), [0, 0, 0, 0, 0]),
        ((ALL, FIRST_TWO, LAST, ALL, ALL), [0, 0, 2, 2, 2]),  # what was chosen instead sticks from then on
        ((ALL, LAST, FIRST_TWO), [0, 1, 1, 1, 2]),
    ],
)
@pytest.mark.parametrize("duration", [1, 9])
def test_an_action_sticks_only_where_the_newest_mask_allows_it(masks, sticky, duration):
    assert taken(wrappers.StickyAction(Doors(masks), 1 - 1e-7, duration), (0, 1, 2, 1, 2))[0] == sticky


@pytest.mark.parametrize(
    ("masks", "rewards"),
    [
        ((ALL,), [3, 3, 3]),
        ((NONE,), [3, 3, 3]),
        ((ALL, LAST), [1, 2, 2]),  # the second is chosen where it is forbidden, and repeated where it is not
        ((ALL, ALL, LAST, ALL), [2, 3, 1]),
    ],
)
def test_an_action_is_repeated_only_as_long_as_the_newest_mask_allows_it(masks, rewards):
    assert taken(wrappers.RepeatAction(Doors(masks), 3), (0, 0, 0))[1] == rewards


class TwoLocks(Doors):
    """Two choices at once, of three keys and of two, by a mask of each."""

    action_space = ks.MultiDiscrete((3, 2))

    @property
    def observation_space(self):
        return ks.Dict({"taken": ks.Box(-1, 2, (2,), "int32"), self.named: ks.Box(0, 1, (2, 3), "uint8")})

    def reset(self, key):
        return jnp.int32(0), self._seen(jnp.int32(0), jnp.array([-1, -1], jnp.int32), 0)


def test_several_choices_are_repeated_while_all_of_them_are_legal():
    every, last, odd = (ALL, ALL), (ALL, LAST), (ALL, (1, 0, 1))  # the second choice has two keys: `last` says nothing
    env = TwoLocks((every, last, every, odd))
    state, _ = wrappers.RepeatAction(env, 9).reset(KEY)
    for action, reward in (((2, 0), 9), ((2, 1), 3)):
        _, timestep = wrappers.RepeatAction(env, 9).step(KEY, state, jnp.array(action, jnp.int32))
        assert timestep.reward == reward
    env = wrappers.StickyAction(env, 1 - 1e-7)
    state, _ = env.reset(KEY)
    for i, (action, wanted) in enumerate((((2, 1), (2, 1)), ((0, 0), (2, 1)), ((0, 0), (2, 1)), ((1, 0), (1, 0)))):
        state, timestep = env.step(jax.random.fold_in(KEY, i), state, jnp.array(action, jnp.int32))
        assert tuple(timestep.obs["taken"].tolist()) == wanted


def test_a_stuck_action_that_was_forbidden_is_not_taken_up_again():
    """It sticks for nine steps, of which the second forbids it: the rest of them is over."""
    state, _ = (env := wrappers.StickyAction(Doors((ALL, ALL, LAST, ALL)), 0.999, 9)).reset(KEY)
    stuck = []
    for i, action in enumerate((0, 1, 2, 1)):
        state, _ = env.step(jax.random.fold_in(KEY, i), state, jnp.int32(action))
        stuck.append(int(state.stuck))
    assert stuck == [0, 8, 0, 8]


def test_without_a_mask_nothing_changes():
    env = Doors((ALL, LAST), "others")
    assert taken(wrappers.StickyAction(env, 1 - 1e-7), (0, 1, 2))[0] == [0, 0, 0]
    assert taken(wrappers.RepeatAction(env, 3), (0, 0))[1] == [3, 3]
    env = wrappers.StickyAction(ks.make("CartPole-v1"), 0.25)
    assert env.reset(KEY)[0].legal is None


@pytest.mark.parametrize(
    "wrap", [lambda env: wrappers.StickyAction(env, 0.5), lambda env: wrappers.RepeatAction(env, 3)]
)
def test_an_environment_with_a_mask_keeps_the_contract(wrap):
    ks.check_env(wrap(Doors((ALL, LAST, FIRST_TWO))), steps=20)
