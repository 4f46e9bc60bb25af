"""Many environments as Gymnasium's `VectorEnv`: one compiled program a step, over all of them and on all cores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from jaxtyping import Bool, UInt8

from ...core.env import Env
from ...core.errors import ConfigError, check_choice, check_count, is_number
from ...core.spaces import as_array
from ...core.words import plural
from .gymnasium_env import RENDER_MODES, check_begun, check_options, drawn_seed, metadata_of, painter_of
from .spaces import gymnasium_dtypes, gymnasium_space, in_dtypes, info_in_gymnasium
from .stepper import Stepper, made
from .stepping import ResetRule, StepResult

MASK = "reset_mask"


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[Any, Any, np.ndarray]):
    """N environments of ours that Gymnasium's users step: what `gymnasium.make_vec("kousoku/Ant-v5", N)` makes.

    Environment i with seed s is bit for bit the one that `gymnasium.make` makes with seed s + i. Several threads may
    step one vector, one after the other, and several vectors at once.

    Args:
        env: an id, or an environment.
        num_envs: N.
        autoreset_mode: what follows an episode's end: the next episode with the next step, with the same step (then
            infos have `final_obs` and `final_info`), or nothing until `reset(options={"reset_mask": ended})`.
        render_mode: None, or "rgb_array" to draw all environments by `render`.
        max_episode_steps: a time limit in the place of its own.
        options: of an environment by id.

    Raises:
        ConfigError: for an unknown id, option or mode, or an environment that cannot be drawn.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES}  # noqa: RUF012 (Gymnasium reads it from the class)

    def __init__(
        self,
        env: str | Env,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        self.env = made(env, max_episode_steps, **options)
        mode = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        check_choice("autoreset_mode", mode, [each.value for each in AutoresetMode])
        if render_mode == "human":
            fix = "use 'rgb_array', and put gymnasium.wrappers.vector.HumanRendering around it"
            raise ConfigError("render_mode", render_mode, fix)
        self._painter = painter_of(self.env, render_mode)
        self.render_mode = render_mode
        self.metadata = {**metadata_of(self.env), "autoreset_mode": AutoresetMode(mode)}
        self._stepper = Stepper(self.env, num_envs, ResetRule(mode))
        self._dtypes = gymnasium_dtypes(self.env.observation_space)
        self.num_envs = self._stepper.num_slots
        self.single_observation_space = gymnasium_space(self.env.observation_space)
        self.single_action_space = gymnasium_space(self.env.action_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._over = np.zeros(self.num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins new episodes.

        Args:
            seed: s, for s + i in environment i, or one for each; without, every environment goes on with its own
                randomness.
            options: {"reset_mask": bool [N]} to begin them in some environments only.

        Raises:
            ConfigError: for other options, a mask or seeds of another length.
            ClosedEnvironmentError: after `close`.
        """
        self._check_open()
        super().reset(seed=check_count("seed", seed, low=0) if is_number(seed) else None)
        check_options(options, (MASK,))
        chosen = self._mask(options[MASK]) if options and MASK in options else None
        result = self._stepper.reset(self._seeds(seed), chosen)
        begun = np.ones(self.num_envs, bool) if chosen is None else chosen
        self._over &= ~begun
        return self._obs(result.obs), self._masked(
            info_in_gymnasium(result.info), begun
        ) if self._stepper.tells_at_reset else {}

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Takes one action in each environment.

        Raises:
            ConfigError: for what are no actions; without autoreset, if an episode that has ended was not reset.
            ResetNeeded: before the first reset.
            ClosedEnvironmentError: after `close`.
        """
        self._check_open()
        check_begun(self._stepper)
        if self._stepper.reset_rule is ResetRule.DISABLED and self._over.any():
            fix = f'call reset(options={{"{MASK}": terminated | truncated}}) first'
            raise ConfigError("step", f"environment {int(self._over.argmax())} has ended", fix)
        result = self._stepper.step(actions)
        infos: dict[str, Any] = {}
        if result.info:
            holds = np.ones(self.num_envs, bool) if self._stepper.tells_at_reset else ~result.begun
            infos = self._masked(info_in_gymnasium(result.info), holds)
        if self._stepper.reset_rule is ResetRule.DISABLED:
            self._over = result.terminated | result.truncated
        if result.final_obs is not None and result.begun.any():
            infos |= self._final(result)
        return self._obs(result.obs), result.reward, result.terminated, result.truncated, infos

    def render(self) -> tuple[UInt8[np.ndarray, "H W 3"], ...] | None:
        """Draws the states that the environments are in; None without a render mode."""
        if self._painter is None:
            return None
        self._check_open()
        check_begun(self._stepper)
        return tuple(self._painter.draw(self._stepper.state(i)) for i in range(self.num_envs))

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the environments were closed: make new ones")

    def _obs(self, obs: Any) -> Any:
        return in_dtypes(self._dtypes, obs)

    def _seeds(self, seed: Any) -> list[Any]:
        """Returns a seed for each environment: random ones, where there is none, for the first episodes."""
        if is_number(seed):
            return [int(seed) + i for i in range(self.num_envs)]
        if not isinstance(seed, Iterable | None) or (isinstance(seed, np.ndarray) and not seed.ndim):
            raise ConfigError("seed", seed, "use a whole number, or one for each environment")
        seeds: list[Any] = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise ConfigError("seed", plural(len(seeds), "seed"), f"give one, or {self.num_envs} of them")
        if self._stepper.has_begun:
            return seeds
        return [drawn_seed(self.np_random) if one is None else one for one in seeds]

    def _mask(self, given: Any) -> Bool[np.ndarray, " N"]:
        mask = checked_mask(given, self.num_envs)
        if not self._stepper.has_begun:
            raise ConfigError(MASK, given, "reset all environments first")
        return mask

    @staticmethod
    def _masked(info: dict[str, np.ndarray], mask: Bool[np.ndarray, " N"]) -> dict[str, Any]:
        """Returns infos, each beside the mask that says where it holds."""
        return {key: part for name, value in info.items() for key, part in ((name, value), (f"_{name}", mask.copy()))}

    def _final(self, result: StepResult) -> dict[str, Any]:
        """Returns what ended episodes ended with, as Gymnasium has it: observations as objects, one where one ended."""
        obs = self._obs(result.final_obs)
        final = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(result.begun).tolist():
            final[i] = row(obs, i)
        info = {name: np.array(value) for name, value in info_in_gymnasium(result.final_info or {}).items()}
        found = {"final_obs": final, "final_info": self._masked(info, result.begun)}
        return self._masked(found, result.begun)


def to_gymnasium_vec(
    env: str | Env,
    num_envs: int = 1,
    *,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    max_episode_steps: int | None = None,
    **options: Any,
) -> GymnasiumVectorEnv:
    """Makes Gymnasium's `VectorEnv` of an id or an environment of ours.

    Args:
        env: an id, or an environment.
        num_envs: how many.
        autoreset_mode, render_mode, max_episode_steps: as of `GymnasiumVectorEnv`.
        options: of an environment by id.

    Raises:
        ConfigError: as `GymnasiumVectorEnv` does.

    Examples:
        >>> envs = to_gymnasium_vec("CartPole-v1", 1024)
        >>> obs, info = envs.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
        >>> obs.shape, reward.shape
        ((1024, 4), (1024,))
    """
    return GymnasiumVectorEnv(
        env,
        num_envs,
        autoreset_mode=autoreset_mode,
        render_mode=render_mode,
        max_episode_steps=max_episode_steps,
        **options,
    )


def checked_mask(given: Any, num_envs: int) -> Bool[np.ndarray, " N"]:
    """Returns a mask that says which environments begin new episodes.

    Raises:
        ConfigError: for another shape or dtype, or one of none.
    """
    mask = as_array(given)
    if mask.shape != (num_envs,) or mask.dtype != bool or not mask.any():
        raise ConfigError(MASK, given, f"use an array of {num_envs} booleans, one of them True at least")
    return mask


def row(tree: Any, i: int) -> Any:
    """Returns one row of arrays [N, ...], as a copy."""
    return {name: row(part, i) for name, part in tree.items()} if isinstance(tree, dict) else tree[i].copy()
