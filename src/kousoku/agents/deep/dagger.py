"""Dataset aggregation: imitating an expert in the states that the learner itself comes to."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Int, PRNGKeyArray

from ...collectors.replay import Replay
from ...compiler import kernel
from ...core.agent import Agent
from ...core.env import Env, EnvSpec, Finite
from ...core.errors import ConfigError, check_count, check_number, shorten
from ...core.spaces import Discrete, element_like
from ...core.timestep import ReplayBatch
from ...nn.actor_q import CRITIC_OPTIONS, ActorQBuilder, ActorQConfig, check_actor_q
from ...nn.batch_renorm import with_statistics
from ...nn.fits import check_builder
from ...ops.across import mean_over
from ...ops.schedules import Linear, ScalarOrSchedule, check_learning_rate, check_schedule, value_at
from ..planning import value_iteration
from .actor_critic import draw
from .actor_q import learned_batch
from .bc import imitation_loss
from .epochs import Scalars
from .gradients import apply_gradients, gradient_vector, init_optimiser
from .replay_of import replay_of

PLANNED = "`kousoku.train` plans one where the environment has an exact model and observes the number of its state"


class DAggerState(eqx.Module):
    """The state of an agent that imitates an expert: what it has learned.

    Attributes:
        actor: from an observation to a distribution of actions.
        optimiser: optax's state.
        step: environment steps at the last update, of all environments: the count that schedules are read at.
    """

    actor: Any
    optimiser: Any
    step: Int[Array, ""]


class DAgger(Agent):
    """A policy that does what an expert would do, in the states that it comes to by acting itself.

    In each step it acts, with probability `expert_share`, as the expert does, else as it has learned to. Whoever acted,
    the expert's action is the label of the state. All labels are kept, and the policy is learned from all of them:

        loss = -E[log pi(expert(s) | s)], s of the states of all steps so far

    The expert is a table with an action for each state; by default that of the optimal policy, which value iteration
    finds from the environment's exact model.

    Attributes:
        num_envs: environments that act at once.
        capacity: how many of the last steps are kept; rounded up to whole rounds of acting.
        batch_size: steps of one gradient step.
        update_ratio: gradient steps per environment step, 1/512 to 20.
        learning_starts: environment steps before the first gradient step.
        network: builds the network: an `ActorQConfig`, of which the critics are left out, or a function (observation
            space, action space, key).
        learning_rate: learning rate of Adam, a number or a schedule of the environment steps taken.
        expert_share: share beta of the steps in which the expert acts, a number in [0, 1] or a schedule.
        expert: the expert's action in each state; None for the optimal ones.
        discount: discount factor gamma, in [0, 1], of the returns that the optimal expert maximises.

    Metrics, means over all gradient steps: "policy_loss", "entropy", "accuracy" (how often the likeliest action is the
    expert's), "gradient_norm", "learning_rate".

    Differs from the paper: the policy learns on from minibatches while it acts, instead of being learned anew from all
    data after each of a few rounds.

    References:
        Ross, Gordon and Bagnell, A reduction of imitation learning and structured prediction to no-regret online
        learning, arXiv:1011.0686, algorithm 3.1.
    """

    unused_options: ClassVar[tuple[str, ...]] = ("policy", "init_std", *CRITIC_OPTIONS)

    num_envs: int = eqx.field(static=True, default=8)
    capacity: int = eqx.field(static=True, default=100_000)
    batch_size: int = eqx.field(static=True, default=128)
    update_ratio: float | str = eqx.field(static=True, default=0.25)
    learning_starts: int = eqx.field(static=True, default=0)
    network: ActorQBuilder = eqx.field(static=True, default=ActorQConfig(hidden=(64, 64)))
    learning_rate: ScalarOrSchedule = 1e-3
    expert_share: ScalarOrSchedule = Linear(1.0, 0.0, "20%")
    expert: tuple[int, ...] | None = eqx.field(static=True, default=None)
    discount: float = eqx.field(static=True, default=0.99)

    def __check_init__(self) -> None:
        _ = self.learns_from  # checks what it is made of
        check_builder(self.network, "an ActorQConfig", "a kousoku.nn.ActorQ")
        check_learning_rate("learning_rate", self.learning_rate)
        check_schedule("expert_share", self.expert_share, low=0, high=1)
        check_number("discount", self.discount, low=0, high=1)
        if self.expert is None:
            return
        if not isinstance(self.expert, tuple):
            raise ConfigError("expert", self.expert, "give a tuple with the number of an action for each state")
        for i, action in enumerate(self.expert):
            check_count(f"expert[{i}]", action, low=0)

    @property
    def learns_from(self) -> Replay:
        return replay_of(self)

    def taught_in(self, env: Env) -> DAgger:
        """Returns the agent with its expert: the optimal policy of the environment, if none is given.

        Raises:
            ConfigError: if none is given for an environment that tells no exact model, or changes over its lifetime.
        """
        if self.expert is not None:
            return self
        if not isinstance(env, Finite) or not isinstance(env.observation_space, Discrete):
            raise ConfigError("expert", None, f"give one, of an action for each state; {PLANNED}")
        if env.world_at(None) is not env:
            fix = "give one: this world changes while the agent learns, and a plan is for one of its maps alone"
            raise ConfigError("expert", None, fix)
        best = np.argmax(jax.device_get(value_iteration(env.model(), self.discount).policy), axis=-1)
        return dataclasses.replace(self, expert=tuple(int(action) for action in best))

    def optimiser(self) -> optax.GradientTransformation:
        """Returns the optax transformation of the gradients."""
        return optax.scale_by_adam()

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> DAggerState:
        self._check_expert(spec)
        network = self.network(spec.observation_space, spec.action_space, key)
        obs = element_like(spec.observation_space)
        assert isinstance(spec.action_space, Discrete)
        check_actor_q(network, spec.observation_space, spec.action_space, obs, "stochastic")
        return DAggerState(network.actor, init_optimiser(network.actor, self.optimiser()), jnp.int32(0))

    def _check_expert(self, spec: EnvSpec) -> None:
        """Refuses an environment whose states or actions are not those of the expert's table."""
        states, actions = spec.observation_space, spec.action_space
        if not isinstance(states, Discrete) or not isinstance(actions, Discrete):
            fix = "its expert is a table: observations and actions have to be Discrete"
            raise ConfigError("observation space", shorten(states), fix)
        if self.expert is None:
            return
        if len(self.expert) != states.n:
            raise ConfigError("expert", f"{len(self.expert)} actions", f"give one for each of the {states.n} states")
        if max(self.expert) >= actions.n:
            raise ConfigError("expert", max(self.expert), f"its actions are to be in 0..{actions.n - 1}")

    def adopt(self, fresh: DAggerState, trained: DAggerState) -> DAggerState:
        """Takes over the network."""
        return dataclasses.replace(fresh, actor=trained.actor)

    def act(
        self, state: DAggerState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Array, tuple[()], Array | None]:
        """Chooses the expert's action or a learned one; the extras are the expert's."""
        policy = state.actor(obs)
        if greedy:
            return policy.mode(), carry, None
        if self.expert is None:
            raise ConfigError("expert", None, f"give one, of an action for each state; {PLANNED}")
        label = jnp.asarray(self.expert, jnp.int32)[obs]
        share_key, draw_key = jax.random.split(key)
        shared = jax.random.bernoulli(share_key, value_at(self.expert_share, state.step))
        return jnp.where(shared, label, kernel(draw)(policy, draw_key)), carry, label

    def update(
        self, state: DAggerState, data: ReplayBatch, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[DAggerState, Scalars]:
        rate = value_at(self.learning_rate, data.steps)
        acted_in = learned_batch(Discrete(1), data, self.discount)
        batch = acted_in._replace(action=data.transitions.extras)
        gradient, told = jax.grad(imitation_loss, has_aux=True)(state.actor, batch, axis)
        gradient, metrics = mean_over((gradient_vector(gradient), told[0]), axis)
        stepped, optimiser, norm = apply_gradients(state.actor, self.optimiser(), state.optimiser, gradient, rate, None)
        after = DAggerState(with_statistics(stepped, told[1]), optimiser, data.steps)
        return after, metrics | {"gradient_norm": norm, "learning_rate": rate}
