"""The words that say how a run that was stopped goes on: whoever types them, with what they name, is not refused."""

import dataclasses
import signal

import jax.numpy as jnp
import pytest
from pendulum_data import pendulum
from still import Still

import kousoku as ks
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.cli import main
from kousoku.envs import ENVS
from kousoku.training.config import TrainConfig
from kousoku.training.io.env_config import env_json
from kousoku.training.io.rebuild import given_again
from kousoku.training.loop import host
from kousoku.training.loop.results import config_json


class Mistake(Exception):
    """What stops a run here."""


class Own(QLearning):
    """An agent of one's own, which has no id."""


def constant(step):
    """As a schedule of another library."""
    return jnp.float32(0.5)


def stopped(agent, env, **options):
    """What was said of a run below "run" that a function stopped."""

    def stop(report):
        raise Mistake

    with pytest.raises(Mistake) as raised:
        ks.train(agent, env, out="run", steps=80, record_every=40, eval_episodes=0, on_report=stop, **options)
    (said,) = raised.value.__notes__
    return said


BY_ID, MADE = ("q_learning", "GridWorld-v0"), (ks.make_agent("q_learning"), ks.make("GridWorld-v0"))


@pytest.mark.by_default("agent with an id", "own env", "own agent")
@pytest.mark.parametrize(
    ("agent", "env", "again"),
    [
        (MADE[0], BY_ID[1], ""),
        (BY_ID[0], MADE[1], ", env=env"),
        (BY_ID[0], Still(), ", env=env"),
        (Own(), BY_ID[1], ", agent=agent"),
        (Own(), Still(), ", agent=agent, env=env"),
        (dataclasses.replace(MADE[0], learning_rate=constant), BY_ID[1], ", agent=agent"),
    ],
    ids=["agent with an id", "env of ours", "own env", "own agent", "both", "function"],
)
def test_the_call_that_goes_on_names_what_has_to_be_given_again(agent, env, again):
    said = stopped(agent, env)
    assert said == f"kousoku: on_report raised this at step 40; kousoku.resume('run'{again}) goes on with it"
    held = {"agent": agent, "env": env}
    needed = {name: held[name] for name in held if f"{name}={name}" in again}
    for name in needed:
        with pytest.raises(ks.ConfigError, match=f"^{name}|^learning_rate"):
            ks.resume("run", **{other: value for other, value in needed.items() if other != name})
    assert ks.resume("run", **needed).record.facts["steps"] == 80


@pytest.mark.parametrize(("saved", "again"), [(True, []), (False, ["agent"])])
def test_data_that_lie_in_no_file_have_to_be_given_again(saved, again):
    data = ks.save_dataset(pendulum(), "data.npz") if saved else pendulum()
    asked = config_json(ks.make_agent("bc", dataset=data), TrainConfig(steps=20), env_json("Pendulum-v1", {}))
    assert given_again(asked) == again


def test_the_shell_imports_what_the_command_that_was_stopped_did(monkeypatch, capsys, tmp_path):
    """It may be another file than that of the run's beginning, or that was in Python."""
    monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))
    ks.register("Own-v0", Still)
    assert "kousoku.resume('run') goes on with it" in stopped("q_learning", "Own-v0")
    (tmp_path / "own_still.py").write_text("import kousoku as ks\nfrom still import Still\n")
    advance = host._advance

    def advance_and_stop(loop, run, until):
        advance(loop, run, until)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(host, "_advance", advance_and_stop)
    file = str(tmp_path / "own_still.py")
    words = ["resume", "run", "--steps", "4000", "--import", file, "--no-progress"]
    assert main(words) == 128 + signal.SIGTERM
    assert capsys.readouterr().out.splitlines()[-1] == f"`kousoku resume run --import {file}` goes on with it"
