"""Wrappers by name with their values: what text makes, what is refused, and that runs keep it."""

import json
import re

import equinox as eqx
import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.core.synonyms import WRAPPERS_ELSEWHERE
from kousoku.core.wrapper import kind_of
from kousoku.envs.wrappers.by_name import WRAPPERS
from kousoku.training.config import TrainConfig
from kousoku.training.io.env_config import env_json
from kousoku.training.point_envs import point_envs

ours = ks.wrappers


def cartpole() -> ks.Env:
    return ks.make("CartPole-v1")


MADE = {
    "frame_stack:4": lambda env: ours.FrameStackObservation(env, 4),
    "frame_stack:2:zero": lambda env: ours.FrameStackObservation(env, 2, "zero"),
    "frame_stack:2:axis=-1": lambda env: ours.FrameStackObservation(env, 2, axis=-1),
    "clip_reward:-1:0.5": lambda env: ours.ClipReward(env, -1, 0.5),
    "clip_reward:max_reward=1:min_reward=-1": lambda env: ours.ClipReward(env, -1, 1),
    "sticky_action:0.25": lambda env: ours.StickyAction(env, 0.25),
    "reshape:2x2": lambda env: ours.ReshapeObservation(env, (2, 2)),
    "flatten": ours.FlattenObservation,
    "time_limit:9, repeat_action:3": lambda env: ours.RepeatAction(ours.TimeLimit(env, 9), 3),
}


@pytest.mark.parametrize(("text", "make"), MADE.items())
def test_a_text_makes_what_python_makes(text, make):
    made = ks.make("CartPole-v1", wrap=text)
    assert kind_of(made) == kind_of(make(cartpole()))
    assert eqx.tree_equal(made, make(cartpole()))
    assert eqx.tree_equal(made, ks.make("CartPole-v1", wrap=text.split(",")))


def test_every_wrapper_has_a_name():
    named = set(WRAPPERS.values())
    assert {kind for kind in vars(ours).values() if isinstance(kind, type)} - named == {ours.ObservationWrapper}


REFUSED = {
    "fram_stack:4": "wrap: got 'fram_stack'; did you mean 'frame_stack'?",
    "frame_skip:4": "wrap: got 'frame_skip'; use 'repeat_action'",
    "FrameStackObservation:4": "use 'frame_stack'",
    "normalize_observation": "the option normalise_observations",
    "NormalizeReward": "the option normalise_rewards",
    "grayscale_observation": "use 'grayscale'",
    "record_episode_statistics": "it needs none: a run records",
    "frame_stack": "frame_stack needs stack_size, as in frame_stack:STACK_SIZE",
    "standardise:0": "standardise needs std, as in standardise:MEAN:STD",
    "reshape:²x2": "got '²x2'",
    "time_limit:5:6": "time_limit takes max_episode_steps",
    "flatten:1": "flatten takes no value",
    "frame_stack:4:axes=1": "did you mean 'axis'?",
    "frame_stack:4:stack_size=4": "stack_size is given twice",
    "frame_stack:0": "stack_size",
    "time_limit:many": "max_episode_steps",
    "grayscale": "GrayscaleObservation needs",
    "time_limit:9,,flatten": "wrap: got ''",
}


@pytest.mark.parametrize(("text", "line"), REFUSED.items())
def test_what_names_no_wrapper_is_refused_in_one_line(text, line):
    with pytest.raises(ks.ConfigError) as caught:
        ks.make("CartPole-v1", wrap=text)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NormalizeObservation", "the option normalise_observations; by known numbers, StandardiseObservation does"),
        ("FrameStack", "use FrameStackObservation"),
        ("FrameSkip", "use RepeatAction"),
        ("ClipActions", "did you mean 'ClipAction'?"),
    ],
)
def test_a_wrapper_elsewhere_is_answered_with_ours(name, meant):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; .*{re.escape(meant)}"):
        getattr(ks.wrappers, name)


def test_wrappers_that_are_answered_with_exist():
    named = {name for told in WRAPPERS_ELSEWHERE.values() for name in re.findall(r"'(\w+)'", told)}
    assert named <= set(WRAPPERS)


def test_what_is_no_text_and_what_runs_on_the_host_are_refused():
    for given in ([4], 4, ours.FlattenObservation):
        with pytest.raises(ks.ConfigError, match="give names such as"):
            ks.make("CartPole-v1", wrap=given)
    with pytest.raises(ks.ConfigError, match="it runs on the host"):
        ks.make("gymnasium:CartPole-v1", wrap="frame_stack:4")


@pytest.mark.slow_because("it trains, goes on and evaluates")
def test_a_run_from_the_shell_keeps_its_wrappers_and_goes_on_with_them(tmp_path, capsys):
    folder = str(tmp_path / "run")
    words = ["q_learning", "GridWorld-v0", "--steps", "200", "--eval-episodes", "2", "--out", folder, "--no-progress"]
    assert main(["train", *words, "--wrap", "clip_reward:-1:0.5,time_limit:7"]) == 0
    begun = json.loads((tmp_path / "run" / "config.json").read_text())["env"]
    assert begun == {
        "id": "GridWorld-v0",
        "options": {"wrap": ["clip_reward:-1:0.5", "time_limit:7"]},
        "registered": True,
    }
    assert main(["resume", folder, "--steps", "300", "--no-progress"]) == 0
    run = ks.load(folder)
    assert run.record.facts["steps"] == 300
    assert (run.record.evaluation["length"] <= 7).all()
    assert ks.evaluate(folder, episodes=2).lengths.max() <= 7
    assert "clip_reward:-1:0.5" in (tmp_path / "run" / "config.json").read_text()


def test_a_mistake_in_the_shell_is_one_line(capsys):
    assert main(["train", "q_learning", "GridWorld-v0", "--wrap", "time_limits:7"]) == 2
    assert "did you mean 'time_limit'?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["train", "q_learning", "GridWorld-v0", "--help"])
    assert "frame_stack:4" in " ".join(capsys.readouterr().out.split())


def test_numbers_of_the_environment_inside_are_swept():
    options = {"wrap": "time_limit:9"}
    config = TrainConfig(steps=50, sweep={"env.gravity": [5.0, 9.8]})
    made = point_envs(ks.make("CartPole-v1", **options), env_json("CartPole-v1", options), config)
    assert [float(env.env.gravity) for env in made.by_point] == pytest.approx([5.0, 9.8])
    assert [env.time_limit for env in made.by_point] == [9, 9]


def test_a_gymnasium_environment_of_ours_takes_them_too():
    assert ks.to_gymnasium("CartPole-v1", wrap="frame_stack:3").observation_space.shape == (3, 4)
    assert env_json("CartPole-v1", {"wrap": ("flatten",)})["options"] == {"wrap": ["flatten"]}
