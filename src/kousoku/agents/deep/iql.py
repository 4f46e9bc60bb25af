"""Implicit Q-learning: the values of the best actions that were recorded, without asking for any other."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_number
from ...core.spaces import Discrete
from ...core.timestep import ReplayBatch
from ...nn.actor_q import ActorQ
from ...nn.atoms import ATOMS_OPTIONS
from ...nn.batch_renorm import with_statistics
from ...ops import losses
from ...ops.across import mean_over
from ...ops.schedules import counted, value_at
from ...ops.td_targets import action_value
from .critics import Batch, acted, atoms_of, critic_loss, is_counted, learned_outputs, minimum, values
from .epochs import Scalars
from .gradients import apply_gradients, gradient_vector
from .offline import OfflineAgent, OfflineState, log_probs


class IQL(OfflineAgent):
    """A policy of the recorded actions, the better ones more often, by values that no other action counts in.

    V is an upper expectile of what recorded actions are worth, so that it comes near the best of them; with Q'_i the
    target critics,

        value: E[L_eta(min_i Q'_i(s, a) - V(s))], L_eta(u) = |eta - [u < 0]| u^2

        critics: sum_i E[(Q_i(s, a) - y)^2 / 2], y = c r + gamma V(s'), c r after a termination

        actor: -E[min(exp(beta (min_i Q'_i(s, a) - V(s))), limit) log pi(a | s)]

    With eta = 1/2 (the paper's tau) they are the values of who acted in the data; towards 1 those of the best policy
    within the data. Time limits bootstrap: V of a truncated step's true successor counts, that of a terminated one is
    zero.

    Attributes:
        dataset, batch_size, network, learning_rate, normalise_observations, observation_limit: as of `OfflineAgent`.
        discount: discount factor gamma, in [0, 1].
        tau: how far a gradient step moves the target critics, target <- (1 - tau) target + tau critics.
        expectile: level eta of the expectile, in (0, 1): 1/2 for the mean, towards 1 for the best recorded action.
        advantage_scale: inverse temperature beta: how much more the better actions count; 0 for behaviour cloning.
        weight_limit: largest weight of an action in the actor's loss.
        reward_scale: factor c of the rewards. The paper divides a locomotion task's rewards by the range of the data's
            returns, times 1000.

    Metrics, means over all gradient steps: "qf_loss", "qf_values" (means over the critics), "value_loss", "advantage"
    (of recorded actions), "weight" (that they count), "actor_loss", "entropy", "gradient_norm" (the actor's),
    "learning_rate".

    Differs from the paper: all gradients of a step are taken at the parameters before it, and the critics' loss has a
    factor of 1/2. The actor's rate has no schedule by default, the paper's falls to 0 along a cosine.

    References:
        Kostrikov, Nair and Levine, Offline reinforcement learning with implicit Q-learning, arXiv:2110.06169, equations
        5 to 7 and algorithm 1.
    """

    unused_options: ClassVar[tuple[str, ...]] = ("policy", *ATOMS_OPTIONS)

    discount: float | Array = 0.99
    tau: float | Array = 0.005
    expectile: float | Array = 0.7
    advantage_scale: float | Array = 3.0
    weight_limit: float | Array = 100.0
    reward_scale: float | Array = 1.0

    def __check_init__(self) -> None:
        check_number("discount", self.discount, low=0, high=1)
        check_number("tau", self.tau, low=0, high=1, open_low=True)
        check_number("expectile", self.expectile, low=0, high=1, open_low=True, open_high=True)
        check_number("advantage_scale", self.advantage_scale, low=0, open_high=True)
        check_number("weight_limit", self.weight_limit, low=0, open_low=True, open_high=True)
        check_number("reward_scale", self.reward_scale, low=0, open_low=True, open_high=True)

    @property
    def policy(self) -> str:
        return "normal"

    def beside(self, network: ActorQ, spec: EnvSpec, key: PRNGKeyArray) -> dict[str, Any]:
        """Makes critics, their target, and V: the critic of a problem that has a single action."""
        if atoms_of(network.critics) is not None:
            kind = getattr(self.network, "distribution", "one of returns")
            raise ConfigError("distribution", kind, "use 'scalar': its critics learn values")
        alone = self.network(spec.observation_space, Discrete(1), jax.random.fold_in(key, 1))
        return {"critics": network.critics, "value": alone.critics[0], "target": network.critics}

    def update(
        self, state: OfflineState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[OfflineState, Scalars]:
        rate = value_at(self.learning_rate, data.steps)
        batch = self.batch(state, data, self.discount)
        before_key, critic_key, value_key = jax.random.split(key, 3)
        worth = minimum(tuple(_chosen(each, batch) for each in _values(state.target, batch, before_key)))
        gradients, told = self._gradients(state, batch, worth, critic_key, value_key, axis)
        vectors = {name: gradient_vector(gradient) for name, gradient in gradients.items()}
        vectors, metrics = mean_over((vectors, told["metrics"]), axis)
        stepped, optimisers, norms = {}, {}, {}
        for name, gradient in vectors.items():
            part, optimisers[name], norms[name] = apply_gradients(
                getattr(state, name), self.optimiser(), state.optimisers[name], gradient, rate, None
            )
            stepped[name] = with_statistics(part, told[name])
        after = OfflineState(
            **stepped,
            target=optax.incremental_update(stepped["critics"], state.target, self.tau),  # pyright: ignore
            optimisers=optimisers,
            updates=counted(state.updates),
            action_space=state.action_space,
            observations=state.observations,
        )
        return after, metrics | {"gradient_norm": norms["actor"], "learning_rate": rate}

    def _gradients(
        self,
        state: OfflineState,
        batch: Batch,
        worth: Float[Array, " n"],
        critic_key: PRNGKeyArray,
        value_key: PRNGKeyArray,
        axis: str | None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the gradients of the three losses; the metrics, and each part with its running moments."""
        (of_value, (value_loss, advantage, value)) = jax.grad(self._value_loss, has_aux=True)(
            state.value, batch, worth, value_key, axis
        )
        after = values((state.value,), batch.next_obs, None, value_key)[0][:, 0]
        targets = self.reward_scale * batch.reward + batch.discount * jnp.where(batch.terminated, 0.0, after)
        of_critics, beside = jax.grad(critic_loss, has_aux=True)(state.critics, batch, targets, critic_key, axis)
        weight = jnp.minimum(jnp.exp(self.advantage_scale * advantage), self.weight_limit)
        of_actor, (told, actor) = jax.grad(weighted_loss, has_aux=True)(state.actor, batch, weight, axis)
        metrics = beside.metrics | told | {
            "value_loss": value_loss, "advantage": jnp.mean(advantage), "weight": jnp.mean(weight)
        }  # fmt: skip
        gradients = {"actor": of_actor, "critics": of_critics, "value": of_value}
        return gradients, {"metrics": metrics, "actor": actor, "critics": beside.moved, "value": value}

    def _value_loss(
        self, value: Any, batch: Batch, worth: Float[Array, " n"], key: PRNGKeyArray, axis: str | None
    ) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, " n"], Any]]:
        """Computes E[L_tau(Q - V)]; that, the advantages Q - V, and the network that learns."""
        (outputs,), (moved,) = learned_outputs((value,), batch.obs, None, key, axis)
        error = worth - outputs[:, 0]
        loss = jnp.mean(jax.vmap(lambda one: losses.expectile(one, self.expectile))(error))
        return loss, (*jax.lax.stop_gradient((loss, error)), moved)


def weighted_loss(
    actor: Any, batch: Batch, weight: Float[Array, " n"], axis: str | None
) -> tuple[Float[Array, ""], tuple[Scalars, Any]]:
    """Computes -E[w log pi(a | s)]; metrics, and the actor that learns."""
    policies, actor = acted(actor, batch.obs, axis)
    loss = -jnp.mean(weight * log_probs(policies, batch.action))
    entropy = jnp.mean(jax.vmap(lambda policy: policy.entropy())(policies))
    return loss, (jax.lax.stop_gradient({"actor_loss": loss, "entropy": entropy}), actor)


def _values(critics: tuple, batch: Batch, key: PRNGKeyArray) -> tuple[Array, ...]:
    """Returns each critic's values of the recorded actions, or of every Discrete one."""
    return values(critics, batch.obs, None if is_counted(batch.action) else batch.action, key)


def _chosen(each: Array, batch: Batch) -> Float[Array, " n"]:
    """Returns the values of the recorded actions."""
    return jax.vmap(action_value)(each, batch.action) if is_counted(batch.action) else each
