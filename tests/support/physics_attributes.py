"""A value, other than its default, for every attribute of MJCF that changes what C MuJoCo computes.

Each row is a small model with the attribute, and the same model without it: an engine that ignores the attribute does
the same with both, and C does not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import mujoco


class Row(NamedTuple):
    """An attribute at work.

    Attributes:
        tag, attribute: which.
        text: a model that has it.
        without: the same model without it.
    """

    tag: str
    attribute: str
    text: str
    without: str


def arm(tail="", joint="", body="", geom='type="box" size=".1 .05 .2"', site="", inertial="", option="", head=""):
    """Two hinges, a motor, and sensors of a site; nothing touches anything."""
    return f"""<mujoco>{head}
      <option tolerance="0" {option}/>
      <default><geom contype="0" conaffinity="0"/><default class="d"><joint damping=".3"/></default>
        <default class="e"><geom density="99"/><site euler="10 20 30"/><motor gear="2"/><tendon stiffness="3"/>
        </default>
      </default>
      <worldbody><site name="w" pos="0 .3 1"/>
        <body name="a" {body}>{inertial}<joint name="a" axis="0 1 .2" {joint}/><geom pos=".2 .1 0" {geom}/>
          <site name="s" pos=".1 .2 .3" {site}/>
          <body name="b" pos=".4 0 0"><joint name="b" axis="0 0 1"/><geom size=".1" pos=".2 0 0"/>
            <site name="t" pos=".2 0 .1"/></body></body></worldbody>
      {tail or MOTOR}</mujoco>"""


MOTOR = """<actuator><motor joint="a" gear="3"/></actuator>
  <sensor><accelerometer site="s"/><framequat objtype="site" objname="s"/></sensor>"""


def ball(tail="", geom='size=".1"', floor="", site="", option="", flag="", head="", body="", own=""):
    """A ball that rolls, turns and slides on a floor."""
    return f"""<mujoco>{head}
      <option tolerance="0" {option}><flag {flag}/></option>
      <worldbody><geom name="floor" type="plane" size="5 5 1" friction=".3 .01 .002" {floor}/>
        <body name="ball" pos="0 0 .1" {body}><joint name="x" type="slide" axis="1 0 0" damping=".1"/>
          <joint name="z" type="slide" axis="0 0 1"/><joint name="turn" axis="0 1 1" stiffness="2" range="-9 3"/>
          <geom name="ball" {geom} {own}/><site name="in" size=".2" {site}/></body></worldbody>
      {tail or TOUCH}</mujoco>"""


TOUCH = """<actuator><motor joint="turn" ctrlrange="-.5 .5"/></actuator><sensor><touch site="in"/></sensor>"""


def tied(tail):
    """A free box and a hinged one, to be tied to one another."""
    return f"""<mujoco><option tolerance="0"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
      <site name="w" pos=".1 .1 .9"/>
      <body name="a" pos="0 0 1"><freejoint name="a"/><geom type="box" size=".1 .05 .03"/><site name="s" pos=".1 0 0"/>
      </body><body name="b" pos=".25 0 1"><joint name="b" axis="0 1 0"/><joint name="c" axis="0 0 1"/>
        <geom type="box" size=".1 .05 .03"/><site name="t" pos="-.1 0 .02"/></body></worldbody>{tail}</mujoco>"""


TENDONS = """<tendon><fixed name="r" {}><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed>
  <fixed name="q"><joint joint="b" coef="1"/></fixed></tendon>
  <actuator><motor tendon="r" gear="2"/></actuator><sensor><tendonpos tendon="r"/></sensor>"""

CABLE = """<tendon><spatial name="r" {}><site site="w"/>{}<site site="t"/></spatial></tendon>
  <actuator><motor tendon="r" gear="2"/></actuator><sensor><tendonpos tendon="r"/></sensor>"""
POST = """><geom name="g" type="cylinder" size=".1 1" pos=".3 .1 .5" mass="0"/><site name="side" pos=".3 -.5 .5"/"""
"""What the way from w to t goes past."""


def rows(tag: str, template: str, *attributes: str, base: str = "") -> list[Row]:
    """A row for each attribute: "name=value", and after a bar what it needs to have an effect."""
    found = []
    for given in attributes:
        own, _, needs = given.partition("|")
        name, _, value = own.partition("=")
        needs = f"{needs} {base}"
        found.append(Row(tag, name, template.replace("@", f'{name}="{value}" {needs}'), template.replace("@", needs)))
    return found


RANGE, RUB, SPIN, INERTIA = 'range="-6 2"', 'frictionloss="500"', "friction='.5 .1 .01'", "diaginertia='.1 .1 .15'"
TURNS = ("quat=1 .5 0 0", "euler=50 20 30", "axisangle=1 0 0 40", "xyaxes=0 1 1 -1 0 0", "zaxis=1 1 1")
SENSES = '<sensor><accelerometer site="s" @/><clock/><gyro site="s"/></sensor>'
FOLLOWS = '<equality><joint joint1="a" joint2="b" @/></equality>'
TENDONS_FOLLOW = TENDONS.format("") + '<equality><tendon tendon1="r" tendon2="q" @/></equality>'
WELD = '<equality><weld body1="a" @/></equality>'
CONNECT = '<equality><connect body1="a" @/></equality>'
PAIR = '<contact><pair geom1="floor" geom2="ball" @/></contact>'
STACKED = ball(flag="@", own='/><body pos="0 0 .15"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body><site')


MUSCLE = ".75 1.05 -1 200 .5 1.6 1.5 1.3 1.2"


def motor(kind: str) -> str:
    return arm(tail=f'<actuator><{kind} name="m" @/></actuator><sensor><actuatorfrc actuator="m"/></sensor>')


SAME = [
    *rows(
        "option", ball(option="@"), "timestep=.001", "gravity=1 0 -5", "impratio=5|cone='elliptic'", "density=200",
        "viscosity=.5", "wind=5 0 0|density='9'", "integrator=RK4", "integrator=implicit|viscosity='.5'",
        "integrator=implicitfast|viscosity='.5'", "cone=elliptic",
    ),
    *rows("option", arm(option="@", tail="<sensor><magnetometer site='s'/></sensor>"), "magnetic=0 1 2"),
    *rows(
        "flag", ball(flag="@"), "constraint=disable", "contact=disable", "damper=disable", "spring=disable",
        "gravity=disable", "clampctrl=disable", "actuation=disable", "sensor=disable", "eulerdamp=disable",
    ),
    *rows("flag", arm(head="<option><flag @/></option>", joint=RANGE), "limit=disable"),
    *rows("flag", arm(head="<option><flag @/></option>", joint=RUB), "frictionloss=disable"),
    *rows("flag", arm(head="<option><flag @/></option>", tail=FOLLOWS.replace("@", "")), "equality=disable"),
    *rows("flag", ball(flag="@", own='solref=".001 1" priority="1"'), "refsafe=disable"),
    *rows("flag", STACKED, "filterparent=disable"),
    *rows("body", arm(body="@"), "gravcomp=.7", "childclass=d", *TURNS),
    Row("body", "pos", arm().replace('pos=".4 0 0"', 'pos=".2 .1 0"'), arm()),
    Row("inertial", "pos", *(arm(inertial=f'<inertial pos="{x} 0 0" mass="1" {INERTIA}/>') for x in (0.1, 0.2))),
    *rows("inertial", arm(inertial=f'<inertial @ {INERTIA}/>'), *(f"{turn}|mass='1' pos='0 0 0'" for turn in TURNS)),
    Row("inertial", "mass", *(arm(inertial=f'<inertial pos=".1 0 0" mass="{m}" {INERTIA}/>') for m in (1, 3))),
    Row("inertial", "diaginertia", *(
        arm(inertial=f'<inertial pos=".1 0 0" mass="1" diaginertia="{i} {i} .2"/>') for i in (0.2, 0.3))),
    Row("inertial", "fullinertia", *(
        arm(inertial=f'<inertial pos=".1 0 0" mass="1" fullinertia=".3 .2 .2 .01 .02 {i}"/>') for i in (0, 0.05))),
    *rows(
        "joint", arm(joint="@"), "type=slide", "type=ball", "pos=.1 .1 0", "damping=.5",
        "armature=.2", "stiffness=3", "ref=30|stiffness='3'", "springref=20|stiffness='3'", "springdamper=.2 1",
        "frictionloss=.5", f"solreffriction=.1 1|{RUB}", f"solimpfriction=.5 .6 .1|{RUB}", f"limited=false|{RANGE}",
        f"margin=2|{RANGE}", f"solreflimit=.1 1|{RANGE}", f"solimplimit=.5 .6 .1|{RANGE}", "range=-6 1",
        "actuatorfrcrange=-.2 .2", "actuatorfrclimited=false|actuatorfrcrange='-.2 .2'", "class=d",
    ),
    Row("joint", "axis", arm().replace('axis="0 1 .2"', 'axis="1 0 0"'), arm()),
    *rows(
        "geom", arm(geom="@"), "type=ellipsoid|size='.1 .2 .3'", "mass=3|size='.1'", "density=300|size='.1'",
        "shellinertia=true|size='.1'", *(f"{turn}|type='box' size='.1 .05 .2'" for turn in TURNS), "class=e|size='.1'",
    ),
    Row("geom", "size", *(arm(geom=f'size=".{i}"') for i in (2, 1))),
    Row("geom", "pos", arm().replace('pos=".2 .1 0"', 'pos=".3 0 0"'), arm()),
    Row("geom", "fromto", *(
        arm(geom=f'type="capsule" size=".05" fromto="0 0 0 .3 0 .{i}"').replace('pos=".2 .1 0" ', "") for i in (1, 2))),
    *rows(
        "geom", ball(own="@"), "contype=2|conaffinity='0'", "conaffinity=2|contype='0'", "condim=1|priority='1'",
        f"condim=4|{SPIN}", f"condim=6|{SPIN}", "friction=.9 .1 .01", "solmix=9|solref='.1 1'",
        "solref=.1 1", "solref=-900 -9", "solimp=.5 .6 .1", "margin=.03", "priority=1|friction='.01 .1 .01'",
    ),
    *rows("site", arm(site="@"), "class=e", *TURNS),
    Row("site", "pos", arm().replace('pos=".1 .2 .3"', 'pos=".3 0 0"'), arm()),
    Row("site", "size", ball().replace('size=".2"', 'size=".05" pos=".1 0 0"'), ball()),
    Row("site", "type", *(ball(site=f'type="{t}" pos=".09 .09 0"').replace('size=".2"', 'size=".1 .1 .1"')
        for t in ("box", "sphere"))),
    Row("site", "fromto", *(
        ball(site=f'type="capsule" fromto="-.{i} 0 -.1 -.{i} 0 .2"').replace('size=".2"', 'size=".02"')
        for i in (3, 0))),
    *rows(
        "pair", ball(tail=PAIR), "condim=1", "condim=4|friction='1 1 .5 .1 .1'", "condim=6|friction='1 1 .5 .1 .1'",
        "friction=.2 .3|condim='3'", "solref=.1 1", "solimp=.5 .6 .1", "margin=.03",
    ),
    *rows("pair", ball(option='cone="elliptic"', tail=PAIR), "solreffriction=.1 1"),
    Row("exclude", "body1", *(
        ball(tail=tail) for tail in ("<contact><exclude body1='world' body2='ball'/></contact>", "<size/>"))),
    *rows("connect", tied(CONNECT), "body2=b|anchor='0 .1 0'", "active=false|anchor='0 .1 0'",
        "solref=.1 1|anchor='0 .1 0'", "solimp=.5 .6 .1|anchor='0 .1 0'"),
    Row("connect", "anchor", *(tied(CONNECT.replace("@", f'anchor="0 {y} 0"')) for y in (0, 0.1))),
    Row("connect", "site1", *(tied(CONNECT.replace('body1="a" @', f'site1="{s}" site2="t"')) for s in "sw")),
    *rows("weld", tied(WELD), "body2=b", "active=false", "solref=.1 1", "solimp=.5 .6 .1", "relpose=.1 0 1 1 .1 0 0",
        "anchor=.1 .1 0|", "torquescale=.3|relpose='.1 0 1 1 .3 0 0'"),
    Row("weld", "site1", *(tied(WELD.replace('body1="a" @', f'site1="{s}" site2="t"')) for s in "sw")),
    *rows("equality", arm(tail=FOLLOWS), "active=false", "solref=.1 1", "solimp=.5 .6 .1", "polycoef=.1 .5 .2"),
    *rows("equality", arm(tail=FOLLOWS.replace('joint2="b"', "")), "joint2=b"),
    *rows("equality", arm(tail=TENDONS_FOLLOW), "active=false", "solref=.1 1", "solimp=.5 .6 .1", "polycoef=.1 .5 .2"),
    *rows("equality", arm(tail=TENDONS_FOLLOW.replace('tendon2="q"', "")), "tendon2=q"),
    *rows(
        "fixed", arm(tail=TENDONS.format("@")), "stiffness=5", "damping=.5", "springlength=.1 .2|stiffness='5'",
        "frictionloss=.5", f"solreffriction=.1 1|{RUB}", f"solimpfriction=.5 .6 .1|{RUB}", "range=-.1 .03",
        "limited=false|range='-.1 .03'", "margin=.2|range='-.1 .03'", "solreflimit=.1 1|range='-.1 .03'",
        "solimplimit=.5 .6 .1|range='-.1 .03'", "class=e",
    ),
    *rows(
        "spatial", arm(tail=CABLE.format("@", "")), "stiffness=5", "damping=.5", "springlength=.1 .2|stiffness='5'",
        "frictionloss=.5", f"solreffriction=.1 1|{RUB}", f"solimpfriction=.5 .6 .1|{RUB}", "range=1 1.1",
        "limited=false|range='1 1.1'", "margin=.2|range='1 1.1'", "solreflimit=.1 1|range='1 1.1'",
        "solimplimit=.5 .6 .1|range='1 1.1'", "class=e",
    ),
    Row("site", "site", *(arm(tail=CABLE.format("", f'<site site="{s}"/>' if s else "")) for s in ("s", ""))),
    Row("pulley", "divisor", *(
        arm(tail=CABLE.format("", f'<site site="s"/><pulley divisor="{n}"/><site site="s"/>')) for n in (3, 1))),
    Row("geom", "geom", *(
        arm(body=POST, tail=CABLE.format("", geom)) for geom in ('<geom geom="g"/>', ""))),
    Row("geom", "sidesite", *(
        arm(body=POST, tail=CABLE.format("", f'<geom geom="g" {side}/>')) for side in ('sidesite="side"', ""))),
    Row("fixed", "coef", arm(tail=TENDONS.format("").replace("-.5", "2")), arm(tail=TENDONS.format(""))),
    *rows(
        "actuator", motor("motor joint='a'"), "gear=3", "ctrlrange=-.5 .5", "ctrllimited=false|ctrlrange='-.5 .5'",
        "forcerange=-.2 .2", "forcelimited=false|forcerange='-.2 .2'", "class=e",
    ),
    *rows(
        "actuator", motor("muscle joint='a'"), "timeconst=.05 .2", "tausmooth=.5", "range=.5 1.2", "force=30",
        "scale=50", "lmin=.85", "lmax=1.1", "vmax=.3", "fpmax=3", "fvmax=1.8", base="lengthrange='-.2 .4'",
    ),
    Row("actuator", "lengthrange", *(
        motor(f"muscle joint='a' lengthrange='{ends}'").replace("@", "") for ends in ("-.2 .4", "-1 2"))),
    *rows(
        "actuator", motor("general joint='a' lengthrange='-.2 .4'"), "dyntype=muscle|dynprm='.1 .2'",
        f"gaintype=muscle|gainprm='{MUSCLE}' dyntype='muscle'", f"biastype=muscle|biasprm='{MUSCLE}' gear='1.5'",
    ),
    Row("actuator", "joint", *(arm(tail=f'<actuator><motor joint="{j}"/></actuator>') for j in "ab")),
    Row("actuator", "jointinparent", *(
        arm(joint='type="ball"', tail=f'<actuator><motor {j}="a" gear="1 2 3"/></actuator>')
        for j in ("jointinparent", "joint"))),
    Row("actuator", "tendon", *(
        arm(tail=TENDONS.format("") + f'<actuator><motor tendon="{t}" gear="5"/></actuator>') for t in "rq")),
    Row("actuator", "site", *(
        arm(tail=f'<actuator><motor site="{s}" gear="1 2 3 .1 .2 .3"/></actuator>') for s in "st")),
    Row("actuator", "refsite", *(
        arm(tail=f'<actuator><motor site="t" {s} gear="1 2 3 .1 .2 .3"/></actuator>') for s in ("refsite='w'", ""))),
    *rows(
        "actuator", motor("general joint='a'"), "gainprm=2", "biastype=affine|biasprm='.1 -1 -.2'",
        "biasprm=.1 -1 -.2|biastype='affine'", "gaintype=affine|gainprm='1 .5 -.2'", "dyntype=integrator",
        "dyntype=filter|dynprm='.1'", "dyntype=filterexact|dynprm='.1'", "dynprm=.1|dyntype='filter'",
        "actrange=-.01 .01|dyntype='integrator'", "actlimited=false|dyntype='integrator' actrange='-.01 .01'",
        "actearly=true|dyntype='integrator'",
    ),
    *rows(
        "position", motor("position joint='a'"), "kp=5", "kv=.5", "dampratio=1|kp='5'", "timeconst=.1"),
    *rows("position", motor("position joint='b'").replace('<joint name="b"', '<joint name="b" range="-9 9"'),
        "inheritrange=.01"),
    *rows("velocity", motor("velocity joint='a'"), "kv=5"),
    *rows("intvelocity", motor("intvelocity joint='a' actrange='-1 1'"), "kp=5", "kv=.5", "dampratio=1|kp='5'",
        ),
    Row("intvelocity", "actrange", *(
        motor(f"intvelocity joint='a' kp='9' actrange='-{r} {r}'").replace("@", "") for r in (0.001, 1))),
    *rows("damper", motor("damper joint='a' ctrlrange='0 1'"), "kv=5"),
    *rows("cylinder", motor("cylinder joint='a'"), "area=3", "diameter=1", "bias=1 -2 -.2", "timeconst=.1"),
    *rows("sensor", arm(tail=SENSES), "cutoff=2"),
    *rows("sensor", ball(tail="<sensor><contact @/></sensor>"), "data=dist normal", "num=2",
        "reduce=netforce|data='force pos'"),
    *rows("sensor", ball(tail="<sensor><rangefinder site='in' @/></sensor>"), "data=point"),
    *rows("compiler", arm(head="<compiler @/>"), "settotalmass=9", "boundmass=50", "boundinertia=9"),
    *rows("compiler", arm(head="<compiler @/>", body='euler="1 1.2 .5"', joint='ref=".3" stiffness="2"'),
        "angle=radian", "eulerseq=ZYX"),
]  # fmt: skip


def schema() -> list[tuple[tuple[str, ...], str]]:
    """All elements, each as a path of tags, and all their attributes, as the installed MuJoCo lists them."""
    path: list[str] = []
    found = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        match = re.match(r"( *)(?:\(world\))?(\w+) \(.\)(.*)", line)
        if match:
            path = [*path[: len(match[1]) // 3], match[2]]
        found += [(tuple(path), name) for name in (match[3] if match else line).split()]
    return found
