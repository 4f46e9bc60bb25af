"""An environment whose steps know their number, and an agent that writes down the minibatches it is given."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from fast_compile import FAST_COMPILE
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from kousoku.collectors.replay import Replay
from kousoku.collectors.slot import kernel_slots
from kousoku.core.agent import Agent
from kousoku.core.collector import TrainState
from kousoku.core.env import Env
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep, Transition

KEY = jax.random.key(3)
END = 2  # the action that ends an episode
LIMIT = 3
OWN_DISCOUNT = 0.75  # what the agent takes where the collector tells of none


class Life(Env):
    """Counts the steps of its life and of the episode; shows both, and a number by which to know it again.

    Observation: (step of its life, step of the episode, its number). The successor of an observation is always that
    plus (1, 1, 0); the observation after a reset is another wherever an episode was longer than a step.
    """

    time_limit: int | None = eqx.field(static=True, default=LIMIT)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (3,))

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        state = jnp.stack([jnp.float32(0.0), jnp.float32(0.0), jax.random.uniform(key, (), jnp.float32)])
        return state, self._at(state, jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        state = state + jnp.array([1.0, 1.0, 0.0])
        return state, self._at(state, action == END)

    def restart(self, key: Any, state: Any) -> tuple[Any, Timestep]:
        state = state * jnp.array([1.0, 0.0, 1.0])
        return state, self._at(state, jnp.array(False))

    def _at(self, state: Any, ends: Any) -> Timestep:
        return Timestep(state, 10.0 * state[0], ends, jnp.array(False))


class Recorder(Agent):
    """Acts at random, and writes down each minibatch instead of learning from it."""

    learns_from: Replay = Replay()  # type: ignore[assignment]
    most: int = eqx.field(static=True, default=8)
    error_scale: float = 1.0

    def init(self, spec: Any, key: Any) -> dict[str, Any]:
        obs, flag = jnp.zeros(3), jnp.array(False)
        one = Transition(obs, jnp.int32(0), jnp.float32(0.0), flag, flag, obs, None, jnp.float32(0.0))
        shape = (self.most, self.learns_from.batch_size)
        drawn = jax.tree.map(lambda x: jnp.zeros((*shape, *x.shape), x.dtype), one)
        steps = jnp.zeros(self.most, jnp.int32)
        numbers = {"discount": jnp.zeros(shape), "weights": jnp.zeros(shape)}
        return {"updates": jnp.int32(0), "drawn": drawn, "steps": steps, **numbers}

    def act(self, state: Any, obs: Any, carry: Any, key: Any, *, greedy: bool = False) -> tuple[Any, Any, Any]:
        return jax.random.randint(key, (), 0, 3, jnp.int32), carry, obs[0] + 0.5

    def update(self, state: Any, data: Any, key: Any, *, axis: str | None = None) -> tuple[Any, dict[str, Any]]:
        i = state["updates"] % self.most
        drawn = jax.tree.map(lambda log, x: log.at[i, : x.shape[0]].set(x), state["drawn"], data.transitions)
        discounts = data.discounts(OWN_DISCOUNT)
        weights = jnp.ones_like(discounts) if data.weights is None else data.weights
        after = {
            "updates": state["updates"] + 1,
            "drawn": drawn,
            "steps": state["steps"].at[i].set(data.steps),
            "discount": state["discount"].at[i, : discounts.shape[0]].set(discounts),
            "weights": state["weights"].at[i, : weights.shape[0]].set(weights),
        }
        return after, {"one": jnp.float32(1.0)}

    def update_with_errors(self, state: Any, data: Any, key: Any, *, axis: str | None = None) -> Any:
        """Errors are the sines of the numbers of the steps, of either sign and some almost 0."""
        after, metrics = self.update(state, data, key, axis=axis)
        return after, metrics, self.error_scale * jnp.sin(data.transitions.obs[:, 0])


def recorder(most: int = 8, **options: Any) -> Recorder:
    """Four environments that begin together, of which ten steps each are kept, two more in each iteration."""
    sizes = {"num_envs": 4, "num_steps": 2, "capacity": 40, "batch_size": 16, "learning_starts": 0, "staggered": False}
    return Recorder(Replay(**{**sizes, **options}), most)  # type: ignore[arg-type]


def begun(agent: Recorder, slots: Any, key: Any = KEY) -> TrainState:
    state = agent.init(Life().spec, key)
    return TrainState(state, *agent.learns_from.init(agent, state, slots, key), ())


def iteration(agent: Recorder, slots: Any, state: TrainState, i: Any, key: Any, axis: str | None = None) -> Any:
    collector = agent.learns_from
    keys = collector.keys(key, i, jax.tree.leaves(state.slots)[0].shape[0], axis)
    state, data, steps = collector.collect(agent, slots, state, keys, axis)
    state, sums, updates = collector.learn(agent, state, data, keys, axis)
    return state, (steps, sums, updates)


def run(agent: Recorder, iterations: int, slots: Any = None, key: Any = KEY) -> tuple[TrainState, list[Any]]:
    """The state after so many iterations, and what each gave."""
    slots = kernel_slots(Life()) if slots is None else slots
    state, said = begun(agent, slots, key), []
    step = jax.jit(lambda state, i, key: iteration(agent, slots, state, i, key), compiler_options=FAST_COMPILE)
    for i in range(iterations):
        state, what = step(state, jnp.int32(i), key)
        said.append(jax.device_get(what))
    return jax.device_get(state), said


def on_two_devices(agent: Recorder, iterations: int, env: Any = None) -> tuple[TrainState, list[Any]]:
    """The state after so many iterations on two devices that share the slots, the agent's with an axis of devices; and
    (sums, updates) of each."""
    slots = kernel_slots(Life() if env is None else env)
    state, said = begun(agent, slots), []
    twice = jax.tree.map(lambda x: jnp.stack([x, x]), state.agent)
    state = eqx.tree_at(lambda s: s.agent, state, twice)

    def on_each(state: TrainState, i: Any, key: Any) -> Any:
        own = eqx.tree_at(lambda s: s.agent, state, jax.tree.map(lambda x: x[0], state.agent))
        own, (_, sums, updates) = iteration(agent, slots, own, i, key, "d")
        return eqx.tree_at(lambda s: s.agent, own, jax.tree.map(lambda x: x[None], own.agent)), sums, updates

    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
    specs = (P("d"), P(), P())
    step = jax.jit(
        jax.shard_map(on_each, mesh=mesh, in_specs=specs, out_specs=specs, check_vma=False),
        compiler_options=FAST_COMPILE,
    )
    for i in range(iterations):
        state, *what = step(state, jnp.int32(i), KEY)
        said.append(jax.device_get(what))
    return jax.device_get(state), said


def logged(state: TrainState) -> Transition:
    """The minibatches written down, [updates, n, ...]."""
    return jax.tree.map(lambda x: x[: state.agent["updates"]], state.agent["drawn"])
