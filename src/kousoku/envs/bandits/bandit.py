"""The k-armed bandit: no state, only actions whose values are unknown."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import Env
from ...core.errors import ConfigError, check_choice, check_count, check_number, is_number
from ...core.spaces import Discrete
from ...core.timestep import Timestep
from ..fields import check_limit

REWARDS = ("normal", "bernoulli")
LARGEST = 1e30
MAX_ARMS = 1 << 20


class BanditState(eqx.Module):
    """The true value q*(a) of every arm."""

    means: Float[Array, " arms"]


class BanditInfo(eqx.Module):
    """The regret of the arm just pulled, and whether it was the best; zeros after a reset.

    Attributes:
        optimal: 1 if no arm had a higher mean when this one was pulled, before the means drifted; otherwise 0.
        regret: how much higher the highest mean was.
    """

    optimal: Float[Array, ""]
    regret: Float[Array, ""]


class Bandit(Env):
    """A k-armed bandit. Make one with `bandit(...)` or by id.

    Observation: always 0, Discrete(1). Action: which arm to pull, Discrete(arms). Nothing terminates it.

    Every reset deals new arms; a restart keeps them, so that an agent faces one bandit all its life, also after a time
    limit and in its evaluation. Several seeds average over many bandits.

    Attributes:
        mean, mean_spread: the arms' means are drawn from N(mean, mean_spread^2) at every reset.
        reward_std: a pull of arm a gives N(q*(a), reward_std^2).
        drift: after every pull each mean takes a step of N(0, drift^2).
        arms: how many.
        reward: "normal", or "bernoulli": means uniform in [0, 1], a pull gives 1 with that probability, otherwise 0.
        drifts: whether the means move at all; structure, so that a stationary bandit draws nothing for it.

    References:
        Sutton and Barto (2nd ed.), section 2.3 (the 10-armed testbed) and exercise 2.5 (equal means that drift by
        N(0, 0.01^2): `mean_spread=0, drift=0.01`). Bernoulli arms: Chapelle and Li, An empirical evaluation of
        Thompson sampling, NeurIPS (2011).
    """

    mean: float | Float[Array, ""]
    mean_spread: float | Float[Array, ""]
    reward_std: float | Float[Array, ""]
    drift: float | Float[Array, ""]
    arms: int = eqx.field(static=True)
    reward: str = eqx.field(static=True)
    drifts: bool = eqx.field(static=True)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(1)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.arms)

    @property
    def records_info(self) -> bool:
        """True: how often the best arm is pulled, and the regret, are what a bandit agent is measured by."""
        return True

    def reset(self, key: PRNGKeyArray) -> tuple[BanditState, Timestep]:
        """Draws new arms."""
        if self.reward == "bernoulli":
            means = jax.random.uniform(key, (self.arms,), jnp.float32)
        else:
            unit = jax.random.normal(key, (self.arms,), jnp.float32)
            means = number(self.mean) + number(self.mean_spread) * unit
        zero = jnp.float32(0.0)
        return BanditState(means), timestep(zero, BanditInfo(zero, zero))

    def restart(self, key: PRNGKeyArray, state: BanditState) -> tuple[BanditState, Timestep]:
        """Begins again with the same arms."""
        zero = jnp.float32(0.0)
        return state, timestep(zero, BanditInfo(zero, zero))

    def step(self, key: PRNGKeyArray, state: BanditState, action: Int[Array, ""]) -> tuple[BanditState, Timestep]:
        """Pulls an arm; then the means drift."""
        reward_key, drift_key = jax.random.split(key)
        pulled = jax.lax.dynamic_index_in_dim(state.means, action, keepdims=False)
        if self.reward == "bernoulli":
            reward = (jax.random.uniform(reward_key, (), jnp.float32) < pulled).astype(jnp.float32)
        else:
            reward = pulled + number(self.reward_std) * jax.random.normal(reward_key, (), jnp.float32)
        # By index first: a compiler may round the same mean differently where it computes it twice.
        best = action == jnp.argmax(state.means).astype(jnp.int32)
        regret = jnp.where(best, 0.0, jnp.maximum(jnp.max(state.means) - pulled, 0.0))
        info = BanditInfo((regret == 0).astype(jnp.float32), regret)
        means = state.means
        if self.drifts:
            means = means + number(self.drift) * jax.random.normal(drift_key, (self.arms,), jnp.float32)
        return BanditState(means), timestep(reward, info)


def bandit(
    arms: int = 10,
    mean: float | Float[Array, ""] = 0.0,
    mean_spread: float | Float[Array, ""] = 1.0,
    reward_std: float | Float[Array, ""] = 1.0,
    drift: float | Float[Array, ""] = 0.0,
    reward: str = "normal",
    time_limit: int | None = None,
) -> Bandit:
    """Makes a k-armed bandit; the defaults are Sutton and Barto's 10-armed testbed.

    Args:
        arms: number of arms.
        mean: centre of the arms' means.
        mean_spread: standard deviation of the arms' means, which every reset draws anew.
        reward_std: standard deviation of an arm's rewards.
        drift: standard deviation of the step that every mean takes after every pull.
        reward: distribution of rewards, "normal" or "bernoulli"; the latter needs `mean`, `mean_spread`, `reward_std`
            and `drift` at their defaults.
        time_limit: steps until an episode is truncated; the next one has the same arms.

    Raises:
        ConfigError: for a bad value.

    Examples:
        >>> env = bandit(arms=2, mean=3.0, mean_spread=0.0, reward_std=0.0)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> float(timestep.reward), float(timestep.info.optimal), float(timestep.info.regret)
        (3.0, 1.0, 0.0)
    """
    check_choice("reward", reward, REWARDS)
    check_number("mean", mean, low=-LARGEST, high=LARGEST)
    for field, value in (("mean_spread", mean_spread), ("reward_std", reward_std), ("drift", drift)):
        check_number(field, value, low=0, high=LARGEST)
    if reward == "bernoulli":
        _check_unused(
            mean=(mean, 0.0), mean_spread=(mean_spread, 1.0), reward_std=(reward_std, 1.0), drift=(drift, 0.0)
        )
    count = check_count("arms", arms, high=MAX_ARMS)
    limit = check_limit(time_limit)
    drifts = not is_number(drift) or drift > 0
    return Bandit(
        mean=mean,
        mean_spread=mean_spread,
        reward_std=reward_std,
        drift=drift,
        arms=count,
        reward=reward,
        drifts=drifts,
        time_limit=limit,
    )


def _check_unused(**fields: tuple[Any, float]) -> None:
    """Refuses numbers that Bernoulli arms would ignore."""
    for field, (value, default) in fields.items():
        if not is_number(value) or value != default:
            raise ConfigError(field, value, f"leave it at {default}: Bernoulli arms have means uniform in [0, 1]")


def number(value: Any) -> Float[Array, ""]:
    """Returns a leaf as float32."""
    return jnp.asarray(value, jnp.float32)


def timestep(reward: Float[Array, ""], info: BanditInfo) -> Timestep:
    """Makes a timestep: the observation is always 0, and the task never ends by itself."""
    return Timestep(jnp.int32(0), reward, jnp.array(False), jnp.array(False), info)
