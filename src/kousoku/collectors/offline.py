"""Learning from recorded transitions: minibatches of a data set that is given, and no steps of an environment."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from ..core.collector import Collector, EpisodeEnd, SlotFunctions, Steps, TrainState
from ..core.dataset import ARRAYS, Dataset, DatasetFile, alike
from ..core.dataset_file import as_dataset, with_numbers
from ..core.env import EnvSpec
from ..core.errors import ConfigError, check_size, shorten
from ..core.timestep import ReplayBatch, Transition
from ..core.update_check import checked_update
from ..ops.schedules import counted, counted_before
from .acting import begin_slots
from .streams import Stream
from .updates import make_updates


class OfflineKeys(eqx.Module):
    """The random keys of one iteration.

    Attributes:
        update: of what is drawn and learned.
        iteration: how many were made before.
    """

    update: PRNGKeyArray
    iteration: Int[Array, ""]


class Offline(Collector):
    """Minibatches of recorded transitions, drawn uniformly with replacement. `update` gets a `ReplayBatch`.

    A step is a gradient step: what a run's `steps`, reports, evaluations and schedules count. The environment is not
    acted in; it is there to evaluate in. The data lie in memory once, whatever the number of members: they are no part
    of the training state, so that checkpoints do not hold them. A member learns on one device.

    The curve "reward" is the mean reward of the minibatches; there are no returns but those of evaluations.

    Attributes:
        dataset: what is learned from; None where it is not given yet.
        batch_size: transitions of one gradient step.
        num_steps: gradient steps of one iteration.
    """

    dataset: Dataset | DatasetFile | None = eqx.field(static=True, default=None, converter=as_dataset)
    batch_size: int = eqx.field(static=True, default=256)
    num_steps: int = eqx.field(static=True, default=10)

    def __check_init__(self) -> None:
        check_size("batch_size", self.batch_size)
        check_size("num_steps", self.num_steps, low=2)

    @property
    def num_envs(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 1

    @property
    def shared(self) -> PyTree[Any]:
        """The arrays of the transitions by name, [N, ...].

        Raises:
            ConfigError: where no data set is given, or its file is gone.
        """
        data = with_numbers(given(self.dataset))
        return {name: getattr(data, name) for name in ARRAYS}

    @property
    def recorded_data(self) -> dict[str, Any] | None:
        return None if self.dataset is None else self.dataset.described()

    def check_agent(self, agent: Any, spec: EnvSpec) -> None:
        """Refuses data of another kind of environment.

        Raises:
            ConfigError: where there is no data set, its file is gone, or it is of other spaces.
        """
        data = with_numbers(given(self.dataset))
        for name in ("observation_space", "action_space"):
            found, wanted = getattr(data, name), getattr(spec, name)
            if not alike(found, wanted, bounds=name == "action_space"):
                what = f"dataset's {name.replace('_', ' ')}"
                raise ConfigError(what, found, f"the environment has {shorten(wanted, 120)}")

    @property
    def tells_steps(self) -> bool:
        return False

    @property
    def rounds_over_devices(self) -> bool:
        return False

    @property
    def steps_before_learning(self) -> int:
        return 1

    @property
    def samples_held(self) -> int:
        return self.num_steps * self.batch_size

    @property
    def gradient_samples(self) -> int:
        return self.batch_size

    @property
    def size(self) -> tuple[str, str]:
        return "batch_size", f"{self.num_steps} minibatches of {self.batch_size} transitions"

    def init(self, agent: Any, agent_state: Any, slots: SlotFunctions, key: PRNGKeyArray) -> tuple[Any, Any, Any]:
        return *begin_slots(agent, agent_state, slots, key, self.num_envs), ()

    def keys(self, key: PRNGKeyArray, iteration: Int[Array, ""], num_slots: int, axis: str | None) -> OfflineKeys:
        return OfflineKeys(jax.random.fold_in(jax.random.fold_in(key, Stream.UPDATE), iteration), iteration)

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: OfflineKeys, axis: str | None
    ) -> tuple[TrainState, Transition, Steps]:
        recorded = slots.shared
        shape = self.num_steps, self.batch_size
        key = jax.random.fold_in(keys.update, 0)
        row = jax.random.randint(key, shape, 0, recorded["reward"].shape[0], jnp.int32)
        drawn = jax.vmap(jax.vmap(lambda of: Transition(**of)))(jax.tree.map(lambda x: x[row], recorded))
        reward = jnp.mean(drawn.reward, axis=1)
        end = EpisodeEnd(jnp.zeros_like(reward, dtype=bool), jnp.zeros_like(reward), jnp.zeros_like(reward, jnp.int32))
        return state, drawn, Steps(None, None, reward, None, end)

    def learn(
        self, agent: Any, state: TrainState, data: Transition, keys: OfflineKeys, axis: str | None
    ) -> tuple[TrainState, dict[str, Any], Int[Array, ""]]:
        made = counted_before(keys.iteration, self.num_steps)

        def update(i: Array, agent_state: Any) -> tuple[Any, dict[str, Array], None]:
            batch = ReplayBatch(jax.tree.map(lambda x: x[i], data), counted(made, i))
            key = jax.random.fold_in(jax.random.fold_in(keys.update, 1), i)
            return *checked_update(agent, agent_state, agent.update(agent_state, batch, key, axis=axis), axis), None

        learned, sums, _ = make_updates(update, state.agent, self.num_steps, self.num_steps, axis)
        after = dataclasses.replace(state, agent=learned)
        return after, sums, jnp.int32(self.num_steps)


def given(dataset: Dataset | DatasetFile | None) -> Dataset | DatasetFile:
    """Returns a data set that is given.

    Raises:
        ConfigError: if it is not.
    """
    if dataset is None:
        fix = "it learns from recorded transitions: give a kousoku.Dataset, or the .npz file of one"
        raise ConfigError("dataset", ..., fix)
    return dataset
