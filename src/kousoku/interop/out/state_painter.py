"""Pictures of single states: what films show, one frame at a time."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

from ...compiler import kernel
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.scene import Timed
from ...core.scene3d import Drawable3d, Trajectory3d
from ...core.timestep import named_parts
from ...core.wrapper import steps_per_action, unwrapped, unwrapped_state
from ...training.evaluation.film import is_drawable, makes_svg

SIZE = 480
STILL_FRAMES_PER_SECOND = 4
STARTS = 8
SLACK = 0.25
"""How far the middle of a robot may move, in its size, before the camera goes along."""
SUNK = 0.02
"""How far below the floor something may be, in a robot's size, before a floor that is only drawn sinks with it."""


class StatePainter:
    """The painter of states of one environment; of a wrapper those of the innermost one, as films do.

    Raises:
        ConfigError: if it cannot be drawn, or as SVG alone, which nothing makes pixels of.
    """

    def __init__(self, env: Env) -> None:
        name = type(unwrapped(env)).__name__
        if not is_drawable(env):
            raise ConfigError("render_mode", "rgb_array", f"{name} has no `scene` or `poses` to draw")
        if makes_svg(env):
            fix = f"{name} is drawn as SVG, of which nothing makes pixels: kousoku.animate(...) shows it on a page"
            raise ConfigError("render_mode", "rgb_array", fix)
        self.env = env
        self._painter: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.env,)

    def draw(self, state: Any) -> UInt8[np.ndarray, "H W 3"]:
        """Draws a state of one environment.

        Raises:
            ConfigError: if it cannot be drawn as numbers in it are not finite.
        """
        env: Any = unwrapped(self.env)
        state = unwrapped_state(self.env, state)
        try:
            return self._solid(env, state) if isinstance(env, Drawable3d) else self._flat(env, state)
        except (ValueError, OverflowError) as error:
            _check_finite(state, error)
            raise

    def _flat(self, env: Any, state: Any) -> UInt8[np.ndarray, "H W 3"]:
        """Draws shapes in the plane."""
        from ...viz.painter import Painter

        scene = env.scene(state)
        if self._painter is None:
            self._painter = Painter(scene, SIZE)
        return self._painter.draw(scene)

    def _solid(self, env: Any, state: Any) -> UInt8[np.ndarray, "H W 3"]:
        """Draws bodies in space, seen as starts are.

        The camera goes along with what walks away, and steps back from what would not be in the picture.
        """
        from ...viz.camera import stage_of
        from ...viz.render3d import Renderer
        from ...viz.view3d import centre_of, corners_of, followed_frames, is_floor, moving_frames

        if self._painter is None:
            starts = _trajectory(env, _starts(env))
            frames = followed_frames(starts, moving_frames(starts))
            stage = stage_of([starts]).below_grounds(starts.body)
            self._painter = stage, frames, centre_of(starts, frames).mean(axis=0)
        stage, frames, home = self._painter
        now = _trajectory(env, jax.tree.map(lambda leaf: leaf[None], state))
        away = centre_of(now, frames)[0] - home
        far, view = float(np.linalg.norm(away)), stage.views[0]
        middle = home if view.travels else np.array(view.middle)
        moved = middle + away * max(0.0, 1.0 - SLACK * view.size / max(far, 1e-9))
        renderer = Renderer([now], SIZE)
        stage = stage.seen_at(moved, corners_of(now, frames, 0), renderer.width / renderer.height)
        low = renderer.stage.views[0].low
        sinks = low < stage.floor - SUNK * view.size and not any(map(is_floor, now.body.geoms))
        renderer.stage = dataclasses.replace(stage, floor=low) if sinks else stage
        return renderer.draw(0)


def _check_finite(state: Any, error: Exception) -> None:
    """Refuses a state that could not be drawn, where that is why.

    Raises:
        ConfigError: naming the first number in it that is not finite.
    """
    for name, leaf in named_parts(state):
        numbers = np.asarray(leaf) if jnp.issubdtype(leaf.dtype, np.floating) else np.zeros(0)
        if not np.isfinite(numbers).all():
            wrong = float(numbers[~np.isfinite(numbers)][0])
            fix = "a state that is not finite cannot be drawn; reset the environment"
            raise ConfigError(f"{name} of the state", wrong, fix) from error


def frames_per_second(env: Any) -> float:
    """Returns how many steps a second of the environment's time has; of one without a clock, what can be followed."""
    inner: Any = unwrapped(env)
    if not isinstance(inner, Timed | Drawable3d):
        return STILL_FRAMES_PER_SECOND
    return 1.0 / (steps_per_action(env) * float(np.mean(inner.dt)))


def _starts(env: Env) -> Any:
    """Returns states [STARTS, ...] in which episodes begin."""
    return jax.vmap(lambda key: env.reset(key)[0])(jax.random.split(jax.random.key(0), STARTS))


def _trajectory(env: Any, states: Any) -> Trajectory3d:
    positions, quaternions = jax.device_get(jax.vmap(kernel(env.poses))(jax.device_put(states)))
    return Trajectory3d(env.body3d(), positions, quaternions, float(np.mean(env.dt)))
