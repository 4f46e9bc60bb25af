"""The shell, doing what it should."""

import json
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest
import records
from forked import forked

import kousoku as ks
from kousoku import saved_runs
from kousoku.cli import COMMANDS, main, view
from kousoku.cli import options as cli_options
from kousoku.cli.options import Option, parse
from kousoku.cli.platforms import platforms_checked, unusable_platforms
from kousoku.cli.values import hyper_parameter, literal, number, numbers
from kousoku.run import Run
from kousoku.viz.payload import payload
from kousoku.viz.tables import member_name

TRAIN = ["train", "q_learning", "GridWorld-v0", "--steps", "2e3", "--seeds", "3", "--out", "run", "--no-progress"]


@pytest.mark.full("covered")
@pytest.mark.reports
def test_train_then_evaluate_then_view(capsys):
    assert main([*TRAIN, "--epsilon", "linear:1:0.05:1_000", "--env.slip", "0.1"]) == 0
    printed = capsys.readouterr()
    assert "finished: 3 agents x 2000 steps" in printed.out
    assert "report: run/report.html" in printed.out
    assert printed.err == "", "quiet where there is no terminal"
    run = ks.load("run")
    assert run.record.config["command"].startswith("kousoku train q_learning GridWorld-v0 --steps 2e3")
    assert run.record.config["agent"]["exploration"]["epsilon"]["type"] == "Linear"
    assert run.record.config["env"]["options"] == {"slip": 0.1}
    assert main(["evaluate", "run", "--episodes", "7"]) == 0
    assert "3 agents x 7 greedy episodes" in capsys.readouterr().out
    pathlib.Path("run/report.html").unlink()
    assert main(["view", "run", "--no-open"]) == 0
    assert pathlib.Path("run/report.html").is_file()


@pytest.mark.full("covered")
def test_the_shell_and_python_train_the_same(capsys):
    assert main([*TRAIN, "--learning-rate", "0.5", "--initial-value", "1"]) == 0
    run = ks.train(
        ks.make_agent("q_learning", learning_rate=0.5, initial_value=1), "GridWorld-v0", steps=2000, seeds=3, out=""
    )
    assert (ks.load("run").q_values == run.q_values).all()


@pytest.mark.full("covered")
def test_sweep(capsys):
    words = ["sweep", *TRAIN[1:], "--learning-rate", "0.1,0.5", "--epsilon", "0.1,0.2,0.3"]
    assert main(words) == 0
    assert "greedy return at learning_rate = 0.5, epsilon = 0.3" in capsys.readouterr().out
    assert len(ks.load("run").record.points) == 6


@pytest.mark.full("covered")
def test_a_sweep_of_a_number_of_the_environment(capsys):
    words = ["sweep", *TRAIN[1:], "--epsilon", "0.1,0.2", "--env.slip", "0.1,0.3", "--env.step-reward", "-0.5"]
    assert main(words) == 0
    assert "greedy return at epsilon = 0.1, env.slip = 0.1" in capsys.readouterr().out
    run = ks.load("run")
    assert run.record.config["sweep"] == {"epsilon": [0.1, 0.2], "env.slip": [0.1, 0.3]}
    assert run.record.config["env"]["options"] == {"step_reward": -0.5}
    assert "env.slip" in json.dumps(payload(run.record))
    capsys.readouterr()
    assert main(["evaluate", "run", "--episodes", "2"]) == 0
    best = member_name(run.record, run.evaluate(2).best_member)
    assert f"return of the best agent, {best}: " in capsys.readouterr().out, "by the name that training tells it by"


def test_evaluate_tells_the_points_of_a_sweep_and_ties(capsys, monkeypatch):
    points = {"learning_rate": 0.1}, {"learning_rate": 0.5}
    record = records.make(records.grid_env(), members=2, points=points, reports=20)
    zero = np.zeros((4, 2))
    record = records.replaced(record, evaluation={"return": zero, "length": zero, "truncated": zero > 0})
    found = ks.Evaluation(zero, zero, zero > 0, record=record)
    monkeypatch.setattr(Run, "evaluate", lambda run, episodes: found)
    monkeypatch.setattr(saved_runs, "load", lambda folder, *, checkpoint: Run(record, None, []))
    assert main(["evaluate", "run", "--episodes", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("4 agents x 2 greedy episodes, undiscounted\n  return at learning_rate = 0.1: 0 (mean")
    assert printed.count(", tied best\n") == 2
    assert "return of the best agent, seed 0, learning_rate 0.1: 0 (mean, 1 episode); 4 agents tie" in printed
    assert "cut by a time limit: 0.0% of the episodes" in printed


@pytest.mark.full("whole way")
def test_a_sweep_of_a_number_that_is_none_by_default(capsys):
    assert main(["sweep", "monte_carlo", *TRAIN[2:], "--learning-rate", "0.1,0.5"]) == 0
    assert "greedy return at learning_rate = 0.1" in capsys.readouterr().out
    assert main(["evaluate", "run", "--episodes", "2"]) == 0
    assert "6 agents x 2 greedy episodes" in capsys.readouterr().out


def test_doctor(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "compiler: works" in printed
    assert f"device:   {jax.device_count()} x " in printed


@pytest.mark.slow_because("a new process, which begins with one device")
def test_doctor_tells_the_devices_that_a_run_has():
    script = "import kousoku as ks; from kousoku.cli import main; main(['doctor']); print(ks.use_all_cores())"
    done = forked(script, environment={**os.environ, "XLA_FLAGS": ""})
    assert done.returncode == 0, done.stderr
    *told, devices = done.stdout.splitlines()
    assert f"device:   {devices} x " in "\n".join(told)
    assert done.stderr == "", "no warning that a run would have more"


def test_the_help_of_view_says_where_the_film_of_a_run_goes():
    (told,) = [option.help for option in view.OPTIONS if option.name == "out"]
    assert f"{view.FILM} in the run folder" in told
    assert f"`{view.FILM}`" in (pathlib.Path(__file__).parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")


PLATFORMS = {
    "cuda": (
        "train q_learning GridWorld-v0",
        2,
        "",
        "kousoku: JAX_PLATFORMS: got 'cuda'; this machine has cpu: unset it, or set it to cpu\n",
    ),
    "nonsense": ("doctor", 1, "note:     JAX_PLATFORMS: got 'nonsense'; this machine has cpu: unset it", ""),
}


@pytest.mark.slow_because("a new process imports JAX and finds no platform")
@pytest.mark.parametrize("name", PLATFORMS)
def test_platforms_that_this_machine_has_not_are_one_line(name):
    command, status, out, err = PLATFORMS[name]
    words, environment = [sys.executable, "-m", "kousoku", *command.split()], {**os.environ, "JAX_PLATFORMS": name}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, err)
    assert out in done.stdout


def test_an_error_is_raised_as_it_is_where_the_platforms_can_be_used(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert unusable_platforms() is None
    with pytest.raises(RuntimeError, match="another"), platforms_checked():
        raise RuntimeError("another")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "usage: kousoku " in capsys.readouterr().out


def test_help_of_an_agent_and_an_environment_explains_both(capsys):
    with pytest.raises(SystemExit):
        main(["train", "q_learning", "WindyGridWorld-v0", "--help"])
    printed = " ".join(capsys.readouterr().out.replace("│", " ").replace("|", " ").split())
    assert "step size alpha, in (0, 1]" in printed
    assert "blown upwards" in printed


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kousoku {ks.__version__}\n"


def test_values_as_people_write_them():
    assert number("steps", "1_000_000") == number("steps", "1e6") == 1_000_000
    assert isinstance(number("steps", "1e6"), int)
    assert numbers("seeds", "3,5") == [3, 5]
    assert literal("x", "yes", False) is True
    assert literal("x", "[[1, 2]]", None) == [[1, 2]]
    for text, whole in {"1e2": 100, "1_000": 1000, "1k": 1000, "1,000": 1000, "250": 250}.items():
        assert literal("x", text, None) == whole
        assert type(literal("x", text, None)) is int
    assert [literal("x", text, None) for text in ("0.5", "word", "true")] == [0.5, "word", True]
    assert hyper_parameter("max_gradient_norm", "none", 0.5) is None
    assert hyper_parameter("update_ratio", "3/16", 1.0) == 3 / 16
    with pytest.raises(ks.ConfigError, match="use a number"):
        hyper_parameter("update_ratio", "1/0", 1.0)
    with pytest.raises(ks.ConfigError, match="use true or false"):
        literal("x", "maybe", True)


@pytest.mark.parametrize("text", ["-1", "-1e-3", "-.5", "-inf", "-Infinity", "-1_000", "-1M", "-1,-2", "-1/2", "-"])
def test_a_negative_number_is_a_value_though_it_begins_as_an_option_does(text):
    options = [Option("run", None, "RUN", "", positional=True), Option("initial_value", 0.0, "NUMBER", "")]
    for words in (
        ["run", "--initial-value", text],
        ["--initial_value", text, "run"],
        ["run", f"--initial-value={text}"],
    ):
        assert parse("train", "", options, words) == {"run": "run", "initial_value": text}


def test_what_the_parser_of_options_says_is_told_without_its_box(monkeypatch):
    def refuse(*_, **__):
        print("╭─ Missing ─────╮\n│ A value of    │\n│ ───────────── │", file=sys.stderr)
        print("│ a-b is needed │\n╰───────────────╯", file=sys.stderr)
        raise SystemExit(2)

    monkeypatch.setattr(cli_options.tyro, "cli", refuse)
    with pytest.raises(ks.ConfigError, match=r"^options: got 'run'; Missing A value of a-b is needed$"):
        parse("train", "", [], ["run"])


@pytest.mark.full("covered")
def test_metrics_are_json_lines(capsys):
    assert main(TRAIN) == 0
    lines = [json.loads(line) for line in pathlib.Path("run/metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["step"] == 2000
    assert all(line["charts/SPS"] > 0 for line in lines)
    assert all(line["charts/episodic_return"] is None or line["charts/episodic_return"] <= 1 for line in lines)
