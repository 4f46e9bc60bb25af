"""A step from each of ten thousand states of a model's contact-rich motion, against C MuJoCo: a sample by default.

In float32 a state may lie nearer to an edge (a contact or a limit that begins to act, with all of its damping's force)
than its rounding can tell. There ours must take the step that C itself takes from a state within the rounding.
"""

import numpy as np
import pytest

from kousoku.bench.exactness import computed, computed_by, seen
from kousoku.bench.rigid import MODELS, compiled_model

SMOOTH = ("bodies", "inertia", "bias", "passive", "actuation", "smooth")
BOUNDS = {"float64": (1e-6, 1e-4), "float32": (1e-5, 1e-3)}
"""Of positions and of velocities."""
ROUNDING, NEIGHBOURS, EDGES = 6e-8, 200, 5e-4
"""Of a number in float32; how many of C's states are looked at near an edge; the share of states that may be there."""
FEW, ALL = 10, 500
QUICK = {"half_cheetah", "hopper", "swimmer", "inverted_double_pendulum"}


def cases():
    """A few states of the models that are soon compiled, and all of all in the full tests."""
    few = [(name, "float32") for name in MODELS if not name.startswith("humanoid")]
    few += [(name, "float64") for name in MODELS if name in QUICK]
    every = [pytest.param(name, kind, ALL, marks=pytest.mark.full) for name in MODELS for kind in BOUNDS]
    return [*(pytest.param(*case, FEW) for case in few), *every]


@pytest.mark.parametrize(("name", "kind", "ways"), cases())
def test_a_step_is_as_exact_as_its_numbers(name, kind, ways):
    compiled = compiled_model(name)
    states, commands = seen(compiled, ways)
    wanted, rows = computed(compiled, states, commands)
    assert rows > 0 or name == "swimmer", "the motion meets neither contacts nor limits"
    found = computed_by(kind, compiled, states, commands)
    if kind == "float64":
        for stage in SMOOTH:
            assert distance(found, wanted, stage, relative=True).max() <= 1e-11, stage
    beyond = np.flatnonzero(is_beyond(found, wanted, BOUNDS[kind]))
    assert len(beyond) <= (EDGES * len(states) if kind == "float32" else 0)
    for state in beyond:
        assert_at_an_edge(compiled, states[state], commands[state], {what: x[state] for what, x in found.items()})


def assert_at_an_edge(compiled, state, command, found):
    """C, from one of the states within float32's rounding of this one, goes where `found` says."""
    noise = np.random.default_rng(0).uniform(-ROUNDING, ROUNDING, (NEIGHBOURS, len(state)))
    near = state + noise * np.maximum(1.0, np.abs(state))
    steps, _ = computed(compiled, near, np.broadcast_to(command, (NEIGHBOURS, len(command))))
    same = {what: np.broadcast_to(found[what], steps[what].shape) for what in ("qpos", "qvel")}
    assert not is_beyond(same, steps, BOUNDS["float32"]).all()


def is_beyond(found, wanted, bounds):
    """Of each state, whether its step is further away than `bounds` say."""
    return np.any(
        [distance(found, wanted, what) > bound for what, bound in zip(("qpos", "qvel"), bounds, strict=True)], axis=0
    )


def distance(found, wanted, what, relative=False):
    """The largest difference of each state's numbers; or relative to one plus the largest of them."""
    away = np.abs(found[what] - wanted[what]).max(axis=1, initial=0.0)
    assert np.isfinite(away).all()
    return away / (1.0 + np.abs(wanted[what]).max(axis=1, initial=0.0)) if relative else away
