"""Environments on the host in the shell."""

import gymnasium
import pytest
from host_worlds import Counter

from kousoku.cli import main

NETWORK = ("--num-envs", "2", "--num-steps", "8", "--minibatches", "2", "--epochs", "1", "--hidden", "8")
SMALL = (*NETWORK, "--eval-episodes", "1", "--out", "run")


@pytest.fixture
def counter():
    gymnasium.register("Counter-v0", Counter, disable_env_checker=True)
    yield
    del gymnasium.registry["Counter-v0"]


def test_a_run_is_trained_and_evaluated(counter, capsys):
    assert main(["train", "ppo", "gymnasium:Counter-v0", "--steps", "32", *SMALL]) == 0
    assert main(["evaluate", "run", "--episodes", "3"]) == 0
    assert "length: " in capsys.readouterr().out


def test_the_list_has_agents_that_can_learn_in_it_and_says_who_ends_its_episodes(counter, capsys):
    """Those that step environments in programs are refused by `train`."""
    assert main(["list", "gymnasium:Counter-v0"]) == 0
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if len(line.split()) > 1)
    assert told["agents"].split(", ") == ["a2c", "dqn", "ppo", "pqn", "sac"]
    assert told["time"] == "limit    its own, if it has one"


def test_what_cannot_be_made_is_one_line(capsys):
    assert main(["train", "ppo", "gymnasium:NoSuch-v0", "--steps", "32", *SMALL]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith("kousoku: env: got 'gymnasium:NoSuch-v0'; it cannot be made: ")


def test_an_environment_that_fails_is_one_line_and_the_run_is_there(capsys):
    gymnasium.register("Fails-v0", lambda: Counter(fails_at=20), disable_env_checker=True)
    assert main(["train", "ppo", "gymnasium:Fails-v0", "--steps", "64", *SMALL]) == 1
    del gymnasium.registry["Fails-v0"]
    told = [line for line in capsys.readouterr().err.splitlines() if line]
    assert told[-1] == (
        "kousoku: environment gymnasium:Fails-v0 raised ZeroDivisionError: the wheels came off; "
        "the run ended at step 32; `kousoku resume run` goes on with it"
    )
