"""Every stage of the engine against C MuJoCo, from the same states, in float64.

Stages are plain arithmetic: with known numbers they are evaluated in Python, and nothing is compiled.
"""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import GYMNASIUM, MODELS, REFUSED, compiled
from physics_random import random_model
from physics_rows import evaluated, summed, summed_of_c, values
from physics_states import Oracle, State, pushing, silent, stack, states

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import State as Ours
from kousoku.physics import load, step
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.stages.kinematics import geom_frame, site_frame

SMOOTH, HELD, MOVED = 1e-11, 1e-8, 1e-9
# Models in which C finds contacts by iteration: even at its smallest tolerance it stays this far from the true ones.
BY_ELLIPSOIDS = ("capsule_ellipsoid", "ellipsoid_ellipsoid")
ITERATED = dict.fromkeys(("sphere_ellipsoid", *BY_ELLIPSOIDS, "capsule_cylinder", "pusher"), 5e-6)
RANDOM = 1e-7
"""Of models at random, among whose pairs are those that C finds by iteration."""
NAMES = [name for name in (*MODELS, *GYMNASIUM) if name not in REFUSED]
SAMPLE = {
    "free_body", "several_joints", "tree", "springs", "gravity_compensation", "fluid", "actuators", "actuators_site",
    "actuators_dynamics", "servos_of_angles", "servos_of_angles_integrated", "tendons", "tendons_round",
    "limits_margin", "limits_ball", "limits_solimp", "limits_direct", "friction_loss", "tendon_limits",
    "plane_capsule", "sphere_capsule", "capsule_capsule", "condims_pyramidal", "mixing", "filters", "pairs", "ant",
    "half_cheetah", "hopper", "swimmer", "inverted_double_pendulum",
}  # fmt: skip


def supported(name: str):
    """The model, ours and C's."""
    with silent():
        theirs = compiled(name)
    theirs.opt.ccd_tolerance, theirs.opt.ccd_iterations = 1e-15, 1000
    return from_mujoco(theirs), theirs


def close(ours, theirs, tolerance: float, what: str) -> None:
    """Within `tolerance`, of one plus the largest number."""
    theirs = np.asarray(theirs)
    ours = np.asarray(ours).reshape(theirs.shape)
    scale = 1.0 + np.abs(theirs).max(initial=0.0)
    assert np.abs(ours - theirs).max(initial=0.0) <= tolerance * scale, what


def at_random(seed: int):
    """As `supported`, of a model made from a seed."""
    with silent():
        theirs = mujoco.MjModel.from_xml_string(random_model(seed, contacts=True))
        theirs.opt.ccd_tolerance, theirs.opt.ccd_iterations = 1e-15, 1000
        return from_mujoco(theirs), theirs


def test_every_model_is_taken_but_for_contacts_that_there_is_no_function_for():
    for name in NAMES:
        model, theirs = supported(name)
        assert (model.nq, model.nv, model.nu) == (theirs.nq, theirs.nv, theirs.nu), name
    assert len(NAMES) + len(REFUSED) == len(MODELS) + len(GYMNASIUM)
    for name, pair in REFUSED.items():
        with pytest.raises(ConfigError, match=f"^geom 0 and geom 1: got '{pair} contacts'; the engine has "):
            supported(name)


@pytest.mark.by_default(
    "free_body",
    "gravity_compensation",
    "inverted_double_pendulum",
    "limits_ball",
    "limits_direct",
    "pairs",
    "servos_of_angles",
    "several_joints",
    "tendons",
)
@pytest.mark.parametrize("name", NAMES)
def test_smooth_stages(name):
    check_smooth(*supported(name))


@pytest.mark.by_default("0", "3")
@pytest.mark.parametrize("seed", range(150))
def test_smooth_stages_of_random_models(seed):
    check_smooth(*at_random(seed))


def check_smooth(model, theirs):
    oracle = Oracle(theirs)
    for state in states(theirs, 3, seed=1):
        wanted = oracle.forward(state)
        s, _ = evaluated(model, state)
        k = s.kinematics
        close([values(f.pos) for f in k.bodies], wanted["xpos"], SMOOTH, "xpos")
        close([values([x for r in f.mat for x in r]) for f in k.bodies], wanted["xmat"], SMOOTH, "xmat")
        close([values(f.pos) for f in k.inertial], wanted["xipos"], SMOOTH, "xipos")
        close([values(geom_frame(model, k, g).pos) for g in range(model.ngeom)], wanted["geom_xpos"], SMOOTH, "geoms")
        close([values(site_frame(model, k, i).pos) for i in range(model.nsite)], wanted["site_xpos"], SMOOTH, "sites")
        close([values(c) for c in s.com_pos.subtree_com], wanted["subtree_com"], SMOOTH, "subtree_com")
        close([values([*m.rot, *m.lin]) for m in s.com_pos.cdof], wanted["cdof"], SMOOTH, "cdof")
        mass = np.zeros((model.nv, model.nv))
        for (i, j), entry in s.qM.items():
            mass[i, j] = mass[j, i] = entry.value
        close(mass, wanted["qM"], SMOOTH, "mass matrix")
        close(values(s.qfrc_bias), wanted["qfrc_bias"], SMOOTH, "bias")
        close(values(s.qfrc_passive), wanted["qfrc_passive"], SMOOTH, "passive")
        close(values(s.actuation.force), wanted["actuator_force"], SMOOTH, "actuator force")
        close(values(s.actuation.qfrc_actuator), wanted["qfrc_actuator"], SMOOTH, "actuation")
        close(values(s.actuation.act_dot), wanted["act_dot"], SMOOTH, "activation rates")
        close(values([t.length for t in s.tendons]), wanted["ten_length"], SMOOTH, "tendons")
        close(values(s.qacc_smooth), wanted["qacc_smooth"], SMOOTH, "smooth acceleration")


@pytest.mark.by_default("tendons")
@pytest.mark.parametrize("name", NAMES)
def test_constraint_rows(name):
    """The sums J^T D J and J^T D reference of all rows that act agree, whatever their order and form."""
    check_rows(*supported(name), ITERATED.get(name, HELD))


@pytest.mark.full("covered")
@pytest.mark.parametrize("seed", range(150))
def test_constraint_rows_of_random_models(seed):
    check_rows(*at_random(seed), RANDOM)


def check_rows(model, theirs, held):
    oracle = Oracle(theirs)
    for state in states(theirs, 6, seed=2):
        wanted = oracle.forward(state)
        s, found = evaluated(model, state)
        pairs = zip(summed(model, s, found), summed_of_c(wanted), ("J^T D J", "J^T D reference"), strict=True)
        for ours, theirs_, what in pairs:
            close(ours, theirs_, held, what)


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", NAMES)
def test_steps(name):
    """Whole steps, contacts and limits included, by the kernel over states as lanes."""
    check_steps(supported(name)[1], 16, ITERATED[name] if name in BY_ELLIPSOIDS else MOVED)


@pytest.mark.full("covered")
@pytest.mark.parametrize("seed", range(60))
def test_steps_of_random_models(seed):
    """All that there is at once: joints, actuators, tendons, equalities, contacts, and each of the integrators."""
    check_steps(at_random(seed)[1], 64, RANDOM)


def check_steps(theirs, count, moved_):
    theirs.opt.tolerance = 0.0
    given = states(theirs, count, seed=3)
    oracle = Oracle(theirs)
    wanted = [oracle.step(state) for state in given]
    found = moved(theirs, given)
    for i, after in enumerate(wanted):
        for ours, theirs_after, what in zip(found, after, ("qpos", "qvel", "act"), strict=True):
            close(ours[i], theirs_after, moved_, what)


def moved(theirs, given: list[State]) -> list[np.ndarray]:
    """Positions, speeds and activations after a step from each of the states, in one call of the kernel."""
    with jax.enable_x64(True):
        model = from_mujoco(theirs)
        many = stack(given)

        def moves(qpos, qvel, act, warmstart, ctrl):
            after = step(model, Ours(qpos, qvel, act, warmstart), ctrl)
            return after.qpos, after.qvel, after.act

        arrays = map(jnp.asarray, (many.qpos, many.qvel, many.act, many.qacc_warmstart, many.ctrl))
        return [np.asarray(x) for x in jax.jit(jax.vmap(ks.kernel(moves)))(*arrays)]


@pytest.mark.full("larger")
def test_steps_of_an_arm_that_pushes_a_cylinder():
    """Pusher, its hand on the cylinder: as exact as C finds contacts, at its smallest tolerance and at its default."""
    _, theirs = supported("pusher")
    given = pushing(theirs, 100)
    found = moved(theirs, given)
    for tolerance, nearly_all, all_of_them in ((1e-15, 1e-8, 1e-7), (1e-6, 1e-5, 1e-3)):
        theirs.opt.ccd_tolerance = tolerance
        oracle = Oracle(theirs)
        wanted = [np.array(x) for x in zip(*(oracle.step(state)[:2] for state in given), strict=True)]
        for ours, exact in zip(found[:2], wanted, strict=True):
            scale = 1.0 + np.abs(exact).max(axis=1)
            error = np.abs(ours - exact).max(axis=1) / scale
            assert np.quantile(error, 0.9) <= nearly_all
            assert error.max() <= all_of_them


def test_other_numbers_are_leaves():
    model = load(
        "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>"
    )
    state = Ours(jnp.zeros(1), jnp.zeros(1), jnp.zeros(0), jnp.zeros(1))

    def speed(gravity):
        heavier = model.with_numbers(gravity=jnp.stack([jnp.float32(0), jnp.float32(0), -gravity]))
        return step(heavier, state, jnp.zeros(0)).qvel[0]

    fast = jax.vmap(ks.kernel(speed))(jnp.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(fast / fast[0], [1.0, 2.0, 4.0], rtol=1e-6)
    with pytest.raises(ConfigError, match=r"gravity: got \(2,\); give an array of shape \(3,\)"):
        model.with_numbers(gravity=np.zeros(2))
    with pytest.raises(ConfigError, match="body_mas"):
        model.with_numbers(body_mas=1.0)
