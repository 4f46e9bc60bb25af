"""Random programs give the same bits in a kernel as in XLA."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_oracle import compare, noted
from kernel_programs import random_program

pytestmark = pytest.mark.property

FEW, MANY = 8, 3000


def run(seed: int) -> None:
    """Over some lanes with some arguments shared, and the first lane alone."""
    program = random_program(seed)
    rng = np.random.default_rng((seed, 1))
    lanes = int(rng.choice([2, 5, 16, 19]))
    count = len(program.inputs)
    own = rng.integers(count)
    shared = [i for i in range(count) if i != own and rng.random() < 0.3]
    with noted(f"seed {seed}, {lanes} lanes\n{program.source}"):
        compare(program.function(), program.arguments(rng, lanes), [shared, range(count)])


@pytest.mark.full("covered")
@pytest.mark.parametrize("seed", range(FEW))
def test_random_program(seed):
    run(seed)


@pytest.mark.full("larger")
@pytest.mark.parametrize("start", range(FEW, MANY, 20))
def test_many_random_programs(start):
    for seed in range(start, start + 20):
        run(seed)
