"""A step from each of ten thousand states of a model's contact-rich motion, against C MuJoCo: a sample by default."""

import mujoco
import numpy as np
import pytest
from physics_models import MODELS as ALL_MODELS
from physics_models import REFUSED
from physics_models import compiled as own_model
from physics_precision import SmoothBeyondError, check_steps
from physics_random import random_model
from physics_states import silent, stack, states

from kousoku_bench.exactness import visited_states
from kousoku_bench.rigid import MODELS, compiled_model

EDGES, WILD, WILD_RK4 = 5e-4, 1e-3, 2e-3
"""The share of states that may be at an edge in float32; and of wild models, whose boxes and capsules tumble."""
OWN = [name for name in ALL_MODELS if name not in REFUSED]
KINDS = ("float64", "float32")
FEW, ALL = 10, 500
SMALL, LARGE = 500, 10_000
OFTEN = ["box_box", "weld_world", "limits_implicitfast", "sphere_ellipsoid"]
SEEDS, SOME = range(60), (13, 34)
BEYOND = {5: "4.7e-11, C 3.3e-11", 30: "8.8e-11, C 6.4e-11", 35: "1.2e-11, C 1.7e-11"}
"""Of models made at random, whose mass matrices lose too many digits: how far in float64 the worst state's smooth
acceleration is from C's, where 1e-11 is asked for; and C's own from itself, from a state one rounding away."""


def cases():
    """A few states of the models that are soon compiled, and all of all in the full tests."""
    few = [("hopper", "float32"), ("half_cheetah", "float64"), ("swimmer", "float64")]
    every = [pytest.param(name, kind, ALL, marks=pytest.mark.full("more cases")) for name in MODELS for kind in KINDS]
    return [*(pytest.param(*case, FEW) for case in few), *every]


@pytest.mark.full("covered")
@pytest.mark.parametrize(("name", "kind", "ways"), cases())
def test_a_step_is_as_exact_as_its_numbers(name, kind, ways):
    compiled = compiled_model(name)
    rows = check_steps(kind, compiled, *visited_states(compiled, ways), EDGES)
    assert rows > 0 or name == "swimmer", "the motion meets neither contacts nor limits"


def many(few, every):
    """Some models in float32 with few states, and all in both with many in the full tests."""
    full = [pytest.param(model, kind, LARGE, marks=marks(model, kind)) for model in every for kind in KINDS]
    return [*(pytest.param(model, "float32", SMALL) for model in few), *full]


def marks(model, kind):
    """Full; and known to fail, which is seen when it ends."""
    if kind == "float32" or model not in BEYOND:
        return [pytest.mark.full("more cases")]
    known = pytest.mark.xfail(strict=True, raises=SmoothBeyondError, reason=f"ours {BEYOND[model]}")
    return [pytest.mark.full("more cases"), known]


def check(compiled: mujoco.MjModel, kind: str, count: int) -> None:
    """Of small models in wild motion: as exact as what they compute is large."""
    given = stack(states(compiled, count, seed=7))
    time = np.zeros((count, 1))
    together = np.concatenate([time, given.qpos, given.qvel, given.act], axis=1)
    edges = WILD_RK4 if compiled.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4 else WILD
    check_steps(kind, compiled, together, given.ctrl, edges, relative=True)


@pytest.mark.full("covered")
@pytest.mark.parametrize(("name", "kind", "count"), many(OFTEN, OWN))
def test_a_step_of_one_of_many_models(name, kind, count):
    with silent():
        compiled = own_model(name)
    check(compiled, kind, count)


@pytest.mark.full("larger")
@pytest.mark.parametrize(("seed", "kind", "count"), many(SOME, SEEDS))
def test_a_step_of_a_model_made_at_random(seed, kind, count):
    with silent():
        compiled = mujoco.MjModel.from_xml_string(random_model(seed, contacts=True))
    check(compiled, kind, count)
