"""Tasks of the suite's kind whose mechanism has a string: where their pictures have it, and the goal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.scene3d import WORLD
from kousoku.envs.dm_control.suite import Beginning, Look, SuiteEnv, SuiteState
from kousoku.envs.locomotion.robot import at_rest
from kousoku.physics import Model, load

PLACE, GOAL = (0.1, 0.9), (0.3, 0.1, 0.7)
BALL = """<mujoco><worldbody><site name="up" pos="0 0 1"/><geom name="target" size=".02"/>
  <body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom size=".03"/><site name="ball"/></body>
  </worldbody><tendon><spatial {} width=".01"><site site="up"/><site site="ball"/></spatial></tendon></mujoco>"""


class BallOnAString(SuiteEnv):
    """A ball that hangs from a nail."""

    n_sub_steps = 2
    marker = "target"
    hangs: bool = True
    time_limit: int | None = 4

    def mechanism(self) -> Model:
        return load(BALL.format('limited="true" range="0 .5"' if self.hangs else ""))

    def begin(self, key: jax.Array) -> Beginning:
        return Beginning(jnp.array(PLACE, jnp.float32), goal=jnp.array(GOAL, jnp.float32))

    def observe(self, look: Look) -> dict[str, jax.Array]:
        return {"position": look.physics.qpos}

    def reward(self, look: Look) -> jax.Array:
        return look.physics.qpos[0]


@pytest.mark.parametrize("hangs", [True, False])
def test_the_goal_has_the_last_frame(hangs):
    env = BallOnAString(hangs=hangs)
    state = SuiteState(
        at_rest(env.model, jnp.array(PLACE, jnp.float32), jnp.zeros(2)), jnp.array(GOAL, jnp.float32), {}
    )
    body, (positions, quaternions) = env.body3d(), env.poses(state)
    target = next(geom for geom in body.geoms if geom.name == "target")
    assert len(positions) == len(quaternions) == target.frame + 1
    np.testing.assert_array_equal(positions[target.frame], np.float32(GOAL))
    (string,) = body.cords
    assert (string.points[0][0], string.points[-1][0]) == (WORLD, 0)
    between = [frame for frame, _ in string.points[1:-1]]
    assert between == (list(range(1, target.frame)) if hangs else [])
    assert not hangs or positions[jnp.array(between), 2].min() < positions[0, 2]
