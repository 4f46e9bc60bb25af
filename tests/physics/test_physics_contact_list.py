"""What the solver does with listed rows, beside dense matrices in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.physics import initial_state, load
from kousoku.physics.algebra.scalar import ZERO, Num, num, nums, to_array
from kousoku.physics.algebra.sparse import Pattern, factor
from kousoku.physics.algebra.vector import Mat, quat, vec
from kousoku.physics.collision.candidates import Candidate
from kousoku.physics.collision.geom import GeomType
from kousoku.physics.constraint.contact_list import ContactList, ContactRow
from kousoku.physics.constraint.solver import Solution
from kousoku.physics.forward import Forward
from kousoku.physics.sensors.touch import touch
from kousoku.physics.stages.kinematics import Frame
from kousoku.physics.stages.smooth import smooth

PARENTS = (-1, 0, 1, 1, 3, 0, 5, 6)
LENGTHS = (0, 1, 2, 7, 48)
NV, MOST = len(PARENTS), LENGTHS[-1]


def tree_pattern():
    below = []
    for parent in PARENTS:
        below.append(() if parent < 0 else (parent, *below[parent]))
    return Pattern(tuple(below))


def problem(stiffness, seed=0):
    """A matrix in the pattern of a tree, a vector, a point and rows, of which a third are slack and many nearly alike.

    `stiffness` is that of a row beside the resistance that it meets.
    """
    rng, below = np.random.default_rng(seed), tree_pattern().below
    lower = np.eye(NV)
    for i, columns in enumerate(below):
        lower[i, list(columns)] = rng.normal(size=len(columns))
    hessian = lower.T @ np.diag(10.0 ** rng.uniform(-2, 1, NV)) @ lower
    jacobian = rng.normal(size=(MOST, NV)) * (rng.random((MOST, NV)) < 0.6)
    jacobian[3::4] = jacobian[2::4] + 0.01 * rng.normal(size=jacobian[2::4].shape)
    jacobian[:, 0] += 0.5
    x, right = rng.normal(size=(2, NV))
    residuals = np.where(rng.random(MOST) < 1 / 3, 1.0, -1.0) * rng.uniform(0.1, 1.0, MOST)
    residuals[[0, 1]] = -0.4, 0.7
    given = np.einsum("ij,jk,ik->i", jacobian, np.linalg.inv(hessian), jacobian)
    return hessian, jacobian, stiffness / given, residuals, x, right


def rows(jacobian, weight, aref, length):
    """A list whose numbers are NaN beyond its end."""
    there = np.arange(MOST) < length
    parts = (np.where(there.reshape(-1, *[1] * (a.ndim - 1)), a, np.nan) for a in (jacobian, weight, aref))
    return [jnp.asarray(a) for a in parts]


def lanes(dtype, stiffness):
    """The problem with each of the lengths."""
    hessian, jacobian, stiffness, residuals, x, right = problem(stiffness)
    of = [rows(*(a.astype(dtype) for a in (jacobian, stiffness, jacobian @ x - residuals)), n) for n in LENGTHS]
    stacked_rows = [jnp.stack(parts) for parts in zip(*of, strict=True)]
    pattern = tree_pattern()
    entries = {(i, j): Num(float(hessian[i, j])) for i in range(NV) for j in (i, *pattern.below[i])}
    at = tuple(nums(jnp.asarray(a.astype(dtype))) for a in (x, right))

    def lane(work):
        def function(jacobian, weight, aref, length):
            listed = ContactList(ContactRow(jacobian, weight, aref, jnp.zeros((MOST, 10), dtype)), length, ())
            return to_array(work(listed, factor(pattern, entries), *at), dtype)

        return np.asarray(jax.vmap(ks.kernel(function))(*stacked_rows, jnp.asarray(LENGTHS, jnp.int32)), np.float64)

    return lane


@pytest.mark.full("covered")
@pytest.mark.parametrize(("dtype", "stiffness", "error"), [(np.float64, 1e4, 1e-8), (np.float32, 100.0, 1e-4)])
def test_the_system_with_rows_is_solved_by_updates(dtype, stiffness, error):
    with jax.enable_x64(dtype == np.float64):
        found = lanes(dtype, stiffness)(lambda listed, factored, x, right: listed.solve(factored, right, x))
    hessian, jacobian, curvature, residuals, _, right = problem(stiffness)
    curvature = np.where(residuals < 0.0, curvature, 0.0)
    assert (curvature[:7] == 0.0).any()
    assert (curvature > 0.0).sum() > 24
    for length, ours in zip(LENGTHS, found, strict=True):
        dense = hessian + jacobian[:length].T @ (curvature[:length, None] * jacobian[:length])
        wanted = np.linalg.solve(dense, right)
        np.testing.assert_allclose(ours, wanted, rtol=0.0, atol=error * np.abs(wanted).max())


def test_rows_so_stiff_that_rounding_hides_the_rest_leave_a_direction_that_leads_down():
    with jax.enable_x64(False):
        found = lanes(np.float32, 1e8)(lambda listed, factored, x, right: listed.solve(factored, right, x))
    assert np.isfinite(found).all()
    assert (found @ problem(1e8)[-1] > 0.0).all()


@pytest.mark.full("covered")
def test_derivatives_along_a_line_and_whether_a_row_left_its_parabola():
    length = 0.9

    def work(listed, _, x, search):
        line = listed.on_line(x, search)
        short, far = (listed.same_piece(line, Num(jnp.asarray(size))) for size in (1e-6, length))
        return [*listed.line_derivatives(line, Num(jnp.asarray(length))), short, far]

    with jax.enable_x64(True):
        found = lanes(np.float64, 10.0)(work)
    _, jacobian, stiffness, residuals, _, search = problem(10.0)
    speeds = jacobian @ search
    ends = residuals + length * speeds
    for n, (first, second, short, far) in zip(LENGTHS, found, strict=True):
        pushing = ends[:n] < 0.0
        np.testing.assert_allclose(first, (stiffness * speeds * ends)[:n][pushing].sum(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(second, (stiffness * speeds**2)[:n][pushing].sum(), rtol=1e-9, atol=1e-12)
        assert short >= 0.0
        assert (far < 0.0) == (residuals[:n] * ends[:n] < 0.0).any()
    assert {bool(far < 0.0) for *_, far in found} == {False, True}


# ---- what is made of the rows' forces, by hand

BALLS = """<mujoco><worldbody>
  <body pos="0 0 .5"><joint type="slide" axis="0 0 1"/><geom size=".5"/></body>
  <body pos=".2 0 1.5"><joint type="slide" axis="0 0 1"/><geom size=".5"/></body>
  <body pos="0 5 0"><joint type="slide" axis="0 0 1"/><geom size=".5"/></body>
</worldbody></mujoco>"""
"""The first two touch; the third is elsewhere."""
UP, DOWN_TO_THE_LEFT = (0.0, 0.0, 1.0), (-0.6, 0.0, -0.8)


def pushed(pairs, wrenches, pushes):
    """Three balls, accelerated by (1, 2, 3) m/s^2, with rows that push so hard, slack if below 0; and the Jacobian."""
    model = load(BALLS)
    state = initial_state(model, jnp.float32)
    s = smooth(model, nums(model.qpos0), [ZERO] * 3, [], [])
    qacc = nums(np.array([1.0, 2.0, 3.0]))
    jacobian = np.array([[1.0, -2.0, 0.5 * i] for i in range(len(pushes))])
    aref = jacobian @ [1.0, 2.0, 3.0] + 0.25 * np.array(pushes)  # of rows whose weight is 4
    beyond = np.full((2, 3), np.nan)  # rows that are not there
    numbers = np.concatenate([jacobian, beyond]), np.full(len(pushes) + 2, 4.0), np.append(aref, beyond[:, 0])
    wrench = np.concatenate([np.array(wrenches), np.full((2, 10), np.nan)])
    rows = ContactRow(*(jnp.asarray(x, jnp.float32) for x in (*numbers, wrench)))
    listed = ContactList(rows, jnp.int32(len(pushes)), pairs)
    solution = Solution(qacc, [], [], jnp.int32(0))
    return Forward(model, state, s, [], listed, solution), jacobian


def pair(one, other, condim):
    return Candidate(one, other, condim, [], [], [], ZERO)


def test_rows_push_on_joints_and_on_bodies_about_their_centres():
    point, turn = np.array([0.1, 0.3, 1.0]), np.array([0.0, 0.25, 0.5])
    wrenches = [[0, *point, *UP, *turn], [1, *point, *DOWN_TO_THE_LEFT, 0, 0, 0], [0, *point, *UP, *turn]]
    f, jacobian = pushed((pair(0, 1, 1), pair(2, 1, 1)), wrenches, [8.0, 3.0, -5.0])

    @jax.jit
    def on_all():
        qfrc = f.contact_list.qfrc(f.solution.qacc)
        loads = f.contact_list.cfrc_ext(f.model, f.smooth, f.solution.qacc)
        return to_array(qfrc, jnp.float32), to_array([x for load in loads for x in (*load.rot, *load.lin)], jnp.float32)

    qfrc, loads = on_all()
    np.testing.assert_allclose(qfrc, 8.0 * jacobian[0] + 3.0 * jacobian[1], rtol=1e-6)

    centres = {1: [0.0, 0.0, 0.5], 2: [0.2, 0.0, 1.5], 3: [0.0, 5.0, 0.0]}
    wanted = np.zeros((4, 6))
    for body, size, force, torque in (
        (1, -8.0, UP, turn), (2, 8.0, UP, turn), (3, -3.0, DOWN_TO_THE_LEFT, 0.0), (2, 3.0, DOWN_TO_THE_LEFT, 0.0),
    ):  # fmt: skip
        wanted[body] += size * np.concatenate([torque + np.cross(point - centres[body], force), force])
    np.testing.assert_allclose(loads.reshape(4, 6), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("condim", "slope"), [(1, 0.0), (3, 0.6)])
def test_a_site_is_touched_by_contacts_whose_normals_meet_it(condim, slope):
    """Its normal, not an edge of its pyramid; a site around a contact of other balls is not touched by that."""
    point, aside = (0.1, 0.0, 1.0), (3.0, 0.0, 1.0)
    edges = [(sign * slope, 0.0, 1.0) for sign in (1.0, -1.0)]
    contacts = [(0, point), (0, aside), (1, point), (0, point)]  # the upper ball is pushed up, and the one elsewhere
    wrenches = [[which, *at, *edge, 0, 0, 0] for which, at in contacts for edge in edges]
    f, _ = pushed((pair(0, 1, condim), pair(0, 2, condim)), wrenches, [8.0, 3.0, 16.0, 16.0, 32.0, 32.0, 2.0, -5.0])

    def force(body, z):
        turn = Mat(*map(vec, np.roll(np.eye(3), 1, axis=0)))  # its long axis, the third, is along x
        frame = Frame(vec([0.15, 0.0, z]), quat([0.5, 0.5, 0.5, 0.5]), turn)
        return touch(f, frame, GeomType.ELLIPSOID, [num(0.02), num(0.02), num(0.1)], body)

    places = [(2, 0.5), (1, 1.5), (1, 0.5), (2, 1.5), (3, 0.5), (2, 1.0)]
    forces = jax.jit(lambda: to_array([force(*place) for place in places], jnp.float32))()
    np.testing.assert_allclose(forces, [13.0, 13.0 + 64.0, 0.0, 0.0, 64.0, 13.0], rtol=1e-6)  # 13 = 8 + 3 + 2
