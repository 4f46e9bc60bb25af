"""Learning from the derivatives of rollouts: T steps of B environments, and a gradient back through all of them."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float, PyTree

from ..core.agent_check import has_own_methods, tracing
from ..core.collector import SlotFunctions, Steps, TrainState
from ..core.env import EnvSpec
from ..core.errors import ConfigError
from ..core.leaves import key_like, words
from ..core.ours import is_ours
from ..core.timestep import Rollout
from ..core.update_check import check_leaves, check_state, returned_parts
from .rollouts import RolloutCollector, make_rollout
from .streams import IterationKeys

ASKED = {
    "parameters": "(state) -> a tree of floating point arrays",
    "with_parameters": "(state, parameters) -> the state that acts by those",
    "rollout_loss": "(state, rollout, axis) -> (loss, what `update` gets)",
}
"""What an agent has beside what every agent has."""


class DifferentiatedRollout(eqx.Module):
    """A rollout, and how what an agent makes of it depends on the parameters that acted.

    Attributes:
        rollout: T steps of B environments.
        gradient: of the agent's `rollout_loss`, a tree like its parameters; on a device that has a share of the
            environments, of that share's.
        aux: what `rollout_loss` gives beside the loss.
    """

    rollout: Rollout
    gradient: PyTree[Array]
    aux: Any


class DifferentiatedRollouts(RolloutCollector):
    """T steps of B environments at a time, differentiated by the parameters of the policy that acts.

    The gradient goes back through policy and environment to the rollout's first step and no farther: what the slots are
    in there counts as given (truncated back-propagation through time). Nor does it cross the end of an episode.
    `update` gets a `DifferentiatedRollout`.

    The agent, beside what every agent has:
    - `parameters(state)`, a tree of arrays of floating point numbers, and `with_parameters(state, parameters)`, the
      state that acts by others;
    - `rollout_loss(state, rollout, axis) -> (loss, aux)`: a number, to be minimised, and whatever `update` wants to
      know of it; actions have to depend on the parameters smoothly.

    Attributes:
        num_envs, minibatch, shares, return_discount, staggered: as of `RolloutCollector`.
        num_steps: T, steps of each between two updates, and through which gradients go.

    References:
        Werbos, Backpropagation through time: what it does and how to do it, Proceedings of the IEEE 78 (1990).
        Xu et al., Accelerated policy learning with parallel differentiable simulation, arXiv:2204.07137, section 3.2.
    """

    def check_agent(self, agent: Any, spec: EnvSpec) -> None:
        if not has_own_methods(agent, self, ASKED):
            return
        state = eqx.filter_eval_shape(agent.init, spec, key_like())
        with tracing(agent, "parameters"):
            parameters = eqx.filter_eval_shape(agent.parameters, state)
        for leaf in jax.tree.leaves(parameters):
            if not (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)):
                fix = "give floating point arrays alone, as equinox.filter(state, equinox.is_inexact_array) does"
                raise ConfigError(f"{type(agent).__name__}.parameters", words(parameters), fix)
        with tracing(agent, "with_parameters"):
            moved = eqx.filter_eval_shape(agent.with_parameters, state, parameters)
        check_state(f"{type(agent).__name__}.with_parameters", state, moved)

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: IterationKeys, axis: str | None
    ) -> tuple[TrainState, DifferentiatedRollout, Steps]:
        """Acts, and differentiates.

        Raises:
            ConfigError: where the loss does not depend on the parameters in any way that has a derivative.
        """

        def loss(parameters: PyTree[Array]) -> tuple[Float[Array, ""], Any]:
            acting = agent.with_parameters(state.agent, parameters)
            begin = dataclasses.replace(state, agent=acting)
            after, rollout, steps = make_rollout(agent, slots, begin, keys, self.return_discount)
            value, aux = _loss_of(agent, acting, rollout, axis)
            return check_gradient(type(agent), value, parameters), (after, rollout, steps, aux)

        gradient, (after, rollout, steps, aux) = jax.grad(loss, has_aux=True)(agent.parameters(state.agent))
        slot, carry, returns = after
        made = DifferentiatedRollout(rollout, gradient, aux)
        return dataclasses.replace(state, slots=slot, carry=carry, data=returns), made, steps


def _loss_of(agent: Any, state: Any, rollout: Rollout, axis: str | None) -> tuple[Float[Array, ""], Any]:
    """Returns an agent's loss of a rollout, and what it tells beside.

    Raises:
        ConfigError: for anything else than a floating point number and arrays.
    """
    field = f"{type(agent).__name__}.rollout_loss"
    loss, beside = returned_parts(
        field, agent.rollout_loss(state, rollout, axis), 2, "return two things: the loss, and what `update` gets"
    )
    if jnp.shape(loss) != () or not jnp.issubdtype(jnp.result_type(loss), jnp.floating):
        raise ConfigError(field, words(loss), "give one floating point number, such as a mean over steps and slots")
    check_leaves(field, beside)
    return loss, beside


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def check_gradient(agent: type, loss: Float[Array, ""], parameters: PyTree[Array]) -> Float[Array, ""]:
    """Returns the loss; refuses one that is differentiated and does not depend on the parameters smoothly.

    Args:
        agent: the class whose loss it is, for the message.
        loss: the loss.
        parameters: what it is differentiated by.

    Raises:
        ConfigError: while the program is traced, before anything is computed.
    """
    del agent, parameters
    return loss


@partial(check_gradient.defjvp, symbolic_zeros=True)
def _check_rate(agent: type, primals: Any, tangents: Any) -> tuple[Any, Any]:
    # JAX calls this where any tangent moves, as those of the parameters do.
    if isinstance(tangents[0], SymbolicZero):
        fix = "no reward of this environment changes smoothly with the actions: there is no gradient; use 'ppo'"
        own = "; or its own `act`, `with_parameters` or `rollout_loss` round, or leave the parameters out"
        raise ConfigError("agent", agent.__name__, fix if is_ours(agent) else fix + own)
    return primals[0], tangents[0]
