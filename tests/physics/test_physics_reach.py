"""Geoms that can never meet: a model is not refused for contacts that the engine lacks, where there can be none."""

import re

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from kousoku.core.errors import ConfigError
from kousoku.physics import State, forward, initial_state, load
from kousoku.physics.collision.reach import are_out_of_reach
from kousoku.physics.mjcf.load import from_mujoco

WHEEL = '<geom name="{}" type="cylinder" size=".1 .1" {}/>'


def two(joint: str, place: str = "1 0 0", inner: str = "", outer: str = "") -> str:
    """A wheel in the world, and one on a joint."""
    wheel, other = WHEEL.format("one", inner), WHEEL.format("other", outer)
    return f"<mujoco><worldbody>{wheel}<body pos='{place}'>{joint}{other}</body></worldbody></mujoco>"


HINGE, BALL = '<joint axis="0 1 0" {}/>', '<joint type="ball" {}/>'


@pytest.mark.parametrize(
    "text",
    [
        two(HINGE.format("")),
        two(HINGE.format('pos=".2 0 0"')),
        two(BALL.format('pos=".2 0 0"')),
        two(HINGE.format("") + HINGE.format('pos="0 .1 0" axis="0 0 1"').replace('axis="0 1 0" ', "")),
        two(HINGE.format(""), place=".3 0 0"),
        two(HINGE.format('pos="0 5 0"')),
        two("<joint type='slide'/>").replace("<worldbody>", "<worldbody><body><freejoint/>").replace(
            "<body pos='1 0 0'><joint type='slide'/>", "<body pos='1 0 0'>" + HINGE.format("")).replace(
            "</worldbody>", "</body></worldbody>"),
    ],
    ids=["hinge", "anchor beside", "ball", "two hinges", "near", "along the axis", "both on a body that flies"],
)  # fmt: skip
def test_what_cannot_meet_may_be_of_any_types(text: str) -> None:
    model = load(text)
    assert not forward(model, initial_state(model), jnp.zeros(0)).solution.qfrc_constraint[0].value


@pytest.mark.parametrize(
    "text",
    [
        two(HINGE.format(""), place=".25 0 0"),
        two(HINGE.format('pos="-.8 0 0"')),
        two(BALL.format('pos="-.8 0 0"')),
        two("<joint type='slide'/>"),
        two("<freejoint/>"),
        two(HINGE.format("") + "<joint type='slide' axis='0 0 1'/>"),
        two(HINGE.format(""), inner='margin=".8"'),
        two(HINGE.format(""), outer='margin=".8"'),
        two(HINGE.format(""), outer='pos=".5 0 .6"'),
    ],
    ids=["near", "anchor", "ball's anchor", "slide", "free", "slide too", "margin", "its margin", "far from the axis"],
)
def test_what_may_meet_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="cylinder-cylinder contacts"):
        load(text)


def test_a_pair_that_the_file_names_is_refused_anyway() -> None:
    named = '<contact><pair geom1="one" geom2="other"/></contact></mujoco>'
    with pytest.raises(ConfigError, match="cylinder-cylinder contacts"):
        load(two(HINGE.format("")).replace("</mujoco>", named))


def test_numbers_that_decide_it_have_to_stay() -> None:
    model = load(two(HINGE.format("")))
    state, none = initial_state(model), jnp.zeros(0)
    forward(model.with_numbers(body_mass=jnp.asarray(model.body_mass)), state, none)
    for name in ("body_pos", "geom_size", "jnt_pos", "geom_margin"):
        varied = model.with_numbers(**{name: jnp.asarray(model.constants[name])})
        with pytest.raises(
            ConfigError, match=re.escape(f"{name}: got 'other numbers'; leave them as they are")
        ) as caught:
            forward(varied, state, none)
        assert "one and other cannot touch so" in str(caught.value)
    with pytest.raises(ConfigError, match="leave them as they are"):
        forward(model.with_numbers(body_pos={1: [0.1, 0.0, 0.0]}), state, none)


def test_places_of_other_bodies_may_vary() -> None:
    model = load(two(HINGE.format("")).replace("</worldbody>", "<body><geom size='.01'/></body></worldbody>"))
    forward(model.with_numbers(body_pos={2: [3.0, 0.0, 0.0]}), initial_state(model), jnp.zeros(0))


def test_a_model_without_contacts_may_have_any_geoms() -> None:
    near = two(HINGE.format(""), place=".25 0 0")
    for flag in ("contact", "constraint"):
        load(near.replace("<worldbody>", f'<option><flag {flag}="disable"/></option><worldbody>'))


def test_many_geoms_are_looked_at_in_no_time() -> None:
    """Of 300 wheels, each on a hinge, 44,850 pairs are out of reach: each wheel's ball is computed once."""
    bodies = "".join(f'<body pos="{i} 0 0">{HINGE.format("")}{WHEEL.format(i, "")}</body>' for i in range(300))
    assert load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>").ngeom == 300


def random_arms(rng: np.random.Generator) -> str:
    """Two arms of hinges and balls on a body that flies, and boxes and cylinders on all their links."""

    def vector(scale: float) -> str:
        return " ".join(f"{x:.3f}" for x in rng.normal(0.0, scale, 3))

    def link(depth: int) -> str:
        kinds = ["ball"] if rng.random() < 0.3 else ["hinge"] * int(rng.integers(0, 3))
        joints = "".join(f'<joint type="{kind}" pos="{vector(0.1)}" axis="{vector(1.0)}"/>' for kind in kinds)
        geom = f'<geom type="{rng.choice(["box", "cylinder"])}" size=".04 .05 .03" pos="{vector(0.1)}"/>'
        return f'<body pos="{vector(0.3)}" euler="{vector(60)}">{joints}{geom}{link(depth - 1) if depth else ""}</body>'

    return f"<mujoco><worldbody><body><freejoint/><geom size='.05'/>{link(2)}{link(2)}</body></worldbody></mujoco>"


@pytest.mark.parametrize("seed", range(3))
def test_no_position_brings_them_together(seed: int) -> None:
    """Of random arms: in a thousand positions the balls round geoms out of reach never overlap."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(8):
        theirs = mujoco.MjModel.from_xml_string(random_arms(rng))
        theirs.geom_contype[:] = 0
        model, data = from_mujoco(theirs), mujoco.MjData(theirs)
        all_pairs = [(a, b) for a in range(model.ngeom) for b in range(a)]
        pairs = [pair for pair, never in zip(all_pairs, are_out_of_reach(model, all_pairs), strict=True) if never]
        nearest = np.full(len(pairs), np.inf)
        for _ in range(125):
            data.qpos[:] = rng.normal(0.0, 2.0, theirs.nq)
            mujoco.mj_normalizeQuat(theirs, data.qpos)
            mujoco.mj_kinematics(theirs, data)
            for i, (a, b) in enumerate(pairs):
                gap = np.linalg.norm(data.geom_xpos[a] - data.geom_xpos[b]) - theirs.geom_rbound[[a, b]].sum()
                nearest[i] = min(nearest[i], gap)
        assert (nearest > 0.0).all()
        found += len(pairs)
    assert found > 5


def test_states_of_a_model_step_as_without_the_pair() -> None:
    """The wheels' model moves as C's, which looks at the pair and never finds a contact."""
    text = two(HINGE.format('pos=".1 0 0"'))
    model, theirs = load(text), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = 0.3, 1.0
    mujoco.mj_forward(theirs, data)
    state = State(jnp.array([0.3]), jnp.array([1.0]), jnp.zeros(0), jnp.zeros(1))
    found = forward(model, state, jnp.zeros(0)).solution.qacc[0].value
    assert float(found) == pytest.approx(data.qacc[0], rel=1e-5)
