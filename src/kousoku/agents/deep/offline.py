"""Common ground of agents that learn from recorded transitions: an actor, and what else they learn beside it."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ...collectors.offline import Offline, given
from ...compiler import kernel
from ...core.agent import Agent
from ...core.dataset import Dataset, DatasetFile
from ...core.dataset_file import as_dataset, with_numbers
from ...core.env import EnvSpec
from ...core.errors import check_flag, check_number, check_size
from ...core.spaces import Box, Discrete, element_like
from ...core.timestep import ReplayBatch
from ...nn.actor_q import ActorQ, ActorQBuilder, ActorQConfig, check_actor_q, check_learnable, to_action
from ...nn.fits import check_builder, check_has_numbers
from ...nn.observation_stats import Statistics, init_obs_stats, normalise_obs
from ...ops.distributions import Distribution
from ...ops.normalisation import RunningMoments
from ...ops.schedules import ScalarOrSchedule, check_learning_rate
from ...ops.trees import to_device
from .actor_critic import draw
from .actor_q import learned_batch
from .critics import Batch
from .epochs import Scalars
from .gradients import init_optimiser


class OfflineState(eqx.Module):
    """The state of an agent that learns from recorded transitions: what it has learned.

    Attributes:
        actor: from an observation to a distribution of actions, or to one action.
        critics: of action values; () where there are none.
        value: of state values; None where there is none.
        target: the older copy that targets are computed with; None where there is none.
        optimisers: optax's states by what they are of.
        updates: gradient steps so far.
        action_space: where actions lie.
        observations: the data's moments, which observations are scaled by; None for parts that are not scaled.
        actor_metrics: of the last step of an actor that does not learn in all of them; else none.
    """

    actor: Any
    critics: tuple
    value: Any
    target: Any
    optimisers: dict[str, Any]
    updates: Int[Array, ""]
    action_space: Box | Discrete
    observations: Statistics = None
    actor_metrics: Scalars = eqx.field(default_factory=dict)


class OfflineAgent(Agent):
    """A policy that is learned from recorded transitions, without acting.

    Actions of a Box are learned in the unit box, whatever its bounds. All gradients of a step are taken at the
    parameters before it.

    Attributes:
        dataset: what is learned from: a `kousoku.Dataset`, or the .npz file of one.
        batch_size: transitions of one gradient step.
        network: builds the network: an `ActorQConfig`, or a function (observation space, action space, key).
        learning_rate: learning rate of Adam, a number or a schedule of the gradient steps made.
        normalise_observations: whether floating point observations are centred and scaled by the data's moments.
        observation_limit: scaled observations are clipped to +- this.
    """

    dataset: Dataset | DatasetFile | None = eqx.field(static=True, default=None, converter=as_dataset)
    batch_size: int = eqx.field(static=True, default=256)
    network: ActorQBuilder = eqx.field(static=True, default=ActorQConfig(policy="normal"))
    learning_rate: ScalarOrSchedule = 3e-4
    normalise_observations: bool = eqx.field(static=True, default=False)
    observation_limit: float | Array = 10.0

    def __check_init__(self) -> None:
        check_size("batch_size", self.batch_size)
        check_builder(self.network, "an ActorQConfig", "a kousoku.nn.ActorQ")
        check_learning_rate("learning_rate", self.learning_rate)
        check_flag("normalise_observations", self.normalise_observations)
        check_number("observation_limit", self.observation_limit, low=0, open_low=True)

    @property
    @abstractmethod
    def policy(self) -> str:
        """The kind of policy that it learns, one of `nn.actor_q.ACTORS`."""

    @abstractmethod
    def beside(self, network: ActorQ, spec: EnvSpec, key: PRNGKeyArray) -> dict[str, Any]:
        """Makes what is learned beside the actor: "critics", "value" and "target" of `OfflineState`, and its
        "actor_metrics".

        Args:
            network: as it was built; its critics are used, or not.
            spec: the environment's.
            key: the one that the network was built with.
        """

    @property
    def learns_from(self) -> Offline:
        return Offline(dataset=self.dataset, batch_size=self.batch_size)  # pyright: ignore[reportCallIssue]

    def for_env(self, spec: EnvSpec) -> OfflineAgent:
        """Returns the agent with the numbers of its data set, which have to be of such an environment.

        Raises:
            ConfigError: where there is no data set, its file is gone, or it is of other spaces.
        """
        made = dataclasses.replace(self, dataset=with_numbers(given(self.dataset)))
        made.learns_from.check_agent(made, spec)
        return made

    def optimiser(self) -> optax.GradientTransformation:
        """Returns the optax transformation of the gradients."""
        return optax.scale_by_adam()

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> OfflineState:
        check_has_numbers(spec)
        actions, observations = check_learnable(spec.action_space, self.policy, True), spec.observation_space
        network = self.network(observations, actions, key)
        obs = element_like(observations)
        check_actor_q(network, observations, actions, obs, self.policy, self.network)
        beside = self.beside(network, spec, key)
        learned = {"actor": network.actor, "critics": beside.get("critics", ()), "value": beside.get("value")}
        return OfflineState(
            **learned,
            target=beside.get("target"),
            optimisers={
                name: init_optimiser(part, self.optimiser()) for name, part in learned.items() if jax.tree.leaves(part)
            },
            updates=jnp.int32(0),
            action_space=actions,
            observations=self._statistics(spec) if self.normalise_observations else None,
            actor_metrics=beside.get("actor_metrics", {}),
        )

    def _statistics(self, spec: EnvSpec) -> Statistics:
        """Returns the moments of the data's observations; of nothing, where their numbers are not at hand.

        They are not where an agent is made again to act by what it has learned, to which its moments belong.
        """
        empty = init_obs_stats(spec.observation_space)
        if not isinstance(self.dataset, Dataset):
            return empty
        return _moments(empty, self.dataset.moments, len(self.dataset))

    def adopt(self, fresh: OfflineState, trained: OfflineState) -> OfflineState:
        """Takes over the networks, the target, and the moments that scale observations."""
        names = ("actor", "critics", "value", "target", "observations")
        return dataclasses.replace(fresh, **{name: getattr(trained, name) for name in names})

    def act(
        self, state: OfflineState, obs: PyTree[Array], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Array, tuple[()], None]:
        """Chooses an action: the likeliest one, or one that is drawn."""
        chosen = state.actor(normalise_obs(state.observations, obs, self.observation_limit))
        if isinstance(chosen, Distribution):
            chosen = chosen.mode() if greedy else kernel(draw)(chosen, key)
        return to_action(state.action_space, chosen), carry, None

    def batch(self, state: OfflineState, data: ReplayBatch, discount: float | Array = 0.0) -> Batch:
        """Returns a minibatch as it is learned from: actions in the unit box, observations scaled."""
        batch = learned_batch(state.action_space, data, discount)
        scale = jax.vmap(lambda obs: normalise_obs(state.observations, obs, self.observation_limit))
        return batch._replace(obs=scale(batch.obs), next_obs=scale(batch.next_obs))


def log_probs(policies: Any, action: Array) -> Float[Array, " n"]:
    """Returns log pi(a | s) of one action of each of n distributions."""
    return jax.vmap(lambda policy, action: policy.log_prob(action))(policies, action)


def _moments(empty: Any, moments: Any, count: int) -> Any:
    """Returns (mean, variance) in float64 as moments of so many samples, part by part."""
    if isinstance(empty, dict):
        return {name: _moments(part, moments[name], count) for name, part in empty.items()}
    if empty is None:
        return None
    pairs = []
    for value in moments:
        rounded = value.astype("float32")
        pairs += [rounded, (value - rounded).astype("float32")]
    words = to_device(list(divmod(count, 2**32)), jnp.uint32)
    return RunningMoments(words, *(to_device(each) for each in pairs))
