"""Models whose constraints are limits, friction loss and equalities: nothing in them collides."""

from __future__ import annotations

from physics_mjcf import Model, model
from physics_models_smooth import ARM, CREATURE, CREATURE_FEATURES, NO_CONTACT

LIMITED = """
  <body pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" range="-0.5 0.4" {0}/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
    <body pos="0.3 0 0"><joint name="b" type="hinge" axis="0 0.8 0.6" range="-0.3 0.6" {0}/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.03"/>
      <body pos="0.25 0 0"><joint name="c" type="slide" axis="1 0 -0.5" range="-0.05 0.08" {0}/>
        <geom type="box" size="0.05 0.04 0.03" pos="0.05 0 0"/>
      </body></body></body>"""
BALL_LIMITED = """
  <body pos="0 0 1"><joint name="a" type="ball" range="0 0.6" {0}/>
    <geom type="capsule" fromto="0 0 0 0.1 0 -0.3" size="0.04"/>
    <body pos="0.1 0 -0.3"><joint name="b" type="ball" range="0 0.9" {0}/>
      <geom type="box" size="0.03 0.1 0.05" pos="0.02 0.05 -0.1"/></body></body>"""
LIMITED_MOTORS = (
    '<actuator><motor joint="a" gear="30"/><motor joint="b" gear="15"/><motor joint="c" gear="60"/></actuator>'
)
BALL_MOTORS = (
    """<actuator><motor joint="a" gear="2 1 0 0 0 0"/><motor joint="b" gear="0.3 0.4 0.3 0 0 0"/></actuator>"""
)

# Two bars hung beside each other, and a body between them: what the equalities tie.
LOOSE = """
  <site name="anchor" pos="0.35 0 0.75"/>
  <body name="left" pos="0 0 1"><joint name="left" axis="0 1 0.1" damping="0.02"/>
    <geom type="capsule" fromto="0 0 0 0.05 0 -0.3" size="0.03"/><site name="left" pos="0.05 0 -0.3" euler="0.1 0.2 0"/>
    <body name="lower" pos="0.05 0 -0.3"><joint name="lower" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.025"/></body></body>
  <body name="right" pos="0.4 0 1"><joint name="right" axis="0.2 1 0" damping="0.02"/>
    <geom type="capsule" fromto="0 0 0 -0.05 0 -0.3" size="0.03"/><site name="right" pos="-0.05 0 -0.3"/></body>
  <body name="bar" pos="0.2 0 0.7" euler="0.1 0 0">
    <joint type="free" damping="0.01"/><geom type="box" size="0.15 0.03 0.02"/>
    <site name="end" pos="-0.15 0 0"/></body>"""
LOOSE_MOTORS = """<actuator>
    <motor joint="left" gear="0.8"/><motor joint="right" gear="0.8"/><motor joint="lower" gear="0.3"/>
  </actuator>"""
TENDONS = """<tendon>
    <fixed name="t" {0}><joint joint="a" coef="1"/><joint joint="b" coef="-0.7"/></fixed>
    <fixed name="u" {0}><joint joint="b" coef="0.5"/><joint joint="c" coef="2"/></fixed>
  </tendon>
  <actuator><motor joint="a" gear="8"/><motor tendon="t" gear="3"/><motor joint="c" gear="20"/></actuator>"""


def limited(features: str, joints: str, option: str = "", head: str = NO_CONTACT) -> Model:
    return model("constrained limit hinge slide " + features, LIMITED.format(joints), LIMITED_MOTORS, option, head)


def tied(features: str, equality: str, option: str = "") -> Model:
    tail = f"<equality>{equality}</equality>{LOOSE_MOTORS}"
    return model("constrained free hinge " + features, LOOSE, tail, option, NO_CONTACT)


MODELS = {
    "limits": limited("", ""),
    "limits_margin": limited("limit_margin", 'margin="0.1"'),
    "limits_stiff": limited("solref", 'solreflimit="0.008 0.7"', option='timestep="0.001"'),
    "limits_direct": limited("solref_direct", 'solreflimit="-900 -20"'),
    "limits_solimp": limited("solimp limit_margin", 'solimplimit="0.2 0.97 0.05 0.3 3" margin="0.02"'),
    "limits_solimp_linear": limited("solimp", 'solimplimit="0.5 0.9 0.02 0.5 1"'),
    "limits_solimp_flat": limited("solimp", 'solimplimit="0.8 0.8 0 0.5 2"'),
    "limits_refsafe": limited("solref", 'solreflimit="0.003 1"'),
    "limits_refsafe_off": limited(
        "solref flag_refsafe_off",
        'solreflimit="0.003 1"',
        head=NO_CONTACT + '<option><flag refsafe="disable"/></option>',
    ),
    "limits_rk4": limited("rk4", 'margin="0.01"', option='integrator="RK4" timestep="0.004"'),
    "limits_implicit": limited("implicit damping", 'damping="0.2"', option='integrator="implicit" timestep="0.004"'),
    "limits_implicitfast": limited(
        "implicitfast damping", 'damping="0.2"', option='integrator="implicitfast" timestep="0.004"'
    ),
    "limits_ball": model("constrained limit ball", BALL_LIMITED.format('damping="0.02"'), BALL_MOTORS, head=NO_CONTACT),
    "limits_ball_margin": model(
        "constrained limit ball limit_margin solimp solref",
        BALL_LIMITED.format('margin="0.2" solimplimit="0.6 0.95 0.2 0.4 2.5" solreflimit="0.03 0.5"'),
        BALL_MOTORS,
        head=NO_CONTACT,
    ),
    "friction_loss": model(
        "constrained frictionloss hinge ball slide free",
        """<body pos="0 0 1"><joint type="free" frictionloss="0.6"/><geom type="box" size="0.1 0.15 0.05"/>
             <body pos="0.2 0 0"><joint name="a" axis="0 1 0" frictionloss="0.3"/>
               <geom type="capsule" size="0.03 0.1"/></body>
             <body pos="-0.2 0 0"><joint type="ball" frictionloss="0.05"/>
               <geom type="capsule" size="0.03 0.1" pos="0 0 -0.1"/></body>
             <body pos="0 0.2 0"><joint name="b" type="slide" axis="0 1 1" frictionloss="1"
                                       solreffriction="0.05 1" solimpfriction="0.5 0.8 0.01 0.5 2"/>
               <geom size="0.05"/></body>
           </body>""",
        '<actuator><motor joint="a" gear="0.6"/><motor joint="b" gear="3"/></actuator>',
        head=NO_CONTACT,
    ),
    "friction_loss_direct": model(
        "constrained frictionloss solref_direct",
        ARM.replace("<joint ", '<joint frictionloss="0.5" solreffriction="-10 -30" '),
        '<actuator><motor joint="a" gear="2"/><motor joint="b" gear="2"/><motor joint="c" gear="2"/></actuator>',
        option='integrator="implicitfast"',
    ),
    "connect_world": tied("connect", '<connect body1="bar" anchor="0.1 0.02 0.01"/>'),
    "connect": tied(
        "connect",
        """<connect body1="bar" body2="left" anchor="-0.15 0 0"/>
           <connect body1="right" body2="bar" anchor="-0.05 0 -0.3" solref="0.01 0.8" solimp="0.7 0.98 0.01 0.5 2"/>""",
    ),
    "connect_direct": tied(
        "connect solref_direct", '<connect body1="bar" body2="left" anchor="-0.15 0 0" solref="-2000 -60"/>'
    ),
    "connect_sites": tied("connect equality_sites", '<connect site1="left" site2="end"/>'),
    "weld_world": tied("weld", '<weld body1="bar"/>'),
    "weld": tied(
        "weld",
        """<weld body1="bar" body2="left" anchor="0.02 0.01 -0.03" torquescale="0.6"/>
           <weld body1="right" body2="bar" relpose="0.2 0 -0.32 1 0.05 0.1 0" solref="0.03 1"/>""",
    ),
    "weld_sites": tied("weld equality_sites", '<weld site1="left" site2="end" torquescale="2"/>'),
    "equality_joint": tied(
        "equality_joint",
        """<joint joint1="left" joint2="right" polycoef="0.05 0.8 0.1 -0.05 0.02"/>
           <joint joint1="lower" polycoef="0.1 0 0 0 0" solref="0.05 1"/>""",
    ),
    "equality_inactive": tied(
        "equality_joint equality_inactive",
        """<connect body1="bar" body2="left" anchor="-0.15 0 0" active="false"/>
           <joint joint1="left" joint2="right"/>""",
    ),
    "equality_tendon": model(
        "constrained tendon equality_tendon",
        ARM,
        TENDONS.format("")
        + """<equality><tendon tendon1="t" tendon2="u" polycoef="0.02 0.5 0.3 0.1 0"/>
             <tendon tendon1="u" polycoef="-0.05 0 0 0 0" solref="0.04 1"/></equality>""",
    ),
    "four_bar": model(
        "constrained connect hinge limit rk4",
        """<body name="crank" pos="0 0 1"><joint name="crank" axis="0 1 0"/>
             <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/>
             <body name="coupler" pos="0 0 0.2"><joint axis="0 1 0"/>
               <geom type="capsule" fromto="0 0 0 0.5 0 0.1" size="0.02"/></body></body>
           <body name="rocker" pos="0.5 0 1"><joint axis="0 1 0" range="-0.4 0.4" limited="true"/>
             <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02"/></body>""",
        """<equality><connect body1="coupler" body2="rocker" anchor="0.5 0 0.1"/></equality>
           <actuator><motor joint="crank" gear="2"/></actuator>""",
        option='integrator="RK4"',
        head=NO_CONTACT,
    ),
    "creature_tied": model(
        "constrained weld connect frictionloss limit implicit " + CREATURE_FEATURES.removeprefix("smooth "),
        CREATURE.replace('name="knee"', 'name="knee" range="-0.3 0.2" limited="true"').replace(
            'name="swing"', 'name="swing" frictionloss="0.1"'
        ),
        """<equality><connect body1="hand" body2="head" anchor="0 0 0"/><weld body1="hand" body2="arm"/></equality>
           <actuator><motor joint="knee" gear="2"/><motor joint="swing" gear="0.5"/></actuator>""",
        option='integrator="implicit"',
        head=NO_CONTACT,
    ),
    "tendon_limits": model(
        "constrained tendon tendon_limit transmission_tendon", ARM, TENDONS.format('range="-0.2 0.15" limited="true"')
    ),
    "tendon_limits_margin": model(
        "constrained tendon tendon_limit limit_margin transmission_tendon",
        ARM,
        TENDONS.format(
            'range="-0.2 0.15" limited="true" margin="0.05" solreflimit="0.03 0.8" solimplimit="0.8 0.9 0.02"'
        ),
    ),
    "tendon_friction": model(
        "constrained tendon tendon_frictionloss transmission_tendon",
        ARM,
        TENDONS.format('frictionloss="0.8" solreffriction="0.03 1"'),
    ),
    "everything": model(
        "constrained frictionloss limit tendon tendon_limit tendon_frictionloss equality_joint hinge slide",
        LIMITED.format('frictionloss="0.3" damping="0.05"'),
        TENDONS.format('range="-0.2 0.15" limited="true" frictionloss="0.4"')
        + '<equality><joint joint1="a" joint2="b" polycoef="0 0.5 0 0 0" solref="0.1 1"/></equality>',
        head=NO_CONTACT,
    ),
}
