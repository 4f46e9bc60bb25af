"""The estimate of what is worth a kernel: tabular agents are, networks that are trained are not."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.agents import list_agents
from kousoku.compiler import cost, decide, on_arrays
from kousoku.compiler.backends import BACKENDS
from kousoku.compiler.runtime.kernels import GRAIN_NANOSECONDS, KernelSpec
from kousoku.compiler.tracing.trace import trace_like
from kousoku.core.env import Finite
from kousoku.training.config import TrainConfig
from kousoku.training.loop import program, stepwise
from kousoku.training.make_population import make_population
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.point_envs import point_envs
from kousoku.training.population import first

FINITE = [name for name in OWN_ENVS if name != "CustomGrid-v0" and isinstance(ks.make(name), Finite)]
FINITE = [name for name in FINITE if isinstance(ks.make(name).observation_space, ks.Discrete)]
TABULAR = [
    name
    for name in list_agents()
    if not name.startswith("bandit") and ks.make_agent(name).learns_from.iteration_steps == 1
]
BANDITS = [name for name in list_agents() if name.startswith("bandit")]
BANDIT_ENVS = [name for name in ks.list_envs() if "Bandit" in name]


def whole_run(agent: str, env: str, **options):
    """Every step of one agent, as training would give it to a kernel, and its arguments' shapes."""
    config = TrainConfig(steps=100, seeds=2)
    population = make_population(ks.make_agent(agent, **options), point_envs(ks.make(env), {}, config), config)
    loop = program.CompiledLoop(population, Recording(), 1, 100)
    members = loop.members
    state = jax.eval_shape(lambda members: program._start(loop.program, members, loop._sums, None), members)
    alone = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), state)
    args = first(members.numbers), members.env_arrays, members.keys[0], alone, jnp.int32(0), jnp.int32(100)
    return partial(stepwise._member, loop.program), args


def check_taken(agent: str, env: str) -> None:
    function, args = whole_run(agent, env)
    in_axes = (0, None, 0, 0, None, None)
    decision = decide(function, *args, in_axes=in_axes)
    assert decision.take, decision.reason
    varying = [axis == 0 for axis, arg in zip(in_axes, args, strict=True) for _ in jax.tree.leaves(arg)]
    work = cost.work_of(jax.make_jaxpr(function)(*args), varying)
    for lanes in (2, 30, 4096):
        assert work.kernel_ns(lanes) < cost.MARGIN * work.xla_ns(lanes), lanes


@pytest.mark.by_default("q_learning-GridWorld-v0")
@pytest.mark.parametrize(("agent", "env"), [("q_learning", "GridWorld-v0"), (BANDITS[0], BANDIT_ENVS[0])])
def test_a_gang_of_a_population_is_work_enough_for_a_core(agent, env):
    """Else two gangs, such as of 30 agents, would be left to one core; how many steps there are is not known before."""
    function, args = whole_run(agent, env)
    assert trace_like(function, "", *args).summary.nanoseconds > GRAIN_NANOSECONDS / 2


def spec(function, *args) -> KernelSpec:
    source = trace_like(function, "", *args)
    cpu = BACKENDS[0]
    return KernelSpec(cpu, source, 8, (True,) * len(source.summary.interface.inputs), True, cpu.target())


def step(env: str) -> KernelSpec:
    made = ks.make(env)
    key = jax.random.key(0)
    state, _ = made.reset(key)
    return spec(made.step, key, state, made.action_space.sample(key))


def test_a_small_step_of_many_slots_wakes_no_other_thread():
    """Which takes longer: 50 µs, where a thousand CartPoles take 10; large pieces are shared out as small ones are."""
    cart = step("CartPole-v1")
    assert 1024 < 10 * cart.grain < cart.serial < 100_000


def test_a_loop_whose_turns_are_not_known_is_shared_out_at_once():
    function, args = whole_run("q_learning", "GridWorld-v0")
    assert spec(function, *args).serial == spec(function, *args).grain == 8
    few = spec(lambda x: jax.lax.while_loop(lambda x: x < 100.0, lambda x: x * 2.0, x), jnp.float32(1.0))
    many = spec(lambda x: jax.lax.fori_loop(0, 16, lambda i, x: x * 2.0, x), jnp.float32(1.0))
    assert few.serial == few.grain < many.serial


def test_what_takes_long_is_shared_out_sooner():
    """As measured, a logarithm is some ten multiplications, and sorting 64 numbers some thousands."""
    plain, log, power = (spec(f, jnp.float32(0.5)).serial for f in (lambda x: x * 3.0, jnp.log, lambda x: x**2.3))
    assert plain > 4 * log > 8 * power
    assert spec(jnp.sort, jnp.ones(64)).serial < 1000 < spec(lambda x: x * 3.0, jnp.ones(64)).serial


def test_products_of_matrices_count_by_what_they_multiply():
    """A hidden layer of a policy in a kernel is 4,096 multiply-adds, not the 64 numbers that it makes."""
    layer = jnp.ones((64, 64))
    assert spec(lambda x: x @ layer, jnp.ones(64)).source.summary.nanoseconds >= 4096
    total = spec(lambda x: x.sum(), jnp.ones(4096)).source.summary.nanoseconds
    assert 1000 < total < 4096


@pytest.mark.by_default("FrozenLake-v1")
@pytest.mark.parametrize("env", FINITE)
def test_q_learning_is_one_kernel_on_every_finite_environment(env):
    check_taken("q_learning", env)


@pytest.mark.by_default("watkins_q_lambda")
@pytest.mark.parametrize("agent", TABULAR)
def test_every_tabular_agent_is_one_kernel(agent):
    check_taken(agent, "FrozenLake-v1")


@pytest.mark.by_default("Bandit-v0-bandit_epsilon_greedy")
@pytest.mark.parametrize("agent", BANDITS)
@pytest.mark.parametrize("env", BANDIT_ENVS)
def test_every_bandit_agent_is_one_kernel(agent, env):
    check_taken(agent, env)


@pytest.mark.full("larger")
@pytest.mark.parametrize("env", FINITE)
@pytest.mark.parametrize("agent", TABULAR)
def test_every_tabular_agent_is_one_kernel_everywhere(agent, env):
    check_taken(agent, env)


def dqn(hidden: tuple[int, ...], batch: int = 32, capacity: int = 1000):
    """CartPole and a DQN with a replay buffer in its own state: so many steps of both, and arguments of one lane."""
    env = ks.make("CartPole-v1")
    sizes = [4, *hidden, 2]
    weights = [(jnp.zeros((m, n)), jnp.zeros(n)) for m, n in pairwise(sizes)]

    def one(weights, x):
        for w, b in weights[:-1]:
            x = jnp.maximum(x @ w + b, 0.0)
        w, b = weights[-1]
        return x @ w + b

    q = jax.vmap(one, (None, 0))

    def step(i, carried):
        weights, target, rows, state, obs, key = carried
        key, step_key, batch_key = jax.random.split(key, 3)
        action = jnp.argmax(one(weights, obs)).astype(jnp.int32)
        state, timestep = env.step(step_key, state, action)
        row = jnp.concatenate([obs, timestep.obs, jnp.stack([timestep.reward, action.astype(jnp.float32)])])
        rows = rows.at[i % capacity].set(row)
        drawn = rows[jax.random.randint(batch_key, (batch,), 0, capacity)]

        def loss(weights):
            wanted = drawn[:, 8] + 0.99 * q(target, drawn[:, 4:8]).max(1)
            values = jnp.take_along_axis(q(weights, drawn[:, :4]), drawn[:, 9:].astype(jnp.int32), 1)[:, 0]
            return jnp.mean((values - wanted) ** 2)

        weights = jax.tree.map(lambda w, g: w - 0.01 * g, weights, jax.grad(loss)(weights))
        target = jax.tree.map(lambda t, w: 0.99 * t + 0.01 * w, target, weights)
        return weights, target, rows, state, timestep.obs, key

    def run(*carried):
        return jax.lax.fori_loop(0, carried[0], step, carried[1:])

    state, timestep = env.reset(jax.random.key(0))
    return run, (jnp.int32(64), weights, weights, jnp.zeros((capacity, 10)), state, timestep.obs, jax.random.key(1))


@pytest.mark.by_default("16")
@pytest.mark.parametrize("lanes", [None, 2, 16, 512])
def test_a_dqn_is_not(lanes):
    decision = decide(*_called(dqn((64, 64))), lanes=lanes)
    assert not decision.take
    assert "products of matrices" in decision.reason


@pytest.mark.by_default("sac-InvertedPendulum-v5")
@pytest.mark.parametrize(
    ("agent", "env"),
    [("sac", "Pendulum-v1"), ("sac", "InvertedPendulum-v5"), ("td3", "Hopper-v5"), ("dqn", "CartPole-v1")],
)
def test_networks_that_learn_at_each_step_of_one_environment_are_not(agent, env):
    """However long the step of the environment is: that is a kernel in either case."""
    function, args = whole_run(agent, env, num_envs=1, update_ratio=1, batch_size=256)
    decision = decide(function, *args, lanes=1)
    assert not decision.take
    assert "products of matrices" in decision.reason


def _called(made):
    function, args = made
    return function, *args


def test_a_tiny_linear_policy_is():
    assert decide(lambda w, x: jnp.tanh(w @ x), jnp.ones((2, 4)), jnp.ones(4)).take


def test_large_arrays_that_come_and_go_are_not():
    decision = decide(lambda rows, i: rows.at[i].add(1.0), jnp.zeros(100_000), 3)
    assert not decision.take
    assert "200,000 elements of large arrays" in decision.reason


def test_what_stands_against_it_is_said():
    with ks.use_kernels(False):
        assert decide(jnp.sin, 1.0) == ks.compiler.Decision(False, "use_kernels(False) switches kernels off")
    assert "no rule for eigh" in decide(jnp.linalg.eigvalsh, jnp.eye(2)).reason


def test_an_explicit_kernel_is_compiled_all_the_same_and_explains():
    x, w = jnp.ones((32, 96)), jnp.full((96, 96), 0.01)
    product = ks.kernel(lambda x, w: x @ w)
    explanation = product.explain(x, w, lanes=8)
    assert explanation.fallback is None
    assert not explanation.decision.take
    assert "XLA is estimated to be" in str(explanation)
    many = jnp.stack([x, 2 * x])
    np.testing.assert_allclose(jax.vmap(product, (0, None))(many, w), many @ w, rtol=1e-5)


def test_work_is_counted():
    """By hand: loops multiplied out, calls entered, every branch of a choice, and writes by what they write."""

    def function(x, w, rows):
        def body(x, _):
            return jnp.where(x > 0, x @ w, x), None

        x, _ = jax.lax.scan(body, x, None, length=5)
        return jax.lax.cond(x[0] > 0, lambda: jnp.sin(x), lambda: jnp.cos(x)), rows.at[3].set(1.0)

    shapes = jnp.ones(4), jnp.ones((4, 4)), jnp.ones(100)
    work = cost.work_of(jax.make_jaxpr(function)(*shapes))
    assert work.products == ((16, 5 * 16),)
    assert work.moved == 200
    assert 5 * 8 + 8 <= work.elements <= 5 * 8 + 30


def test_kernels_within_are_counted_as_calls_and_those_along_arrays_by_what_they_do():
    """The first run as kernels in XLA's program, too; the others have vectors of their own there, as XLA's have."""
    x, w = jnp.ones(64), jnp.ones((64, 64))

    def inner(x, w):
        return jnp.tanh(x @ w)

    as_calls = cost.work_of(jax.make_jaxpr(ks.kernel(inner))(x, w))
    assert (as_calls.products, as_calls.elements, as_calls.operations) == ((), 0, 1)
    assert as_calls.passed_on == as_calls.moved == 64 + 64 * 64 + 64
    as_arrays = cost.work_of(jax.make_jaxpr(on_arrays(inner))(x, w))
    assert as_arrays == cost.work_of(jax.make_jaxpr(inner)(x, w))
