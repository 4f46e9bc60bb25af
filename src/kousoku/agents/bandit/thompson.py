"""Thompson sampling: each arm with the probability that it is the best one, as far as is known."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import check_choice, check_number
from ...core.timestep import Transition
from ...ops import exploration as ops
from ..tabular.agent import TabularAgent
from .common import LARGEST, Arms, init_arms, pull

MODELS = ("normal", "bernoulli")


class BanditThompson(TabularAgent):
    """Posterior sampling: the arm of the highest mean drawn from the arms' posteriors, which condition on its reward.

    Both posteriors are a sample average that begins with n0 imagined pulls of mean m0, so that the posterior mean moves
    by Q(A) += [R - Q(A)] / (N(A) + n0):

    - "normal": rewards ~ N(mu, reward_std^2), prior mu ~ N(prior_mean, prior_std^2). n0 = (reward_std / prior_std)^2,
      m0 = prior_mean, and mu ~ N(Q(a), reward_std^2 / (N(a) + n0)).
    - "bernoulli": rewards 0 or 1, prior Beta(1, 1). n0 = 2, m0 = 1/2, and mu ~ Beta(Q n, (1 - Q) n) with n = N(a) + n0.
      A reward in between counts as that part of a success; one outside [0, 1] is clipped.

    `greedy=True` (for evaluation) takes the arm of highest posterior mean, which `q_values` tells.

    Attributes:
        model: what rewards are taken to be, "normal" or "bernoulli".
        reward_std: standard deviation of an arm's rewards, taken as known (normal only).
        prior_mean: mean of the prior of an arm's mean (normal only).
        prior_std: standard deviation of the prior of an arm's mean (normal only).

    Metrics: "td_error", the bracket above.

    References:
        Thompson, Biometrika 25 (1933). Russo et al., A Tutorial on Thompson Sampling (2018), arXiv:1707.02038,
        algorithm 3.2 and section 4. Mentioned in Sutton and Barto (2nd ed.), section 2.10.
    """

    model: str = eqx.field(static=True, default="normal")
    reward_std: float | Float[Array, ""] = 1.0
    prior_mean: float | Float[Array, ""] = 0.0
    prior_std: float | Float[Array, ""] = 1.0

    def __check_init__(self) -> None:
        check_choice("model", self.model, MODELS)
        check_number("reward_std", self.reward_std, low=0, high=LARGEST, open_low=True)
        check_number("prior_mean", self.prior_mean, low=-LARGEST, high=LARGEST)
        check_number("prior_std", self.prior_std, low=0, high=LARGEST, open_low=True)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Arms:
        initial_value = self.prior_mean if self.model == "normal" else 0.5
        return init_arms("bandit_thompson", spec, initial_value, averages=True)

    def act(
        self, state: Arms, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        if greedy:
            return ops.greedy(key, state.q), carry, None
        draw_key, tie_key = jax.random.split(key)
        return ops.greedy(tie_key, self._draw(state, draw_key)), carry, None

    def update(
        self, state: Arms, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Arms, dict[str, Array]]:
        reward = jnp.clip(data.reward, 0.0, 1.0) if self.model == "bernoulli" else data.reward
        weight = 1.0 / (state.pulls[data.action].astype(jnp.float32) + 1.0 + self._imagined_pulls())
        arms, error = pull(state, data.action, reward, weight)
        return arms, {"td_error": error}

    def q_values(self, state: Arms) -> Float[Array, "S A"]:
        return state.q[None]

    def _imagined_pulls(self) -> Float[Array, ""]:
        if self.model == "bernoulli":
            return jnp.float32(2.0)
        return jnp.asarray((self.reward_std / self.prior_std) ** 2, jnp.float32)

    def _draw(self, state: Arms, key: PRNGKeyArray) -> Float[Array, " A"]:
        """Draws a mean of each arm from its posterior."""
        pulls = state.pulls.astype(jnp.float32) + self._imagined_pulls()
        if self.model == "bernoulli":
            return jax.random.beta(key, state.q * pulls, (1.0 - state.q) * pulls, dtype=jnp.float32)
        return state.q + self.reward_std / jnp.sqrt(pulls) * jax.random.normal(key, state.q.shape, jnp.float32)
