"""Quadruped: four legs, each of three servos, that should walk, run, or bring a ball to the middle."""

from __future__ import annotations

import math
from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...physics import Model, any_contact, sensors
from ...physics.stages.joints import JointType, joints
from ..fields import flag, limit, structural
from ..locomotion.starts import between
from ..locomotion.world import World
from .models import mark, named, suite_model, without
from .randomizers import unit
from .rewards import norm, tolerance
from .suite import Beginning, Look, SuiteEnv

WALLS = ("wall_px", "wall_py", "wall_nx", "wall_ny")
FELT = ("accelerometer", "force", "torque")
EPISODE = 20.0
"""Seconds for which a floor is long enough."""
LIFT, HAIR = 0.01, 2e-6
"""Metres by which the body is lifted at first, until nothing touches, and by which it is held above such a height:
upright, toes may end at the ground exactly, and rounding would decide."""


class SuiteQuadruped(SuiteEnv):
    """dm_control's quadruped, tasks walk, run and fetch.

    Observation: egocentric_state (angles and speeds of 16 hinges, activations of 12 servos), torso_velocity (in its own
    axes), torso_upright (cosine of its angle from upright), imu (acceleration and turning of the torso), force_torque
    (inverse hyperbolic sines of what the toes feel), and to fetch ball_state (position, velocity and turning, seen from
    the torso) and target_position, Box [78] or [90]. Action: targets of 12 servos, Box [12]. With u for that cosine, t
    for `tolerance`, v the torso's speed forward, b and m the horizontal distances of the ball from the workspace before
    the head and from the middle, r the arena's radius:

        reward = t(u; 1, margin 2) t(v; at least move_speed, margin move_speed)
        reward = t(u; 1, margin 2) t(b; within reach, margin r) (1 + t(m; within the target, margin r)) / 2,  to fetch

    It begins just above the ground, turned anyhow; to fetch, it stands anywhere, and a ball falls anywhere.

    Attributes:
        move_speed: speed that is asked for, in m/s, forward.
        fetching: whether it should bring the ball to the middle, at any speed.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 4

    move_speed: float = structural("move_speed", 0.5, "it chooses the task", low=0.0, open_low=True)
    fetching: bool = flag("fetching", False)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the robot, on a floor; to fetch, between walls, with a ball."""
        return suite_model("quadruped", self._without_others)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Puts the robot just above the ground, and throws the ball."""
        turn_key, place_key, ball_key, throw_key = jax.random.split(key, 4)
        if not self.fetching:
            turn = unit(jax.random.normal(turn_key, (4,), jnp.float32))
            return Beginning(self._above_ground(turn, jnp.zeros((2,), jnp.float32)))
        half = 0.5 * between(turn_key, 1, 0.0, 2.0 * math.pi)[0]
        turn = jnp.stack([jnp.cos(half), jnp.float32(0.0), jnp.float32(0.0), jnp.sin(half)])
        spawn = 0.9 * self._floor
        robot, ball = (between(k, 2, -spawn, spawn) for k in (place_key, ball_key))
        qpos, (at, dof) = self._above_ground(turn, robot), self._address("ball_root")
        qpos = qpos.at[at : at + 3].set(jnp.concatenate([ball, jnp.full((1,), 2.0, jnp.float32)]))
        throw = 5.0 * jax.random.normal(throw_key, (2,), jnp.float32)
        return Beginning(qpos, jnp.zeros((self.model.nv,), jnp.float32).at[dof : dof + 2].set(throw))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns joints, how the torso moves, what the toes feel, and where the ball and the target are."""
        hinges = [j for j in joints(self.model) if j.type == JointType.HINGE]
        qpos, qvel, act = look.physics.qpos, look.physics.qvel, look.physics.act
        state = [qpos[jnp.array([j.qposadr for j in hinges])], qvel[jnp.array([j.dofadr for j in hinges])], act]
        moving = look.world.site_velocity("torso")
        parts = {
            "egocentric_state": jnp.concatenate(state),
            "torso_velocity": moving[:3],
            "torso_upright": _upright(look),
            "imu": jnp.concatenate([look.felt[:3], moving[3:]]),
            "force_torque": jnp.arcsinh(look.felt[3:]),
        }
        if not self.fetching:
            return parts
        torso, origin = look.world.xmat("torso"), look.world.xpos("torso")
        (_, root), (_, ball) = self._address("root"), self._address("ball_root")
        ball_state = [look.world.xpos("ball") - origin, qvel[ball : ball + 3] - qvel[root : root + 3]]
        seen = jnp.concatenate([part @ torso for part in (*ball_state, qvel[ball + 3 : ball + 6])])
        return parts | {"ball_state": seen, "target_position": (look.world.site_xpos("target") - origin) @ torso}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards an upright torso that moves forward, or is near a ball that is near the middle."""
        upright = tolerance(_upright(look), (1.0, math.inf), 2.0, value_at_margin=0.0, sigmoid="linear")
        if not self.fetching:
            speed, least = look.world.site_velocity("torso")[0], self.move_speed
            return upright * tolerance(speed, (least, math.inf), least, value_at_margin=0.5, sigmoid="linear")
        world, arena = look.world, self._floor * math.sqrt(2.0)
        workspace, target = (self._site_radius(site) for site in ("workspace", "target"))
        ball = world.xpos("ball")[:2]
        way, rest = (norm(world.site_xpos(site)[:2] - ball) for site in ("workspace", "target"))
        reach = tolerance(way, (0.0, workspace + self.radius("ball")), arena, value_at_margin=0.0, sigmoid="linear")
        fetch = tolerance(rest, (0.0, target), arena, value_at_margin=0.0, sigmoid="linear")
        return upright * reach * (0.5 + 0.5 * fetch)

    def feel(self, world: World) -> Float[Array, " n"]:
        """Returns the torso's acceleration, then force and torque at each toe, in the file's order."""
        return sensors(world.forward)[jnp.array(self._felt)]

    @property
    def num_felt(self) -> int:
        """How many numbers these are."""
        return len(self._felt)

    @property
    def _felt(self) -> list[int]:
        """Where these numbers lie in the readings of all sensors."""
        model = self.model
        starts = [int(model.sensor_adr[i]) for i, kind in enumerate(model.structure["sensor_kind"]) if kind in FELT]
        return [start + axis for start in starts for axis in range(3)]

    @property
    def _floor(self) -> float:
        return float(self.model.constants["geom_size"][self.model.id("geom", "floor"), 0])

    def _site_radius(self, site: str) -> float:
        return float(self.model.constants["site_size"][self.model.id("site", site), 0])

    def _address(self, joint: str) -> tuple[int, int]:
        """Returns where a joint's positions and velocities lie."""
        number = self.model.id("joint", joint)
        return int(self.model.jnt_qposadr[number]), int(self.model.jnt_dofadr[number])

    def _above_ground(self, turn: Float[Array, "4"], place: Float[Array, "2"]) -> Float[Array, " nq"]:
        """Returns the file's posture, turned, at the first height in steps of 1 cm at which nothing touches."""
        start, (root, _) = jnp.asarray(self.model.qpos0, jnp.float32), self._address("root")

        def posture(steps: Array) -> Float[Array, " nq"]:
            height = jnp.float32(LIFT) * steps.astype(jnp.float32) + jnp.float32(HAIR)
            return start.at[root : root + 7].set(jnp.concatenate([place, height[None], turn]))

        def touches(steps: Array) -> Bool[Array, ""]:
            return any_contact(self.model, posture(steps))

        return posture(lax.while_loop(touches, lambda steps: steps + 1, jnp.int32(0)))

    def _without_others(self, root: ElementTree.Element) -> None:
        """Removes what other tasks have, as the package does, and makes the floor as long as the robot may run."""
        if not self.fetching:
            without(root, "geom", WALLS)
            without(root, "body", ["ball"])
            without(root, "site", ["target"])
            side = EPISODE * self.move_speed
            named(root, "geom", "floor").set("size", f"{side} {side} .5")
        else:
            mark(ElementTree.SubElement(root, "worldbody"), named(root, "site", "target"))
        without(root, "geom", ["terrain"])
        without(root, "rangefinder")


def _upright(look: Look) -> Float[Array, ""]:
    return look.world.xmat("torso")[2, 2]
