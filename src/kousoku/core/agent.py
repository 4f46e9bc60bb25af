"""Agents: each a frozen value with a few pure functions, and no loop."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .as_text import as_text
from .collector import Collector
from .env import Env, EnvSpec
from .errors import ConfigError
from .ours import is_ours
from .plain_number import hold_plain_numbers


class Estimate(NamedTuple):
    """An agent's estimate of an action.

    Attributes:
        value: of the discounted return that follows, the reward of the step included.
        bonus: what the agent adds to the rewards of other steps that lead to this state, as for a random policy; None
            for nothing.
    """

    value: Float[Array, ""]
    bonus: Float[Array, ""] | None = None


if TYPE_CHECKING:

    class _Declared:
        """The attributes that a subclass gives as fields or as properties.

        A type checker lets either stand for `Any`, and takes no attribute of a class that is no module for an argument.
        """

        learns_from: Any

else:
    _Declared = object


class Agent(eqx.Module, _Declared):
    """A learner, written for *one* environment, without a batch axis.

    The attributes of an agent are its hyper-parameters: numbers are leaves (so that many values run in one `vmap`),
    structure is static. What it has learned is the state that `init` makes and `update` returns.

    Attributes:
        unused_options: fields of its network's config that it refuses, or has no such part for: the help and the list
            of its options leave them out.
    """

    unused_options: ClassVar[tuple[str, ...]] = ()

    def __check_init__(self) -> None:
        if is_ours(type(self)):
            hold_plain_numbers(self)

    def __repr__(self) -> str:
        return as_text(self)

    if not TYPE_CHECKING:

        @property
        @abstractmethod
        def learns_from(self) -> Collector:
            """Where its data comes from: a property, or a field with a default, `learns_from: Online = Online()`.

            `Online()` is one transition at a time, `Rollouts(...)` are T steps of B environments made by the present
            policy, `Replay(...)` is minibatches of a replay buffer; or a collector of one's own.
            """

    def for_env(self, spec: EnvSpec) -> "Agent":
        """Returns the agent with what it leaves to the environment filled in: by default itself.

        A run is made with this one, so that its structure does not depend on anything that is not told.
        """
        del spec
        return self

    def taught_in(self, env: Env) -> "Agent":
        """Returns the agent with what it is taught in an environment before it learns: by default itself.

        It is for an expert that comes from the environment's exact model; a run is made with this one, too.
        """
        del env
        return self

    @abstractmethod
    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Any:
        """Makes the state before the first step, shared by all environments."""

    def initial_carry(self, state: Any) -> Any:
        """Returns what is carried from step to step at the start of an episode, such as a recurrent network's memory.

        `()` by default. Training replaces the carry of a slot by this one where an episode ends.
        """
        del state
        return ()

    @abstractmethod
    def act(
        self, state: Any, obs: PyTree[Array], carry: Any, key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[PyTree[Array], Any, Any]:
        """Chooses an action: the action, the carry for the next step, and extras that `update` wants to see again.

        Args:
            state: what was learned so far; it is read only.
            obs: one observation.
            carry: as `initial_carry` makes it or the last step returned it.
            key: of this step.
            greedy: no exploration, for evaluation.
        """

    @abstractmethod
    def update(
        self, state: Any, data: Any, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Any, dict[str, Array]]:
        """Learns from what the collector gathered.

        Args:
            state: as from `init` or the last update.
            data: a `Transition` from `Online`, a `Rollout` from `Rollouts`, a `ReplayBatch` from `Replay`; what other
                collectors give is told there.
            key: of this update.
            axis: the named axis that the environments are spread over, one share on each device; None for one device.
                Whatever is a mean or a sum over environments has to be taken over it too, so that the devices' states
                stay equal.

        Returns:
            The new state, and scalars to record, by name. Recorded is their mean over the updates between two reports;
            of a name that ends in "error", whose sign would cancel, the mean of absolute values.
        """

    def update_with_errors(
        self, state: Any, data: Any, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Any, dict[str, Array], Float[Array, " n"]]:
        """Learns as `update` does, and tells also how wrong it was about each sample: what prioritised replay asks for.

        Returns:
            The new state, scalars to record, and the errors before the update, [n]; of each the size counts.

        Raises:
            ConfigError: from an agent that does not tell.
        """
        fix = f"{type(self).__name__} does not tell the error of each transition; give it update_with_errors, too"
        raise ConfigError("prioritised", True, fix)

    def adopt(self, fresh: Any, trained: Any) -> Any:
        """Returns the state that a run begins with which goes on from what another one has learned.

        What was learned is taken over, such as networks, tables, and the statistics that they rest on; what belongs to
        the run that learned it stays fresh, such as an optimiser's state or the count that schedules are read at. By
        default all of it is taken over but random keys.

        Args:
            fresh: as `init` makes it here.
            trained: of an agent of the same kind, after its training.
        """
        return adopt_all(fresh, trained)

    def give_up_episode(self, state: Any) -> Any:
        """Returns the state when the next step begins a new episode and the one on the way never ends: itself.

        That happens where a run goes on that steps host environments, which are begun anew. An agent whose state
        holds more of an episode than its carry, such as traces or the next action, leaves it out here.
        """
        return state

    def estimate(self, state: Any, obs: PyTree[Array], action: PyTree[Array]) -> Estimate | None:
        """Returns what it expects of an action that it took, to be compared with what follows; None by default.

        Args:
            state: what was learned so far.
            obs: one observation.
            action: as `act` chose it.
        """
        del state, obs, action
        return None

    def q_values(self, state: Any) -> Float[Array, "S A"] | None:
        """Returns the estimate of every action's value; None for an agent that keeps no table."""
        del state
        return None


def adopt_all(fresh: Any, trained: Any) -> Any:
    """Returns a trained state with the random keys of a fresh one, so that agents which begin alike differ soon."""
    return jax.tree.map(lambda new, old: new if _is_key(new) else old, fresh, trained)


def _is_key(leaf: Any) -> bool:
    return eqx.is_array(leaf) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
