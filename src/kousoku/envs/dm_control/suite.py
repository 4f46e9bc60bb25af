"""The base of the suite's environments: a mechanism, and a task in dm_control's terms."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...compiler import kernel
from ...core.leaves import key_like
from ...core.scene3d import Body3d, Geom
from ...core.spaces import Box
from ...core.timestep import Timestep
from ...ops.trees import select
from ...physics import Model, State, forward, initial_state, simulate, step
from ...physics.scene import num_frames
from ..divergence import has_diverged
from ..fields import convert_fields
from ..locomotion.mechanism import MechanismEnv
from ..locomotion.robot import RobotInfo, at_rest, of_dtype
from ..locomotion.world import Still, World
from ..timesteps import first_timestep, never

ORIGIN = (0.0, 0.0, 0.0)


class Beginning(eqx.Module):
    """Positions, velocities and numbers that an episode begins with.

    Attributes:
        qpos: positions.
        qvel: velocities; at rest if None.
        goal: where the target is in this episode, if it is anywhere else than in the file [3]; else empty.
        numbers: of the model, in this episode; see `Model.with_numbers`.
    """

    qpos: Float[Array, " nq"]
    qvel: Float[Array, " nv"] | None = None
    goal: Float[Array, " n"] = eqx.field(default_factory=lambda: jnp.zeros((0,), jnp.float32))
    numbers: dict[str, Any] = eqx.field(default_factory=dict)


class SuiteState(eqx.Module):
    """An environment of the suite between two steps.

    Attributes:
        physics: positions, velocities, activations, and where the solver begins.
        goal, numbers: as of `Beginning`.
    """

    physics: State
    goal: Float[Array, " n"]
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Look:
    """Quantities that a task may read when a step is over.

    Attributes:
        world: what follows from positions and velocities, both of now: dm_control brings them up to date after a step.
            Of touching it knows nothing; see `SuiteEnv.feel`.
        physics: positions, velocities, activations.
        control: the action as it was given; zeros at first.
        felt: what `SuiteEnv.feel` returned where the last time step of the physics began, as in the package.
        goal: as of `Beginning`.
    """

    world: World
    physics: State
    control: Float[Array, " nu"]
    felt: Float[Array, " n"]
    goal: Float[Array, " g"]


class SuiteEnv(MechanismEnv):
    """A domain and a task of dm_control's suite.

    An observation is dm_control's dict as one vector, in its order; `observation_sizes` tells the parts. An action is
    a vector of commands to the actuators, which hold for `n_sub_steps` time steps of the physics. An environment that
    blows up is terminated, as a `Robot` is; nothing else ends an episode but its time limit, and `is_over` where a task
    has one.

    Attributes:
        n_sub_steps: time steps of the physics in a step.
        touch_sensors: names of the sites whose touch sensors are observed.
        feels_at_first: whether the sensors may read anything but 0 at first; where not, they are not computed then.
        marker: the name of the geom that shows where the goal is.
        settling_steps: time steps of the physics before an episode.
        time_limit: steps until an episode is truncated.
        model: the mechanism.

    Raises:
        ConfigError: if the package dm_control is not installed.

    References:
        Tassa et al., DeepMind Control Suite, arXiv:1801.00690, and dm_control: software and tasks for continuous
        control, arXiv:2006.12983.
    """

    n_sub_steps: ClassVar[int]
    touch_sensors: ClassVar[tuple[str, ...]] = ()
    feels_at_first: ClassVar[bool] = True
    marker: ClassVar[str | None] = None
    settling_steps: ClassVar[int] = 0

    model: Model = eqx.field(init=False)

    def __post_init__(self) -> None:
        convert_fields(self)
        self.model = self.mechanism()

    # ---- the task

    @abstractmethod
    def mechanism(self) -> Model:
        """Returns the domain's mechanism; often `suite_model`."""

    @abstractmethod
    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Returns how an episode begins."""

    @abstractmethod
    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns what an agent sees, by dm_control's names."""

    @abstractmethod
    def reward(self, look: Look) -> Float[Array, ""]:
        """Returns what a step was worth."""

    def is_over(self, look: Look) -> Bool[Array, ""]:
        """Returns whether a step ended the task; it never does, unless a task says so."""
        return never()

    def feel(self, world: World) -> Float[Array, " n"]:
        """Returns readings of sensors that depend on forces: of `touch_sensors`, in newtons, unless a task has more."""
        readings = [world.touch(name) for name in self.touch_sensors]
        return jnp.stack(readings) if readings else jnp.zeros((0,), world.dtype)

    @property
    def num_felt(self) -> int:
        """How many numbers `feel` returns."""
        return len(self.touch_sensors)

    # ---- the environment

    @property
    def dt(self) -> float:
        """The seconds that a step lasts: dm_control's control timestep."""
        return float(self.model.constants["timestep"]) * self.n_sub_steps

    @property
    def observation_sizes(self) -> dict[str, int]:
        """How many numbers each part of an observation has, in their order."""
        # In a list they keep their order, as in a dict of JAX's they would not.
        parts = eqx.filter_eval_shape(lambda k: [*self.observe(_first_look(self, self.begin(k))).items()], key_like())
        return {name: part.size for name, part in parts}

    @property
    def observation_space(self) -> Box:
        """A space without bounds."""
        return Box(-np.inf, np.inf, (sum(self.observation_sizes.values()),))

    def reset(self, key: PRNGKeyArray) -> tuple[SuiteState, Timestep]:
        """Begins as the task does."""
        return _reset(self, key)

    def step(self, key: PRNGKeyArray, state: SuiteState, action: Float[Array, " nu"]) -> tuple[SuiteState, Timestep]:
        """Simulates `n_sub_steps` time steps of the physics."""
        return _step(self, state, action)

    def radius(self, geom: str) -> float:
        """Returns the radius of a sphere, or of a capsule, by its name."""
        return float(self.model.constants["geom_size"][self.model.id("geom", geom), 0])

    # ---- its picture

    def body3d(self) -> Body3d:
        """Returns what the domain looks like; the goal's marker is carried by a frame of its own, the last."""
        found = super().body3d()
        return replace(found, geoms=tuple(map(self._carried, found.geoms)))

    def poses(self, state: SuiteState) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Returns where the bodies and the goal are."""
        positions, quaternions = super().poses(state)
        if self.marker is None or not state.goal.size:
            return positions, quaternions
        identity = jnp.array([[1.0, 0.0, 0.0, 0.0]], quaternions.dtype)
        return jnp.concatenate([positions, state.goal[None]]), jnp.concatenate([quaternions, identity])

    def _carried(self, geom: Geom) -> Geom:
        if self.marker is None or geom.name != self.marker:
            return geom
        return replace(geom, frame=num_frames(self.model), position=ORIGIN)


def _first_look(env: SuiteEnv, begin: Beginning) -> Look:
    """Returns what there is to see before anything has moved or touched."""
    model = env.model.with_numbers(**begin.numbers)
    qvel = jnp.zeros((model.nv,), jnp.float32) if begin.qvel is None else begin.qvel
    physics = at_rest(model, begin.qpos, qvel)
    control, felt = (jnp.zeros((n,), jnp.float32) for n in (model.nu, env.num_felt))
    return Look(World(model, Still(model, physics), jnp.float32), physics, control, felt, begin.goal)


def settled(model: Model, start: State, steps: int) -> State:
    """Returns the state after some time steps without commands, as dm_control makes them while it resets.

    It sets positions without computing what follows from them: the first step still has the accelerations of the file's
    own posture, at rest.

    Args:
        model: a mechanism of slides and hinges.
        start: the positions that are set.
        steps: how many, at least one.
    """
    idle = jnp.zeros((model.nu,), start.qpos.dtype)

    def once(i: Array, state: State) -> State:
        moved = step(model, state, idle)
        qpos = jnp.where(i == 0, start.qpos + model.timestep * moved.qvel, moved.qpos)
        return State(qpos, moved.qvel, moved.act, moved.warmstart, moved.time)

    return lax.fori_loop(0, steps, once, initial_state(model, start.qpos.dtype))


@kernel
def _reset(env: SuiteEnv, key: PRNGKeyArray) -> tuple[SuiteState, Timestep]:
    begin = env.begin(key)
    look = _first_look(env, begin)
    model, physics = look.world.model, look.physics
    if env.settling_steps:
        physics = settled(model, physics, env.settling_steps)
        look = replace(look, world=World(model, Still(model, physics), jnp.float32), physics=physics)
    if env.num_felt and env.feels_at_first:
        at_first = forward(model.without_actuation(), physics, look.control)
        look = replace(look, felt=env.feel(World(model, at_first, jnp.float32)))
    return SuiteState(physics, begin.goal, begin.numbers), first_timestep(_as_vector(env.observe(look)))


@kernel
def _step(env: SuiteEnv, state: SuiteState, action: Float[Array, " nu"]) -> tuple[SuiteState, Timestep]:
    before, dtype = state.physics, state.physics.qpos.dtype
    model = env.model.with_numbers(**state.numbers)
    action = action.reshape((model.nu,)).astype(dtype)
    after, felt = simulate(model, before, action, env.n_sub_steps, lambda f: env.feel(World(model, f, dtype)))
    look = Look(World(model, Still(model, after), dtype), after, action, felt, state.goal)
    diverged = has_diverged((after.qpos, after.qvel, felt, action))

    physics = select(diverged, before, after)
    told = of_dtype(_as_vector(env.observe(look)), dtype), of_dtype(env.reward(look), dtype)
    obs, reward = select(diverged, jax.tree.map(jnp.zeros_like, told), told)
    timestep = Timestep(obs, reward, diverged | env.is_over(look), never(), RobotInfo(diverged))
    return SuiteState(physics, state.goal, state.numbers), timestep


def _as_vector(parts: dict[str, Array]) -> Float[Array, " n"]:
    return jnp.concatenate([part.reshape(-1) for part in parts.values()])
