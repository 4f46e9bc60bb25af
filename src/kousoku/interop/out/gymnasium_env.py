"""One environment as Gymnasium's `Env`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from jaxtyping import UInt8

from ...core.env import Env
from ...core.errors import ConfigError, check_choice, check_keys
from ...training.evaluation.film import is_drawable, makes_svg
from .spaces import gymnasium_dtypes, gymnasium_space, in_dtypes, info_in_gymnasium
from .state_painter import StatePainter, frames_per_second
from .stepper import Stepper, made
from .stepping import ResetRule, StepResult

RENDER_MODES = ["rgb_array"]


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """An environment of ours that Gymnasium's users step: what `gymnasium.make("kousoku/CartPole-v1")` makes.

    Time limits are its own: it is truncated at the limit, by itself. Observations are float32, or int64 where they are
    whole numbers. A step is a call of a compiled program, which takes tens of microseconds whatever the environment is:
    many at once are `GymnasiumVectorEnv`'s.

    Args:
        env: an id, or an environment.
        render_mode: None, or "rgb_array" to draw states by `render`.
        max_episode_steps: a time limit in the place of its own.
        options: of an environment by id.

    Raises:
        ConfigError: for an unknown id, option or render mode, or an environment that cannot be drawn.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES}  # noqa: RUF012 (Gymnasium reads it from the class)

    def __init__(
        self,
        env: str | Env,
        *,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        self.env = made(env, max_episode_steps, **options)
        self._painter = painter_of(self.env, render_mode)
        self.render_mode = render_mode
        self.metadata = metadata_of(self.env)
        self.observation_space = gymnasium_space(self.env.observation_space)
        self.action_space = gymnasium_space(self.env.action_space)
        self._stepper = Stepper(self.env, 1, ResetRule.DISABLED)
        self._dtypes = gymnasium_dtypes(self.env.observation_space)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; with a seed always the same one, without one the next."""
        super().reset(seed=seed)
        check_options(options, ())
        if seed is None and not self._stepper.has_begun:
            seed = drawn_seed(self.np_random)
        result = self._stepper.reset([seed])
        return self._obs(result), self._info(result) if self._stepper.tells_at_reset else {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Raises:
            ConfigError: for what is no action.
            ResetNeeded: before the first reset.
        """
        check_begun(self._stepper)
        result = self._stepper.step_one(action)
        return (
            self._obs(result),
            float(result.reward[0]),
            bool(result.terminated[0]),
            bool(result.truncated[0]),
            self._info(result),
        )

    def render(self) -> UInt8[np.ndarray, "H W 3"] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Draws the state that the environment is in; None without a render mode."""
        if self._painter is None:
            return None
        check_begun(self._stepper)
        return self._painter.draw(self._stepper.state(0))

    def _obs(self, result: StepResult) -> Any:
        return first(in_dtypes(self._dtypes, result.obs))

    def _info(self, result: StepResult) -> dict[str, Any]:
        return {name: first(value) for name, value in info_in_gymnasium(result.info).items()}


def to_gymnasium(
    env: str | Env, *, render_mode: str | None = None, max_episode_steps: int | None = None, **options: Any
) -> GymnasiumEnv:
    """Makes Gymnasium's `Env` of an id or an environment of ours.

    Args:
        env: an id, or an environment.
        render_mode, max_episode_steps: as of `GymnasiumEnv`.
        options: of an environment by id.

    Raises:
        ConfigError: as `GymnasiumEnv` does.

    Examples:
        >>> env = to_gymnasium("FrozenLake-v1", is_slippery=False)
        >>> obs, info = env.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = env.step(2)
        >>> int(obs), reward, terminated, truncated
        (1, 0.0, False, False)
    """
    return GymnasiumEnv(env, render_mode=render_mode, max_episode_steps=max_episode_steps, **options)


def painter_of(env: Env, render_mode: str | None) -> StatePainter | None:
    """Returns what draws an environment; None without a render mode.

    Raises:
        ConfigError: for another render mode, or an environment that cannot be drawn.
    """
    if render_mode is None:
        return None
    check_choice("render_mode", render_mode, RENDER_MODES)
    return StatePainter(env)


def metadata_of(env: Env) -> dict[str, Any]:
    """Returns how an environment may be drawn, as Gymnasium's metadata."""
    modes = list(RENDER_MODES) if is_drawable(env) and not makes_svg(env) else []
    return {"render_modes": modes, "render_fps": frames_per_second(env)}


def check_options(options: Any, known: tuple[str, ...]) -> None:
    """Refuses options of a reset that are no dict, or have other names.

    Raises:
        ConfigError: naming them.
    """
    if not isinstance(options, Mapping | None):
        raise ConfigError("options of reset", options, "use a dict, or None")
    check_keys("option of reset", options or {}, known)


def drawn_seed(random: np.random.Generator) -> int:
    """Returns a random seed."""
    return int(random.integers(2**63))


def check_begun(stepper: Stepper) -> None:
    """Refuses to go on before the first reset.

    Raises:
        ResetNeeded: if there was none.
    """
    if not stepper.has_begun:
        raise ResetNeeded("call reset() before the first step() or render()")


def first(tree: Any) -> Any:
    """Returns the first row of arrays [N, ...]: a NumPy scalar of an array without further axes."""
    return {name: first(part) for name, part in tree.items()} if isinstance(tree, dict) else tree[0]
