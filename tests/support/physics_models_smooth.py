"""Models without constraints: joints in every combination, passive forces, actuators, tendons, integrators."""

from __future__ import annotations

from physics_mjcf import model

# A floating tree with every joint, several of them on a body, and bodies without any. Nothing in it collides.
CREATURE = """
  <body name="base" pos="0 0 1" quat="1 0.1 -0.2 0.3">
    <freejoint name="root"/>
    <geom type="box" size="0.2 0.1 0.05" density="700"/>
    <site name="base" pos="0.1 0 0.02" euler="0.3 0 0.2"/>
    <body name="neck" pos="0.22 0 0.05" euler="0.2 -0.4 0.1">
      <geom type="capsule" fromto="0 0 0 0.1 0 0.05" size="0.02"/>
      <body name="head" pos="0.12 0 0.06">
        <joint name="head" type="ball" pos="-0.01 0 0.01" damping="0.02"/>
        <geom type="ellipsoid" size="0.06 0.05 0.04" pos="0.04 0.01 0"/>
      </body>
    </body>
    <body name="arm" pos="0 0.15 0" euler="0 0.5 0.3">
      <joint name="swing" type="hinge" axis="1 0.2 0" pos="0 -0.02 0" damping="0.05"/>
      <joint name="reach" type="slide" axis="0 1 0.3" damping="0.4"/>
      <geom type="capsule" fromto="0 0 0 0 0.2 0.05" size="0.03"/>
      <body name="hand" pos="0 0.22 0.05" quat="0.9 0.1 0.3 -0.1">
        <joint name="wrist" type="hinge" axis="0 0.6 0.8" damping="0.03" armature="0.002"/>
        <geom type="cylinder" size="0.03 0.05" pos="0.01 0.03 0"/>
      </body>
    </body>
    <body name="leg" pos="-0.1 -0.12 -0.03">
      <joint name="hip" type="hinge" axis="0 1 0" damping="0.05"/>
      <joint name="twist" type="hinge" axis="1 0 0.4" damping="0.05"/>
      <geom type="capsule" fromto="0 0 0 -0.02 -0.03 -0.2" size="0.025"/>
      <body name="shin" pos="-0.02 -0.03 -0.2">
        <joint name="knee" type="hinge" axis="0 1 0" damping="0.04"/>
        <geom type="capsule" fromto="0 0 0 0.03 0 -0.2" size="0.02"/>
        <site name="foot" pos="0.03 0 -0.2"/>
      </body>
    </body>
  </body>"""
MOTORS = """<actuator>
    <motor name="swing" joint="swing" gear="0.5" ctrlrange="-1 1"/>
    <velocity joint="wrist" kv="0.05" ctrlrange="-2 2"/>
    <position joint="knee" kp="2" kv="0.05" ctrlrange="-1 1"/>
    <general joint="head" gear="0.1 0.2 -0.1 0 0 0" ctrlrange="-1 1"/>
  </actuator>"""
NO_CONTACT = '<default><geom contype="0" conaffinity="0"/></default>'
CREATURE_FEATURES = "smooth tree offset rotated no_joint several_joints free ball hinge slide damping armature"

# An arm of three hinges: what the actuators and the tendons below pull at.
ARM = """
  <body pos="0 0 1">
    <joint name="a" type="hinge" axis="0 1 0" damping="0.1"/>
    <geom contype="0" conaffinity="0" type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
    <site name="middle" pos="0.15 0.02 0" euler="0.1 0.2 0.3"/>
    <body pos="0.3 0 0">
      <joint name="b" type="hinge" axis="0 0.8 0.6" damping="0.1"/>
      <geom contype="0" conaffinity="0" type="capsule" fromto="0 0 0 0.25 0 0" size="0.03"/>
      <body pos="0.25 0 0">
        <joint name="c" type="slide" axis="1 0 0.1" damping="0.5" stiffness="30"/>
        <geom contype="0" conaffinity="0" type="sphere" size="0.05" pos="0.05 0 0"/>
        <site name="tip" pos="0.1 0 0.01" euler="0 -0.5 0.2"/>
      </body>
    </body>
  </body>"""
# What tendons to the arm's tip go round; on its outer side, as C finds ways along the inner one to 1e-6 only.
ROLLERS = """
  <site name="over" pos="0.05 0.02 1.45"/>
  <geom name="post" type="cylinder" size="0.1 0.5" pos="0.3 0 1.2" euler="1.5 0.2 0"/>
  <geom name="ball" size="0.12" pos="0.3 0 1.25"/>
  <site name="beside" pos="0.3 0.05 1.6"/>"""
MUSCLES = """<tendon><spatial name="t"><site site="over"/><geom geom="post"/><site site="tip"/></spatial></tendon>
  <actuator>
    <muscle tendon="t" lengthrange="0.5 1.1" force="20"/>
    <muscle joint="a" lengthrange="-1 1" scale="5" vmax="8" tausmooth="0.4" ctrlrange="-0.5 1.5"/>
    <muscle joint="b" lengthrange="-0.8 0.9" scale="3" timeconst="0.05 0.2" range="0.6 1.2" lmin="0.7"
            lmax="1.4" fpmax="2" fvmax="1.6" forcerange="-4 0"/>
    <general joint="c" gaintype="muscle" gainprm="0.75 1.05 9 200 0.5 1.6 0.4 1.3 1.2" lengthrange="-1 1"/>
  </actuator>"""

MODELS = {
    "free_body": model(
        "smooth free rotated offset",
        """<body pos="0 0 1" quat="0.5 0.5 -0.5 0.5">
             <freejoint/>
             <inertial pos="0.05 -0.02 0.1" quat="0.8 0.2 0.3 0.1" mass="1.3" diaginertia="0.02 0.03 0.015"/>
           </body>""",
    ),
    "free_simple": model("smooth free", '<body><freejoint/><geom size="0.1"/></body>', option='gravity="1 -2 -5"'),
    "free_weightless": model(
        "smooth free rk4",
        """<body><freejoint/><inertial pos="0 0 0" mass="2" diaginertia="0.02 0.03 0.045"/></body>
           <body pos="1 0 0"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3" pos="0.1 0.2 -0.1"/></body>""",
        option='gravity="0 0 0" integrator="RK4"',
        head=NO_CONTACT,
    ),
    "ball": model(
        "smooth ball offset",
        """<body pos="0 0 1"><joint type="ball" pos="0 0.1 0.3"/>
             <geom type="box" size="0.1 0.05 0.2" pos="0.02 0 -0.1" euler="0.3 0.1 0"/></body>""",
    ),
    "hinge": model(
        "smooth hinge offset",
        """<body pos="0 0 1"><joint type="hinge" axis="1 1 0.5" pos="0.1 0 0.2" ref="0.3"/>
             <geom type="capsule" size="0.05 0.2"/></body>""",
    ),
    "slide": model(
        "smooth slide several_joints",
        """<body pos="0 0 1" euler="0.4 0 0.2">
             <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0.2 1 0"/><joint type="slide" axis="0 0 1"/>
             <geom type="cylinder" size="0.1 0.2"/></body>""",
    ),
    "several_joints": model(
        "smooth several_joints hinge slide ball offset rotated",
        """<body pos="0 0 1" euler="0.1 0.2 0.3">
             <joint type="hinge" axis="1 0 0" pos="0 0 0.1" ref="0.2"/><joint type="slide" axis="0 1 0.5" ref="-0.1"/>
             <joint type="hinge" axis="0 0 1" pos="0.1 0 0"/>
             <geom type="box" size="0.1 0.15 0.05"/>
             <body pos="0.2 0.1 0" quat="1 0.3 0 0.2">
               <joint type="slide" axis="1 0 0"/><joint type="ball" pos="0.03 0 -0.02"/>
               <geom type="capsule" size="0.04 0.1" pos="0.1 0 0.05"/>
             </body>
           </body>""",
        head=NO_CONTACT,
    ),
    "chain": model(
        "smooth hinge ball slide offset rotated",
        """<body pos="0 0 2"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/>
             <body pos="0.2 0 0" euler="0.5 0 0">
               <joint type="ball"/><geom type="box" size="0.1 0.03 0.02" pos="0.1 0 0"/>
               <body pos="0.2 0 0" euler="0 0.5 0"><joint type="slide" axis="1 0 0.2" stiffness="50" springref="0.05"/>
                 <geom type="cylinder" size="0.03 0.1" pos="0.1 0 0"/>
                 <body pos="0.2 0 0" euler="0 0 0.5"><joint type="hinge" axis="0 0 1" pos="-0.02 0.01 0"/>
                   <inertial pos="0.1 0.02 0" mass="0.4" fullinertia="0.004 0.005 0.006 0.001 -0.0005 0.0008"/>
                 </body></body></body></body>""",
        head=NO_CONTACT,
    ),
    "tree": model(CREATURE_FEATURES, CREATURE, head=NO_CONTACT),
    "two_trees": model(
        "smooth free hinge no_joint",
        """<body pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
             <body pos="0.2 0 0"><joint axis="0 0 1"/><geom size="0.1"/></body></body>
           <body pos="1 0 1"><geom type="box" size="0.1 0.1 0.1"/>
             <body pos="0 0 0.2" euler="0 0.3 0"><joint axis="0 1 0"/><geom type="capsule" size="0.05 0.3"/></body>
           </body>
           <body pos="2 0 1"><freejoint/><geom size="0.1"/></body>""",
        head=NO_CONTACT,
    ),
    "springs": model(
        "smooth spring damping armature free ball hinge slide",
        """<body pos="0 0 1" quat="1 0.2 0 0"><joint type="free" stiffness="3" damping="0.2" armature="0.01"/>
             <geom type="box" size="0.1 0.15 0.05"/>
             <body pos="0.2 0 0"><joint type="hinge" axis="0 1 0" stiffness="2" springref="0.4" damping="0.1"/>
               <geom type="capsule" size="0.03 0.1"/></body>
             <body pos="-0.2 0 0"><joint type="ball" stiffness="1.5" damping="0.05" armature="0.003"/>
               <geom type="capsule" size="0.03 0.1" pos="0 0 -0.1"/></body>
             <body pos="0 0.2 0"><joint type="slide" axis="0 1 1" stiffness="40" damping="1" armature="0.1"/>
               <geom size="0.05"/></body>
           </body>""",
        head=NO_CONTACT,
    ),
    "gravity_compensation": model(
        "smooth gravcomp hinge free",
        """<body pos="0 0 1" gravcomp="0.7"><freejoint/><geom type="box" size="0.1 0.15 0.05" pos="0.05 0 0.02"/>
             <body pos="0.2 0 0" gravcomp="1"><joint axis="0 1 0"/><geom type="capsule" size="0.03 0.1" pos="0 0 0.1"/>
               <body pos="0 0 0.2" gravcomp="1.5"><geom size="0.05" pos="0.1 0 0"/></body></body></body>""",
        head=NO_CONTACT,
    ),
    "fluid": model(
        CREATURE_FEATURES + " fluid", CREATURE, MOTORS, option='density="1000" viscosity="0.5"', head=NO_CONTACT
    ),
    "fluid_viscous": model(
        "smooth fluid hinge slide several_joints",
        """<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint axis="0 0 1"/>
             <geom type="capsule" fromto="0 0 0 -1 0 0" size="0.1" density="1000"/>
             <body pos="-1 0 0"><joint name="bend" axis="0 0 1"/>
               <geom type="capsule" fromto="0 0 0 -1 0 0" size="0.1" density="1000"/></body></body>""",
        '<actuator><motor joint="bend" gear="20" ctrlrange="-1 1"/></actuator>',
        option='viscosity="0.1"',
        head=NO_CONTACT,
    ),
    "wind": model(
        CREATURE_FEATURES + " fluid wind",
        CREATURE,
        option='density="1.2" viscosity="0.02" wind="8 -3 2"',
        head=NO_CONTACT,
    ),
    "actuators": model(
        "smooth actuator ctrlrange forcerange gear bias_affine",
        ARM,
        """<actuator>
             <motor joint="a" gear="3" ctrlrange="-0.6 0.6"/>
             <motor joint="b"/>
             <position joint="b" kp="5" kv="0.2" ctrlrange="-0.8 0.8" forcerange="-2 2" gear="1.5"/>
             <position joint="c" kp="40" dampratio="0.8"/>
             <velocity joint="c" kv="0.5" forcerange="-0.4 0.5"/>
             <velocity joint="a" kv="0.3" ctrlrange="-2 2"/>
           </actuator>""",
    ),
    "actuators_general": model(
        "smooth actuator gain_affine bias_affine gear",
        ARM,
        """<actuator>
             <general joint="a" gainprm="2"/>
             <general joint="b" gaintype="affine" gainprm="1.5 0.4 -0.3" biastype="affine" biasprm="0.1 -2 -0.2"/>
             <general joint="c" gaintype="affine" gainprm="1 5 0.4" gear="-2"/>
             <general joint="a" biastype="affine" biasprm="-0.2 -1 -0.1" forcerange="-1 0.8"/>
           </actuator>""",
    ),
    "actuators_dynamics": model(
        "smooth actuator integrator filter filterexact actrange actearly ctrlrange bias_affine",
        ARM,
        """<actuator>
             <general joint="a" dyntype="integrator" actlimited="true" actrange="-0.05 0.05" gainprm="10"
                      biastype="affine" biasprm="0 -10 -1"/>
             <general joint="b" dyntype="filter" dynprm="0.05" gainprm="2"/>
             <general joint="c" dyntype="filterexact" dynprm="0.03" gainprm="5" ctrlrange="-0.5 0.7"/>
             <intvelocity joint="c" kp="20" actrange="-0.1 0.1" ctrlrange="-1 1"/>
             <general joint="a" dyntype="filter" dynprm="0.02" actearly="true" actlimited="true" actrange="-0.4 0.3"/>
             <position joint="b" kp="3" timeconst="0.04"/>
             <motor joint="c"/>
           </actuator>""",
    ),
    "actuators_site": model(
        "smooth actuator transmission_site gear free",
        CREATURE,
        """<actuator>
             <motor site="foot" gear="1 0 2 0 0 0"/>
             <motor site="base" gear="0.2 -0.3 4 0.1 0.2 -0.1"/>
             <general site="foot" refsite="base" gear="0 0 1 0 0 0" gainprm="3" biastype="affine" biasprm="0 -3 -0.1"/>
             <motor site="foot" refsite="base" gear="0 0 0 0.2 0.1 0"/>
           </actuator>""",
        head=NO_CONTACT,
    ),
    "actuators_joint3d": model(
        "smooth actuator transmission_joint transmission_joint_in_parent free ball",
        CREATURE,
        """<actuator>
             <motor joint="root" gear="1 2 8 0.1 -0.2 0.3"/>
             <motor joint="head" gear="0.05 0.1 -0.1 0 0 0"/>
             <motor jointinparent="head" gear="-0.1 0.1 0.05 0 0 0"/>
             <motor jointinparent="root" gear="0.5 0 1 0.2 0 0.1"/>
             <general joint="head" gear="0.2 0 0.1 0 0 0" gainprm="0.5" biastype="affine" biasprm="0 -0.5 -0.02"/>
           </actuator>""",
        head=NO_CONTACT,
    ),
    "servos_of_angles": model(
        "smooth actuator transmission_site transmission_joint transmission_joint_in_parent bias_affine filterexact",
        CREATURE,
        """<actuator>
             <position joint="head" gear="0.02 0 0.01" kp="2"/>
             <position jointinparent="head" gear="-0.01 0.01 0.05" kp="1" forcerange="-0.04 0.05"/>
             <general joint="head" gear="0.02 0 0.01" gainprm="2" biastype="affine" biasprm="0.1 -1.9 0"/>
             <general joint="head" gear="0.02 0 0.01" gaintype="affine" gainprm="2 1" biastype="affine" biasprm="0 -2"/>
             <position site="foot" refsite="base" gear="0 0 0 0.02 0.01 0" kp="3" kv="0.1"/>
             <position site="foot" refsite="base" gear="0 0 0.01 0.02 0.01 0" kp="3"/>
             <position site="foot" refsite="base" gear="0 0 0.01 0 0.03 0.01" kp="2" timeconst="0.04"/>
           </actuator>""",
        head=NO_CONTACT,
    ),
    "servos_of_angles_integrated": model(
        "smooth actuator transmission_site transmission_joint integrator filter filterexact actrange actearly",
        CREATURE,
        """<actuator>
             <intvelocity joint="head" gear="0.02 0 0.01" kp="2" actrange="-3 3"/>
             <general joint="head" gear="0.03 0.01 0" gainprm="1" biastype="affine" biasprm="0 -1 -0.1"
                      dyntype="integrator" actlimited="true" actrange="-0.3 0.2" actearly="true"/>
             <position joint="head" gear="0 0 0.05" kp="1" timeconst="0.02"/>
             <intvelocity site="foot" refsite="base" gear="0 0 0 0.02 0.01 0" kp="3" actrange="-9 9"/>
             <general site="foot" refsite="base" gear="0 0 0 0 0.02 0" gainprm="2" biastype="affine" biasprm="0 -2"
                      dyntype="filter" dynprm="0.05"/>
             <general joint="head" gear="0.02 0 0.01" gainprm="2" dyntype="integrator"/>
           </actuator>""",
        head=NO_CONTACT,
    ),
    "actuator_force_limits": model(
        "smooth actuator joint_force_range",
        ARM.replace('name="a"', 'name="a" actuatorfrcrange="-0.5 0.8"'),
        '<actuator><motor joint="a" gear="3"/><velocity joint="a" kv="1"/><motor joint="b"/></actuator>',
        option='integrator="implicitfast"',
    ),
    "tendons": model(
        "smooth tendon tendon_spring tendon_damping transmission_tendon actuator",
        ARM,
        """<tendon>
             <fixed name="t" stiffness="4" springlength="0.2" damping="0.3">
               <joint joint="a" coef="1"/><joint joint="b" coef="-0.6"/></fixed>
             <fixed name="u" stiffness="10" springlength="-0.05 0.1">
               <joint joint="b" coef="0.5"/><joint joint="c" coef="2"/></fixed>
             <fixed name="v" damping="0.1"><joint joint="a" coef="0.3"/><joint joint="c" coef="1"/></fixed>
           </tendon>
           <actuator>
             <motor tendon="t" gear="0.7"/><position tendon="u" kp="3"/><velocity tendon="v" kv="0.4"/>
           </actuator>""",
    ),
    "tendons_spatial": model(
        CREATURE_FEATURES
        + " tendon tendon_site tendon_pulley tendon_spring tendon_damping transmission_tendon actuator",
        f"{CREATURE}<site name='hook' pos='.4 .3 1.4'/><site name='eye' pos='-.3 .2 1.2'/>",
        """<tendon>
             <spatial name="t" stiffness="20" springlength="0.1" damping="0.2">
               <site site="hook"/><site site="base"/><site site="foot"/></spatial>
             <spatial name="u" stiffness="3"><site site="hook"/><site site="base"/><pulley divisor="2"/>
               <site site="base"/><site site="eye"/><pulley divisor="3"/><site site="eye"/><site site="foot"/></spatial>
           </tendon>
           <actuator><motor tendon="t" gear="2"/><position tendon="u" kp="3"/></actuator>""",
        head=NO_CONTACT,
    ),
    "tendons_round": model(
        "smooth hinge tendon tendon_site tendon_sphere tendon_cylinder tendon_spring transmission_tendon actuator",
        ARM + ROLLERS,
        """<tendon>
             <spatial name="t" stiffness="4" damping="0.1"><site site="over"/><geom geom="post"/><site site="tip"/>
             </spatial>
             <spatial name="u" stiffness="2"><site site="over"/><geom geom="ball" sidesite="beside"/><site site="tip"/>
             </spatial>
           </tendon>
           <actuator><motor tendon="t" gear="0.7"/><position tendon="u" kp="3"/></actuator>""",
        head=NO_CONTACT,
    ),
    **{
        name: model(
            f"smooth hinge muscle tendon tendon_site tendon_cylinder transmission_tendon actuator {integrator.lower()}",
            ARM + ROLLERS,
            MUSCLES,
            option=f'integrator="{integrator}"',
            head=NO_CONTACT,
        )
        for name, integrator in (("muscles", "Euler"), ("muscles_implicit", "implicit"))
    },
    "sensors": model(
        CREATURE_FEATURES + " actuator sensor",
        CREATURE,
        MOTORS
        + """<sensor>
             <accelerometer site="base"/><velocimeter site="base"/><gyro site="foot"/><force site="foot"/>
             <torque site="foot"/><magnetometer site="base"/><jointpos joint="knee"/><jointvel joint="reach"/>
             <actuatorpos actuator="swing"/><actuatorvel actuator="swing"/><actuatorfrc actuator="swing"/>
             <jointactuatorfrc joint="swing"/><ballquat joint="head"/><ballangvel joint="head"/>
             <framepos objtype="body" objname="hand"/>
             <framepos objtype="site" objname="foot" reftype="site" refname="base"/>
             <framequat objtype="xbody" objname="arm"/><framexaxis objtype="site" objname="foot"/>
             <frameyaxis objtype="xbody" objname="shin"/><framezaxis objtype="xbody" objname="base"/>
             <framelinvel objtype="site" objname="foot"/><frameangvel objtype="body" objname="shin"/>
             <framelinvel objtype="site" objname="foot" reftype="site" refname="base"/>
             <framelinacc objtype="site" objname="foot"/><frameangacc objtype="body" objname="hand"/>
             <subtreecom body="base"/><subtreelinvel body="base"/><subtreeangmom body="arm"/>
             <velocimeter site="foot" cutoff="0.5"/><clock/><e_potential/><e_kinetic/>
           </sensor>""",
        head=NO_CONTACT,
    ),
    "euler_undamped": model(
        CREATURE_FEATURES + " actuator flag_eulerdamp_off",
        CREATURE,
        MOTORS,
        head=NO_CONTACT + '<option><flag eulerdamp="disable"/></option>',
    ),
    **{
        name.lower(): model(
            f"{CREATURE_FEATURES} actuator {name.lower()}",
            CREATURE,
            MOTORS,
            option=f'integrator="{name}" timestep="0.005"',
            head=NO_CONTACT,
        )
        for name in ("Euler", "RK4", "implicit", "implicitfast")
    },
    "implicit_fluid": model(
        CREATURE_FEATURES + " fluid implicit",
        CREATURE,
        MOTORS,
        option='integrator="implicit" density="800" viscosity="0.3" wind="1 0 2"',
        head=NO_CONTACT,
    ),
    "implicitfast_fluid": model(
        CREATURE_FEATURES + " fluid implicitfast",
        CREATURE,
        MOTORS,
        option='integrator="implicitfast" density="800" viscosity="0.3"',
        head=NO_CONTACT,
    ),
}
