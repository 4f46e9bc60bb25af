"""The 10-armed testbed: what Sutton and Barto's chapter 2 finds, on the same bandits for each curve."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loops import run

from kousoku.agents.bandit.epsilon_greedy import BanditEpsilonGreedy
from kousoku.agents.bandit.gradient import BanditGradient
from kousoku.agents.bandit.thompson import BanditThompson
from kousoku.agents.bandit.ucb import BanditUCB
from kousoku.envs.bandits.bandit import bandit
from kousoku.training.interaction import lane_key

LANES, STEPS = 150, 1000


def curves(agent, env, steps: int = STEPS, lanes: int = LANES) -> dict[str, np.ndarray]:
    """Rewards, share of optimal actions and regret, [T], each a mean over the lanes; "late" has one entry a lane."""

    def lane(seed):
        _, transitions, _ = run(agent, env, lane_key(seed), steps)
        return transitions.reward, transitions.info.optimal, transitions.info.regret

    reward, optimal, regret = jax.jit(jax.vmap(lane))(jnp.arange(lanes, dtype=jnp.int32))
    late = np.asarray(optimal[:, -steps // 5 :]).mean(axis=1)
    means = {"reward": reward, "optimal": optimal, "regret": regret}
    return {"late": late, **{name: np.asarray(x).mean(axis=0) for name, x in means.items()}}


def assert_higher(a: np.ndarray, b: np.ndarray) -> None:
    """The mean of `a` is above that of `b` by three standard errors; the same lane has the same bandit in both."""
    more = a - b
    assert more.mean() > 3 * more.std() / np.sqrt(len(more)), (a.mean(), b.mean())


@cache
def plain() -> dict[str, np.ndarray]:
    """Epsilon-greedy with epsilon 0.1 and sample averages: what the others are compared with."""
    return curves(BanditEpsilonGreedy(epsilon=0.1), bandit())


def test_figure_2_2_epsilon_greedy():
    """The greedy one gets stuck at about a third; epsilon 0.1 finds the best arm sooner than 0.01, at about 80 %."""
    greedy, careful = (curves(BanditEpsilonGreedy(epsilon=epsilon), bandit()) for epsilon in (0.0, 0.01))
    assert_higher(plain()["late"], careful["late"])
    assert_higher(careful["late"], greedy["late"])
    assert plain()["late"].mean() == pytest.approx(0.78, abs=0.06)
    assert greedy["late"].mean() == pytest.approx(0.36, abs=0.06)


def test_figure_2_3_optimistic_initial_values():
    """Worse at first, because it explores more; better in the end, because it stops."""
    optimistic = curves(BanditEpsilonGreedy(epsilon=0.0, initial_value=5.0, step_size=0.1), bandit(), lanes=400)
    realistic = curves(BanditEpsilonGreedy(epsilon=0.1, step_size=0.1), bandit(), lanes=400)
    assert_higher(optimistic["late"], realistic["late"])
    assert realistic["reward"][2:10].mean() > optimistic["reward"][2:10].mean() + 0.2


def test_figure_2_4_upper_confidence_bound():
    """Every arm once, a spike on step 11; then above epsilon-greedy."""
    ucb = curves(BanditUCB(c=2.0), bandit())
    assert ucb["reward"][-200:].mean() > plain()["reward"][-200:].mean() + 0.05
    assert ucb["optimal"][:10].sum() == pytest.approx(1.0)
    assert ucb["regret"][10] < ucb["regret"][11:15].min() - 0.05


def test_figure_2_5_gradient_bandit():
    """Means around +4: the baseline makes the difference."""
    env = bandit(mean=4.0)
    kinds = [(size, baseline) for size in (0.1, 0.4) for baseline in (True, False)]
    found = {(size, base): curves(BanditGradient(step_size=size, baseline=base), env) for size, base in kinds}
    assert_higher(found[0.1, True]["late"], found[0.4, True]["late"])
    assert_higher(found[0.4, True]["late"], found[0.1, False]["late"])
    assert_higher(found[0.1, False]["late"], found[0.4, False]["late"])


def test_exercise_2_5_drifting_arms():
    """Sample averages fall behind a constant step size where the arms drift."""
    env = bandit(mean_spread=0.0, drift=0.1)
    constant = curves(BanditEpsilonGreedy(step_size=0.1), env)
    averages = curves(BanditEpsilonGreedy(step_size=None), env)
    assert_higher(constant["late"], averages["late"])


@pytest.mark.parametrize("model", ["normal", "bernoulli"])
def test_thompson_sampling_regrets_least(model):
    """Less regret than epsilon-greedy and than UCB, and ever less of it."""
    env = bandit(reward=model)
    c = 2.0 if model == "normal" else 1.0
    agents = (BanditThompson(model=model), BanditUCB(c=c), BanditEpsilonGreedy())
    thompson, ucb, greedy = (curves(agent, env, steps=400, lanes=100) for agent in agents)
    totals = [found["regret"].sum() for found in (thompson, ucb, greedy)]
    assert totals[0] < 0.9 * min(totals[1:])
    assert thompson["regret"][-100:].mean() < 0.2 * thompson["regret"][:20].mean()
