"""The 10-armed testbed: what Sutton and Barto's chapter 2 finds, on the same bandits for each curve."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loops import run

from kousoku.agents.bandit.epsilon_greedy import BanditEpsilonGreedy
from kousoku.agents.bandit.gradient import BanditGradient
from kousoku.agents.bandit.thompson import BanditThompson
from kousoku.agents.bandit.ucb import BanditUCB
from kousoku.collectors.streams import member_key
from kousoku.envs.bandits.bandit import bandit

pytestmark = pytest.mark.learning


@partial(jax.jit, static_argnames=("members", "steps"))
def traces(agent, env, members: int, steps: int):
    """Rewards, optimal actions and regrets, [N, T]; one program for all agents and bandits of one structure."""

    def member(seed):
        _, transitions, _ = run(agent, env, member_key(seed), steps)
        return transitions.reward, transitions.info.optimal, transitions.info.regret

    return jax.vmap(member)(jnp.arange(members, dtype=jnp.int32))


def curves(agent, env, members: int = 400, steps: int = 1000) -> dict[str, np.ndarray]:
    """Reward, share of optimal actions and regret, [T], means over the members; "late" is the share of optimal actions
    among the last fifth, of each member.
    """
    reward, optimal, regret = (np.asarray(x) for x in traces(agent, env, members, steps))
    late = optimal[:, -steps // 5 :].mean(axis=1)
    return {"reward": reward.mean(axis=0), "optimal": optimal.mean(axis=0), "regret": regret.mean(axis=0), "late": late}


def assert_higher(a: np.ndarray, b: np.ndarray) -> None:
    """The mean of `a` is above that of `b` by three standard errors; the same member has the same bandit in both."""
    more = a - b
    assert more.mean() > 3 * more.std() / np.sqrt(len(more)), (a.mean(), b.mean())


@cache
def plain() -> dict[str, np.ndarray]:
    """Epsilon-greedy with epsilon 0.1 and sample averages: what the others are compared with."""
    return curves(BanditEpsilonGreedy(epsilon=0.1), bandit())


@pytest.mark.full("learning")
def test_figure_2_2_epsilon_greedy():
    """The greedy one gets stuck at about a third; epsilon 0.1 finds the best arm sooner than 0.01, at about 80 %."""
    greedy, careful = (curves(BanditEpsilonGreedy(epsilon=epsilon), bandit()) for epsilon in (0.0, 0.01))
    assert_higher(plain()["late"], careful["late"])
    assert_higher(careful["late"], greedy["late"])
    assert plain()["late"].mean() == pytest.approx(0.78, abs=0.05)
    assert greedy["late"].mean() == pytest.approx(0.36, abs=0.05)


@pytest.mark.full("learning")
def test_figure_2_3_optimistic_initial_values():
    """Worse at first, because it explores more; better in the end, because it stops."""
    optimistic = curves(BanditEpsilonGreedy(epsilon=0.0, initial_value=5.0, step_size=0.1), bandit())
    realistic = curves(BanditEpsilonGreedy(epsilon=0.1, step_size=0.1), bandit())
    assert_higher(optimistic["late"], realistic["late"])
    assert realistic["reward"][2:10].mean() > optimistic["reward"][2:10].mean() + 0.2


@pytest.mark.full("covered")
def test_figure_2_4_upper_confidence_bound():
    """Every arm once, a spike on step 11; then above epsilon-greedy."""
    ucb = curves(BanditUCB(c=2.0), bandit())
    assert ucb["reward"][-200:].mean() > plain()["reward"][-200:].mean() + 0.05
    assert ucb["optimal"][:10].sum() == pytest.approx(1.0)
    assert ucb["regret"][10] < ucb["regret"][11:15].min() - 0.05


@pytest.mark.full("learning")
def test_figure_2_5_gradient_bandit():
    """Means around +4: the baseline makes the difference."""
    env = bandit(mean=4.0)
    kinds = [(size, baseline) for size in (0.1, 0.4) for baseline in (True, False)]
    found = {(size, base): curves(BanditGradient(step_size=size, baseline=base), env) for size, base in kinds}
    assert_higher(found[0.1, True]["late"], found[0.4, True]["late"])
    assert_higher(found[0.4, True]["late"], found[0.1, False]["late"])
    assert_higher(found[0.1, False]["late"], found[0.4, False]["late"])


@pytest.mark.full("learning")
def test_exercise_2_5_drifting_arms():
    """Sample averages fall behind a constant step size where the arms drift."""
    env = bandit(mean_spread=0.0, drift=0.1)
    constant = curves(BanditEpsilonGreedy(step_size=0.1), env)
    averages = curves(BanditEpsilonGreedy(step_size=None), env)
    assert_higher(constant["late"], averages["late"])


@pytest.mark.full("learning")
def test_thompson_sampling_regrets_less_than_epsilon_greedy_and_ucb():
    thompson, ucb = curves(BanditThompson(), bandit()), curves(BanditUCB(c=2.0), bandit())
    assert thompson["regret"].sum() < 0.7 * min(ucb["regret"].sum(), plain()["regret"].sum())
    assert thompson["regret"][-100:].mean() < 0.1 * thompson["regret"][:20].mean()


@pytest.mark.full("learning")
def test_thompson_sampling_of_bernoulli_arms():
    env = bandit(reward="bernoulli")
    thompson = curves(BanditThompson(model="bernoulli"), env, members=100, steps=500)
    greedy = curves(BanditEpsilonGreedy(), env, members=100, steps=500)
    assert thompson["regret"].sum() < 0.7 * greedy["regret"].sum()
    assert thompson["regret"][-100:].mean() < 0.2 * thompson["regret"][:20].mean()
