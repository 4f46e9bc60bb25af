"""The gradient bandit: preferences that follow the gradient of the expected reward."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_number
from ...core.timestep import Transition
from ...ops import exploration as ops
from ...ops.long_sums import add_with_rest
from ..tabular.agent import TabularAgent
from .common import Arms, init_arms, pull


class GradientState(eqx.Module):
    """The preferences that the gradient bandit has learned.

    Attributes:
        arms: sample average of each arm's rewards: to be looked at, not used to act.
        preferences: H(a).
        mean_reward: average of all rewards so far.
        mean_rest: what rounding took away from it.
    """

    arms: Arms
    preferences: Float[Array, " A"]
    mean_reward: Float[Array, ""]
    mean_rest: Float[Array, ""]


class BanditGradient(TabularAgent):
    """Arms with probability pi = softmax(H); H(a) += alpha (R - baseline) (1{a = A} - pi(a)).

    The baseline is the average of the rewards before this one (of the first reward, itself), or 0. `greedy=True` (for
    evaluation) takes the arm of highest preference. Preferences are no values: `q_values` tells the average reward of
    each arm, 0 for one never pulled.

    Attributes:
        step_size: step size alpha, above 0.
        baseline: whether rewards are compared with their average so far.

    Metrics: "td_error", the reward minus the arm's average so far.

    References:
        Sutton and Barto (2nd ed.), equations 2.11 and 2.12. Williams, Machine Learning 8 (1992).
    """

    step_size: float | Float[Array, ""] = 0.1
    baseline: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_number("step_size", self.step_size, low=0, open_low=True, open_high=True)
        if not isinstance(self.baseline, bool):
            raise ConfigError("baseline", self.baseline, "use True or False")

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> GradientState:
        arms = init_arms("bandit_gradient", spec, 0.0, averages=True)
        return GradientState(arms, jnp.zeros_like(arms.q), jnp.float32(0.0), jnp.float32(0.0))

    def act(
        self, state: GradientState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        if greedy:
            return ops.greedy(key, state.preferences), carry, None
        return ops.softmax(key, state.preferences, 1.0), carry, None

    def update(
        self, state: GradientState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[GradientState, dict[str, Array]]:
        arms, error = pull(state.arms, data.action, data.reward, None)
        before = jnp.where(state.arms.step == 0, data.reward, state.mean_reward)
        baseline = before if self.baseline else jnp.float32(0.0)
        taken = jax.nn.one_hot(data.action, arms.q.shape[0], dtype=jnp.float32)
        ascent = (data.reward - baseline) * (taken - ops.softmax_probabilities(state.preferences, 1.0))
        change = ((data.reward - before) - state.mean_rest) / arms.step.astype(jnp.float32)
        mean, rest = add_with_rest(before, state.mean_rest, change)
        return GradientState(arms, state.preferences + self.step_size * ascent, mean, rest), {"td_error": error}

    def q_values(self, state: GradientState) -> Float[Array, "S A"]:
        return state.arms.q[None]
