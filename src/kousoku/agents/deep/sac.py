"""Soft actor-critic."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...compiler import kernel
from ...core.errors import check_flag, check_number
from ...nn.actor_q import ActorQ
from ...nn.hidden import drops
from ...ops.distributions import TanhNormal
from .actor_critic import draw
from .actor_q import ActorQAgent, ActorQState, Learned, noise_like
from .critics import Batch, Follows, acted, least, values
from .epochs import Scalars


class SAC(ActorQAgent):
    """A policy that maximises the return and its own entropy, weighed by a temperature alpha that may be learned.

    With a' ~ pi(. | s'), Q'_i the target critics and Q_i those that learn,

        y = r + gamma [min_i Q'_i(s', a') - alpha log pi(a' | s')]

        critics: sum_i E[(Q_i(s, a) - y)^2 / 2]
        actor: E[alpha log pi(a | s) - min_i Q_i(s, a)], a ~ pi(. | s) as a function of noise
        temperature: -E[log pi(a | s) + H] alpha, H the target entropy

    Log-probabilities are of densities over the unit box [-1, 1]^A, so that a target entropy means the same whatever the
    bounds of the action space are. Time limits bootstrap: the value of a truncated step's true successor counts, that
    of a terminated one is zero.

    Attributes:
        num_envs, capacity, batch_size, update_ratio, learning_starts, n_step, network, learning_rate,
        critic_learning_rate, discount, tau, policy_delay, adam_beta1, adam_epsilon, normalise_observations,
            observation_limit, prioritised, priority_alpha, priority_beta: as of `ActorQAgent`.
        temperature: alpha, or the first one where it is learned.
        learn_temperature: whether it is learned, so that the policy's entropy comes near the target.
        target_entropy: H; None for -A, A the components of an action.

    Metrics, means over all gradient steps: "qf_loss", "qf_values" (means over the critics), "actor_loss", "alpha",
    "alpha_loss", "entropy" (-E[log pi]), "gradient_norm" (the critics'), "learning_rate". Of gradient steps without one
    of the actor's, its metrics are the last ones.

    Differs from the paper: all gradients of a step are taken at the parameters before it. The loss of the temperature
    is the paper's; its authors' code has log alpha in the place of alpha.

    References:
        Haarnoja et al., Soft actor-critic algorithms and applications, arXiv:1812.05905, equations 5, 9 and 18 and
        algorithm 1.
        Haarnoja et al., Soft actor-critic, arXiv:1801.01290.
        Bellemare, Dabney and Munos, arXiv:1707.06887; Farebrother et al., arXiv:2403.03950 (critics of distributions).
        Kingma and Welling, Auto-encoding variational Bayes, arXiv:1312.6114, section 2.4 (a function of noise).
    """

    temperature: float | Array = 1.0
    learn_temperature: bool = eqx.field(static=True, default=True)
    target_entropy: float | Array | None = None

    def __check_init__(self) -> None:
        check_number("temperature", self.temperature, low=0, open_low=True, open_high=True)
        check_flag("learn_temperature", self.learn_temperature)
        if self.target_entropy is not None:
            check_number("target_entropy", self.target_entropy, open_low=True, open_high=True)

    @property
    def policy(self) -> str:
        return "tanh_normal"

    def first_log_temperature(self) -> Float[Array, ""] | None:
        return jnp.log(jnp.asarray(self.temperature, jnp.float32)) if self.learn_temperature else None

    def explore(self, state: ActorQState, obs: PyTree[Array], key: PRNGKeyArray) -> Float[Array, " A"]:
        return kernel(draw)(state.network.actor(obs), key)

    def most_likely(self, state: ActorQState, obs: PyTree[Array]) -> Float[Array, " A"]:
        return state.network.actor(obs).mode()

    def copied(self, network: ActorQ) -> tuple:
        return network.critics

    def alpha(self, log_temperature: Float[Array, ""] | None) -> Float[Array, ""]:
        """Returns the temperature."""
        return jnp.asarray(self.temperature, jnp.float32) if log_temperature is None else jnp.exp(log_temperature)

    def target_critics(self, target: tuple) -> tuple:
        return target

    def follows(self, state: ActorQState, batch: Batch, key: PRNGKeyArray) -> Follows:
        action, log_prob = jax.vmap(TanhNormal.of_noise)(
            jax.vmap(state.network.actor)(batch.next_obs), noise_like(key, batch.action)
        )
        return Follows(action, -self.alpha(state.log_temperature) * log_prob)

    def actor_loss(
        self, learned: Learned, critics: tuple, batch: Batch, key: PRNGKeyArray, axis: str | None = None
    ) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
        policies, actor = acted(learned.actor, batch.obs, axis)
        noise_key, critic_key = jax.random.split(key) if drops(critics) else (key, key)
        action, log_prob = jax.vmap(TanhNormal.of_noise)(policies, noise_like(noise_key, batch.action))
        alpha = self.alpha(learned.log_temperature)
        entropy = -jnp.mean(log_prob)
        fixed = jax.lax.stop_gradient(alpha)
        actor_loss = jnp.mean(fixed * log_prob - least(values(critics, batch.obs, action, critic_key)))
        metrics = {"actor_loss": actor_loss, "alpha": alpha, "entropy": entropy}
        loss = actor_loss
        if learned.log_temperature is not None:
            wanted = -float(math.prod(batch.action.shape[1:])) if self.target_entropy is None else self.target_entropy
            alpha_loss = alpha * jax.lax.stop_gradient(entropy - wanted)
            loss, metrics = loss + alpha_loss, metrics | {"alpha_loss": alpha_loss}
        return loss, (jax.lax.stop_gradient(metrics), actor)
