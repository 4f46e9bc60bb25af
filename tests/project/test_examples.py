"""The examples run, and find what they say they find."""

import importlib.util
import pathlib
import sys

import jax
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.envs import ENVS
from kousoku_bench import balls

pytestmark = pytest.mark.learning

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.full("learning")
def test_article():
    module = load("article")
    assert module.look_at_the_environment() == 94
    assert np.abs(module.look_at_the_policy() - 0.25).max() < 0.02
    found = module.main(steps=30_000, python_steps=50, out="article")
    assert found["length"] < 20
    assert 0.99 < found["largest value"] <= 1.0, "the article's own code reaches 1.756: it bootstraps from the reset"
    assert pathlib.Path("article-thirty/report.html").is_file()


@pytest.mark.full("learning")
def test_dyna_q_plus_finds_the_shortcut_and_dyna_q_does_not():
    module = load("dyna_shortcut")
    rewards = module.main(steps=6000, seeds=20, out=".")
    assert module.late_rate(rewards["Dyna-Q+"]) > module.late_rate(rewards["Dyna-Q"]) + 0.01
    assert rewards["Dyna-Q+"][-1] > rewards["Dyna-Q"][-1]
    assert pathlib.Path("dyna_shortcut.png").is_file()


@pytest.mark.full("learning")
def test_testbed_orders_as_figure_2_2():
    results = load("testbed").main(steps=500, bandits=300, out=".")
    optimal = {name: share[-100:].mean() for name, (_, share) in results.items()}
    assert optimal["greedy"] < 0.5 < optimal["epsilon = 0.1"]
    assert optimal["epsilon = 0.01"] < optimal["epsilon = 0.1"]
    assert optimal["UCB, c = 2"] > optimal["greedy"] + 0.2


@pytest.mark.full("learning")
def test_sarsa_is_safe_and_q_learning_optimal():
    found = load("cliff_walking").main(steps=20_000, seeds=30, out=".")
    assert found["Q-learning"]["greedy"] == -13
    assert -20 <= found["SARSA"]["greedy"] <= -15
    assert found["SARSA"]["online"] > found["Q-learning"]["online"] + 5


def test_steepest_descent_follows_its_closed_form():
    path = load("steepest_descent").main(out=".", steps=30, rate=0.1)
    start, lowest = np.array([-1.75, 0.35]), np.array([0.0, -0.5])
    exact = lowest + 0.8 ** np.arange(31)[:, None] * (start - lowest)
    np.testing.assert_allclose(path[:, :2], exact, atol=1e-5)
    np.testing.assert_allclose(path[:, 2], ((exact - lowest) ** 2).sum(1) - 0.25, atol=1e-5)
    assert pathlib.Path("steepest_descent.png").stat().st_size > 50_000


@pytest.mark.full("covered")
def test_gradients_through_a_simulator_grow_and_miss_what_jumps():
    norms, throw = load("differentiable_simulation").main(out=".", envs=("Pendulum-v1",), horizons=(1, 8), starts=32)
    first, later = norms["Pendulum-v1"]
    np.testing.assert_array_less(first, 0.004 + 1e-6)  # of a cost of 0.001 u^2, |u| <= 2
    assert np.median(later) > 0.5
    slope = np.gradient(throw["mean"], np.deg2rad(np.linspace(15.0, 60.0, 181)))
    assert slope.max() > 10
    np.testing.assert_allclose(throw["zeroth order"], slope, atol=1.0)
    assert throw["first order"].max() < 0.5
    assert all(pathlib.Path(f"{name}.png").stat().st_size > 20_000 for name in ("gradient_norms", "smoothed_throw"))


@pytest.mark.full("whole way")
def test_falling_balls_fall_alike_in_every_way(capsys):
    """And as in the benchmark. XLA and the kernel may round in another place than NumPy does."""
    ends = load("falling_balls").main(out=".", balls=256, steps=300)
    assert list(ends) == ["NumPy", "JAX without jit", "JAX with jit", "kernel", "kernel, 8 in a lane"]
    height = np.linspace(1.0, 3.0, 256)
    falls = height > 9.81 * 0.6 * 0.602 / 2  # those do not reach the ground
    for found in ends.values():
        np.testing.assert_allclose(found, ends["NumPy"], atol=1e-4)
        np.testing.assert_allclose(found[falls], height[falls] - 9.81 * 0.6 * 0.602 / 2, atol=1e-4)
    assert 0 < falls.sum() < 256
    np.testing.assert_array_equal(ends["NumPy"], balls.fall_in_turn(np, 300, *balls.start(256))[0])
    assert pathlib.Path("falling_balls.html").is_file()
    assert capsys.readouterr().out.startswith("256 balls, 300 steps on cpu")


@pytest.mark.slow_because("it trains an own agent in an own environment, from its compilation to its evaluation")
def test_the_ferry_lands_at_the_pier(monkeypatch):
    for registry in (ENVS, AGENTS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "ferry", raising=False)
    module = importlib.import_module("ferry")
    env = ks.make("Ferry-v0")
    ks.check_env(env)
    assert len(env.scene(env.reset(jax.random.key(0))[0]).foreground) == 1
    run = ks.train("climb", env, steps=200_000, seeds=4, out="", progress=False)
    assert isinstance(run.evaluate(1), ks.Evaluation)
    assert np.median(run.record.evaluation["return"]) > -2.8, "20 steps to cross cost 2, and never to land 6"
    assert module.WIDTH == 10.0
