"""Evolution strategies: an update of each beside numbers worked out by hand or by NumPy, and what all share."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import refusals
from rollouts import Walk, learned, leaves_equal

import kousoku as ks
from kousoku.agents.evolution.ars import ARS
from kousoku.agents.evolution.mirrored import mirrored_candidates
from kousoku.agents.evolution.openai_es import OpenAIES
from kousoku.agents.evolution.pgpe import PGPE
from kousoku.agents.evolution.sep_cma_es import SepCMAES, rates_of
from kousoku.agents.evolution.strategy import parameters
from kousoku.collectors.generations import Generation
from kousoku.core.env import Env, EnvSpec
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.core.timestep import Timestep
from kousoku.nn.policy_network import PolicyConfig
from kousoku.ops.schedules import Linear

SPEC = EnvSpec(Box(-1.0, 1.0, (2,)), Box(-1.0, 1.0, (1,)), 7)
KEY = jax.random.key(0)
STRATEGIES = (ARS, OpenAIES, PGPE, SepCMAES)
SMALL: dict[type, dict[str, Any]] = {
    ARS: {"num_directions": 4},
    **{kind: {"population_size": 8} for kind in STRATEGIES[1:]},
}


def begun(agent: Any, mean: Any, spec: EnvSpec = SPEC) -> Any:
    """The state of an agent, about a mean."""
    state = agent.init(spec, KEY)
    return eqx.tree_at(lambda s: s.policy, state, agent.policy(state, jnp.asarray(mean, jnp.float32)))


def moved(agent: Any, state: Any, candidates: Any, fitness: Any) -> tuple[np.ndarray, Any, dict[str, Any]]:
    mean, search, metrics = agent.tell(state, jnp.asarray(candidates), jnp.asarray(fitness, jnp.float32), KEY)
    return np.asarray(mean), search, metrics


def test_ars_by_hand():
    """The best of three directions are 0 and 2, of returns (5, 1) and (2, 4), whose standard deviation is sqrt(2.5)."""
    agent = ARS(num_directions=3, top_directions=2, learning_rate=0.1, noise_std=0.5)
    noise = jnp.array([[1.0, 0.0], [7.0, 7.0], [0.0, 2.0]])
    candidates = mirrored_candidates(jnp.array([1.0, -1.0]), noise, 0.5)
    mean, _, metrics = moved(agent, begun(agent, [1.0, -1.0]), candidates, [5.0, 0.0, 2.0, 1.0, 3.0, 4.0])
    step = 0.1 / math.sqrt(2.5) / 2 * np.array([4.0 * 1.0, -2.0 * 2.0])
    np.testing.assert_allclose(mean, np.array([1.0, -1.0]) + step, rtol=1e-5)
    assert float(metrics["noise_std"]) == 0.5


def test_ars_prefers_the_largest_return_of_either_way_not_the_largest_sum():
    """Of returns (5, -9), (1, 1) and (0, 2) the best are those of 5 and 2, whose sums are the least and the same."""
    agent = ARS(num_directions=3, top_directions=2, learning_rate=0.1, noise_std=0.5)
    noise = jnp.array([[1.0, 0.0], [7.0, 7.0], [0.0, 2.0]])
    candidates = mirrored_candidates(jnp.array([1.0, -1.0]), noise, 0.5)
    mean, _, _ = moved(agent, begun(agent, [1.0, -1.0]), candidates, [5.0, 1.0, 0.0, -9.0, 1.5, 2.0])
    step = 0.1 / np.std([5.0, 0.0, -9.0, 2.0]) / 2 * np.array([14.0 * 1.0, -2.0 * 2.0])
    np.testing.assert_allclose(mean, np.array([1.0, -1.0]) + step, rtol=1e-5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_return_that_is_not_finite_counts_to_ars_as_the_worst(bad):
    agent = ARS(num_directions=3, top_directions=2, learning_rate=0.1, noise_std=0.5)
    candidates = mirrored_candidates(jnp.zeros(2), jnp.array([[1.0, 0.0], [7.0, 7.0], [0.0, 2.0]]), 0.5)
    one, other = (
        moved(agent, begun(agent, [0.0, 0.0]), candidates, [5.0, 0.0, value, 1.0, 3.0, 4.0])[0] for value in (bad, 0.0)
    )
    np.testing.assert_array_equal(one, other)
    nothing, _, _ = moved(agent, begun(agent, [0.0, 0.0]), candidates, [bad] * 6)
    np.testing.assert_array_equal(nothing, 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_return_that_is_not_finite_spoils_nothing(kind, bad):
    agent = kind(**SMALL[kind])
    state = begun(agent, [0.5, -0.5])
    candidates, _ = agent.ask(state, KEY)
    mean, search, _ = moved(agent, state, candidates, [bad, *range(1, candidates.shape[0])])
    assert np.isfinite(mean).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(search))


@pytest.mark.full("covered")
def test_ars_stays_where_all_returns_are_equal():
    agent = ARS(num_directions=3)
    candidates = mirrored_candidates(jnp.zeros(2), jax.random.normal(KEY, (3, 2)), 0.03)
    mean, _, _ = moved(agent, begun(agent, [0.0, 0.0]), candidates, [7.0] * 6)
    np.testing.assert_array_equal(mean, 0.0)


def test_openai_es_by_hand():
    """Ranks 1/2, 1/6 of the first ways and -1/6, -1/2 of the others; Adam's first step is the gradient's sign."""
    agent = OpenAIES(population_size=4, learning_rate=0.1, noise_std=0.5, weight_decay=0.0)
    noise = jnp.array([[1.0, 0.0], [0.0, -2.0]])
    candidates = mirrored_candidates(jnp.array([1.0, 2.0]), noise, 0.5)
    mean, _, metrics = moved(agent, begun(agent, [1.0, 2.0]), candidates, [9.0, 3.0, 2.0, 1.0])
    gradient = np.array([(0.5 + 1 / 6) * 1.0, (1 / 6 + 0.5) * -2.0]) / (4 * 0.5)
    np.testing.assert_allclose(metrics["gradient_norm"], np.linalg.norm(gradient), rtol=1e-5)
    np.testing.assert_allclose(mean, [1.1, 1.9], rtol=1e-5)


def test_openai_es_decays_weights():
    agent = OpenAIES(population_size=4, learning_rate=0.1, weight_decay=0.01)
    candidates = mirrored_candidates(jnp.array([3.0, -3.0]), jnp.ones((2, 2)), 0.05)
    mean, _, metrics = moved(agent, begun(agent, [3.0, -3.0]), candidates, [1.0] * 4)
    np.testing.assert_allclose(metrics["gradient_norm"], 0.03 * math.sqrt(2), rtol=1e-5)
    np.testing.assert_allclose(mean, [2.9, -2.9], rtol=1e-5)


def test_pgpe_by_hand():
    """Ranks (1/2, 1/6 | -1/6, -1/2): both pairs' differences are 2/3, so ClipUp goes along z0 + z1; the first pair's
    mean rank is 1/6, the second's -1/6, about a mean of 0."""
    agent = PGPE(population_size=4, learning_rate=0.3, max_speed=1.0, noise_std=0.5, std_learning_rate=0.3)
    z = jnp.array([[2.0, 0.0], [0.0, -2.0]])
    candidates = mirrored_candidates(jnp.array([1.0, 2.0]), z, 0.5)
    mean, search, metrics = moved(agent, begun(agent, [1.0, 2.0]), candidates, [9.0, 3.0, 2.0, 1.0])
    np.testing.assert_allclose(mean, np.array([1.0, 2.0]) + 0.3 * np.array([1.0, -1.0]) / math.sqrt(2), rtol=1e-5)
    change = 0.3 * (np.array([3.0, -1.0]) - np.array([-1.0, 3.0])) / 6 * 0.5 / 2
    np.testing.assert_allclose(search.std, 0.5 + change, rtol=1e-5)
    assert float(metrics["noise_std"]) == 0.5
    faster = eqx.tree_at(lambda a: a.std_learning_rate, agent, 3.0)
    _, search, _ = moved(faster, begun(faster, [1.0, 2.0]), candidates, [9.0, 3.0, 2.0, 1.0])
    np.testing.assert_allclose(search.std, [0.6, 0.4], rtol=1e-5, err_msg="a fifth at most")


def test_the_standard_deviations_of_pgpe_may_stand_still():
    agent = PGPE(population_size=4, std_learning_rate=0.0)
    state = begun(agent, [1.0, 2.0])
    candidates, _ = agent.ask(state, KEY)
    _, search, _ = moved(agent, state, candidates, [9.0, 3.0, 2.0, 1.0])
    np.testing.assert_array_equal(search.std, state.search.std)


class CMAInNumPy:
    """Hansen's tutorial, algorithm in figure 6, with a full matrix of which only the diagonal is kept."""

    def __init__(self, mean: np.ndarray, sigma: float, candidates: int) -> None:
        self.mean, self.sigma, self.n, self.g = mean.astype(np.float64), sigma, len(mean), 0
        self.covariance, self.p_sigma, self.p_c = np.eye(self.n), np.zeros(self.n), np.zeros(self.n)
        mu = candidates // 2
        weights = np.log((candidates + 1) / 2) - np.log(np.arange(1, mu + 1))
        self.weights = weights / weights.sum()
        self.mu_eff = 1 / np.sum(self.weights**2)

    def tell(self, candidates: np.ndarray, returns: np.ndarray) -> None:
        n, mu_eff, weights = self.n, self.mu_eff, self.weights
        c_sigma = (mu_eff + 2) / (n + mu_eff + 5)
        damping = 1 + 2 * max(0, np.sqrt((mu_eff - 1) / (n + 1)) - 1) + c_sigma
        c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n)
        c_1 = min(1, (n + 2) / 3 * 2 / ((n + 1.3) ** 2 + mu_eff))
        c_mu = min(1 - c_1, (n + 2) / 3 * 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) ** 2 + mu_eff))
        self.g += 1
        y = (candidates[np.argsort(-returns)[: len(weights)]] - self.mean) / self.sigma
        step = weights @ y
        self.mean = self.mean + self.sigma * step
        root = np.linalg.inv(np.linalg.cholesky(self.covariance))
        self.p_sigma = (1 - c_sigma) * self.p_sigma + np.sqrt(c_sigma * (2 - c_sigma) * mu_eff) * root @ step
        chi = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        length = np.linalg.norm(self.p_sigma)
        going = length / np.sqrt(1 - (1 - c_sigma) ** (2 * self.g)) < (1.4 + 2 / (n + 1)) * chi
        self.p_c = (1 - c_c) * self.p_c + going * np.sqrt(c_c * (2 - c_c) * mu_eff) * step
        rank_mu = sum(w * np.outer(each, each) for w, each in zip(weights, y, strict=True))
        kept = 1 - c_1 - c_mu + (not going) * c_1 * c_c * (2 - c_c)
        full = kept * self.covariance + c_1 * np.outer(self.p_c, self.p_c) + c_mu * rank_mu
        self.covariance = np.diag(np.diag(full))
        self.sigma = self.sigma * np.exp(min(1, c_sigma / damping * (length / chi - 1)))


@pytest.mark.by_default("2-6")
@pytest.mark.reference
@pytest.mark.parametrize(("size", "candidates"), [(2, 6), (5, 13)])
def test_sep_cma_es_is_the_tutorials_algorithm(size, candidates):
    """On an ellipsoid with axes of 1 to 100, generation by generation."""
    spec = EnvSpec(Box(-1.0, 1.0, (size,)), Box(-1.0, 1.0, (1,)), 7)
    agent = SepCMAES(population_size=candidates, noise_std=0.3)
    first, scales = np.linspace(-1, 1, size).astype(np.float32), np.logspace(0, 2, size)
    state, numpy = begun(agent, first, spec), CMAInNumPy(first, 0.3, candidates)
    ask, tell = jax.jit(agent.ask), jax.jit(agent.tell)
    for i in range(25):
        asked, state = ask(state, jax.random.key(i))
        returns = -np.sum((scales * np.asarray(asked)) ** 2, axis=1).astype(np.float32)
        mean, search, _ = tell(state, asked, jnp.asarray(returns), KEY)
        numpy.tell(np.asarray(asked, np.float64), returns)
        np.testing.assert_allclose(mean, numpy.mean, rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(search.step_size, numpy.sigma, rtol=2e-3)
        np.testing.assert_allclose(search.variance, np.diag(numpy.covariance), rtol=5e-3)
        state = eqx.tree_at(lambda s: (s.policy, s.search), state, (agent.policy(state, mean), search))
        numpy.mean, numpy.sigma = np.asarray(mean, np.float64), float(search.step_size)
        numpy.covariance = np.diag(np.asarray(search.variance, np.float64))
        numpy.p_sigma, numpy.p_c = np.asarray(search.step_path, float), np.asarray(search.variance_path, float)


def test_the_step_of_cma_es_grows_by_a_factor_of_e_at_most():
    agent = SepCMAES(population_size=6, noise_std=0.3)
    candidates = jnp.full((6, 2), 1e3) + jnp.arange(6.0)[:, None]
    _, search, _ = moved(agent, begun(agent, [0.0, 0.0]), candidates, np.arange(6.0))
    assert abs(float(search.step_size) / (0.3 * math.e) - 1) < 1e-5


def test_the_rates_of_cma_es_printed_in_the_tutorial():
    """The weights of table 1 sum up to 1, and the variance effective selection mass of lambda = 12 is near 3.7."""
    rates = rates_of(10, 12)
    assert float(rates.weights.sum()) == pytest.approx(1.0, rel=1e-6)
    assert rates.mu_eff == pytest.approx(3.73, abs=0.01)
    assert rates.c_1 + rates.c_mu <= 1.0


@pytest.mark.by_default("PGPE")
@pytest.mark.parametrize("kind", STRATEGIES)
def test_candidates_are_about_the_mean(kind):
    """Their mean is the policy's parameters, their standard deviation the noise; of mirrored ones exactly."""
    count = {"num_directions": 2000} if kind is ARS else {"population_size": 4000}
    agent = kind(noise_std=0.25, **count)
    asked, _ = agent.ask(begun(agent, [3.0, -2.0]), KEY)
    assert asked.shape == (4000, 2)
    np.testing.assert_allclose(asked.mean(0), [3.0, -2.0], atol=1e-5 if agent.starts > 1 else 0.02)
    np.testing.assert_allclose(asked.std(0), 0.25, rtol=0.05)
    if agent.starts > 1:
        np.testing.assert_allclose(asked[:2000] + asked[2000:], jnp.array([[6.0, -4.0]]).repeat(2000, 0), atol=1e-5)


@pytest.mark.full("covered")
@pytest.mark.parametrize("kind", STRATEGIES)
def test_the_bonus_is_taken_out_of_fitness_alone(kind):
    """With an offset of -1 a step, candidate 0 of return 10 in 10 steps loses against the others of 5 in 1."""
    agent = kind(**SMALL[kind], alive_bonus_offset=-1.0)
    state = begun(agent, [0.0, 0.0])
    asked, state = agent.ask(state, KEY)
    returns, lengths = jnp.full(8, 5.0).at[0].set(10.0), jnp.ones(8).at[0].set(10.0)
    data = Generation(asked, returns, lengths, _observed(agent, state), jnp.int32(17))
    learned, metrics = agent.update(state, data, KEY)
    same, _, _ = moved(agent, state, asked, np.asarray(returns - lengths))
    np.testing.assert_array_equal(parameters(learned.policy), same)
    assert float(metrics["return_max"]) == 10.0
    assert int(learned.step) == 17


def test_returns_that_are_all_the_same_have_no_standard_deviation():
    """Of 66 numbers 123456.7 the mean in float32 is another number, and of 1e8 by 8."""
    agent = ARS(num_directions=33)
    asked, state = agent.ask(begun(agent, [0.0, 0.0]), KEY)
    for value in (0.1, 123456.7, 1e8):
        data = Generation(asked, jnp.full(66, value), jnp.ones(66), _observed(agent, state), jnp.int32(66))
        assert float(agent.update(state, data, KEY)[1]["return_std"]) == 0.0


def _observed(agent: Any, state: Any) -> Any:
    """Moments of three observations in each of two slots."""
    return jax.tree.map(lambda x: jnp.stack([x, x]), agent.statistics(state))


def test_what_is_adopted():
    """The mean policy and the statistics; the search and the count of steps begin anew."""
    for kind in STRATEGIES:
        agent = kind(**SMALL[kind])
        fresh, trained = begun(agent, [0.0, 0.0]), begun(agent, [2.0, 3.0])
        trained = eqx.tree_at(lambda s: (s.step, s.observations.mean), trained, (jnp.int32(9), jnp.array([4.0, 5.0])))
        adopted = agent.adopt(fresh, trained)
        assert parameters(adopted.policy).tolist() == [2.0, 3.0]
        assert adopted.observations.mean.tolist() == [4.0, 5.0]
        assert int(adopted.step) == 0
        assert eqx.tree_equal(adopted.search, fresh.search)


@pytest.mark.parametrize(
    ("own", "limit", "expected"), [(None, 7, 7), (5, 7, 5), (9, 7, 7), (None, None, 1000), (9, None, 9)]
)
def test_episodes_are_as_long_as_the_environments(own, limit, expected):
    agent = ARS(max_episode_steps=own).for_env(EnvSpec(SPEC.observation_space, SPEC.action_space, limit))
    assert agent.max_episode_steps == agent.learns_from.max_episode_steps == expected


def test_a_generation_is_as_long_as_the_environments_episodes_allow():
    """1.2 million candidates: too many for episodes of 1,000 steps, which nobody asked for, and not for those of 7."""
    agent = ARS(num_directions=600_000)
    assert agent.for_env(SPEC).learns_from.iteration_steps == 1_200_000 * 7
    longer = EnvSpec(SPEC.observation_space, SPEC.action_space, 900)
    with pytest.raises(
        ks.ConfigError, match="max_episode_steps: got 900; 1200000 candidates x 1 episode may take 1080"
    ):
        agent.for_env(longer)
    with pytest.raises(ks.ConfigError, match="num_envs: got 7"):  # what hangs on no limit is told at once
        ARS(num_directions=4, num_envs=7)


SPACES = [
    (Box(-1.0, 1.0, (2, 3)), Box(-1.0, 1.0, (2, 2))),
    (Discrete(5), Discrete(3)),
    (MultiDiscrete((2, 3)), MultiDiscrete((3, 4))),
    (Dict({"a": Box(-1.0, 1.0, (2,)), "b": Discrete(2)}), Discrete(2)),
]


@pytest.mark.by_default("observations0-actions0", "observations2-actions2")
@pytest.mark.parametrize(("observations", "actions"), SPACES)
def test_policies_act_in_any_space(observations, actions):
    agent = ARS(network=ks.nn.PolicyConfig(hidden=(4,), head_gain=1.0))
    spec = EnvSpec(observations, actions, 7)
    state = agent.init(spec, KEY)
    action, carry, _ = agent.act(state, observations.sample(KEY), (), KEY)
    assert actions.contains(np.clip(action, -1, 1) if isinstance(actions, Box) else np.asarray(action))
    assert carry == ()


class Line(Env):
    """One step: the reward is the negative squared distance of the action from a point that the observation tells."""

    time_limit: int | None = eqx.field(static=True, default=1)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (2,))

    @property
    def action_space(self) -> Box:
        return Box(-10.0, 10.0, (1,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        obs = jax.random.normal(key, (2,), jnp.float32)
        return obs, Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        error = action[0] - (1.5 * state[0] - 0.5 * state[1])
        return state, Timestep(state, -(error**2), jnp.array(True), jnp.array(False))


@pytest.mark.full("covered")
@pytest.mark.learning
@pytest.mark.parametrize("kind", STRATEGIES)
def test_each_strategy_learns_a_line(kind):
    """The best policy is known: 1.5 x - 0.5 y. It ends as near as the noise lets it, from a return of -2.5. Nothing
    disturbs sep-CMA-ES here, whose noise gets smaller than float32 holds.
    """
    agent = kind(normalise_observations=False, episodes=4, noise_std=0.1, **SMALL[kind])
    if kind is not SepCMAES:
        agent = eqx.tree_at(lambda a: a.learning_rate, agent, 0.05)
    run = ks.train(agent, Line(), steps=8 * 4 * 400, out="", eval_episodes=200, progress=False)
    assert run.record.facts["status"] == "finished"
    weights = np.asarray(run.trained_member("run").state.policy.head.weight).ravel()
    np.testing.assert_allclose(weights, [1.5, -0.5], atol=0.15)
    assert run.evaluate(50).returns.mean() > -0.05


@pytest.mark.full("covered")
def test_schedules_are_read_at_environment_steps():
    agent = ARS(num_directions=4, learning_rate=Linear(0.1, 0.0, 100), noise_std=Linear(0.2, 0.1, 100))
    state = eqx.tree_at(lambda s: s.step, begun(agent, [0.0, 0.0]), jnp.int32(50))
    asked, state = agent.ask(state, KEY)
    _, _, metrics = moved(agent, state, asked, np.arange(8.0))
    assert float(metrics["learning_rate"]) == pytest.approx(0.05)
    assert float(metrics["noise_std"]) == pytest.approx(0.15)


def test_settings_that_cannot_work_are_refused():
    messages = refusals(
        {
            "one direction": "ks.make_agent('ars', num_directions=1)",
            "too many": "ks.make_agent('ars', num_directions=4, top_directions=5)",
            "no noise": "ks.make_agent('ars', noise_std=0.0)",
            "still": "ks.make_agent('openai_es', learning_rate=0.0)",
            "odd": "ks.make_agent('pgpe', population_size=7)",
            "decay": "ks.make_agent('openai_es', weight_decay=-1.0)",
            "slots": "ks.make_agent('sep_cma_es', population_size=8, num_envs=3)",
            "network": "ks.make_agent('ars', network=3)",
            "info": "ks.train('ars', 'CartPole-v1', steps=100, record=['info'], out='')",
            "loop": "ks.train('ars', 'CartPole-v1', steps=100, loop='python', out='')",
        },
        "import kousoku as ks",
    )
    starts = {
        "one direction": "num_directions: got 1",
        "too many": "top_directions: got 5",
        "no noise": "noise_std: got 0.0",
        "still": "learning_rate: got 0.0",
        "odd": "population_size: got 7",
        "decay": "weight_decay: got -1.0",
        "slots": "num_envs: got 3",
        "network": "network: got 3",
        "info": "record: got 'info'",
        "loop": "loop: got 'python'",
    }
    for name, start in starts.items():
        assert messages[name].startswith(start), messages[name]


@pytest.mark.full("covered")
def test_walk_is_scaled_by_what_was_seen():
    """The statistics after a run are those of all steps: of observations near 100 + 10 t."""
    run = ks.train(ARS(num_directions=4), Walk(), steps=2000, out="", eval_episodes=0, progress=False)
    observations = run.trained_member("run").state.observations
    assert 100.0 < float(observations.mean[0]) < 140.0
    assert int(observations.count[1]) >= 2000


@pytest.mark.full("covered")
@pytest.mark.parametrize("kind", [ARS, OpenAIES])
def test_noise_that_has_decayed_to_nothing_moves_nothing(kind):
    agent = kind(
        **SMALL[kind], noise_std=lambda step: jnp.float32(0.0), **({"weight_decay": 0.0} if kind is OpenAIES else {})
    )
    state = begun(agent, [1.0, -2.0])
    asked, state = agent.ask(state, KEY)
    mean, _, _ = moved(agent, state, asked, [3.0] * 8)
    np.testing.assert_array_equal(mean, [1.0, -2.0])


class Counted(eqx.Module):
    """A policy with a table of whole numbers beside its parameters."""

    weight: jax.Array
    table: jax.Array

    def __call__(self, obs: Any) -> Any:
        return (self.weight @ obs)[None] + 0.0 * self.table[0].astype(jnp.float32)


@pytest.mark.full("covered")
def test_parameters_are_floating_point_arrays_alone():
    def build(observation_space: Any, action_space: Any, key: Any) -> Counted:
        return Counted(jnp.zeros(2), jnp.arange(3))

    agent = ARS(num_directions=4, network=build, normalise_observations=False)
    run = ks.train(agent, Line(), steps=400, out="", eval_episodes=2, progress=False)
    policy = run.trained_member("run").state.policy
    assert policy.table.tolist() == [0, 1, 2]
    assert policy.weight.shape == (2,)
    assert np.any(policy.weight != 0.0)


@pytest.mark.full("more cases")
def test_an_agent_that_was_made_in_python_goes_on_and_is_read(tmp_path):
    """What it left to the environment is filled in again, also where the environment is made by its id."""
    agent, out = ARS(num_directions=4), str(tmp_path / "run")
    whole = ks.train(ARS(num_directions=4), "CartPole-v1", steps=16_000, eval_episodes=2, out="", progress=False)
    ks.train(agent, "CartPole-v1", steps=8_000, eval_episodes=2, out=out, progress=False)
    assert ks.load(out, agent=ARS(num_directions=4)).policy().spec.time_limit == 500
    longer = ks.resume(out, agent=ARS(num_directions=4), steps=16_000, progress=False)
    np.testing.assert_array_equal(longer.curves["return"][-1], whole.curves["return"][-1])
    np.testing.assert_array_equal(longer.record.evaluation["return"], whole.record.evaluation["return"])


class Wide(Env):
    """17 numbers that are pushed about by 6, for 8 steps: as many parameters as a robot's policy has."""

    time_limit: int | None = eqx.field(static=True, default=8)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (17,))

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (6,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        obs = jax.random.normal(key, (17,), jnp.float32)
        return obs, Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        state = 0.9 * state + 0.1 * jnp.concatenate([action, jnp.roll(action, 1), action[:5]])
        return state, Timestep(state, -jnp.sum((state - 0.3) ** 2), jnp.array(False), jnp.array(False))


@pytest.mark.by_default("SepCMAES")
@pytest.mark.parametrize("kind", STRATEGIES, ids=lambda kind: kind.__name__)
def test_each_device_learns_the_same_of_a_generation(kind):
    """A program for several devices is compiled in another way: none of an update's operations is to hang on that."""
    agent = kind(**SMALL[kind])
    state = agent.init(Wide().spec, KEY)
    spread = jax.tree.map(lambda x: x * jnp.linspace(0.5, 2.0, x.size) if x.ndim else x, state.search)
    asked, state = agent.ask(eqx.tree_at(lambda s: s.search, state, spread), KEY)
    fitness = jax.random.normal(KEY, (8,), jnp.float32)
    arrays, rest = eqx.partition(state, eqx.is_array)

    def told(arrays: Any, asked: Any, fitness: Any) -> Any:
        return agent.tell(eqx.combine(arrays, rest), asked, fitness, KEY)

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("devices",))
    everywhere = jax.sharding.PartitionSpec()
    on_two = jax.shard_map(told, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
    leaves_equal(jax.jit(on_two)(arrays, asked, fitness), jax.jit(told)(arrays, asked, fitness))


@pytest.mark.full("covered")
@pytest.mark.parametrize("kind", STRATEGIES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "options",
    [{}, {"episodes": 3, "num_envs": 4}, {"network": PolicyConfig(hidden=(32, 32))}],
    ids=["plain", "queue", "hidden"],
)
def test_two_devices_have_the_bits_of_one(kind, options):
    agent = kind(**SMALL[kind], **options)
    leaves_equal(learned(agent, Wide(), 20, devices=2), learned(agent, Wide(), 20))
