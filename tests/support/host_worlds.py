"""Environments of Gymnasium's whose every transition can be told beforehand. Worker processes import it: no JAX."""

import sys
from types import SimpleNamespace

import gymnasium
import numpy as np
from gymnasium import spaces


class Counter(gymnasium.Env):
    """Observes (which environment this is, episode, step): it terminates at `ends`, and is cut at `cut`.

    The reward is the action plus a tenth of the step. An environment is known by its seed.
    """

    observation_space = spaces.Box(-1.0, 2.0**31, (3,), np.float64)

    def __init__(self, ends=4, cut=None, actions=3, fails_at=None):
        self.action_space = spaces.Discrete(actions)
        self.ends, self.cut, self.fails_at = ends, cut, fails_at
        self.who, self.episode, self.step_number, self.steps = -1.0, -1, 0, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.who = float(seed % 1000)
        self.episode, self.step_number = self.episode + 1, 0
        return self._seen(), {}

    def step(self, action):
        self.step_number, self.steps = self.step_number + 1, self.steps + 1
        if self.steps == self.fails_at:
            raise ZeroDivisionError("the wheels came off")
        terminated = self.step_number >= self.ends + self.episode % 2
        truncated = self.cut is not None and self.step_number >= self.cut
        return self._seen(), float(action) + self.step_number / 10, terminated, truncated, {}

    def _seen(self):
        return np.array([self.who, self.episode, self.step_number], np.float64)


class Push(gymnasium.Env):
    """A point on a line that an action in [-1, 1] pushes; the nearer to 0, the better."""

    observation_space = spaces.Box(-10.0, 10.0, (1,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = self.np_random.uniform(-1, 1), 0
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at, self.steps = np.clip(self.at + action[0], -10, 10), self.steps + 1
        return np.array([self.at], np.float32), -abs(self.at), False, self.steps >= 8, {}


class Rooms(gymnasium.Env):
    """Four rooms in a row, numbered from 10; the last one pays 1 and ends the episode."""

    observation_space = spaces.Discrete(4, start=10)
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room, self.steps = 10, 0
        return self.room, {}

    def step(self, action):
        assert action in (5, 6), action
        self.room, self.steps = min(max(self.room + (1 if action == 6 else -1), 10), 13), self.steps + 1
        return self.room, float(self.room == 13), self.room == 13, self.steps >= 30, {}


MANY = spaces.Dict(
    {
        "picture": spaces.Box(0, 255, (2, 2), np.uint8),
        "angle": spaces.Box(-np.pi, np.pi, (1,), np.float64),
        "pair": spaces.Tuple([spaces.Discrete(3, start=-1), spaces.MultiBinary(2)]),
        "choice": spaces.MultiDiscrete([2, 5], start=[1, 0]),
    }
)


class Echo(gymnasium.Env):
    """Shows a random value of a space with many parts; it pays 1 for the same value as an action."""

    observation_space = action_space = MANY

    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        self.shown = self.observation_space.sample()
        return self.shown, {}

    def step(self, action):
        assert action in self.action_space, action
        same = np.allclose(*(spaces.flatten(MANY, value) for value in (action, self.shown)))
        return self.shown, float(same), False, False, {}


WORDS = ("wait", "left", "right")
TEXT = spaces.Text(6, min_length=0, charset="wait lefrgh")
FORMS = {
    "whole": (TEXT, lambda word: word),
    "dict": (spaces.Dict({"at": spaces.Box(0, 9, (1,)), "told": TEXT}), lambda word: {"at": np.zeros(1), "told": word}),
    "tuple": (spaces.Tuple([spaces.Discrete(2, start=1), TEXT]), lambda word: (1, word)),
}


class Spoken(gymnasium.Env):
    """Says which of `words` is to be done, in turn and from its seed on, and pays 1 for the action of its number."""

    action_space = spaces.Discrete(3)

    def __init__(self, form="dict", words=WORDS):
        self.observation_space, self._seen = FORMS[form]
        self.words, self.turn, self.steps = words, 0, 0

    def reset(self, *, seed=None, options=None):
        self.turn, self.steps = self.turn if seed is None else seed, 0
        return self._say(), {}

    def step(self, action):
        paid = float(action == self.turn % 3)
        self.turn, self.steps = self.turn + 1, self.steps + 1
        return self._say(), paid, False, self.steps >= 6, {}

    def _say(self):
        return self._seen(self.words[self.turn % len(self.words)])


class Loaded(gymnasium.Env):
    """Observes whether JAX is loaded in the process that steps it."""

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return int("jax" in sys.modules), {}

    def step(self, action):
        return int("jax" in sys.modules), 0.0, False, False, {}


class LoadedDm:
    """The same by the protocol of dm_env."""

    def reset(self):
        ends = {"first": lambda: True, "last": lambda: False}
        return SimpleNamespace(observation=float("jax" in sys.modules), reward=None, discount=None, **ends)

    def step(self, action):
        ends = {"first": lambda: False, "last": lambda: False}
        return SimpleNamespace(observation=float("jax" in sys.modules), reward=0.0, discount=1.0, **ends)

    def action_spec(self):
        return SimpleNamespace(num_values=2, shape=(), dtype=np.int32)

    def observation_spec(self):
        return SimpleNamespace(shape=(), dtype=np.float64)

    def close(self):
        pass


class Loose(gymnasium.Env):
    """Says what it is made with: its observation, reward and flags."""

    action_space = spaces.Discrete(2)

    def __init__(self, space=None, obs=0, reward=1.0, terminated=False, truncated=False):
        self.observation_space = spaces.Discrete(5) if space is None else space
        self.first, self.told = self.observation_space.sample(), (obs, reward, terminated, truncated, {})

    def reset(self, *, seed=None, options=None):
        return self.first, {}

    def step(self, action):
        return self.told
