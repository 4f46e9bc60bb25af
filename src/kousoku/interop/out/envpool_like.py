"""Many environments as EnvPool has them: steps of some of them, sent now and received later."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode

from ...core.env import Env
from ...core.errors import ConfigError, check_count
from ...core.spaces import Dict
from .actions import whole_numbers
from .gymnasium_env import check_options
from .gymnasium_vector import MASK, checked_mask
from .spaces import gymnasium_dtypes, gymnasium_space, in_dtypes
from .stepper import LARGEST_SEED, Stepper, made
from .stepping import ResetRule, StepResult

PATIENCE = 0.2
"""Seconds after which a thread that waits looks whether there is another one that may send."""


class Waiting(NamedTuple):
    """Results that wait to be received, a row for each of K environments.

    Attributes:
        numbers: of the environments, int32 [K].
        result: what the step or the reset gave, of these environments.
        elapsed: how many steps old episodes were then, int32 [K].
    """

    numbers: np.ndarray
    result: StepResult
    elapsed: np.ndarray


class Threads:
    """The threads that share an object, and what they hold while they use it.

    Whoever made it may send, and so may each that has used it or began after it; one that waits itself may not.

    Attributes:
        changed: held by the thread that uses the object; notified where there is more to receive.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._waiting: set[threading.Thread] = set()
        self._strangers: weakref.WeakSet[threading.Thread] = weakref.WeakSet(threading.enumerate())
        self.used()

    def used(self) -> threading.Condition:
        """Returns what a thread holds while it uses the object, and remembers that it does."""
        self._strangers.discard(threading.current_thread())
        return self.changed

    def another_may_send(self) -> bool:
        """Returns whether another thread than this one may send."""
        out = {threading.current_thread(), *self._waiting}
        return any(thread not in out and thread not in self._strangers for thread in threading.enumerate())

    def wait(self) -> None:
        """Waits until something has changed, or for so long that the other threads may have."""
        me = threading.current_thread()
        self._waiting.add(me)
        try:
            self.changed.wait(PATIENCE)
        finally:
            self._waiting.discard(me)


class EnvPoolLike(  # pyright: ignore[reportIncompatibleMethodOverride]
    gymnasium.vector.VectorEnv[Any, Any, np.ndarray], gymnasium.Env[Any, Any]
):
    """N environments of ours with EnvPool's methods, of its type "gymnasium"; `to_envpool` makes it.

    Environments are told by their numbers, `env_id`. The step after the last one of an episode begins the next. What is
    sent is computed at once; `recv` returns what has been waiting longest, of `batch_size` environments at most.

    As EnvPool's, it is a `gymnasium.Env` as well as a `VectorEnv`, so that wrappers for either take it; its spaces are
    those of one environment. Threads may share it: their calls come one after the other. `recv` waits while nothing is
    there and another thread may send: see `Threads`.

    Args:
        env: an environment.
        num_envs: N.
        batch_size: how many are received at a time; all by default.
        seed: s, for s + i in environment i.

    Raises:
        ConfigError: for a batch that is larger than N, or what is no seed.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    is_vector_env = True

    def __init__(self, env: Env, num_envs: int = 1, *, batch_size: int | None = None, seed: int = 0) -> None:
        self._waiting: deque[Waiting] = deque()
        self._threads = Threads()
        self._stepper = Stepper(env, num_envs, ResetRule.NEXT_STEP)
        self._dtypes = gymnasium_dtypes(env.observation_space)
        self.num_envs = self._stepper.num_slots
        self.batch_size = check_count("batch_size", batch_size or self.num_envs, high=self.num_envs)
        self.env, self._seed = env, check_count("seed", seed, low=0, high=LARGEST_SEED + 1 - self.num_envs)
        self.observation_space = self.single_observation_space = gymnasium_space(env.observation_space)
        self._actions = env.action_space
        self.action_space: gymnasium.Space = gymnasium_space(self._actions)
        self.single_action_space = self.action_space
        self.all_env_ids = np.arange(self.num_envs, dtype=np.int32)
        self._elapsed = np.zeros(self.num_envs, np.int32)

    def __len__(self) -> int:
        return self.num_envs

    def __getstate__(self) -> dict[str, Any]:
        with self._threads.changed:
            kept = {name: value for name, value in vars(self).items() if name != "_threads"}
            return {**kept, "_waiting": self._waiting.copy(), "_elapsed": self._elapsed.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._threads = Threads()

    @property
    def config(self) -> dict[str, Any]:
        """The numbers that it was made with."""
        limit = self.env.time_limit
        return {
            "num_envs": self.num_envs,
            "batch_size": self.batch_size,
            "seed": self._seed,
            "max_episode_steps": limit,
        }

    @property
    def is_async(self) -> bool:
        """Whether fewer environments are received at a time than there are."""
        return self.batch_size < self.num_envs

    def reset(
        self, env_id: Any = None, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins new episodes, of all environments or of some; returns their observations and infos.

        What waits of these environments is forgotten; what waits of others is still to be received.

        Args:
            env_id: numbers of environments; all by default.
            seed: s, for s + i in environment i; without, every environment goes on with its own randomness.
            options: none but {"reset_mask": bool [N]}, which environments, in the place of `env_id`.

        Raises:
            ConfigError: for what are no numbers of environments, no seed, or other options.
        """
        check_options(options, (MASK,))
        mask = (options or {}).get(MASK)
        if mask is not None and env_id is not None:
            raise ConfigError("env_id", env_id, f"give it, or options with {MASK!r}")
        numbers = self._begin(env_id if mask is None else np.flatnonzero(checked_mask(mask, self.num_envs)))
        if seed is not None:
            seed = check_count("seed", seed, low=0, high=LARGEST_SEED + 1 - self.num_envs)
        super().reset(seed=seed)
        with self._threads.used():
            self.closed = False
            self._forget(numbers)
            begun = self._again(numbers, seed)
            return self._obs(begun), self._info(begun)

    def async_reset(self) -> None:
        """Begins new episodes of all environments, which `recv` returns."""
        with self._threads.used():
            self.closed = False
            self._waiting.clear()
            self._waiting.append(self._again(self.all_env_ids))
            self._threads.changed.notify_all()

    def send(self, action: Any, env_id: Any = None) -> None:
        """Takes one action in each environment, or in each of some; `recv` returns what follows.

        Args:
            action: of each environment; whole numbers may be floats or booleans. Or a dict of it, as "action" or by
                the names of its parts, and "env_id".
            env_id: the environments' numbers; by default those of the dict, or all.

        Raises:
            ConfigError: for what are no actions or no numbers of environments, before the first reset, or after `close`
                until the next one.
        """
        action, env_id = self._named(action, env_id)
        numbers, given = self._begin(env_id), whole_numbers(self._actions, action)
        with self._threads.used():
            if self.closed or not self._stepper.has_begun:
                why = "it was closed" if self.closed else "no episode has begun"
                raise ConfigError("send", why, "call reset() or async_reset() first")
            everyone = numbers is self.all_env_ids
            result = self._stepper.step(given) if everyone else self._stepper.step_some(given, numbers)
            self._elapsed[numbers] = np.where(result.begun, 0, self._elapsed[numbers] + 1)
            self._waiting.append(Waiting(numbers, result, self._elapsed[numbers]))
            self._threads.changed.notify_all()

    def recv(self) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Returns observations, rewards, terminated, truncated and infos, whose `env_id` says of which environments.

        Raises:
            ConfigError: if nothing was sent, and no other thread may send.
        """
        with self._threads.used():
            while not self._waiting:
                if self.closed or not self._threads.another_may_send():
                    raise ConfigError("recv", "nothing was sent", "call send() or async_reset() first")
                self._threads.wait()
            parts: list[Waiting] = []
            room = self.batch_size
            while room and self._waiting:
                part = self._waiting.popleft()
                if len(part.numbers) > room:
                    self._waiting.appendleft(_rows(part, slice(room, None)))
                    part = _rows(part, slice(room))
                parts.append(part)
                room -= len(part.numbers)
        got = parts[0] if len(parts) == 1 else jax.tree.map(lambda *x: np.concatenate(x), *parts)
        result = got.result
        return self._obs(got), result.reward, result.terminated, result.truncated, self._info(got)

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, action: Any, env_id: Any = None
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Sends actions and receives what follows, with nothing that another thread sends in between."""
        with self._threads.changed:
            self.send(action, env_id)
            return self.recv()

    def render(self) -> None:
        """Draws nothing: as EnvPool's without a render mode, it raises.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("render", "to_envpool", 'use ks.to_gymnasium_vec(env, n, render_mode="rgb_array")')

    def xla(self) -> None:
        """Gives no functions for XLA, which EnvPool has.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("xla", "to_envpool", "use ks.to_gymnax: its reset and step are functions for jax.jit")

    def close(self, **kwargs: Any) -> None:
        """Forgets what was not received, and takes no actions until the next reset; threads that wait are told so."""
        with self._threads.changed:
            self._waiting.clear()
            self.closed = True
            self._threads.changed.notify_all()

    def _named(self, action: Any, env_id: Any) -> tuple[Any, Any]:
        """Returns actions and numbers of environments, which may be in the dict of the actions.

        Raises:
            ConfigError: for a dict without actions.
        """
        if not isinstance(action, Mapping):
            return action, env_id
        own = self._actions.spaces if isinstance(self._actions, Dict) else {}
        rest = {name: part for name, part in action.items() if name in own or not _tells_players(name, part)}
        if own and set(rest) == set(own):
            return rest, env_id
        inside = rest.pop("env_id", None)
        if not own and set(rest) != {"action"}:
            raise ConfigError("action", action, "use {'action': ..., 'env_id': ...}")
        return rest["action"] if set(rest) == {"action"} != set(own) else rest, inside if env_id is None else env_id

    def _begin(self, env_id: Any) -> np.ndarray:
        """Returns the numbers of environments, int32 [K].

        Raises:
            ConfigError: for others than there are, or one twice.
        """
        if env_id is None:
            return self.all_env_ids
        numbers = np.atleast_1d(np.asarray(env_id))
        known = numbers.ndim == 1 and numbers.dtype.kind in "iu" and numbers.size > 0
        there = known and numbers.min() >= 0 and numbers.max() < self.num_envs
        if not there or len(set(numbers.tolist())) < len(numbers):
            raise ConfigError("env_id", env_id, f"use different numbers from 0 to {self.num_envs - 1}")
        return numbers.astype(np.int32)

    def _forget(self, numbers: np.ndarray) -> None:
        """Takes some environments out of what waits."""
        stay = [(part, np.isin(part.numbers, numbers, invert=True)) for part in self._waiting]
        self._waiting = deque(_rows(part, rows) for part, rows in stay if rows.any())

    def _again(self, numbers: np.ndarray, seed: int | None = None) -> Waiting:
        """Begins new episodes of some environments; the first time, of all."""
        first = self._seed if seed is None else seed
        seeds = [first + i for i in range(self.num_envs)]
        if not self._stepper.has_begun:
            result = self._stepper.reset(seeds)
        else:
            again = [None] * self.num_envs if seed is None else seeds
            result = self._stepper.reset(again, np.isin(self.all_env_ids, numbers))
        self._elapsed[numbers] = 0
        return Waiting(numbers, jax.tree.map(lambda x: x[numbers], result), self._elapsed[numbers])

    def _obs(self, got: Waiting) -> Any:
        return in_dtypes(self._dtypes, got.result.obs)

    @staticmethod
    def _info(got: Waiting) -> dict[str, Any]:
        numbers = got.numbers.copy()
        return {**got.result.info, "env_id": numbers, "players": {"env_id": numbers}, "elapsed_step": got.elapsed}


def _tells_players(name: Any, part: Any) -> bool:
    """Returns whether a part of a dict for EnvPool numbers the players, of which every environment has one."""
    return name == "players.env_id" or (name == "players" and isinstance(part, Mapping) and set(part) == {"env_id"})


def _rows(part: Waiting, rows: Any) -> Waiting:
    """Returns some rows of what waits."""
    return jax.tree.map(lambda x: x[rows], part)


def to_envpool(
    env: str | Env, num_envs: int = 1, *, batch_size: int | None = None, seed: int = 0, **options: Any
) -> Any:
    """Makes an object with EnvPool's methods of an id or an environment of ours; EnvPool is not needed.

    Args:
        env: an id, or an environment.
        num_envs, batch_size, seed: as of `EnvPoolLike`.
        options: of an environment by id; `max_episode_steps` is a time limit in the place of its own.

    Raises:
        ConfigError: as `EnvPoolLike` does, and for an unknown id or option.

    Examples:
        >>> envs = to_envpool("CartPole-v1", 4, batch_size=2)
        >>> envs.async_reset()
        >>> obs, reward, terminated, truncated, info = envs.recv()
        >>> obs.shape, info["env_id"]
        ((2, 4), array([0, 1], dtype=int32))
        >>> envs.send(np.array([0, 1]), info["env_id"])
    """
    return EnvPoolLike(made(env, **options), num_envs, batch_size=batch_size, seed=seed)
