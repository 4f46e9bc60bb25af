"""Twin delayed deep deterministic policy gradients, and deep deterministic policy gradients without twin or delay."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from ...compiler import kernel
from ...core.errors import check_number
from ...nn.actor_q import ActorQ, ActorQBuilder, ActorQConfig
from .actor_q import ActorQAgent, ActorQState, Learned, noise_like
from .critics import Batch, NextActions, acted, values
from .epochs import Scalars

NOT_DRAWN = -1.0
"""The noise of an episode before its first step."""


class TD3(ActorQAgent):
    """A deterministic policy that climbs the action values of two critics, of which the lower one counts.

    With mu' the target actor and Q'_i the target critics, all in the unit box [-1, 1]^A,

        a' = clip(mu'(s') + clip(target_noise * e, -target_noise_clip, target_noise_clip), -1, 1), e ~ N(0, 1)

        y = r + gamma min_i Q'_i(s', a')

        critics: sum_i E[(Q_i(s, a) - y)^2 / 2]
        actor: -E[Q_1(s, mu(s))], in every `policy_delay`-th gradient step; the target networks move then, too

    It acts by clip(mu(s) + exploration_noise * e, -1, 1). Time limits bootstrap: the value of a truncated step's true
    successor counts, that of a terminated one is zero.

    Attributes:
        num_envs, capacity, batch_size, update_ratio, learning_starts, n_step, network, learning_rate,
            critic_learning_rate, discount, tau, policy_delay, adam_beta1, adam_epsilon, weight_decay,
            normalise_observations, observation_limit, normalise_rewards, return_limit, prioritised, priority_alpha,
            priority_beta: as of `ActorQAgent`.
        exploration_noise: standard deviation of the noise of actions, where the box is [-1, 1].
        exploration_noise_max: where given, each episode has a standard deviation of its own, drawn uniformly between
            `exploration_noise` and this: with many environments some explore while others stay near the policy.
        target_noise: standard deviation of the noise of the targets' actions, where the box is [-1, 1].
        target_noise_clip: largest noise of the targets' actions, either way.

    Metrics, means over all gradient steps: "qf_loss", "qf_values" (means over the critics), "actor_loss",
    "gradient_norm" (the critics'), "learning_rate". Of gradient steps without one of the actor's, its metrics are the
    last ones.

    Differs from the paper: all gradients are taken at the parameters before a step.

    References:
        Fujimoto, van Hoof and Meger, Addressing function approximation error in actor-critic methods,
        arXiv:1802.09477, equations 10, 14 and 15 and algorithm 1.
        Silver et al., Deterministic policy gradient algorithms, ICML (2014), equation 9.
        Seo et al., FastTD3, arXiv:2505.22642, section 3 (exploration_noise_max).
    """

    unused_options: ClassVar[tuple[str, ...]] = ("policy", "init_std")

    network: ActorQBuilder = eqx.field(static=True, default=ActorQConfig(policy="deterministic"))
    policy_delay: int = eqx.field(static=True, default=2)
    exploration_noise: float | Array = 0.1
    exploration_noise_max: float | Array | None = None
    target_noise: float | Array = 0.2
    target_noise_clip: float | Array = 0.5

    def __check_init__(self) -> None:
        for name in ("exploration_noise", "target_noise", "target_noise_clip"):
            check_number(name, getattr(self, name), low=0, open_high=True)
        if self.exploration_noise_max is not None:
            check_number("exploration_noise_max", self.exploration_noise_max, low=0, open_high=True)

    @property
    def policy(self) -> str:
        return "deterministic"

    def initial_carry(self, state: ActorQState) -> Any:
        """Returns the noise of an episode that begins, which is not drawn yet; nothing where all have the same."""
        del state
        return () if self.exploration_noise_max is None else jnp.float32(NOT_DRAWN)

    def explore(
        self, state: ActorQState, obs: PyTree[Array], carry: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, " A"], Any]:
        std = jnp.asarray(self.exploration_noise, jnp.float32)
        if self.exploration_noise_max is None:
            return kernel(disturbed)(state.network.actor(obs), key, std), carry
        key, own_key = jax.random.split(key)
        most = jnp.asarray(self.exploration_noise_max, jnp.float32)
        std = jnp.where(carry == NOT_DRAWN, kernel(own_std)(own_key, std, most), carry)
        return kernel(disturbed)(state.network.actor(obs), key, std), std

    def most_likely(self, state: ActorQState, obs: PyTree[Array]) -> Float[Array, " A"]:
        return state.network.actor(obs)

    def copied(self, network: ActorQ) -> ActorQ:
        return network

    def target_step(self, due: Bool[Array, ""]) -> Array:
        return jnp.where(due, self.tau, 0.0)

    def target_critics(self, target: ActorQ) -> tuple:
        return target.critics

    def next_actions(self, state: ActorQState, batch: Batch, key: PRNGKeyArray) -> NextActions:
        noise = self.target_noise * noise_like(key, batch.action)
        most = self.target_noise_clip
        actor = (state.network if state.target is None else state.target).actor
        action = jnp.clip(jax.vmap(actor)(batch.next_obs) + jnp.clip(noise, -most, most), -1.0, 1.0)
        return NextActions(action, None)

    def actor_loss(
        self, learned: Learned, critics: tuple, batch: Batch, key: PRNGKeyArray, axis: str | None = None
    ) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
        action, actor = acted(learned.actor, batch.obs, axis)
        (value,) = values(critics[:1], batch.obs, action, key)
        loss = -jnp.mean(value)
        return loss, (jax.lax.stop_gradient({"actor_loss": loss}), actor)


class DDPG(TD3):
    """TD3 with a single critic, an actor that learns in every gradient step, and no noise in the targets.

    Attributes: as of `TD3`, with other defaults.

    Differs from the paper: as TD3 does; the noise of actions is independent from step to step.

    References:
        Lillicrap et al., Continuous control with deep reinforcement learning, arXiv:1509.02971, algorithm 1.
    """

    network: ActorQBuilder = eqx.field(static=True, default=ActorQConfig(policy="deterministic", num_critics=1))
    policy_delay: int = eqx.field(static=True, default=1)
    target_noise: float | Array = 0.0


def own_std(key: PRNGKeyArray, low: Float[Array, ""], high: Float[Array, ""]) -> Float[Array, ""]:
    """Draws the noise of an episode: a function for the kernel."""
    return low + (high - low) * jax.random.uniform(key, (), jnp.float32)


def disturbed(action: Float[Array, " A"], key: PRNGKeyArray, std: Float[Array, ""]) -> Float[Array, " A"]:
    """Adds noise to an action in the unit box: a function for the kernel."""
    return jnp.clip(action + std * jax.random.normal(key, action.shape, action.dtype), -1.0, 1.0)
