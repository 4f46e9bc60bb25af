"""Pictures of gymnax's environments: as those of ours that they are like, or as their own code draws them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....core.scene import Scene
from ....envs.classic.acrobot_picture import acrobot_scene
from ....envs.classic.cartpole_picture import cartpole_scene
from ....envs.classic.hill import Hill, hill_scene
from ....envs.classic.pendulum_picture import pendulum_scene
from ....envs.minatar.picture import game_scene
from .figures import figure_pixels

Picture = Callable[[Any, Any, Any], Scene]
"""From an environment, its parameters and a state to what is drawn."""


def _cartpole(env: Any, params: Any, state: Any) -> Scene:
    return cartpole_scene(float(state.x), float(state.theta), float(params.length), float(params.x_threshold))


def _acrobot(env: Any, params: Any, state: Any) -> Scene:
    lengths = float(params.link_length_1), float(params.link_length_2)
    return acrobot_scene(float(state.joint_angle1), float(state.joint_angle2), lengths)


def _pendulum(env: Any, params: Any, state: Any) -> Scene:
    return pendulum_scene(float(state.theta), float(np.squeeze(state.last_u)) / float(params.max_torque))


def _hill(env: Any, params: Any, state: Any) -> Scene:
    numbers = {field.name: float(getattr(params, field.name)) for field in dataclasses.fields(Hill)}
    return hill_scene(Hill(**numbers), float(np.squeeze(state.position)))


def _cells(env: Any, params: Any, state: Any) -> Scene:
    """Draws what is observed, [height, width] or with channels, as MinAtar's games are drawn."""
    seen = np.asarray(env.get_obs(state, params))
    return game_scene((seen if seen.ndim == 3 else seen[..., None]).astype(bool).astype(np.uint8))


def _figure(env: Any, params: Any, state: Any) -> Scene:
    """Draws the figure that gymnax makes by pyplot, of which nothing stays open."""
    from matplotlib import pyplot

    figure, _ = env.render(state, params)
    try:
        return Scene.of_pixels(figure_pixels(figure))
    finally:
        pyplot.close(figure)


GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
PICTURES: Mapping[str, Picture] = {
    "CartPole-v1": _cartpole,
    "Acrobot-v1": _acrobot,
    "Pendulum-v1": _pendulum,
    "MountainCar-v0": _hill,
    "MountainCarContinuous-v0": _hill,
    **{f"{game}-MinAtar": _cells for game in GAMES},
    "Pong-misc": _cells,
    "Catch-bsuite": _cells,
    "DeepSea-bsuite": _cells,
    "FourRooms-misc": _figure,
    "MetaMaze-misc": _figure,
    "PointRobot-misc": _figure,
}


def picture_of(env: Any) -> Picture | None:
    """Returns what draws an environment's states, by its name; None if nothing does."""
    return PICTURES.get(str(getattr(env, "name", "")))
