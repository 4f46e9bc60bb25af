"""What of MJCF is refused, each with a small model that has it, and what changes neither motion nor sensors."""

from __future__ import annotations

from physics_attributes import CABLE, PAIR, SENSES, TENDONS, arm, ball, motor, rows


def refused(tag: str, template: str, *given: str) -> list[tuple[str, str, str, str]]:
    """Tag, attribute, a model, and what the refusal says."""
    found = []
    for one in given:
        text, said = one.split("->")
        row = rows(tag, template, text)[0]
        found.append((row.tag, row.attribute, row.text, said))
    return found


ONE = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"'
LYING = """<mujoco><option><flag @/></option><worldbody><geom type="cylinder" size=".2 .1"/><body pos="0 0 .145">
  <freejoint/><geom type="capsule" size=".05 .1" euler="0 90 0"/></body></worldbody></mujoco>"""
MESH = f'<asset><mesh name="m" {ONE}/></asset>'
DELAY = "delay of an actuator"
REFUSED = [
    *refused(
        "option", arm(option="@"), "integrator=discrete->integrator discrete", "noslip_iterations=3->noslip iterations",
        "actuatorgroupdisable=1->groups of actuators",
    ),
    *refused(
        "flag", ball(flag="@"), "override=enable->contact override", "sleep=enable->sleeping",
        "diagexact=enable->exact inertia", "speculative=enable->speculative contacts",
        "invdiscrete=enable->inverse dynamics of discrete time",
    ),
    ("flag", "ipc", ball(option='integrator="discrete"', flag='ipc="enable"'), "barriers of contacts"),
    *refused("body", arm(body="@").replace('<joint name="a" axis="0 1 .2" />', "").replace('joint="a"', 'joint="b"'),
        "mocap=true->mocap bodies"),
    *refused(
        "joint", arm(joint="@"), "damping=1 2->damping by a polynomial", "stiffness=1 2->stiffness by a polynomial",
        "actuatorgravcomp=true->gravity compensation by an actuator",
        "springyield=.1|stiffness='3'->plastic springs",
    ),
    *refused(
        "geom", ball(own="@", head=MESH), "adhesion=1->adhesion", "surfacevel=1 0 0 0 0 0->moving surfaces",
        "fluidshape=ellipsoid->fluid forces", "fluidcoef=1 1 1 1 1|fluidshape='ellipsoid'->fluid forces",
        "mesh=m|type='mesh'->plane-mesh contacts",
    ),
    *refused("pair", ball(tail=PAIR), "adhesion=1->adhesion"),
    *refused(
        "fixed", arm(tail=TENDONS.format("@")), "armature=.1->armature of a tendon",
        "damping=1 2->damping by a polynomial",
        "actuatorfrcrange=-1 1->limited actuator force", "stiffness=1 2->stiffness by a polynomial",
        "springyield=.1|stiffness='5'->plastic springs",
    ),
    *refused(
        "spatial", arm(tail=CABLE.format("@", "")), "armature=.1->armature of a tendon",
        "damping=1 2->damping by a polynomial",
        "actuatorfrcrange=-1 1->limited actuator force", "stiffness=1 2->stiffness by a polynomial",
        "springyield=.1|stiffness='5'->plastic springs",
    ),
    *refused(
        "actuator", motor("general joint='a'"), "armature=.1->armature of an actuator",
        "damping=.1->damping of an actuator", f"delay=.1|nsample='9'->{DELAY}", f"nsample=9|delay='.1'->{DELAY}",
        f"interp=linear|nsample='9' delay='.1'->{DELAY}", "dyntype=user->dynamics",
        "actdim=2|dyntype='user'->dynamics user",
    ),
    ("actuator", "cranksite", arm(tail='<actuator><general slidersite="t" cranksite="s" cranklength="1"/></actuator>'),
     "transmission to a slidercrank"),
    *refused("flag", LYING, "multiccd=disable->multiccd off", "nativeccd=disable->nativeccd off"),
    ("sensor", "camera", ball(tail="<sensor><rangefinder camera='c'/></sensor>", site='/><camera name="c"'),
     "sensor of a camera"),
    ("sensor", "data", ball(tail="<sensor><rangefinder site='in' data='dist normal'/></sensor>"),
     "rangefinder with normal"),
    ("sensor", "site", ball(tail="<sensor><rangefinder site='in'/></sensor>", head=MESH, floor=
        '/><geom type="mesh" mesh="m" contype="0" conaffinity="0"'), "rangefinder that may see a mesh"),
    *((("sensor", "site", ball(tail=f"<sensor><{kind} site='in' {more}/></sensor>", head=MESH,
        site='type="mesh" mesh="m"'), f"{kind} in a mesh")
       for kind, more in (("contact", ""), ("insidesite", "objtype='body' objname='ball'")))),
    ("sensor", "enclosed", ball(
        tail="<sensor><insidesite site='in' objtype='body' objname='ball' enclosed='true'/></sensor>"),
     "insidesite with enclosed"),
    ("sensor", "geom1", ball(tail="<sensor><contact geom1='ball'/></sensor>", own='gap=".01"'),
     "a contact sensor, and a gap of 0.01"),
    ("site", "mesh", ball(head=MESH, site='type="mesh" mesh="m"'), "touch in a mesh"),
    *refused("sensor", arm(tail=SENSES), "delay=.1|nsample='9'->delay of a sensor", "nsample=9|->delay of a sensor",
        "interval=.1->interval of a sensor", "interp=linear|nsample='9' delay='.1'->delay of a sensor"),
]  # fmt: skip


# Elements that share attributes: a row of one of them stands for all.
SHARED = {"actuator": "actuator", "sensor": "sensor", "equality": "equality"}
FLEX = """<flexcomp name="f" type="grid" count="2 2 2" spacing=".1 .1 .1" mass="1" dim="3"/>"""
# Whole elements that are refused, each after the element that it stands in: a model, and what is said of it.
ELEMENTS = {
    "body/flexcomp": (f"<mujoco><worldbody>{FLEX}</worldbody></mujoco>", "flexible bodies"),
    "actuator/orientation": (
        arm(joint='type="ball"', tail='<actuator><orientation joint="a" kp="1"/></actuator>'), "so3"),
    "actuator/pid": (motor("pid joint='a' kp='1' ki='1'").replace("@", ""), "pid"),
    "actuator/adhesion": (motor("adhesion body='a' ctrlrange='0 1'").replace("@", ""), "transmission to a body"),
    "actuator/dcmotor": (motor("dcmotor joint='a' motorconst='.1' resistance='1'").replace("@", ""), "dcmotor"),
    **{
        f"sensor/{given.split()[0]}": (
            ball(tail=f"<sensor><{given}/></sensor>", head=MESH, site='/><camera name="c"'), said)
        for given, said in (
            ("camprojection site='in' camera='c'", "camprojection"),
            ("distance geom1='ball' geom2='floor'", "geomdist"), ("normal geom1='ball' geom2='floor'", "geomnormal"),
            ("fromto geom1='ball' geom2='floor'", "geomfromto"),
            ("user dim='1'", "sensor user"), ("tactile geom='ball' mesh='m'", "tactile"),
        )
    },
}  # fmt: skip
# What needs something that is refused, or a shared library.
WITHIN = ("deformable/flex", "equality/flex", "equality/flexstrain", "extension/plugin", "body/plugin", "geom/plugin",
          "mesh/plugin", "actuator/plugin", "sensor/plugin")  # fmt: skip
# What changes no motion and no sensor: looks, names, files, sizes, data of the user's.
LOOKS = (
    "visual",
    "texture",
    "material",
    "skin",
    "camera",
    "light",
    "custom",
    "keyframe",
    "size",
    "statistic",
    "mujoco",
)


def group(tag: str, names: str) -> set[tuple[str, str]]:
    return {(tag, name) for name in names.split()}


NOTHING = (
    group("*", "name class user group rgba material width castshadow noise")
    # How C searches, not what for: ours solves and collides in its own way, to convergence.
    | group("option", "ccd_iterations ccd_tolerance iterations jacobian ls_iterations ls_tolerance solver tolerance")
    | group("flag", "autoreset energy fwdinv island midphase warmstart")
    # Of features that another row refuses.
    | group("option", "noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations")
    | group("option", "sleep_tolerance")
    | group("body", "sleep") | group("fixed", "actuatorfrclimited") | group("spatial", "actuatorfrclimited")
    # Which contacts C lists, not which act.
    | group("geom", "gap") | group("pair", "gap")
    # What MuJoCo's compiler has done when the engine sees the model.
    | group("compiler", "alignfree assetdir autolimits balanceinertia conflict coordinate discardvisual fitaabb "
            "fusestatic inertiafromgeom inertiagrouprange meshdir passthrough savecanonical savecompiled saveinertial "
            "strippath texturedir usethread")
    | group("body", "fuse simple") | group("freejoint", "align") | group("geom", "fitscale hfield")
    | group("attach", "body frame model prefix") | group("model", "content_type file")
    | group("mesh", "builtin content_type face file inertia maxhullvert normal params refpos refquat scale "
            "smoothnormal texcoord vertex") | group("hfield", "content_type elevation file ncol nrow size")
    | group("lengthrange", "accel interval inttotal maxforce mode timeconst timestep tolrange useexisting uselimit")
    # References: rows of their elements have them, and the tests of sensors.
    | group("pair", "geom1 geom2") | group("exclude", "body2") | group("joint", "joint coef")
    | group("equality", "body1 site2 joint1 tendon1")
    | group("sensor", "site joint tendon actuator body objname objtype refname reftype")
    | group("sensor", "geom1 geom2 body1 body2 subtree1 subtree2")
    # Of actuators that are refused.
    | group("actuator", "slidersite cranklength body ffrange velrange input inheritrange")
)  # fmt: skip
