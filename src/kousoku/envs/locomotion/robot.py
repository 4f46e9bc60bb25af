"""Robots: a mechanism, and a task that says what to observe and what to reward."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...compiler import kernel
from ...core.errors import ConfigError
from ...core.leaves import key_like
from ...core.spaces import Box
from ...core.timestep import Timestep
from ...ops.trees import select
from ...physics import Model, State, simulate
from ..divergence import has_diverged
from ..timesteps import first_timestep, never
from .files import robot
from .mechanism import MechanismEnv
from .task_checks import check_observation, check_outcome, check_start, checked
from .world import Still, World


class Start(eqx.Module):
    """Positions, velocities and numbers that an episode begins with.

    Attributes:
        qpos: positions.
        qvel: velocities.
        numbers: of the model, in this environment and episode; see `Model.with_numbers`.
    """

    qpos: Float[Array, " nq"]
    qvel: Float[Array, " nv"]
    numbers: dict[str, Array] = eqx.field(default_factory=dict)


class Measured(eqx.Module):
    """Numbers that a task has read of the dynamics.

    Attributes:
        now: for the observation and the reward, any arrays.
        kept: what the next step is told too, any arrays.
    """

    now: Any = None
    kept: Any = None


class RobotState(eqx.Module):
    """A robot between two steps.

    Attributes:
        physics: positions, velocities, activations, and where the solver begins.
        kept: what the last step measured for the next one.
        numbers: of the model, in this environment and episode.
    """

    physics: State
    kept: Any
    numbers: dict[str, Array]


class Move(eqx.Module):
    """A step that was taken.

    Attributes:
        before: the physics before it.
        after: the physics after it.
        action: as it was given, not clipped.
        kept: what the step before it measured and kept.
        measured: in this step.
    """

    before: State
    after: State
    action: Float[Array, " nu"]
    kept: Any
    measured: Measured


def _as_array(kind: type, value: Any) -> Any:
    """Converts a number or a flag of Python's to an array; leaves what JAX made as it is."""
    return jnp.asarray(kind(value)) if isinstance(value, bool | int | float) else value


class StepOutcome(eqx.Module):
    """The outcome of a step, as a task has it.

    Attributes:
        reward: of the step; a plain number will do.
        terminated: whether the episode ends here; a plain `False` will do.
        info: the reward's terms and more: a struct that has a flag `diverged`.
    """

    reward: Float[Array, ""] = eqx.field(converter=partial(_as_array, float))
    terminated: Bool[Array, ""] = eqx.field(converter=partial(_as_array, bool))
    info: Any


class RobotInfo(eqx.Module):
    """The info of a task that has nothing to tell.

    Attributes:
        diverged: the environment has blown up, and was terminated.
    """

    diverged: Bool[Array, ""] = eqx.field(default_factory=never)


class Robot(MechanismEnv):
    """A mechanism from an MJCF file, and what is common to all tasks for one.

    An action is a vector of commands to the actuators, which hold for `frame_skip` time steps of the physics; the
    physics clips them to their ranges. A task says how an episode begins, what it measures while the physics runs, what
    is observed, and what a step is worth.

    An environment blows up if a position, a velocity, what it measured or a command is not a number within 1e10 of 0.
    It is terminated and says so in `info.diverged`; its observation, its reward and the rest of its info are 0, and the
    robot stays where it was. Others do not notice.

    Attributes:
        xml_file: see `files.robot`.
        frame_skip: time steps of the physics in a step.
        model: the mechanism.
        needs: how many the task needs at least of what a model counts: positions `nq`, velocities `nv`, sites `nsite`.
        needs_exactly: whether it takes no more of them either.

    Raises:
        ConfigError: if there is no such file, the engine lacks what it uses, or it has less than the task needs.
    """

    needs: ClassVar[Mapping[str, int]] = {}
    needs_exactly: ClassVar[bool] = False

    xml_file: eqx.AbstractVar[str]
    frame_skip: eqx.AbstractVar[int]
    model: Model = eqx.field(init=False)

    def __post_init__(self) -> None:
        self.model = robot(self.xml_file)
        for count, needed in self.needs.items():
            has = int(self.model.structure[count])
            if has < needed or (self.needs_exactly and has > needed):
                least = "" if self.needs_exactly else "at least "
                raise ConfigError(count, has, f"{type(self).__name__} needs a model with {least}{needed}; see xml_file")

    # ---- the task

    @abstractmethod
    def start(self, key: PRNGKeyArray) -> Start:
        """Returns how an episode begins; often `noisy`."""

    @abstractmethod
    def measure(self, world: World) -> Measured:
        """Reads what else than positions and velocities the task is about; often nothing."""

    @abstractmethod
    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns what an agent sees."""

    @abstractmethod
    def outcome(self, move: Move) -> StepOutcome:
        """Returns the reward of a step, whether it ends the episode, and its info."""

    # ---- the environment

    @property
    def dt(self) -> Any:
        """The seconds that a step lasts."""
        return self.model.timestep * self.frame_skip

    @property
    def observation_space(self) -> Box:
        """A space without bounds."""
        _, timestep = jax.eval_shape(self.reset, key_like())
        return Box(-np.inf, np.inf, timestep.obs.shape)

    def reset(self, key: PRNGKeyArray) -> tuple[RobotState, Timestep]:
        """Begins as the task does."""
        return _reset(self, key)

    def step(self, key: PRNGKeyArray, state: RobotState, action: Float[Array, " nu"]) -> tuple[RobotState, Timestep]:
        """Simulates `frame_skip` time steps of the physics."""
        return _step(self, state, action)


@kernel
def _reset(env: Robot, key: PRNGKeyArray) -> tuple[RobotState, Timestep]:
    start = _start(env, key)
    dtype = jnp.result_type(start.qpos)
    given = env.model.with_numbers(**start.numbers).varied
    numbers = {name: of_dtype(given[name], dtype) for name in start.numbers}
    model = env.model.with_numbers(**numbers)
    physics = at_rest(model, start.qpos, start.qvel)
    measured = _measure(env, World(model, Still(model, physics), dtype))
    return RobotState(physics, measured.kept, numbers), first_timestep(_observe(env, physics, measured))


@kernel
def _step(env: Robot, state: RobotState, action: Float[Array, " nu"]) -> tuple[RobotState, Timestep]:
    before, dtype = state.physics, state.physics.qpos.dtype
    model = env.model.with_numbers(**state.numbers)
    action = action.reshape((model.nu,)).astype(dtype)
    after, measured = simulate(
        model, before, action, env.frame_skip, lambda forward: _measure(env, World(model, forward, dtype))
    )
    obs = _observe(env, after, measured)
    outcome = _outcome(env, Move(before, after, action, state.kept, measured))
    diverged = has_diverged((after.qpos, after.qvel, measured, action))

    physics, kept = select(diverged, (before, state.kept), (after, measured.kept))
    told = jax.tree.map(lambda x: of_dtype(x, dtype), (obs, outcome.reward, outcome.info))
    obs, reward, info = select(diverged, jax.tree.map(jnp.zeros_like, told), told)
    info = eqx.tree_at(lambda i: i.diverged, info, diverged)
    timestep = Timestep(obs, reward, outcome.terminated | diverged, never(), info)
    return RobotState(physics, kept, state.numbers), timestep


# ---- what the task returns, which is looked at while it is traced


def _start(env: Robot, key: PRNGKeyArray) -> Start:
    start = checked("start", env.start(key), Start, "return a Start(qpos, qvel); `noisy` makes one")
    check_start(start.qpos, start.qvel, start.numbers, env.model.nq, env.model.nv)
    return start


def _measure(env: Robot, world: World) -> Measured:
    return checked("measure", env.measure(world), Measured, "return a Measured(now, kept), or Measured() of nothing")


def _observe(env: Robot, physics: State, measured: Measured) -> Array:
    return check_observation(env.observe(physics, measured))


def _outcome(env: Robot, move: Move) -> StepOutcome:
    outcome = checked("outcome", env.outcome(move), StepOutcome, "return a StepOutcome(reward, terminated, info)")
    check_outcome(outcome.reward, outcome.terminated, outcome.info)
    return outcome


def at_rest(model: Model, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> State:
    """Returns a state that nothing has acted on yet, all of the dtype of the positions."""
    dtype = jnp.result_type(qpos)
    qvel = qvel if jnp.result_type(qvel) == dtype else of_dtype(qvel, dtype)
    time = jnp.zeros((), dtype) if "clock" in model.sensor_kind else None
    return State(qpos, qvel, jnp.zeros((model.na,), dtype), jnp.zeros((model.nv,), dtype), time)


def of_dtype(x: Any, dtype: Any) -> Any:
    """Converts numbers to the dtype of the physics; a weight of the task may have none of its own."""
    array = jnp.asarray(x)
    return array.astype(dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array
