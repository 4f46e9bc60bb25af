"""Epsilon-greedy, and optimistic, action selection on a bandit."""

from __future__ import annotations

from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import check_number
from ...core.timestep import Transition
from ...ops import exploration as ops
from ...ops.schedules import ScalarOrSchedule, check_schedule, value_at
from ..tabular.agent import TabularAgent
from .common import LARGEST, Arms, check_step_size, init_arms, pull


class BanditEpsilonGreedy(TabularAgent):
    """Epsilon-greedy: any arm with probability epsilon, else the one of highest estimate; Q(A) += alpha [R - Q(A)].

    With epsilon 0 and a high initial value (and a constant step size, which forgets it slowly) it explores by
    disappointment: "optimistic initial values".

    Attributes:
        epsilon: probability of a random arm, a number in [0, 1] or a schedule of the step count.
        step_size: step size alpha, in (0, 1]; None for 1 / N(A), the sample average. A drifting bandit needs a constant
            one.
        initial_value: every estimate before the first pull; the sample average forgets it at once.

    Metrics: "td_error", the bracket above.

    References:
        Sutton and Barto (2nd ed.), the box of section 2.4; section 2.5; section 2.6 (optimistic).
    """

    epsilon: ScalarOrSchedule = 0.1
    step_size: float | Float[Array, ""] | None = None
    initial_value: float | Float[Array, ""] = 0.0

    def __check_init__(self) -> None:
        check_schedule("epsilon", self.epsilon, low=0, high=1)
        check_step_size(self.step_size)
        check_number("initial_value", self.initial_value, low=-LARGEST, high=LARGEST)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Arms:
        return init_arms("bandit_epsilon_greedy", spec, self.initial_value, averages=self.step_size is None)

    def act(
        self, state: Arms, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        if greedy:
            return ops.greedy(key, state.q), carry, None
        return ops.epsilon_greedy(key, state.q, value_at(self.epsilon, state.step)), carry, None

    def update(
        self, state: Arms, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Arms, dict[str, Array]]:
        arms, error = pull(state, data.action, data.reward, self.step_size)
        return arms, {"td_error": error}

    def adopt(self, fresh: Arms, trained: Arms) -> Arms:
        """Takes over the estimates and the pulls that they rest on; epsilon's schedule begins anew."""
        rest = fresh.rest if fresh.rest is None or trained.rest is None else trained.rest
        return Arms(trained.q, trained.pulls, fresh.step, rest)

    def q_values(self, state: Arms) -> Float[Array, "S A"]:
        return state.q[None]
