# %% [markdown]
# # A ferry across a river: an environment and an agent of your own
#
# Both are plain functions of *one* ferry. The last two lines give them ids, so that the shell knows them, too:
#
#     kousoku train climb Ferry-v0 --import examples/ferry.py
#     kousoku train ppo Ferry-v0 --import examples/ferry.py --steps 200_000

# %%
from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import kousoku as ks
from kousoku.collectors.generations import Generations
from kousoku.core.scene import Line, Polygon, Rect, Scene

WIDTH = 10.0
"""Of the river, metres."""


# %%
class Boat(NamedTuple):
    """Where the ferry is, and how strong the river is today."""

    x: Any
    y: Any
    heading: Any
    current: Any


class Ferry(ks.Env):
    """A ferry that crosses a river, strongest in the middle, and is to land at a pier straight ahead.

    It observes x and y over 10 m, its heading and the current; the action turns it, up to half a radian a step. A
    landing costs its distance from the pier, and each step before it 0.1.
    """

    speed: float = 0.5
    current: float = 0.4
    time_limit: int | None = 60

    @property
    def observation_space(self):
        return ks.Box(-10.0, 10.0, (4,))

    @property
    def action_space(self):
        return ks.Box(-0.5, 0.5, (1,))

    def reset(self, key):
        x_key, current_key = jax.random.split(key)
        x = jax.random.uniform(x_key, minval=-3.0, maxval=3.0)
        today = self.current * jax.random.uniform(current_key, minval=0.5, maxval=1.0)
        boat = Boat(x, jnp.float32(0.0), jnp.float32(0.0), today)
        return boat, ks.Timestep(self.seen(boat), 0.0, False, False)

    def step(self, key, state, action):
        heading = state.heading + action[0]
        drift = state.current * 4.0 * state.y * (WIDTH - state.y) / WIDTH**2
        x = jnp.clip(state.x + self.speed * jnp.sin(heading) + drift, -20.0, 20.0)
        y = jnp.maximum(state.y + self.speed * jnp.cos(heading), 0.0)
        boat, landed = Boat(x, y, heading, state.current), y >= WIDTH
        return boat, ks.Timestep(self.seen(boat), jnp.where(landed, -jnp.abs(x), -0.1), landed, False)

    def seen(self, boat: Boat) -> Any:
        """Returns what is observed of it."""
        turned = jnp.arctan2(jnp.sin(boat.heading), jnp.cos(boat.heading))
        return jnp.stack([boat.x / 10.0, boat.y / 10.0, turned, boat.current])

    def scene(self, state: Boat) -> Scene:
        """Draws it in a picture of 20 by 12 metres, the far bank above."""
        x, y, heading = 10.0 + float(state.x), 11.0 - float(state.y), float(state.heading)
        ahead = math.sin(heading), -math.cos(heading)
        aside = -ahead[1], ahead[0]
        hull = tuple(
            (x + 0.7 * a * ahead[0] + 0.3 * b * aside[0], y + 0.7 * a * ahead[1] + 0.3 * b * aside[1])
            for a, b in ((1.0, 0.0), (-0.6, 1.0), (-0.6, -1.0))
        )
        river, pier = Rect(0.0, 1.0, 20.0, 10.0, "#9cc3d5"), Line(10.0, 0.2, 10.0, 1.5, 0.4, "#7a5c3e")
        return Scene(20.0, 12.0, (Rect(0.0, 0.0, 20.0, 12.0, "#c3cfa4"), river, pier), (Polygon(hull, "#b3392f"),))


# %%
class Climb(ks.Agent):
    """A linear policy, w . obs + b, that learns from whole crossings: of it and 31 changes of it, the best stays."""

    noise: float = 0.3
    learns_from: Generations = eqx.field(static=True, default=Generations(32, 32, 8, max_episode_steps=60, starts=1))

    def init(self, spec, key):
        return jnp.zeros(spec.observation_space.shape[0] + 1)

    def act(self, state, obs, carry, key, *, greedy=False):
        return self.act_by(state, (), obs), carry, None

    def ask(self, state, key):
        changes = self.noise * jax.random.normal(key, (32, state.size))
        return state[None] + changes.at[0].set(0.0), state  # the first one is as it is

    def policy(self, state, candidate):
        return candidate

    def shared(self, state):
        return ()

    def statistics(self, state):
        return None

    @staticmethod
    def act_by(policy, shared, obs):
        return (policy[:-1] @ obs + policy[-1])[None]  # what is beyond the largest turn is clipped

    def update(self, state, data, key, *, axis=None):
        best = jnp.argmax(data.episode_return)
        return data.candidates[best], {"best": data.episode_return[best]}


# %%
ks.register("Ferry-v0", Ferry)
ks.register_agent("climb", Climb)
