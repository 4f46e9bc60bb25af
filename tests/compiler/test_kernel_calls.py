"""JAX's public functions in a kernel: no fallback, and what XLA gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernel_calls import LAX, NN, NUMPY, RANDOM
from kernel_oracle import columns_of, compare, inputs

pytestmark = pytest.mark.property

LANES = 11
TOGETHER = 8

CALLS = {
    f"{family}.{name}": call
    for family, calls in {"jnp": NUMPY, "lax": LAX, "nn": NN, "random": RANDOM}.items()
    for name, call in calls.items()
}


def bundles(part: int) -> Iterator[list[str]]:
    """Of every second call, from that one on: some that are as exact as each other, to be compiled together."""
    for exactness in {call[2:] for call in CALLS.values()}:
        names = [name for name, call in CALLS.items() if call[2:] == exactness][part::2]
        for first in range(0, len(names), TOGETHER):
            yield names[first : first + TOGETHER]


BUNDLES = [
    pytest.param(names, id=f"{names[0]}-{names[-1]}", marks=[pytest.mark.full("more cases")] * part)
    for part in (0, 1)
    for names in sorted(bundles(part))
]


def run(names: list[str], *ways: str) -> None:
    """All of these calls in one kernel, each with arguments of its own."""
    counts = {name: len(CALLS[name][1].split()) for name in names}

    def function(*values):
        given = iter(values)
        return {name: CALLS[name][0](*(next(given) for _ in range(counts[name]))) for name in names}

    spec = " ".join(CALLS[name][1] for name in names)
    shared = {"none": (), "all": range(sum(counts.values()))}
    compare(
        function, columns_of(inputs(spec), LANES, len(names[0])), [shared[way] for way in ways], *CALLS[names[0]][2:]
    )


@pytest.mark.by_default(
    "jnp.logaddexp-nn.log_sigmoid",
    "jnp.polyval-jnp.polyval",
    "jnp.pow_float-jnp.pow_float",
    "lax.cumlogsumexp_large-random.weibull",
    "nn.cholesky_by_hand-nn.cholesky_by_hand",
    "random.keys_set-random.randint",
)
@pytest.mark.parametrize("names", BUNDLES)
def test_calls_over_lanes(names):
    run(names, "none")


@pytest.mark.full("more cases")
@pytest.mark.parametrize("name", CALLS)
def test_call_over_lanes_and_of_one_lane(name):
    run([name], "none", "all")
