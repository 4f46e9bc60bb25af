"""Ellipsoids that touch capsules and ellipsoids: placed so that distance, points and normal are known, and beside C.

Shapes are from spheres to half axes of 1 to 20, and as deep in one another as they may be.
"""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_contacts import BY_ELLIPSOIDS, rows_of

import kousoku as ks
from kousoku.physics.algebra.scalar import Num, num, nums
from kousoku.physics.algebra.vector import Mat, quat, vec
from kousoku.physics.collision.geom import GeomInfo, GeomType
from kousoku.physics.collision.narrow_phase import COLLISION_FUNCTIONS
from kousoku.physics.stages.kinematics import Frame

NAMES = [f"{a.name}_{b.name}".lower() for a, b in BY_ELLIPSOIDS]
HALF_SIZES = {
    "usual": (0.1, 0.07, 0.13),
    "round": (0.1, 0.1, 0.1),
    "flat": (0.2, 0.2, 0.01),
    "long": (0.01, 0.2, 0.01),
    "thin": (0.2, 0.01, 0.07),
    "nearly round": (0.1, 0.1 + 1e-9, 0.1 - 1e-7),
}
PAIRS = [(pair, a, b) for pair in BY_ELLIPSOIDS for a in HALF_SIZES for b in HALF_SIZES
         if pair[0] == GeomType.ELLIPSOID or a == "usual"]  # fmt: skip


def touching(pair: tuple[GeomType, GeomType], places, turns, sizes) -> list[Num]:
    """Our contact of two geoms: distance, point, normal."""
    geoms = []
    for place, turned, size in zip(places, turns, sizes, strict=True):
        frame = Frame(vec(nums(place)), quat([1.0, 0.0, 0.0, 0.0]), Mat(*(vec(nums(row)) for row in turned)))
        geoms.append(GeomInfo(frame, nums(size), num(0.0)))
    (touch,) = COLLISION_FUNCTIONS[pair](*geoms)
    return [touch.dist, *touch.pos, *touch.normal]


def turned(rng: np.random.Generator) -> np.ndarray:
    """A rotation at random; one in three is by quarters."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    q = np.eye(3)[rng.permutation(3)] if rng.random() < 1 / 3 else q
    return q * np.sign(np.linalg.det(q))


def farthest(shape: GeomType, size: np.ndarray, turn: np.ndarray, normal: np.ndarray, place: float) -> np.ndarray:
    """The point of a shape about the origin in a direction; on the side of a capsule, the one at a place."""
    along = turn.T @ normal
    if shape == GeomType.ELLIPSOID:
        return turn @ (size**2 * along) / np.linalg.norm(size * along)
    end = place if abs(along[2]) < 1e-9 else np.sign(along[2])
    return turn[:, 2] * end * size[1] + normal * size[0]


def known(pair, first: str, second: str, low: float, high: float, rng) -> tuple[list[np.ndarray], np.ndarray]:
    """Two shapes so far apart along a normal, and their contact; every other capsule touches with its side."""
    sizes = np.array([HALF_SIZES[first], HALF_SIZES[second]]) * rng.uniform(0.5, 1.0)
    turns = np.array([turned(rng), turned(rng)])
    normal = rng.normal(size=3) * (rng.random(3) > 0.2) + 1e-3
    if pair[0] == GeomType.CAPSULE and rng.random() < 0.5:
        normal -= turns[0, :, 2] * normal.dot(turns[0, :, 2])
    normal /= np.linalg.norm(normal)
    gap = rng.uniform(low, high)
    one = farthest(pair[0], sizes[0], turns[0], normal, rng.uniform(-0.9, 0.9))
    offset = one - farthest(pair[1], sizes[1], turns[1], -normal, 0.0) + gap * normal
    start = rng.normal(size=3)
    row = np.array([gap, *(start + one + 0.5 * gap * normal), *normal])
    return [np.array([start, start + offset]), turns, sizes], row


@pytest.mark.parametrize(("pair", "first", "second"), PAIRS)
def test_the_nearest_points_of_shapes_are_found(pair, first, second):
    """Apart, so that there is one contact, and overlapping less than the shapes are curved."""
    rng = np.random.default_rng([len(first), len(second)])
    for low, high in ((1e-6, 0.02), (0.02, 0.2), (-1e-4, 0.0)):
        for _ in range(2):
            given, wanted = known(pair, first, second, low, high, rng)
            found = np.array([x.value for x in touching(pair, *given)])
            np.testing.assert_allclose(found[0], wanted[0], atol=1e-11)
            np.testing.assert_allclose(found[1:], wanted[1:], atol=1e-6)
            if pair[0] == pair[1]:
                swapped = np.array([x.value for x in touching(pair, *(x[::-1] for x in given))])
                np.testing.assert_allclose(swapped, found * np.array([1, 1, 1, 1, -1, -1, -1]), atol=1e-6)


def separations(pair, offset: np.ndarray, turns: np.ndarray, sizes: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """How far the second shape has to move in each direction until the two are apart."""
    moves = -directions @ offset
    for shape, turn, size in zip(pair, turns, sizes, strict=True):
        along = directions @ turn
        if shape == GeomType.ELLIPSOID:
            moves += np.linalg.norm(along * size, axis=-1)
        else:
            moves += size[0] + size[1] * np.abs(along[:, 2])
    return moves


def check_shortest(pair, row: np.ndarray, places, turns: np.ndarray, sizes: np.ndarray, rng) -> None:
    """Of thousands of directions, all around and beside that of a contact, none parts the shapes by a shorter move."""
    beside = row[4:] + rng.normal(size=(300, 3)) * rng.choice([1e-4, 1e-3, 1e-2, 0.1], (300, 1))
    directions = np.concatenate([rng.normal(size=(4000, 3)), beside, row[None, 4:]])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    moves = separations(pair, places[1] - places[0], turns, sizes, directions)
    np.testing.assert_allclose(-row[0], moves[-1], atol=1e-6)
    assert moves.min() > -row[0] - 1e-7


@pytest.mark.parametrize("pair", BY_ELLIPSOIDS, ids=NAMES)
def test_no_direction_parts_shapes_by_a_shorter_move(pair):
    """However deep they are in one another; about one centre, too."""
    rng = np.random.default_rng(7)
    cases = [known(pair, a, b, low, 0.0, rng)[0] for _, a, b in PAIRS if _ == pair for low in (-0.2, -0.1, -0.02) * 2]
    given = [np.array(x) for x in zip(*cases, *special(pair), strict=True)]
    with jax.enable_x64(True):
        found = np.array(jax.jit(jax.vmap(lambda *x: jnp.stack([y.value for y in touching(pair, *x)])))(*given))
    for row, *shapes in zip(found, *given, strict=True):
        check_shortest(pair, row, *shapes, rng)


def special(pair: tuple[GeomType, GeomType]) -> list[list[np.ndarray]]:
    """One within the other or about its centre, aligned and not, of every shape."""
    rng, cases = np.random.default_rng(5), []
    for first in HALF_SIZES:
        for second in HALF_SIZES:
            for away in (0.0, 1e-12, 1e-3, 0.03):
                places = np.array([np.zeros(3), away * rng.normal(size=3) * (rng.random(3) > 0.3)])
                turns = np.array([turned(rng), turned(rng)])
                turns[1] = turns[rng.integers(2)]
                cases.append([places, turns, np.array([HALF_SIZES[first], HALF_SIZES[second]])])
    return cases


@pytest.mark.full("covered")
@pytest.mark.parametrize("pair", BY_ELLIPSOIDS, ids=NAMES)
def test_the_slope_of_the_distance_is_the_normal(pair):
    """In both kinds of numbers; in float32 contacts are those of float64; all is finite where centres meet, too."""
    rng = np.random.default_rng(3)
    cases = [known(pair, a, b, -1e-3, 0.1, rng)[0] for _, a, b in PAIRS for _ in range(5)]
    count = len(cases)
    given = [np.array(x) for x in zip(*cases, *special(pair), strict=True)]

    def contact(places, turns, sizes):
        return jnp.stack([x.value for x in touching(pair, places, turns, sizes)])

    def slope(*args):
        return jax.grad(lambda *x: contact(*x)[0], argnums=(0, 1, 2))(*args), jax.jacfwd(contact)(*args)

    found = {}
    for dtype in (jnp.float64, jnp.float32):
        with jax.enable_x64(dtype == jnp.float64):
            many = [jnp.asarray(x, dtype) for x in given]
            rows, slopes = (jax.vmap(ks.kernel(f))(*many) for f in (contact, slope))
            assert all(np.isfinite(x).all() for x in jax.tree.leaves((rows, slopes)))
            found[dtype] = np.array(rows), np.array(slopes[0][0])
    rows, slopes = found[jnp.float64]
    np.testing.assert_allclose(slopes[:count, 1], rows[:count, 4:], atol=1e-6)
    rough, slopes = found[jnp.float32]
    error = np.abs(rough - rows)[:count]
    assert error[:, 0].max() < 1e-6
    assert np.quantile(error[:, 1:], 0.99) < 1e-4
    assert np.quantile(np.abs(slopes[:count, 1] - rows[:count, 4:]), 0.99) < 1e-3


@pytest.mark.full("covered")
@pytest.mark.parametrize("pair", BY_ELLIPSOIDS, ids=NAMES)
def test_overlapping_shapes_are_parted_as_in_mujoco(pair):
    """The shortest way, where C comes to its end; it finds normals to a few millionths."""
    rng, compared, ended = np.random.default_rng(9), 0, 0
    for _, first, second in PAIRS * 6:
        (places, turns, sizes), _ = known(pair, first, second, -0.1, 0.01, rng)
        bodies = ""
        for shape, place, turn, size in zip(pair, places, turns, sizes, strict=True):
            q = np.zeros(4)
            mujoco.mju_mat2Quat(q, turn.flatten())
            at, way, by = (" ".join(map(repr, x.tolist())) for x in (place - places[0], q, size))
            geom = f'<geom type="{shape.name.lower()}" size="{by}"/>'
            bodies += f'<body pos="{at}" quat="{way}"><freejoint/>{geom}</body>'
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option ccd_tolerance="1e-15" ccd_iterations="1000"/><default><geom margin=".01"/></default>'
            f"<worldbody>{bodies}</worldbody></mujoco>"
        )
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        wanted = rows_of(data.contact)[:, :7]
        found = np.array([x.value for x in touching(pair, places - places[0], turns, sizes)])
        assert len(wanted) == (found[0] < 0.02)
        for theirs in wanted:
            compared += 1
            if found[0] < theirs[0] - 1e-9:  # C's polytope still lies within what both shapes make together
                check_shortest(pair, found, places, turns, sizes, rng)
                ended += 1
                continue
            np.testing.assert_allclose(found[0], theirs[0], atol=1e-9)
            np.testing.assert_allclose(found[1:], theirs[1:], atol=1e-4)
    assert compared > 40 * (ended + 1)
