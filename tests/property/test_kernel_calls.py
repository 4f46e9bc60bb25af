"""JAX's public functions in a kernel: no fallback, and what XLA gives."""

from __future__ import annotations

import pytest
from kernel_calls import LAX, NN, NUMPY, RANDOM
from kernel_oracle import check, inputs

CALLS = {
    f"{family}.{name}": call
    for family, calls in {"jnp": NUMPY, "lax": LAX, "nn": NN, "random": RANDOM}.items()
    for name, call in calls.items()
}


def run(name: str, lanes: int | None) -> None:
    function, spec, *exactness = CALLS[name]
    check(function, inputs(spec), lanes, (), len(name), *exactness)


@pytest.mark.parametrize("name", CALLS)
def test_call_over_lanes(name):
    run(name, 11)


@pytest.mark.full
@pytest.mark.parametrize("name", CALLS)
def test_call_of_one_lane(name):
    run(name, None)
