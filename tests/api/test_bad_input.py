"""A user's mistake: one line that names the field, what was given and what would do; nothing written."""

import pathlib

import pytest
from forked import forked

import kousoku as ks
from kousoku.cli import main

CONFIG = [
    ({"steps": 0}, "steps: got 0; use a whole number of at least 1"),
    ({"steps": 10**16}, "steps: got 10000000000000000; use a whole number of at least 1 and at most 1000000000000000"),
    ({"seeds": 0}, "seeds: got 0"),
    ({"seeds": -1}, "seeds: got -1"),
    ({"seeds": [1, -1]}, r"seeds\[1\]: got -1"),
    ({"seeds": [3, 3]}, "seeds: got 3; use every seed once"),
    ({"seeds": [2**32]}, r"seeds\[0\]: got 4294967296"),
    ({"seeds": []}, "give at least one seed"),
    ({"seeds": 2**31 - 1}, "seeds x sweep: got '2,147,483,647 agents'; they need about .* GiB .*; use at most"),
    ({"seeds": 2**40}, "seeds: got 1099511627776; use a whole number of at least 1 and at most 2147483647"),
    ({"record": ["return"]}, r"record\[0\]: got 'return'; did you mean 'returns'"),
    ({"record_every": 0}, "record_every: got 0"),
    ({"record": ["q_values"], "record_every": 1, "seeds": 1000}, "record: got 'q_values'; the tables need"),
    ({"loop": "fast"}, "loop: got 'fast'; use one of 'compiled', 'python'"),
    ({"loop": "Compiled"}, "did you mean 'compiled'"),
    ({"eval_episodes": -1}, "eval_episodes: got -1"),
    ({"devices": 0}, "devices: got 0; use 1 to 2"),
    ({"devices": 64}, "devices: got 64; use 1 to 2"),
    ({"step": 5}, "train setting or option of q_learning: got 'step'; did you mean 'steps'"),
    ({"sweep": {"learning_rat": [0.1]}}, "sweep: got 'learning_rat'; did you mean 'learning_rate'"),
    ({"sweep": {"learning_rate": []}}, "give a list of numbers"),
    ({"sweep": {"learning_rate": [0.1, -1.0]}}, "learning_rate: got -1.0; use a number in"),
    ({"sweep": {"epsilon": [2.0]}}, "epsilon: got 2.0; use a number in"),
    ({"sweep": {"exploration": [1.0]}}, "sweep: got 'exploration'; it is structure"),
    (
        {"sweep": {"learning_rate": [0.1, 0.2]}, "learning_rate": 0.3},
        r"\[0.1, 0.2\]; 0.3 is given too; give one of the two",
    ),
    (
        {"sweep": {"env.slip": [0.1]}, "env_options": {"slip": 0.3}},
        r"sweep\['env.slip'\]: got \[0.1\]; 0.3 is given too",
    ),
    ({"sweep": {"env.slipp": [0.1]}}, "sweep: got 'env.slipp'; did you mean 'env.slip'?"),
    ({"sweep": [1]}, r"sweep: got \[1\]; give {name: \[values\]}"),
    ({"sweep": 3}, "sweep: got 3; give"),
    ({"env_options": 3}, "env_options: got 3; give {name: value}"),
    ({"slip": 0.1}, "slip: got 0.1; it is an option of GridWorld-v0: give env_options={'slip': ...}"),
    ({"max_episode_steps": 9}, "max_episode_steps: got 9; it is an option of GridWorld-v0: give env_options={'time_l"),
    ({"num_envs": 3}, "got 'num_envs'; other agents or commands have it"),
    ({"log": "tensorboard"}, "log: got 'tensorboard'; give a list with any of tensorboard, wandb"),
]


@pytest.mark.parametrize(("settings", "message"), CONFIG, ids=[str(settings)[:40] for settings, _ in CONFIG])
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ks.ConfigError, match=message) as caught:
        ks.train("q_learning", "GridWorld-v0", **{"steps": 10_000, **settings})
    assert "\n" not in str(caught.value)
    assert not pathlib.Path("runs").exists(), "nothing may be written"


WRONG_TYPES = """
from fractions import Fraction
import jax.numpy as jnp
import kousoku as ks
import numpy as np
cases = [
    (dict(steps=1.5), "steps: got 1.5"), (dict(steps=float("nan")), "steps: got nan"), (dict(steps="9"), "steps: got"),
    (dict(steps=True), "steps: got True"), (dict(seeds="3"), "seeds: got '3'"),
    (dict(seeds=[1.5]), "seeds[0]: got 1.5"),
    (dict(sweep={"learning_rate": 0.1}), "give a list of numbers"),
    (dict(sweep={"learning_rate": ["0.1"]}), "sweep['learning_rate']: got '0.1'"),
    (dict(sweep={"learning_rate": [0.1, None]}), "sweep['learning_rate']: got None; sweep numbers alone"),
    (dict(sweep={"env.slip": ["0.1"]}), "sweep['env.slip']: got '0.1'"),
    (dict(sweep={"learning_rate": [0.1, 0.2, 0.1]}), "sweep['learning_rate']: got 0.1; give each number once"),
    (dict(sweep={"exploration": ["epsilon_greedy", True]}), "sweep: got 'exploration'; it is structure"),
    (dict(sweep={"learning_rate": [np.array([0.1]), 0.2]}), "give a list of numbers, not of arrays"),
    (dict(sweep={"learning_rate": [np.float32(0.1), np.float32(0.1)]}), "give each number once"),
    (dict(sweep={"learning_rate": [jnp.float32(0.1), jnp.float32(0.1)]}), "give each number once"),
    (dict(sweep={"learning_rate": [Fraction(1, 3), 1 / 3]}), "give each number once"),
    (dict(sweep={"env.slip": [Fraction(1, 3), 1 / 3]}), "give each number once"),
    (dict(sweep={"learning_rate": [0.1, 0.100000001]}), "got 0.100000001; float32 holds it as 0.1; give each"),
    (dict(sweep={"learning_rate": [0.1, np.float32(0.1)]}), "float32 holds it as 0.1; give each number once"),
    (dict(sweep={"learning_rate": [0.1, 0.2], "epsilon": [0.3, np.float32(0.3)]}), "sweep['epsilon']: got 0.3"),
    (dict(sweep={"initial_value": [2**24, 2**24 + 1]}), "got 16777217; float32 holds it as 16777216"),
    (dict(sweep={"initial_value": [1e38, 1e39]}), "initial_value: got 1e+39; float32 rounds it to infinity"),
    (dict(sweep={"env.slip": [0.1, 0.100000001]}), "sweep['env.slip']: got 0.100000001; float32 holds it as 0.1"),
    (dict(sweep={"env.slip": [0.1, np.float32(0.1)]}), "float32 holds it as 0.1; give each number once"),
    (dict(learning_rate=np.array([0.1, 0.2])), "learning_rate: got array([0.1, 0.2]); use one number; sweep="),
    (dict(epsilon=np.array([0.1])), 'epsilon: got array([0.1]); use one number; sweep={"epsilon": [...]} trains'),
    (dict(discount=jnp.ones(2)), "discount: got Array([1., 1.], dtype=float32); use one number"),
    (dict(sweep={3: [0.1]}), "sweep: got 3; names are texts: give {name: [values]}"),
    (dict(record=None), "record: got None; give a list of names"), (dict(record="info"), "such as ['info']"),
    (dict(record="zz"), "record: got 'zz'; give a list of names, of 'returns', 'metrics', 'visits', 'q_values'"),
    (dict(record=""), "record: got ''; give a list of names, of 'returns',"),
    (dict(eval_max_steps=3 * 10**9), "eval_max_steps: got 3000000000"),
    (dict(progress="yes"), "progress: got 'yes'; use True or False"), (dict(progress=1), "progress: got 1"),
    (dict(record=[3]), "record[0]: got 3"), (dict(loop=None), "loop: got None"), (dict(record_every=2.5), "got 2.5"),
    (dict(devices="all"), "devices: got 'all'"),
    (dict(agent_options=[3]), "agent_options: got [3]; give {name: value}"),
    (dict(agent_options="epsilon"), "agent_options: got 'epsilon'; give {name: value}"),
]
for settings, message in cases:
    try:
        ks.train("q_learning", "GridWorld-v0", **settings)
    except ks.ConfigError as error:
        assert message in str(error) and "\\n" not in str(error), (settings, str(error))
    else:
        raise AssertionError(settings)
for agent, env in ((3, "GridWorld-v0"), ("q_learning", None), ("q_learning", ks.make("GridWorld-v0").model())):
    try:
        ks.train(agent, env)
    except ks.ConfigError as error:
        assert "give an id or a kousoku." in str(error), str(error)
    else:
        raise AssertionError((agent, env))
wrong = [(dict(learning_rate="fast"), "learning_rate: got 'fast'"), (dict(discount=None), "discount: got")]
for options, message in wrong:
    try:
        ks.make_agent("q_learning", **options)
    except ks.ConfigError as error:
        assert message in str(error), str(error)
    else:
        raise AssertionError(options)
grid, agent = ks.make("GridWorld-v0"), ks.make_agent("q_learning")
run = ks.train(agent, grid, steps=20, eval_episodes=0, out="")
calls = {
    "agent: got 'GridWorld'; that is an environment, and the agent comes first": lambda: ks.train(grid, agent),
    "got 1e+40; float32 holds both as infinity; give each number once": lambda: ks.train(
        "ppo", "CartPole-v1", steps=10, sweep={"max_gradient_norm": [1e39, 1e40]}
    ),
    "agent: got 'CartPole'; that is an environment, and": lambda: ks.train(type(ks.make("CartPole-v1")), agent),
    "env: got 'QLearning'; that is an agent, which comes first": lambda: ks.train("q_learning", agent),
    "env: got 'PPO'; that is an agent, which comes first": lambda: ks.train("q_learning", type(ks.make_agent("ppo"))),
    "environment: got 'q_learning'; that is an agent": lambda: ks.train("sarsa", "q_learning"),
    "argument: got 'n_episodes'; did you mean 'episodes'?": lambda: run.evaluate(n_episodes=3),
    "argument: got 'verbose'; use 'progress', which shows": lambda: ks.resume("run", verbose=1),
    "argument: got 'discount'; other agents or commands have it": lambda: ks.resume("run", discount=1),
    "run: got <Run": lambda: ks.resume(run, steps=40),
    "run: got '3'; name a folder": lambda: ks.resume(3),
    "agent: got 0; leave it out": lambda: ks.load_policy("run", agent=0),
    "an agent's number is `member`": lambda: ks.load_policy(run, agent=0),
    "env: got 'GridWorld-v0'; leave it out": lambda: ks.load("run", env="GridWorld-v0"),
}
for message, call in calls.items():
    try:
        call()
    except ks.ConfigError as error:
        assert message in str(error) and "\\n" not in str(error), (message, str(error))
    else:
        raise AssertionError(message)
"""


def test_values_of_the_wrong_type(tmp_path):
    """In a process of its own: here the type checker of the tests would speak first."""
    done = forked(WRONG_TYPES, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "runs").exists()


OPTIONS = [
    ({"learning_rate": -1.0}, "learning_rate: got -1.0"),
    ({"learning_rate": 0.0}, "learning_rate: got 0.0"),
    ({"learning_rate": float("nan")}, "learning_rate: got nan"),
    ({"learning_rate": 1.5}, "learning_rate: got 1.5"),
    ({"learning_rate": "linear:1:2"}, "learning_rate: got 'linear:1:2'; use a number or one of linear"),
    ({"learning_rate": "linear:1:-2:100"}, "learning_rate.end: got -2.0"),
    ({"discount": 1.5}, "discount: got 1.5; use a number in"),
    ({"epsilon": 2.0}, "epsilon: got 2.0"),
    ({"temperature": 0.0}, "option of EpsilonGreedy: got 'temperature'; it belongs to exploration='softmax'"),
    ({"exploration": "ucb", "epsilon": 0.0}, "option of UCB: got 'epsilon'; it belongs to exploration='epsilon_gr"),
    ({"exploration": "softmax", "temperature": 0.0}, "temperature: got 0.0; use a number above 0"),
    ({"exploration": "sotfmax"}, "exploration: got 'sotfmax'; did you mean 'softmax'"),
    ({"learningrate": 0.1}, "option of q_learning: got 'learningrate'; did you mean 'learning_rate'"),
    ({"epsilom": 0.1}, "option of q_learning: got 'epsilom'; did you mean 'epsilon'"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[str(options) for options, _ in OPTIONS])
def test_hyper_parameters_that_cannot_work(options, message):
    with pytest.raises(ks.ConfigError, match=message) as caught:
        ks.make_agent("q_learning", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("agent", "message"),
    [("", "agent id: got ''"), ("qlearning", "did you mean q_learning"), ("os.system", "no such name")],
)
def test_unknown_agents(agent, message):
    with pytest.raises(ks.ConfigError, match=message):
        ks.train(agent, "GridWorld-v0", steps=10)


def test_an_id_of_the_other_kind():
    with pytest.raises(ks.ConfigError, match=r"'CartPole-v1'; that is an environment: kousoku\.make makes it"):
        ks.make_agent("CartPole-v1")
    with pytest.raises(ks.ConfigError, match=r"id: got 'ppo'; that is an agent: kousoku\.make_agent makes it"):
        ks.make("ppo")


def test_an_agent_of_tables_refuses_other_observations():
    with pytest.raises(ks.ConfigError, match="q_learning keeps a table, so it needs Discrete"):
        ks.train("q_learning", "GridWorld-v0", env_options={"observation": "coordinates"}, steps=10)


SHELL = [
    ([], "usage"),
    (["trian"], "command: got 'trian'; did you mean 'train'?"),
    (["train"], "agent: got nothing; say which"),
    (["train", "q_learning"], "environment: got nothing; say which"),
    (["train", "q_learning", "gridworld-v0"], "did you mean GridWorld-v0"),
    (["train", "q_learning", "FrozenLake-v0"], "the versions that exist are FrozenLake-v1"),
    (["train", "q_learning", "GridWorld-v0", "--learnin-rate", "1"], "did you mean '--learning-rate'?"),
    (["train", "q_learning", "GridWorld-v0", "--learning-rate"], "--learning-rate: got nothing; give it a value"),
    (["train", "q_learning", "GridWorld-v0", "--steps", "many"], "--steps: got 'many'; use a number"),
    (["train", "q_learning", "GridWorld-v0", "--steps", "-5"], "steps: got -5"),
    (["train", "ppo", "CartPole-v1", "--steps", "9"], "has 64 environments x 64 steps; use at least 4096"),
    (["train", "sac", "CartPole-v1", "--steps", "9"], "the first update comes after 5000 steps; use at least 5000"),
    (["train", "q_learning", "GridWorld-v0", "--steps", "nan"], "--steps: got 'nan'"),
    (["train", "q_learning", "GridWorld-v0", "--epsilon", "0.1,0.2"], "`kousoku sweep` takes lists"),
    (["train", "q_learning", "GridWorld-v0", "more"], "argument: got 'more'; it is one too many"),
    (["train", "ppo", "CartPole-v1", "--hidden", "64", "32"], "got '32'; it stands alone; put commas between several"),
    (["train", "ppo", "CartPole-v1", "--hidden", "64", "32"], "values: --hidden 64,32"),
    (["sweep", "ppo", "CartPole-v1", "--gamma", "0.9", "0.99", "--steps", "1M"], "values: --discount 0.9,0.99"),
    (["train", "ppo", "CartPole-v1", "--layer-norm", "--no-layer-norm"], "give one of the two"),
    (["train", "ppo", "CartPole-v1", "--no-hidden"], "got '--no-hidden'; did you mean '--hidden'?"),
    (["train", "q_learning", "CustomGrid-v0"], "option 'map' of CustomGrid-v0: got nothing; give it a value"),
    (["train", "q_learning", "CustomGrid-v0", "--env.map", "S..#/..G"], "map row 1: got '..G'; every row needs 4"),
    (["train", "q_learning", "CustomGrid-v0", "--env.map", "S.#G"], "no way from the start at (0, 0) to a goal"),
    (["train", "q_learning", "GridWorld-v0", "--env.slip", "7"], "slip: got 7; use a number in [0, 1]"),
    (
        ["train", "q_learning", "GridWorld-v0", "--env.slip", "0.2,0.1"],
        "--env.slip: got '0.2,0.1'; give one value, without a comma; `kousoku sweep` takes lists",
    ),
    (["sweep", "q_learning", "GridWorld-v0", "--seeds", "3"], "sweep: got nothing; give a number several values"),
    (["sweep", "q_learning", "GridWorld-v0", "--env.slip", "0.1,x"], "--env.slip: got 'x'; use a number"),
    (["sweep", "q_learning", "GridWorld-v0", "--env.slip", "0.1,7"], "slip: got 7.0; use a number in [0, 1]"),
    (["sweep", "q_learning", "GridWorld-v0", "--env.slip", "0,0.1"], "'env.slip'; 0 and 0.1 make arrays of other"),
    (["sweep", "q_learning", "GridWorld-v0", "--env.slip", "0.1"], "sweep: got nothing; give a number several values"),
    *(
        (
            ["sweep", "q_learning", "GridWorld-v0", flag, text],
            f"{flag}: got {text!r}; it is structure, for which programs",
        )
        for flag, text in {
            "--env.map": "a,b",
            "--env.time-limit": "10,20",
            "--env.observation": "index,xy",
            "--exploration": "ucb,softmax",
        }.items()
    ),
    (
        ["sweep", "ppo", "CartPole-v1", "--hidden", "32,64"],
        "--hidden: got '32,64'; it is structure, for which programs are",
    ),
    (
        ["sweep", "q_learning", "GridWorld-v0", "--steps", "300,400", "--learning-rate", "0.1,0.2"],
        "--steps: got '300,400'; a setting of the run cannot be swept, give one value; of thousands write 300_400",
    ),
    (
        ["sweep", "q_learning", "GridWorld-v0", "--record-every", "3,4", "--learning-rate", "0.1,0.2"],
        "--record-every: got '3,4'; a setting of the run cannot be swept, give one value",
    ),
    (
        ["sweep", "q_learning", "GridWorld-v0", "--epsilon", "linear:1:0.1:100,0.1"],
        "--epsilon: got 'linear:1:0.1:100'; schedules cannot be swept, only numbers; give each a run of its own",
    ),
    (
        ["train", "q_learning", "GridWorld-v0", "--lr", "0.1", "--learning-rate", "0.2"],
        "option: got '--learning-rate'; '--lr' is given, too; give one of the two",
    ),
    (
        ["train", "q_learning", "GridWorld-v0", "--seed", "3", "--seed=4"],
        "option: got '--seed'; it is given twice; give it once",
    ),
    (
        ["train", "q_learning", "GridWorld-v0", "--progress", "--no-progress"],
        "option: got '--no-progress'; '--progress' is given, too; give one of the two",
    ),
    (["evaluate", "run", "--max_steps", "9", "--max-steps", "8"], "'--max_steps' is given, too; give one of the two"),
    (["train", "q_learning", "GridWorld-v0", "--env.slipp", "7"], "did you mean '--env.slip'?"),
    (["train", "q_learning", "GridWorld-v0", "--record", "everything"], "record[0]: got 'everything'"),
    (["evaluate"], "run: got nothing"),
    (["evaluate", "nowhere"], "run: got 'nowhere'; name a folder that `kousoku train` has made"),
    (["view"], "there is no run below runs/"),
    (["view", "nowhere"], "run: got 'nowhere'; name a folder that `kousoku train` has made, or an environment: no"),
    (["view", "Ant-v4"], "or an environment: the versions that exist are Ant-v5"),
    (["view", "a" * 300], "...; name a folder that `kousoku train` has made, or an environment: no"),
    (["evaluate", "a" * 300], "...; name a folder that `kousoku train` has made"),
    (["evaluate", "~nobody-of-that-name/run"], "run: got '~nobody-of-that-name/run'; name a folder that"),
    (["view", "CartPole-v1", "--episodes", "1e8"], "episodes: got 100000000; use a whole number of at least 1 and at"),
    (
        ["view", "CartPole-v1", "--out", "none/film.html"],
        "--out: got 'none/film.html'; there is no folder none",
    ),
    (
        ["export", "run", "--out", "none/policy.py"],
        "--out: got 'none/policy.py'; there is no folder none; make",
    ),
    (
        ["train", "ppo", "CartPole-v1", "--steps", "8192", "--eval-episodes", "1e9"],
        "eval_episodes: got 1000000000; of 1 agent they need about",
    ),
    (
        ["train", "ppo", "CartPole-v1", "--steps", "8192", "--epochs", "1e9"],
        "epochs: got 1000000000; use a whole num",
    ),
    (
        ["train", "ppo", "CartPole-v1", "--steps", "8192", "--hidden", "1e9"],
        "agent: got 'PPO'; learning it needs about",
    ),
    (["bench"], "benchmark: got nothing"),
    (["bench", "tablar"], "benchmark: got 'tablar'; did you mean 'tabular'?"),
    (["list", "agent"], "list: got 'agent'; did you mean 'agents'?"),
    *(
        (words, f"{flag}: got {text!r}; write {flag}={written}")
        for *words, flag, text, written in [
            ("train", "q_learning", "GridWorld-v0", "--steps", "1000", "--out", "-x", "-x"),
            ("train", "q_learning", "GridWorld-v0", "--init-from", "-a", "-a"),
            ("train", "q_learning", "GridWorld-v0", "--steps", "-many", "-many"),
            ("train", "q_learning", "GridWorld-v0", "--env.observation", "-xy", "-xy"),
            ("export", "run", "--out", "-p.py", "-p.py"),
            ("export", "run", "--out", "-my policy.py", "'-my policy.py'"),
            ("evaluate", "run", "--checkpoint", "-best", "-best"),
            ("resume", "run", "--dataset", "-f.npz", "-f.npz"),
            ("compare", "a", "b", "--where", "-x=1", "-x=1"),
        ]
        for words in [[*words, flag, text]]
    ),
]


@pytest.mark.parametrize(("words", "message"), SHELL, ids=[" ".join(words) for words, _ in SHELL])
def test_mistakes_in_the_shell(words, message, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    if not words:
        assert "usage: kousoku COMMAND" in printed.out
        return
    assert message in printed.err
    assert printed.err.startswith("kousoku: ")
    assert len(printed.err.strip().splitlines()) == 1
    assert not pathlib.Path("runs").exists(), "nothing may be written"


@pytest.mark.by_default("1073741824", "33554432")
@pytest.mark.parametrize("num_envs", [2**22, 2**25, 2**30])
def test_a_rollout_that_memory_does_not_hold(num_envs):
    agent = ks.make_agent("ppo", num_envs=num_envs)
    with pytest.raises(ks.ConfigError, match=f"num_envs: got '{num_envs} environments .* they need .* GiB; use f"):
        ks.train(agent, "CartPole-v1", steps=2**30, out="")


def test_tables_of_an_agent_that_has_none():
    with pytest.raises(ks.ConfigError, match="record: got 'q_values'; PPO has no table of action values; leave it out"):
        ks.train("ppo", "CartPole-v1", steps=8192, out="", record=["q_values"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "RUN", "--episodes", "inf"], "--episodes: got inf; use a whole number of at least 1"),
        (["evaluate", "RUN", "--episodes", "2.5"], "--episodes: got 2.5; use a whole number"),
        (["evaluate", "RUN", "--max-steps", "0"], "--max-steps: got 0; use a whole number of at least 1"),
        (["evaluate", "RUN", "--seed", "1e400"], "--seed: got inf; use a whole number of at least 0"),
        (["export", "RUN", "--member", "0.9"], "--member: got 0.9; use a whole number of at least 0"),
    ],
)
def test_counts_on_the_command_line(words, message, capsys):
    assert main(words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.full("covered")
def test_more_episodes_than_memory_holds():
    run = ks.train("q_learning", "GridWorld-v0", steps=100, eval_episodes=0, out="")
    with pytest.raises(ks.ConfigError, match=r"episodes: got 1000000000; of 1 agent they need about .* GiB; use at"):
        run.evaluate(10**9)
