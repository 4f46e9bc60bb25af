"""Soft actor-critic."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...compiler import kernel
from ...core.errors import ConfigError, check_flag, check_number
from ...nn.actor_q import ActorQ
from ...nn.hidden import drops
from ...ops.distributions import Categorical, TanhNormal
from .actor_critic import draw
from .actor_q import ActorQAgent, ActorQState, Learned, noise_like
from .critics import Batch, NextActions, acted, minimum, values
from .epochs import Scalars

AUTO = {
    "temperature": "`learn_temperature` has it learned, as it is by default; give its first value, a number above 0",
    "target_entropy": "leave it out: it is -A then, A the components of an action, or 0.98 log A of Discrete ones",
}
"""What other libraries mean by "auto", or "auto_0.1"."""
SHARE_OF_ENTROPY = 0.98
"""The share of the largest entropy that policies over Discrete actions keep: Christodoulou's."""


class SAC(ActorQAgent):
    """A policy that maximises the return and its own entropy, weighed by a temperature alpha that may be learned.

    With a' ~ pi(. | s'), Q'_i the target critics and Q_i those that learn,

        y = r + gamma [min_i Q'_i(s', a') - alpha log pi(a' | s')]

        critics: sum_i E[(Q_i(s, a) - y)^2 / 2]
        actor: E[alpha log pi(a | s) - min_i Q_i(s, a)], a ~ pi(. | s) as a function of noise
        temperature: -E[log pi(a | s) + H] alpha, H the target entropy

    Of Discrete actions critics value all, and expectations over a' and a are sums over them, without a draw:

        y = r + gamma sum_a' pi(a' | s') [min_i Q'_i(s', a') - alpha log pi(a' | s')]

    Log-probabilities of a Box are of densities over the unit box [-1, 1]^A, so that a target entropy means the same
    whatever the bounds of the action space are. Time limits bootstrap: the value of a truncated step's true successor
    counts, that of a terminated one is zero.

    Attributes:
        num_envs, capacity, batch_size, update_ratio, learning_starts, n_step, network, learning_rate,
            critic_learning_rate, discount, tau, policy_delay, adam_beta1, adam_epsilon, weight_decay,
            normalise_observations, observation_limit, normalise_rewards, return_limit, prioritised, priority_alpha,
            priority_beta: as of `ActorQAgent`.
        temperature: temperature alpha, the weight of the entropy; where it is learned, the first one.
        learn_temperature: whether the temperature is learned, so that the policy's entropy comes near the target.
        target_entropy: entropy H that the temperature keeps the policy near; None for -A, A the components of an
            action, and for 0.98 log A, A the Discrete actions.

    Metrics, means over all gradient steps: "qf_loss", "qf_values" (means over the critics), "actor_loss", "alpha",
    "alpha_loss", "entropy" (-E[log pi]), "gradient_norm" (the critics'), "learning_rate". Of gradient steps without one
    of the actor's, its metrics are the last ones.

    Differs from the paper: all gradients of a step are taken at the parameters before it. The loss of the temperature
    is the paper's; its authors' code has log alpha in the place of alpha.

    References:
        Haarnoja et al., Soft actor-critic algorithms and applications, arXiv:1812.05905, equations 5, 9 and 18 and
        algorithm 1.
        Haarnoja et al., Soft actor-critic, arXiv:1801.01290.
        Christodoulou, Soft actor-critic for discrete action settings, arXiv:1910.07207, equations 10 to 12 (Discrete).
        Bellemare, Dabney and Munos, arXiv:1707.06887; Farebrother et al., arXiv:2403.03950 (critics of distributions).
        Kingma and Welling, Auto-encoding variational Bayes, arXiv:1312.6114, section 2.4 (a function of noise).
    """

    unused_options: ClassVar[tuple[str, ...]] = ("policy",)

    temperature: float | Array = 1.0
    learn_temperature: bool = eqx.field(static=True, default=True)
    target_entropy: float | Array | None = None

    def __check_init__(self) -> None:
        for field, fix in AUTO.items():
            if isinstance(value := getattr(self, field), str) and value.startswith("auto"):
                raise ConfigError(field, value, fix)
        check_number("temperature", self.temperature, low=0, open_low=True, open_high=True)
        check_flag("learn_temperature", self.learn_temperature)
        if self.target_entropy is not None:
            check_number("target_entropy", self.target_entropy, open_low=True, open_high=True)

    @property
    def policy(self) -> str:
        return "stochastic"

    def first_log_temperature(self) -> Float[Array, ""] | None:
        return jnp.log(jnp.asarray(self.temperature, jnp.float32)) if self.learn_temperature else None

    def explore(self, state: ActorQState, obs: PyTree[Array], carry: Any, key: PRNGKeyArray) -> tuple[Array, Any]:
        return kernel(draw)(state.network.actor(obs), key), carry

    def most_likely(self, state: ActorQState, obs: PyTree[Array]) -> Array:
        return state.network.actor(obs).mode()

    def bonus(self, state: ActorQState, obs: PyTree[Array]) -> Float[Array, ""]:
        """Returns alpha times the entropy; where targets of n steps count it in every n-th, the share that this is."""
        share = self.discount ** (self.n_step - 1) / sum(self.discount**k for k in range(self.n_step))
        return share * self.alpha(state.log_temperature) * state.network.actor(obs).entropy()

    def copied(self, network: ActorQ) -> tuple:
        return network.critics

    def alpha(self, log_temperature: Float[Array, ""] | None) -> Float[Array, ""]:
        """Returns the temperature."""
        return jnp.asarray(self.temperature, jnp.float32) if log_temperature is None else jnp.exp(log_temperature)

    def target_critics(self, target: tuple) -> tuple:
        return target

    def next_actions(self, state: ActorQState, batch: Batch, key: PRNGKeyArray) -> NextActions:
        policies, alpha = jax.vmap(state.network.actor)(batch.next_obs), self.alpha(state.log_temperature)
        if isinstance(policies, Categorical):
            log_probs = jax.vmap(Categorical.log_probs)(policies)
            return NextActions(None, -alpha * log_probs, jnp.exp(log_probs))
        action, log_prob = jax.vmap(TanhNormal.of_noise)(policies, noise_like(key, batch.action))
        return NextActions(action, -alpha * log_prob)

    def actor_loss(
        self, learned: Learned, critics: tuple, batch: Batch, key: PRNGKeyArray, axis: str | None = None
    ) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
        policies, actor = acted(learned.actor, batch.obs, axis)
        log_prob, value = log_prob_and_value(policies, critics, batch, key)
        alpha = self.alpha(learned.log_temperature)
        entropy = -jnp.mean(log_prob)
        fixed = jax.lax.stop_gradient(alpha)
        actor_loss = jnp.mean(fixed * log_prob - value)
        metrics = {"actor_loss": actor_loss, "alpha": alpha, "entropy": entropy}
        loss = actor_loss
        if learned.log_temperature is not None:
            wanted = usual_entropy(policies) if self.target_entropy is None else self.target_entropy
            alpha_loss = alpha * jax.lax.stop_gradient(entropy - wanted)
            loss, metrics = loss + alpha_loss, metrics | {"alpha_loss": alpha_loss}
        return loss, (jax.lax.stop_gradient(metrics), actor)


def log_prob_and_value(
    policies: TanhNormal | Categorical, critics: tuple, batch: Batch, key: PRNGKeyArray
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Returns log pi(a | s) and min_i Q_i(s, a) of one action of each policy; their means over all Discrete ones."""
    noise_key, critic_key = jax.random.split(key) if drops(critics) else (key, key)
    if isinstance(policies, Categorical):
        log_probs = jax.vmap(Categorical.log_probs)(policies)
        mean = lambda x: jnp.sum(jnp.exp(log_probs) * x, axis=1)  # noqa: E731
        return mean(log_probs), mean(minimum(values(critics, batch.obs, None, critic_key)))
    action, log_prob = jax.vmap(TanhNormal.of_noise)(policies, noise_like(noise_key, batch.action))
    return log_prob, minimum(values(critics, batch.obs, action, critic_key))


def usual_entropy(policies: TanhNormal | Categorical) -> float:
    """Returns the target entropy where none is given: -A, A an action's components; 0.98 log A, A Discrete ones."""
    if isinstance(policies, Categorical):
        return SHARE_OF_ENTROPY * math.log(policies.logits.shape[-1])
    return -float(policies.loc.shape[-1])
