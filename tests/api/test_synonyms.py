"""Words of other libraries: taken for ours where they mean exactly the same, else answered in one line with ours."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import records

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.options import in_our_names, option_names
from kousoku.cli import COMMANDS, main
from kousoku.cli.options import Option, parse
from kousoku.cli.values import number, numbers
from kousoku.core import synonyms
from kousoku.core.errors import ConfigError, check_keys
from kousoku.envs import ENVS
from kousoku.ops.schedules import parse_schedule
from kousoku.training.config import TrainConfig, settings

ENV_WORDS = {"time_limit": "GridWorld-v0", "map": "GridWorld-v0", "custom_map": "FrozenLake-v1"}
"""Options of environments that others' words are answered with, and one that has each."""
OURS = {*settings(), "agent_options", *(name for id in AGENTS.ids() for name in option_names(id))}
SHORT = ["GridWorld-v0", "--eval-episodes", "0", "--no-progress", "--out", "run"]


@pytest.fixture
def _trained():
    ks.train("q_learning", "GridWorld-v0", steps=200, eval_episodes=0, out="run")


def config():
    return json.loads(Path("run/config.json").read_text())


@pytest.mark.parametrize(
    ("kind", "name", "now"),
    [
        ("evaluation", "best_lane", "best_member"),
        ("evaluation", "lanes", "population"),
        ("record", "best_lane", "best_member"),
        ("record", "num_lanes", "num_members"),
        ("record", "lane_seed", "member_seed"),
        ("record", "lane_point", "member_point"),
    ],
)
def test_a_former_name_of_an_attribute_is_answered_with_todays(kind, name, now):
    ones = np.ones((2, 3))
    things = {"evaluation": ks.Evaluation(ones, ones, ones > 2), "record": records.grid()}
    assert hasattr(things[kind], now)
    with pytest.raises(AttributeError, match=rf"object has no attribute '{name}': it is '{now}' now$"):
        getattr(things[kind], name)


def test_any_other_attribute_is_missed_as_always():
    evaluation = ks.Evaluation(*[np.ones((2, 3))] * 3)
    for thing, name in ((evaluation, "lane_seed"), (evaluation, "nothing"), (records.grid(), "lanes")):
        with pytest.raises(AttributeError, match=rf"object has no attribute '{name}'$"):
            getattr(thing, name)
    again = pickle.loads(pickle.dumps(evaluation))
    assert again.best_member == evaluation.best_member


def test_every_word_leads_to_one_that_exists():
    assert {name for names in synonyms.SAME.values() for name in names} <= OURS
    assert {name for name, _ in synonyms.NEAR.values()} <= OURS | set(ENV_WORDS)
    assert all(name in ENVS.options(id) for name, id in ENV_WORDS.items())
    assert not set(synonyms.SAME) & set(settings()), "a setting of ours needs no translation"


@pytest.mark.parametrize("table", [synonyms.AGENTS_ELSEWHERE, synonyms.ENVS_ELSEWHERE])
def test_what_is_near_exists(table):
    named = {name for text in table.values() for name in re.findall(r"(?<!\w)'([\w-]+)'(?!\w)", text)}
    assert named
    assert named <= {*AGENTS.ids(), *ENVS.ids()}


def test_no_id_of_ours_is_said_to_be_missing():
    for registry in (AGENTS, ENVS):
        for id in registry.ids():
            assert synonyms.elsewhere(registry.kind, id) is None, id


def test_commands_of_others_are_answered_with_ours():
    for word, text in synonyms.COMMANDS_ELSEWHERE.items():
        assert word not in COMMANDS
        assert set(re.findall(r"`kousoku (\w+)", text)) <= set(COMMANDS)
    assert {"play", "plot", "learn", "fit", "agents", "envs", "show", "delete", "clean", "stop"} <= set(
        synonyms.COMMANDS_ELSEWHERE
    )


@pytest.mark.full("covered")
def test_python_and_the_shell_take_the_same_words_for_the_same():
    words = ["--total-timesteps", "2k", "--seed", "3", "--gamma", "0.8", "--lr=0.25"]
    assert main(["train", "q_learning", *SHORT, *words]) == 0
    shell = config()
    run = ks.train(
        "q_learning", "GridWorld-v0", total_timesteps=2000, seed=3, gamma=0.8, lr=0.25, eval_episodes=0, out=""
    )
    python = run.record.config
    for name in ("agent", "steps", "seeds"):
        assert shell[name] == python[name]
    assert (shell["steps"], shell["seeds"]) == (2000, [3])
    assert (shell["agent"]["discount"], shell["agent"]["learning_rate"]) == (0.8, 0.25)
    assert run.record.member_seed.tolist() == [3]


@pytest.mark.usefixtures("_trained")
def test_functions_of_runs_take_the_words_of_training(capsys):
    run = ks.resume(ks.load("run"), total_timesteps=300)
    assert run.record.facts["steps"] == 300
    assert (
        run.evaluate(n_eval_episodes=2).returns.shape == ks.evaluate("run", n_eval_episodes=2).returns.shape == (1, 2)
    )
    assert ks.load(run).path == run.path
    assert main(["evaluate", "run", "--n-eval-episodes", "2"]) == 0
    assert "1 agent x 2 greedy episodes" in capsys.readouterr().out


def test_a_sweep_of_arrays():
    sweep = {"learning_rate": np.array([0.25, 0.5]), "env.slip": np.array([0.25, 0.5], np.float32)}
    settings = TrainConfig(sweep=sweep, seeds=np.arange(2))
    assert settings.sweep == {"learning_rate": [0.25, 0.5], "env.slip": [0.25, 0.5]}
    assert (settings.seeds, len(settings.points)) == ((0, 1), 4)
    for values in (np.ones((2, 2)), np.array([]), []):
        with pytest.raises(ConfigError, match=r"sweep\['discount'\]: got .*; give a list of numbers"):
            TrainConfig(sweep={"discount": values})


@pytest.mark.full("covered")
def test_a_sweep_of_a_word_of_others_is_one_of_ours():
    run = ks.train("q_learning", "GridWorld-v0", steps=200, sweep={"lr": [0.1, 0.5]}, eval_episodes=0, out="")
    assert [list(point) for point in run.record.points] == [["learning_rate"], ["learning_rate"]]
    made = ks.make_agent("q_learning", alpha=0.3)
    swept = ks.train(made, "GridWorld-v0", steps=200, sweep={"gamma": [0.1]}, eval_episodes=0, out="")
    assert swept.record.config["sweep"] == {"discount": [0.1]}
    assert swept.record.config["agent"]["learning_rate"] == 0.3


def test_a_name_of_ones_own_is_ones_own():
    assert in_our_names({"gamma": 1}, ["gamma", "discount"]) == {"gamma": 1}
    assert in_our_names({"seed": 1}, ["seed", "seeds"]) == {"seed": 1}
    assert in_our_names({"lr": 1}, ["step_size"]) == {"step_size": 1}
    assert in_our_names({"lr": 1}, ["steps"]) == {"lr": 1}
    assert in_our_names({"lr": 1}, ["learning_rate", "step_size"]) == {"learning_rate": 1}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            {"steps": 5, "total_timesteps": 9},
            "total_timesteps: got 9; it means the same as 'steps', which is given",
        ),
        (
            {"total_timesteps": 5, "steps": 9},
            "steps: got 9; it means the same as 'total_timesteps', which is given",
        ),
        ({"seed": 5, "seeds": 9}, "seeds: got 9; it means the same as 'seed', which is given too"),
        ({"lr": 0.1, "alpha": 0.1}, "alpha: got 0.1; it means the same as 'lr', which is given too"),
        ({"seed": -1}, "seed: got -1; use a whole number of at least 0"),
        ({"seed": [3]}, "seed: got [3]; use a whole number of at least 0"),
        ({"seed": 2**32}, "seeds[0]: got 4294967296"),
        ({"n_envs": 4}, "got 'n_envs'; it means 'num_envs', which does not exist here"),
        ({"n_episodes": 4}, "got 'n_episodes'; use 'steps', as training is counted in environment steps"),
        ({"verbose": 1}, "got 'verbose'; use 'progress', which shows a progress bar"),
    ],
)
def test_words_that_do_not_do(named, message):
    with pytest.raises(ConfigError) as caught:
        ks.train("q_learning", "GridWorld-v0", **named)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "known", "message"),
    [
        ("vf_coef", ["value_coefficient"], "use 'value_coefficient', which weighs half the squared error"),
        ("--vf-coef", ["--value-coefficient"], "use '--value-coefficient', which weighs half"),
        ("--lambda", ["--lambda"], None),
        ("--gamma", ["--discount"], "use '--discount'"),
        ("GAMMA", ["discount"], "use 'discount'"),
        ("n_steps", ["num_steps"], "use 'num_steps', the steps of each environment"),
        ("vf_coef", ["steps"], "known: steps"),
        ("stepps", ["steps"], "did you mean 'steps'?"),
        ("Learning_Rate", ["learning_rate", "steps"], "did you mean 'learning_rate'?"),
        ("--Learning-Rate", ["--learning-rate", "--steps"], "did you mean '--learning-rate'?"),
        ("LEARNING_RATE", ["step_size"], "use 'step_size'"),
        ("learning_rate", ["steps"], "other agents or commands have it"),
        ("num_envs", ["env.stay"], "other agents or commands have it"),
        ("eval_episode", ["eval_episodes"], "did you mean 'eval_episodes'?"),
        ("gama", ["discount", "gae_lambda"], "use 'discount'"),
        ("--gama", ["--gae-lambda", "--discount"], "use '--discount'"),
        ("--log-dir", ["--log", "--out"], "use '--out', the run folder"),
        ("--wandb", ["--log"], "use '--log', with the value wandb"),
        ("tensorboard", ["log"], "use 'log', with the value tensorboard"),
        ("--eps", ["--steps", "--epsilon"], "use '--epsilon', the probability"),
        ("--max-steps", ["--steps"], "use '--steps', environment steps of each agent in all"),
        ("--max-timesteps", ["--steps"], "use '--steps'"),
        ("frames", ["steps"], "use 'steps'"),
        ("--algo", ["--log"], "the agent first: kousoku train AGENT ENV"),
        ("--cuda", ["--capacity", "--devices"], "use '--devices', their number"),
        ("callback", ["capacity", "on_report"], "use 'on_report', a function"),
        ("max_episode_steps", ["time_limit"], "use 'time_limit'"),
        ("--max-episode-steps", ["--eval-max-steps", "--env.time-limit"], "use '--env.time-limit'"),
        ("n_eval_episodes", ["episodes"], "use 'episodes'"),
        ("--map", ["--wrap", "--env.map"], "did you mean '--env.map'?"),
        ("slip", ["step_size", "env.slip"], "did you mean 'env.slip'?"),
        ("ent_coef", ["temperature", "entropy_bonus"], "use 'temperature', the weight of the entropy"),
        ("init_alpha", ["temperature", "priority_alpha"], "use 'temperature', its value at first"),
        ("grid", ["map", "slip"], "use 'map'"),
        ("grid", ["steps"], "`kousoku sweep AGENT ENV"),
        ("desc", ["map_name", "custom_map"], "use 'custom_map'"),
        ("--env.desc", ["--env.map-name", "--env.custom-map"], "use '--env.custom-map'"),
        ("--env.steps", ["--steps"], "did you mean '--steps'?"),
    ],
)
def test_unknown_names_are_answered_with_what_is_meant(name, known, message):
    if message is None:
        check_keys("field", [name], known)
        return
    with pytest.raises(ConfigError, match=re.escape(message)):
        check_keys("field", [name], known)


@pytest.mark.parametrize(
    ("agent", "meant"),
    [
        ("sac", "'priority_alpha', 'temperature' or 'learning_rate'"),
        ("td3", "'priority_alpha' or 'learning_rate'"),
        ("dqn", "'priority_alpha', 'munchausen_alpha' or 'learning_rate'"),
    ],
)
def test_alpha_is_the_learning_rate_of_nobody_who_calls_something_else_so(agent, meant):
    with pytest.raises(ConfigError, match=f"option of {agent}: got 'alpha'; use {meant}, whichever is meant"):
        ks.make_agent(agent, alpha=0.2)
    assert ks.make_agent("q_learning", alpha=0.2).learning_rate == 0.2
    assert ks.make_agent("td3_bc", alpha=0.2).learning_rate != 0.2, "it has an alpha of its own"


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("tqc", "agent id: got 'tqc'; it is not here; 'sac' and 'td3' are near"),
        ("DroQ", "it is not here; 'sac' and 'td3' have it, with the option critic_body"),
        ("TD3", "did you mean td3?"),
        ("sac_discrete", "it is not here; 'sac' learns Discrete actions, too"),
        ("NoisyNet", "it is not here; 'dqn' has it, with the option noisy"),
        ("rainbow", "it is not here; 'dqn' is near"),
        ("double-DQN", "it is not here; 'dqn' is near"),
        ("value_iteration", "kousoku.agents.planning"),
        ("PPO", "did you mean ppo?"),
        ("Q-Learning", "did you mean q_learning"),
    ],
)
def test_agents_of_others(agent, message):
    for make in (lambda: ks.make_agent(agent), lambda: ks.train(agent, "CartPole-v1")):
        with pytest.raises(ConfigError) as caught:
            make()
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            "LunarLander-v3",
            "environment id: got 'LunarLander-v3'; Box2D's are not here, but run on the host: 'gymnasium:Lunar",
        ),
        ("BipedalWalkerHardcore-v3", "host: 'gymnasium:BipedalWalker-v3'; 'Walker2d-v5'"),
        ("ALE/Pong-v5", "Atari's are not here, but run on the host: 'gymnasium:ALE/Pong-v5'"),
        ("PongNoFrameskip-v4", "Atari's are not here"),
        ("Breakout-v5", "run on the host: 'gymnasium:ALE/Pong-v5' with ale-py installed"),
        ("Pong-v5", "'envpool:Pong-v5' with envpool"),
        ("Breakout-MinAtar", "MinAtar's are 'MinAtar/Asterix-v1', '.../Breakout-v1'"),
        ("MinAtar/Pong-v1", "MinAtar's are 'MinAtar/Asterix-v1', '.../Breakout-v1'"),
        ("MinAtar/Breakout-v2", "the versions that exist are MinAtar/Breakout-v0, MinAtar/Breakout-v1"),
        ("minatar/breakout-v1", "did you mean MinAtar/Breakout-v1?"),
        ("MiniGrid-Fetch-5x5-N2-v0", "of MiniGrid's there are Empty, FourRooms, DoorKey, "),
        ("MiniGrid-Empty-5x5", "the versions that exist are MiniGrid-Empty-5x5-v0"),
        ("Navix-Empty-5x5-v0", "Navix has it, by an id such as 'navix:Navix-Empty-8x8-v0'"),
        ("BabyAI-GoToRedBall-v0", "of MiniGrid's there are"),
        ("MiniGrid-Empty-5x5-v1", "the versions that exist are MiniGrid-Empty-5x5-v0"),
        ("minigrid-empty-5x5-v0", "did you mean MiniGrid-Empty-5x5-v0?"),
        ("FetchReach-v3", "arms are 'Reacher-v5' and 'Pusher-v5'"),
        ("cheetah-run", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("manipulator-bring_ball", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("humanoid_CMU-run", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("lqr-lqr_2_1", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("finger_turn_easy-v0", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("walker_walk", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("dm_control/dog-run-v0", "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'"),
        ("dm_control/cheetah-rum-v0", "did you mean dm_control/cheetah-run-v0"),
        ("Humanoid-standup", "did you mean HumanoidStandup-v5"),
        ("CartPole-v2", "the versions that exist are CartPole-v0, CartPole-v1"),
        ("cartpole-v2", "the versions that exist are CartPole-v0, CartPole-v1"),
        ("HalfCheetah-v4", "the versions that exist are HalfCheetah-v5"),
        ("halfcheetah", "the versions that exist are HalfCheetah-v5"),
        ("Taxi-v3", "the versions that exist are Taxi-v4"),
        ("halfcheetah-v5", "did you mean HalfCheetah-v5?"),
    ],
)
def test_environments_of_others(env, message):
    with pytest.raises(ConfigError) as caught:
        ks.make(env)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("agent", "env", "message"),
    [
        (
            "CartPole-v1",
            "ppo",
            "agent: got 'CartPole-v1'; that is an environment, and the agent comes first: ppo ",
        ),
        ("CartPole-v1", "nix", "that is an environment, and the agent comes first: AGENT CartPole-v1"),
        ("CartPole-v9", "ppo", "environment: got 'ppo'; that is an agent, which comes first: ppo ENV"),
        ("ppo", "a2c", "environment: got 'a2c'; that is an agent, which comes first"),
    ],
)
def test_an_agent_and_an_environment_that_have_changed_places(agent, env, message, capsys):
    with pytest.raises(ConfigError, match=re.escape(message)):
        ks.train(agent, env)
    assert main(["train", agent, env]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["play", "run"],
            "command: got 'play'; `kousoku view RUN --film` shows what was learned, `kousoku evalua",
        ),
        (["plot", "run"], "command: got 'plot'; `kousoku view RUN` opens its report"),
        (["CartPole-v1"], "command: got 'CartPole-v1'; see kousoku --help"),
        (["train", "CartPole-v1", "--help"], "the agent comes first: AGENT CartPole-v1"),
        (["train", "ppo", "CartPole-v1", "--vf-coef", "1"], "use '--value-coefficient', which weighs half"),
        (["train", "q_learning", "GridWorld-v0", "--n-envs", "3"], "it means 'num_envs', which does not exist here"),
        (["train", "q_learning", "GridWorld-v0", "--seed", "3,4"], "--seed: got '3,4'; use a number"),
        (["train", "q_learning", "GridWorld-v0", "--seed", "3", "--seeds", "4"], "it means the same as 'seeds'"),
        (["train", "q_learning", "GridWorld-v0", "--steps", "2kk"], "--steps: got '2kk'; use a number"),
        (["sweep", "dqn", "CartPole-v1", "--capacity", "10,000"], "a comma stands between two numbers; write 10_000"),
        (["evaluate", "run", "--n-episodes", "3"], "did you mean '--episodes'?"),
        (["resume"], "run: got nothing; name the run folder: kousoku resume RUN"),
        (["resume", "nowhere"], "run: got 'nowhere'; name a folder that `kousoku train` has made"),
        (["resume", "nowhere", "--seed", "3"], "option: got '--seed'"),
    ],
)
def test_mistakes_in_the_shell(words, message, capsys):
    assert main(words) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert len(printed.strip().splitlines()) == 1


def test_numbers_as_people_write_them():
    for text in ("1M", "1m", "1000k", "1e6", "1_000_000", "1,000,000", "1000000", "0.001B"):
        assert number("steps", text) == 1_000_000, text
        assert isinstance(number("steps", text), int), text
    assert number("steps", "1.1M") == 1_100_000
    assert number("x", "-2k") == -2000
    assert number("x", "1,234.5") == 1234.5
    for text in ("1,00", ",100", "1,0000", "k", "1kk", "1e3k", "nan", "1 M", "", "M1", "1__0"):
        with pytest.raises(ConfigError, match=r"use a number, such as 1_000_000, 1M, 1e6 or 0\.5"):
            number("steps", text)


def test_lists_of_numbers_are_no_thousands():
    assert numbers("seeds", "128,256") == [128, 256]
    assert numbers("seeds", "1,0,5") == [1, 0, 5]
    assert numbers("steps", "1k,2k") == [1000, 2000]
    for text in ("1,000", "10,050", "1,000,000"):
        with pytest.raises(ConfigError, match="a comma stands between two numbers; write 1"):
            numbers("seeds", text)


def test_numbers_in_schedules_are_written_as_all_others():
    for text in ("1k", "1e3", "1_000", "1,000", "0.001M"):
        schedule = parse_schedule("epsilon", f"linear:1:0.1:{text}")
        assert (schedule.start, schedule.end, schedule.steps) == (1.0, 0.1, 1000), text
    assert parse_schedule("capacity", "2k") == 2000
    with pytest.raises(ConfigError, match="use a number or one of linear:START:END:STEPS"):
        parse_schedule("epsilon", "linear:1:0.1:1kk")


def test_flags_are_translated_and_values_are_not():
    options = [Option("discount", 0.9, "X", "."), Option("lambda_", 0.9, "X", "."), Option("seeds", 1, "X", ".")]
    assert parse("x", "y", options, ["--gamma", "gamma"]) == {"discount": "gamma"}
    assert parse("x", "y", options, ["--discount_factor=3", "--lam", "1"]) == {"discount": "3", "lambda_": "1"}
    assert parse("x", "y", options, ["--gamma=--a=b"]) == {"discount": "--a=b"}


@pytest.mark.full("covered")
@pytest.mark.usefixtures("_trained")
def test_resume_is_a_command():
    assert main(["resume", "run", "--steps", "300"]) == 0
    assert config()["steps"] == 300
    assert main(["train", "--resume", "run", "--total-timesteps", "400"]) == 0
    assert ks.load("run").record.facts["steps"] == 400


def test_resume_is_no_option_of_a_new_run(capsys):
    assert main(["train", "q_learning", *SHORT, "--resume"]) == 2
    assert "got '--resume'; `kousoku resume RUN`" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=re.escape("got 'resume'; `kousoku resume RUN` and ks.resume(RUN)")):
        ks.train("ppo", "CartPole-v1", resume=True, out="")


def test_a_sweep_is_a_command_and_a_file_of_settings_no_option(capsys):
    for command in ("train", "sweep"):
        assert main([command, "q_learning", *SHORT, "--sweep", "discount=0.9,0.99"]) == 2
        assert "got '--sweep'; `kousoku sweep AGENT ENV --learning-rate 0.1,0.5` trains" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="got 'config'; each setting and each of an agent's options has a name of"):
        ks.train("ppo", "CartPole-v1", config={"gamma": 0.9}, out="")


def test_version_and_help_are_commands(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"kousoku {ks.__version__}\n"
    assert main(["help"]) == 0
    assert "usage: kousoku COMMAND" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["help", "resume"])
    assert "usage: kousoku resume" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("agent", "word", "told"),
    [
        ("sac", "--train-freq", "agents with a replay buffer have `update_ratio` for it"),
        ("sac", "--gradient-steps", "use '--update-ratio', gradient steps for each environment step"),
        ("sac", "--target-update-interval", "the target follows by `tau` at each update"),
        ("ppo", "--capture-video", "the report of a run has a film"),
        ("ppo", "--save-model", "every run saves what it learned"),
        ("ppo", "--wandb-project-name", "use '--log', with the value wandb"),
        ("ppo", "--exp-name", "use '--out', the run folder"),
        ("ppo", "--reset-num-timesteps", "use '--init-from'"),
        ("ppo", "--clip-vloss", "use '--value-clip', how far a value may move"),
        ("ppo", "--policy-kwargs", "use '--hidden'"),
        ("ppo", "--env", "agent and environment are told by their places"),
        ("sac", "--policy-frequency", "use '--policy-delay', gradient steps of the critics for each of the actor's"),
        ("ppo", "--rate", "did you mean '--learning-rate'?"),
        ("ppo", "--gravity", "did you mean '--env.gravity'?"),
        ("ppo", "--evry", "`kousoku train ppo CartPole-v1 --help` shows all"),
    ],
)
def test_words_of_other_libraries_lead_to_what_does_it_here(agent, word, told, capsys):
    env = "CartPole-v1" if agent == "ppo" else "Pendulum-v1"
    assert main(["train", agent, env, "--out", "run", word, "3"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kousoku: option: got '{word}'; {told}")
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--stop-on-nan=false"], "--stop-on-nan: got 'false'; it takes no value: write --stop-on-nan, or --no-stop"),
        (["--no-progress=false"], "--no-progress: got 'false'; it takes no value: write --progress, or --no-progress"),
        (
            ["--epsilon", "linear"],
            "--epsilon: got 'linear'; use a number or one of linear:START:END:STEPS, cosine:START",
        ),
        (["--stop-on-nan", "maybe"], "argument: got 'maybe'; --stop-on-nan takes no value: write --stop-on-nan, or"),
    ],
)
def test_a_switch_with_a_value_and_half_a_schedule_are_answered(words, told, capsys):
    assert main(["train", "q_learning", "GridWorld-v0", "--steps", "50", "--out", "run", *words]) == 2
    assert capsys.readouterr().err.startswith(f"kousoku: {told}")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--tau", "use a number, such as"),
        ("--learning-rate", "use a number or one of linear:START:END:STEPS"),
        ("--temperature", "use a number, such as"),
    ],
)
def test_only_what_may_be_a_schedule_is_told_how_to_write_one(option, told, capsys):
    assert main(["train", "sac", "Pendulum-v1", "--out", "run", option, "abc"]) == 2
    assert capsys.readouterr().err.startswith(f"kousoku: {option}: got 'abc'; {told}")


def test_two_dashes_alone_are_nothing(capsys):
    assert main(["train", "--", "q_learning", "GridWorld-v0", "--", "--steps", "50", "--out", "run"]) == 0
    assert "finished: 1 agent x 50 steps" in capsys.readouterr().out
