"""Numbers that go to environments on the host and come from them: actions within their space, and what is no number."""

import sys
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import cloudpickle
import gymnasium
import ml_dtypes
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from host_worlds import Loose

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.interop.host.values import leaves_of, unbatched

LOW, HIGH = -0.3, 0.3  # the float32 that is nearest to either lies outside
SPACE = spaces.Box(LOW, HIGH, (2,), np.float64)
NESTED = spaces.Dict({"parts": spaces.Tuple([SPACE, spaces.Discrete(2)])})


class Strict(gymnasium.Env):
    """Refuses actions outside its space; its reward is the first of their numbers."""

    observation_space = spaces.Box(-1.0, 1.0, (), np.float32)

    def __init__(self, space=SPACE):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        return np.float32(0), {}

    def step(self, action):
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        first = action["parts"][0] if isinstance(action, dict) else action
        return np.float32(0), float(first[0]), False, False, {}


class StrictDm:
    """The same with dm_env's protocol."""

    def __init__(self):
        self.spec = SimpleNamespace(shape=(2,), dtype=np.dtype(np.float64), minimum=LOW, maximum=HIGH)

    def reset(self):
        return SimpleNamespace(observation=np.zeros(1), reward=None, last=lambda: False)

    def step(self, action):
        if (action < LOW).any() or (action > HIGH).any():
            raise ValueError(f"{action!r} is outside")
        ends: Any = {"first": lambda: False, "last": lambda: False}
        return SimpleNamespace(observation=np.zeros(1), reward=float(action[0]), discount=1.0, **ends)

    def action_spec(self):
        return self.spec

    def observation_spec(self):
        return SimpleNamespace(shape=(1,), dtype=np.dtype(np.float64), minimum=-1, maximum=1)

    def close(self):
        pass


cloudpickle.register_pickle_by_value(sys.modules[__name__])

MADE = {
    "in this process": lambda: ks.from_gymnasium(Strict),
    "in workers": lambda: ks.from_gymnasium(Strict, workers=2),
    "in a Dict": lambda: ks.from_gymnasium(lambda: Strict(NESTED)),
    "in a vector": lambda: ks.from_gymnasium(SyncVectorEnv([Strict] * 2, autoreset_mode=AutoresetMode.DISABLED)),
    "of dm_env": lambda: ks.from_dm_env(StrictDm),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("bound", [LOW, HIGH])
def test_actions_at_the_bounds_of_wide_numbers_are_within_them(make, bound):
    env = make()
    nested = isinstance(env.action_space, ks.Dict)
    outermost = [np.full((2, 2), bound, np.float32), *([np.zeros(2, np.int32)] * nested)]
    assert not LOW <= outermost[0].astype(np.float64)[0, 0] <= HIGH
    slots = HostSlots(env, [0, 1])
    assert slots.step(outermost).reward.tolist() == pytest.approx([bound] * 2)
    slots.close()


def test_a_pools_actions_are_within_its_space_too():
    """EnvPool takes what `unbatched` gives; other numbers and NaN stay as they are."""
    given = np.array([[LOW, 0.25], [np.nan, HIGH]], np.float32)
    theirs = unbatched(SPACE, leaves_of(SPACE), [given])
    assert theirs.dtype == np.float64
    np.testing.assert_array_equal(theirs, [[LOW, 0.25], [np.nan, HIGH]])


def stepped(env):
    slots = HostSlots(env, [0, 1])
    try:
        return slots.step([np.zeros(2, np.int32)])
    finally:
        slots.close()


BOX, WHOLE = spaces.Box(-1.0, 1.0, (2,), np.float32), spaces.Box(0, 9, (), np.int64)
NO_NUMBERS = {
    "a text": ({"reward": "1.0"}, "its reward is '1.0', and has to be a number"),
    "bytes": ({"reward": b"1"}, "its reward is b'1', and has to be a number"),
    "complex": ({"reward": 1 + 2j}, r"its reward is \(1\+2j\), and has to be a number"),
    "a date": ({"reward": np.datetime64("2026-01-01")}, "its reward is datetime.date.*, and has to be a number"),
    "a text of an array": ({"reward": np.array(["1"])}, "its reward is '1', and has to be a number"),
    "an object": ({"reward": {}}, "its reward is {}, and has to be a number"),
    "a flag as text": ({"terminated": "False"}, "its terminated is 'False', and has to be True or False"),
    "a flag that is NaN": ({"terminated": float("nan")}, "its terminated is nan, and has to be True or False"),
    "a flag that is an object": ({"truncated": []}, None),
    "texts seen": ({"space": BOX, "obs": ["0.5", "0"]}, "an observation has '0.5', which is no number"),
    "complex numbers seen": ({"space": BOX, "obs": [1j, 0]}, "an observation has 1j, which is no number"),
    "nothing seen": ({"space": BOX, "obs": [None, 0]}, "an observation has None, which is no number"),
    "a text as index": ({"obs": "3"}, "an observation has '3', which is no number"),
    "complex as index": ({"obs": 3 + 0j}, r"an observation has \(3\+0j\), which is no number"),
    "a date as whole number": ({"space": WHOLE, "obs": np.timedelta64(3)}, "an observation has .*, which is no number"),
    "a part": (
        {"space": spaces.Dict({"at": WHOLE}), "obs": {"at": "3"}},
        r"an observation\['at'\] has '3', which is no number",
    ),
}


@pytest.mark.parametrize(("said", "told"), NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_number_is_told_in_one_line(said, told):
    with pytest.raises(ks.EnvError, match=rf"^environment Loose raised \w+: {told or ''}") as caught:
        stepped(ks.from_gymnasium(lambda: Loose(**said)))
    assert "\n" not in str(caught.value)


class Vector(gymnasium.vector.VectorEnv):
    """Says what it is made with, of two environments."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012
    num_envs = 2
    single_observation_space, single_action_space = spaces.Discrete(5), spaces.Discrete(2)

    def __init__(self, obs=(0, 0), reward=(1.0, 1.0), terminated=(False, False)):
        self.told = obs, reward, terminated, (False, False), {}

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.int64), {}

    def step(self, actions):
        return self.told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"reward": ("1", "2")}, "its reward is '1', and has to be a number"),
        ({"reward": (1j, 2)}, "its reward is 1j, and has to be a number"),
        ({"reward": (1.0, None)}, "its reward is None, and has to be a number"),
        ({"terminated": ("False", "False")}, "its terminated is 'False', and has to be True or False"),
        ({"terminated": (0.0, np.nan)}, "its terminated is nan, and has to be True or False"),
        ({"obs": ("1", "2")}, "an observation has '1', which is no number"),
    ],
)
def test_so_is_that_of_a_vector(said, told):
    with pytest.raises(ks.EnvError, match=f"^environment Vector raised ValueError: {told}$"):
        stepped(ks.from_gymnasium(Vector(**said)))


@pytest.mark.parametrize("number", [Decimal(2), np.float16(2), ml_dtypes.bfloat16(2), True + 1])
def test_numbers_of_every_kind_are_taken(number):
    seen = stepped(ks.from_gymnasium(lambda: Loose(obs=number, reward=number, terminated=number)))
    assert (seen.reward.tolist(), seen.terminated.tolist()) == ([2.0, 2.0], [True, True])
    assert seen.next_obs[0].tolist() == [2, 2]
    (whole,) = stepped(ks.from_gymnasium(lambda: Loose(WHOLE, number))).next_obs
    assert (whole.dtype, whole.tolist()) == (np.int32, [2, 2])


def test_a_flag_that_is_none_is_false():
    seen = stepped(ks.from_gymnasium(lambda: Loose(terminated=None, truncated=None)))
    assert (seen.terminated.tolist(), seen.truncated.tolist()) == ([False, False], [False, False])
