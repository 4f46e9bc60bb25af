"""A package with the name of dm_control that has small files of ours, in which is what the suite's tasks ask for.

So `make test` needs no dm_control. What MuJoCo makes of the same files, stepped as dm_control's physics steps
(mj_step2, mj_step but for the last, mj_step1), is the reference.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from kousoku.envs.dm_control import Look, SuiteEnv
from kousoku.envs.locomotion.robot import at_rest
from kousoku.envs.locomotion.world import Still, World

FILES = {
    "common/materials.xml": """
<mujoco>
  <asset><material name="self" rgba=".7 .5 .3 1"/><material name="target" rgba=".6 .3 .3 1"/></asset>
</mujoco>""",
    "pendulum.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <option timestep="0.02"><flag contact="disable" energy="enable"/></option>
  <worldbody>
    <body name="pole" pos="0 0 .6">
      <joint name="hinge" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" material="self" fromto="0 0 0 0 0 0.5" size="0.02" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" gear="1" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>""",
    "reacher.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <option timestep="0.02"><flag contact="disable"/></option>
  <default><joint type="hinge" axis="0 0 1" damping="0.01"/><motor gear=".05" ctrlrange="-1 1"/></default>
  <worldbody>
    <body name="arm" pos="0 0 .01">
      <joint name="shoulder"/><geom type="capsule" fromto="0 0 0 .12 0 0" size=".01" material="self"/>
      <body name="hand" pos=".12 0 0">
        <joint name="wrist" limited="true" range="-160 160"/>
        <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" material="self"/>
        <geom name="finger" type="sphere" size=".01" pos=".12 0 0"/>
      </body>
    </body>
    <geom name="target" type="sphere" pos="0 0 .01" size=".05" material="target"/>
  </worldbody>
  <actuator><motor joint="shoulder"/><motor joint="wrist"/></actuator>
</mujoco>""",
    "hopper.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <option timestep="0.005"/>
  <default><geom solref=".02 1"/><motor ctrlrange="-1 1"/></default>
  <worldbody>
    <geom type="plane" size="5 1 1"/>
    <body name="torso" pos="0 0 .9">
      <joint name="rootx" type="slide" axis="1 0 0"/><joint name="rootz" type="slide" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 -.2 0 0 .2" size=".05" material="self"/>
      <body name="foot" pos="0 0 -.6">
        <joint name="ankle" type="hinge" axis="0 1 0" damping=".2" limited="true" range="-45 45"/>
        <geom type="capsule" fromto="-.1 0 0 .2 0 0" size=".04" friction="2" material="self"/>
        <site name="touch_toe" size=".06" pos=".2 0 0"/><site name="touch_heel" size=".06" pos="-.1 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="rootz" gear="20"/><motor joint="ankle" gear="3"/></actuator>
  <sensor>
    <subtreelinvel body="torso"/><touch site="touch_toe"/><touch site="touch_heel"/>
  </sensor>
</mujoco>""",
}

ARM = """
<mujoco>
  <include file="./common/materials.xml"/>
  <option timestep="0.001" cone="elliptic"/>
  <default><joint type="hinge" axis="0 -1 0" damping=".5"/><geom size=".01" density="500"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="upper_arm" pos="0 0 .4">
      <joint name="arm_root" limited="false"/><geom type="capsule" fromto="0 0 0 0 0 .15"/>
      <body name="middle_arm" pos="0 0 .18">
        <joint name="arm_shoulder" limited="true" range="-160 160"/><geom type="capsule" fromto="0 0 0 0 0 .12"/>
        <body name="lower_arm" pos="0 0 .15">
          <joint name="arm_elbow" limited="true" range="-160 160"/><geom type="capsule" fromto="0 0 0 0 0 .09"/>
          <body name="hand" pos="0 0 .12">
            <joint name="arm_wrist" limited="true" range="-140 140"/><geom pos="0 0 .02" mass=".1"/>
            <site name="grasp" pos="0 0 .065"/><site name="pinch" pos="0 0 .09"/><site name="palm_touch" size=".02"/>
            THUMB
          </body>
        </body>
      </body>
    </body>
    THINGS
  </worldbody>
  <sensor><touch site="palm_touch"/><touch site="finger_touch"/><touch site="thumb_touch"/>
    <touch site="fingertip_touch"/><touch site="thumbtip_touch"/></sensor>
  <actuator><motor joint="arm_root" ctrlrange="-1 1" gear="3"/><motor joint="finger" ctrlrange="-1 1"/></actuator>
</mujoco>"""
FINGER = """
            <body name="{0}" pos="{1} 0 .045" euler="0 {2}">
              <joint name="{0}" limited="true" range="-10 60"/><geom pos=".03 0 0"/><site name="{0}_touch"/>
              <body name="{0}tip" pos=".05 0 -.01">
                <joint name="{0}tip" limited="true" range="-40 20"/><geom/><site name="{0}tip_touch"/>
              </body>
            </body>"""
THING = """
    <body name="{0}" pos="{1} 0 .4">
      <joint name="{0}_x" type="slide" axis="1 0 0" ref="{1}"/><joint name="{0}_z" type="slide" axis="0 0 1" ref=".4"/>
      <joint name="{0}_y" axis="0 1 0"/>{2}<site name="{0}"/>
    </body>"""
GHOST = '<body name="{0}" pos="{1} .001 .4"><geom name="{0}" size=".02" contype="0" conaffinity="0"/>{2}</body>'
PEG_SITES = " ".join(f'<site name="{{0}}{part}" pos="0 0 {z}"/>' for part, z in (("_tip", -0.1), ("_pinch", -0.02)))
CUP = '<body name="cup" pos=".3 0 .4"><geom type="capsule" fromto="-.04 0 .06 -.04 0 -.015"/></body>'
SLOT = '<body name="slot" pos="-.3 0 .2"><geom type="box" pos=".04 0 -.08" size=".02 .01 .03"/></body>'
HAND = FINGER.format("thumb", ".03", "-90 0") + FINGER.format("finger", "-.03", "90 180")
PROPS = [
    THING.format("ball", ".4", '<geom name="ball" size=".022"/>'),
    THING.format("peg", "-.4", f'<geom size=".009"/>{PEG_SITES.format("peg")}<site name="peg_grasp"/>'),
    GHOST.format("target_ball", ".4", '<site name="target_ball"/>'),
    GHOST.format("target_peg", "-.2", f'<site name="target_peg"/>{PEG_SITES.format("target_peg")}'),
    CUP,
    SLOT,
]
BOXES = [THING.format(f"box{i}", f"{0.5 - 0.1 * i:g}", '<geom type="box" size=".022 .022 .022"/>') for i in range(4)]
FILES |= {
    "manipulator.xml": ARM.replace("THUMB", HAND).replace("THINGS", "".join(PROPS)),
    "stacker.xml": ARM.replace("THUMB", HAND).replace(
        "THINGS", "".join([*BOXES, GHOST.format("target", "0", '<site name="target"/>')])
    ),
}

WALL = '<geom name="wall_{0}" type="plane" size="1 1 1" pos="{1} {2} 1" zaxis="{3} {4} 0"/>'
WALLS = [("px", -4, 0, 1, 0), ("py", 0, -4, 0, 1), ("nx", 4, 0, -1, 0), ("ny", 0, 4, 0, -1)]
LIMB = '<body name="{0}" pos="{1} {2} .05"><geom size=".04" mass="1"/></body>'
LIMBS = [("lhand", 0.3, 0.2), ("rhand", -0.3, 0.2), ("lfoot", 0.1, -0.5), ("rfoot", -0.1, -0.5)]
FILES |= {
    "ball_in_cup.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <default><joint type="slide"/><geom type="capsule" size=".01"/><motor ctrlrange="-1 1" gear="4"/></default>
  <worldbody>
    <body name="cup" pos="0 0 .6">
      <joint name="cup_x" axis="1 0 0" damping="2" stiffness="15"/>
      <joint name="cup_z" axis="0 0 1" damping="2" stiffness="15"/>
      <geom fromto="-.06 0 -.1 .06 0 -.1"/><geom fromto="-.06 0 -.1 -.06 0 0"/><geom fromto=".06 0 -.1 .06 0 0"/>
      <site name="cup" pos="0 0 -.11"/><site name="target" type="box" pos="0 0 -.05" size=".06 .01 .05"/>
    </body>
    <body name="ball" pos="0 0 .2">
      <joint name="ball_x" axis="1 0 0"/><joint name="ball_z" axis="0 0 1"/>
      <geom name="ball" type="sphere" size=".03"/><site name="ball"/>
    </body>
  </worldbody>
  <tendon>
    <spatial limited="true" range="0 .35"><site site="ball"/><site site="cup"/></spatial>
  </tendon>
  <actuator><motor joint="cup_x"/><motor joint="cup_z"/></actuator>
</mujoco>""",
    "finger.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <option timestep="0.01" cone="elliptic"><flag gravity="disable"/></option>
  <default><joint axis="0 -1 0" damping="2"/><motor ctrlrange="-1 1" gear="20"/></default>
  <worldbody>
    <body name="proximal" pos="-.2 0 .4">
      <joint name="proximal" limited="true" range="-100 100" ref="-80"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.15"/>
      <body name="distal" pos="0 0 -.16">
        <joint name="distal" limited="true" range="-90 90"/>
        <geom type="capsule" size=".03" fromto="0 0 -.1 0 0 -.15"/>
        <site name="touchtop" pos=".01 0 -.16" size=".03"/><site name="touchbottom" pos="-.01 0 -.16" size=".03"/>
      </body>
    </body>
    <body name="spinner" pos=".2 0 .4">
      <joint name="hinge" damping=".4"/><geom name="cap1" type="capsule" size=".05 .07"/>
      <site name="tip" size=".025" pos="0 0 .12"/>
    </body>
    <site name="target" size=".03" pos="0 0 .3"/>
  </worldbody>
  <actuator><motor joint="proximal"/><motor joint="distal"/></actuator>
  <sensor><touch site="touchtop"/><touch site="touchbottom"/></sensor>
</mujoco>""",
    "lqr.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <option timestep=".02"><flag constraint="disable"/></option>
  <default><joint type="slide" axis="0 1 0"/><geom size=".08" material="self"/></default>
  <worldbody><geom type="plane" size="3 1 1"/></worldbody>
</mujoco>""",
    "quadruped.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <worldbody>
    <geom name="floor" type="plane" size="4 4 1"/><geom name="terrain" type="box" size="4 4 .5"/>
    WALLS
    <site name="target" size=".4 .05"/>
    <body name="torso" pos="0 0 .5">
      <freejoint name="root"/><geom type="ellipsoid" size=".3 .2 .15"/>
      <site name="torso"/><site name="rangefinder"/><site name="workspace" size=".3" pos=".6 0 -.1"/>
      <body name="knee" pos=".2 .1 -.1">
        <joint name="knee" axis="0 1 0" damping="5" ref="-40"/><geom type="capsule" size=".04" fromto="0 0 0 0 0 -.2"/>
        <body name="toe" pos="0 0 -.25"><geom size=".06"/><site name="toe"/></body>
      </body>
    </body>
    <body name="ball" pos="0 0 3"><freejoint name="ball_root"/><geom name="ball" size=".15" mass="1"/></body>
  </worldbody>
  <actuator>
    <general joint="knee" ctrlrange="-1 1" gainprm="100" biastype="affine" biasprm="0 -100" dyntype="filter"
      dynprm=".1"/>
  </actuator>
  <sensor>
    <accelerometer name="accelerometer" site="torso"/><gyro name="gyro" site="torso"/><velocimeter site="torso"/>
    <rangefinder site="rangefinder"/><force name="force" site="toe"/><torque name="torque" site="toe"/>
  </sensor>
</mujoco>""".replace("WALLS", "".join(WALL.format(*wall) for wall in WALLS)),
    "humanoid_CMU.xml": """
<mujoco>
  <include file="./common/materials.xml"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="thorax" pos="0 0 1">
      <freejoint name="root"/><geom type="capsule" size=".1" fromto="0 -.4 0 0 .2 0"/>
      <body name="head" pos="0 .4 0">
        <joint name="neck" axis="1 0 0" limited="true" range="-30 30"/><geom size=".1"/>
      </body>
      LIMBS
    </body>
  </worldbody>
  <actuator><motor joint="neck" ctrlrange="-1 1"/></actuator>
</mujoco>""".replace("LIMBS", "".join(LIMB.format(*limb) for limb in LIMBS)),
}


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes the package into a folder that Python looks for packages in."""
    for name, text in {"../__init__.py": "", "__init__.py": "", **files}.items():
        path = folder / "dm_control" / "suite" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.resolve().write_text(text)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str] = FILES) -> None:
    """Puts the package with these files in the place of dm_control, if that is there, while a test runs."""
    write(folder, files)
    for name in [name for name in sys.modules if name.partition(".")[0] == "dm_control"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(folder)


def seen(
    env: SuiteEnv, qpos: Any = None, qvel: Any = None, goal: tuple[float, ...] = (), control: tuple[float, ...] = (0.0,)
) -> Look:
    """What there is to see of positions and velocities; those of the file, and at rest, if not given."""
    model = env.model
    qpos = jnp.asarray(model.qpos0 if qpos is None else qpos, jnp.float32)
    physics = at_rest(model, qpos, jnp.zeros(model.nv) if qvel is None else jnp.asarray(qvel, jnp.float32))
    world, felt = World(model, Still(model, physics), jnp.float32), jnp.zeros(env.num_felt)
    return Look(world, physics, jnp.array(control), felt, jnp.array(goal, jnp.float32))


def about(angle: float, axis: int) -> list[float]:
    """The quaternion of a turn about an axis of the world."""
    sines = [0.0, 0.0, 0.0]
    sines[axis] = math.sin(angle / 2)
    return [math.cos(angle / 2), *sines]


class Reference:
    """MuJoCo's own model of a file, stepped as dm_control steps it."""

    def __init__(self, domain: str, sub_steps: int) -> None:
        included = {"./common/materials.xml": FILES["common/materials.xml"].encode()}
        self.model: Any = mujoco.MjModel.from_xml_string(FILES[f"{domain}.xml"], included)
        self.model.opt.tolerance = 0.0
        self.data: Any = mujoco.MjData(self.model)
        self.sub_steps = sub_steps

    def put(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Begins an episode: nothing has been done yet."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        mujoco.mj_forward(self.model, self.data)

    def step(self, ctrl: np.ndarray) -> None:
        """Steps, and brings positions and velocities up to date."""
        self.data.ctrl[:] = ctrl
        mujoco.mj_step2(self.model, self.data)
        for _ in range(self.sub_steps - 1):
            mujoco.mj_step(self.model, self.data)
        mujoco.mj_step1(self.model, self.data)
