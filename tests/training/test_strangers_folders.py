"""Folders with what is not ours, or a run that has lost a part: nothing is written over, all is answered in a line."""

import json
import os
import re
import shutil
import sys
from typing import Any

import equinox as eqx
import numpy as np
import pytest
from fresh_process import refusals, without_types_checked
from still import Still

import kousoku as ks
from kousoku import cli
from kousoku.core.errors import RunWarning
from kousoku.envs import ENVS
from kousoku.training.io import run_folder

QUIET = {"steps": 200, "record_every": 100, "eval_episodes": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run that has come to its end."""
    return ks.train("q_learning", "GridWorld-v0", out=str(tmp_path_factory.mktemp("ended") / "run"), **QUIET).path


@pytest.fixture
def run(made, tmp_path):
    """A copy of it."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.mark.parametrize(
    "name",
    [
        "checkpoints/1000/model.pt",
        "checkpoints/x.part/a",
        "report.html",
        "metrics.jsonl",
        "lock",
        "tables.npz",
        "returns.png",
        "wandb/a",
    ],
)
def test_what_is_in_a_folder_already_is_not_touched(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    told = rf"out: .*; it holds '{name.split('/')[0]}', which a run would write over"
    with pytest.raises(ks.ConfigError, match=told):
        ks.train("q_learning", "GridWorld-v0", out=str(tmp_path), **QUIET)
    assert file.read_text() == "mine"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_all_that_a_run_writes_is_known(made):
    assert {path.name for path in made.iterdir()} <= {run_folder.CONFIG, *run_folder.WRITTEN}


def test_a_run_that_has_lost_its_configuration_keeps_its_checkpoints(run):
    (run / "config.json").unlink()
    before = sorted(run.rglob("*"))
    with pytest.raises(ks.ConfigError, match="which a run would write over"):
        ks.train("q_learning", "GridWorld-v0", out=str(run), **QUIET)
    assert sorted(run.rglob("*")) == before


def test_other_files_are_no_hindrance(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    ks.train("q_learning", "GridWorld-v0", out=str(tmp_path), steps=20, eval_episodes=0)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "run.json").is_file()


@pytest.mark.parametrize("lost", ["tables.npz", "picture.json"])
def test_what_a_finished_run_has_lost_is_made_again(run, lost):
    whole = ks.load(run)
    (run / lost).unlink()
    with pytest.raises(ks.ConfigError, match=rf"{lost} is missing; `kousoku resume` makes it again"):
        ks.load(run)
    again = ks.resume(run)
    np.testing.assert_array_equal(again.record.evaluation["return"], whole.record.evaluation["return"])
    np.testing.assert_array_equal(ks.load(run).q_values, whole.q_values)


def test_what_is_no_name_of_a_folder_is_refused():
    calls = {
        f"{function} {path}": f"ks.{function}({path})"
        for function in ("load", "resume", "evaluate", "load_policy")
        for path in ("3", "None", "b'x'", "['x']", "0.5")
    }
    for call, said in refusals(calls, "import kousoku as ks").items():
        assert re.match(r"run: got .*; (name a folder|give)", said), (call, said)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, "agent"),
        ({"agent": "x", "env": {"id": "GridWorld-v0"}}, "agent"),
        ({"agent": {"id": "q_learning"}, "env": None}, "env"),
        ({"agent": {"id": 3}, "env": {"id": "GridWorld-v0"}}, "agent"),
    ],
)
@pytest.mark.parametrize("function", [ks.load, ks.resume])
def test_a_damaged_configuration_is_named(run, function, config, field):
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(ks.ConfigError, match=rf"^{field} in .*config\.json: got .*; restore it"):
        function(run)


@pytest.mark.parametrize("facts", [{"status": "finished"}, {"status": "finished", "steps": "many"}, {"steps": 3}])
def test_damaged_facts_are_named(run, facts):
    (run / "run.json").write_text(json.dumps(facts))
    with pytest.raises(ks.ConfigError, match=r"run\.json: got .*; restore it, or let `kousoku resume` make it again"):
        ks.load(run)
    with pytest.warns(RunWarning, match=r"run\.json is damaged, and is made again$"):
        assert ks.resume(run).record.facts["status"] == "finished"
    assert ks.load(run).record.facts["status"] == "finished"


def test_a_run_that_is_gone_on_with_takes_no_ids(run):
    calls = {kind: f"ks.resume({str(run)!r}, steps=300, {given})"
             for given, kind in (("agent='ppo'", "Agent"), ("env='CartPole-v1'", "Env"))}  # fmt: skip
    for kind, said in refusals(calls, "import kousoku as ks").items():
        assert f"leave it out, as the run knows its own; or give the kousoku.{kind} that it was started with" in said


@pytest.mark.parametrize("count", [3790, 5000])
def test_a_path_that_leaves_no_room_for_files_is_refused_before_anything_is_made(tmp_path, monkeypatch, count):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ks.ConfigError, match="name a folder whose whole path has at most 3,800 bytes"):
        ks.train("q_learning", "GridWorld-v0", out="/".join(["x" * 99] * (count // 100 + 1)), **QUIET)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names opened folders as Linux does")
@pytest.mark.parametrize("temp", ["pbs.123[7].server", "no-such-folder"])
def test_the_systems_folder_for_temporary_files_need_not_be_plain(tmp_path, monkeypatch, temp):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / temp))
    out = tmp_path / "run [0,1]"
    ks.train("q_learning", "GridWorld-v0", out=str(out), steps=20, eval_episodes=0)
    (out / "run.json").unlink()
    with pytest.warns(UserWarning, match="read as its checkpoint at step 20"):
        ks.load(out)


@pytest.mark.parametrize("kind", ["no id", "unknown id", "damaged", "empty tables", "cut tables", "no tables"])
def test_the_newest_run_that_can_be_read_is_shown(made, tmp_path, monkeypatch, capsys, kind):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, "runs/old")
    new = shutil.copytree(made, tmp_path / "runs/new")
    config, tables = json.loads((new / "config.json").read_text()), new / "tables.npz"
    if "tables" not in kind:
        (new / "run.json").unlink()
    elif kind == "no tables":
        tables.write_text("no tables")
    else:
        tables.write_bytes(tables.read_bytes()[: 99 if kind == "cut tables" else 0])
    (new / "report.html").unlink(missing_ok=True)
    if kind == "no id":
        config["env"] |= {"id": "Pusher", "registered": False}
    elif kind == "unknown id":
        config["env"]["id"] = "Nowhere-v0"
    elif kind == "damaged":
        for checkpoint in (new / "checkpoints").iterdir():
            (checkpoint / "manifest.json").write_text("{}")
    (new / "config.json").write_text(json.dumps(config))
    os.utime("runs/old/config.json", (1, 1))
    for anew in ([], ["--rebuild"]):
        assert cli.main(["view", "--no-open", *anew]) == 0
        out, err = capsys.readouterr()
        assert out.split()[0] == "runs/old/report.html"
        assert err.startswith("kousoku: runs/new is passed over: ")
        assert err.count("\n") == 1
        if "tables" not in kind:
            return
        (new / "report.html").touch()
    assert cli.main(["view", "--no-open"]) == 0, "what is there can be shown"
    assert capsys.readouterr().out.split()[0] == "runs/new/report.html"


class Pull(Still):
    """One with a number."""

    friction: Any = eqx.field(static=True, default=0.1)


def test_options_that_no_json_holds_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))
    ks.register("Pull-v0", Pull)
    for options, field, fix in (
        ({"friction": float("nan")}, "env_options['friction']", "use a number"),
        ({"friction": (0.5, float("nan"))}, "env_options['friction'][1]", "use a number"),
        ({"friction": frozenset((1, 2))}, "env_options['friction']", "a run's config cannot hold it"),
        ({"friction": b"x"}, "env_options['friction']", "a run's config cannot hold it"),
        ({"friction": (len,)}, "env_options['friction'][0]", "a run's config cannot hold it"),
    ):
        with pytest.raises(ks.ConfigError) as caught:
            ks.train("q_learning", "Pull-v0", env_options=options, out=str(tmp_path / "run"), steps=20)
        assert str(caught.value).startswith(f"{field}: got ")
        assert fix in str(caught.value)
        assert not (tmp_path / "run").exists()


def test_arrays_of_one_number_are_options(tmp_path):
    script = f"""
import json, jax.numpy as jnp, numpy as np, kousoku as ks
told = []
for i, number in enumerate((np.array(0.5), np.float32(0.5), jnp.float32(0.5))):
    path = {str(tmp_path)!r} + f"/{{i}}"
    ks.train("q_learning", "FrozenLake-v1", env_options={{"success_rate": number}}, steps=20, eval_episodes=0, out=path)
    told.append(ks.load(path).record.config["env"]["options"])
print(json.dumps(told))
"""
    assert without_types_checked(script) == [{"success_rate": 0.5}] * 3
