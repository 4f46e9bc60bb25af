"""Shapes of whose places and orientations some numbers are known as a program is traced, in every mixture.

Contacts and steps against C MuJoCo, and programs that are written in the dtype of the state, whatever is known.
"""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_contacts import EXACT, ITERATED, agree, anywhere, completed, rows_of
from physics_joined import JOINTS, TILTS, Case, cases, model_of, placed
from physics_states import Oracle, State

import kousoku as ks
from kousoku.physics import State as Ours
from kousoku.physics import step
from kousoku.physics.algebra.scalar import Num, logical_and, logical_not, num, nums, row, to_array, where
from kousoku.physics.collision.geom import GeomInfo, GeomType
from kousoku.physics.collision.narrow_phase import COLLISION_FUNCTIONS
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.stages.kinematics import geom_frame, kinematics

MARGIN, STATES = 0.02, 12
STEPPED = (1e-9, 2e-4)
"""How far steps may be, relative to one plus the largest number: where C has formulas for contacts, and where not.

There its normals are off by some 5e-6, and what turns a body about a hinge by several times as much.
"""
PAIRS = list(COLLISION_FUNCTIONS)
NAMES = [f"{a.name}_{b.name}".lower() for a, b in PAIRS]
NUDGES = [*[1e-14] * 8, *[1e-6] * 12]
"""How far C's shapes are moved where rounding may change its mind, or where two ways out are as good."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_choice_between_known_numbers_has_the_dtype_of_what_was_compared(dtype):
    """However the condition was put together, and whatever JAX's default is."""

    def choices(x):
        x = Num(x)
        conditions = [
            x < 1.0,
            x < 1.0,
            logical_not(x >= 1.0),
            logical_and(True, x < 1.0),
            logical_and(x < 1.0, x > -1.0),
        ]
        return [where(condition, 2.0, 3.0).value for condition in conditions]

    with jax.enable_x64(True):
        found = jax.jit(choices)(jnp.zeros((), dtype))
    assert {x.dtype for x in found} == {jnp.dtype(dtype)}
    assert [float(x) for x in found] == [2.0] * 5


def test_a_condition_that_is_not_known_is_no_truth_value():
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.eval_shape(lambda x: x if Num(x) > 0.0 else -x, 1.0)


def check_dtype(model):
    """The step can be written, in the dtype of the state also where that is not JAX's default."""
    arrays = [jnp.zeros(n, jnp.float32) for n in (model.nq, model.nv, 0, model.nv)]
    after = jax.eval_shape(lambda *x: step(model, Ours(*x), jnp.zeros(0, jnp.float32)), *arrays)
    assert {leaf.dtype for leaf in jax.tree.leaves(after)} == {jnp.dtype("float32")}


def ours(model, pair, qpos):
    """Our contacts at each of the joint positions, in plain JAX."""

    def rows(qpos):
        k = kinematics(model, nums(qpos))
        one, other = (GeomInfo(geom_frame(model, k, g), row(model.geom_size, g), num(MARGIN)) for g in (0, 1))
        touches = COLLISION_FUNCTIONS[pair](one, other)
        return jnp.stack([to_array([t.dist, *t.pos, *t.normal, *t.tangent], qpos.dtype) for t in touches])

    return [completed(rows) for rows in np.array(jax.vmap(rows)(jnp.asarray(qpos)))]


def theirs(model, qpos):
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    return data, rows_of(data.contact)


def nudged(model, by, rng):
    moved = copy.copy(model)
    moved.geom_sameframe[:] = 0
    for field in (moved.geom_pos, moved.geom_quat):
        field[:] += rng.normal(size=field.shape) * by
    return moved


def touch_alike(case, model, qpos, mine, rng) -> bool | None:
    """Whether contacts are C's; None if they are those of shapes that have been moved a little, or as good as these.

    Where shapes lie within one another about one axis, any way out across it is as good: there C, too, says something
    else at each of these places, and only the depth is one. Among a few ways that are as good C ends beside that which
    it takes: by 0.005 of a normal.
    """
    tolerance, distance = ITERATED.get(case.pair, (EXACT, EXACT))
    data, wanted = theirs(model, qpos)
    if agree(mine, wanted, MARGIN, tolerance, distance):
        return True
    if agree(anywhere(case.pair, data, mine), anywhere(case.pair, data, wanted), MARGIN, tolerance, distance):
        return None
    near = [(by, theirs(nudged(model, by, rng), qpos)[1]) for by in NUDGES]
    if any(agree(mine, rows, MARGIN, max(tolerance, 1e-6, 100.0 * by)) for by, rows in near):
        return None
    alike = [agree(near[-1][1], rows, MARGIN, 0.01) for _, rows in near[-6:-1]]
    undecided = not any(alike) or (not all(alike) and agree(mine, wanted, MARGIN, 0.01))
    return None if undecided and abs(mine[:, 0].min() - wanted[:, 0].min()) < 1e-5 else False


def check_contacts(case: Case) -> int:
    """Returns in how many states there are contacts."""
    theirs_, rng = model_of(case), np.random.default_rng(len(str(case)))
    with jax.enable_x64(True):
        model, qpos = from_mujoco(theirs_), placed(theirs_, STATES, rng)
        check_dtype(model)
        found = ours(model, case.pair, qpos)
    for at, mine in zip(qpos, found, strict=True):
        assert touch_alike(case, theirs_, at, mine, rng) is not False, f"{case}: {at.tolist()}"
    return sum((mine[:, 0] < MARGIN).any() for mine in found)


@pytest.mark.full("covered")
@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_contacts_are_those_of_mujoco(pair):
    """Where most is known: of a body that slides, and of one that also turns about an axis of its own."""
    for joint, tilt, offset in (("slide and hinge", "none", "centred"), ("slide z", "quarter", "aside")):
        check_contacts(Case(pair, "second", joint, ("none", tilt), offset))


@pytest.mark.full("larger")
@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_contacts_are_those_of_mujoco_in_every_mixture(pair):
    every = cases(pair)
    assert sum(map(check_contacts, every)) > len(every)


@pytest.mark.full("covered")
def test_a_known_turn_tells_nothing_about_the_rounding_of_places():
    """Boxes that are turned a little, for good: in float32 too their faces touch, as in C, and not their edges."""
    box = '<geom type="box" size=".7 1 .5" {}/>'
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    turned = box.format('euler="0 0 .01"')
    theirs_ = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{box.format('')}<body>{slides}{turned}</body></worldbody></mujoco>"
    )
    model, rng = from_mujoco(theirs_), np.random.default_rng(0)
    qpos = np.float32(rng.uniform(-0.9, 0.9, size=(60, 3)) * [1.4, 2.0, 1.0])
    qpos[:, 2] = np.sign(qpos[:, 2]) * (1.0 - 10.0 ** rng.uniform(-6, -4, size=60))
    for at, mine in zip(qpos, ours(model, (GeomType.BOX, GeomType.BOX), qpos), strict=True):
        touching = mine[mine[:, 0] < 0.0]
        for wanted in theirs(theirs_, at)[1]:
            np.testing.assert_allclose(touching[:, 4:7], np.tile(wanted[4:7], (len(touching), 1)), atol=1e-4)


def check_steps(case: Case, ways) -> None:
    """Steps are C's, by each of the ways to run a program; where contacts are C's without moving anything."""
    theirs_, rng = model_of(case), np.random.default_rng(len(str(case)))
    with jax.enable_x64(True):
        model, qpos = from_mujoco(theirs_), placed(theirs_, STATES, rng)
        found = ours(model, case.pair, qpos)
        qpos = np.array([q for q, mine in zip(qpos, found, strict=True) if touch_alike(case, theirs_, q, mine, rng)])
        qvel = rng.normal(size=(len(qpos), theirs_.nv))

        def moves(qpos, qvel):
            after = step(model, Ours(qpos, qvel, jnp.zeros(0), jnp.zeros(theirs_.nv)), jnp.zeros(0))
            return after.qpos, after.qvel

        moved = [[np.asarray(x) for x in way(moves)(jnp.asarray(qpos), jnp.asarray(qvel))] for way in ways]
    oracle, empty = Oracle(theirs_), np.zeros(0)
    for i, at in enumerate(zip(qpos, qvel, strict=True)):
        wanted = oracle.step(State(*at, empty, empty, np.zeros(theirs_.nv), np.float64(0)))
        for of in moved:
            for mine, exact in zip(of, wanted, strict=False):
                error = np.abs(mine[i] - exact).max() / (1.0 + np.abs(exact).max())
                assert error <= STEPPED[case.pair in ITERATED], f"{case}: {at}"


def kernel(moves):
    return jax.jit(jax.vmap(ks.kernel(moves)))


def plain(moves):
    return jax.jit(jax.vmap(moves))


def stepped(pair, joint: str) -> Case:
    """One case of each joint, the tilts in turns."""
    i = list(JOINTS).index(joint) + PAIRS.index(pair)
    tilts = [(one, other) for one in TILTS for other in TILTS]
    return Case(pair, "second", joint, tilts[i % len(tilts)], "aside")


@pytest.mark.by_default("slide and hinge-plane_capsule")
@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
@pytest.mark.parametrize("joint", JOINTS)
def test_steps_are_those_of_mujoco(pair, joint):
    check_steps(stepped(pair, joint), [kernel, plain])
