"""Meshes and height fields that can touch nothing, which are bodies like others; those that can are refused by name."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_rows import evaluated, values
from physics_states import Oracle, get_state

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import State, load, step

FLOOR = '<geom name="floor" type="plane" size="2 2 1"/>'
HULL = '<geom name="{}" type="mesh" mesh="m" {}/>'
HILL = '<geom name="{}" type="hfield" hfield="h" {}/>'
SHOWN = 'contype="0" conaffinity="0"'


def moving(*geoms: str, body: str = "a", within: str = "") -> str:
    return f'<body name="{body}" pos="0 .1 1"><freejoint/>{"".join(geoms)}{within}</body>'


def text(world: str, tail: str = "", option: str = "") -> str:
    """A model with a tetrahedron `m` and a height field `h`; one element a line."""
    assets = '<mesh name="m" vertex="0 0 0 .1 0 0 0 .2 0 0 0 .3"/><hfield name="h" nrow="3" ncol="3" size="1 1 1 .1"/>'
    model = f"<mujoco><option>{option}</option><asset>{assets}</asset><worldbody>{world}</worldbody>{tail}</mujoco>"
    return model.replace("><", ">\n<")


CHILD = f'<body pos=".1 0 .1"><joint axis="0 1 0"/>{HULL.format("child", "")}</body>'
OFF = '<flag contact="disable"/>'
EXCLUDE = '<contact><exclude body1="a" body2="b"/></contact>'
SEEN_ONLY = moving(HULL.format("hull", SHOWN))
# Models with meshes or height fields that have nothing to touch. Height fields and planes do not meet one another.
IDLE = {
    "alone": text(moving(HULL.format("hull", ""))),
    "seen only": text(FLOOR + SEEN_ONLY),
    "of the same body": text(moving(HULL.format("hull", ""), '<geom size=".1"/>', HULL.format("other", ""))),
    "of a parent": text(moving(HULL.format("hull", ""), within=CHILD)),
    "that stand": text(HULL.format("wall", "") + f"<body>{HULL.format('other', '')}</body>" + FLOOR + SEEN_ONLY),
    "excluded": text(moving(HULL.format("hull", "")) + moving(HULL.format("other", ""), body="b"), EXCLUDE),
    "of other kinds": text(
        moving(HULL.format("hull", 'contype="2" conaffinity="4"')) + moving('<geom size=".1"/>', body="b")
    ),
    "hills that are seen only": text(FLOOR + HILL.format("hill", SHOWN) + moving('<geom size=".1"/>')),
    "hills on the ground": text(
        FLOOR
        + HILL.format("hill", "")
        + moving(HILL.format("other", ""), '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>')
    ),
    "without contacts": text(FLOOR + moving(HULL.format("hull", "")), option=OFF),
    "without constraints": text(FLOOR + moving(HULL.format("hull", "")), option=OFF.replace("contact", "constraint")),
}
ELLIPSOID, BALL = '<geom type="ellipsoid" size=".1 .1 .2"/>', '<geom name="ball" size=".1"/>'
PAIR = '<contact><pair name="p" geom1="{}" geom2="{}"/></contact>'
# Models with geoms that may touch, where that is, and what is said of it.
TOUCHING = {
    "the floor": (text(FLOOR + moving(HULL.format("hull", ""))), ("geom 'floor'", "geom 'hull'"), "plane-mesh"),
    "a ball": (
        text(moving(HULL.format("hull", "")) + moving(BALL, body="b")), ("geom 'ball'", "geom 'hull'"), "sphere-mesh"),
    "a mesh": (
        text(SEEN_ONLY + moving(HULL.format("one", ""), body="b") + moving(HULL.format("two", ""), body="c")),
        ("geom 'one'", "geom 'two'"), "mesh-mesh"),
    "where another stands": (
        text(HULL.format("wall", "") + moving(BALL)), ("geom 'ball'", "geom 'wall'"), "sphere-mesh"),
    "a hill": (text(HILL.format("hill", "") + moving(BALL)), ("geom 'hill'", "geom 'ball'"), "hfield-sphere"),
    "a hill by name": (text(HILL.format("hill", SHOWN) + moving(BALL), PAIR.format("hill", "ball")), ("pair 'p'",),
                       "hfield-sphere"),
    "by name": (text(SEEN_ONLY + FLOOR, PAIR.format("hull", "floor")), ("pair 'p'",), "plane-mesh"),
    "without names": (
        text(moving(ELLIPSOID) + moving('<geom type="cylinder" size=".1 .1"/>', body="b")), ("geom", "geom"),
        "ellipsoid-cylinder"),
    "beside what is only seen": (
        text(f'<geom type="ellipsoid" size=".1 .1 .1" {SHOWN}/>' + moving(ELLIPSOID.replace(" ", ' name="e" ', 1))
             + moving(BALL.replace("size", 'type="box" size=".1 .1 .1" mass'), body="b")),
        ("geom 'e'", "geom 'ball'"), "ellipsoid-box"),
}  # fmt: skip


@pytest.mark.by_default(
    "hills on the ground", "alone", "of the same body", "seen only", "without constraints", "without contacts"
)
@pytest.mark.parametrize("name", IDLE)
def test_what_can_touch_nothing_moves_as_in_c(name):
    theirs = mujoco.MjModel.from_xml_string(IDLE[name])
    data, oracle = mujoco.MjData(theirs), Oracle(theirs)
    data.qvel[:] = np.resize([1.0, -0.5, 2.0], theirs.nv)
    model = load(IDLE[name])
    for _ in range(5):
        state = get_state(data)
        smooth, constraints = evaluated(model, state)
        wanted = oracle.forward(state)
        assert not constraints
        assert not len(wanted["contact_geom"])
        np.testing.assert_allclose(values(smooth.qacc_smooth), wanted["qacc"], atol=1e-11, rtol=1e-11)
        mujoco.mj_step(theirs, data, 10)


@pytest.mark.full("covered")
def test_a_mesh_that_can_touch_nothing_steps_as_in_c():
    theirs = mujoco.MjModel.from_xml_string(IDLE["alone"])
    data = mujoco.MjData(theirs)
    data.qvel[:] = [1.0, -0.5, 2.0, 3.0, -4.0, 5.0]
    with jax.enable_x64(True):
        model = load(IDLE["alone"])
        start = State(*(jnp.asarray(x) for x in (data.qpos, data.qvel, data.act, data.qacc_warmstart)))
        after = jax.jit(ks.kernel(lambda state: step(model, state, jnp.zeros(0))))(start)
    mujoco.mj_step(theirs, data)
    np.testing.assert_allclose(after.qpos, data.qpos, atol=1e-12)
    np.testing.assert_allclose(after.qvel, data.qvel, atol=1e-12)


@pytest.mark.parametrize("name", TOUCHING)
def test_geoms_that_may_touch_in_ways_that_there_are_not_are_named(name):
    text, elements, kinds = TOUCHING[name]
    lines = text.splitlines()
    with pytest.raises(ConfigError) as caught:
        load(text)
    *places, said = str(caught.value).replace(": got '", " and ").split(" and ", len(elements))
    for place, element in zip(places, elements, strict=True):
        tag, _, quoted = element.partition(" ")
        line = int(place.split(",")[0].removeprefix("line "))
        assert f"<{tag}" in place
        assert f"<{tag}" in lines[line - 1]
        assert quoted in place
        assert quoted.strip("'") in lines[line - 1]
    assert len(set(places)) == len(elements)
    fix = "leave the pair out" if "pair" in elements[0] else "let these not touch, by contype and conaffinity or by"
    assert said.startswith(f"{kinds} contacts'; the engine has box-box, ")
    assert fix in said
    if "pair" not in elements[0]:
        with pytest.raises(ConfigError, match=f"^{elements[0]}.* and {elements[1]}.*: got '{kinds} contacts'"):
            load(mujoco.MjModel.from_xml_string(text))


def test_rays_that_may_see_a_height_field_are_refused():
    seen = text(
        HILL.format("hill", "{}") + moving(BALL, '<site name="eye"/>'), "<sensor><rangefinder site='eye'/></sensor>"
    )
    with pytest.raises(ConfigError, match="rangefinder that may see a hfield, geom 'hill'"):
        load(seen.format(SHOWN))
    assert load(seen.format(f'{SHOWN} rgba="0 0 0 0"')).ngeom == 2
