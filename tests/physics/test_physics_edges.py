"""Where C MuJoCo has a rule of its own: ranges of activations in RK4, ends of edges, no mass, a quaternion of zeros,
forces that act or do not, numbers of zero.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import compiled
from physics_states import silent

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import (
    State,
    contacts,
    contacts_of,
    energy,
    forward,
    initial_state,
    inverse,
    kinematics,
    load,
    sensors,
    simulate,
    stages,
    step,
)
from kousoku.physics.algebra.scalar import nums
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.model import check_vector

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")
SLIDER = """<mujoco><option timestep="0.02" integrator="{integrator}"/><worldbody><body>
<joint name="j" type="slide" damping=".3" stiffness="2"/><geom size=".1" mass="1"/></body></worldbody>
<actuator><general joint="j" {dynamics}/></actuator></mujoco>"""
DYNAMICS = {
    "integrator": 'dyntype="integrator" actlimited="true" actrange="-.1 .1"',
    "filter": 'dyntype="filter" dynprm=".1" actlimited="true" actrange="-.1 .1"',
    "filterexact": 'dyntype="filterexact" dynprm=".05"',
    "early": 'dyntype="filterexact" dynprm=".05" actlimited="true" actrange="-.1 .1" actearly="true"',
}


def at_the_beginning(text: str) -> mujoco.MjData:
    """Returns what C MuJoCo computes of a file before its first step."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_activations_move_as_in_c(integrator, dynamics):
    text = SLIDER.format(integrator=integrator, dynamics=DYNAMICS[dynamics])
    with silent():
        theirs = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(theirs)
        data.ctrl[:] = 1.0
        mujoco.mj_step(theirs, data, 20)
    with jax.enable_x64(True):
        model = load(text)
        state = simulate(model, initial_state(model), jnp.ones(1), 20, lambda f: None)[0]
    for ours, c in ((state.act, data.act), (state.qpos, data.qpos), (state.qvel, data.qvel)):
        np.testing.assert_allclose(ours, c, atol=1e-12)


BOXES = """<mujoco><worldbody><body><freejoint/><geom type="box" size=".1 .09 .08" margin=".5"/></body>
<body><freejoint/><geom type="box" size=".1 .09 .13"/></body></worldbody></mujoco>"""


@pytest.mark.full("covered")
def test_edges_touch_where_they_come_nearest():
    """Also where that is the end of one: the points are C's, of boxes apart in all manners."""
    rng = np.random.default_rng(0)
    away = rng.normal(size=(300, 3))
    away *= rng.uniform(0.15, 0.35, (300, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    turns = rng.normal(size=(2, 300, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    qpos = np.concatenate([np.zeros((300, 3)), turns[0], away, turns[1]], axis=1)
    with jax.enable_x64(True):
        model = load(BOXES)

        def touching(qpos):
            found = contacts(model, State(qpos, jnp.zeros(12), jnp.zeros(0), jnp.zeros(12)), jnp.zeros(0))
            return found.active, jnp.concatenate([found.position, found.distance[:, None]], axis=1)

        active, found = map(np.asarray, jax.jit(jax.vmap(ks.kernel(touching)))(jnp.asarray(qpos)))
    theirs = mujoco.MjModel.from_xml_string(BOXES)
    data, alone = mujoco.MjData(theirs), 0
    for place, there, ours in zip(qpos, active, found, strict=True):
        data.qpos[:] = place
        mujoco.mj_forward(theirs, data)
        wanted = [[*x.pos, x.dist] for x in data.contact]
        assert len(wanted) == there.sum()
        for point in wanted:
            assert np.abs(ours[there] - point).max(axis=1).min() < 1e-9
        alone += len(wanted) == 1
    assert alone > 30, "edges are hardly tried"


BARE = """<mujoco><worldbody><body pos="1 0 0"><joint axis="0 1 0"/><geom size=".1" pos="0 0 .2"/>
<body name="bare" pos=".2 0 .1"><site name="s"/></body></body></worldbody>
<sensor><subtreecom body="bare"/><subtreelinvel body="bare"/></sensor></mujoco>"""


@pytest.mark.full("covered")
def test_a_body_without_mass_is_its_own_centre_also_where_masses_are_traced():
    with jax.enable_x64(True):
        model = load(BARE)
        state = State(jnp.array([0.3]), jnp.array([0.5]), jnp.zeros(0), jnp.zeros(1))

        def felt(mass):
            varied = model.with_numbers(body_mass=mass)
            return sensors(forward(varied, state, jnp.zeros(0))), kinematics(varied, state.qpos).subtree_com

        (known, coms), (traced, traced_coms) = felt(model.body_mass), jax.jit(felt)(jnp.asarray(model.body_mass))
        slopes = jax.jacrev(felt)(jnp.asarray(model.body_mass))
    theirs = mujoco.MjModel.from_xml_string(BARE)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = 0.3, 0.5
    mujoco.mj_forward(theirs, data)
    for ours in (known, traced):
        np.testing.assert_allclose(ours, data.sensordata, atol=1e-14)
    for ours in (coms, traced_coms):
        np.testing.assert_allclose(ours, data.subtree_com, atol=1e-14)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slopes))


def test_a_quaternion_of_zeros_is_no_turn():
    text = "<mujoco><worldbody><body><freejoint/><geom type='box' size='.1 .2 .3'/></body></worldbody></mujoco>"
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = 0.0
    mujoco.mj_step(theirs, data)
    with jax.enable_x64(True):
        model = load(text)
        after = step(model, State(jnp.zeros(7), jnp.zeros(6), jnp.zeros(0), jnp.zeros(6)), jnp.zeros(0))
    np.testing.assert_allclose(after.qpos, data.qpos, atol=1e-14)
    np.testing.assert_allclose(after.qvel, data.qvel, atol=1e-14)


PENDULUM = load(SLIDER.format(integrator="Euler", dynamics=""))
START = initial_state(PENDULUM)
WRONG = {
    "ctrl: got float32[5]; this model takes 1 numbers, an array of shape [1]": lambda: step(
        PENDULUM, START, jnp.zeros(5)
    ),
    "state.qpos: got float32[9]; this model takes 1": lambda: step(
        PENDULUM, State(jnp.zeros(9), START.qvel, START.act, START.warmstart), jnp.zeros(1)
    ),
    "state.qvel: got float32[2]": lambda: energy(PENDULUM, State(START.qpos, jnp.zeros(2), START.act, jnp.zeros(2))),
    "qacc: got float32[2]": lambda: inverse(PENDULUM, START, jnp.zeros(2)),
    "qpos: got float32[2]": lambda: kinematics(PENDULUM, jnp.zeros(2)),
    "ctrl: got int32[1]; give floating point numbers": lambda: check_vector("ctrl", jnp.zeros(1, jnp.int32), 1),
    "steps: got 0": lambda: simulate(PENDULUM, START, jnp.zeros(1), 0, lambda f: None),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_not_of_the_models_shapes_is_refused(message):
    with pytest.raises(ConfigError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


@pytest.mark.by_default("limits_solimp_flat")
@pytest.mark.parametrize("name", ["box_stack", "limits_solimp_flat"])
def test_a_choice_between_known_numbers_has_the_states_dtype(name):
    """One box on another, of known sizes; a limit whose softness is known. The step is written, and not compiled."""
    model = load(compiled(name))
    after = jax.eval_shape(lambda state, ctrl: step(model, state, ctrl), initial_state(model), jnp.zeros(model.nu))
    assert {leaf.dtype for leaf in jax.tree.leaves(after)} == {jnp.dtype("float32")}


SLIDE = '<body name="b" {body}><joint name="j" type="slide" axis="1 2 3"/><geom size=".1" {geom}/></body>'
SLIDER_PARTS = '<joint type="slide"/><geom size=".1"/>'
SOFT = 'solimp=".5 .95 0" priority="1"'
ROW_OF_BALLS = [
    f'<body pos="0 0 {0.17 * i}"><joint type="slide" axis="0 0 1"/><geom size=".1" {{}}/></body>' for i in range(5)
]
DRONE = """<body><freejoint/><geom type="box" size=".1 .2 .3"/><body pos=".2 0 0"><geom size=".1"/></body>
<body pos="0 0 .4" euler="40 0 0"><geom type="box" size=".1 .03 .02"/></body></body>"""
BALL_ON_PLANE = (
    '<geom name="p" type="plane" size="1 1 1"/><body pos="0 0 .09"><freejoint/><geom name="g" size=".1"/></body>'
)
STILL = '<geom name="p" type="plane" size="1 1 1"/><body name="c"><geom name="q" size=".2"/></body>'
RULES = {
    "nothing passive without springs and dampers, no lift": (
        '<option><flag spring="disable" damper="disable"/></option>', SLIDE.format(body='gravcomp="1"', geom=""), "",
    ),
    "nor a fluid": (
        '<option density="9" viscosity=".1" integrator="implicit"><flag spring="disable" damper="disable"/></option>',
        SLIDE.format(body="", geom=""), "",
    ),
    "one of both leaves the other": (
        '<option density="1000"><flag spring="disable"/></option>', SLIDE.format(body='gravcomp=".5"', geom=""), "",
    ),
    "nothing lifted below zero alone": ("", SLIDE.format(body='gravcomp="-1"', geom=""), ""),
    "lifted below zero beside another": (
        "", SLIDE.format(body='gravcomp="-1"', geom="") + f'<body gravcomp=".1">{SLIDER_PARTS}</body>', "",
    ),
    "activations stand still without actuation": (
        '<option><flag actuation="disable"/></option>', SLIDE.format(body="", geom=""),
        '<actuator><general joint="j" dyntype="integrator"/></actuator>',
    ),
    "in RK4, too": (
        '<option integrator="RK4"><flag actuation="disable"/></option>', SLIDE.format(body="", geom=""),
        '<actuator><general joint="j" dyntype="filter" dynprm=".1"/></actuator>',
    ),
    "a free body is alone with what is fixed on it": ('<option integrator="implicitfast" gravity="0 0 0"/>', DRONE, ""),
    "impedance of no width, of many contacts": (
        '<option gravity="0 0 0"/>', "".join(b.format(SOFT if not i else "") for i, b in enumerate(ROW_OF_BALLS)), "",
    ),
    "geoms that cannot move": (
        "", STILL + SLIDE.format(body='pos="0 0 1"', geom=""),
        '<contact><pair geom1="p" geom2="q"/></contact>',
    ),
    "an impratio of 0": ('<option impratio="0"/>', BALL_ON_PLANE, ""),
    "of an elliptic cone": ('<option impratio="0" cone="elliptic"/>', BALL_ON_PLANE, ""),
}  # fmt: skip


def many_steps(theirs, model, steps=10):
    """Velocities that C makes from a common start, and ours: positions [nq], velocities [nv] and activations [na]."""
    data = mujoco.MjData(theirs)
    data.qvel[:] = np.linspace(0.5, 2.0, theirs.nv)
    data.ctrl[:] = 1.0
    start = initial_state(model)
    start = State(start.qpos, jnp.asarray(data.qvel), start.act, start.warmstart)
    state = simulate(model, start, jnp.asarray(data.ctrl), steps, lambda f: None)[0]
    mujoco.mj_step(theirs, data, steps)
    return zip((state.qpos, state.qvel, state.act), (data.qpos, data.qvel, data.act), strict=True)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_c_holds(rule):
    option, bodies, more = RULES[rule]
    text = f"<mujoco>{option}<worldbody>{bodies}</worldbody>{more}</mujoco>"
    with silent(), jax.enable_x64(True):
        for ours, c in many_steps(mujoco.MjModel.from_xml_string(text), load(text)):
            np.testing.assert_allclose(ours, c, atol=1e-11)


ZEROS = {
    "geom_solimp": ("", "".join(b.format(SOFT) for b in ROW_OF_BALLS[:2]), ""),
    "pair_solreffriction": (
        '<option cone="elliptic"/>', BALL_ON_PLANE, '<contact><pair geom1="p" geom2="g"/></contact>',
    ),
    "body_gravcomp": ("", SLIDE.format(body="", geom=""), ""),
}  # fmt: skip
RISER = """<body gravcomp="{}"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body>"""
SHARES = {"below zero alone": (-0.5, -2), "below zero beside another": (-0.5, 0.1), "none": (0, 0)}


@pytest.mark.parametrize("shares", SHARES)
def test_a_share_of_weight_below_zero_means_the_same_where_it_is_a_leaf(shares):
    """It is a load where another share is above zero, and nothing where none is."""
    text = f"<mujoco><worldbody>{''.join(map(RISER.format, SHARES[shares]))}</worldbody></mujoco>"
    with silent(), jax.enable_x64(True):
        model = load(text)
        model = model.with_numbers(body_gravcomp=jnp.asarray(model.body_gravcomp))
        for ours, c in many_steps(mujoco.MjModel.from_xml_string(text), model):
            np.testing.assert_allclose(ours, c, atol=1e-11)


@pytest.mark.parametrize("start", [-0.2, 0.1, 0.2, 0.5])
def test_a_tendon_whose_spring_ends_before_it_begins_is_drawn_to_one_end(start):
    theirs = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody>{SLIDE.format(body="", geom="")}</worldbody><tendon><fixed name="t" stiffness="9"
        springlength="0 .1"><joint joint="j" coef="1"/></fixed></tendon></mujoco>"""
    )
    theirs.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    theirs.tendon_lengthspring[:] = 0.3, 0.15
    data = mujoco.MjData(theirs)
    data.qpos[:] = start
    mujoco.mj_forward(theirs, data)
    with jax.enable_x64(True):
        model = from_mujoco(theirs)
        for own in (model, model.with_numbers(tendon_lengthspring=jnp.asarray(model.tendon_lengthspring))):
            state = replace(initial_state(own), qpos=jnp.array([start]))
            np.testing.assert_allclose(forward(own, state, jnp.zeros(0)).solution.qacc[0].value, data.qacc[0])
            np.testing.assert_allclose(energy(own, state), data.energy, atol=1e-12)


@pytest.mark.parametrize("field", ZEROS)
def test_zeros_mean_the_same_where_they_are_leaves(field):
    """A field of which some numbers are 0, which stands for something else than 0, given back to the model."""
    option, bodies, more = ZEROS[field]
    text = f"<mujoco>{option}<worldbody>{bodies}</worldbody>{more}</mujoco>"
    with silent(), jax.enable_x64(True):
        model = load(text)
        model = model.with_numbers(**{field: jnp.asarray(getattr(model, field))})
        for ours, c in many_steps(mujoco.MjModel.from_xml_string(text), model):
            np.testing.assert_allclose(ours, c, atol=1e-11)


FLUID = '<option density="1.2" viscosity="1e2" integrator="{}"/>'
CARRIED = '<body><joint type="slide"/><geom size=".1"/><body pos="0 0 .1"><site/></body></body>'


@pytest.mark.parametrize("integrator", ["Euler", "implicit"])
def test_a_fluid_does_not_feel_a_body_without_mass_also_where_that_is_a_leaf(integrator):
    text = f"<mujoco>{FLUID.format(integrator)}<worldbody>{CARRIED}</worldbody></mujoco>"
    with silent(), jax.enable_x64(True):
        model = load(text)
        model = model.with_numbers(body_mass=model.body_mass, body_inertia=model.body_inertia)
        for ours, c in many_steps(mujoco.MjModel.from_xml_string(text), model, steps=1):
            np.testing.assert_allclose(ours, c, rtol=0.0, atol=1e-11)


def test_a_fluid_feels_a_light_body_without_inertia_as_c_does():
    """The box that stands for it has sides, if short ones: the shorter the heavier it is."""
    body = """<body pos="0 0 .5"><joint axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><body pos=".3 0 0">
        <inertial pos="0 0 0" mass="1e-8" diaginertia="0 0 0"/></body></body>"""
    option = '<option density="1000" viscosity="1" gravity="0 0 0"/>'
    text = f"<mujoco>{option}<worldbody>{body}</worldbody></mujoco>"
    with silent(), jax.enable_x64(True):
        theirs = mujoco.MjModel.from_xml_string(text)
        for ours, c in many_steps(theirs, load(text), steps=3):
            np.testing.assert_allclose(ours, c, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("fields", [("body_mass",), ("body_inertia",), ("body_mass", "body_inertia")])
def test_its_derivative_by_masses_is_that_of_bodies_that_have_some(fields):
    with jax.enable_x64(True):
        model = load(f"<mujoco>{FLUID.format('Euler')}<worldbody>{CARRIED}</worldbody></mujoco>")

        def resistance(share):
            varied = model.with_numbers(**{field: share * jnp.asarray(getattr(model, field)) for field in fields})
            k = stages.kinematics.kinematics(varied, nums(model.qpos0))
            com = stages.com_pos.com_pos(varied, k)
            vel = stages.com_vel.com_vel(varied, com, nums(np.array([2.0])))
            return stages.passive.fluid(varied, k, com, vel)[0].value

        slope, difference = jax.grad(resistance)(1.0), (resistance(1.0 + 1e-5) - resistance(1.0 - 1e-5)) / 2e-5
    assert resistance(1.0) < -1e-3
    np.testing.assert_allclose(slope, difference, atol=1e-8)


def test_a_cutoff_of_0_that_is_a_leaf_cuts_nothing_off():
    model = load(
        """<mujoco><worldbody><body><joint name="j" type="slide"/><geom size=".1"/></body></worldbody>
        <sensor><jointpos joint="j"/><jointpos joint="j" cutoff=".2"/></sensor></mujoco>"""
    )
    state = State(jnp.array([0.5]), jnp.zeros(1), jnp.zeros(0), jnp.zeros(1))
    for own in (model, model.with_numbers(sensor_cutoff=model.sensor_cutoff)):
        np.testing.assert_allclose(sensors(forward(own, state, jnp.zeros(0))), [0.5, 0.2], rtol=1e-6)


def test_a_contact_of_geoms_that_cannot_move_is_told_and_pushes_nothing():
    text = f"""<mujoco><worldbody>{STILL}{SLIDE.format(body='pos="0 0 1"', geom="")}</worldbody>
        <contact><pair geom1="p" geom2="q"/></contact>
        <sensor><contact geom1="p" geom2="q" data="found force dist normal"/></sensor></mujoco>"""
    data = at_the_beginning(text)
    with jax.enable_x64(True):
        model = load(text)
        f = forward(model, initial_state(model), jnp.zeros(0))
        np.testing.assert_allclose(sensors(f), data.sensordata, atol=1e-12)
        found = contacts(model, initial_state(model), jnp.zeros(0))
    assert data.ncon == 1
    assert [pair for pair, active in zip(found.geoms, found.active, strict=True) if active] == [(0, 1)]


AS_ONE = """<mujoco><option cone="{cone}"/><worldbody><geom type="plane" size="1 1 1"/>
<body name="b" pos="0 0 .19"><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/><geom name="one" size=".1"/>
<geom name="same" size=".1" pos=".05 0 0"/><site name="s" size=".4"/>
<body pos="0 0 -.1"><geom name="welded" size=".1"/></body></body></worldbody>
<contact><pair geom1="one" geom2="{other}" condim="{condim}"/></contact>
<sensor><touch site="s"/><force site="s"/><contact body1="b" data="found force dist" num="3"/>
<contact body1="b" data="found force" reduce="maxforce"/>
<contact geom1="one" data="found force torque" reduce="netforce"/></sensor></mujoco>"""


@pytest.mark.by_default("welded-1-pyramidal")
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 6])
@pytest.mark.parametrize("other", ["same", "welded"])
def test_a_contact_of_geoms_that_move_as_one_is_told_and_pushes_nothing(other, condim, cone):
    text = AS_ONE.format(other=other, condim=condim, cone=cone)
    data = at_the_beginning(text)
    with jax.enable_x64(True):
        model = load(text)
        f = forward(model, initial_state(model), jnp.zeros(0))
        found = contacts_of(f)
        np.testing.assert_allclose(sensors(f), data.sensordata, atol=1e-9)
        np.testing.assert_allclose([x.value for x in f.solution.qacc], data.qacc, atol=1e-8)
    assert all(not force.any() for pair, force in zip(found.geoms, found.force, strict=True) if 0 not in pair)
    assert [pair for pair, active in zip(found.geoms, found.active, strict=True) if active and 0 not in pair] == [
        (1, 2 if other == "same" else 3)
    ]
