"""Many environments as Stable-Baselines3's `VecEnv`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...core.env import Env
from ...core.errors import ConfigError, check_count
from .gymnasium_env import check_begun, check_options, drawn_seed, metadata_of, painter_of
from .gymnasium_vector import row
from .spaces import gymnasium_dtypes, gymnasium_space, in_dtypes
from .stepper import Stepper, made
from .stepping import ResetRule
from .theirs import derived, required

ONE_FOR_ALL = "they are slots of one compiled environment: make another one with the options that you need"
NOT_GIVEN = ...
"""What stands for actions that `step_async` has not taken."""


class SB3VectorEnv:
    """N environments of ours as Stable-Baselines3's `VecEnv`; `to_sb3_vec` makes it.

    The step that ends an episode begins the next one. Infos are empty, but where an episode ended: these have
    `terminal_observation` and `TimeLimit.truncated`.

    Args:
        env: an environment.
        num_envs: N.
        render_mode: None, or "rgb_array".
    """

    def __init__(self, env: Env, num_envs: int, render_mode: str | None = None) -> None:
        self.env = env
        self._painter = painter_of(env, render_mode)
        self._given_mode = render_mode
        self._stepper = Stepper(env, num_envs, ResetRule.SAME_STEP)
        self._dtypes = gymnasium_dtypes(env.observation_space)
        self._actions: Any = NOT_GIVEN
        spaces = (gymnasium_space(space) for space in (env.observation_space, env.action_space))
        super().__init__(self._stepper.num_slots, *spaces)  # pyright: ignore[reportCallIssue]
        self.metadata = metadata_of(env)

    def __reduce__(self) -> tuple[Any, ...]:
        return _bare, (), self.__dict__

    def reset(self) -> Any:
        """Begins new episodes, with the seeds that `seed` has set; without, each goes on with its own randomness."""
        theirs: Any = self
        seeds = list(theirs._seeds)
        if not self._stepper.has_begun:
            seeds = [drawn_seed(np.random.default_rng()) if seed is None else seed for seed in seeds]
        theirs._reset_seeds()
        self._actions = NOT_GIVEN
        return self._obs(self._stepper.reset(seeds).obs)

    def set_options(self, options: Any = None) -> None:
        """Refuses options of a reset, one dict or a list of them, as there are none.

        Raises:
            ConfigError: naming them.
        """
        several = isinstance(options, Sequence) and not isinstance(options, str)
        if several and len(options) != self._stepper.num_slots:
            raise ConfigError("options", options, f"give one dict, or {self._stepper.num_slots} of them")
        for each in options if several else [options]:
            check_options(each, ())

    def step_async(self, actions: Any) -> None:
        """Takes actions, which `step_wait` uses."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Takes one action in each environment: returns (obs, rewards, dones, infos).

        Raises:
            ConfigError: for what are no actions, or if none were given to `step_async` since the last step or reset.
            ResetNeeded: before the first reset.
        """
        check_begun(self._stepper)
        actions, self._actions = self._actions, NOT_GIVEN
        if actions is NOT_GIVEN:
            raise ConfigError("actions", ..., "call step_async() first")
        result = self._stepper.step(actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self._stepper.num_slots)]
        if result.begun.any():
            final = self._obs(result.final_obs)
            for i in np.flatnonzero(result.begun).tolist():
                cut = bool(result.truncated[i] and not result.terminated[i])
                infos[i] = {"terminal_observation": row(final, i), "TimeLimit.truncated": cut}
        return self._obs(result.obs), result.reward, result.begun, infos

    def close(self) -> None:
        """Does nothing: there are no processes and no files to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the environment, once for each of them.

        Raises:
            ConfigError: for environments that are not there.
        """
        value = self._given_mode if attr_name == "render_mode" else getattr(self.env, attr_name)
        return [value for _ in self._numbers(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses: environments are values.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("set_attr", attr_name, ONE_FOR_ALL)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Refuses: environments of one program have no methods of their own.

        Raises:
            ConfigError: always.
        """
        raise ConfigError("env_method", method_name, ONE_FOR_ALL)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Returns False for each environment.

        Raises:
            ConfigError: for environments that are not there.
        """
        return [False for _ in self._numbers(indices)]

    def get_images(self) -> list[Any]:
        """Draws the states that the environments are in; None for each without a render mode.

        Raises:
            ResetNeeded: before the first reset.
        """
        numbers = range(self._stepper.num_slots)
        if self._painter is None:
            return [None for _ in numbers]
        check_begun(self._stepper)
        return [self._painter.draw(self._stepper.state(i)) for i in numbers]

    def _numbers(self, indices: Any) -> list[int]:
        """Returns the numbers of the environments that are meant, where -1 is the last.

        Raises:
            ConfigError: for other numbers.
        """
        slots = self._stepper.num_slots
        if indices is None:
            return list(range(slots))
        is_one = np.ndim(indices) == 0 and (isinstance(indices, np.ndarray) or not isinstance(indices, Iterable))
        numbers = [indices] if is_one else indices
        return [check_count("indices", number, low=-slots, high=slots - 1) for number in numbers]

    def _obs(self, obs: Any) -> Any:
        return in_dtypes(self._dtypes, obs)


def to_sb3_vec(env: str | Env, num_envs: int, *, render_mode: str | None = None, **options: Any) -> Any:
    """Makes Stable-Baselines3's `VecEnv` of an id or an environment of ours.

    Args:
        env: an id, or an environment.
        num_envs: how many.
        render_mode: None, or "rgb_array".
        options: of an environment by id; `max_episode_steps` is a time limit in the place of its own.

    Raises:
        ConfigError: for an unknown id or option, or without Stable-Baselines3.
    """
    return _derived()(made(env, **options), num_envs, render_mode)


def _derived() -> Any:
    """Returns the class that is also Stable-Baselines3's `VecEnv`.

    Raises:
        ConfigError: without Stable-Baselines3.
    """
    module = required("stable_baselines3.common.vec_env", "stable-baselines3", "to_sb3_vec")
    return derived(SB3VectorEnv, module.VecEnv)


def _bare() -> Any:
    """Returns an object of that class without attributes, which pickle and `copy` fill."""
    made = _derived()
    return made.__new__(made)
