"""One time step (mj_step), or several.

References:
    MuJoCo documentation, Computation, "Simulation pipeline" and "Numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..core.errors import check_count
from .forward import Forward, measure_where
from .integration.euler import euler
from .integration.implicit import implicit, implicitfast
from .integration.rk4 import rk4
from .model import Model, State

T = TypeVar("T")
INTEGRATORS: dict[int, Callable[..., Any]] = {0: euler, 1: rk4, 2: implicit, 3: implicitfast}
"""By MuJoCo's mjtIntegrator. Each runs `forward` and advances the state by what it finds."""


def step(model: Model, state: State, ctrl: Float[Array, " nu"]) -> State:
    """Returns the state a time step later, for the commands `ctrl` [nu].

    Raises:
        ConfigError: for a state or commands of other shapes than the model's.
    """
    return INTEGRATORS[model.integrator](model, state, ctrl, lambda f: None)[0]


def simulate(
    model: Model, state: State, ctrl: Float[Array, " nu"], steps: int, measure: Callable[[Forward], T]
) -> tuple[State, T]:
    """Returns the state some time steps later, under the same commands, and a measurement.

    Args:
        model: the mechanism.
        state: the state where it begins.
        ctrl: commands [nu].
        steps: how many, at least one.
        measure: arrays of what it needs to know of the last time that the dynamics were evaluated: where the last step
            began, or RK4's last stage, as MuJoCo leaves them in mjData. But mjData's sensors are those of RK4's first
            stage: take `sensors` of `forward` where the last step begins.

    Raises:
        ConfigError: for a state or commands of other shapes than the model's, or no step.
    """
    check_count("steps", steps)
    integrate = INTEGRATORS[model.integrator]
    if steps == 1:
        return integrate(model, state, ctrl, measure)

    def once(state: State, last: jax.Array) -> tuple[State, T]:
        return integrate(model, state, ctrl, lambda f: measure_where(f, measure, last))

    state, found = lax.scan(once, state, np.arange(steps) == steps - 1)
    return state, jax.tree.map(lambda x: x[-1], found)
