"""Bsuite's cart and pole: to be balanced, or swung up first."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from ...core.env import Env
from ...core.errors import ConfigError
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..classic.cart_and_pole import accelerations
from ..classic.cartpole import CartPoleState
from ..classic.cartpole_picture import cartpole_scene
from ..classic.common import push, rounded_down, uniform, wrapped
from ..fields import Number, Scalar, action_bound, limit, number, positive
from ..timesteps import first_timestep, never

GRAVITY, MASSCART, MASSPOLE, LENGTH, FORCE = 9.8, 1.0, 0.1, 0.5, 10.0
MOST_STEPS = 1 << 24


class BsuiteCartPoleState(eqx.Module):
    """The cart and the pole, 0 upright, and the steps taken."""

    body: CartPoleState
    timestep: Int[Array, ""]


class CartAndPole(Env):
    """Mechanics and clock that bsuite's two problems share. Angles are kept within [-pi, pi].

    Attributes:
        timescale: seconds that a step lasts; structure, as the clock is.
        max_time: seconds after which an episode terminates, by bsuite's own sum of steps.
        x_threshold: where the track ends.
        init_range: the largest distance of each number of a first state from rest.
    """

    x_threshold: eqx.AbstractVar[Number]
    timescale: eqx.AbstractVar[float]
    max_time: eqx.AbstractVar[float]
    init_range: eqx.AbstractVar[Number]

    def __check_init__(self) -> None:
        if self.max_time / self.timescale > MOST_STEPS:
            raise ConfigError("timescale", self.timescale, f"use at least max_time / {MOST_STEPS}")

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    def box(self, others: tuple[float, ...]) -> Box:
        """Returns the space of the six numbers that both problems show, and of others up to a largest distance of 0."""
        latest = 1.0001 * self.steps * self.timescale / self.max_time
        high = (math.inf, math.inf, 1.0, 1.0, math.inf, latest, *others)
        low = (*(-end for end in high[:5]), 0.0, *(-end for end in others))
        return Box((low,), (high,), (1, len(high)))

    @property
    def steps(self) -> int:
        """Steps after which the clock ends an episode: the first whose sum of float64 seconds is above `max_time`."""
        about = math.ceil(self.max_time / self.timescale) + 2
        return int(np.argmax(np.cumsum(np.full(about, self.timescale)) > self.max_time)) + 1

    @property
    def dt(self) -> float:
        """Seconds that a step lasts."""
        return self.timescale

    @property
    @abstractmethod
    def rest(self) -> float:
        """The angle that a first state is near."""

    @property
    @abstractmethod
    def may_hang(self) -> bool:
        """Whether an episode goes on while the pole hangs."""

    @abstractmethod
    def observe(self, state: BsuiteCartPoleState) -> Array:
        """Returns what is observed."""

    def reset(self, key: PRNGKeyArray) -> tuple[BsuiteCartPoleState, Timestep]:
        """Draws every number within `init_range` of rest."""
        end = jnp.asarray(self.init_range, jnp.float32)
        x, x_dot, theta, theta_dot = uniform(key, 4, -end, end)
        return self.begin(CartPoleState(x, x_dot, wrapped(self.rest + theta), theta_dot))

    def begin(self, body: CartPoleState) -> tuple[BsuiteCartPoleState, Timestep]:
        """Returns the beginning of an episode from a place."""
        state = BsuiteCartPoleState(body, jnp.int32(0))
        return state, first_timestep(self.observe(state))

    def moved(self, state: BsuiteCartPoleState, action: Int[Array, ""]) -> BsuiteCartPoleState:
        """Returns the state a step later: places by the old speeds, then speeds."""
        body, tau = state.body, self.timescale
        force = push(action) * FORCE
        x_acc, theta_acc = accelerations(body.theta, body.theta_dot, force, GRAVITY, MASSCART, MASSPOLE, LENGTH)
        moved = CartPoleState(
            body.x + tau * body.x_dot,
            body.x_dot + tau * x_acc,
            wrapped(body.theta + tau * body.theta_dot),
            body.theta_dot + tau * theta_acc,
        )
        return BsuiteCartPoleState(moved, jnp.minimum(state.timestep + 1, self.steps))

    def common(self, state: BsuiteCartPoleState) -> list[Scalar]:
        """Returns the six numbers that both problems show."""
        body, ticks = state.body, state.timestep.astype(jnp.float32)
        elapsed = ticks * jnp.float32(self.timescale / self.max_time)
        edge = jnp.asarray(self.x_threshold, jnp.float32)
        return [body.x / edge, body.x_dot / edge, jnp.sin(body.theta), jnp.cos(body.theta), body.theta_dot, elapsed]

    def scene(self, state: BsuiteCartPoleState) -> Scene:
        """Draws the cart on its track."""
        x, theta, end = (float(n) for n in (state.body.x, state.body.theta, self.x_threshold))
        return cartpole_scene(x, theta, LENGTH, end, may_hang=self.may_hang)

    def is_late(self, state: BsuiteCartPoleState) -> Bool[Array, ""]:
        """Returns whether the clock ends the episode."""
        return state.timestep >= self.steps


def _seconds(name: str, default: float) -> Any:
    return action_bound(name, default, low=1e-6)


class BsuiteCartPole(CartAndPole):
    """The problem of bsuite's experiment cartpole: balancing.

    Observation: x / x_threshold, x_dot / x_threshold, sin and cos of the angle, its speed, elapsed time / max_time, Box
    [1, 6]. Action: Discrete(3): push left, not at all, push right. A step gives 1 while cos(angle) is above
    height_threshold and the cart on its track; where it does not, and after max_time, the episode terminates. The
    mechanics are those of `CartPole-v1` at half of its timescale.

    Attributes:
        height_threshold: threshold of the cosine of the pole's angle.
        x_threshold: distance from the middle at which the track ends, in m.
        timescale: seconds that a step lasts.
        max_time: seconds after which the episode terminates.
        init_range: the largest distance of each number of a first state from 0.
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> import jax
        >>> env = BsuiteCartPole()
        >>> state, _ = env.begin(CartPoleState(*jnp.zeros((4,), jnp.float32)))
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.int32(2))
        >>> float(timestep.reward), env.steps
        (1.0, 1001)
    """

    height_threshold: Number = number("height_threshold", 0.8)
    x_threshold: Number = positive("x_threshold", 3.0)
    timescale: float = _seconds("timescale", 0.01)
    max_time: float = _seconds("max_time", 10.0)
    init_range: Number = number("init_range", 0.05, low=0.0)
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box:
        return self.box(())

    @property
    def rest(self) -> float:
        """The angle that a first state is near: upright."""
        return 0.0

    @property
    def may_hang(self) -> bool:
        """Whether an episode goes on while the pole hangs: below a threshold of 0."""
        return float(self.height_threshold) < 0.0

    def step(
        self, key: PRNGKeyArray, state: BsuiteCartPoleState, action: Int[Array, ""]
    ) -> tuple[BsuiteCartPoleState, Timestep]:
        """Pushes for `timescale` seconds."""
        state = self.moved(state, action)
        upright = jnp.cos(state.body.theta) > rounded_down(self.height_threshold)
        good = upright & (jnp.abs(state.body.x) < self.x_threshold)
        return state, Timestep(self.observe(state), good.astype(jnp.float32), self.is_late(state) | ~good, never())

    def observe(self, state: BsuiteCartPoleState) -> Array:
        """Returns what is observed, [1, 6]."""
        return jnp.stack(self.common(state))[None]


class BsuiteCartPoleSwingUp(CartAndPole):
    """The problem of bsuite's experiment cartpole_swingup: the pole hangs, and pushes cost.

    Observation: the six numbers of the balancing problem, and whether the cart is within x_reward_threshold and the
    pole's speed within theta_dot_threshold, 1 or -1, Box [1, 8]. Action: Discrete(3): push left, not at all, push
    right. A step gives 1 where cos(angle) is above height_threshold and both are so, less move_cost for a push. The
    episode terminates where the track ends, and after max_time.

    Attributes:
        height_threshold: threshold of the cosine of the pole's angle; bsuite's 20 settings are n / 20.
        theta_dot_threshold: threshold of the pole's angular speed, in rad/s.
        x_reward_threshold: threshold of the cart's distance from the middle, in m; bsuite's settings are 1 - n / 20.
        move_cost: cost of a push.
        x_threshold: distance from the middle at which the track ends, in m.
        timescale: seconds that a step lasts.
        max_time: seconds after which the episode terminates.
        init_range: the largest distance of each number of a first state from rest.
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> import jax
        >>> env = BsuiteCartPoleSwingUp()
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> bool(timestep.obs[0, 3] < -0.99)
        True
        >>> round(float(env.step(jax.random.key(0), state, jnp.int32(2))[1].reward), 4)
        -0.1
    """

    height_threshold: Number = number("height_threshold", 0.5)
    theta_dot_threshold: Number = number("theta_dot_threshold", 1.0)
    x_reward_threshold: Number = number("x_reward_threshold", 1.0)
    move_cost: Number = number("move_cost", 0.1)
    x_threshold: Number = positive("x_threshold", 3.0)
    timescale: float = _seconds("timescale", 0.01)
    max_time: float = _seconds("max_time", 10.0)
    init_range: Number = number("init_range", 0.05, low=0.0)
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box:
        return self.box((1.0, 1.0))

    @property
    def rest(self) -> float:
        """The angle that a first state is near: hanging."""
        return math.pi

    @property
    def may_hang(self) -> bool:
        """Whether an episode goes on while the pole hangs: it always does."""
        return True

    def step(
        self, key: PRNGKeyArray, state: BsuiteCartPoleState, action: Int[Array, ""]
    ) -> tuple[BsuiteCartPoleState, Timestep]:
        """Pushes for `timescale` seconds."""
        state = self.moved(state, action)
        upright = jnp.cos(state.body.theta) > rounded_down(self.height_threshold)
        good = upright & self._is_slow(state) & self._is_central(state)
        reward = good.astype(jnp.float32) - jnp.abs(push(action)) * jnp.asarray(self.move_cost, jnp.float32)
        ended = self.is_late(state) | (jnp.abs(state.body.x) > rounded_down(self.x_threshold))
        return state, Timestep(self.observe(state), reward, ended, never())

    def observe(self, state: BsuiteCartPoleState) -> Array:
        """Returns what is observed, [1, 8]."""
        flags = [
            jnp.where(flag, jnp.float32(1.0), jnp.float32(-1.0))
            for flag in (self._is_central(state), self._is_slow(state))
        ]
        return jnp.stack([*self.common(state), *flags])[None]

    def _is_central(self, state: BsuiteCartPoleState) -> Bool[Array, ""]:
        return jnp.abs(state.body.x) < self.x_reward_threshold

    def _is_slow(self, state: BsuiteCartPoleState) -> Bool[Array, ""]:
        return jnp.abs(state.body.theta_dot) < self.theta_dot_threshold
