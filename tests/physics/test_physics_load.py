"""What is refused when a model is loaded: in one line that says where, what was given and what would do."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_mjcf import write
from physics_models import gymnasium_path
from physics_states import silent

from kousoku.core.errors import ConfigError
from kousoku.physics import initial_state, load, step
from kousoku.physics.mjcf.bounds import MAX_DEPTH, MAX_ELEMENTS, MAX_FILE_BYTES
from kousoku.physics.mjcf.compiler import schema
from kousoku.physics.mjcf.document import read_document
from kousoku.physics.mjcf.supported import (
    FIELD_ENUMS,
    ONE_FIELDS,
    OPTION_ENUMS,
    UNSUPPORTED_COUNTS,
    UNSUPPORTED_FLAGS,
    ZERO_FIELDS,
    ZERO_OPTIONS,
)

BALL = '<body name="ball"><freejoint/>\n<geom name="round" size=".1" {}/></body>'
HINGE = '<body name="arm"><joint name="hinge" axis="0 1 0" {}/>\n<geom size=".1"/><site name="tip"/></body>'


def mjcf(world: str = "", head: str = "", tail: str = "") -> str:
    return f"<mujoco>\n{head}\n<worldbody>\n{world}\n</worldbody>\n{tail}\n</mujoco>"


def refusal(source: object) -> str:
    """The one line; nothing else may come of it, and no file."""
    before = set(Path.cwd().iterdir())
    with pytest.raises(ConfigError) as caught:
        load(source)
    message = str(caught.value)
    assert message.isprintable()
    assert set(Path.cwd().iterdir()) == before
    return message


# A file that has a feature, where it is said to be, and what is said of it.
FEATURES = [
    (mjcf(head='<option integrator="discrete"/>'), "line 2, <option>: got 'integrator discrete'; the engine has"),
    (mjcf(tail='\n<option>\n<flag sleep="enable"/></option>'), "line 8, <flag>: got 'sleeping'"),
    (mjcf(head='<option><flag override="enable"/></option>'), "line 2, <flag>: got 'contact override'"),
    (mjcf(head='<option><flag diagexact="enable"/></option>'), "line 2, <flag>: got 'exact inertia of constraints'"),
    (mjcf(head='<option><flag speculative="enable"/></option>'), "line 2, <flag>: got 'speculative contacts'"),
    (mjcf(head='<option noslip_iterations="3"/>'), "line 2, <option>: got 'noslip iterations'"),
    (mjcf(head='<option actuatorgroupdisable="1"/>'), "line 2, <option>: got 'groups of actuators that are off'"),
    (mjcf('<body/>\n<body name="hand" mocap="true"/>'), "line 5, <body name='hand'>: got 'mocap bodies'"),
    (mjcf(BALL.format('solref=".02 -1"')), "line 5, <geom name='round'>: got 'geom_solref 0.02 -1'; give a time"),
    (mjcf(BALL.format('solref="-100 1"')), "line 5, <geom name='round'>: got 'geom_solref -100 1'; give a time"),
    (mjcf(BALL.format('fluidshape="ellipsoid"')), "line 5, <geom name='round'>: got 'fluid forces"),
    (mjcf(BALL.format('adhesion="1"')), "line 5, <geom name='round'>: got 'adhesion'"),
    (mjcf(BALL.format('surfacevel="1 0 0 0 0 0"')), "line 5, <geom name='round'>: got 'moving surfaces'"),
    (
        mjcf('<body><freejoint/>\n<body>\n<geom size=".1" adhesion="1"/></body>\n<geom size=".1"/></body>'),
        "line 6, <geom>: got 'adhesion'",
    ),
    (mjcf(HINGE.format('damping="1 2"')), "line 4, <joint name='hinge'>: got 'damping by a polynomial'"),
    (mjcf(HINGE.format('stiffness="1 2"')), "line 4, <joint name='hinge'>: got 'stiffness by a polynomial'"),
    (mjcf(HINGE.format('actuatorgravcomp="true"')), "line 4, <joint name='hinge'>: got 'gravity compensation by an"),
    (mjcf(HINGE.format('solreflimit="1 -1"')), "line 4, <joint name='hinge'>: got 'jnt_solref 1 -1'"),
    (mjcf(HINGE.format('solreffriction="1 -1"')), "line 4, <joint name='hinge'>: got 'dof_solref 1 -1'"),
    (
        mjcf('<site name="a"/><site name="b" pos="1 0 0"/>', tail='<tendon>\n<spatial name="rope" armature="1">'
        '<site site="a"/><site site="b"/></spatial></tendon>'),
        "line 7, <spatial name='rope'>: got 'armature of a tendon'",
    ),
    (
        mjcf(HINGE.format(""), tail='<tendon><fixed name="rope" armature="1"><joint joint="hinge" coef="1"/>'
        "</fixed></tendon>"),
        "line 7, <fixed name='rope'>: got 'armature of a tendon'",
    ),
    (
        mjcf(HINGE.format(""), tail='<actuator>\n<motor joint="hinge"/>\n<adhesion name="glue" body="arm" '
        'ctrlrange="0 1"/></actuator>'),
        "line 9, <adhesion name='glue'>: got 'transmission to a body'; the engine has joint, jointinparent, tendon,",
    ),
    (
        mjcf(HINGE.format(""), tail='<actuator>\n<motor joint="hinge"/>\n<general joint="hinge" dyntype="user"/>'
        "</actuator>"),
        "line 9, <general>: got 'actuator dynamics user'; the engine has none, integrator",
    ),
    (
        mjcf(HINGE.format(""), tail='<actuator><motor joint="hinge"/><position joint="hinge" delay=".1" nsample="9"/>'
        "</actuator>"),
        "line 7, <position>: got 'delay of an actuator'",
    ),
    (mjcf(HINGE.format("damping='-1'")), "<joint name='hinge'>: got 'dof_damping -1'; use numbers of at least 0"),
    (mjcf(BALL.format("gap='-.005'")), "<geom name='round'>: got 'geom_gap -0.005'; use numbers of at least 0"),
    (
        '<mujoco>\n<option gravity="0 0 inf"/>\n</mujoco>',
        "line 2, <option>: got 'gravity 0 0 inf'; use numbers of at most 1e+15",
    ),
    ('<mujoco>\n<option viscosity="-1"/>\n</mujoco>', "line 2, <option>: got 'viscosity -1'; use numbers of at"),
    ('<mujoco>\n<option iterations="-5"/>\n</mujoco>', "line 2, <option>: got 'iterations -5'; use numbers of at"),
    (
        mjcf(HINGE.format(""), tail='<sensor>\n<jointpos joint="hinge"/><user name="eye" dim="1"/></sensor>'),
        "line 8, <user name='eye'>: got 'sensor user'; the engine has touch, accelerometer",
    ),
    (
        mjcf(HINGE.format("") + '<camera name="c"/>', tail='<sensor><framepos objtype="camera" objname="c"/></sensor>'),
        "line 7, <framepos>: got 'sensor of a camera'; the engine has",
    ),
    (
        mjcf(HINGE.format(""), tail='<contact>\n<pair geom1="a" geom2="b" solref="1 -1"/></contact>').replace(
            "<worldbody>", '<worldbody><geom name="a" size="1"/><body><freejoint/><geom name="b" size="1"/></body>'
        ),
        "line 8, <pair>: got 'pair_solref 1 -1'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), FEATURES)
def test_a_feature_is_refused_where_it_stands(text, message):
    assert message in refusal(text)


@pytest.mark.parametrize(("text", "message"), FEATURES)
def test_the_same_of_a_compiled_model(text, message):
    with silent():
        model = mujoco.MjModel.from_xml_string(text)
    what = message[message.index("got '") :]
    assert what in refusal(model)
    assert "line" not in refusal(model)


def test_every_row_of_the_table_is_a_field_of_the_model():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    assert all(hasattr(model.opt, row.field) for row in OPTION_ENUMS + ZERO_OPTIONS)
    assert all(hasattr(model, row.field) for row in FIELD_ENUMS + UNSUPPORTED_COUNTS + ZERO_FIELDS + ONE_FIELDS)
    assert all(hasattr(mujoco.mjtEnableBit, row.field) for row in UNSUPPORTED_FLAGS)
    for row in OPTION_ENUMS + FIELD_ENUMS:
        words = {name.split("_", 1)[-1].lower() for name in getattr(mujoco, row.enum).__members__}
        assert words >= set(row.supported.split())


PARTS = '<body name="b1"><joint name="j1" axis="0 1 0"/><geom name="g1" size=".1" {}/><site name="s1"/></body>'


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (mjcf(PARTS.format(""), '<actuator><motor joint="b1"/></actuator>'), "; did you mean 'j1'?"),
        (mjcf(PARTS.format(""), '<actuator><motor site="g1"/></actuator>'), "; did you mean 's1'?"),
        (mjcf(PARTS.format(""), '<contact><exclude body1="b1" body2="bb1"/></contact>'), "; did you mean 'b1'?"),
        (mjcf(PARTS.format(""), '<sensor><tendonpos tendon="j1"/></sensor>'), ""),
        (mjcf(PARTS.format('class="j1"')), ""),
        (mjcf(PARTS.format('class="jj"'), head='<default><default class="j"/></default>'), "; did you mean 'j'?"),
        (mjcf(PARTS.format('material="matt"'), head='<asset><material name="mat"/></asset>'), "; did you mean 'mat'?"),
    ],
)
def test_advice_is_a_name_of_the_kind_that_is_missing(text, advice):
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert str(caught.value).partition("; did")[1:] == (advice[:5], advice[5:])


@pytest.mark.parametrize("place", ['<frame euler="1 2 3"><geom size=".1"/></frame>', '<camera euler="1 2 3"/>'])
def test_what_has_no_name_is_told_by_its_line(place):
    with pytest.raises(ConfigError, match=r"^line 4(, <\w+>)?: got .*euler sequence") as caught:
        load(mjcf(f"<body>{place}</body>", head='<compiler eulerseq="xya"/>'))
    assert "id -1" not in str(caught.value)


# What MuJoCo itself refuses, or should.
BROKEN = [
    ("<mujoco", "line 1: got 'unclosed token'; the file ends too soon"),
    ("<mujoco><worldbody>\n<body>", "line 2: got 'no element found'; the file ends too soon"),
    ("<mujoco><worldbody>\n</body></mujoco>", "line 2: got 'mismatched tag'; this is not XML"),
    ("<robot/>", "line 1, <robot>: got '<robot>'; an MJCF file is"),
    (mjcf("<bodi/>"), "line 4, <bodi>: got '<bodi>'; no bodi: did you mean body? there may be attach,"),
    (mjcf('<body naem="a"/>'), "line 4, <body>: got \"<body naem='a'>\"; no naem: did you mean name? there may be"),
    (mjcf('<body name="a"/>\n<body name="a"/>'), "line 5, <body name='a'>: got"),
    (mjcf(BALL.format('mass="0"')), "line 4, <body name='ball'>: got \"<body name='ball'>\"; mass and inertia"),
    (mjcf(BALL.format('mass="-1"')), "line 5, <geom name='round'>: got"),
    (mjcf(BALL.format('mass="nan"')), "line 5, <geom name='round'>: got 'mass=nan'; use numbers, not NaN"),
    (mjcf(BALL.format('mass="inf"')), "line 4, <body name='ball'>: got 'a mass of inf'; give it one from 1e-15"),
    (mjcf(BALL.format('mass="1e300"')), "line 4, <body name='ball'>: got 'a mass of 1e+300'"),
    (mjcf(BALL.format('friction="1e99"')), "line 5, <geom name='round'>: got 'geom_friction 1e+99"),
    (mjcf(HINGE.format('stiffness="inf"')), "line 4, <joint name='hinge'>: got 'jnt_stiffness inf'; use numbers of at"),
    (mjcf(head='<option timestep="0"/>'), "line 2, <option>: got 'timestep 0'; give seconds, more than 0"),
    (mjcf(head='<option timestep="-1"/>'), "line 2, <option>: got 'timestep -1'"),
    (mjcf(head='<option timestep="NaN"/>'), "line 2, <option>: got 'timestep=NaN'; use numbers, not NaN"),
    (mjcf(head='<option timestep="1e99"/>'), "line 2, <option>: got 'timestep 1e+99'"),
    (mjcf("<body>" * MAX_DEPTH + "</body>" * MAX_DEPTH), "line 4, <body>: got '100 elements, one within the other'"),
    (mjcf("<body>" * 100_000), "line 4, <body>: got '100 elements, one within the other'"),
    ('\n<!DOCTYPE m [<!ENTITY a "aaaa">]>\n<mujoco/>', "line 2: got '<!DOCTYPE m>'; remove it"),
    (mjcf("&amp;&lol;"), "line 4: got 'undefined entity'"),
    (mjcf(head='<compiler meshdir="/tmp"/>'), "line 2, <compiler>: got '/tmp'; keep it in the model's folder"),
    (mjcf(head='<asset><mesh file="../a.stl"/></asset>'), "line 2, <mesh>: got '../a.stl'; keep it in the"),
    (mjcf(head=r'<asset><mesh file="..\a.stl"/></asset>'), "line 2, <mesh>: got '../a.stl'; keep it in the model's"),
    (mjcf(head='<asset><texture type="2d" file="C:/a.png"/></asset>'), "line 2, <texture>: got 'C:/a.png'; keep it in"),
    (mjcf(head='<include file="a/../../b.xml"/>'), "line 2, <include>: got 'a/../../b.xml'; keep it in the model's"),
    (mjcf(head='<asset><model name="a" file="/b.xml"/></asset>'), "line 2, <model name='a'>: got '/b.xml'; keep it in"),
    (mjcf(head='<include file="b.xml"/>'), "line 2, <include>: got 'b.xml'; there is no such file in the"),
    (mjcf("<replicate count='1001'><body/></replicate>"), "model: got '1002 bodies'; the engine has at most 1000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_broken_is_refused_where_it_stands(text, message):
    assert message in refusal(text)


# Numbers that MuJoCo would take, and its memory or its time.
HUGE = [
    mjcf(f'<replicate count="{10**9}"><body/></replicate>'),
    mjcf('<replicate count="200">\n<replicate count="200"><body/></replicate></replicate>'),
    mjcf('<replicate count="1e400"><body/></replicate>'),
    mjcf('<composite type="cable" count="99999 1 1" size="1"><geom size=".1"/></composite>'),
    mjcf('<flexcomp name="f" type="grid" count="9999 9999 9999"/>'),
    mjcf(head='<size nuser_geom="2000000000"/>'),
    mjcf(head='<size nkey="2000000000"/>'),
    mjcf(head='<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
    mjcf(head='<asset><texture name="t" builtin="flat" type="2d" width="200000" height="200000"/></asset>'),
    mjcf(tail='<sensor><user dim="2000000000"/></sensor>'),
    mjcf(HINGE.format(""), tail='<actuator><general joint="hinge" dyntype="user" actdim="2000000000"/></actuator>'),
    mjcf(HINGE.format(""), tail='<actuator><motor joint="hinge" delay="1" nsample="2000000000"/></actuator>'),
    mjcf(head='<compiler><lengthrange inttotal="1e12"/></compiler>'),
    mjcf("<body/>" * (MAX_ELEMENTS + 1)),
    "<mujoco/>" + " " * MAX_FILE_BYTES,
]


@pytest.mark.parametrize("text", HUGE, ids=range(len(HUGE)))
def test_absurd_sizes_are_refused_before_mujoco_sees_them(text):
    with pytest.raises(ConfigError, match=r"at most|more than"):
        read_document(text)


def test_files_that_are_not_there_or_not_files(tmp_path):
    assert "no such file" in refusal("no/such/file.xml")
    assert "not a file" in refusal(tmp_path)
    for source in ("", "no/such/file.xml", "\0", str(tmp_path), tmp_path, "/dev/zero"):
        assert "give the path of an MJCF file" in refusal(source)
    for source in (3, None, b"<mujoco/>", ["<mujoco/>"]):
        assert "give the path of an MJCF file" in refusal(source)
    (tmp_path / "empty.xml").write_text("")
    assert "empty.xml, line 1: got 'no element found'; the file ends too soon" in refusal(tmp_path / "empty.xml")
    (tmp_path / "bytes.xml").write_bytes(bytes(range(256)))
    assert "bytes.xml, line" in refusal(tmp_path / "bytes.xml")
    with (tmp_path / "large.xml").open("wb") as large:
        large.truncate(MAX_FILE_BYTES + 1)
    assert f"a file may have {MAX_FILE_BYTES} bytes at most" in refusal(tmp_path / "large.xml")


def test_places_are_those_of_included_files(tmp_path):
    main = write(
        tmp_path,
        main="<mujoco>\n<include file='parts/arm.xml'/></mujoco>",
        parts__arm=f"<mujoco>\n<include file='motor.xml'/><worldbody>\n\n{HINGE.format('')}</worldbody></mujoco>",
        parts__motor="<mujoco><actuator>\n\n<dcmotor joint='hinge' motorconst='1' resistance='1'/></actuator></mujoco>",
    )
    assert refusal(main).startswith(
        "parts/motor.xml, line 3, <dcmotor>: got 'actuator dynamics dcmotor'; the engine has"
    )
    # MuJoCo looks in the main file's folder first.
    write(tmp_path, motor="<mujoco><actuator>\n\n\n<motor joint='hinge'/></actuator></mujoco>")
    assert load(main).nu == 1


def test_files_that_include_or_attach_one_another(tmp_path):
    main = write(tmp_path, main="<mujoco><include file='b.xml'/></mujoco>", b="<m>\n<include file='main.xml'/></m>")
    assert (
        refusal(main)
        == "b.xml, line 2, <include>: got 'main.xml'; it is included already, here or by itself; include a file once"
    )
    attach = "<mujoco><asset><model name='m' file='{}.xml'/></asset><worldbody>{}<body name='w'/></worldbody></mujoco>"
    main = write(tmp_path, main=attach.format("c", ""), c=attach.format("d", ""), d=attach.format("c", ""))
    assert "d.xml, line 1, <model name='m'>: got 'c.xml'; models may not attach one another in a circle" in refusal(
        main
    )
    chain = {f"n{i}": attach.format(f"n{i + 1}", "") for i in range(30)}
    write(tmp_path, **chain, n30=mjcf("<body name='w'/>"))
    assert "nor in a long chain" in refusal(tmp_path / "n0.xml")
    # Each attaches ten of the next: ten to the power of eight of the last.
    ten = "".join(f"<attach model='m' prefix='{i}' body='w'/>" for i in range(10))
    chain = {f"m{i}": attach.format(f"m{i + 1}", ten) for i in range(8)}
    main = write(
        tmp_path, main=attach.format("m0", ten), **chain, m8=attach.format("m9", ""), m9=mjcf("<body name='w'/>")
    )
    assert "elements'; at most 20000 can be read" in refusal(main)


def test_attached_models_have_places_too(tmp_path):
    head = "<asset><model name='m' file='arm.xml'/></asset>"
    attach = "<attach model='m' prefix='left_' body='arm'/><attach model='m' prefix='right_' body='arm'/>"
    main = write(tmp_path, main=mjcf(attach, head), arm=mjcf(HINGE.format("")))
    assert load(main).nv == 2
    write(tmp_path, arm=mjcf(HINGE.format('actuatorgravcomp="true"')))
    assert refusal(main).startswith("arm.xml, line 4, <joint name='hinge'>: got 'gravity compensation by an actuator'")


def test_an_element_in_one_of_two_files_is_found_or_not_guessed(tmp_path):
    part = "<mujoco><worldbody>\n<body><geom size='.1' {}/></body>{}</worldbody></mujoco>"
    include = "<mujoco><include file='a.xml'/><include file='b.xml'/></mujoco>"
    main = write(tmp_path, main=include, a=part.format("", ""), b=part.format("adhesion='1'", ""))
    assert refusal(main).startswith(
        "b.xml, line 2, <geom>: got 'adhesion'; the engine does not do this; it has friction,"
    )
    # copies: which geom is number 1 cannot be told from the text
    copies = "<replicate count='3'><body><geom size='.1'/></body></replicate>"
    write(tmp_path, b=part.format("adhesion='1'", copies))
    assert refusal(main).startswith("geom 1: got 'adhesion'")


def test_copies_have_the_place_of_what_they_copy():
    copied = "<body name='b'><freejoint/>\n<geom name='g' size='.1' adhesion='1'/></body>"
    text = mjcf(f"<replicate count='3' offset='1 0 0'>\n{copied}</replicate>")
    assert refusal(text).startswith("line 6, <geom name='g'>: got 'adhesion'")


def test_names_stay_on_one_line():
    text = mjcf("<body name='a&#10;b&#27;[31m'><freejoint/><geom size='.1'/></body>").replace("&#27;", "&#x9b;")
    text = text.replace("<freejoint/>", "<joint actuatorgravcomp='true' name='&#10;\u202e'/>")
    assert refusal(text).startswith("line 4, <joint name='\\n\\u202e'>: got 'gravity compensation")


def test_comments_are_as_loose_as_mujocos():
    text = "\ufeff" + mjcf("<!-- a -- <!-- b - ---><body/><!-- <!DOCTYPE a> <include file='/etc'/> -->")
    assert load(text).nbody == 2
    assert "this is not XML" in refusal(mjcf("<!--" * 1_000_000))
    # but what only looks like a comment hides nothing
    hidden = mjcf('<body name="<!--"/><include file="/etc/passwd"/><body name="-->"/>')
    assert "this is not XML" in refusal(hidden)
    assert "keep it in the model's folder" in refusal(mjcf("<?x <!-- ?><include file='/etc/passwd'/><?x --> ?>"))


def test_lines_are_mujocos_own():
    document = read_document(gymnasium_path("humanoid"))
    spec = mujoco.MjSpec.from_file(str(gymnasium_path("humanoid")))
    lines = {e.attributes["name"]: e.line for e in document.elements if e.tag == "geom" and "name" in e.attributes}
    assert {g.name: g.info for g in spec.geoms} == {name: f"line {line}" for name, line in lines.items()}
    assert "motor" in schema("actuator")[0]
    assert "gear" in schema("motor")[1]


def test_a_model_that_was_changed_since_is_checked():
    def changed(**numbers):
        model = mujoco.MjModel.from_xml_string(mjcf(BALL.format("")))
        for name, value in numbers.items():
            getattr(model, name)[1 if name.startswith("body") else 0] = value
        return model

    assert refusal(changed(body_mass=np.nan)) == "body 'ball': got 'a mass of nan'; give it one from 1e-15 to 1e+15"
    assert "body 'ball': got 'a mass of 0'" in refusal(changed(body_mass=0.0))
    assert "body 'ball': got 'a mass of -1'" in refusal(changed(body_mass=-1.0))
    assert "body 'ball': got 'an inertia of 0'" in refusal(changed(body_inertia=0.0))
    assert "body 'ball': got 'body_inertia nan nan nan'" in refusal(changed(body_inertia=np.nan))
    assert "geom 'round': got 'geom_size inf inf inf'" in refusal(changed(geom_size=np.inf))
    stopped = changed()
    stopped.opt.timestep = np.nan
    assert refusal(stopped) == "model: got 'timestep nan'; give seconds, more than 0 and at most 1e+15"


def test_limits_of_a_free_joint_do_nothing_as_in_c():
    """No file can have them: MuJoCo's compiler clears them."""
    model = mujoco.MjModel.from_xml_string(mjcf(BALL.format("")))
    model.jnt_limited[0], model.jnt_range[0] = 1, (0.0, 0.1)
    free, data = load(model), mujoco.MjData(model)
    mujoco.mj_step(model, data)
    np.testing.assert_allclose(step(free, initial_state(free), jnp.zeros(0)).qpos, data.qpos, atol=1e-6)


def test_warnings_of_mujoco_are_kept_off_the_screen_and_the_disk(capfd, tmp_path):
    heard = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        refusal(mjcf(BALL.format('mass="nan"')))
        assert mujoco.get_mju_user_warning() is not None
    finally:
        mujoco.set_mju_user_warning(None)
    load(gymnasium_path("half_cheetah"))
    assert not heard
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"body_mas": 1.0}, "number of the model: got 'body_mas'; did you mean 'body_mass'?"),
        ({"gravity": np.zeros(2)}, "gravity: got (2,); give an array of shape (3,)"),
        ({"gravity": "down"}, "gravity: got 'down'; give an array of shape (3,)"),
        ({"gravity": [1, [2], 3]}, "gravity: got [1, [2], 3]; give an array of shape (3,)"),
        ({"gravity": np.zeros(3, int)}, "gravity: got dtype('int32'); give an array of floats"),
        ({"gravity": [0.0, np.nan, 0.0]}, "gravity: got nan; give numbers, not NaN"),
        ({"gravity": [0.0, 0.0, -np.inf]}, "gravity: got -inf; give numbers of at least -1e+15"),
        ({"timestep": 0.0}, "timestep: got 0.0; give seconds, more than 0"),
        ({"body_mass": [0.0, -1.0]}, "body_mass: got -1.0; give numbers of at least 0"),
        ({"body_mass": [1.0, 0.0]}, "body_mass: got 0.0; body ball moves: give it at least 1e-15"),
        ({"body_inertia": np.zeros((2, 3))}, "body_inertia: got 0.0; body ball moves: give it at least 1e-15"),
        ({"dof_damping": [0.0] * 5 + [-1.0]}, "dof_damping: got -1.0; give numbers of at least 0"),
        ({"geom_gap": [-0.5]}, "geom_gap: got -0.5; give numbers of at least 0"),
        (
            {"geom_solref": [[0.5, -1.0]]},
            "geom_solref: got [0.5, -1.0]; give a time and a damping ratio, both positive, or minus a stiffness and a "
            "damping",
        ),
    ],
)
def test_numbers_that_no_mechanism_has(numbers, message):
    with pytest.raises(ConfigError) as caught:
        load(mjcf(BALL.format(""))).with_numbers(**numbers)
    assert str(caught.value) == message


def test_numbers_may_be_lists_of_integers():
    model = load(mjcf(BALL.format(""))).with_numbers(gravity=[0, 0, -2])
    assert model.gravity.dtype == jnp.float32
    assert initial_state(model).qpos.shape == (7,)
