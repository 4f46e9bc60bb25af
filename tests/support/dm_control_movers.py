"""Small files of ours for the domains of dm_control's suite that `dm_control_small` has no model of.

Lengths are round numbers and hinges turn about one axis, so that what a task observes and rewards is worked out by
hand. Names and time steps are the package's.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

MANY = 400
KEYS = jax.random.split(jax.random.key(0), MANY)
QUARTER = math.pi / 2

TURNS = '<joint name="{0}" axis="{1}" limited="true" range="-90 90"/>'
TAIL = "".join(TURNS.format(*j) for j in (("tail2", "0 0 1"), ("tail1", "1 0 0"), ("tail_twist", "0 1 0")))
FIN = '<body name="fin{0}" pos="{1} 0 0">' + TURNS.format("fin{0}_pitch", "1 0 0")
FIN += TURNS.format("fin{0}_roll", "0 1 0") + '<geom size=".02"/></body>'
LIMB = '<body name="{0}" pos="{1}"><geom size=".04" mass="1"/></body>'
LIMBS = {
    "left_hand": (0.1, 0.4, 0.2),
    "left_foot": (0.0, 0.1, -0.9),
    "right_hand": (0.1, -0.4, 0.3),
    "right_foot": (0.2, -0.1, -0.8),
}
"""Where the humanoid's hands and feet are, in the axes of its torso."""

FILES = {
    "acrobot.xml": """
<mujoco>
  <option timestep="0.01"/>
  <default><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".05" mass="1"/></default>
  <worldbody>
    <site name="target" pos="0 0 4" size=".2"/>
    <body name="upper_arm" pos="0 0 2">
      <joint name="shoulder"/><geom/>
      <body name="lower_arm" pos="0 0 1"><joint name="elbow"/><geom/><site name="tip" pos="0 0 1"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="elbow" ctrlrange="-1 1"/></actuator>
</mujoco>""",
    "cartpole.xml": """
<mujoco>
  <option timestep="0.01"/>
  <default>
    <default class="pole">
      <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".045" mass=".1"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" pos="0 0 -.05" size="4 4 .2"/>
    <body name="cart" pos="0 0 1">
      <joint name="slider" type="slide" axis="1 0 0"/><geom type="box" size=".2 .15 .1" mass="1"/>
      <body name="pole_1" childclass="pole"><joint name="hinge_1"/><geom name="pole_1"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="slider" ctrlrange="-1 1" gear="10"/></actuator>
</mujoco>""",
    "cheetah.xml": """
<mujoco>
  <option timestep="0.01"/>
  <default><joint axis="0 1 0"/></default>
  <worldbody>
    <body name="torso" pos="0 0 .7">
      <joint name="rootx" type="slide" axis="1 0 0"/><joint name="rootz" type="slide" axis="0 0 1"/>
      <joint name="rooty"/><geom type="capsule" fromto="-.5 0 0 .5 0 0" size=".05" mass="3"/>
      <body name="bthigh" pos="-.5 0 0">
        <joint name="bthigh" limited="true" range="-30 60" stiffness="2" damping=".5"/>
        <geom size=".05" pos="0 0 -.4" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="bthigh" ctrlrange="-1 1" gear="10"/></actuator>
</mujoco>""",
    "fish.xml": """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="target" size=".04" pos="0 .4 .1" rgba="1 0 0 1" contype="0" conaffinity="0"/>
    <body name="torso" pos="0 0 .1">
      <freejoint name="root"/><geom size=".1" mass="1"/>
      <geom name="mouth" type="capsule" size=".02 .01" pos="0 .2 0" euler="0 0 90"/>
      <body name="tail" pos="0 -.1 0">TAIL<geom size=".02"/></body>FINS
    </body>
  </worldbody>
  <actuator><position joint="tail1" ctrlrange="-1 1"/></actuator>
</mujoco>""".replace("TAIL", TAIL).replace("FINS", FIN.format("left", "-.1") + FIN.format("right", ".1")),
    "humanoid.xml": """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="torso" pos="0 0 1.5">
      <freejoint name="root"/><geom type="capsule" size=".1" fromto="0 0 -.2 0 0 .2" mass="4"/>
      <body name="head" pos="0 0 .4"><joint name="neck" axis="0 1 0"/><geom size=".1" mass="1"/></body>LIMBS
    </body>
  </worldbody>
  <actuator><motor joint="neck" ctrlrange="-1 1"/></actuator>
</mujoco>""".replace("LIMBS", "".join(LIMB.format(name, " ".join(map(str, at))) for name, at in LIMBS.items())),
    "point_mass.xml": """
<mujoco>
  <option timestep="0.02"><flag contact="disable"/></option>
  <default><joint type="slide" limited="true" range="-.25 .28"/></default>
  <worldbody>
    <geom name="target" pos="0 0 .01" size=".015"/>
    <body name="pointmass" pos="0 0 .01">
      <joint name="root_x" axis="1 0 0"/><joint name="root_y" axis="0 1 0"/>
      <geom name="pointmass" size=".01" mass=".3"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="t1"><joint joint="root_x" coef="1"/><joint joint="root_y" coef="0"/></fixed>
    <fixed name="t2"><joint joint="root_x" coef="0"/><joint joint="root_y" coef="1"/></fixed>
  </tendon>
  <actuator><motor tendon="t1" ctrlrange="-1 1" gear=".1"/><motor tendon="t2" ctrlrange="-1 1" gear=".1"/></actuator>
</mujoco>""",
    "swimmer.xml": """
<mujoco>
  <option timestep="0.002" viscosity=".001" density="3000"/>
  <default>
    <motor ctrlrange="-1 1"/>
    <default class="swimmer">
      <joint axis="0 0 1" pos="0 -.05 0" limited="true"/>
      <default class="visual"><geom type="capsule" fromto="0 -.05 0 0 .05 0" size=".01" mass="0"/></default>
      <default class="inertial"><geom type="box" size=".01 .05 .01" mass="1"/></default>
    </default>
    <default class="free"><joint limited="false"/></default>
  </default>
  <worldbody>
    <geom name="target" pos="1 1 .05" size=".1"/>
    <body name="head" pos="0 0 .05" childclass="swimmer">
      <joint name="rootx" class="free" type="slide" axis="1 0 0"/>
      <joint name="rooty" class="free" type="slide" axis="0 1 0"/>
      <joint name="rootz" class="free" axis="0 0 1"/>
      <geom name="head" class="inertial"/><geom name="nose" size=".004" pos="0 -.06 0" mass="0"/><site name="head"/>
    </body>
  </worldbody>
</mujoco>""",
    "walker.xml": """
<mujoco>
  <option timestep="0.0025"/>
  <default><joint axis="0 1 0"/><geom type="capsule" size=".05" mass="1"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 1 1"/>
    <body name="torso" pos="0 0 1.3">
      <joint name="rootz" type="slide" axis="0 0 1"/><joint name="rootx" type="slide" axis="1 0 0"/>
      <joint name="rooty"/><geom fromto="0 0 -.3 0 0 .3"/>
      <body name="right_leg" pos="0 -.1 -.3">
        <joint name="right_hip" limited="true" range="-20 100"/><geom fromto="0 0 0 0 0 -.6"/>
      </body>
      <body name="left_leg" pos="0 .1 -.3">
        <joint name="left_hip" limited="true" range="-20 100"/><geom fromto="0 0 0 0 0 -.6"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="right_hip" ctrlrange="-1 1"/><motor joint="left_hip" ctrlrange="-1 1"/></actuator>
</mujoco>""",
}


def gaussian(far: float) -> float:
    """What `tolerance` makes of a distance from its bounds, in margins."""
    return 0.1**far**2


def begun(env: Any) -> Any:
    """How many episodes begin."""
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda key: env.begin(key)))(KEYS))


def assert_uniform(x: np.ndarray, low: Any, high: Any) -> None:
    """Checks that the draws of each column lie within the bounds, and as many in each quarter as chance has it."""
    share = (np.asarray(x, np.float64) - low) / (np.asarray(high) - low)
    assert ((share >= -1e-6) & (share <= 1 + 1e-6)).all()
    for column in share.T:
        counts = np.histogram(column, 4, (0.0, 1.0))[0]
        assert np.abs(counts - MANY / 4).max() < 4.5 * math.sqrt(MANY * 3 / 16)
