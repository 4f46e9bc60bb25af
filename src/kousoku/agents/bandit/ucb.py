"""Upper-confidence-bound action selection on a bandit."""

from __future__ import annotations

from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import check_number
from ...core.timestep import Transition
from ...ops import exploration as ops
from ..tabular.agent import TabularAgent
from .common import Arms, check_step_size, init_arms, pull


class BanditUCB(TabularAgent):
    """The arm of highest Q(a) + c sqrt(ln t / N(a)), arms never pulled first; Q(A) += alpha [R - Q(A)].

    t counts the pulls made so far. `greedy=True` (for evaluation) leaves the bonus out.

    Attributes:
        c: how much uncertainty is worth, at least 0.
        step_size: step size alpha, in (0, 1]; None for 1 / N(A), the sample average.

    Metrics: "td_error", the bracket above.

    References:
        Sutton and Barto (2nd ed.), equation 2.10. Auer, Cesa-Bianchi and Fischer, Machine Learning 47 (2002).
    """

    c: float | Float[Array, ""] = 2.0
    step_size: float | Float[Array, ""] | None = None

    def __check_init__(self) -> None:
        check_number("c", self.c, low=0, open_high=True)
        check_step_size(self.step_size)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Arms:
        return init_arms("bandit_ucb", spec, 0.0, averages=self.step_size is None)

    def act(
        self, state: Arms, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        if greedy:
            return ops.greedy(key, state.q), carry, None
        return ops.upper_confidence_bound(key, state.q, state.pulls, self.c), carry, None

    def update(
        self, state: Arms, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Arms, dict[str, Array]]:
        arms, error = pull(state, data.action, data.reward, self.step_size)
        return arms, {"td_error": error}

    def q_values(self, state: Arms) -> Float[Array, "S A"]:
        return state.q[None]
