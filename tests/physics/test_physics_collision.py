"""Where shapes touch, against C MuJoCo: distances, points, normals and their number, in float64.

The functions are plain arithmetic: with known numbers they are evaluated in Python, and nothing is compiled, but for
the longest one at many poses.
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from physics_contacts import (
    BY_ELLIPSOIDS,
    EXACT,
    ITERATED,
    LYING,
    agree,
    anywhere,
    completed,
    rows_of,
)
from physics_models import compiled
from physics_states import pushing, set_state

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import load
from kousoku.physics.algebra.scalar import Num, num, nums
from kousoku.physics.algebra.vector import Mat, quat, vec
from kousoku.physics.collision import candidates as collision_candidates
from kousoku.physics.collision.candidates import _share, candidates, first_unsupported, type_pairs
from kousoku.physics.collision.geom import ContactPoint, GeomInfo, GeomType, bounding_radius
from kousoku.physics.collision.narrow_phase import COLLISION_FUNCTIONS
from kousoku.physics.stages.kinematics import Frame

COUNT = {
    GeomType.PLANE: 3,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.ELLIPSOID: 3,
    GeomType.CYLINDER: 2,
    GeomType.BOX: 3,
}
NAMES = [f"{a.name}_{b.name}".lower() for a, b in COLLISION_FUNCTIONS]
QUARTERS = [np.array(q) / np.linalg.norm(q) for q in product((-1, 0, 1), repeat=4) if np.count_nonzero(q) in (1, 2, 4)]


def size(shape: GeomType, rng: np.random.Generator) -> list[float]:
    if shape == GeomType.PLANE:
        return [5.0, 5.0, 0.1]
    return [float(round(x, 3)) for x in rng.uniform(0.04, 0.15, size=COUNT[shape])]


@cache
def scene(pair: tuple[GeomType, GeomType], seed: int, margin: float, tolerance: float = 1e-15) -> mujoco.MjModel:
    """Two free bodies; a plane lies in the world."""
    rng = np.random.default_rng(seed)
    bodies = []
    for shape in pair:
        sizes = " ".join(map(str, size(shape, rng)))
        geom = f'<geom type="{shape.name.lower()}" size="{sizes}" margin="{margin / 2}"/>'
        bodies.append(geom if shape == GeomType.PLANE else f"<body><freejoint/>{geom}</body>")
    option = f'<option ccd_tolerance="{tolerance}" ccd_iterations="1000"/>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{''.join(bodies)}</worldbody></mujoco>")


def turn(rng: np.random.Generator, angle: float) -> np.ndarray:
    """About a random axis."""
    axis, q = rng.normal(size=3), np.zeros(4)
    mujoco.mju_axisAngle2Quat(q, axis / np.linalg.norm(axis), angle)
    return q


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product = np.zeros(4)
    mujoco.mju_mulQuat(product, a, b)
    return product


def poses(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Of two bodies: overlapping, touching and far, in directions that are usual or special."""
    away = rng.normal(size=3)
    away *= rng.uniform(0.0, 0.3) / np.linalg.norm(away)
    one, other = turn(rng, rng.uniform(0, np.pi)), turn(rng, rng.uniform(0, np.pi))
    quarters = [QUARTERS[i] for i in rng.integers(len(QUARTERS), size=2)]
    if kind == "aligned":
        one, other = quarters
    elif kind == "parallel":
        other = times(one, quarters[0])
    elif kind == "nearly":
        other = times(times(one, quarters[0]), turn(rng, 10.0 ** rng.uniform(-7, -1)))
    elif kind == "turned":
        one, other = quarters[0], times(np.array([np.cos(away[0]), 0, 0, np.sin(away[0])]), quarters[1])
    elif kind == "lattice":
        one, other = quarters
        away = rng.integers(-4, 5, size=3) * 0.05
    start = np.zeros(3) if kind == "lattice" else rng.normal(size=3)
    return np.concatenate([start, one, start + away, other])


KINDS = {"random": 120, "aligned": 40, "parallel": 40, "nearly": 40, "turned": 40, "lattice": 20}


def theirs(model: mujoco.MjModel, pose: np.ndarray) -> tuple[mujoco.MjData, np.ndarray]:
    """C's contacts: distance, point, normal, first tangent; one a row."""
    data = mujoco.MjData(model)
    data.qpos[:] = pose if model.nq == 14 else np.concatenate([pose[7:10] - pose[:3], pose[10:]])
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    return data, rows_of(data.contact)


def ours(
    pair: tuple[GeomType, GeomType], model: mujoco.MjModel, data: mujoco.MjData, of: Sequence[int] = (0, 1)
) -> np.ndarray:
    """All our contacts of two geoms, evaluated in Python."""
    places, turns, sizes, margin = placed(model, data, of)
    return completed(np.array([[x.value for x in row] for row in touches(pair, places, turns, sizes, float(margin))]))


def ours_compiled(pair: tuple[GeomType, GeomType], given: list[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    """As `ours`, of many that `placed` tells of, in one program: for pairs whose arithmetic is long."""
    with jax.enable_x64(True):
        found = np.array(_program(pair)(*map(np.stack, zip(*given, strict=True))))
    return [completed(rows) for rows in found]


@cache
def _program(pair: tuple[GeomType, GeomType]):
    def rows(*given):
        return jnp.array([[x.value for x in row] for row in touches(pair, *given)])

    return jax.jit(jax.vmap(rows), compiler_options=FAST_COMPILE)


def placed(model: mujoco.MjModel, data: mujoco.MjData, of: Sequence[int] = (0, 1)) -> tuple[np.ndarray, ...]:
    """Of some geoms: where they are, how they are turned, their sizes, and how far apart they may be to touch."""
    of = list(of)
    margin = model.geom_margin[of].sum()
    return data.geom_xpos[of].copy(), data.geom_xmat[of].reshape(-1, 3, 3), model.geom_size[of], np.array(margin)


def touches(pair: tuple[GeomType, GeomType], *placed: Any) -> list[list[Num]]:
    """All our contacts, one a row: distance, point, normal, first tangent."""
    return [[t.dist, *t.pos, *t.normal, *t.tangent] for t in points(pair, *placed)]


def points(pair: tuple[GeomType, GeomType], places: Any, turns: Any, sizes: Any, margin: Any) -> list[ContactPoint]:
    geoms = []
    for place, turned, size in zip(places, turns, sizes, strict=True):
        frame = Frame(vec(nums(place)), quat([1.0, 0.0, 0.0, 0.0]), Mat(*(vec(nums(row)) for row in turned)))
        geoms.append(GeomInfo(frame, nums(size), num(margin)))
    return COLLISION_FUNCTIONS[pair](*geoms)


def nudged(pose: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pose but for rounding."""
    moved = pose + rng.normal(size=14) * 1e-14
    for q in (slice(3, 7), slice(10, 14)):
        moved[q] /= np.linalg.norm(moved[q])
    return moved


@pytest.mark.by_default("parallel-*", "turned-capsule_cylinder")
@pytest.mark.parametrize("pair", COLLISION_FUNCTIONS, ids=NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_contacts_are_those_of_mujoco(pair, kind):
    """At each pose, or, where C changes its mind from rounding alone, at one that rounding cannot tell from it."""
    rng = np.random.default_rng([int(pair[0]), int(pair[1]), len(kind)])
    touched = 0
    for i in range(KINDS[kind]):
        margin = (0.0, 0.05)[i % 2]
        model = scene(pair, i % 5, margin)
        pose = poses(kind, rng)
        data, wanted = theirs(model, pose)
        touched += len(wanted) > 0
        tolerance, distance = ITERATED.get(pair, (EXACT, EXACT))
        if agree(
            anywhere(pair, data, ours(pair, model, data)), anywhere(pair, data, wanted), margin, tolerance, distance
        ):
            continue
        near = [nudged(pose, rng) for _ in range(12)] if kind != "random" else []
        for other in near:
            data, _ = theirs(model, pose)
            if agree(ours(pair, model, data), theirs(model, other)[1], margin, max(tolerance, 1e-6)):
                break
        else:
            pytest.fail(f"{pose.tolist()} {margin=}\n{ours(pair, model, data)}\n{wanted}")
    assert touched > KINDS[kind] // 4


UNORDERED = (LYING, *BY_ELLIPSOIDS)
ORDERED = {name: pair for name, pair in zip(NAMES, COLLISION_FUNCTIONS, strict=True) if pair not in UNORDERED}


@pytest.mark.by_default("plane_box", "box_box")
@pytest.mark.parametrize("name", ORDERED)
def test_points_are_in_the_order_of_mujocos_list(name):
    pair, rng, several = ORDERED[name], np.random.default_rng(3), 0
    for i in range(60):
        margin = (0.0, 0.05)[i % 2]
        model = scene(pair, i % 5, margin)
        data, wanted = theirs(model, poses(("random", "nearly")[i % 4 > 1], rng))
        found = points(pair, *placed(model, data))
        places = [x.value for x in found[0].order()] if found[0].order else [float(k) for k in range(len(found))]
        rows = ours(pair, model, data)[np.argsort(places)]
        rows = rows[rows[:, 0] < margin]
        np.testing.assert_allclose(rows[:, :4], wanted[:, :4], atol=1e-4 if pair in ITERATED else 1e-8)
        assert 0.0 <= min(places) <= max(places) <= 8.0
        several += len(rows) > 1
    assert several > 1 or GeomType.SPHERE in pair or GeomType.ELLIPSOID in pair


@pytest.mark.full("covered")
def test_boxes_change_from_faces_to_edges_where_mujoco_does():
    """Along a turn of one box, the number of contacts becomes one, or is so no more, at the same angle."""
    pair, rng, flips = (GeomType.BOX, GeomType.BOX), np.random.default_rng(5), 0
    model = scene(pair, 0, 0.0)
    for _ in range(12):
        axis, depth = rng.normal(size=3), rng.uniform(0.005, 0.02)
        place = np.array([*rng.uniform(-0.05, 0.05, size=2), model.geom_size[:, 2].sum() - depth])

        def at(angle, axis=axis, place=place):
            q = np.zeros(4)
            mujoco.mju_axisAngle2Quat(q, axis / np.linalg.norm(axis), angle)
            return theirs(model, np.concatenate([np.zeros(3), [1, 0, 0, 0], place, q]))

        angles = np.linspace(0.01, 1.5, 60)
        single = [len(at(angle)[1]) == 1 for angle in angles]
        for low, high, before, after in zip(angles, angles[1:], single, single[1:], strict=False):
            if before == after:
                continue
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if (len(at(middle)[1]) == 1) == before else (low, middle)
            for angle in (low - 1e-7, high + 1e-7):
                data, wanted = at(angle)
                assert agree(ours(pair, model, data), wanted, 0.0, 1e-6)
            flips += 1
    assert flips >= 6


def test_a_sphere_is_pushed_out_of_an_ellipsoid_the_shortest_way():
    """Its centre inside, in the planes and on the axes of symmetry too: against points all over the surface."""
    rng = np.random.default_rng(0)
    around, across = np.meshgrid(np.linspace(0, 2 * np.pi, 400), np.linspace(0, np.pi, 200))
    ball = np.array([np.cos(around) * np.sin(across), np.sin(around) * np.sin(across), np.cos(across)]).reshape(3, -1).T
    for case in range(80):
        half = rng.uniform(0.05, 0.15, size=3)
        if case % 8 == 0:
            half[:2] = half[0]
        centre = rng.normal(size=3)
        centre *= half * rng.uniform(0, 0.95) / np.linalg.norm(centre)
        centre[rng.random(3) < 0.3] = 0.0
        world = quat([1.0, 0.0, 0.0, 0.0]).matrix()
        sphere, ellipsoid = (
            GeomInfo(Frame(vec(place), quat([1.0, 0.0, 0.0, 0.0]), world), nums(sizes))
            for place, sizes in ((centre.tolist(), np.array([0.02, 0.0, 0.0])), ([0.0, 0.0, 0.0], half))
        )
        (touch,) = COLLISION_FUNCTIONS[GeomType.SPHERE, GeomType.ELLIPSOID](sphere, ellipsoid)
        shortest = np.linalg.norm(ball * half - centre, axis=1).min()
        depth = -touch.dist.value - 0.02
        assert depth <= shortest + 1e-9 <= depth + 1e-3
        normal, point = (np.array([x.value for x in v]) for v in (touch.normal, touch.pos))
        surface = point + 0.5 * touch.dist.value * normal
        assert np.linalg.norm(surface / half) == pytest.approx(1.0, abs=1e-6)
        assert np.cross(surface / half**2, normal) == pytest.approx(np.zeros(3), abs=1e-4)


def lying(model: mujoco.MjModel, rng: np.random.Generator) -> np.ndarray:
    """A pose of a capsule that lies, or nearly so, on or within an end of a cylinder, or over its rim."""
    (radius, _, _), (width, height, _) = model.geom_size
    around, q, rise = np.zeros(4), np.zeros(4), 10.0 ** rng.uniform(-9, -0.2) * rng.choice([-1.0, 1.0])
    mujoco.mju_axisAngle2Quat(around, np.array([0.0, 0.0, 1.0]), rng.uniform(-np.pi, np.pi))
    mujoco.mju_axisAngle2Quat(q, np.array([0.0, 1.0, 0.0]), 0.5 * np.pi + rise)
    side = rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.1) * (height + radius)
    away, base, place = np.zeros(3), turn(rng, rng.uniform(0, np.pi)), rng.normal(size=3)
    mujoco.mju_rotVecQuat(away, np.array([*rng.uniform(-1.2, 1.2, size=2) * width, side]), base)
    return np.concatenate([place + away, times(times(base, around), q), place, base])


@pytest.mark.full("covered")
@pytest.mark.parametrize(("tolerance", "along", "deeper"), [(1e-15, 1e-4, 5e-7), (1e-6, 2e-2, 1e-4)])
def test_capsules_lie_on_the_ends_of_cylinders(tolerance, along, deeper):
    """On two points where C has two, also the same one twice, and on one elsewhere; at C's default tolerance nearly."""
    rng, cases = np.random.default_rng(11), []
    for i in range(400):
        margin = (0.0, 0.05)[i % 2]
        model = scene(LYING, i % 5, margin, tolerance)
        pose = lying(model, rng)
        data, wanted = theirs(model, pose)
        cases.append((pose, margin, wanted, placed(model, data)))
    counts, found = [0, 0, 0], ours_compiled(LYING, [given for *_, given in cases])
    wrong = []
    for (pose, margin, wanted, _), mine in zip(cases, found, strict=True):
        counts[len(wanted)] += 1
        if not agree(mine, wanted, margin, along, deeper):
            wrong.append((pose.tolist(), margin))
    assert len(wrong) <= (0 if tolerance < 1e-10 else 8), wrong
    assert min(counts[1:]) > 30


@pytest.mark.full("covered")
@pytest.mark.parametrize(("tolerance", "along", "deeper"), [(1e-15, 1e-4, 5e-7), (1e-6, 2e-2, 1e-4)])
def test_the_hand_of_pusher_touches_its_cylinder_where_it_does_in_mujoco(tolerance, along, deeper):
    model = compiled("pusher")
    model.opt.ccd_tolerance, model.opt.ccd_iterations = tolerance, 1000
    data, cases = mujoco.MjData(model), []
    for state in pushing(model, 200):
        set_state(data, state)
        mujoco.mj_forward(model, data)
        geoms = {tuple(pair) for pair in data.contact.geom.tolist() if {*model.geom_type[pair]} == set(LYING)}
        for first, second in geoms:
            wanted = rows_of(data.contact)[(data.contact.geom == (first, second)).all(axis=1)]
            cases.append((state.qpos.tolist(), wanted, placed(model, data, (first, second))))
    several, wrong, found = 0, [], ours_compiled(LYING, [given for *_, given in cases])
    for (qpos, wanted, (*_, margin)), mine in zip(cases, found, strict=True):
        several += len(wanted) == 2
        if not agree(mine, wanted, float(margin), along, deeper):
            wrong.append((qpos, mine, wanted))
    assert len(wrong) <= (0 if tolerance < 1e-10 else 4), wrong
    assert several > 10


@pytest.mark.full("covered")
def test_a_capsule_along_a_cylinder_touches_it_between_the_ends_of_both():
    """Where C takes any place of many, ours lies beside both shapes."""
    rng = np.random.default_rng(2)
    for i in range(60):
        model = scene(LYING, i % 5, 0.05)
        radius, half = model.geom_size[0, :2]
        width, height = model.geom_size[1, :2]
        reach = 0.95 * (half + height)
        pose = np.array([width + radius - 0.01, 0.0, rng.uniform(-reach, reach), 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
        data, wanted = theirs(model, pose)
        touch = ours(LYING, model, data)[0]
        np.testing.assert_allclose(touch[[0, 1, 2, 4, 5, 6]], wanted[0, [0, 1, 2, 4, 5, 6]], atol=EXACT)
        assert abs(touch[3]) <= height + EXACT
        assert abs(touch[3] - pose[2]) <= half + EXACT


def traced(pair: tuple[GeomType, GeomType], sizes: np.ndarray, pose: jax.Array) -> list[jax.Array]:
    """All our contacts of two bodies at a pose: distance, point, normal, seven numbers for each."""
    geoms = []
    for row, place in zip(sizes, (pose[:7], pose[7:]), strict=True):
        turned = quat(nums(place[3:])).normalised()
        geoms.append(GeomInfo(Frame(vec(nums(place[:3])), turned, turned.matrix()), nums(row)))
    touches = COLLISION_FUNCTIONS[pair](*geoms)
    return [n.value for t in touches for n in (t.dist, *t.pos, *t.normal)]


def many_poses(pair: tuple[GeomType, GeomType], kinds: list[str], count: int) -> np.ndarray:
    rng = np.random.default_rng([int(pair[0]), int(pair[1]), 7])
    found = [poses(kind, rng) for kind in kinds for _ in range(count)]
    for pose in found:
        pose[:3] -= pose[7:10]
        pose[7:10] = 0.0
    return np.array(found)


LONG = ((GeomType.BOX, GeomType.BOX), (GeomType.CAPSULE, GeomType.BOX))


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, marks=[pytest.mark.full("more cases")] * (pair in LONG), id=name)
        for name, pair in zip(NAMES, COLLISION_FUNCTIONS, strict=True)
        if pair not in BY_ELLIPSOIDS
    ],
)
def test_gradients_are_finite_and_those_of_the_function(pair):
    """Finite at all poses, the special ones too; at random ones as finite differences say, one or two edges apart."""
    sizes = scene(pair, 0, 0.0).geom_size
    centred = np.concatenate([np.zeros(3), QUARTERS[0], np.zeros(3), QUARTERS[0]])

    def summed(pose):
        numbers = traced(pair, sizes, pose)
        return sum(jnp.where(numbers[i - i % 7] < 100.0, n, 0.0) for i, n in enumerate(numbers))

    with jax.enable_x64(True):
        special = np.array([centred, *many_poses(pair, ["aligned", "parallel", "nearly", "turned", "lattice"], 12)])
        usual = many_poses(pair, ["random"], len(special))
        everywhere = jax.vmap(jax.grad(summed))(jnp.concatenate([special, usual]))
        assert np.isfinite(everywhere).all()
        slope = np.asarray(everywhere)[len(special) :]
        rng, step = np.random.default_rng(3), 1e-6
        way = rng.normal(size=usual.shape)
        ends = jax.vmap(summed)(jnp.concatenate([usual + step * way, usual - step * way])).reshape(2, -1)
        found, wanted = (slope * way).sum(axis=1), (ends[0] - ends[1]) / (2.0 * step)
        close = np.abs(found - wanted) <= 1e-5 * (1.0 + np.abs(wanted))
    assert close.mean() >= 0.95
    with jax.enable_x64(False):
        assert np.isfinite(jax.vmap(jax.grad(summed))(jnp.asarray(special, jnp.float32))).all()


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "pair",
    [
        (GeomType.PLANE, GeomType.BOX),
        (GeomType.CAPSULE, GeomType.CAPSULE),
        *(pytest.param(pair, marks=pytest.mark.full("more cases")) for pair in (LYING, (GeomType.BOX, GeomType.BOX))),
    ],
)
def test_compiled_contacts_are_the_same(pair):
    """The kernel's contacts of many lanes are those of the arithmetic in Python; in float32, nearly all of them."""
    sizes = scene(pair, 1, 0.0).geom_size
    given = many_poses(pair, ["random"], 200)

    def contacts(pose):
        return traced(pair, sizes, pose)

    def rows(many):
        return np.stack(many, axis=1).reshape(len(given), -1, 7)

    with jax.enable_x64(True):
        exact = rows(jax.vmap(ks.kernel(contacts))(jnp.asarray(given)))
        np.testing.assert_allclose(exact, rows(jax.vmap(contacts)(jnp.asarray(given))), atol=EXACT)
    with jax.enable_x64(False):
        rough = rows(jax.vmap(ks.kernel(contacts))(jnp.asarray(given, jnp.float32)))
    assert np.mean([agree(a, b, 100.0, 1e-4) for a, b in zip(rough, exact, strict=True)]) > 0.98


@pytest.mark.full("covered")
def test_numbers_that_differ_from_lane_to_lane_are_mixed_as_known_ones():
    """Of softness in both forms, weights of nothing, and friction, against C's contacts."""
    shapes = [f'<body pos="{x} 0 0"><freejoint/><geom size="0.1"/></body>' for x in (0.0, 0.15)]
    source = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(shapes)}</worldbody></mujoco>")
    model = load(source)
    cases = [
        ([[0.02, 1.0], [0.05, 0.6]], [1.0, 3.0]),
        ([[-300.0, -20.0], [0.05, 0.6]], [1.0, 3.0]),
        ([[-300.0, -20.0], [-100.0, -50.0]], [0.0, 2.0]),
        ([[0.02, 1.0], [0.05, 0.6]], [2.0, 0.0]),
        ([[0.02, 1.0], [0.05, 0.6]], [0.0, 0.0]),
        ([[0.02, 1.0], [0.05, 0.6]], [1.0, -1.0]),
        ([[0.02, 1.0], [0.05, 0.6]], [-1.0, 1.0]),
        ([[0.02, 1.0], [0.05, 0.6]], [-1.0, -2.0]),
    ]

    def mixed(solref, solmix):
        (one,) = candidates(model.with_numbers(geom_solref=solref, geom_solmix=solmix))
        return jnp.stack([n.value for n in (*one.solref, *one.solimp)])

    with jax.enable_x64(True):
        many = [jnp.array(x) for x in zip(*cases, strict=True)]
        found = jax.vmap(mixed)(*many)
        slope = jax.vmap(jax.grad(lambda *x: mixed(*x).sum(), argnums=(0, 1)))(*many)
    assert all(np.isfinite(x).all() for x in slope)
    data = mujoco.MjData(source)
    for (solref, solmix), row in zip(cases, found, strict=True):
        source.geom_solref[:], source.geom_solmix[:] = solref, solmix
        mujoco.mj_forward(source, data)
        np.testing.assert_allclose(row[:2], data.contact.solref[0], rtol=1e-12)
        np.testing.assert_allclose(row[2:], data.contact.solimp[0], rtol=1e-12)
        (known,) = candidates(load(source))
        np.testing.assert_allclose([n.value for n in known.solref], data.contact.solref[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("one", "other", "share"), [(1.0, 3.0, 0.25), (0.0, 2.0, 0.0), (2.0, 0.0, 1.0), (0.0, 0.0, 0.5), (-1.0, 1.0, 0.0)]
)
def test_the_share_of_a_weight_of_nothing_is_as_in_c(one, other, share):
    """MuJoCo's mj_contactParam."""
    assert _share(Num(one), Num(other)).value == share


@pytest.mark.parametrize("rule", ["", '<exclude body1="world" body2="two"/>', '<exclude body1="two" body2="other"/>'])
def test_a_named_pair_takes_nothing_from_the_other_geoms_of_its_bodies(rule):
    """The floor, two balls of one body and one of another, all of which touch."""
    source = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><geom name="floor" type="plane" size="2 2 1"/>
        <body name="two" pos="0 0 .1"><freejoint/><geom name="left" size=".11"/>
          <geom name="right" size=".11" pos=".15 0 0"/></body>
        <body name="other" pos=".08 .1 .1"><freejoint/><geom name="ball" size=".11"/></body></worldbody>
        <contact><pair geom1="left" geom2="floor" condim="1"/><pair geom1="ball" geom2="right" condim="1"/>{rule}
        </contact>
        </mujoco>"""
    )
    data = mujoco.MjData(source)
    mujoco.mj_forward(source, data)
    found = {(*sorted((c.geom1, c.geom2)), c.condim) for c in candidates(load(source))}
    assert found == {(*sorted(map(int, c.geom)), c.dim) for c in data.contact}
    assert len(found) == 5 - bool(rule)


def test_sizes_that_are_leaves_reach_as_far_as_mujocos():
    """A plane has no bounding sphere, whatever its size."""
    geoms = "".join(f'<geom type="{shape.name.lower()}" size=".1 .2 .3"/>' for shape in COUNT)
    mujocos = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
    with jax.enable_x64(True):
        model = load(mujocos)
        halved = model.with_numbers(geom_size=0.5 * model.geom_size)
        for reach, share in ((model, 1.0), (halved, 0.5), (halved.with_numbers(geom_rbound=model.geom_rbound), 1.0)):
            found = [bounding_radius(reach, geom).value for geom in range(model.ngeom)]
            np.testing.assert_allclose(found, share * mujocos.geom_rbound, rtol=1e-12)


@pytest.mark.full("covered")
def test_which_geoms_may_touch_is_known_without_going_through_all_pairs_one_by_one(monkeypatch):
    """900 free balls are 405,000 pairs, which `load` once took minutes for."""
    monkeypatch.setattr(collision_candidates, "_mixed", lambda *_: pytest.fail("a pair was made"))
    balls = "<replicate count='900' offset='.3 0 0'><body><freejoint/><geom size='.1'/></body></replicate>"
    model = load(f"<mujoco><worldbody><geom type='plane' size='9 9 1'/>{balls}</worldbody></mujoco>")
    assert type_pairs(model) == [(GeomType.PLANE, GeomType.SPHERE), (GeomType.SPHERE, GeomType.SPHERE)]


def test_pairs_that_there_is_no_function_for_are_found():
    cylinders = '<body><freejoint/><geom type="cylinder" size=".1 .1"/></body>' * 2
    model = load("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    assert first_unsupported(model) is None
    with pytest.raises(ConfigError, match=r"^geom 0 and geom 1: got 'cylinder-cylinder contacts'"):
        load(mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{cylinders}</worldbody></mujoco>"))
    assert all(first <= second for first, second in COLLISION_FUNCTIONS)
