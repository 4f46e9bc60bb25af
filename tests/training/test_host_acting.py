"""Actions in environments on the host: a kernel that the host calls chooses those that a program of XLA's does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from host_diary import Diary
from host_worlds import Counter, Echo, Push, Rooms

import kousoku as ks
from kousoku.collectors.streams import seed_of
from kousoku.core.agent import Agent
from kousoku.training.config import TrainConfig
from kousoku.training.loop.host_acting import KernelActing, ProgramActing
from kousoku.training.loop.host_envs import HostEnvLoop
from kousoku.training.make_population import make_population
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.point_envs import point_envs

ROLLOUTS = ks.Rollouts(num_envs=3, num_steps=5)
SMALL = {"num_envs": 3, "num_steps": 5, "minibatches": 1, "epochs": 1, "hidden": (8,)}


class Mirror(Agent):
    """Carries and tells, as they are, all things that it is called with; a number that it has learned is among them."""

    @property
    def learns_from(self):
        return ROLLOUTS

    def init(self, spec, key):
        return jnp.int32(7), jnp.arange(2.0)

    def initial_carry(self, state):
        return jnp.zeros(3), state[1]

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(1), (obs, carry[1]), (state, obs, carry, jax.random.key_data(key), jnp.float32(2.0))

    def update(self, state, data, key, *, axis=None):
        return state, {}


class Seen(Echo):
    """Observes a value with many parts, whatever it is told to do."""

    action_space = spaces.Discrete(2)

    def step(self, action):
        return self.shown, 0.0, False, False, {}


class Keyed(Diary):
    """Has a key in what it has learned."""

    def init(self, spec, key):
        return super().init(spec, key), key

    def act(self, state, obs, carry, key, *, greedy=False):
        return super().act(state[0], obs, carry, key)

    def update(self, state, data, key, *, axis=None):
        learned, metrics = super().update(state[0], data, key)
        return (learned, state[1]), metrics


def begun(agent, world, seeds=2):
    """The loop of a population, and its state as its first iteration begins."""
    env = ks.from_gymnasium(world)
    agent, config = agent.for_env(env.spec), TrainConfig(steps=10**6, seeds=seeds, out="")
    loop = HostEnvLoop(make_population(agent, point_envs(env, {}, config), config), Recording())
    slots, state = loop.begin(loop.start(), 0)
    return loop, slots, state


def iteration(loop, chooser, agents, acting, observations, ends):
    """What a chooser makes of the steps of an iteration: actions of each, and what is carried and was chosen."""
    keys = loop._programs.acting_keys(loop._keys_in(0), np.int32(0))
    chooser.begin(agents, keys, acting)
    actions = [
        [leaf.copy() for leaf in chooser.act(obs, ended, t)]
        for t, (obs, ended) in enumerate(zip(observations, ends, strict=True))
    ]
    return actions, chooser.end()


AGENTS = [
    pytest.param(ks.make_agent("ppo", **SMALL), Counter, id="ppo"),
    pytest.param(ks.make_agent("ppo", **SMALL, recurrent="gru", recurrent_size=8), Push, id="recurrent"),
    pytest.param(ks.make_agent("ppo", **(SMALL | {"num_envs": 1})), Push, id="one slot"),
    pytest.param(ks.make_agent("ppo", **SMALL), Seen, id="dict", marks=pytest.mark.full("more cases")),
    pytest.param(ks.make_agent("pqn", **SMALL), Rooms, id="pqn", marks=pytest.mark.full("more cases")),
    pytest.param(Diary(ROLLOUTS), Counter, id="diary", marks=pytest.mark.full("more cases")),
    pytest.param(Mirror(), Counter, id="mirror"),
]


@pytest.mark.by_default("recurrent", "mirror")
@pytest.mark.parametrize(("agent", "world"), AGENTS)
def test_a_kernel_chooses_as_a_program_does(agent, world):
    loop, slots, state = begun(agent, world)
    with_kernel, acting = loop._chooser, loop._acting
    assert isinstance(with_kernel, KernelActing)
    program = ProgramActing(loop._programs, loop._numbers, loop._axes)
    random = np.random.default_rng(0)
    for number in range(2):
        before = jax.tree.map(np.array, acting)
        observations, ends = [], []
        for t in range(ROLLOUTS.num_steps):
            observations.append([leaf.copy() for leaf in slots.obs])
            count = len(slots.length)
            ends.append(random.random(count) < 0.4 if t or number else np.zeros(count, bool))
            slots.step(_first_actions(loop, slots))
        theirs = iteration(loop, program, state.agent, jax.tree.map(jnp.array, before), observations, ends)
        ours = iteration(loop, with_kernel, state.agent, before, observations, ends)
        same_trees(ours, theirs)
        acting = ours[1]
    slots.close()


def _first_actions(loop, slots):
    """Actions 0, or the least that there are, as the environments take them: they only have to go on."""
    sample = jax.tree.leaves(loop._env.action_space.sample(jax.random.key(0)))
    return [np.zeros((len(slots.length), *np.shape(leaf)), leaf.dtype) for leaf in sample]


def same_trees(ours, theirs):
    ours, theirs = jax.device_get(ours), jax.device_get(theirs)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (ks.make_agent("ppo", **(SMALL | {"hidden": (600, 600)})), "longer than XLA's program"),
        (Diary(ks.Online()), "no axis of slots"),
        (Diary(ks.Rollouts(num_envs=3, num_steps=1)), "it begins as long as it takes"),
        (Keyed(ROLLOUTS), "a key is no array of NumPy's"),
    ],
)
def test_a_program_of_xlas_acts_where_a_kernel_does_not_pay(agent, why):
    loop, slots, _ = begun(agent, Counter, seeds=1)
    slots.close()
    assert isinstance(loop._chooser, ProgramActing), why


def test_the_switch_of_kernels_counts():
    with ks.use_kernels(False):
        loop, slots, _ = begun(Diary(ROLLOUTS), Counter, seeds=1)
    slots.close()
    assert isinstance(loop._chooser, ProgramActing)


def test_seeds_are_below_what_everybody_takes_and_differ():
    seeds = jax.vmap(seed_of)(jax.random.split(jax.random.key(0), 64))
    assert seeds.dtype == jnp.uint32
    assert int(seeds.max()) < 2**31
    assert len(set(seeds.tolist())) == 64
