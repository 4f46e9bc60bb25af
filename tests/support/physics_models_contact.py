"""Models that collide: every pair of shapes, every number of directions, both cones, filters and mixing, robots."""

from __future__ import annotations

from physics_mjcf import Model, model
from physics_models_smooth import CREATURE, CREATURE_FEATURES, MOTORS

FLOOR = '<geom name="floor" type="plane" size="5 5 0.1" euler="0.02 -0.03 0.4"/>'
SHAPES = {
    "sphere": 'type="sphere" size="0.1"',
    "capsule": 'type="capsule" size="0.06 0.12"',
    "ellipsoid": 'type="ellipsoid" size="0.12 0.08 0.06"',
    "cylinder": 'type="cylinder" size="0.08 0.1"',
    "box": 'type="box" size="0.1 0.07 0.08"',
}
# Pairs that have a collider of their own in MuJoCo, and pairs that go through its general convex collider.
PRIMITIVE_PAIRS = [
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "cylinder"),
    ("sphere", "box"),
    ("capsule", "capsule"),
    ("capsule", "box"),
    ("box", "box"),
]
CONVEX_PAIRS = [
    ("sphere", "ellipsoid"),
    ("capsule", "ellipsoid"),
    ("capsule", "cylinder"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "box"),
    ("cylinder", "cylinder"),
    ("cylinder", "box"),
]


def on_plane(shape: str) -> Model:
    """Three of a shape thrown on a tilted plane; the plane lies in the world, the shapes do not meet each other."""
    bodies = "".join(
        f"""<body pos="{x} 0 0.15" euler="{0.4 * i} {0.3 * i} {0.2 * i}"><freejoint/>
              <geom {SHAPES[shape]} contype="0" pos="{0.02 * i} 0 0"/></body>"""
        for i, x in enumerate((-0.5, 0.0, 0.5))
    )
    return model(f"contact free plane_{shape} pyramidal condim3", FLOOR + bodies)


def pressed(first: str, second: str) -> Model:
    """A shape that springs pull towards another one, which turns and yields: they touch in every direction."""
    world = f"""
      <body name="first">
        <joint type="ball" damping="0.01"/><joint type="slide" axis="0 0 1" stiffness="80" damping="2"/>
        <geom {SHAPES[first]} pos="0.01 0.02 0" euler="0.2 0.1 0"/></body>
      <body name="second" pos="0.02 -0.03 0.2">
        <joint type="slide" axis="1 0 0" stiffness="60" damping="2"/>
        <joint type="slide" axis="0 1 0" stiffness="60" damping="2"/>
        <joint type="slide" axis="0 0 1" stiffness="60" damping="2" springref="-0.25"/>
        <joint name="turn" type="ball" damping="0.01"/>
        <geom {SHAPES[second]} euler="0.3 -0.2 0.5"/></body>"""
    kind = "" if (first, second) in PRIMITIVE_PAIRS else " convex"
    twist = '<actuator><motor joint="turn" gear="0.6 0.5 -0.4 0 0 0"/></actuator>'
    features = f"contact ball slide {first}_{second}{kind} pyramidal condim3"
    return model(features, world, twist, option='gravity="0 0 -2"')


PILE = """
  <body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.12 0.08" {0}/></body>
  <body pos="0.03 0 0.3" euler="0.1 0 0.2"><freejoint/><geom type="box" size="0.08 0.1 0.06" {0}/></body>
  <body pos="-0.02 0.03 0.45"><freejoint/><geom type="sphere" size="0.07" {0}/></body>
  <body pos="0.25 0 0.1" euler="0 1.4 0"><freejoint/><geom type="capsule" size="0.05 0.1" {0}/></body>
  <body pos="0.1 0.02 0.6" euler="0.5 1 0"><freejoint/><geom type="capsule" size="0.04 0.08" {0}/></body>"""


def pile(features: str, geom: str, option: str = "", tail: str = "") -> Model:
    """Boxes, a sphere and capsules that fall on each other."""
    return model("contact free box_box " + features, FLOOR + PILE.format(geom), tail, option)


# A robot with four legs, as locomotion tasks have it: limits, friction loss, damping, armature, motors, touch sensors.
_LEG = """
  <body pos="{x} {y} 0"><joint name="hip{i}" axis="0 0 1" range="-0.6 0.6"/>
    <geom type="capsule" fromto="0 0 0 {a} {b} 0" size="0.03"/>
    <body pos="{a} {b} 0"><joint name="knee{i}" axis="{c} {d} 0" range="-0.3 1.2" frictionloss="0.02"/>
      <geom type="capsule" fromto="0 0 0 {a} {b} -0.15" size="0.025"/>
      <site name="foot{i}" pos="{a} {b} -0.15" size="0.04"/></body></body>"""
_CORNERS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
QUADRUPED = (
    FLOOR
    + '<body name="torso" pos="0 0 0.35"><freejoint name="root"/><geom type="sphere" size="0.12"/><site name="torso"/>'
    + "".join(
        _LEG.format(i=i, x=0.09 * x, y=0.09 * y, a=0.1 * x, b=0.1 * y, c=-y, d=x) for i, (x, y) in enumerate(_CORNERS)
    )
    + "</body>"
)
QUADRUPED_DEFAULTS = """<default><joint armature="0.01" damping="0.1"/><geom condim="3" friction="0.9 0.02 0.01"/>
    <motor gear="4" ctrlrange="-1 1"/></default>"""
QUADRUPED_MOTORS = (
    "<actuator>" + "".join(f'<motor joint="{j}{i}"/>' for i in range(4) for j in ("hip", "knee")) + "</actuator>"
)
FEET = "".join(f'<touch site="foot{i}"/><force site="foot{i}"/>' for i in range(4))
QUADRUPED_FEATURES = "contact free hinge limit frictionloss armature damping actuator plane_capsule"


def quadruped(features: str, option: str = "", tail: str = "") -> Model:
    return model(
        f"{QUADRUPED_FEATURES} {features}", QUADRUPED, QUADRUPED_MOTORS + tail, option, head=QUADRUPED_DEFAULTS
    )


def condims(option: str) -> str:
    """Bodies that roll, slide and spin on a plane, in contact in 1, 3, 4 and 6 directions, in every mix of two."""
    return '<geom type="plane" size="5 5 0.1" condim="1" friction="0.4 0.01 0.003" euler="0.1 0.05 0"/>' + "".join(
        f"""<body pos="{0.4 * i} 0 0.1" euler="{0.3 * i} 1.2 0"><freejoint/>
              <geom {shape} condim="{dim}" friction="0.{5 + i} 0.0{i + 1} 0.00{i + 1}" {option}/></body>"""
        for i, (dim, shape) in enumerate(
            (dim, shape) for dim in (1, 3, 4, 6) for shape in (SHAPES["sphere"], SHAPES["capsule"])
        )
    )


MODELS = {
    **{f"plane_{shape}": on_plane(shape) for shape in SHAPES},
    **{f"{first}_{second}": pressed(first, second) for first, second in PRIMITIVE_PAIRS + CONVEX_PAIRS},
    "condims_pyramidal": model("contact free pyramidal condim1 condim3 condim4 condim6", condims("")),
    "condims_elliptic": model(
        "contact free elliptic condim1 condim3 condim4 condim6", condims(""), option='cone="elliptic" impratio="3"'
    ),
    "pile_pyramidal": pile("pyramidal", ""),
    "pile_elliptic": pile("elliptic", "", option='cone="elliptic"'),
    "pile_rolling": pile("elliptic condim6", 'condim="6" friction="0.6 0.02 0.01"', option='cone="elliptic"'),
    "pile_rk4": pile("pyramidal rk4", "", option='integrator="RK4"'),
    "pile_implicit": pile("pyramidal implicit", "", option='integrator="implicit"'),
    "pile_implicitfast": pile("elliptic implicitfast", "", option='integrator="implicitfast" cone="elliptic"'),
    "pile_margin": pile("pyramidal margin", 'margin="0.02"'),
    "pile_gap": pile("pyramidal margin gap", 'margin="0.01" gap="0.03"'),
    "pile_frictionless": pile("condim1", 'condim="1" priority="1"'),
    "pile_stiff": pile("pyramidal solref", 'solref="0.006 0.9"', option='timestep="0.001"'),
    "pile_direct": pile("pyramidal solref_direct", 'solref="-3000 -60"'),
    "pile_solimp": pile("elliptic solimp", 'solimp="0.5 0.98 0.005 0.3 3"', option='cone="elliptic"'),
    "mixing": model(
        "contact free priority solmix solref solimp condim1 condim3 condim4 margin elliptic",
        """<geom type="plane" size="5 5 0.1" friction="0.3 0.01 0.001" solmix="2" solref="0.03 0.8" margin="0.01"/>
           <body pos="0 0 0.1"><freejoint/><geom size="0.1" friction="0.8" solmix="0.5" solref="0.01 1"/></body>
           <body pos="0.3 0 0.1"><freejoint/><geom size="0.1" priority="1" friction="0.1 0.02" condim="4"/></body>
           <body pos="0.6 0 0.1"><freejoint/><geom size="0.1" priority="-1" friction="0.9 0.02" condim="6"/></body>
           <body pos="0.9 0 0.1"><freejoint/><geom size="0.1" solmix="0" solimp="0.7 0.9 0.01"/></body>
           <body pos="1.2 0 0.1"><freejoint/><geom size="0.1" solref="-500 -40" margin="0.005"/></body>
           <body pos="0.1 0 0.32"><freejoint/><geom size="0.1" solmix="3" solimp="0.8 0.99 0.003 0.6 2.5"/></body>
           <body pos="1.5 0 0.1"><freejoint/><geom size="0.1" condim="1" priority="2"/></body>""",
        option='cone="elliptic"',
    ),
    "filters": model(
        "contact free hinge contype exclude",
        """<geom type="plane" size="5 5 0.1" contype="5" conaffinity="0"/>
           <body name="a" pos="0 0 0.1"><freejoint/><geom size="0.1" contype="1" conaffinity="1"/></body>
           <body name="b" pos="0.1 0 0.2"><freejoint/><geom size="0.1" contype="2" conaffinity="4"/></body>
           <body name="c" pos="0 0.1 0.2"><freejoint/><geom size="0.1" contype="0" conaffinity="3"/></body>
           <body name="d" pos="0.15 0.1 0.25"><freejoint/><geom type="capsule" size="0.1 0.1"/>
             <body name="e" pos="0 0 0.1"><joint axis="0 1 0"/><geom size="0.1"/>
               <body name="f" pos="0.05 0 0.1"><joint axis="1 0 0"/><geom size="0.1"/></body>
             </body></body>
           <body name="g" pos="0.5 0 0.1"><freejoint/><geom size="0.1" conaffinity="7"/></body>""",
        '<contact><exclude body1="a" body2="d"/><exclude body1="f" body2="d"/></contact>',
    ),
    "pairs": model(
        "contact free pair margin gap elliptic condim1 condim3 condim4 condim6",
        """<geom name="floor" type="plane" size="5 5 0.1" contype="0" conaffinity="0"/>
           <body pos="0 0 0.1"><freejoint/><geom name="a" size="0.1" contype="0" conaffinity="0"/></body>
           <body pos="0.05 0 0.3"><freejoint/><geom name="b" type="box" size="0.1 0.08 0.06" contype="0"/></body>
           <body pos="0.4 0 0.1"><freejoint/><geom name="c" type="capsule" size="0.08 0.1" friction="0.3"/></body>
           <body pos="0.3 0 0.3"><freejoint/><geom name="d" size="0.1"/></body>""",
        """<contact>
             <pair geom1="floor" geom2="a" condim="6" friction="0.5 0.8 0.02 0.005 0.01"/>
             <pair geom1="b" geom2="floor" condim="4" friction="0.9 0.4 0.03" solreffriction="0.04 1"/>
             <pair geom1="a" geom2="b" margin="0.02" gap="0.01" solref="0.01 0.9" solimp="0.6 0.9 0.01"/>
             <pair geom1="c" geom2="floor" condim="3" friction="0.2 0.9"/>
             <pair geom1="d" geom2="floor" condim="1"/>
             <pair geom1="c" geom2="d"/>
           </contact>""",
        option='cone="elliptic" impratio="2"',
    ),
    "two_geoms_a_body": model(
        "contact free plane_box plane_sphere box_box no_joint",
        FLOOR
        + """<geom type="box" size="0.2 0.2 0.05" pos="0.3 0 0.05"/>
           <body pos="0 0 0.2"><freejoint/><geom size="0.08" pos="-0.1 0 0"/><geom type="box" size="0.05 0.1 0.05"/>
             <body pos="0.15 0 0"><geom type="capsule" size="0.04 0.08"/></body></body>
           <body pos="0.3 0 0.2"><freejoint/><geom type="box" size="0.08 0.1 0.05"/></body>""",
    ),
    "box_stack": model(
        "contact free box_box plane_box pyramidal condim3",
        FLOOR.replace('euler="0.02 -0.03 0.4"', "")
        + "".join(
            f"""<body pos="{0.01 * i} {0.02 * i} {0.1 + 0.21 * i}"><freejoint/>
                  <geom type="box" size="0.1 0.1 0.1" friction="0.8"/></body>"""
            for i in range(3)
        ),
    ),
    "boxes_on_edge": model(
        "contact free box_box elliptic condim3",
        """<geom type="box" size="0.3 0.1 0.1" euler="0.7854 0 0"/>
           <body pos="0.02 0.01 0.25" euler="0 0.7854 0.1"><freejoint/><geom type="box" size="0.06 0.2 0.06"/></body>
           <body pos="0.2 0 0.25" euler="0.1 0.7 1.2"><freejoint/><geom type="box" size="0.05 0.05 0.1"/></body>""",
        option='cone="elliptic"',
    ),
    "capsules_lying": model(
        "contact free capsule_box capsule_capsule pyramidal condim3",
        """<geom type="box" size="0.3 0.3 0.05"/>
           <body pos="0 0.001 0.12" euler="0 1.5708 0"><freejoint/><geom type="capsule" size="0.06 0.1"/></body>
           <body pos="0.05 0.1 0.14" euler="0 1.5708 0"><freejoint/><geom type="capsule" size="0.05 0.08"/></body>
           <body pos="0.28 -0.15 0.13" euler="0.1 1.4 0"><freejoint/><geom type="capsule" size="0.05 0.12"/></body>
           <body pos="0.01 0.04 0.3" euler="0 1.5708 0"><freejoint/><geom type="capsule" size="0.05 0.1"/></body>""",
    ),
    "round_on_boxes": model(
        "contact free sphere_box sphere_cylinder plane_cylinder plane_ellipsoid pyramidal condim3 condim4 margin",
        FLOOR
        + """<geom type="box" size="0.1 0.1 0.1" pos="0 0 0.1" contype="2" conaffinity="0"/>
           <geom type="cylinder" size="0.1 0.08" pos="0.4 0 0.08" contype="2" conaffinity="0"/>
           <body pos="0.02 0.01 0.28"><freejoint/><geom size="0.07" margin="0.01" conaffinity="3"/></body>
           <body pos="0.09 0.09 0.3"><freejoint/><geom size="0.06" condim="4" conaffinity="3"/></body>
           <body pos="0.42 0 0.25"><freejoint/><geom size="0.06" conaffinity="3"/></body>
           <body pos="0.49 0.03 0.26"><freejoint/><geom size="0.05" margin="0.005" conaffinity="3"/></body>
           <body pos="-0.4 0 0.1" euler="1.5 0.1 0"><freejoint/><geom type="cylinder" size="0.06 0.1" contype="0"/>
           </body>
           <body pos="-0.4 0.5 0.1" euler="1 1 0"><freejoint/><geom type="ellipsoid" size="0.1 0.07 0.05" contype="0"/>
           </body>""",
    ),
    "planar": model(
        "contact hinge slide several_joints limit actuator plane_capsule",
        FLOOR
        + """<body pos="0 0 0.5">
             <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
             <geom type="capsule" fromto="-0.3 0 0 0.3 0 0" size="0.05"/>
             <body pos="-0.3 0 0"><joint name="hip" axis="0 1 0" range="-0.6 0.8" stiffness="20" damping="1"/>
               <geom type="capsule" fromto="0 0 0 0.1 0 -0.3" size="0.04"/>
               <body pos="0.1 0 -0.3"><joint name="knee" axis="0 1 0" range="-1 0.4" stiffness="10" damping="0.6"/>
                 <geom type="capsule" fromto="0 0 0 -0.1 0 -0.25" size="0.04"/></body></body></body>""",
        '<actuator><motor joint="hip" gear="30"/><motor joint="knee" gear="20" ctrlrange="-1 1"/></actuator>',
        option='integrator="implicitfast"',
    ),
    "quadruped": quadruped("euler pyramidal"),
    "quadruped_elliptic": quadruped("euler elliptic", option='cone="elliptic" impratio="10"'),
    "quadruped_rk4": quadruped("rk4 pyramidal", option='integrator="RK4" timestep="0.01"'),
    "quadruped_implicit": quadruped(
        "implicit elliptic", option='integrator="implicit" cone="elliptic" timestep="0.005"'
    ),
    "quadruped_implicitfast": quadruped("implicitfast pyramidal", option='integrator="implicitfast" timestep="0.005"'),
    "quadruped_sensors": quadruped(
        "sensor",
        tail=f"""<sensor>{FEET}<accelerometer site="torso"/><gyro site="torso"/><velocimeter site="torso"/>
          <framelinacc objtype="site" objname="foot0"/><torque site="foot1"/><subtreeangmom body="torso"/></sensor>""",
    ),
    "quadruped_tied": quadruped(
        "equality_joint tendon tendon_limit tendon_spring elliptic",
        option='cone="elliptic"',
        tail="""<equality><joint joint1="hip0" joint2="hip2" polycoef="0 -1 0 0 0"/></equality>
          <tendon><fixed name="t" range="-0.3 0.3" limited="true" stiffness="2" damping="0.05">
            <joint joint="knee1" coef="1"/><joint joint="knee3" coef="-1"/></fixed></tendon>""",
    ),
    "creature_fallen": model(
        "contact condim3 plane_box plane_capsule plane_cylinder implicit actuator "
        + CREATURE_FEATURES.removeprefix("smooth "),
        FLOOR.replace("<geom", '<geom contype="1"') + CREATURE.replace('pos="0 0 1"', 'pos="0 0 0.4"'),
        MOTORS,
        option='integrator="implicit"',
        head='<default><geom contype="0"/></default>',
    ),
}
