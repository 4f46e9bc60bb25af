"""What passes between an environment and an agent."""

from __future__ import annotations

from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, PyTree


class Timestep(eqx.Module):
    """What an environment says after a reset or a step.

    `terminated` means that the task ended: nothing follows, the value of what follows is zero. `truncated` means that
    the clock ended the episode: something would have followed. They are never merged into one flag, since a learner
    bootstraps through the second and not through the first.

    Attributes:
        obs: the observation, of the environment's observation space.
        reward: the reward of the step just taken; 0 after a reset.
        terminated: the episode reached a terminal state.
        truncated: the episode was cut by the environment itself (time limits are applied by `kousoku.training`).
        info: an environment's own typed struct, or None.
    """

    obs: PyTree[Array]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    info: Any = None


class Transition(eqx.Module):
    """One step of one lane, as an agent learns from it.

    `next_obs` is always the true successor of (`obs`, `action`), also when the episode ended here: never the
    observation after a reset.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    next_obs: PyTree[Array]
    info: Any = None


class Rollout(eqx.Module):
    """T steps of B environments, time first, as a learner from rollouts sees them.

    As in a `Transition`, `next_obs` is always the true successor.

    Attributes:
        obs, next_obs: [T, B, ...].
        action: [T, B, ...] as the agent chose it, before anything was clipped.
        extras: [T, B, ...] what `act` gave along.
        reward, terminated, truncated: [T, B].
        memory: [B, ...] before the first step.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    extras: Any
    reward: Float[Array, "T B"]
    terminated: Bool[Array, "T B"]
    truncated: Bool[Array, "T B"]
    next_obs: PyTree[Array]
    memory: Any
