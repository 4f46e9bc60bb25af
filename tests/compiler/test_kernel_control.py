"""Control flow and updates in place: kernels give what XLA gives, whatever lanes share and however many there are."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_loops import PROGRAMS as LOOPS
from kernel_nested_loops import NESTED
from kernel_oracle import LANES, columns_of, compare, inputs

import kousoku as ks

pytestmark = pytest.mark.property

PROGRAMS = LOOPS | NESTED


def run(name: str, lanes: int, *ways: str, seed: int = 1) -> None:
    """In each of these ways to share arguments among lanes; all shared is a single lane without an axis."""
    function, spec = PROGRAMS[name]
    count = len(spec.split())
    shared = {
        "none": (),
        "first": (0,),
        "last": (count - 1,),
        "rest": range(1, count),
        "all but last": range(count - 1),
        "all": range(count),
    }
    different = {tuple(shared[way]) for way in ways}
    compare(function, columns_of(inputs(spec), lanes, seed), sorted(different), ulp=2)


OFTEN = ("none", "rest", "none", "first", "none", "all")


@pytest.mark.by_default(
    "any_lane.itself-all",
    "any_lane.within-none",
    "cond.cheap-none",
    "cond.constants-first",
    "cond.swapped-rest",
    "scan.length_0_large-none",
    "scan.no_ys-first",
    "scan.sum-rest",
)
@pytest.mark.parametrize(("name", "way"), [(name, OFTEN[i % len(OFTEN)]) for i, name in enumerate([*LOOPS][::4])])
def test_one_way_to_share(name, way):
    """Of every fourth program, and every way for some of these."""
    run(name, 11, way)


@pytest.mark.by_default("nested.moved_until")
@pytest.mark.parametrize("name", [*NESTED][::2])
def test_loops_in_loops(name):
    run(name, 11, "none")


@pytest.mark.full("more cases")
@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_of_their_own_and_lanes_that_share(name):
    run(name, 11, "none", "rest")


@pytest.mark.full("more cases")
@pytest.mark.parametrize("name", [*PROGRAMS][::3])
def test_shared_first_argument_and_one_lane(name):
    run(name, 5, "first", "all", seed=3)


@pytest.mark.full("larger")
@pytest.mark.parametrize("lanes", [n or 2 for n in LANES])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way(name, lanes):
    run(name, lanes, "none", "first", "last", "rest", "all but last", "all", seed=2)


def test_a_loop_in_a_loop_has_no_table_of_its_own():
    explained = ks.kernel(NESTED["nested.three_deep"][0]).explain(np.int32(0), np.zeros(40, np.int32), lanes=16)
    table = 40 * 4 * explained.lanes
    assert table <= explained.buffer_bytes < 2 * table
