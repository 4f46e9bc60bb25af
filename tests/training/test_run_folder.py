"""Run folders: what is written can be read, what is damaged is refused, nothing is overwritten."""

import json
import os
import pickle
import shutil
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.core.errors import ConfigError, RunWarning
from kousoku.training.io import provenance, run_folder

pytestmark = pytest.mark.films


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One small run, made once."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    agent = ks.make_agent("q_learning", epsilon="linear:1.0:0.1:500")
    return ks.train(agent, "CliffWalking-v1", steps=1000, seeds=3, sweep={"discount": [0.9, 0.99]}, out=str(folder))


@pytest.fixture
def copy(trained, tmp_path):
    """A copy of it that a test may damage."""
    return shutil.copytree(trained.path, tmp_path / "copy")


def contents(folder):
    """Every file's bytes."""
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_run_comes_back_as_it_was(trained):
    again = ks.load(trained.path)
    for group in ("curves", "tables", "evaluation"):
        mine, its = getattr(trained.record, group), getattr(again.record, group)
        assert mine.keys() == its.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], its[name])
    assert again.record.config == json.loads(json.dumps(trained.record.config))
    assert again.record.points == trained.record.points
    assert again.record.panels == trained.record.panels
    assert again.record.film.scenes == trained.record.film.scenes
    np.testing.assert_array_equal(again.record.member_point, trained.record.member_point)


@pytest.mark.full("covered")
def test_a_loaded_run_evaluates_as_the_one_in_memory(trained):
    mine, its = trained.evaluate(episodes=5, seed=3), ks.load(trained.path).evaluate(episodes=5, seed=3)
    np.testing.assert_array_equal(mine.returns, its.returns)
    np.testing.assert_array_equal(mine.lengths, its.lengths)


def test_the_folder_holds_what_it_should(trained):
    names = {file.name for file in trained.path.iterdir()}
    assert {"config.json", "run.json", "metrics.jsonl", "tables.npz", "picture.json", "report.html"} <= names
    facts = json.loads((trained.path / "run.json").read_text())
    assert facts["status"] == "finished"
    assert facts["versions"]["jax"]
    assert 0 < facts["memory"]["state_mib"] < facts["memory"]["process_peak_mib"]
    assert "replay_buffer" not in facts
    lines = [json.loads(line) for line in (trained.path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(trained.curves["step"])
    assert len(lines[0]["points"]) == 2


def test_a_second_run_in_the_same_folder_is_refused_and_the_first_one_kept(trained):
    before = contents(trained.path)
    with pytest.raises(ks.ConfigError, match="it holds a run already; name another folder"):
        ks.train("q_learning", "GridWorld-v0", steps=100, out=str(trained.path))
    assert contents(trained.path) == before


def test_two_runs_at_the_same_moment_have_two_folders():
    assert len({run_folder.make_folder(None, "a-b", {}) for _ in range(3)}) == 3


def test_a_folder_of_its_own_is_one_level_below_runs_whatever_the_ids(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = run_folder.make_folder(None, "ppo-gymnasium:ALE/Pong-v5", {})
    assert folder.parent == Path("runs")
    assert folder.name.startswith("ppo-gymnasium-ALE-Pong-v5-")


@pytest.mark.parametrize("name", ["run.json", "tables.npz", "picture.json"])
def test_a_missing_file_is_named(copy, name):
    shutil.rmtree(copy / "checkpoints")
    (copy / name).unlink()
    began = ": the run did not come to its end; `kousoku resume` goes on with it"
    told = began if name == "run.json" else "; `kousoku resume` makes it again"
    with pytest.raises(ks.ConfigError, match=f"{name} is missing{told}$"):
        ks.load(copy)


@pytest.mark.parametrize("name", ["tables.npz", "picture.json"])
def test_of_a_run_that_has_ended_no_checkpoint_stands_in_for_a_file(copy, name):
    (copy / name).unlink()
    with pytest.raises(ks.ConfigError, match=f"{name} is missing"):
        ks.load(copy)


@pytest.mark.parametrize("name", ["config.json", "run.json", "tables.npz", "picture.json"])
def test_half_a_file_is_refused(copy, name):
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(ks.ConfigError, match="damaged file"):
        ks.load(copy)


def test_a_flipped_bit_in_the_tables_is_refused(copy):
    data = bytearray((copy / "tables.npz").read_bytes())
    values = data.index(b"\x93NUMPY", data.index(b"q.npy")) + 256
    data[values] ^= 0x10
    (copy / "tables.npz").write_bytes(bytes(data))
    with pytest.raises(ks.ConfigError, match="damaged file"):
        ks.load(copy)


def test_a_pickle_in_disguise_is_refused(copy):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was executed",))

    np.savez(copy / "tables.npz", member_seed=np.array([Bomb()], object))
    with pytest.raises(ks.ConfigError, match="damaged file"):
        ks.load(copy)
    (copy / "tables.npz").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ks.ConfigError, match="damaged file"):
        ks.load(copy)


def test_a_newer_format_is_refused_naming_both(copy):
    facts = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps({**facts, "format": 99}))
    with pytest.raises(ks.ConfigError, match="got 99; this version reads formats 1 to 3"):
        ks.load(copy)


def test_a_folder_of_the_first_format_is_read_under_todays_names(copy, trained):
    facts = json.loads((copy / "run.json").read_text())
    facts |= {"lanes": facts.pop("members"), "trouble": facts.pop("failure")}
    (copy / "run.json").write_text(json.dumps({**facts, "format": 1}))
    with np.load(copy / "tables.npz") as file:
        arrays = {name.replace("member_", "lane_"): file[name] for name in file.files}
    assert {"lane_seed", "lane_point"} <= arrays.keys()
    np.savez(copy / "tables.npz", **arrays)
    again = ks.load(copy)
    assert repr(again).startswith(repr(trained).rsplit(",", 1)[0])
    assert again.record.facts == ks.load(trained.path).record.facts
    np.testing.assert_array_equal(again.record.member_seed, trained.record.member_seed)
    np.testing.assert_array_equal(again.record.member_point, trained.record.member_point)


def test_what_ended_a_run_of_the_format_before_is_read_and_checked_under_todays_name(copy):
    facts = json.loads((copy / "run.json").read_text())
    assert "trouble" not in facts
    assert facts.pop("failure") is None
    for reason in ("the reward became nan", 3):
        (copy / "run.json").write_text(json.dumps({**facts, "trouble": reason, "format": 2}))
        if reason == 3:
            with pytest.raises(ks.ConfigError, match=r"run\.json: got {'failure': 3}; restore it"):
                ks.load(copy)
        else:
            assert ks.load(copy).record.facts["failure"] == reason


def test_states_of_another_environment_are_refused_saying_both(copy):
    config = json.loads((copy / "config.json").read_text())
    config["env"] = {"id": "GridWorld-v0", "options": {}, "registered": True}
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(ks.ConfigError, match=r"agent state: got .*48, 4.*needs .*96, 4"):
        ks.load(copy).evaluate(episodes=1)


@pytest.mark.parametrize("id", ["os.system", "kousoku.envs:make", "../../etc/passwd"])
def test_no_import_is_taken_from_a_configuration(copy, id):
    config = json.loads((copy / "config.json").read_text())
    config["agent"]["id"] = id
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(ks.ConfigError, match="agent id"):
        ks.load(copy).evaluate(episodes=1)


def test_an_environment_made_in_python_cannot_be_rebuilt_and_says_so(tmp_path):
    run = ks.train("q_learning", ks.gridworld("S.G"), steps=100, out=str(tmp_path / "mine"))
    assert run.evaluate(episodes=2).returns.shape == (1, 2)
    with pytest.raises(ks.ConfigError, match="has no id"):
        ks.load(run.path).evaluate(episodes=2)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ks.ConfigError, match="name a folder that can be written"):
        ks.train("q_learning", "GridWorld-v0", steps=100, out=str(tmp_path / "file" / "run"))


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("gs://bucket/run", "name a folder on this machine"),
        ("s3:/bucket/run", "name a folder on this machine"),
        (os.fsdecode(b"l\xe4uf/run"), "name a folder in UTF-8"),
        ("run\0", "name a folder without NUL characters"),
    ],
)
def test_what_is_no_name_of_a_folder_is_refused_before_anything_is_made(out, why, tmp_path):
    with pytest.raises(ks.ConfigError, match=f"out: got .*; {why}") as refused:
        ks.train("q_learning", "GridWorld-v0", steps=100, out=out)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.full("covered")
@pytest.mark.skipif(os.name == "nt", reason="names that Windows has not")
@pytest.mark.parametrize("parent", ["lr=[0.1,0.5]", r"back\slash ü"])
def test_a_run_may_lie_anywhere_and_go_on_elsewhere(parent, tmp_path):
    ks.train("q_learning", "GridWorld-v0", steps=200, eval_episodes=0, out=f"{parent}/run")
    assert [path.name for path in tmp_path.iterdir()] == [parent]
    ks.resume(f"{parent}/run", steps=300)
    shutil.move(f"{parent}/run", "moved")
    assert ks.resume("moved", steps=400).record.facts["resumed_at"] == [200, 300]


def test_what_cannot_be_written_as_a_configuration_claims_no_folder(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        run_folder.make_folder("run", "a-b", {"limit": float("nan")})
    assert not (tmp_path / "run").exists()


@pytest.fixture
def newest_but(trained, tmp_path):
    """A whole run below runs/, and a newer folder with these files."""

    def make(files):
        shutil.copytree(trained.path, tmp_path / "runs" / "whole")
        os.utime(tmp_path / "runs" / "whole" / "config.json", (1, 1))
        (tmp_path / "runs" / "newer").mkdir()
        for name, text in files.items():
            (tmp_path / "runs" / "newer" / name).write_text(text)

    return make


@pytest.mark.parametrize(
    "files", [{}, {"config.json": ""}, {"config.json": "{}"}, {"config.json": "{}", "run.json": "["}]
)
def test_a_newer_folder_with_nothing_to_show_does_not_keep_the_newest_run_from_being_viewed(files, newest_but, capsys):
    newest_but(files)
    assert main(["view", "--no-open"]) == 0
    told = capsys.readouterr()
    assert told.out == f"{Path('runs/whole/report.html')}\n"
    assert told.err.count("\n") == bool(files)


class Pushed(ks.Env):
    """A step to the right for each action 1, less friction."""

    friction: float = 0.1
    table: jax.Array = eqx.field(default_factory=lambda: jnp.arange(100.0))
    time_limit: int | None = eqx.field(static=True, default=8)

    @property
    def observation_space(self):
        return ks.Box(-100.0, 100.0, (1,))

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.float32(0), ks.Timestep(jnp.zeros(1), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, x, action):
        x = x * (1 - self.friction) + action.astype(jnp.float32)
        return x, ks.Timestep(x[None], x, jnp.array(False), jnp.array(False))


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("other", "told"),
    [
        (Pushed(friction=0.3), r"env's friction: got 0.3; the run was started with 0.1"),
        (Pushed(time_limit=9), r"env's time_limit: got 9; the run was started with 8"),
        (
            Pushed(table=jnp.zeros(100)),
            r"env's table: got 'float32\[100\] .*'; the run was started with 'float32\[100\]",
        ),
    ],
)
def test_another_environment_of_ones_own_is_refused_by_the_field_that_differs(other, told):
    agent = ks.make_agent("ppo", num_envs=2, num_steps=4, minibatches=1, epochs=1, hidden=(4,))
    ks.train(agent, Pushed(), steps=16, eval_episodes=0, out="run")
    for reads in (lambda: ks.resume("run", steps=32, env=other), lambda: ks.load_policy("run", env=other)):
        with pytest.raises(ks.ConfigError, match=told):
            reads()
    assert ks.resume("run", steps=32, env=Pushed()).record.facts["steps"] == 32


def test_code_that_changed_is_told(monkeypatch):
    agent = ks.make_agent("ppo", num_envs=2, num_steps=4, minibatches=1, epochs=1, hidden=(4,))
    ks.train(agent, Pushed(), steps=16, eval_episodes=0, out="run")
    monkeypatch.setattr(provenance, "code_of", lambda kind: "other")
    with pytest.warns(RunWarning, match="the code of Pushed is not what the run was started with"):
        ks.resume("run", steps=32, env=Pushed())


@pytest.mark.by_default("<lambda>0-tables.npz", "<lambda>0-picture.json", "<lambda>1-run.json")
@pytest.mark.parametrize("name", ["tables.npz", "picture.json", "run.json"])
@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b""), lambda path: (path.unlink(), path.mkdir())])
def test_a_damaged_file_of_a_runs_end_is_made_again_from_its_last_checkpoint(name, damage):
    made = ks.train("q_learning", "GridWorld-v0", steps=200, seeds=2, out="run", eval_episodes=2)
    before = {file: (Path("run") / file).read_bytes() for file in ("tables.npz", "picture.json")}
    damage(Path("run") / name)
    told = rf"{name}: got 'a damaged file'; `kousoku resume` makes it again, from the last checkpoint$"
    if (Path("run") / name).is_dir():
        told = rf"{name}: got 'a folder'; it lies in the place of a file that the run writes: move it away, and resume$"
    for look in (lambda: ks.load("run"), lambda: ks.evaluate("run")):
        with pytest.raises(ConfigError, match=told):
            look()
    if (Path("run") / name).is_dir():
        (Path("run") / name).rmdir()
        (Path("run") / name).touch()
    with pytest.warns(RunWarning, match=rf"{name} is damaged, and is made again$"):
        again = ks.resume("run")
    assert {file: (Path("run") / file).read_bytes() for file in before} == before
    np.testing.assert_array_equal(again.q_values, made.q_values)
    assert ks.load("run").record.facts["steps"] == 200


def test_without_a_checkpoint_a_damaged_end_stays_as_it_is():
    ks.train("q_learning", "GridWorld-v0", steps=200, out="run", eval_episodes=2, keep_checkpoints=0)
    (Path("run") / "tables.npz").write_bytes(b"")
    before = (Path("run") / "run.json").read_bytes()
    with pytest.raises(ConfigError, match=r"tables\.npz: got 'a damaged file'; restore it or train again"):
        ks.resume("run")
    assert (Path("run") / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("sources", None),
        ("sources", {"run": None}),
        ("sources", {"run": {"steps": 3}}),
        ("sources", {"run": {}, "agent": 1}),
        ("begun_for", None),
        ("begun_for", "100"),
        ("command", {"a": 1}),
        ("init_from", {"a": 1}),
        ("sweep", True),
    ],
)
def test_an_edited_configuration_is_one_line(part, value):
    ks.train("q_learning", "GridWorld-v0", steps=100, out="run", eval_episodes=0)
    path = Path("run/config.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {part: value}))
    for look in (lambda: ks.resume("run", steps=200), lambda: ks.load_policy("run")):
        with pytest.raises(ConfigError, match=rf"^{part} in run/config.json: got "):
            look()


def test_runs_that_is_no_folder_is_named():
    Path("runs").symlink_to("/nowhere/at/all")
    with pytest.raises(ConfigError, match=r"^out: got 'runs'; name a folder that can be written"):
        ks.train("q_learning", "GridWorld-v0", steps=100)
