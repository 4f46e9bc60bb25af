"""Common ground of DQN and PQN: building a network of action values, acting by it, and the settings of both."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...compiler import kernel
from ...core.action_mask import check_mask
from ...core.env import EnvSpec
from ...core.errors import check_number
from ...core.spaces import element_like
from ...nn.fits import check_builder, check_has_numbers
from ...nn.q_network import (
    QFunction,
    QNetworkBuilder,
    QNetworkConfig,
    RecurrentQNetwork,
    check_discrete,
    check_q_network,
)
from ...ops import exploration
from ...ops.schedules import check_learning_rate, check_schedule

choose_epsilon_greedy = kernel(exploration.epsilon_greedy)


def build_q_network(
    builder: QNetworkBuilder, spec: EnvSpec, key: PRNGKeyArray, remembers: bool = False
) -> QFunction | RecurrentQNetwork:
    """Builds the network for an environment; of one's own one that remembers only for an agent that does.

    Raises:
        ConfigError: for spaces that it cannot learn, or a network that does not fit them.
    """
    actions, observations = check_discrete(spec.action_space), spec.observation_space
    check_has_numbers(spec)
    check_mask(observations, actions)
    network = builder(observations, actions, key)
    if not isinstance(builder, QNetworkConfig):
        check_q_network(network, observations, actions, element_like(observations), remembers)
    return network


def choose(q: Float[Array, " A"], epsilon: Float[Array, ""], key: PRNGKeyArray, *, greedy: bool) -> Int[Array, ""]:
    """Chooses an action of the highest value, ties at random; unless greedy, with probability epsilon any."""
    return exploration.greedy(key, q) if greedy else choose_epsilon_greedy(key, q, epsilon)


def check_q_settings(agent: Any) -> None:
    """Refuses settings of DQN or PQN that cannot work, of those that both have.

    Raises:
        ConfigError: naming the field.
    """
    check_builder(agent.network, "a QNetworkConfig", "a network")
    check_learning_rate("learning_rate", agent.learning_rate)
    check_number("discount", agent.discount, low=0, high=1)
    check_schedule("epsilon", agent.epsilon, low=0, high=1)
    if agent.max_gradient_norm is not None:
        check_number("max_gradient_norm", agent.max_gradient_norm, low=0, open_low=True)
    check_number("adam_epsilon", agent.adam_epsilon, low=0, open_low=True, open_high=True)
