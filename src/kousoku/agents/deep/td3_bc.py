"""TD3 with behaviour cloning: the smallest change that makes TD3 learn from recorded transitions."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_number, check_size
from ...core.timestep import ReplayBatch
from ...nn.actor_q import ActorQ, ActorQBuilder, ActorQConfig
from ...nn.batch_renorm import with_statistics
from ...nn.hidden import drops
from ...ops.across import mean_over
from ...ops.schedules import counted, value_at
from .actor_q import noise_like
from .critics import Batch, NextActions, acted, critic_loss, has_target, outputs_of, targets_of, values
from .epochs import Scalars
from .gradients import apply_gradients, gradient_vector, gradient_when_due
from .offline import OfflineAgent, OfflineState


class TD3BC(OfflineAgent):
    """A deterministic policy that climbs the values of two critics, and stays near the recorded actions.

    With mu' the target actor and Q'_i the target critics, all in the unit box [-1, 1]^A,

        a' = clip(mu'(s') + clip(target_noise * e, -target_noise_clip, target_noise_clip), -1, 1), e ~ N(0, 1)

        critics: sum_i E[(Q_i(s, a) - y)^2 / 2], y = r + gamma min_i Q'_i(s', a')

        actor: -lambda E[Q_1(s, mu(s))] + E[mean_i (mu_i(s) - a_i)^2], lambda = alpha / E[|Q_1(s, mu(s))|], in every
        `policy_delay`-th gradient step; the target networks move then, too

    lambda makes alpha mean the same whatever the size of rewards; no gradient flows through it. With alpha = 0 it is
    behaviour cloning. Time limits bootstrap: the value of a truncated step's true successor counts, that of a
    terminated one is zero.

    Attributes:
        dataset, batch_size, network, learning_rate, normalise_observations, observation_limit: as of `OfflineAgent`.
        discount: discount factor gamma, in [0, 1].
        tau: how far an update moves the target networks, target <- (1 - tau) target + tau network.
        policy_delay: gradient steps of the critics for each of the actor's.
        alpha: how much values count beside recorded actions.
        target_noise: standard deviation of the noise of the targets' actions, where the box is [-1, 1].
        target_noise_clip: largest noise of the targets' actions, either way.

    Metrics, means over all gradient steps: "qf_loss", "qf_values" (means over the critics), "actor_loss", "policy_loss"
    (of the recorded actions alone), "gradient_norm" (the critics'), "learning_rate". Of gradient steps without one of
    the actor's, its metrics are the last ones.

    Differs from the paper: all gradients are taken at the parameters before a step; observations are clipped to
    `observation_limit` standard deviations, of which 1e-8 in the variance stands for the paper's 1e-3.

    References:
        Fujimoto and Gu, A minimalist approach to offline reinforcement learning, arXiv:2106.06860, equations 3 to 5.
        Fujimoto, van Hoof and Meger, arXiv:1802.09477, algorithm 1.
    """

    unused_options: ClassVar[tuple[str, ...]] = ("policy", "init_std")

    network: ActorQBuilder = eqx.field(static=True, default=ActorQConfig(policy="deterministic"))
    normalise_observations: bool = eqx.field(static=True, default=True)
    discount: float | Array = 0.99
    tau: float | Array = 0.005
    policy_delay: int = eqx.field(static=True, default=2)
    alpha: float | Array = 2.5
    target_noise: float | Array = 0.2
    target_noise_clip: float | Array = 0.5

    def __check_init__(self) -> None:
        check_number("discount", self.discount, low=0, high=1)
        check_number("tau", self.tau, low=0, high=1, open_low=True)
        check_size("policy_delay", self.policy_delay)
        for name in ("alpha", "target_noise", "target_noise_clip"):
            check_number(name, getattr(self, name), low=0, open_high=True)

    @property
    def policy(self) -> str:
        return "deterministic"

    def beside(self, network: ActorQ, spec: EnvSpec, key: PRNGKeyArray) -> dict[str, Any]:
        if not has_target(network.critics):
            raise ConfigError(
                "critic_body", "crossq", "use another one: its targets are by an older copy of the critics"
            )
        unknown = dict.fromkeys(("actor_loss", "policy_loss"), jnp.float32(0.0))
        return {"critics": network.critics, "target": network, "actor_metrics": unknown}

    def update(
        self, state: OfflineState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[OfflineState, Scalars]:
        rate = value_at(self.learning_rate, data.steps)
        batch = self.batch(state, data, self.discount)
        target_key, critic_key, actor_key = jax.random.split(key, 3)
        targets = jax.lax.stop_gradient(self.targets(state, batch, target_key))
        of_critics, beside = jax.grad(critic_loss, has_aux=True)(state.critics, batch, targets, critic_key, axis)
        due = state.updates % self.policy_delay == 0
        of_actor, (told, moved) = self._actor_gradient(state, batch, actor_key, due, axis)
        of_critics, of_actor, told, metrics = mean_over(
            (gradient_vector(of_critics), gradient_vector(of_actor), told, beside.metrics), axis
        )
        critics, critic_optimiser, norm = apply_gradients(
            state.critics, self.optimiser(), state.optimisers["critics"], of_critics, rate, None
        )
        actor, actor_optimiser, _ = apply_gradients(
            state.actor, self.optimiser(), state.optimisers["actor"], of_actor, rate, None
        )
        actor, actor_optimiser = _where(
            due, (with_statistics(actor, moved), actor_optimiser), (state.actor, state.optimisers["actor"])
        )
        network = ActorQ(actor, with_statistics(critics, beside.moved))
        step = jnp.where(due, self.tau, 0.0)
        after = OfflineState(
            actor,
            network.critics,
            None,
            optax.incremental_update(network, state.target, step),  # pyright: ignore
            {"actor": actor_optimiser, "critics": critic_optimiser},
            counted(state.updates),
            state.action_space,
            state.observations,
            told,
        )
        return after, metrics | told | {"gradient_norm": norm, "learning_rate": rate}

    def _actor_gradient(
        self, state: OfflineState, batch: Batch, key: PRNGKeyArray, due: Bool[Array, ""], axis: str | None
    ) -> tuple[Any, tuple[Scalars, Any]]:
        """Returns the gradient of the actor's loss, its metrics, and the actor with its running moments; where no step
        is due, zeros, the last ones, and the actor.
        """

        def gradient() -> tuple[Any, tuple[Scalars, Any]]:
            return jax.grad(self.actor_loss, has_aux=True)(state.actor, state.critics, batch, key, axis)

        kept = (state.actor_metrics, state.actor)
        return gradient_when_due(gradient, state.actor, kept, due, self.policy_delay)

    def targets(self, state: OfflineState, batch: Batch, key: PRNGKeyArray) -> Float[Array, "n *N"]:
        """Computes what values of the recorded actions should become, by the target networks."""
        critics, most = state.target.critics, self.target_noise_clip
        noise_key, critic_key = jax.random.split(key) if drops(critics) else (key, key)
        noise = jnp.clip(self.target_noise * noise_like(noise_key, batch.action), -most, most)
        next_actions = NextActions(jnp.clip(jax.vmap(state.target.actor)(batch.next_obs) + noise, -1.0, 1.0), None)
        return targets_of(
            critics, batch, outputs_of(critics, batch.next_obs, next_actions.action, critic_key), next_actions
        )

    def actor_loss(
        self, actor: Any, critics: tuple, batch: Batch, key: PRNGKeyArray, axis: str | None
    ) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
        """Computes -lambda E[Q_1(s, mu(s))] + E[mean_i (mu_i(s) - a_i)^2]; metrics, and the actor that learns."""
        action, actor = acted(actor, batch.obs, axis)
        (value,) = values(critics[:1], batch.obs, action, key)
        size = jax.lax.stop_gradient(mean_over(jnp.mean(jnp.abs(value)), axis))
        near = jnp.mean(jnp.square(action - batch.action))
        loss = near - self.alpha / jnp.maximum(size, TINY) * jnp.mean(value)
        return loss, (jax.lax.stop_gradient({"actor_loss": loss, "policy_loss": near}), actor)


TINY = 1e-8
"""The least size of values that alpha is divided by: where all are 0, so is their gradient's share."""


def _where(due: Bool[Array, ""], new: Any, old: Any) -> Any:
    return jax.tree.map(lambda new, old: jnp.where(due, new, old), new, old)
