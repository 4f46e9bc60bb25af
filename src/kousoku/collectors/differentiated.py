"""Learning from the derivatives of rollouts: T steps of B environments, and a gradient back through all of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float, PyTree

from ..core.collector import SlotFunctions, Steps, TrainState
from ..core.errors import ConfigError
from ..core.timestep import Rollout
from .rollouts import RolloutCollector, make_rollout
from .streams import IterationKeys


class DifferentiatedRollout(eqx.Module):
    """A rollout, and how what an agent makes of it depends on the parameters that acted.

    Attributes:
        rollout: T steps of B environments.
        gradient: of the agent's `rollout_loss`, a tree like its parameters; on a device that has a share of the
            environments, of that share's.
        told: what `rollout_loss` gives beside the loss.
    """

    rollout: Rollout
    gradient: PyTree[Array]
    told: Any


class DifferentiatedRollouts(RolloutCollector):
    """T steps of B environments at a time, differentiated by the parameters of the policy that acts.

    The gradient goes back through policy and environment to the rollout's first step and no farther: what the slots are
    in there counts as given (truncated back-propagation through time). Nor does it cross the end of an episode.
    `update` gets a `DifferentiatedRollout`.

    The agent, beside what every agent has:
    - `parameters(state)`, a tree of arrays of floating point numbers, and `with_parameters(state, parameters)`, the
      state that acts by others;
    - `rollout_loss(state, rollout, axis) -> (loss, told)`: a number, to be minimised, and whatever `update` wants to
      know of it; actions have to depend on the parameters smoothly.

    Attributes:
        num_envs, minibatch, shares, return_discount, staggered: as of `RolloutCollector`.
        num_steps: T, steps of each between two updates, and through which gradients go.

    References:
        Werbos, Backpropagation through time: what it does and how to do it, Proceedings of the IEEE 78 (1990).
        Xu et al., Accelerated policy learning with parallel differentiable simulation, arXiv:2204.07137, section 3.2.
    """

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: IterationKeys, axis: str | None
    ) -> tuple[TrainState, DifferentiatedRollout, Steps]:
        """Acts, and differentiates.

        Raises:
            ConfigError: where the loss does not depend on the parameters in any way that has a derivative.
        """

        def loss(parameters: PyTree[Array]) -> tuple[Float[Array, ""], Any]:
            acting = agent.with_parameters(state.agent, parameters)
            begin = TrainState(acting, state.slots, state.carry, state.data, state.metrics)
            after, rollout, steps = make_rollout(agent, slots, begin, keys, self.return_discount)
            value, told = agent.rollout_loss(acting, rollout, axis)
            return check_gradient(type(agent).__name__, value, parameters), (after, rollout, steps, told)

        gradient, (after, rollout, steps, told) = jax.grad(loss, has_aux=True)(agent.parameters(state.agent))
        slot, carry, returns = after
        made = DifferentiatedRollout(rollout, gradient, told)
        return TrainState(state.agent, slot, carry, returns, state.metrics), made, steps


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def check_gradient(agent: str, loss: Float[Array, ""], parameters: PyTree[Array]) -> Float[Array, ""]:
    """Returns the loss; refuses one that is differentiated and does not depend on the parameters smoothly.

    Args:
        agent: whose loss it is, for the message.
        loss: the loss.
        parameters: what it is differentiated by.

    Raises:
        ConfigError: while the program is traced, before anything is computed.
    """
    del agent, parameters
    return loss


@partial(check_gradient.defjvp, symbolic_zeros=True)
def _check_rate(agent: str, primals: Any, tangents: Any) -> tuple[Any, Any]:
    # JAX calls this where any tangent moves, as those of the parameters do.
    if isinstance(tangents[0], SymbolicZero):
        fix = "no reward of this environment changes smoothly with the actions, so there is no gradient to follow"
        raise ConfigError("agent", agent, f"{fix}; use 'ppo'")
    return primals[0], tangents[0]
