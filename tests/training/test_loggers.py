"""Reports for TensorBoard and for Weights & Biases."""

import contextlib
import json
import struct
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboardX.proto.event_pb2 import Event

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.training.config import TrainConfig
from kousoku.training.io.run_progress import RunProgress
from kousoku.training.metrics import loggers

SETTINGS: dict[str, Any] = {"steps": 400, "record_every": 100, "eval_every": 200, "eval_episodes": 2}


def events(folder):
    """The events of every file of a folder, as TFRecords hold them: length, checksum, bytes, checksum."""
    for path in sorted(folder.glob("events*")):
        content, at = path.read_bytes(), 0
        while at < len(content):
            (size,) = struct.unpack_from("<Q", content, at)
            yield Event.FromString(content[at + 12 : at + 12 + size])
            at += 12 + size + 4


def scalars(folder):
    """{(step, tag): value} as TensorBoard shows it: what was logged from a purged step on is dropped."""
    found = {}
    for event in events(folder):
        if event.HasField("session_log"):
            found = {key: value for key, value in found.items() if key[0] < event.step}
        for value in event.summary.value:
            if value.HasField("simple_value"):
                found[event.step, value.tag] = value.simple_value
    return found


def rows(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def told(row):
    """What of a metrics line is a curve with a value there."""
    return {k: v for k, v in row.items() if k not in ("step", "points") and v is not None}


class FakeWandb:
    """Notes what is asked of wandb."""

    errors = SimpleNamespace(Error=type("Error", (Exception,), {}))

    def __init__(self, refusal=None):
        self.refusal, self.begun, self.logged, self.ended = refusal, [], [], []

    def init(self, **settings):
        if self.refusal:
            raise self.errors.Error(self.refusal)
        self.begun.append(settings)
        return SimpleNamespace(
            log=lambda row, step: self.logged.append((step, row)),
            finish=lambda exit_code: self.ended.append(exit_code),
        )


@pytest.fixture
def wandb(monkeypatch):
    with replaced_wandb() as fake:
        yield fake


@contextlib.contextmanager
def replaced_wandb():
    with pytest.MonkeyPatch.context() as patch:
        fake = FakeWandb()
        patch.setitem(sys.modules, "wandb", fake)
        patch.setattr(loggers.importlib.util, "find_spec", lambda name: name)
        patch.delenv("WANDB_PROJECT", raising=False)
        yield fake


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A sweep, logged everywhere, that came to its end and was made longer: its folder, and what wandb was told."""
    folder = tmp_path_factory.mktemp("logged") / "mine"
    with replaced_wandb() as fake:
        sweep = {"discount": [0.5, 0.75]}
        ks.train("q_learning", "GridWorld-v0", sweep=sweep, out=str(folder), log=["tensorboard", "wandb"], **SETTINGS)
        ks.resume(folder, steps=600)
    return folder, fake


class TestTensorBoard:
    def test_it_holds_the_metrics_file(self, logged):
        folder, _ = logged
        wanted = {(row["step"], name): value for row in rows(folder) for name, value in told(row).items()}
        found = scalars(folder / "tensorboard")
        assert found == pytest.approx(wanted, rel=1e-6)
        assert {"eval/episodic_return", "charts/reward", "losses/td_error", "charts/SPS"} <= {tag for _, tag in found}
        assert {step for step, _ in found} == {100, 200, 300, 400, 500, 600}

    def test_each_point_of_a_sweep_is_a_curve_of_its_own(self, logged):
        folder, _ = logged
        for i, value in enumerate((0.5, 0.75)):
            found = scalars(folder / "tensorboard" / f"discount={value}")
            assert found[600, "losses/td_error"] == pytest.approx(rows(folder)[-1]["points"][i]["losses/td_error"])

    def test_a_run_that_begins_again_drops_all(self, tmp_path):
        for value in (1.0, 2.0):
            log = loggers.TensorBoard(tmp_path, {}, 0)
            log._options["filename_suffix"] = f".{value}"  # in life there are seconds between the two names
            log.write({"step": 100 * int(value), "charts/reward": value})
            log.close(failed=False)
        assert scalars(tmp_path / "tensorboard") == {(200, "charts/reward"): 2.0}

    def test_what_was_logged_after_the_step_to_go_on_from_is_purged(self, tmp_path):
        first = loggers.TensorBoard(tmp_path, {}, 0)
        for step in (100, 200):
            first.write({"step": step, "charts/reward": float(step)})
        first.close(failed=True)
        second = loggers.TensorBoard(tmp_path, {}, 100)
        second.write({"step": 300, "charts/reward": 3.0})
        second.close(failed=False)
        assert {step for step, _ in scalars(tmp_path / "tensorboard")} == {100, 300}


def test_settings_that_agree_in_six_digits_have_names_of_their_own():
    points = [{"rate": rate, "epsilon": 0.1, "charts/reward": 0.5} for rate in (0.1234561, 0.1234562)]
    labels = [label for label, _ in loggers.by_point({"step": 1, "points": points})]
    assert labels == ["", "rate=0.1234561, epsilon=0.1", "rate=0.1234562, epsilon=0.1"]


class TestWandb:
    def test_it_is_told_the_reports(self, logged):
        folder, wandb = logged
        assert [step for step, _ in wandb.logged] == [100, 200, 300, 400, 500, 600]
        whole = [{name: v for name, v in row.items() if not name.startswith("discount=")} for _, row in wandb.logged]
        assert whole == [told(row) for row in rows(folder)]
        last, point = wandb.logged[-1][1], rows(folder)[-1]["points"][1]
        assert last["discount=0.75/losses/td_error"] == point["losses/td_error"]
        assert wandb.ended == [0, 0]

    def test_a_resumed_run_is_the_same_run_there(self, logged):
        begun, again = logged[1].begun
        assert (begun["project"], begun["name"], begun["resume"]) == ("kousoku", "mine", "allow")
        assert begun["config"]["agent"]["id"] == "q_learning"
        assert begun["id"] == again["id"]

    def test_two_runs_are_two_runs_there(self, tmp_path, wandb):
        for name in ("one", "other"):
            loggers.Wandb(tmp_path / name, {}, "2026-11-22T03:00:00+00:00")
        one, other = wandb.begun
        assert one["id"] != other["id"]

    def test_where_it_refuses_the_reason_is_told(self, tmp_path, wandb):
        wandb.refusal = "not logged in\nmore"
        with pytest.raises(ConfigError, match=r"log: got 'wandb'; not logged in \(wandb login, or"):
            ks.train("q_learning", "GridWorld-v0", out=str(tmp_path), log=["wandb"], **SETTINGS)

    def test_it_is_told_of_a_run_that_failed(self, tmp_path, wandb):
        with pytest.raises(RuntimeError), loggers.Loggers(["wandb"], tmp_path, {}, RunProgress(), b""):
            raise RuntimeError
        assert wandb.ended == [1]

    @pytest.mark.full("covered")
    def test_a_run_that_is_no_longer_finite_has_failed(self, tmp_path, wandb, monkeypatch):
        monkeypatch.setattr("kousoku.training.loop.host._failure", lambda *given: "the reward became nan")
        ks.train("q_learning", "GridWorld-v0", out=str(tmp_path), log=["wandb"], **SETTINGS)
        assert [step for step, _ in wandb.logged] == [100]
        assert wandb.ended == [1]


class TestBadInput:
    @pytest.mark.parametrize("names", [["tensorboad"], "wandb", ["wandb", "wandb"]])
    def test_names(self, names):
        with pytest.raises(ConfigError, match="log: got"):
            TrainConfig(log=names)

    def test_what_is_not_installed_is_told_before_a_folder_is_made(self, tmp_path, monkeypatch):
        monkeypatch.setattr(loggers.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ConfigError, match=r"pip install 'kousoku\[wandb\]'"):
            ks.train("q_learning", "GridWorld-v0", out=str(tmp_path / "run"), log=["wandb"], **SETTINGS)
        assert list(tmp_path.iterdir()) == []

    def test_a_run_that_is_not_saved_has_no_place_for_it(self):
        with pytest.raises(ConfigError, match="name one with out="):
            ks.train("q_learning", "GridWorld-v0", out="", log=["tensorboard"], **SETTINGS)
