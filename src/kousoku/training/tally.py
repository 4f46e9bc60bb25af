"""What is recorded while training: running sums of one lane, read and emptied at every report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core.agent import Agent
from ..core.env import Env
from ..core.errors import check_choice
from ..core.spaces import Discrete
from ..core.timestep import Transition
from ..ops import tables
from .rollout import EpisodeEnd, Lane

RECORDABLE = ("returns", "td_errors", "visits", "q_values", "info")


@dataclass(frozen=True)
class Record:
    """What to record.

    Attributes:
        returns: return and length of finished episodes, reward per step: a few numbers a lane.
        td_errors: mean absolute TD error.
        visits: how often each state and action was visited, one table a lane over the whole run.
        q_values: the agent's table at every report.
        info: means of the scalars in the environment's info.
    """

    returns: bool = True
    td_errors: bool = False
    visits: bool = False
    q_values: bool = False
    info: bool = False

    @staticmethod
    def of(names: tuple[str, ...] | list[str]) -> Record:
        """From names; raises ConfigError for a name that cannot be recorded."""
        for i, name in enumerate(names):
            check_choice(f"record[{i}]", name, RECORDABLE)
        return Record(**{name: name in names for name in RECORDABLE})


class Tally(eqx.Module):
    """Running sums; an entry is None where it is not recorded.

    Attributes:
        episodes: episodes finished since the last report.
        return_sum, length_sum: over those episodes.
        reward_sum: over all steps since the last report.
        info_sum: of each number in the environment's info.
        blown_up: of those episodes, how many ended with a flag `diverged` in the environment's info; None without one.
        td_error_sum: of absolute TD errors.
        visits: since the beginning.
        updates: updates from rollouts since the last report; None where every step is one.
        sound: how many of them were made before the first in which a reward or a metric was not finite.
        metric_sums: over those updates, of what each reported.
    """

    episodes: Int[Array, ""]
    return_sum: Float[Array, ""] | None
    length_sum: Int[Array, ""] | None
    reward_sum: Float[Array, ""] | None
    info_sum: Any
    blown_up: Int[Array, ""] | None
    td_error_sum: Float[Array, ""] | None = None
    visits: Int[Array, "S A"] | None = None
    updates: Int[Array, ""] | None = None
    sound: Int[Array, ""] | None = None
    metric_sums: dict[str, Float[Array, ""]] | None = None


def empty_tally(agent: Agent, env: Env, agent_state: Any, lane: Lane, record: Record) -> Tally:
    """Zeros for what is recorded."""
    shape = pairs(env)
    visits = jnp.zeros(shape, jnp.int32) if record.visits and shape else None
    learns_td = record.td_errors and "td_error" in _metric_names(agent, env, agent_state, lane)
    return zeros(_info_shape(env, lane), record, td_error_sum=jnp.float32(0.0) if learns_td else None, visits=visits)


def zeros(info: Any, record: Record, **others: Any) -> Tally:
    """Zeros for what every loop records of episodes, rewards and info (here its shapes), beside `others`."""
    zero = jnp.float32(0.0)
    return Tally(
        episodes=jnp.int32(0),
        return_sum=zero if record.returns else None,
        length_sum=jnp.int32(0) if record.returns else None,
        reward_sum=zero if record.returns else None,
        info_sum=jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), info) if record.info else None,
        blown_up=jnp.int32(0) if _can_blow_up(info) else None,
        **others,
    )


def count(tally: Tally, transition: Transition, end: EpisodeEnd, metrics: dict[str, Array]) -> Tally:
    """The tally after one more step."""
    ended = end.ended

    def plus(total: Any, value: Any) -> Any:
        return None if total is None else total + value

    info = tally.info_sum
    if info is not None:
        info = jax.tree.map(lambda t, x: t + x.astype(jnp.float32), info, transition.info)
    return Tally(
        episodes=tally.episodes + ended.astype(jnp.int32),
        return_sum=plus(tally.return_sum, jnp.where(ended, end.episode_return, 0.0)),
        length_sum=plus(tally.length_sum, jnp.where(ended, end.length, 0)),
        reward_sum=plus(tally.reward_sum, transition.reward),
        td_error_sum=plus(tally.td_error_sum, jnp.abs(metrics["td_error"]) if "td_error" in metrics else 0.0),
        visits=None
        if tally.visits is None
        else tables.add(tally.visits, transition.obs, transition.action, jnp.int32(1)),
        info_sum=info,
        blown_up=plus(tally.blown_up, blew_up(tally, transition.info, ended).astype(jnp.int32)),
    )


def pairs(env: Env) -> tuple[int, int] | None:
    """(states, actions) where both are Discrete, so that a table over them makes sense."""
    states, actions = env.observation_space, env.action_space
    return (states.n, actions.n) if isinstance(states, Discrete) and isinstance(actions, Discrete) else None


def _metric_names(agent: Agent, env: Env, agent_state: Any, lane: Lane) -> set[str]:
    def metrics(agent_state: Any, lane: Lane) -> dict[str, Array]:
        key = jax.random.key(0)
        action, _ = agent.act(agent_state, lane.obs, key)
        _, timestep = env.step(key, lane.env_state, action)
        transition = Transition(
            lane.obs, action, timestep.reward, timestep.terminated, timestep.truncated, timestep.obs, timestep.info
        )
        return agent.update(agent_state, transition, key)[1]

    return set(jax.eval_shape(metrics, agent_state, lane))


def _can_blow_up(info: Any) -> bool:
    """Whether the shapes of an environment's info have a flag `diverged`."""
    flag = getattr(info, "diverged", None)
    return isinstance(flag, jax.ShapeDtypeStruct) and flag.shape == () and flag.dtype == bool


def blew_up(tally: Tally, info: Any, ended: Bool[Array, "..."]) -> Bool[Array, "..."]:
    """Whether episodes ended because their environment blew up."""
    return jnp.zeros_like(ended) if tally.blown_up is None else ended & jnp.asarray(info.diverged)


def _info_shape(env: Env, lane: Lane) -> Any:
    """Shapes of the environment's info."""
    action = env.action_space.sample(jax.random.key(0))
    return jax.eval_shape(lambda: env.step(jax.random.key(0), lane.env_state, action)[1].info)
