"""Costs of constraints are convex functions and their derivatives; equalities and elliptic cones step as C's do."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import MODELS
from physics_states import Oracle, silent, stack, states

import kousoku as ks
from kousoku.physics import State, forward
from kousoku.physics.algebra.scalar import Num, num, nums, to_array
from kousoku.physics.constraint.cost import EllipticCone, Huber, OneSided, PyramidalCone, Quadratic
from kousoku.physics.constraint.impedance import _impedance_curve
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.stages.apply_ft import apply_wrenches
from kousoku.physics.step import INTEGRATORS

COSTS = {
    "quadratic": (Quadratic([num(2.0), num(3.0)]), 2),
    "one-sided": (OneSided(num(2.0)), 1),
    "huber": (Huber(num(2.0), num(0.5)), 1),
    "pyramid": (PyramidalCone(num(2.0), [num(0.4), num(0.7)], 1), 3),
    "cone": (EllipticCone([num(2.0), num(5.0), num(4.0)], [num(0.8), num(1.0)], num(0.6)), 3),
    "cone of six": (EllipticCone([num(2.0), *[num(3.0)] * 5], [num(0.5 + 0.1 * i) for i in range(5)], num(0.5)), 6),
    "cone of two": (EllipticCone([num(2.0), num(5.0)], [num(0.8)], num(0.8)), 2),
}


def value(numbers):
    return np.array([n.value for n in numbers])


@pytest.mark.by_default("cone of two", "huber", "one-sided", "pyramid", "quadratic")
@pytest.mark.parametrize("name", COSTS)
def test_forces_and_hessians_are_derivatives_of_costs(name):
    """Force, Hessian and the derivatives along a line by finite differences of the cost."""
    constraint, rows = COSTS[name]
    rng, small = np.random.default_rng(1), 1e-5

    def cost(v):
        return constraint.cost(nums(v)).value

    def force(v):
        return value(constraint.force(nums(v)))

    kinks = 0
    for _ in range(20):
        v, w = rng.normal(size=rows), rng.normal(size=rows)
        units = np.eye(rows) * small
        pushed = [(cost(v - unit) - cost(v + unit)) / (2 * small) for unit in units]
        np.testing.assert_allclose(force(v), pushed, atol=1e-4)
        hessian = np.zeros((rows, rows))
        for (i, j), entry in constraint.hessian(nums(v)).items():
            hessian[i, j] = hessian[j, i] = entry.value
        bent = np.array([(force(v - unit) - force(v + unit)) / (2 * small) for unit in units])
        if np.abs(bent - hessian).max() > 1e-3:  # a kink lies between
            kinks += 1
            continue
        first, second = constraint.line_derivatives(nums(v), nums(w), num(0.7))
        at = v + 0.7 * w
        np.testing.assert_allclose(first.value, -force(at) @ w, atol=1e-9)
        curved = np.zeros((rows, rows))
        for (i, j), entry in constraint.hessian(nums(at)).items():
            curved[i, j] = curved[j, i] = entry.value
        np.testing.assert_allclose(second.value, w @ curved @ w, atol=1e-9)
        assert np.linalg.eigvalsh(hessian)[0] > -1e-9
    assert kinks <= 1


def test_the_cones_meet_without_a_jump():
    """Where sticking turns into slipping, and slipping into nothing, force and cost are one."""
    weight, friction, mu = 2.0, 0.8, 0.5
    # The weight that MuJoCo gives a tangent: R_1 mu_1^2 = R_0 mu^2.
    cone = EllipticCone([num(weight), num(weight * friction**2 / mu**2)], [num(friction)], num(mu))
    for edge in (-1.0 / mu, mu):  # N / T at the two borders
        inside, outside = ([edge * 1.3 / mu + side, 1.3 / friction] for side in (-1e-9, 1e-9))
        np.testing.assert_allclose(
            value(cone.force(nums(np.array(inside)))), value(cone.force(nums(np.array(outside)))), atol=1e-7
        )
        np.testing.assert_allclose(
            cone.cost(nums(np.array(inside))).value, cone.cost(nums(np.array(outside))).value, atol=1e-7
        )


def impedance_in_c(low, high, width, midpoint, power, pos):
    """MuJoCo's getimpedance (engine_core_constraint.c)."""
    if low == high or width <= 1e-15:
        return 0.5 * (low + high)
    x = abs(pos) / width
    if x >= 1:
        return high
    if power == 1 or x == 0:
        y = x
    elif x <= midpoint:
        y = x**power / midpoint ** (power - 1)
    else:
        y = 1 - (1 - x) ** power / (1 - midpoint) ** (power - 1)
    return low + y * (high - low)


POSITIONS = (0.0, -0.01, 0.02, -0.035, 0.05, -0.06, 0.085, -0.095, 0.11, -0.3)


@pytest.mark.parametrize(("midpoint", "power"), [(0.2, 2.0), (0.5, 1.0), (0.9, 3.5)])
def test_impedance_rises_as_in_c(midpoint, power):
    """Before, at and after the middle, wherever that is; the same of known numbers and of those that are not."""

    def curve(pos, *rest):
        return jnp.asarray(_impedance_curve(*map(Num, rest), Num(pos)).value, jnp.float32)

    for ends in ((0.3, 0.9, 0.1), (0.9, 0.2, 0.1), (0.4, 0.4, 0.1), (0.2, 0.6, 0.0)):
        numbers = (*ends, midpoint, power)
        wanted = [impedance_in_c(*numbers, pos) for pos in POSITIONS]
        found = jax.vmap(lambda pos: curve(pos, *numbers))(jnp.float32(POSITIONS))  # noqa: B023
        traced = jax.vmap(curve, (0, *[None] * 5))(jnp.float32(POSITIONS), *map(jnp.float32, numbers))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        np.testing.assert_allclose(traced, wanted, rtol=1e-5)


def on_floor(geoms: str, option: str = "", tail: str = "", joints: str = "<freejoint/>") -> str:
    return f"""<mujoco><option solver="Newton" tolerance="0" iterations="100" {option}/>
      <default><geom friction="0.5 0.02 0.01"/></default>
      <worldbody><geom name="floor" type="plane" size="5 5 .1" euler="0.1 0.05 0"/>
        <body pos="0 0 .12">{joints}{geoms}</body></worldbody>{tail}</mujoco>"""


CAPSULE = '<geom name="c" type="capsule" size=".1 .15" euler="0 80 0" condim="{}"/>'
SLOPE = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>'
ELLIPTIC = {
    "sliding": on_floor(CAPSULE.format(3), 'cone="elliptic"'),
    "turning": on_floor(CAPSULE.format(4), 'cone="elliptic" impratio="4"'),
    "rolling": on_floor(CAPSULE.format(6), 'cone="elliptic" impratio="0.5"'),
    "planar": on_floor(CAPSULE.format(3), 'cone="elliptic" impratio="3"', joints=SLOPE).replace(
        "0.1 0.05 0", "0 0.1 0"
    ),
    "another softness": on_floor(
        CAPSULE.format(3),
        'cone="elliptic"',
        '<contact><pair geom1="floor" geom2="c" condim="4" friction=".6 .3 .02" solreffriction=".05 .7"/></contact>',
    ),
}
HELD = ("connect", "weld_sites", "equality_tendon", "four_bar")


def compared(theirs, count: int, tolerance: float, **limits: int):
    """The largest relative error of steps within limits of ours alone, and how many iterations each took."""
    given = states(theirs, count, seed=3)
    theirs.opt.tolerance = 0.0
    oracle = Oracle(theirs)
    wanted = [oracle.step(state) for state in given]
    theirs.opt.tolerance = tolerance
    for name, limit in limits.items():
        setattr(theirs.opt, name, limit)
    with jax.enable_x64(True):
        model, many = from_mujoco(theirs), stack(given)

        def moves(qpos, qvel, act, warmstart, ctrl):
            state = State(qpos, qvel, act, warmstart)
            state, count = INTEGRATORS[model.integrator](model, state, ctrl, lambda f: f.solution.iterations)
            return state.qpos, state.qvel, count

        fields = many.qpos, many.qvel, many.act, many.qacc_warmstart, many.ctrl
        *moved, counts = jax.jit(jax.vmap(ks.kernel(moves)))(*map(jnp.asarray, fields))
    errors = [
        np.abs(np.asarray(ours)[i] - after[part]).max() / (1.0 + np.abs(after[part]).max())
        for part, ours in enumerate(moved)
        for i, after in enumerate(wanted)
    ]
    return max(errors), np.asarray(counts)


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", ELLIPTIC)
def test_elliptic_cones_step_as_in_c(name):
    error, iterations = compared(mujoco.MjModel.from_xml_string(ELLIPTIC[name]), 40, 1e-10)
    assert error < 1e-9
    assert 2 <= iterations.max() <= 15
    assert iterations.mean() < 6


@pytest.mark.by_default("equality_tendon")
@pytest.mark.parametrize("name", HELD)
def test_equalities_step_as_in_c(name):
    with silent():
        error, iterations = compared(mujoco.MjModel.from_xml_string(MODELS[name]), 16, 1e-10)
    assert error < 1e-9
    assert iterations.max() <= 2 if name != "four_bar" else iterations.max() <= 6


def legged(cone: str) -> str:
    """A trunk that falls on three legs, which pushes and slips in every step."""
    legs = "".join(
        f"""<body pos="{place} 0"><joint axis="0 1 0" damping=".5" armature=".01"/><geom type="capsule" contype="0"
        conaffinity="0" fromto="0 0 0 0 0 -.2" size=".02"/><geom size=".03" pos="0 0 -.22"/></body>"""
        for place in (".2 .1", "-.2 .1", "0 -.1")
    )
    return f"""<mujoco><option timestep=".004" cone="{cone}"/><worldbody><geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .3"><freejoint/><geom type="box" size=".2 .1 .05" contype="0" conaffinity="0"/>{legs}</body>
    </worldbody></mujoco>"""


@pytest.mark.full("covered")
@pytest.mark.parametrize("limits", [{"iterations": 1, "ls_iterations": 5}, {"iterations": 0}])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_limits_of_iterations_stop_c_but_not_ours(cone, limits):
    """Ours finds what C finds without them."""
    theirs = mujoco.MjModel.from_xml_string(legged(cone))
    given, stopped = states(theirs, 40, seed=3), Oracle(theirs, converged=False)
    for name, limit in limits.items():
        setattr(stopped.model.opt, name, limit)
    errors = [np.abs(stopped.step(state)[1] - Oracle(theirs).step(state)[1]).max() for state in given]
    assert max(errors) > 0.01
    assert compared(theirs, 40, 1e-10, **limits)[0] < 1e-9


@pytest.mark.full("covered")
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_limit_of_the_line_search_stops_neither(cone):
    """MuJoCo before 4.0 was stopped by it."""
    theirs = mujoco.MjModel.from_xml_string(legged(cone))
    assert compared(theirs, 40, 1e-10, ls_iterations=0)[0] < 1e-9


@pytest.mark.full("covered")
def test_loads_on_bodies_are_what_pulls_at_the_joints():
    """External forces, taken along the degrees of freedom, are the constraints' forces on these."""
    with silent():
        theirs = mujoco.MjModel.from_xml_string(MODELS["weld"])
    model, state = from_mujoco(theirs), states(theirs, 8, seed=4)[-1]

    @ks.kernel
    def both(ours, ctrl):
        f = forward(model, ours, ctrl)
        loads = apply_wrenches(model, f.smooth.com_pos, dict(enumerate(f.cfrc_ext_moving)))
        return to_array(loads, ctrl.dtype), to_array(f.solution.qfrc_constraint, ctrl.dtype)

    with jax.enable_x64(True):
        ours = State(*(jnp.asarray(x) for x in (state.qpos, state.qvel, state.act, state.qacc_warmstart)))
        along, force = jax.jit(both)(ours, jnp.asarray(state.ctrl))
    assert np.abs(force).max() > 0.1
    np.testing.assert_allclose(along, force, atol=1e-9)
