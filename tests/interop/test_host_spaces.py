"""Gymnasium's spaces and values as ours, and back."""

import gymnasium
import jax
import numpy as np
import pytest
from counting import Counting
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from host_diary import ACTIONS, Diary
from host_worlds import MANY, Counter, Echo

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.export.runtime import within_32_bits
from kousoku.interop.host.spaces import our_space
from kousoku.interop.host.values import leaves_of, written
from kousoku.interop.jax_envs.spaces import box_like, conformed

WIDE = Box((-1.0, 0.0), (1.0, np.inf), (2,))
TRANSLATED = [
    (spaces.Box(0, 255, (84, 84, 4), np.uint8), Box(0, 255, (84, 84, 4), np.uint8)),
    (spaces.Box(-np.inf, np.inf, (3,), np.float64), Box(-np.inf, np.inf, (3,))),
    (spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 1e300]), dtype=np.float64), WIDE),
    (spaces.Box(-1, 1, (), np.float16), Box(-1.0, 1.0)),
    (spaces.Box(0, 2**40, (2,), np.int64), Box(0, 2**31 - 2, (2,), np.int32)),
    (spaces.Box(-5, 5, (2,), np.int8), Box(-5, 5, (2,), np.int8)),
    (spaces.Discrete(4, start=7), Discrete(4)),
    (spaces.Discrete(4, start=2**31 - 5), Discrete(4)),
    (spaces.Discrete(4, start=-(2**31)), Discrete(4)),
    (spaces.Dict({"none": spaces.Dict({}), "one": spaces.Discrete(2)}), Dict({"none": Dict({}), "one": Discrete(2)})),
    (spaces.MultiDiscrete([2, 3]), MultiDiscrete((2, 3))),
    (spaces.MultiBinary(3), MultiDiscrete((2, 2, 2))),
    (
        MANY,
        Dict(
            {
                "picture": Box(0, 255, (2, 2), np.uint8),
                "angle": Box(-np.pi, np.pi, (1,)),
                "pair": Dict({"0": Discrete(3), "1": MultiDiscrete((2, 2))}),
                "choice": MultiDiscrete((2, 5)),
            }
        ),
    ),
]
REFUSED = [
    spaces.Dict({"a": spaces.Graph(spaces.Discrete(2), None)}),
    spaces.Sequence(spaces.Discrete(2)),
    spaces.MultiDiscrete([[2, 2], [2, 2]]),
    spaces.MultiBinary([2, 2]),
    spaces.Dict({}),
]
FAR = [
    spaces.Discrete(4, start=2**31 - 2),
    spaces.Discrete(3, start=2**40),
    spaces.Discrete(3, start=-(2**40)),
    spaces.MultiDiscrete([2, 3], start=[0, 2**35]),
    spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Discrete(2, start=2**40)}),
]


@pytest.mark.parametrize(("theirs", "ours"), TRANSLATED, ids=lambda space: type(space).__name__)
def test_a_space_is_the_one_of_ours_that_holds_the_same(theirs, ours):
    assert our_space("observation_space", theirs) == ours


@pytest.mark.parametrize("space", FAR, ids=str)
def test_indices_beyond_32_bits_are_refused_in_one_line(space):
    """Nothing here holds them: an action would come out as another one."""
    told = r"^action_space of Far: got (Multi)?Discrete\(.*start=.*; use a space whose numbers fit 32 bits"
    with pytest.raises(ks.ConfigError, match=told):
        our_space("action_space of Far", space)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_a_box_is_the_same_from_the_host_and_from_jax(dtype):
    widest = {"?": (0, 1), "f": (-np.inf, np.inf)}.get(dtype[0]) or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for low, high in [(0, 1), ([0, 1], [1, 1]), widest]:
        theirs = spaces.Box(*(np.array(np.broadcast_to(end, 2), dtype) for end in (low, high)), dtype=dtype)
        assert our_space("observation_space", theirs) == box_like(theirs, theirs.low, theirs.high)
    assert our_space("observation_space", theirs) == box_like(theirs)  # where they tell no bounds


def test_the_largest_number_of_float32_is_no_bound():
    largest = np.finfo(np.float32).max
    assert our_space("observation_space", spaces.Box(-largest, largest, (2,), np.float32)) == Box(-np.inf, np.inf, (2,))


def test_whole_numbers_without_a_sign_are_the_same_from_the_host_from_jax_and_for_a_policy():
    """In int32, as spaces have no larger ones: as uint32 a run would see numbers that its saved policy does not."""
    theirs, given = spaces.Box(0, 2**32 - 1, (2,), np.uint32), np.array([2**32 - 5, 3], np.uint32)
    ours = box_like(theirs, theirs.low, theirs.high)
    seen = jax.device_get(conformed(ours, given))
    assert (ours.dtype, seen.dtype, seen.tolist()) == (np.int32, np.int32, [2**31 - 2, 3])
    assert ours.contains(seen)
    assert np.array_equal(seen, within_32_bits(given))
    assert np.array_equal(seen, written(leaves_of(theirs), [given])[0][0])


class Partly(gymnasium.Env):
    """Observes the one number of a part, and nothing of the other."""

    action_space = spaces.Discrete(2)

    def __init__(self, nothing):
        self.observation_space = spaces.Dict({"none": nothing, "one": spaces.Box(-1, 1, (1,), np.float32)})

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), 1.0, self.steps == 5, False, {}


@pytest.mark.by_default("ppo-Box")
@pytest.mark.parametrize("nothing", [spaces.Dict({}), spaces.Box(-1, 1, (0, 3))], ids=["Dict", "Box"])
@pytest.mark.parametrize("agent", ["ppo", "dqn"])
def test_a_part_of_an_observation_may_hold_nothing(agent, nothing):
    small = {"num_steps": 8, "minibatches": 2} if agent == "ppo" else {"capacity": 64, "learning_starts": 8}
    env = ks.from_gymnasium(lambda: Partly(nothing))
    run = ks.train(agent, env, steps=64, num_envs=2, hidden=(8,), out="", eval_episodes=1, **small)
    assert ks.load_policy(run)(Partly(nothing).observation_space.sample()) in (0, 1)


@pytest.mark.parametrize("space", REFUSED, ids=lambda space: type(space).__name__)
def test_spaces_without_a_counterpart_are_refused_in_one_line(space):
    with pytest.raises(ks.ConfigError) as caught:
        our_space("observation_space of Words", space)
    assert str(caught.value).startswith("observation_space of Words: got ")
    assert space == spaces.Dict({}) or "MultiDiscrete or MultiBinary of one axis" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("within", [lambda space: space, lambda space: spaces.Tuple([spaces.Dict({"a": space})])])
@pytest.mark.parametrize("names", [(1, "a"), (None, 2), (1j, 2j)], ids=str)
def test_keys_without_an_order_are_refused_in_one_line(names, within):
    mixed = spaces.Dict(dict.fromkeys(names, spaces.Discrete(2)))
    with pytest.raises(ks.ConfigError, match=r"^observation_space: got '(Dict|Tuple)'; its keys .* have no order: use"):
        our_space("observation_space", within(mixed))


@pytest.mark.by_default("0")
@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_seen_lies_in_our_space_and_done_again_is_what_was_seen(workers):
    env = ks.from_gymnasium(Echo, workers=workers)
    vector = env.make_vector([1, 2, 3])
    leaves = vector.reset()
    wanted = jax.eval_shape(env.observation_space.sample, jax.random.key(0))
    assert [leaf.shape[1:] for leaf in leaves] == [leaf.shape for leaf in jax.tree.leaves(wanted)]
    assert [leaf.dtype for leaf in leaves] == [leaf.dtype for leaf in jax.tree.leaves(wanted)]
    for i in range(3):
        seen = jax.tree.unflatten(jax.tree.structure(wanted), [leaf[i] for leaf in leaves])
        assert env.observation_space.contains(seen)
    again, reward, *_ = vector.step(leaves)
    assert all(map(np.array_equal, leaves, again))
    assert reward.tolist() == [1, 1, 1]
    vector.close()


def test_an_observation_of_another_shape_than_its_space_is_an_error():
    class Wide(Counter):
        def _seen(self):
            return np.zeros(1)

    told = r"environment Wide raised ValueError: an observation has the shape \(1,\), and its space the shape \(3,\)"
    with pytest.raises(ks.EnvError, match=told):
        ks.train(Diary(ks.Rollouts(num_envs=1, num_steps=4)), ks.from_gymnasium(Wide), steps=4, out="")


@pytest.mark.by_default("SyncVectorEnv-AutoresetMode.NEXT_STEP")
@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        (SyncVectorEnv, AutoresetMode.DISABLED),
        (SyncVectorEnv, AutoresetMode.NEXT_STEP),
        pytest.param(AsyncVectorEnv, AutoresetMode.DISABLED, marks=pytest.mark.full("processes")),
    ],
)
def test_a_vector_that_exists_is_stepped_with_true_successors(kind, mode):
    options = {"context": "spawn"} if kind is AsyncVectorEnv else {}
    vector = kind([Counter] * 4, autoreset_mode=mode, **options)
    agent = Diary(ks.Rollouts(num_envs=2, num_steps=8), updates=2)
    run = ks.train(agent, ks.from_gymnasium(vector), steps=32, seeds=2, out="", eval_episodes=3)
    vector.close()
    obs, action, _, terminated, _, next_obs, _ = (
        np.asarray(x).reshape(2, 16, 2, *x.shape[4:]) for x in run._trained.final_state.agent_state[1]
    )
    assert np.array_equal(next_obs, obs + np.array([0, 0, 1]))
    assert np.array_equal(action, obs[..., 2].astype(int) % ACTIONS)
    assert np.array_equal(terminated, next_obs[..., 2] >= 4 + obs[..., 1] % 2)
    assert terminated.sum() == 12
    assert len(np.unique(obs[:, 0, :, 0])) == 4
    assert set(run.record.evaluation["length"].ravel()) <= {4, 5}


def test_a_pool_that_exists_is_stepped_with_true_successors():
    env = ks.from_envpool(ks.to_envpool(Counting(length=3), 4), name="a pool")
    assert env.name == "a pool"
    slots, ended = HostSlots(env, range(4)), np.zeros(4, bool)
    for step in range(8):
        action = np.array([0, 0, 0, step % 2])  # of 1 the last one stays
        before = slots.obs[0]
        assert (before[ended, 1] == 0).all()
        told = slots.step([action])
        assert np.array_equal(told.next_obs[0], before + np.stack([0 * action, action == 0], axis=-1))
        assert np.array_equal(told.reward, told.next_obs[0][:, 1])
        assert np.array_equal(told.terminated, told.next_obs[0][:, 1] == 3)
        ended = told.ended
    slots.close()
    assert ended.tolist() == [False, False, False, False]
    assert slots.length.tolist() == [2, 2, 2, 3]


def test_an_object_is_made_again_by_its_id_and_else_copied():
    made = ks.from_gymnasium(gymnasium.make("CartPole-v1", sutton_barto_reward=True))
    assert made.name == "CartPole-v1"
    copies = made.make_vector([0, 1])._envs
    assert copies[0] is not copies[1]
    assert all(env.unwrapped._sutton_barto_reward for env in copies)
    own = ks.from_gymnasium(Counter(ends=7))
    assert own.name == "Counter"
    assert [env.ends for env in own.make_vector([0, 1])._envs] == [7, 7]
    assert ks.make("gymnasium:CartPole-v1") == ks.make("gymnasium:CartPole-v1"), "equal ones share programs"
