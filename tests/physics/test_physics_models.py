"""The models that the engine is tested on: each compiles in C MuJoCo, moves, and has the features that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import mujoco
import numpy as np
import pytest
from physics_models import CONSTRAINED, CONTACT, FEATURES, GYMNASIUM, MODELS, SMOOTH, compiled, gymnasium_models, select
from physics_models_contact import CONVEX_PAIRS, PRIMITIVE_PAIRS, SHAPES
from physics_random import random_model
from physics_report import errors, table
from physics_states import Oracle, get_state, reference, silent, stack, states, stepped

Forward = dict[str, np.ndarray]
Constraint, Equality = mujoco.mjtConstraint, mujoco.mjtEq
SOLREFS = [*(f"{of}_solref" for of in ("jnt", "dof", "geom", "pair", "eq")), "tendon_solref_lim", "tendon_solref_fri"]
SOLIMPS = [field.replace("solref", "solimp") for field in SOLREFS]


def has(field: str, *values: int) -> Callable[[mujoco.MjModel], bool]:
    """Whether any number of a field is one of these, or, with none of these, is not zero."""

    def test(m: mujoco.MjModel) -> bool:
        found = np.asarray(getattr(m, field))
        return bool(np.isin(found, values).any() if values else found.any())

    return test


def option(field: str, value: int) -> Callable[[mujoco.MjModel], bool]:
    return lambda m: getattr(m.opt, field) == value


def disabled(flag: int) -> Callable[[mujoco.MjModel], bool]:
    return lambda m: bool(m.opt.disableflags & flag)


def solver_numbers(m: mujoco.MjModel, fields: Iterable[str]) -> np.ndarray:
    return np.concatenate([np.asarray(getattr(m, field)).reshape(-1, getattr(m, field).shape[-1]) for field in fields])


def rotated(m: mujoco.MjModel) -> bool:
    return bool((np.abs(m.body_quat[1:, 1:]) > 1e-3).any() or (np.abs(m.body_iquat[1:, 1:]) > 1e-3).any())


def branches(m: mujoco.MjModel) -> bool:
    return bool((np.bincount(m.body_parentid[1:])[1:] > 1).any())


JOINT, TRANSMISSION, DYNAMICS = mujoco.mjtJoint, mujoco.mjtTrn, mujoco.mjtDyn
WRAP = mujoco.mjtWrap
INTEGRATOR, FLAG = mujoco.mjtIntegrator, mujoco.mjtDisableBit
IN_MODEL: dict[str, Callable[[mujoco.MjModel], bool]] = {
    "free": has("jnt_type", JOINT.mjJNT_FREE),
    "ball": has("jnt_type", JOINT.mjJNT_BALL),
    "slide": has("jnt_type", JOINT.mjJNT_SLIDE),
    "hinge": has("jnt_type", JOINT.mjJNT_HINGE),
    "tree": branches,
    "offset": lambda m: bool(m.body_ipos[1:].any() or m.jnt_pos.any()),
    "rotated": rotated,
    "no_joint": lambda m: bool((m.body_jntnum[1:] == 0).any()),
    "several_joints": lambda m: bool((m.body_jntnum > 1).any()),
    "spring": has("jnt_stiffness"),
    "damping": has("dof_damping"),
    "armature": has("dof_armature"),
    "gravcomp": has("body_gravcomp"),
    "fluid": lambda m: m.opt.density > 0 or m.opt.viscosity > 0,
    "wind": lambda m: bool(m.opt.wind.any()),
    "actuator": lambda m: m.nu > 0,
    "ctrlrange": has("actuator_ctrllimited"),
    "forcerange": has("actuator_forcelimited"),
    "actrange": has("actuator_actlimited"),
    "actearly": has("actuator_actearly"),
    "gear": lambda m: bool((~np.isin(m.actuator_gear[:, 0], (0.0, 1.0))).any()),
    "gain_affine": has("actuator_gaintype", mujoco.mjtGain.mjGAIN_AFFINE),
    "bias_affine": has("actuator_biastype", mujoco.mjtBias.mjBIAS_AFFINE),
    "integrator": has("actuator_dyntype", DYNAMICS.mjDYN_INTEGRATOR),
    "filter": has("actuator_dyntype", DYNAMICS.mjDYN_FILTER),
    "filterexact": has("actuator_dyntype", DYNAMICS.mjDYN_FILTEREXACT),
    "muscle": has("actuator_gaintype", mujoco.mjtGain.mjGAIN_MUSCLE),
    "transmission_joint": has("actuator_trntype", TRANSMISSION.mjTRN_JOINT),
    "transmission_joint_in_parent": has("actuator_trntype", TRANSMISSION.mjTRN_JOINTINPARENT),
    "transmission_site": has("actuator_trntype", TRANSMISSION.mjTRN_SITE),
    "transmission_tendon": has("actuator_trntype", TRANSMISSION.mjTRN_TENDON),
    "joint_force_range": has("jnt_actfrclimited"),
    "tendon": lambda m: m.ntendon > 0,
    "tendon_site": has("wrap_type", WRAP.mjWRAP_SITE),
    "tendon_pulley": has("wrap_type", WRAP.mjWRAP_PULLEY),
    "tendon_sphere": has("wrap_type", WRAP.mjWRAP_SPHERE),
    "tendon_cylinder": has("wrap_type", WRAP.mjWRAP_CYLINDER),
    "tendon_spring": has("tendon_stiffness"),
    "tendon_damping": has("tendon_damping"),
    "sensor": lambda m: m.nsensor > 0,
    "euler": option("integrator", INTEGRATOR.mjINT_EULER),
    "rk4": option("integrator", INTEGRATOR.mjINT_RK4),
    "implicit": option("integrator", INTEGRATOR.mjINT_IMPLICIT),
    "implicitfast": option("integrator", INTEGRATOR.mjINT_IMPLICITFAST),
    "flag_eulerdamp_off": disabled(FLAG.mjDSBL_EULERDAMP),
    "flag_refsafe_off": disabled(FLAG.mjDSBL_REFSAFE),
    "limit_margin": lambda m: has("jnt_margin")(m) or has("tendon_margin")(m),
    "solref": lambda m: bool(((s := solver_numbers(m, SOLREFS)) != (0.02, 1.0)).any() and (s > 0).all(axis=1).any()),
    "solref_direct": lambda m: bool((solver_numbers(m, SOLREFS[:5]) < 0).all(axis=1).any()),
    "solimp": lambda m: bool((solver_numbers(m, SOLIMPS) != (0.9, 0.95, 0.001, 0.5, 2)).any()),
    "equality_sites": has("eq_objtype", mujoco.mjtObj.mjOBJ_SITE),
    "equality_inactive": lambda m: not m.eq_active0.all(),
    "margin": lambda m: has("geom_margin")(m) or has("pair_margin")(m),
    "priority": has("geom_priority"),
    "solmix": lambda m: bool((m.geom_solmix != 1).any()),
    "contype": lambda m: bool((m.geom_contype != m.geom_conaffinity).any()),
    "exclude": lambda m: m.nexclude > 0,
    "pair": lambda m: m.npair > 0,
}


def pushes(*kinds: int) -> Callable[[mujoco.MjModel, Forward], bool]:
    """Whether constraints of these kinds apply a force."""
    return lambda m, f: bool((np.isin(f["efc_type"], kinds) & (f["efc_force"] != 0)).any())


def ties(kind: int) -> Callable[[mujoco.MjModel, Forward], bool]:
    def test(m: mujoco.MjModel, f: Forward) -> bool:
        rows = (f["efc_type"] == Constraint.mjCNSTR_EQUALITY) & (f["efc_force"] != 0)
        return bool((m.eq_type[f["efc_id"][rows]] == kind).any())

    return test


def active_contacts(f: Forward) -> np.ndarray:
    return np.flatnonzero(f["contact_efc_address"] >= 0)


def directions(dim: int) -> Callable[[mujoco.MjModel, Forward], bool]:
    return lambda m, f: bool((f["contact_dim"][active_contacts(f)] == dim).any())


def touches(*pairs: tuple[str, str]) -> Callable[[mujoco.MjModel, Forward], bool]:
    """Whether a shape of the one kind touches one of the other."""
    kinds = [sorted(int(getattr(mujoco.mjtGeom, f"mjGEOM_{shape.upper()}")) for shape in pair) for pair in pairs]
    return lambda m, f: any(
        sorted(m.geom_type[f["contact_geom"][contact]].tolist()) in kinds for contact in active_contacts(f)
    )


PAIRS = [*PRIMITIVE_PAIRS, *CONVEX_PAIRS, *(("plane", shape) for shape in SHAPES)]
IN_MOTION: dict[str, Callable[[mujoco.MjModel, Forward], bool]] = {
    "frictionloss": pushes(Constraint.mjCNSTR_FRICTION_DOF),
    "tendon_frictionloss": pushes(Constraint.mjCNSTR_FRICTION_TENDON),
    "limit": pushes(Constraint.mjCNSTR_LIMIT_JOINT),
    "tendon_limit": pushes(Constraint.mjCNSTR_LIMIT_TENDON),
    "pyramidal": pushes(Constraint.mjCNSTR_CONTACT_PYRAMIDAL),
    "elliptic": pushes(Constraint.mjCNSTR_CONTACT_ELLIPTIC),
    "connect": ties(Equality.mjEQ_CONNECT),
    "weld": ties(Equality.mjEQ_WELD),
    "equality_joint": ties(Equality.mjEQ_JOINT),
    "equality_tendon": ties(Equality.mjEQ_TENDON),
    "condim1": directions(1),
    "condim3": directions(3),
    "condim4": directions(4),
    "condim6": directions(6),
    "gap": lambda m, f: bool((f["contact_exclude"] == 1).any()),
    "convex": touches(*CONVEX_PAIRS),
    **{"_".join(pair): touches(pair) for pair in PAIRS},
}
KINDS = {SMOOTH, CONSTRAINED, CONTACT}
# What no random model has: each of these has a model of its own.
NOT_RANDOM = {"_".join(pair) for pair in CONVEX_PAIRS if "sphere" not in pair} | {
    *("equality_inactive", "equality_sites", "equality_tendon", "exclude", "flag_eulerdamp_off", "flag_refsafe_off"),
    *("joint_force_range", "pair", "sensor", "transmission_site"),
    *("muscle", "tendon_site", "tendon_pulley", "tendon_sphere", "tendon_cylinder"),
}


def missing(model: mujoco.MjModel, named: Iterable[str], found: list[Forward]) -> list[str]:
    """The features named that neither the model nor its motion has."""
    absent = [name for name in named if name in IN_MODEL and not IN_MODEL[name](model)]
    return absent + [name for name in named if name in IN_MOTION and not any(IN_MOTION[name](model, f) for f in found)]


def assert_moves(model: mujoco.MjModel, count: int) -> list[Forward]:
    sampled = states(model, count, seed=0)
    together = stack(sampled)
    assert all(np.isfinite(field).all() and field.dtype == np.float64 for field in together)
    assert (np.ptp(together.qpos, axis=0) > 0).all()
    oracle = Oracle(model)
    return [oracle.forward(state) for state in sampled]


@pytest.mark.by_default("quadruped*", "pile_*", "capsule*", "four_bar", "limits*")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_moves_and_has_what_it_names(name: str) -> None:
    model, named = compiled(name), FEATURES[name]
    assert model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON
    assert (model.opt.tolerance, model.opt.iterations) == (1e-10, 100)
    found = assert_moves(model, 80)
    assert missing(model, named, found) == []
    rows, contacts = (sum(len(f[field]) for f in found) for field in ("efc_force", "contact_dim"))
    assert len(named & KINDS) == 1
    assert (rows > 0) == (SMOOTH not in named)
    assert (contacts > 0) == (CONTACT in named)


def test_every_feature_is_checked_and_has_a_model() -> None:
    assert frozenset().union(*FEATURES.values()) == KINDS | IN_MODEL.keys() | IN_MOTION.keys()


def test_what_is_not_there_is_missed() -> None:
    model = compiled("hinge")
    found = [reference(model, state) for state in states(model, 8, seed=0)]
    here = {"hinge", "offset", "euler"}
    assert set(missing(model, [*IN_MODEL, *IN_MOTION], found)) == (IN_MODEL.keys() | IN_MOTION.keys()) - here


def test_models_are_selected_by_their_features() -> None:
    assert set(select(SMOOTH)) | set(select(CONSTRAINED)) | set(select(CONTACT)) == MODELS.keys()
    assert "pile_elliptic" in select(CONTACT, "elliptic", without=("condim6",))
    assert "pile_rolling" not in select(CONTACT, "elliptic", without=("condim6",))


def test_gymnasium_has_its_eleven_models() -> None:
    models = gymnasium_models()
    assert len(models) == len(GYMNASIUM) == 11
    assert all(model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON for model in models.values())
    assert (models["ant"].nq, models["humanoid"].nq, models["walker2d"].nq) == (15, 24, 9)


@pytest.mark.parametrize("name", GYMNASIUM)
def test_gymnasium_models_move(name: str) -> None:
    found = assert_moves(compiled(name), 80)
    touching = any(len(active_contacts(f)) for f in found)
    assert touching == (name not in {"inverted_pendulum", "inverted_double_pendulum", "reacher", "swimmer"})


def check_random(seeds: range, contacts: bool, constraints: bool) -> None:
    sizes, texts, features = set(), set(), set()
    for seed in seeds:
        text = random_model(seed, contacts, constraints=constraints)
        with silent():
            model = mujoco.MjModel.from_xml_string(text)
        found = assert_moves(model, 8)
        assert contacts or not any(len(f["contact_dim"]) for f in found), seed
        assert constraints or contacts or not any(len(f["efc_force"]) for f in found), seed
        sizes.add(model.nbody)
        texts.add(text)
        features |= {name for name, test in IN_MODEL.items() if test(model)}
        features |= {name for name, test in IN_MOTION.items() if any(test(model, f) for f in found)}
    assert len(texts) == len(seeds)
    if len(seeds) >= 100:
        assert sizes >= set(range(2, 10))
        assert not (contacts and constraints) or features >= (IN_MODEL.keys() | IN_MOTION.keys()) - NOT_RANDOM


@pytest.mark.by_default("True-True")
@pytest.mark.parametrize(("contacts", "constraints"), [(True, True), (False, True), (False, False)])
def test_random_models_move(contacts: bool, constraints: bool) -> None:
    check_random(range(25), contacts, constraints)


@pytest.mark.full("larger")
@pytest.mark.parametrize(("contacts", "constraints"), [(True, True), (False, True), (False, False)])
def test_many_random_models_move(contacts: bool, constraints: bool) -> None:
    check_random(range(300), contacts, constraints)


def test_a_random_model_is_that_of_its_seed() -> None:
    assert random_model(7, True) == random_model(7, True)
    assert random_model(7, True) != random_model(7, False)
    assert mujoco.MjModel.from_xml_string(random_model(3, False, bodies=(4, 4))).nbody == 5


@pytest.mark.parametrize("name", ["actuators_dynamics", "pile_elliptic", "quadruped_rk4", "creature_tied"])
def test_a_state_is_all_that_a_step_depends_on(name: str) -> None:
    model = compiled(name)
    data = mujoco.MjData(model)
    oracle = Oracle(model, converged=False)
    data.qvel[:] = 0.5
    for i in range(60):
        data.ctrl[:] = np.sin(0.1 * i + np.arange(model.nu))
        before = get_state(data)
        mujoco.mj_step(model, data)
        for got, want in zip(oracle.step(before), (data.qpos, data.qvel, data.act), strict=True):
            np.testing.assert_array_equal(got, want)


def test_states_are_those_of_their_seed_in_the_order_of_time() -> None:
    model = compiled("quadruped")
    first, again, other = (stack(states(model, 40, seed)) for seed in (1, 1, 2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert (first.qpos != other.qpos).any()
    assert sum(later < earlier for earlier, later in pairwise(first.time)) == 7


@pytest.mark.parametrize(
    "name", ["everything", "actuators_site", "actuators_joint3d", "tendons", "mixing", "creature_tied"]
)
def test_the_matrices_are_those_that_c_multiplies_by(name: str) -> None:
    model = compiled(name)
    oracle, sparse = Oracle(model), Oracle(model)
    sparse.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
    assert mujoco.mj_isSparse(sparse.model) != mujoco.mj_isSparse(oracle.model)
    for state in states(model, 16, seed=3):
        f = oracle.forward(state)
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(f["efc_J"] @ state.qvel, f["efc_vel"], **close)
        np.testing.assert_allclose(f["ten_J"] @ state.qvel, f["ten_velocity"], **close)
        np.testing.assert_allclose(f["actuator_moment"] @ state.qvel, f["actuator_velocity"], **close)
        np.testing.assert_allclose(f["actuator_moment"].T @ f["actuator_force"], f["qfrc_actuator"], **close)
        np.testing.assert_allclose(f["efc_J"].T @ f["efc_force"], f["qfrc_constraint"], **close)
        np.testing.assert_allclose(f["qM"] @ f["qacc_smooth"], f["qfrc_smooth"], **close)
        np.testing.assert_allclose(sparse.forward(state)["efc_J"], f["efc_J"], **close)


@pytest.mark.by_default("humanoid", "pile_*", "ant")
@pytest.mark.parametrize("name", [*MODELS, *GYMNASIUM])
def test_c_converges(name: str) -> None:
    model = compiled(name)
    oracle = Oracle(model)
    assert max(oracle.residual(state) for state in states(model, 16, seed=5)) < 1e-11


@pytest.mark.parametrize("name", ["chain", "quadruped", "pairs"])
def test_the_inverse_gives_the_applied_force_back(name: str) -> None:
    model = compiled(name)
    oracle = Oracle(model)
    for state in states(model, 8, seed=6):
        f = oracle.forward(state)
        np.testing.assert_allclose(oracle.inverse(state, f["qacc"]), f["qfrc_actuator"], rtol=1e-7, atol=1e-7)


def test_stacked_states_step_as_each_of_them() -> None:
    model = compiled("actuators_dynamics")
    sampled = states(model, 9, seed=0)
    together = stepped(model, stack(sampled))
    for i, state in enumerate(sampled):
        for got, want in zip(together, stepped(model, state), strict=True):
            np.testing.assert_array_equal(got[i], want)


def test_a_report_has_the_percentiles_of_the_greatest_errors() -> None:
    theirs = np.full((1000, 3), 2.0)
    ours = theirs.copy()
    ours[:, 1] += np.arange(1000) / 1000
    row = errors("qpos", ours, theirs)
    np.testing.assert_allclose(row.absolute, (0.5, 0.9, 0.99, 0.999, 0.999), atol=2e-3)
    np.testing.assert_allclose(row.relative, np.array(row.absolute) / 2)
    assert table([row]).splitlines()[-1].startswith("| qpos | 1000 | 5.0e-01 | 9.0e-01 | 9.9e-01 |")


def test_a_number_missing_on_one_side_is_an_infinite_error() -> None:
    theirs = np.ones((20, 2))
    ours = theirs.copy()
    ours[3, 0] = np.nan
    row = errors("qvel", ours, theirs)
    assert row.absolute == (0.0, 0.0, np.inf, np.inf, np.inf)
    with pytest.raises(ValueError, match="qvel"):
        errors("qvel", ours, theirs[:, :1])
    assert errors("act", np.zeros((5, 0)), np.zeros((5, 0))).absolute[-1] == 0.0
