"""Runs on wrapped environments: what their folders tell, how they go on, and what of them is swept."""

import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.training.config import TrainConfig
from kousoku.training.env_numbers import env_maker
from kousoku.training.io.env_config import check_same, env_json
from kousoku.training.point_envs import point_envs

ours = ks.wrappers


def short_grid(limit: int = 5, low: float = -1.0) -> ks.Env:
    return ours.TimeLimit(ours.ClipReward(ks.gridworld("S..G"), low, 0.5), limit)


def test_a_run_folder_tells_of_each_wrapper_and_of_what_is_inside():
    told = env_json(ours.TimeLimit(ours.StickyAction(ks.make("CartPole-v1", gravity=1.6), 0.25), 9), {})
    assert told["id"] == "TimeLimit(StickyAction(CartPole))"
    fields = told["fields"]
    assert fields["max_episode_steps"] == 9
    assert (fields["env.repeat_action_probability"], fields["env.repeat_action_duration"]) == (0.25, [1, 1])
    assert fields["env.env.gravity"] == 1.6
    assert told["code"] != env_json(ours.TimeLimit(ks.make("CartPole-v1"), 9), {})["code"]


OTHERS = {
    r"env's max_episode_steps: got 6; the run was started with 5": lambda: short_grid(limit=6),
    r"env's env.min_reward: got -2\.0; the run was started with -1\.0": lambda: short_grid(low=-2.0),
    r"started with TimeLimit\(ClipReward\(GridWorld\)\)": lambda: ours.TimeLimit(ks.gridworld("S..G"), 5),
    r"env: got 'GridWorld'": lambda: ks.gridworld("S..G"),
}


@pytest.mark.parametrize(("line", "make"), OTHERS.items(), ids=range(len(OTHERS)))
def test_another_environment_than_that_of_a_run_is_refused(line, make):
    check_same(short_grid(), env_json(short_grid(), {}))
    with pytest.raises(ConfigError, match=line):
        check_same(make(), env_json(short_grid(), {}))


@pytest.mark.full("whole way")
def test_a_wrapped_run_goes_on():
    run = ks.train("q_learning", short_grid(), steps=200, out="wrapped", eval_episodes=0)
    assert run.record.tables["optimal_return"] == 0.5  # of the clipped rewards
    with pytest.raises(ConfigError, match=r"env: got 'TimeLimit\(ClipReward\(GridWorld\)\)'; it was made in Python"):
        ks.resume("wrapped", steps=300)
    with pytest.raises(ConfigError, match=r"env's max_episode_steps: got 6"):
        ks.resume("wrapped", steps=300, env=short_grid(limit=6))
    assert ks.resume("wrapped", steps=300, env=short_grid()).record.facts["steps"] == 300


def test_numbers_of_a_wrapper_and_of_what_is_inside_are_swept():
    env = ours.ClipReward(ks.make("Bandit-v0", reward_std=0.0, mean=5.0), -1.0, 1.0)
    config = TrainConfig(steps=50, sweep={"env.max_reward": [1.0, 2.0], "env.mean": [0.5, 9.0]})
    made = point_envs(env, env_json(env, {}), config)
    assert [(float(each.max_reward), float(each.env.mean)) for each in made.by_point] == [
        (1.0, 0.5),
        (1.0, 9.0),
        (2.0, 0.5),
        (2.0, 9.0),
    ]


def test_a_wrong_name_is_answered_with_the_numbers_of_all():
    env = ours.StickyAction(ks.make("CartPole-v1"), 0.25)
    maker = env_maker(env, env_json(env, {}), "env.x")
    assert {"env.repeat_action_probability", "env.gravity"} <= set(maker.numbers)
    assert maker.kind == "StickyAction(CartPole)"
    assert maker.make(gravity=1.6).env.gravity == 1.6
    assert maker.make(repeat_action_probability=0.5).env is env.env
    with pytest.raises(ConfigError, match=r"did you mean 'env\.gravity'"):
        ks.train("ppo", env, steps=10_000, sweep={"env.gravitty": [1.0]}, out="")
