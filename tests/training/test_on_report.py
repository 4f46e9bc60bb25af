"""A function that is told each report: what it sees, how it stops a run, and what becomes of what it raises."""

import json
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.training.io import checkpoints
from kousoku.training.io.files import Location, refusals_explained
from kousoku.training.metrics import loggers
from kousoku.training.metrics.report import check_on_report

ASKED = {"steps": 600, "record_every": 100, "eval_episodes": 2}
OF = ("q_learning", "GridWorld-v0")


def train(out="run", **changes):
    return ks.train(*OF, out=out, **(ASKED | changes))


def same(run, other):
    """The bits of two runs' ends are equal."""
    for group in ("curves", "tables", "evaluation"):
        mine, its = getattr(run.record, group), getattr(other.record, group)
        assert mine.keys() == its.keys()
        for name in mine.keys() - {"seconds"}:
            np.testing.assert_array_equal(mine[name], its[name], err_msg=name)
    ends = [checkpoints.newest(each.path) for each in (run, other)]
    for path, one, two in zip(ends[0].paths, ends[0].leaves, ends[1].leaves, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=path)


def test_it_is_told_each_report_as_the_curves_hold_it():
    told = []
    run = train(on_report=told.append, seeds=2, sweep={"epsilon": [0.1, 0.5]}, eval_every=300)
    assert [report.step for report in told] == [100, 200, 300, 400, 500, 600]
    assert [report.seconds for report in told] == run.curves["seconds"].tolist()
    for i, report in enumerate(told):
        names = {"episodes", "length", "return", "reward", "td_error"}
        evaluated = report.step in (300, 600)
        assert set(report.members) == names | ({"eval_return", "eval_length"} if evaluated else set())
        assert set(report.means) == set(report.members) - {"episodes"}
        for name in names:
            np.testing.assert_array_equal(report.members[name], run.curves[name][i], err_msg=name)
        mean = np.float64(report.members["reward"]).mean()
        assert isinstance(report.means["reward"], float)
        assert report.means["reward"] == pytest.approx(mean)
        assert (report.evaluation is not None) == evaluated
    played, evaluated = told[-1].evaluation.episode_return, run.record.evaluation["return"]
    np.testing.assert_array_equal(played, evaluated[:, : played.shape[1]])
    assert evaluated.shape == (4, 2 * played.shape[1])
    np.testing.assert_array_equal(told[-1].members["eval_return"], run.curves["eval_return"][-1])
    assert repr(told[0]).startswith("<Report at step 100: return ")
    assert "\n" not in repr(told[0])


@pytest.mark.full("covered")
def test_a_mean_that_nobody_knows_is_nan():
    told = []
    train(out="", on_report=told.append, steps=20, record_every=10, eval_episodes=0)
    assert np.isnan(told[0].means["return"])


def test_it_cannot_change_what_was_recorded():
    def change(report):
        report.members["return"][:] = 7.0

    with pytest.raises(ValueError, match="read-only"):
        train(out="", on_report=change)


@pytest.mark.by_default("bool1")
@pytest.mark.parametrize("true", [True, np.True_, jnp.array(True)], ids=lambda value: type(value).__name__)
def test_true_stops_it_and_all_is_saved(true):
    run = train(on_report=lambda report: true if report.step == 300 else None)
    facts = run.record.facts
    assert (facts["status"], facts["steps"], run.interrupted, run.stopped_by) == ("interrupted", 300, True, None)
    assert run.record.evaluation["return"].shape == (1, 2)
    assert run.report.is_file()
    assert checkpoints.last_step(run.path) == 300
    assert ks.load("run").interrupted


@pytest.mark.by_default("[[]True]")
@pytest.mark.parametrize("other", [None, False, np.False_, 1, "stop", [True]], ids=repr)
def test_nothing_else_stops_it(other):
    assert train(out="", on_report=lambda report: other).record.facts["status"] == "finished"


def test_at_the_last_report_there_is_nothing_left_to_stop():
    assert train(out="", on_report=lambda report: report.step == 600).record.facts["status"] == "finished"


@pytest.mark.full("covered")
@pytest.mark.parametrize("loop", ["compiled", "python"])
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(loop):
    asked = {"loop": loop, "steps": 120, "record_every": 20, "eval_every": 40, "seeds": 2}
    train(on_report=lambda report: report.step == 40, **asked)
    told = []

    def again(report):
        told.append(report.step)
        return report.step == 80

    assert ks.resume("run", on_report=again).record.facts["steps"] == 80
    assert told == [60, 80]
    run = ks.resume("run")
    assert run.record.facts["resumed_at"] == [40, 80]
    same(run, train(out="whole", **asked))


def test_it_changes_no_bit_of_a_run():
    same(train(on_report=lambda report: None, eval_every=300), train(out="whole", eval_every=300))


def test_it_is_not_kept():
    train(on_report=lambda report: True)
    assert "on_report" not in json.loads(Path("run/config.json").read_text())


class Mistake(Exception):
    """The user's own."""


def fail_at(step):
    def on_report(report):
        if report.step == step:
            raise Mistake("of mine")

    return on_report


@pytest.mark.full("covered")
def test_what_it_raises_goes_on_when_all_is_saved():
    with pytest.raises(Mistake) as raised:
        train(on_report=fail_at(300))
    assert str(raised.value) == "of mine"
    run = raised.value.run
    assert (run.record.facts["status"], run.record.facts["steps"]) == ("interrupted", 300)
    assert run.report.is_file()
    assert raised.traceback[-1].name == "on_report"
    line = "kousoku: on_report raised this at step 300; kousoku.resume('run') goes on with it"
    assert raised.value.__notes__ == [line]
    assert ks.load("run").record.evaluation["return"].shape == (1, 2)
    same(ks.resume("run"), train(out="whole"))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_ends_python_ends_it_when_all_is_saved(error, capsys):
    def on_report(report):
        if report.step == 300:
            raise error

    with pytest.raises(type(error)) as raised:
        train(on_report=on_report)
    assert raised.value is error
    told = f"kousoku: stopped by {type(error).__name__} at step 300; kousoku.resume('run') goes on with it\n"
    assert capsys.readouterr().err == told
    assert (ks.load("run").record.facts["status"], ks.load("run").record.facts["steps"]) == ("interrupted", 300)


def test_what_never_runs_is_refused():
    async def waiting(report): ...

    def giving(report):
        yield report

    async def both(report):
        yield report

    for function in (waiting, giving, both):
        with pytest.raises(ks.ConfigError, match=r"on_report: got <function .*; give a plain function: what an async"):
            train(on_report=function)


@pytest.mark.parametrize(
    ("out", "step", "told"),
    [("", 300, "at step 300; nothing of it was saved"), ("run", 600, "at step 600; all of it is in 'run'")],
)
def test_what_it_raises_says_where_the_run_is(out, step, told):
    with pytest.raises(Mistake) as raised:
        train(out=out, on_report=fail_at(step))
    assert raised.value.__notes__ == [f"kousoku: on_report raised this {told}"]


@pytest.mark.by_default("True")
@pytest.mark.parametrize("fails", [True, False])
def test_loggers_are_told_that_it_failed(monkeypatch, fails):
    closed = []
    monkeypatch.setattr(loggers.JsonLines, "close", lambda log, failed: closed.append(failed) or log._file.close())
    if fails:
        with pytest.raises(Mistake):
            train(on_report=fail_at(300))
    else:
        train(on_report=lambda report: True)
    assert closed == [fails]


@pytest.mark.full("covered")
def test_the_folder_is_free_again_after_it_failed():
    with pytest.raises(Mistake):
        train(on_report=fail_at(100))
    with pytest.raises(Mistake):
        ks.resume("run", on_report=fail_at(200))
    assert ks.resume("run").record.facts["resumed_at"] == [100, 200]


def test_the_working_folder_may_change_meanwhile(tmp_path, monkeypatch):
    """All of the run is where it began, and its checkpoints, lock and report with it."""
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)

    def move(report):
        monkeypatch.chdir(tmp_path)

    run = train(on_report=move, checkpoint_every=100, eval_every=100, log=["tensorboard"], sweep={"epsilon": [0.1, 1]})
    assert run.path == there / "run"
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    found = {path.name for path in run.path.iterdir()}
    assert {"checkpoints", "run.json", "tables.npz", "report.html", "tensorboard"} <= found
    assert not {"lock", "lock.json"} & found
    assert str(tmp_path) not in "".join((run.path / name).read_text() for name in ("config.json", "run.json"))
    monkeypatch.chdir(there)
    assert (str(run.path), str(run.report)) == ("run", str(Path("run") / "report.html"))


def test_a_run_is_found_from_another_working_folder(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    run = train()
    assert str(run.path) == "run"
    began = Path.cwd()
    monkeypatch.chdir(tmp_path / "other")
    assert run.path == began / "run"
    assert ks.load(run).path == ks.resume(run, steps=700).path == began / "run"
    assert not list(Path().iterdir())


def test_a_run_folder_that_is_removed_meanwhile_is_told():
    with pytest.raises(FileNotFoundError, match=r"No such file or directory; the run folder is gone, and all that was"):
        train(on_report=lambda report: shutil.rmtree("run", ignore_errors=True))


def test_what_is_left_is_told_of_a_file_in_the_folder_alone(tmp_path):
    place = Location.of(tmp_path)
    for file, told in (("own", "[Errno 2] no; a checkpoint"), ("../else", "[Errno 2] no")):
        with pytest.raises(FileNotFoundError) as caught, refusals_explained(place, lambda: "a checkpoint"):
            raise FileNotFoundError(2, "no", str((tmp_path / file).resolve()))
        assert str(caught.value).startswith(f"{told}: ")


@pytest.mark.parametrize("wrong", [7, "print", [print]])
def test_what_is_no_function_is_one_line(wrong):
    with pytest.raises(ks.ConfigError, match=r"^on_report: got .*; give a function of one report, or None$"):
        check_on_report(wrong)


@pytest.mark.parametrize("wrong", [lambda: None, lambda a, b: None, lambda *, report: None])
def test_what_does_not_take_a_report_is_refused_before_anything_is_written(wrong):
    with pytest.raises(ks.ConfigError, match=r"^on_report: got '<lambda>\(.*\)'; use a function of \(report\)$"):
        train(on_report=wrong)
    assert not Path("run").exists()


@pytest.mark.parametrize("right", [None, print, lambda report, more=1: None, [].append])
def test_what_takes_a_report_is_right(right):
    check_on_report(right)
