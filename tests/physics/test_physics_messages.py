"""Messages of what is refused: they name the element to mend, what was given, and a fix that it does not meet yet."""

import math
import re

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from physics_states import silent

from kousoku.core.errors import ConfigError
from kousoku.physics import load
from kousoku.physics.mjcf.bounds import LARGEST, digits, largest, smallest, what_would_do

SLIDE = '<joint name="{}" type="slide" axis="{}"/>'
HINGE = '<joint name="{}" axis="{}"/>'
BALL = '<body name="ball"><freejoint/><geom name="round" size=".1" {}/></body>'


def jointed(joints: str, geom: str = 'mass="1"', tail: str = "") -> str:
    body = f'<body name="ball">{joints}<geom size=".1" pos=".2 0 .1" {geom}/></body>'
    return mjcf(body, tail)


def mjcf(world: str, tail: str = "", head: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{world}</worldbody>{tail}</mujoco>".replace("><", ">\n<")


def refusal(source: object) -> str:
    with silent(), pytest.raises(ConfigError) as caught:
        load(source)
    return str(caught.value)


PLANAR = SLIDE.format("x", "1 0 0") + SLIDE.format("y", "0 1 0") + SLIDE.format("xy", "1 1 0")
GIMBAL = HINGE.format("yaw", "0 0 1") + HINGE.format("pitch", "0 1 0") + HINGE.format("spin", "0 0 1")
PARALLEL = SLIDE.format("a", "1 0 0") + SLIDE.format("b", "1 0 0")
OPPOSITE = SLIDE.format("a", "0 0 1") + SLIDE.format("b", "0 0 -1")
# Models whose joints can do what others do: the joint that is named, and those that are named with it.
ALIKE = {
    "three slides in a plane": (jointed(PLANAR), "xy", ("x", "y")),
    "of a light body": (jointed(PLANAR, 'mass="1e-6"'), "xy", ("x", "y")),
    "the same hinge twice": (jointed(HINGE.format("a", "0 1 0") + HINGE.format("b", "0 1 0")), "b", ("a",)),
    "the first and the last": (jointed(GIMBAL), "spin", ("yaw",)),
    "beside others": (
        jointed(PLANAR + SLIDE.format("z", "0 0 1")) + "", "xy", ("x", "y")),
    "after another tree": (
        mjcf(BALL.format("") + f'<body>{PLANAR}<geom size=".1" mass="1"/></body>'), "xy", ("x", "y")),
}  # fmt: skip


@pytest.mark.parametrize("joints", [PARALLEL, OPPOSITE, SLIDE.format("a", "1 2 3") + SLIDE.format("b", "-2 -4 -6")])
@pytest.mark.parametrize(
    "geom",
    [
        'size=".1"',
        'size=".13"',
        'size=".1" mass="3.3"',
        'size=".2" density="500"',
        'type="box" size=".1 .2 .3"',
        'type="capsule" size=".1 .2"',
        'size=".1" pos="0 .3 .2"',
    ],
)
def test_parallel_slides_are_refused_whatever_rounding_makes_of_them(joints, geom):
    """C's own mass matrix has no numbers beside the diagonal for bodies that only slide."""
    text = f"<mujoco><worldbody><body>{joints}<geom {geom}/></body></worldbody></mujoco>"
    assert "<joint name='b'>: got \"motion that joint 'a' can make already\"" in refusal(text)
    across = text.replace('name="b" type="slide" axis="1 0 0"', 'name="b" type="slide" axis="1 1e-4 0"')
    if joints is PARALLEL:
        load(across)


def test_many_joints_that_move_a_body_alike_are_counted():
    hinges = "".join(HINGE.format(name, "0 1 0") for name in "abcd")
    assert "<joint name='d'>: got \"motion that joint 'a' and 2 others can make already\"" in refusal(jointed(hinges))


def test_a_hinge_beside_a_ball_is_refused_whatever_rounding_makes_of_it():
    """C's inverse inertia is then its largest, or a little less or more."""
    for axis in ("0 1 0", "1 2 3", "1 0 0"):
        joints = HINGE.format("h", axis) + '<joint name="b" type="ball"/>'
        assert "<joint name='b'>: got \"motion that joint 'h' can make already\"" in refusal(jointed(joints))


@pytest.mark.parametrize("name", ALIKE)
def test_joints_that_move_a_body_alike_are_named(name):
    text, last, others = ALIKE[name]
    said = " and ".join(f"joint '{other}'" for other in others)
    line = next(i for i, line in enumerate(text.splitlines(), 1) if f'name="{last}"' in line)
    assert refusal(text).startswith(f"line {line}, <joint name='{last}'>: got \"motion that {said} can make already\";")
    assert refusal(text).endswith("take one of the joints out, or give them armature")
    with silent():
        load(text.replace("<joint", '<joint armature=".1"'))


SEEN = '<geom name="wall" type="mesh" mesh="m" contype="0" conaffinity="0"/>'
MESH = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
EYE = '<site name="eye"/>'
GAIN = '<actuator><general joint="x" gainprm=".12345678 .12345678 .12345678 .12345678 1e99"/></actuator>'
MESSAGES = {
    "one mocap body of two": (
        mjcf('<body name="hand" mocap="true"/><body name="foot" mocap="false"/>'),
        "line 3, <body name='hand'>: got 'mocap bodies'; the engine does not do this; it has bodies that stand or move",
    ),
    "below all": (
        mjcf("", head='<option gravity="0 0 -1e16"/>'),
        "<option>: got 'gravity 0 0 -1e+16'; use numbers of at least -1e+15",
    ),
    "just above": (
        mjcf(BALL.format('friction="1.0000001e15"')),
        "<geom name='round'>: got 'geom_friction 1000000100000000.0 0.005 0.0001'; use numbers of at most 1e+15",
    ),
    "among many numbers": (
        jointed(SLIDE.format("x", "1 0 0"), tail=GAIN),
        "<general>: got 'actuator_gainprm with 1e+99'; use numbers of at most 1e+15",
    ),
    "more than 0, and yet too much": (
        mjcf("", head='<option timestep="1e99"/>'),
        "<option>: got 'timestep 1e+99'; give seconds, more than 0 and at most 1e+15",
    ),
    "a gap of one of two geoms": (
        mjcf(BALL.format("") + '<geom name="floor" type="plane" size="1 1 1" gap=".01"/>',
             '<sensor><contact name="felt" geom1="round"/></sensor>'),
        "<contact name='felt'>: got \"a contact sensor, and a gap of 0.01 of geom 'floor'\"; use no gap, or touch",
    ),
    "a gap of a pair": (
        mjcf(BALL.format("") + '<geom name="floor" type="plane" size="1 1 1"/>',
             '<contact><pair name="p" geom1="round" geom2="floor" gap=".01"/></contact>'
             '<sensor><contact geom1="round"/></sensor>'),
        "<contact>: got \"a contact sensor, and a gap of 0.01 of pair 'p'\"; use no gap, or touch sensors",
    ),
    "what a ray may meet": (
        mjcf(EYE + f'<body>{SEEN}</body>' + BALL.format(""), '<sensor><rangefinder site="eye"/></sensor>', MESH),
        "<rangefinder>: got \"rangefinder that may see a mesh, geom 'wall'\"; the engine has plane, sphere, capsule, "
        "ellipsoid, cylinder, box; give other shapes a transparent rgba",
    ),
    "what a sensor is of": (
        mjcf('<camera name="c"/>', '<sensor><framepos objtype="camera" objname="c"/></sensor>'),
        "<framepos>: got 'sensor of a camera'; the engine has body, xbody, joint, geom, site, tendon, actuator",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_names_the_element_the_value_and_the_fix(name):
    text, message = MESSAGES[name]
    assert message in refusal(text)


def test_a_ray_that_meets_no_mesh_is_let_through():
    transparent = SEEN.replace("/>", ' rgba="0 0 0 0"/>')
    load(mjcf(EYE + f"<body>{transparent}</body>", '<sensor><rangefinder site="eye"/></sensor>', MESH))


@pytest.mark.parametrize("field", ["body_mass", "body_inertia"])
def test_hardly_any_mass_is_told_how_much_would_do(field):
    model = mujoco.MjModel.from_xml_string(mjcf(BALL.format("")))
    getattr(model, field)[1] = 1e-16
    assert re.search(
        r"body 'ball': got 'an? (mass|inertia) of 1e-16'; give it one (from|of at least) 1e-15", refusal(model)
    )
    ours = load(mjcf(BALL.format("")))
    numbers = np.array(ours.constants[field])
    numbers[1] = 1e-16
    with pytest.raises(ConfigError, match=rf"^{field}: got .*e-16; body ball moves: give it at least 1e-15$"):
        ours.with_numbers(**{field: numbers})


NEAR = st.sampled_from([0.0, LARGEST, -LARGEST]).flatmap(lambda edge: st.floats(edge - 1.0, edge + 1.0))


@given(
    number=st.one_of(st.floats(), NEAR, st.floats(LARGEST, LARGEST * 1.0001)),
    field=st.sampled_from(["gravity", "dof_damping", "jnt_range"]),
)
def test_a_number_that_is_shown_does_not_meet_the_fix(number, field):
    within = smallest(field) <= number and abs(number) <= largest(field)
    shown = float(digits(number))
    assert shown == number or math.isnan(number)
    if not within:
        *_, word, bound = what_would_do(field, number).rsplit(" ", 2)
        if bound == "NaN":
            assert math.isnan(number)
        else:
            assert shown < float(bound) if word == "least" else shown > float(bound)


WORDS = {
    '<geom type="capsul" size=".1"/>': "no type 'capsul': did you mean capsule? there may be plane, hfield, sphere, ",
    '<geom type="cubical" size=".1"/>': "there may be plane, hfield, sphere, capsule, ellipsoid, cylinder, box, ",
    '<geom size=".1"/><joint type="hing"/>': "no type 'hing': did you mean hinge? there may be free, ball, slide, ",
    '<geom size=".1" class="smal"/>': "unknown default class name 'smal'; did you mean 'small'?",
    '<geom size=".1" material="woods"/>': "material 'woods' not found in geom 0; did you mean 'wood'?",
}


@pytest.mark.parametrize("body", WORDS)
def test_what_a_word_may_be_is_told(body):
    told = refusal(
        '<mujoco><default><default class="small"/></default><asset><material name="wood"/></asset>'
        f"<worldbody><body>{body}</body></worldbody></mujoco>"
    )
    assert WORDS[body] in told


def test_the_nearest_name_is_told_where_there_is_none_such():
    joint = '<body><joint name="hip"/><geom size=".1"/></body>'
    told = refusal(f'<mujoco><worldbody>{joint}</worldbody><actuator><motor joint="hop"/></actuator></mujoco>')
    assert "unknown transmission target 'hop' for actuator id = 0; did you mean 'hip'?" in told
    assert "no integrator 'RK5': did you mean RK4?" in refusal('<mujoco><option integrator="RK5"/></mujoco>')


ON_ITS_LINE = '<mujoco><worldbody><body><joint name="b"/><geom name="g" size=".1"/></body></worldbody>\n{}</mujoco>'
IN_ITS_PLACE = {
    '<tendon><fixed><joint joint="b" coef="1" damping="3"/></fixed></tendon>':
        "no damping within <fixed>: there may be coef, joint",
    '<equality><joint joint1="b" range="0 1"/></equality>': "no range within <equality>: there may be active, class,",
    '<default><geom name="x"/></default>': "no name within <default>: there may be adhesion, ",
    '<default><default class="c"><motor joint="b"/></default></default>': "no joint within <default>: there may be ",
    '<default><geom naem="x"/></default>': "no naem: there may be adhesion, ",
}  # fmt: skip


@pytest.mark.parametrize("rest", IN_ITS_PLACE)
def test_an_attribute_that_only_others_of_its_tag_have_is_named(rest):
    assert f'"; {IN_ITS_PLACE[rest]}' in refusal(ON_ITS_LINE.format(rest))


def test_of_several_elements_on_a_line_none_is_blamed():
    wrong, right = (f"<contact geom1='g' data='{data}'/>" for data in ("force found", "found force"))
    told = refusal(ON_ITS_LINE.format(f"<sensor>{right}{wrong}</sensor>"))
    assert told.startswith("line 2: got \"one of <contact geom1='g' data='found force'>, <contact ")
    told = refusal(ON_ITS_LINE.format(f"<sensor>{right}\n{wrong}</sensor>"))
    assert told.startswith("line 3, <contact>: got \"<contact geom1='g' data='force found'>\"; data attributes must be")


def test_of_several_elements_on_a_line_the_one_with_the_unknown_name_is_blamed():
    told = refusal(ON_ITS_LINE.format("<actuator><motor joint='b'/><motor joint='c'/></actuator>"))
    assert told.startswith("line 2, <motor>: got \"<motor joint='c'>\"; unknown transmission target 'c'")


MISTYPED = {
    "<geom name='capsul' size='.1'/><geom type='capsul' size='.1'/>": "<geom>: got \"<geom type='capsul' size='.1'>\"; "
        "no type 'capsul': did you mean capsule? there may be plane, ",
    "<geom name='g' size='.1'/><geom name='capsul' type='capsul' size='.1'/>": "<geom name='capsul'>: got \"<geom name="
        "'capsul' type='capsul' size='.1'>\"; no type 'capsul': did you mean capsule? ",
    "<geom name='g' size='.1'/><geom type=' cap  sule ' size='.1'/>": "<geom>: got \"<geom type=' cap sule ' size='.1'"
        ">\"; no type 'cap sule': did you mean capsule? ",
    "<joint name='a'/><joint name='b' range='0'/><geom size='.1'/>": "<joint name='b'>: got \"<joint name='b' range="
        "'0'>\"; attribute 'range' does not have enough data",
    "<geom name='g' size='.1'/><geom type='cap&apos;sul' size='.1'/>": ": got 'one of <geom name=\\'g\\' size=\\'.1"
        "\\'>, <geom type=\"cap\\'s...; no 'cap': look it up in MuJoCo's XML reference",
}  # fmt: skip


@pytest.mark.parametrize("body", MISTYPED)
def test_of_several_elements_on_a_line_the_one_with_the_mistyped_keyword_or_number_is_blamed(body):
    told = refusal(f"<mujoco><worldbody><body>{body}</body></worldbody></mujoco>").removeprefix("line 1").lstrip(", ")
    assert told.startswith(MISTYPED[body])


@pytest.mark.parametrize(
    ("asset", "file"),
    [
        ('mesh name="m" file="gone.obj"', "parts/gone.obj"),
        ('texture name="m" type="cube" fileup="gone.png"', "gone.png"),
        ('hfield name="m" file="gone.png" size="1 1 1 1"', "parts/gone.png"),
    ],
)
def test_a_file_that_is_not_there_is_told_where_it_is_named(asset, file):
    head = f'<compiler meshdir="parts"/><asset><{asset}/></asset>'
    tag, attribute = asset.split()[0], next(part for part in asset.split() if part.startswith("file"))
    name, _, value = attribute.partition("=")
    told = refusal(mjcf(BALL.format(""), head=head))
    assert (
        told == f"""line 4, <{tag} name='m'>: got "{name}={value[1:-1]!r}"; there is no file {file} that can be read"""
    )


def test_a_description_of_another_kind_is_told_how_to_come_in():
    told = refusal("<robot name='arm'><link name='base'/></robot>")
    assert told.endswith("an MJCF file is <mujoco> ... </mujoco>; compile it with mujoco.MjModel, and load that")


def test_what_is_told_by_its_name_alone_is_found():
    told = refusal(ON_ITS_LINE.format("<keyframe><key name='k' qpos='0 1'/></keyframe>"))
    assert told == (
        "line 2, <key name='k'>: got \"<key name='k' qpos='0 1'>\"; keyframe 'k': invalid qpos size, expected 1, got 2"
    )


def test_an_option_that_is_not_had_is_to_be_left_out():
    for option in ("actuatorgroupdisable='1'", "noslip_iterations='3'"):
        name = option.split("=")[0]
        told = refusal(ON_ITS_LINE.format(f"<option {option}/>"))
        assert f"the engine does not do this; leave {name} out; it has integrator" in told


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        ("sphere", "a sphere that may touch an ellipsoid"),
        ("capsule", "a capsule that may touch an ellipsoid"),
        ("ellipsoid", "ellipsoids that may touch"),
    ],
)
def test_what_is_deep_in_an_ellipsoid_is_refused_where_c_has_another_depth(shape, what):
    geom = f'<geom type="{shape}" size=".1 .1 .1"/>'
    shapes = f'<geom type="ellipsoid" size=".1 .2 .15"/><body pos=".16 .1 .05"><freejoint/>{geom}</body>'
    model = f'<mujoco><option><flag {{}}="disable"/></option><worldbody>{shapes}</worldbody></mujoco>'
    assert f"nativeccd off, and {what}" in refusal(model.format("nativeccd"))
    assert load(model.format("multiccd")).ngeom == 2
