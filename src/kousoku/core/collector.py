"""Collectors: how an agent's experience is made, and what of it the agent learns from."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from .env import EnvSpec
from .leaves import key_like
from .timestep import Transition


class TrainState(eqx.Module):
    """Everything that one member of a population carries from iteration to iteration.

    Attributes:
        agent: what the agent has learned, as `Agent.init` makes it and `Agent.update` returns it.
        slots: the environments, `EnvSlot`s [B, ...]; a single one without an axis where the collector has `batched`
            False.
        carry: what the agent carries from step to step in each slot, [B, ...] like the slots.
        data: what the collector keeps from iteration to iteration, [B, ...] like the slots; `()` for nothing.
        metrics: running sums since the last report.

    Each may also be the `PartitionSpec` of that part: how it is spread over devices.
    """

    agent: Any
    slots: Any
    carry: Any
    data: Any
    metrics: Any


class EpisodeEnd(eqx.Module):
    """The ends of episodes.

    Attributes:
        ended: whether a step ended one.
        episode_return, length: that episode's undiscounted return and its length so far.
        whole: whether its clock began at 0; see `EnvSlot.whole`.
    """

    ended: Bool[Array, "..."]
    episode_return: Float[Array, "..."]
    length: Int[Array, "..."]
    whole: Bool[Array, "..."] | None = None

    @property
    def ended_whole(self) -> Bool[Array, "..."]:
        """Whether a step ended a whole episode, whose return and length are worth telling."""
        return self.ended if self.whole is None else self.ended & self.whole


class EstimateSums(eqx.Module):
    """Sums over the states of an episode in which an agent's estimate can be compared with what followed.

    Attributes:
        states: how many these are, so far.
        estimate: of what the agent expected of its action in each.
        followed: of the discounted returns that followed, as far as they have.
        weight: of gamma^(steps since then): by what a reward counts in these returns.
    """

    states: Float[Array, "..."]
    estimate: Float[Array, "..."]
    followed: Float[Array, "..."]
    weight: Float[Array, "..."]


class Steps(eqx.Module):
    """The steps of one iteration, for whoever records them: [T, B, ...], or of a single step without axes.

    Attributes:
        obs, action: what was seen, and what was done; None where only whole episodes are told.
        reward: of each step, or of each episode.
        info: the environment's own struct, or None.
        end: whether an episode ended with the step.
        taken: environment steps in all, where an iteration may have any number of them; None where it is fixed.
        estimates: of the episodes that ended, what the agent expected and what followed, 0 at other steps; None where
            it expects nothing.
    """

    obs: PyTree[Array]
    action: PyTree[Array]
    reward: Float[Array, "..."]
    info: Any
    end: EpisodeEnd
    taken: Int[Array, ""] | None = None
    estimates: EstimateSums | None = None


class TakenSteps(eqx.Module):
    """The steps of one iteration that were taken before `collect` is called, as those of environments on the host are.

    Attributes:
        slots, carry: after the last step, as `TrainState` has them.
        made: the transitions, with the action as the agent chose it and with its extras: [T, B, ...], or of a single
            step without axes.
        end: whether an episode ended with each.
    """

    slots: Any
    carry: Any
    made: Any
    end: EpisodeEnd


class SlotFunctions(NamedTuple):
    """The functions that begin a slot and move it on: an environment's own, or the same compiled by the kernel.

    Attributes:
        begin: key -> slot, at the start of an episode.
        advance: (slot, action, key) -> (slot, `Transition`, `EpisodeEnd`); the action is clipped to its bounds.
        compiled: function -> the same of the slots' environment: what was `function(env, *rest)` is called with the
            rest. Equal functions are compiled once.
        time_limit: the environment's, in steps; None for none.
        taken: steps that `collect` gathers instead of taking any; None where it takes them.
        shared: the arrays of `Collector.shared`, on the device; () for none.
    """

    begin: Callable[..., Any]
    advance: Callable[..., Any]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]]
    time_limit: int | None
    taken: TakenSteps | None = None
    shared: Any = ()


class BufferUse(NamedTuple):
    """The use that is made of a member's buffer of past transitions.

    Attributes:
        transitions: how many are in it.
        capacity: how many fit in it.
        size: bytes of memory that it takes, full or not.
    """

    transitions: int
    capacity: int
    size: int


if TYPE_CHECKING:

    class _Declared:
        """The attributes that a subclass gives as fields or as properties: see `kousoku.core.agent`."""

        num_envs: Any
        num_steps: Any

else:
    _Declared = object


class Collector(eqx.Module, _Declared):
    """The source of the data that an agent learns from: a value that the agent holds as `learns_from`.

    An iteration is `collect`, then `learn`. Both are pure functions of one member of a population. Training knows
    collectors by this protocol alone, so that a new kind of learning is a new subclass and nothing else.

    Attributes:
        num_envs: B, environment slots that act at once.
        num_steps: T, steps of each slot in one iteration.
    """

    if not TYPE_CHECKING:
        num_envs: eqx.AbstractVar[int]
        num_steps: eqx.AbstractVar[int]

    @property
    def iteration_steps(self) -> int:
        """Environment steps of one iteration, over all slots; at most so many where they are not fixed."""
        return self.num_envs * self.num_steps

    @property
    def steps_are_fixed(self) -> bool:
        """Whether every iteration has `iteration_steps` steps.

        Otherwise each member makes as many iterations as it takes: training asks for a number of steps
        (`ask_for_steps`), and makes iterations while some are due (`steps_are_due`).
        """
        return True

    @property
    def tells_steps(self) -> bool:
        """Whether `collect` tells single steps, with observations and the environment's info; not whole episodes."""
        return True

    def ask_for_steps(self, data: Any, steps: Int[Array, ""]) -> Any:
        """Returns the collector's data when so many more environment steps are asked for."""
        del steps
        return data

    def steps_are_due(self, data: Any) -> Bool[Array, ""]:
        """Tells from the collector's data whether steps that were asked for have not been taken yet."""
        raise NotImplementedError(f"{type(self).__name__} has a fixed number of steps, or does not count them: {data}")

    @property
    def shared(self) -> PyTree[Any]:
        """Arrays that all members read and none changes, such as recorded data: () for none.

        A program is given them once, as `SlotFunctions.shared`. They are no part of the training state, so that no
        member has a copy of its own and no checkpoint holds them. It is for iterations of more than one step.
        """
        return ()

    @property
    def rounds_over_devices(self) -> bool:
        """Whether sums are rounded in another way where more devices share the slots.

        Where not, `collect` tells on each of them the steps of all.
        """
        return self.num_envs > 1

    @property
    def batched(self) -> bool:
        """Whether slots, carry and data have an axis [B]; without one, an iteration is one step of one environment."""
        return True

    @property
    def period(self) -> int:
        """Iterations after which what depends on their number, such as a place in a buffer, is as before."""
        return 1

    @property
    def steps_before_learning(self) -> int:
        """Environment steps after which the first update has been made: a shorter run would learn nothing."""
        return self.iteration_steps

    @property
    def samples_held(self) -> int:
        """How many steps with their observations lie in memory at once."""
        return self.iteration_steps

    @property
    def gradient_samples(self) -> int:
        """Samples that one gradient is the mean over."""
        return self.iteration_steps

    @property
    def size(self) -> tuple[str, str]:
        """The field that makes it large, and its size in words: for messages about memory and length."""
        larger = "num_envs" if self.num_envs >= self.num_steps else "num_steps"
        return larger, f"{self.num_envs} environments x {self.num_steps} steps"

    @property
    def least_share(self) -> float:
        """The part of its memory that it needs however small its `size` is made: 0 for next to nothing.

        A refusal for memory names the network where not even that fits.
        """
        return 0.0

    def num_devices(self, available: int) -> int:
        """Returns among how many of the available devices the slots of one member are divided by default.

        It is a divisor of `num_envs`: the largest, or less where devices would wait longer than they work.
        """
        return largest_divisor(self.num_envs, available)

    @abstractmethod
    def init(self, agent: Any, agent_state: Any, slots: SlotFunctions, key: PRNGKeyArray) -> tuple[Any, Any, Any]:
        """Makes (slots, carry, data) before the first step; slot i has a key of its own, whatever their number.

        Args:
            agent, agent_state: who learns, and what it knows before the first step.
            slots: how a slot begins and moves on.
            key: the member's.
        """

    @abstractmethod
    def keys(self, key: PRNGKeyArray, iteration: Int[Array, ""], num_slots: int, axis: str | None) -> Any:
        """Makes all keys of one iteration, from the member's key and the iteration's number alone.

        Args:
            key: the member's.
            iteration: how many were made before; in a run of more steps than int32 counts, negative from there on.
            num_slots: slots on this device.
            axis: the named axis of the devices that share the slots; None for one device.
        """

    def acting_keys(self, keys: Any) -> Any:
        """Returns, of the keys of an iteration, those that `Agent.act` is called with, [T, B] or without axes.

        For whoever takes the steps instead of `collect`, which then gathers them (`SlotFunctions.taken`). By default
        None: the collector has to take them itself, by compiled functions of the environment.
        """
        del keys
        return None

    def check_agent(self, agent: Any, spec: EnvSpec) -> None:
        """Refuses an agent that lacks what this collector asks of it, before anything is compiled. By default none.

        Raises:
            ConfigError: naming the method, or what does not fit.
        """
        del agent, spec

    @property
    def recorded_data(self) -> dict[str, Any] | None:
        """What a run folder tells of recorded data that is learned from, as JSON; None where agents act themselves."""
        return None

    @property
    def keeps_transitions(self) -> bool:
        """Whether the data are transitions of the past, which `kept_transitions` returns."""
        return False

    def kept_transitions(self, data: Any, iterations: int) -> Transition:
        """Returns the transitions in the data after so many iterations, oldest first: [B, n, ...] as NumPy."""
        raise NotImplementedError(f"{type(self).__name__} keeps no transitions: {data} after {iterations} iterations")

    def buffer_use(self, data: Any, iterations: int) -> BufferUse | None:
        """Returns how full a buffer of past transitions is; None where there is none.

        Args:
            data: a member's, or its shapes.
            iterations: how many were made.
        """
        del data, iterations
        return None

    def begun_before(self, iterations: int, time_limit: int | None) -> np.ndarray:
        """Returns of each slot whether what `kept_transitions` lists of it begins in an episode's midst, [B].

        Args:
            iterations: how many were made.
            time_limit: that by which first episodes began at staggered ages; None where all began at 0.
        """
        raise NotImplementedError(f"{type(self).__name__} keeps no transitions: {iterations}, {time_limit}")

    def give_up_episodes(self, data: Any, iteration: Int[Array, ""]) -> Any:
        """Returns the collector's data when all slots begin new episodes, and those on the way never end.

        For who takes the steps instead of `collect`.

        Args:
            data: as it is kept.
            iteration: how many were made before.
        """
        del iteration
        return data

    @abstractmethod
    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: Any, axis: str | None
    ) -> tuple[TrainState, Any, Steps]:
        """Acts, and gathers what came of it.

        Returns:
            The state with slots, carry and data moved on; what `learn` learns from; the steps, to be recorded.
        """

    def temporaries(self, data: Any, kept: Any) -> PyTree[Any]:
        """Returns the shapes of what an iteration holds at once beside state and data, given those.

        It is for estimates of memory, in which the state and the data count twice, before an iteration and after.

        Args:
            data: the shapes of what `collect` returns to learn from.
            kept: the shapes of what the collector keeps from iteration to iteration, `TrainState.data`.
        """
        del data, kept
        return ()

    @abstractmethod
    def learn(
        self, agent: Any, state: TrainState, data: Any, keys: Any, axis: str | None
    ) -> tuple[TrainState, dict[str, Any], Int[Array, ""] | None]:
        """Updates the agent.

        Returns:
            The state with what was learned; sums of each metric over the updates made; their number, None for one.
        """


def acting_keys_of(collector: Collector, key: PRNGKeyArray, iteration: Int[Array, ""]) -> Any:
    """Returns a member's keys of acting in an iteration, [T, B] or without axes; see `Collector.acting_keys`."""
    return collector.acting_keys(collector.keys(key, iteration, collector.num_envs, None))


def acting_key_shapes(collector: Collector) -> Any:
    """Returns the shapes of `acting_keys_of`; None where a collector takes its steps itself."""
    return eqx.filter_eval_shape(lambda key: acting_keys_of(collector, key, jnp.int32(0)), key_like())


def largest_divisor(number: int, limit: int) -> int:
    """Returns the largest divisor of a number up to a limit.

    Examples:
        >>> largest_divisor(12, 5), largest_divisor(7, 5)
        (4, 1)
    """
    return next(d for d in range(min(limit, number), 0, -1) if number % d == 0)
