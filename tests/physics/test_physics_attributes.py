"""Every attribute of MJCF: steps as C MuJoCo's, a refusal by element and line, or nothing that it could change."""

import re
from itertools import pairwise

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_attributes import SAME, schema
from physics_refusals import ELEMENTS, LOOKS, NOTHING, REFUSED, SHARED, WITHIN
from physics_rows import evaluated, summed, summed_of_c, values
from physics_states import Oracle, get_state, silent

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import State, forward, load, sensors, simulate, step
from kousoku.physics.mjcf.load import from_mujoco

STEPS = 50
SAMPLE = {"frictionloss", "invdiscrete", "solreflimit", "gravcomp", "cutoff", "polycoef"}


def begun(model: mujoco.MjModel) -> mujoco.MjData:
    """Where the model's file has it, but in motion and under commands."""
    data = mujoco.MjData(model)
    data.qvel[:], data.ctrl[:] = np.resize([1.0, -0.5, 2.0, 0.3], model.nv), 0.7
    return data


def moved(text: str) -> list[np.ndarray]:
    """By C MuJoCo: positions, velocities, activations, and what the sensors measured in the last step."""
    model = mujoco.MjModel.from_xml_string(text)
    data = begun(model)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    return [np.array(x) for x in (data.qpos, data.qvel, data.act, data.sensordata)]


def largest_error(some: list[np.ndarray], others: list[np.ndarray]) -> float:
    """The largest difference, relative to one plus the largest number; infinite between models of other sizes."""
    pairs = list(zip(some, others, strict=True))
    if any(one.shape != other.shape for one, other in pairs):
        return np.inf
    return max(np.abs(a - b).max(initial=0.0) / (1.0 + np.abs(b).max(initial=0.0)) for a, b in pairs)


def ours(text: str) -> list[np.ndarray]:
    theirs = mujoco.MjModel.from_xml_string(text)
    data = begun(theirs)
    with jax.enable_x64(True):
        model = load(text)
        start = State(*(jnp.asarray(x) for x in (data.qpos, data.qvel, data.act, data.qacc)), time=jnp.zeros(()))

        def run(state, ctrl):
            if theirs.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4:
                return simulate(model, state, ctrl, STEPS, sensors)
            # What is measured is RK4's last stage; C's sensors are those of its first.
            before = simulate(model, state, ctrl, STEPS - 1, lambda f: None)[0]
            return step(model, before, ctrl), sensors(forward(model, before, ctrl))

        after, seen = jax.jit(ks.kernel(run))(start, jnp.asarray(data.ctrl))
        return [np.asarray(x) for x in (after.qpos, after.qvel, after.act, seen)]


def named(row) -> str:
    return f"{row[0]}-{row[1]}"


INSTANTS = ("timestep", "integrator", "eulerdamp")
"""What an instant does not show."""


@pytest.mark.parametrize("row", [pytest.param(r, id=named(r)) for r in SAME if r.attribute not in INSTANTS])
def test_an_attribute_does_what_it_does_in_c_at_an_instant(row):
    """Accelerations without constraints, rates of activations, and all constraints' rows, on C's way."""
    with silent():
        theirs = mujoco.MjModel.from_xml_string(row.text)
        model, oracle, data = from_mujoco(theirs), Oracle(theirs), begun(theirs)
        for _ in range(3):
            state = get_state(data)
            wanted = oracle.forward(state)
            s, found = evaluated(model, state)
            rows, theirs_ = summed(model, s, found), summed_of_c(wanted)
            smooth = [values(s.qacc_smooth), values(s.actuation.act_dot), values(s.actuation.force)]
            if model.no_actuation:
                smooth[2] = np.zeros(model.nu)
            assert largest_error(smooth, [wanted[key] for key in ("qacc_smooth", "act_dot", "actuator_force")]) < 1e-11
            assert largest_error(list(rows), list(theirs_)) < 1e-8
            for _ in range(STEPS // 3):
                mujoco.mj_step(theirs, data)


@pytest.mark.by_default("equality-polycoef0", "fixed-frictionloss")
@pytest.mark.parametrize(
    "row",
    [pytest.param(r, id=named(r), marks=[] if r.attribute in SAMPLE else pytest.mark.full("more cases")) for r in SAME],
)
def test_an_attribute_does_what_it_does_in_c(row):
    with silent():
        wanted = moved(row.text)
        assert largest_error(wanted, moved(row.without)) > 1e-6, "the row shows nothing"
        found = ours(row.text)
    assert all(np.isfinite(x).all() for x in wanted)
    assert largest_error(found, wanted) < 1e-7


TOLD = "; (the engine has|.*; it has|use|give) .*"
"""What would do, at the end of each refusal."""


@pytest.mark.parametrize("row", [pytest.param(r, id=named(r)) for r in REFUSED])
def test_an_attribute_is_refused_by_name_element_and_line(row):
    tag, _, text, said = row
    with pytest.raises(ConfigError) as caught, silent():
        load(text)
    assert said in str(caught.value)
    place = re.match(r"line \d+, <(\w+)", str(caught.value))
    assert place
    assert tag in SHARED or place[1] in (tag, "touch")
    assert re.search(TOLD, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_whole_element_is_refused_by_name_and_line(element):
    text, said = ELEMENTS[element]
    with pytest.raises(ConfigError) as caught, silent():
        load(text)
    assert re.match(rf"line \d+, <{element.split('/')[1]}\b.*{said}", str(caught.value)), str(caught.value)
    assert re.search(TOLD, str(caught.value)), str(caught.value)


def test_every_attribute_is_in_the_table():
    """Those of shared names once for all actuators, for all sensors, and for all equalities."""
    seen = {(row[0], row[1]) for row in (*SAME, *REFUSED)} | NOTHING
    missing = set()
    for path, name in schema():
        steps = {f"{above}/{below}" for above, below in pairwise(path)}
        tags = {path[-1], *(group for group, inside in SHARED.items() if path[-2:-1] == (inside,)), "*"}
        known = steps.intersection(ELEMENTS) or steps.intersection(WITHIN) or set(path[1:] or path).intersection(LOOKS)
        if "default" not in path and not known and not any((tag, name) in seen for tag in tags):
            missing.add(("/".join(path), name))
    assert not missing, sorted(missing)
