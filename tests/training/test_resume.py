"""A run that was stopped, killed or damaged ends with the bits of one that never was."""

import contextlib
import dataclasses
import json
import os
import platform
import shutil
import signal
import textwrap
from pathlib import Path

import jax
import numpy as np
import pytest
from fast_compile import fast_compile_flags
from forked import forked
from same_runs import TIMES, lines, same

import kousoku as ks
from kousoku import api
from kousoku.cli import main
from kousoku.core import whole_file
from kousoku.core.errors import ConfigError, RunWarning
from kousoku.nn import ActorCriticConfig, head_for
from kousoku.training.config import TrainConfig
from kousoku.training.guards.interrupt import left_to_caller
from kousoku.training.io import checkpoints, files, provenance
from kousoku.training.io.folder_lock import HELD, LOCK, locked
from kousoku.training.io.run_folder import digest_of
from kousoku.training.loop import host, program, results, train
from kousoku.training.loop.make_loop import check_goal

ASKED = {
    "steps": 900, "seeds": 3, "record_every": 100, "eval_episodes": 2, "eval_every": 300, "checkpoint_every": 200,
    "record": ["returns", "metrics", "visits", "q_values"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _signals_end_no_test():
    """A run that was stopped is looked at here."""
    with left_to_caller():
        yield


def uninterrupted(tmp_path_factory):
    """A run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    ks.train("q_learning", "GridWorld-v0", out=str(folder), **ASKED)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody stopped, for tests whose runs are not filmed."""
    return uninterrupted(tmp_path_factory)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """The same, for tests whose runs are."""
    return uninterrupted(tmp_path_factory)


class Killed(BaseException):
    """What ends a run at once, as far as this process can."""


@contextlib.contextmanager
def stopping(monkeypatch, block, how):
    """A run within is stopped after so many reports, just before the last of them, by a signal or at once."""
    advance, calls = host._advance, []

    def counted(loop, run, until):
        advance(loop, run, until)
        if run.progress.step >= until:
            calls.append(1)
            if len(calls) == block:
                how()

    with monkeypatch.context() as patch:
        patch.setattr(host, "_advance", counted)
        yield


def stopped(monkeypatch, block, how, folder="run", of=("q_learning", "GridWorld-v0"), **changes):
    """Begin the same run and stop it."""
    with stopping(monkeypatch, block, how):
        return ks.train(*of, out=folder, **{**ASKED, **changes})


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


def kill():
    raise Killed


@pytest.mark.slow_because("the whole run that others are compared with")
def test_a_stopped_run_ends_as_the_uninterrupted_one(monkeypatch, whole):
    assert stopped(monkeypatch, 4, terminate).stopped_by == signal.SIGTERM
    assert ks.load("run").interrupted
    run = api.resume("run")
    assert run.record.facts["resumed_at"] == [400]
    same("run", whole)


@pytest.mark.full("more cases")
@pytest.mark.parametrize("how", [terminate, kill])
def test_a_stopped_agent_that_learns_from_rollouts_ends_as_the_uninterrupted_one(monkeypatch, how):
    """With all that it has: networks, Adam's moments, running moments, memories, environments within their episodes."""
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, epochs=2, hidden=(8,), recurrent="gru")
    asked = {"steps": 320, "seeds": 2, "record_every": 64, "eval_every": 128, "checkpoint_every": 64}
    asked["record"] = ["returns"]
    ks.train(agent, "Pendulum-v1", out="whole", **(ASKED | asked))
    with contextlib.suppress(Killed):
        stopped(monkeypatch, 3 if how is kill else 2, how, of=(agent, "Pendulum-v1"), **asked)
    assert api.resume("run").record.facts["resumed_at"] == [128]
    same("run", "whole")


@pytest.mark.full("more cases")
@pytest.mark.parametrize("how", [terminate, kill])
def test_a_stopped_agent_with_a_prioritised_buffer_ends_as_the_uninterrupted_one(monkeypatch, how):
    """With its buffer, which has gone round, and the priorities of what is in it."""
    sizes = {"num_envs": 4, "capacity": 100, "learning_starts": 32, "batch_size": 8, "gradient_steps": 2}
    agent = ks.make_agent("dqn", **sizes, hidden=(8,), init="lecun_normal", prioritised=True, n_step=3)
    asked = {"steps": 320, "seeds": 2, "record_every": 64, "eval_every": 128, "checkpoint_every": 64}
    asked["record"] = ["returns", "metrics"]
    ks.train(agent, "CartPole-v1", out="whole", **(ASKED | asked))
    with contextlib.suppress(Killed):
        stopped(monkeypatch, 3 if how is kill else 2, how, of=(agent, "CartPole-v1"), **asked)
    assert api.resume("run").record.facts["resumed_at"] == [128]
    same("run", "whole")
    trees = [leaf for path, leaf in zip(*kept_at_the_end("run"), strict=True) if path.endswith("trees")]
    assert [leaf.shape for leaf in trees] == [(2, 4, 50)]
    assert len(np.unique(trees[0][..., 25:])) > 50


def kept_at_the_end(folder):
    """Paths and leaves of the last checkpoint."""
    newest = checkpoints.newest(Path(folder))
    return newest.paths, newest.leaves


@pytest.mark.full("covered")
def test_it_may_stop_between_two_reports_and_go_on_there(monkeypatch, whole):
    """The report made for the stopped run is made again, of all its steps."""
    advance = host._advance

    def stop_at_252(loop, run, until):
        advance(loop, run, until)
        if run.progress.step == 252:
            terminate()

    with monkeypatch.context() as patch:
        patch.setattr(program, "STEPWISE_CALL", 105)
        patch.setattr(host, "BLOCK_SECONDS", 1e6)
        patch.setattr(host, "_advance", stop_at_252)
        assert ks.train("q_learning", "GridWorld-v0", out="run", **ASKED).record.facts["steps"] == 252
    assert [line["step"] for line in lines("run")] == [100, 200, 252]
    assert api.resume("run").record.facts["resumed_at"] == [252]
    same("run", whole)


def test_a_killed_run_goes_on_from_its_last_checkpoint(monkeypatch, whole):
    with pytest.raises(Killed):
        stopped(monkeypatch, 6, kill)
    with (Path("run") / "metrics.jsonl").open("a") as file:
        file.write('{"step": 600, "torn')
    assert api.resume("run").record.facts["resumed_at"] == [400]
    same("run", whole)


@pytest.mark.full("covered")
def test_a_killed_run_is_read_as_its_last_checkpoint_holds_it(monkeypatch):
    """To the bits of a run that was stopped there, whose folder was saved; nothing is written."""
    with pytest.raises(Killed):
        stopped(monkeypatch, 6, kill)
    stopped(monkeypatch, 4, terminate, folder="there")
    before = {path: path.stat().st_mtime_ns for path in Path("run").rglob("*")}
    with pytest.warns(
        RunWarning, match="run has not come to its end: it is read as its checkpoint at step 400 holds it"
    ):
        killed, there = ks.load("run"), ks.load("there")
    assert (killed.record.facts["status"], killed.record.facts["steps"]) == ("unfinished", 400)
    assert not killed.interrupted
    assert killed.record.facts["resumed_at"] == []
    assert killed.record.evaluation == {}
    assert killed.record.curves.keys() == there.record.curves.keys()
    for name in set(killed.record.curves) - set(TIMES):
        np.testing.assert_array_equal(killed.record.curves[name], there.record.curves[name], err_msg=name)
    assert killed.record.tables.keys() == there.record.tables.keys()
    for name, table in killed.record.tables.items():
        np.testing.assert_array_equal(table, there.record.tables[name], err_msg=name)
    played = [run.evaluate(episodes=3).returns for run in (killed, there)]
    np.testing.assert_array_equal(*played)
    assert {path: path.stat().st_mtime_ns for path in Path("run").rglob("*")} == before


@pytest.mark.full("covered")
def test_a_run_that_was_stopped_and_then_killed_is_read_where_it_came_to(monkeypatch):
    """And not where it was stopped, whose files are still there."""
    stopped(monkeypatch, 2, terminate)
    with stopping(monkeypatch, 5, kill), pytest.raises(Killed):
        api.resume("run")
    assert json.loads(Path("run/run.json").read_text())["steps"] == 200
    with pytest.warns(RunWarning, match="at step 600"):
        assert ks.load("run").record.facts["steps"] == 600


@pytest.mark.full("whole way")
def test_the_policy_of_a_killed_run(monkeypatch):
    """With its normalisation; the agent that was best in the last evaluation on the way."""
    asked = {"steps": 640, "record_every": 64, "eval_every": 128, "checkpoint_every": 64, "record": ["returns"]}
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, epochs=2, hidden=(8,))
    with pytest.raises(Killed):
        stopped(monkeypatch, 4, kill, of=(agent, "Pendulum-v1"), **asked)
    there = stopped(monkeypatch, 3, terminate, folder="there", of=(agent, "Pendulum-v1"), **asked)
    with pytest.warns(RunWarning, match="at step 192"):
        killed = ks.load("run")
    assert killed.record.facts["steps"] == there.record.facts["steps"] == 192
    assert killed.record.best_member == np.argmax(killed.record.curves["eval_return"][-1])
    observations = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    for member in range(3):
        np.testing.assert_array_equal(*(ks.load_policy(run, member)(observations) for run in (killed, "there")))
    with pytest.warns(RunWarning, match="at step 192"):
        assert ks.load_policy("run")(observations).shape == (20, 1)


@pytest.mark.filterwarnings("default::kousoku.training.io.checkpoints.RunWarning")
def test_the_report_of_a_run_on_its_way_is_made_anew_at_each_look(monkeypatch, capsys):
    with pytest.raises(Killed):
        stopped(monkeypatch, 6, kill)
    seen = []
    monkeypatch.setattr("kousoku.viz.write_report", lambda record, path: seen.append(record.facts["status"]))
    Path("run/report.html").write_text("an older one")
    assert main(["view", "run", "--no-open"]) == 0
    assert seen == ["unfinished"]
    told = capsys.readouterr()
    assert told.out.strip() == "run/report.html"
    assert told.err == "kousoku: run has not come to its end: it is read as its checkpoint at step 400 holds it\n"


def test_killed_before_its_first_checkpoint_it_begins_again(monkeypatch, whole):
    with pytest.raises(Killed):
        stopped(monkeypatch, 1, kill)
    with pytest.raises(ConfigError, match="did not come to its end; `kousoku resume` goes on"):
        ks.load("run")
    with pytest.warns(RunWarning, match="has no checkpoint: the run begins again from step 0"):
        api.resume("run")
    same("run", whole)


@pytest.mark.full("covered")
def test_a_damaged_checkpoint_is_passed_over_and_made_again(monkeypatch, whole):
    stopped(monkeypatch, 7, terminate)
    found = (file for file in Path("run/checkpoints/000000000700/state").rglob("*") if file.is_file())
    state = max(found, key=lambda file: file.stat().st_size)
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 1
    state.write_bytes(data)
    with pytest.warns(RunWarning, match="000000000700 is damaged"):
        assert api.resume("run").record.facts["resumed_at"] == [600]
    same("run", whole)


@pytest.mark.full("more cases")
def test_it_goes_on_on_another_number_of_devices(monkeypatch, whole):
    stopped(monkeypatch, 4, terminate, devices=2)
    api.resume("run", devices=1)
    same("run", whole, but=("device",))  # which tells how many there were


PPO_OPTIONS = {"num_envs": 8, "num_steps": 8, "minibatches": 2, "epochs": 2, "hidden": (8,)}
ROLLOUTS = {"steps": 320, "seeds": 1, "record_every": 64, "checkpoint_every": 64, "record": ["returns"]}


@pytest.mark.full("more cases")
@pytest.mark.parametrize("devices", [1, 2])
def test_an_agent_that_learns_from_rollouts_goes_on_on_as_many_devices_as_before(monkeypatch, devices):
    """On another number sums are rounded in another way: with a warning, and only if somebody asks for it."""
    of = ks.make_agent("ppo", **PPO_OPTIONS), "Pendulum-v1"
    ks.train(*of, out="whole", devices=devices, **(ASKED | ROLLOUTS))
    stopped(monkeypatch, 2, terminate, of=of, devices=devices, **ROLLOUTS)
    shutil.copytree("run", "other")
    api.resume("run")
    same("run", "whole")
    with pytest.warns(
        RunWarning, match=f"made on {devices} devices?, and here (is|are) {3 - devices}: bits may differ"
    ):
        api.resume("other", devices=3 - devices)


@pytest.mark.full("more cases")
def test_an_agent_that_one_device_was_enough_for_is_evaluated_on_as_many_as_before(monkeypatch):
    """Training may use fewer devices than there are; evaluations share them all."""
    of = ks.make_agent("ppo", **PPO_OPTIONS), "Pendulum-v1"
    ks.train(*of, out="whole", **(ASKED | ROLLOUTS))
    stopped(monkeypatch, 2, terminate, of=of, **ROLLOUTS)
    both = jax.devices() * 2
    monkeypatch.setattr(jax, "devices", lambda: both)
    again, at_once = api.resume("run").record, ks.load("whole").record
    for name, array in at_once.evaluation.items():
        np.testing.assert_array_equal(again.evaluation[name], array, err_msg=name)
    assert lines("run") == lines("whole")
    progress = checkpoints.newest(Path("run")).progress
    assert (progress.devices, progress.available) == (1, 2)


@pytest.mark.full("more cases")
def test_where_there_are_fewer_devices_an_agent_that_learns_from_rollouts_says_so(monkeypatch):
    stopped(monkeypatch, 2, terminate, of=(ks.make_agent("ppo", **PPO_OPTIONS), "Pendulum-v1"), devices=2, **ROLLOUTS)
    here = jax.devices()[:1]
    monkeypatch.setattr(jax, "devices", lambda: here)
    with pytest.warns(RunWarning, match="made on 2 devices, and here is 1"):
        assert api.resume("run").record.facts["steps"] == 320


@pytest.mark.full("covered")
def test_a_finished_run_says_so_and_can_be_made_longer(whole, tmp_path):
    shutil.copytree(whole, "run")
    with pytest.raises(ConfigError, match="it has come to its end, 900 steps; ask for more steps"):
        api.resume("run")
    with pytest.raises(ConfigError, match="resume: got 'run'; it has come to its end, 900 steps"):
        api.resume("run", steps=500)
    longer = api.resume("run", steps=1300)
    assert longer.record.config["steps"] == 1300
    at_once = ks.train("q_learning", "GridWorld-v0", out="", **{**ASKED, "steps": 1300})
    np.testing.assert_array_equal(longer.q_values, at_once.q_values)
    for name in set(at_once.curves) - set(TIMES):
        rows = at_once.curves[name]
        np.testing.assert_array_equal(longer.curves[name], rows)


def test_a_run_may_be_given_a_smaller_goal_down_to_where_it_is(monkeypatch):
    stopped(monkeypatch, 4, terminate)
    with pytest.raises(ConfigError, match="steps: got 300; the run is at 400; ask for no fewer"):
        api.resume("run", steps=300)
    shutil.copytree("run", "other")
    assert api.resume("run", steps=400).record.facts["status"] == "finished"
    shorter = api.resume("other", steps=600)
    assert (shorter.record.facts["steps"], shorter.record.config["steps"]) == (600, 600)
    at_once = {end: ks.train("q_learning", "GridWorld-v0", out="", **{**ASKED, "steps": end}) for end in (400, 600)}
    for end, run in ((400, ks.load("run")), (600, shorter)):
        np.testing.assert_array_equal(run.q_values, at_once[end].q_values)
        np.testing.assert_array_equal(run.record.evaluation["return"], at_once[end].record.evaluation["return"])


@pytest.mark.films
@pytest.mark.by_default("3")
@pytest.mark.parametrize("keep", [3, 0])
def test_killed_before_it_is_evaluated_a_run_is_unfinished_and_what_is_missing_is_made(monkeypatch, filmed, keep):
    with monkeypatch.context() as patch:
        patch.setattr(results, "_evaluated", lambda *args: kill())
        with pytest.raises(Killed):
            ks.train("q_learning", "GridWorld-v0", out="run", **ASKED, keep_checkpoints=keep)
    with pytest.warns(RunWarning, match="has not come to its end" if keep else "was ended before it was evaluated"):
        run = ks.load("run")
    assert run.record.facts["status"] == "unfinished"
    np.testing.assert_array_equal(run.q_values, ks.load(filmed).q_values)
    with pytest.warns(RunWarning, match="begins again from step 0") if not keep else contextlib.nullcontext():
        made = api.resume("run")
    assert made.record.facts["status"] == "finished"
    assert made.record.film is not None
    assert made.report.is_file()
    np.testing.assert_array_equal(made.record.evaluation["return"], ks.load(filmed).record.evaluation["return"])


ITERATIONS = {
    "rollouts": ("ppo", {"num_envs": 4, "num_steps": 16, "minibatches": 2, "epochs": 1, "hidden": (8,)}, 130, 192),
    "replay": ("dqn", {"num_envs": 4, "capacity": 64, "learning_starts": 32, "batch_size": 8, "hidden": (8,)}, 66, 68),
    "generations": ("ars", {"num_directions": 2}, 50, 80),
}


@pytest.mark.by_default("generations")
@pytest.mark.parametrize("kind", ITERATIONS)
def test_killed_at_its_end_a_run_whose_steps_are_no_whole_iterations_is_evaluated(monkeypatch, kind):
    """The last iteration goes beyond the steps that were asked for, which stay as they were asked for."""
    id, options, steps, reached = ITERATIONS[kind]
    env = ks.make("CartPole-v1", time_limit=10)
    with monkeypatch.context() as patch:
        patch.setattr(results, "_evaluated", lambda *args: kill())
        with pytest.raises(Killed):
            ks.train(ks.make_agent(id, **options), env, out="run", steps=steps, eval_episodes=1)
    assert checkpoints.last_step(Path("run")) == reached
    made = api.resume("run", env=env)
    assert (made.record.facts["steps"], made.record.facts["status"]) == (reached, "finished")
    assert made.record.config["steps"] == steps
    assert made.report.is_file()


@pytest.mark.parametrize("kind", ITERATIONS)
def test_a_goal_is_refused_where_its_last_iteration_ends_before_the_run_is(kind):
    id, options, steps, reached = ITERATIONS[kind]
    agent = ks.make_agent(id, **options).for_env(ks.make("CartPole-v1", time_limit=10).spec)
    check_goal(agent, steps, reached)
    with pytest.raises(ConfigError, match=f"the run is at {reached}; ask for no fewer"):
        check_goal(agent, reached - agent.learns_from.iteration_steps, reached)


def test_a_report_that_is_missing_is_made(whole):
    shutil.copytree(whole, "run")
    (Path("run") / "report.html").unlink()
    files.write_json(Path("run") / LOCK, {"pid": 7, "host": platform.node()})  # of one that was killed just then
    (Path("run") / HELD).touch()
    assert api.resume("run").report.is_file()
    assert not any((Path("run") / name).exists() for name in (LOCK, HELD))
    with pytest.raises(ConfigError, match="it has come to its end"):
        api.resume("run")


@pytest.mark.full("covered")
def test_evaluating_during_training_changes_no_bit_of_it(whole):
    ks.train("q_learning", "GridWorld-v0", out="without", **{**ASKED, "eval_every": None})
    with_it, without = (checkpoints.newest(folder) for folder in (whole, Path("without")))
    for path, one, two in zip(with_it.paths, with_it.leaves, without.leaves, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=path)
    run = ks.load(whole)
    np.testing.assert_array_equal(run.curves["eval_step"], [300, 600, 900])
    assert run.curves["eval_return"].shape == (3, 3)
    np.testing.assert_array_equal(run.curves["eval_return"][-1], run.record.evaluation["return"].mean(axis=1))
    at = [line["step"] for line in lines(whole) if "eval/episodic_return" in line]
    assert at == [300, 600, 900]
    for name in ("return", "length", "truncated"):
        np.testing.assert_array_equal(run.record.evaluation[name], ks.load("without").record.evaluation[name])


@pytest.mark.full("more cases")
def test_evaluating_changes_no_bit_of_an_agent_that_learns_from_rollouts():
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=2, epochs=2, hidden=(8,), recurrent="gru")
    asked = {"steps": 320, "seeds": 2, "record_every": 64, "record": ["returns"]}
    runs = [
        ks.train(agent, "Pendulum-v1", out=name, **{**ASKED, **asked, "eval_every": every})
        for name, every in (("with", 64), ("without", None))
    ]
    with_it, without = (checkpoints.newest(Path(name)) for name in ("with", "without"))
    for path, one, two in zip(with_it.paths, with_it.leaves, without.leaves, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=path)
    assert len(runs[0].curves["eval_step"]) == 5
    np.testing.assert_array_equal(*(run.record.evaluation["return"] for run in runs))


def test_other_versions_are_told_on_one_line(monkeypatch):
    stopped(monkeypatch, 2, terminate)
    now = provenance.versions()
    monkeypatch.setattr(provenance, "versions", lambda: {**now, "kousoku": "9.9"})
    with pytest.warns(RunWarning, match=r"made by other versions \(kousoku 0.1.0, here 9.9\): bits may differ"):
        api.resume("run")


def edited(folder, change):
    """Changes what a run was asked to do, as by hand."""
    file = Path(folder) / "config.json"
    asked = json.loads(file.read_text())
    change(asked)
    file.write_text(json.dumps(asked))


def test_a_configuration_that_is_not_the_one_of_the_checkpoint_is_told(monkeypatch):
    """One that was edited, and checkpoints of another run; not what a resumed run may change, nor a former one."""
    stopped(monkeypatch, 2, terminate)
    place = files.Location.of("run")
    assert train._last_checkpoint(place).progress.step == 200
    edited("run", lambda asked: asked.update(steps=1200, record_every=50, command="kousoku train", sources={}))
    assert train._last_checkpoint(place).progress.step == 200
    edited("run", lambda asked: asked["agent"].update(learning_rate=0.9))
    with pytest.warns(RunWarning, match=r"^run.config\.json is not what this checkpoint was made with, at step 200: "):
        saved = train._last_checkpoint(place)
    shutil.rmtree("run/checkpoints")
    checkpoints.save(Path("run"), dataclasses.replace(saved, asked=None), 1)
    assert train._last_checkpoint(place).asked is None


def test_the_digest_is_of_what_decides_and_has_no_warning_of_its_own():
    env = {"id": "Mine", "registered": False, "code": "a", "functions": None, "fields": {"slip": 0.1}}
    data = {"path": "here.npz", "hash": "f00", "transitions": 9}
    asked = {"agent": {"id": "bc", "dataset": data}, "env": env, "seeds": 1, "limit": float("inf")}
    found = digest_of(asked)
    moved = {"agent": {"dataset": {**data, "path": "there.npz"}, "id": "bc"}}
    assert digest_of(asked | moved) == digest_of(asked | {"env": env | {"code": "b"}}) == found
    for other in ({"seeds": 2}, {"env": env | {"fields": {"slip": 0.2}}}, {"limit": 1.0}):
        assert digest_of(asked | other) != found


GENERATORS = {
    "jax_threefry_partitionable": (False, "generator threefry2x32, here threefry2x32, not partitionable"),
    "jax_default_prng_impl": ("rbg", "generator threefry2x32, here rbg"),
    "jax_default_matmul_precision": ("float32", "products default, here float32"),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_another_configuration_of_jax_is_told_and_former_checkpoints_do_not_know(name):
    versions = provenance.made_by()
    value, told = GENERATORS[name]
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        with pytest.warns(RunWarning, match=rf"made by other versions \({told}\): bits may differ"):
            train._warn_other_versions(versions)
        train._warn_other_versions(provenance.versions())
    finally:
        jax.config.update(name, before)
    train._warn_other_versions(versions)


def test_kernels_that_were_switched_since_are_told():
    versions = provenance.made_by()
    with ks.use_kernels(False), pytest.warns(RunWarning, match=r"\(kernels on, here off\)"):
        train._warn_other_versions(versions)


def test_another_device_is_told():
    versions = provenance.made_by()
    assert versions["device"] == "cpu"
    with pytest.warns(RunWarning, match=r"\(device gpu \(NVIDIA H100\), here cpu\)"):
        train._warn_other_versions(versions | {"device": "gpu (NVIDIA H100)"})


@pytest.mark.full("covered")
def test_what_cannot_be_rebuilt_is_refused_and_may_be_given(monkeypatch):
    env = ks.gridworld("S.G")
    ks.train("q_learning", env, steps=100, out="mine")
    with pytest.raises(ConfigError, match="it was made in Python and has no id"):
        api.resume("mine", steps=200)
    assert api.resume("mine", steps=200, env=env).record.facts["steps"] == 200
    with pytest.raises(ConfigError, match=r"env's tables: .*; the run was started with"):
        api.resume("mine", steps=300, env=ks.gridworld("S..G"))
    with pytest.raises(ConfigError, match="env: got 'CartPole'; the run was started with GridWorld"):
        api.resume("mine", steps=300, env=ks.make("CartPole-v1"))
    other = ks.make_agent("q_learning", learning_rate=0.9)
    with pytest.raises(ConfigError, match="the run was started with"):
        api.resume("mine", steps=300, env=env, agent=other)


def test_two_in_one_folder_are_one_too_many(whole):
    shutil.copytree(whole, "run")
    with locked(Path("run")), pytest.raises(ConfigError, match=f"process {os.getpid()} is at work in it"):
        api.resume("run", steps=1000)
    files.write_json(Path("run") / LOCK, {"pid": os.getpid(), "host": platform.node()})  # of one that died
    assert api.resume("run", steps=1000).record.facts["steps"] == 1000
    assert not (Path("run") / LOCK).exists()


def test_a_full_disk_stops_the_run_and_it_can_be_resumed(monkeypatch, whole, capsys):
    flush = whole_file.flush

    def full(path):
        if "000000000600" in str(path):
            raise OSError(28, "No space left on device")
        flush(path)

    with monkeypatch.context() as patch:
        patch.setattr(whole_file, "flush", full)
        assert main(BEGIN) == 1
    left = "No space left on device; the run can be resumed from its last whole checkpoint, at step 400"
    assert capsys.readouterr().err == f"kousoku: {Path('run/checkpoints/000000000600')}: {left}\n"
    assert main(["train", "--resume", "run"]) == 0
    same("run", whole)


@pytest.mark.full("covered")
def test_the_shell_resumes_and_says_what_is_wrong_on_one_line(whole, capsys):
    shutil.copytree(whole, "run")
    assert main(["train", "--resume", "run"]) == 2
    assert (
        capsys.readouterr().err == "kousoku: resume: got 'run'; it has come to its end, 900 steps; ask for more steps\n"
    )
    shutil.rmtree("run/checkpoints/000000000900")
    assert main(["train", "--resume=run", "--steps", "1_000"]) == 0
    assert main(["train", "--resume", "nothing"]) == 2
    assert main(["train", "--resume"]) == 2
    assert main(["train", "--resume", "run", "--seeds", "4"]) == 2
    assert capsys.readouterr().err.count("\n") == 3


@pytest.mark.parametrize(("name", "value"), [("eval_every", 0), ("checkpoint_every", -1), ("keep_checkpoints", -1)])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        TrainConfig(**{name: value})


def test_an_evaluation_needs_episodes():
    with pytest.raises(ConfigError, match="eval_every: got 10; an evaluation needs eval_episodes"):
        TrainConfig(eval_every=10, eval_episodes=0)


def test_no_checkpoints_may_be_asked_for():
    ks.train("q_learning", "GridWorld-v0", steps=100, out="run", keep_checkpoints=0)
    assert not Path("run/checkpoints").exists()


KILLED = """
    import os, signal, sys
    from kousoku.core import whole_file
    from kousoku.training.loop import host
    left = int(sys.argv[1])
    def counting(do):
        def counted(*args, **named):
            global left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return do(*args, **named)
        return counted
    host._advance, whole_file.flush = counting(host._advance), counting(whole_file.flush)
    os.mkdir, os.rename, os.replace = map(counting, (os.mkdir, os.rename, os.replace))  # Orbax's too
    from kousoku.cli import main
    sys.exit(main(sys.argv[2:]))
"""
SETTINGS = (
    "--steps 900 --seeds 3 --record-every 100 --eval-episodes 2 --eval-every 300 --checkpoint-every 200 "
    "--record returns,metrics,visits,q_values --out run"
)
BEGIN = ["train", "q_learning", "GridWorld-v0", *SETTINGS.split(" ")]


NEVER = 0


def killed_at(tmp_path, event, words):
    """Run the shell's words in a process that kills itself with SIGKILL at the nth block, folder, write or move."""
    environment = {**os.environ, "XLA_FLAGS": fast_compile_flags()}
    done = forked(textwrap.dedent(KILLED), str(event), *words, environment=environment, folder=tmp_path)
    assert done.returncode in (-signal.SIGKILL, 0), done.stderr
    return done.returncode == 0


def survives(tmp_path, events, whole):
    """Kill it again and again, wherever the events say; then let it come to its end."""
    words = BEGIN
    for event in events:
        if killed_at(tmp_path, event, words):
            break
        words = ["train", "--resume", "run"]
    else:
        assert main(["train", "--resume", str(tmp_path / "run")]) == 0
    same(tmp_path / "run", whole)


@pytest.mark.full("processes")
def test_killed_at_random_points_it_ends_as_the_uninterrupted_one(tmp_path, whole):
    survives(tmp_path, [int(e) for e in np.random.default_rng(0).integers(12, 150, size=2)], whole)


@pytest.mark.full("processes")
def test_an_agent_that_learns_from_rollouts_that_is_killed_ends_as_the_uninterrupted_one(tmp_path):
    """All three in processes of their own: XLA rounds as its options say, and those of the tests are others."""
    settings = (
        "--num-envs 4 --num-steps 8 --minibatches 2 --epochs 2 --hidden 8 --recurrent gru --steps 320 --seeds 2 "
        "--record-every 64 --eval-episodes 2 --eval-every 128 --checkpoint-every 64 --record returns --out run"
    )
    words = ["train", "ppo", "Pendulum-v1", *settings.split(" ")]
    (tmp_path / "whole").mkdir()
    assert killed_at(tmp_path / "whole", NEVER, words)
    assert not killed_at(tmp_path, 95, words)  # while it writes the checkpoint at 192
    assert killed_at(tmp_path, NEVER, ["train", "--resume", "run"])
    assert ks.load(tmp_path / "run").record.facts["resumed_at"] == [128]
    same(tmp_path / "run", tmp_path / "whole" / "run")


@pytest.mark.films
@pytest.mark.full("processes")
@pytest.mark.parametrize("seed", range(8))
def test_killed_at_many_random_points_it_ends_as_the_uninterrupted_one(tmp_path, filmed, seed):
    survives(tmp_path, [int(e) for e in np.random.default_rng(100 + seed).integers(12, 220, size=3)], filmed)


class TestCheckpoints:
    """Any that was kept can be read, the best one by name."""

    @pytest.mark.full("covered")
    def test_the_best_is_what_was_learned_there(self, whole):
        best = ks.load(whole, checkpoint="best")
        score = {int(f.name): checkpoints.read(f).progress.score for f in (whole / "checkpoints").iterdir()}
        highest = [step for step in sorted(score) if score[step] == max(filter(None, score.values()))]
        assert best.record.facts["steps"] == (900 if 900 in highest else highest[0])
        at = ks.load(whole, checkpoint=600)
        np.testing.assert_array_equal(at.q_values, ks.load(whole).record.tables["q_history"][5])
        assert at.record.facts["status"] == "unfinished"
        assert ks.evaluate(whole, 2, checkpoint=600).returns.tolist() == at.evaluate(2).returns.tolist()
        observations = np.arange(96)
        wanted = at.policy(0)(observations)
        np.testing.assert_array_equal(ks.load_policy(whole, 0, checkpoint=600)(observations), wanted)

    @pytest.mark.parametrize("which", [3, "worst"])
    def test_one_that_there_is_not(self, whole, which):
        with pytest.raises(ConfigError, match=rf"checkpoint: got {which!r}; there are 'best' \(\d+\), .*900"):
            ks.load(whole, checkpoint=which)

    def test_in_the_shell(self, whole, capsys):
        assert main(["evaluate", str(whole), "--episodes", "2", "--checkpoint", "600"]) == 0
        assert "3 agents x 2 greedy episodes" in capsys.readouterr().out
        assert main(["export", str(whole), "--out", "policy.py", "--checkpoint", "best"]) == 0
        assert main(["evaluate", str(whole), "--checkpoint", "last"]) == 2
        assert "--checkpoint: got 'last'; use a number" in capsys.readouterr().err


def own_network(observation_space, action_space, key):
    return ActorCriticConfig(hidden=(8,))(observation_space, action_space, key)


def own_policy(action_space, in_size, key):
    return head_for(action_space, in_size, key=key)


class TestMadeInPython:
    """What has no id is given, and is what the run was started with."""

    @pytest.fixture(params=["network", "policy"])
    def agent(self, request):
        small = {"num_envs": 4, "num_steps": 8, "minibatches": 2}
        if request.param == "policy":
            agent = ks.make_agent("ppo", hidden=(8,), policy=own_policy, **small)
        else:
            agent = ks.make_agent("ppo", network=own_network, **small)
        ks.train(agent, "CartPole-v1", steps=64, out="run", eval_episodes=0)
        return agent

    @pytest.mark.full("more cases")
    def test_it_has_to_be_given(self, agent):
        with pytest.raises(
            ConfigError, match="a function cannot be read from a file; make the agent in Python, and gi"
        ):
            ks.load_policy("run")
        assert ks.load_policy("run", agent=agent)(np.zeros(4)).shape == ()
        assert ks.evaluate("run", 3, agent=agent, env=ks.make("CartPole-v1")).returns.shape == (1, 3)
        assert ks.load("run", agent=agent, checkpoint=64).record.facts["steps"] == 64
        assert api.resume("run", steps=96, agent=agent).record.facts["steps"] == 96

    @pytest.mark.by_default("policy")
    def test_another_one_is_refused(self, agent):
        other, heavy = dataclasses.replace(agent, discount=0.5), ks.make("CartPole-v1", gravity=30.0)
        for use in (ks.load_policy, ks.evaluate, lambda *args, **how: api.resume(*args, steps=96, **how)):
            with pytest.raises(ConfigError, match=r"agent's discount: got 0.5; the run was started with 0.99"):
                use("run", agent=other)
            with pytest.raises(ConfigError, match=r"env: got CartPole.*; the run was started with CartPole-v1"):
                use("run", agent=agent, env=heavy)

    @pytest.mark.by_default("policy")
    def test_of_a_run_it_is_not_taken(self, agent):
        with pytest.raises(ConfigError, match="argument: got 'agent'"):
            ks.evaluate(ks.load("run", agent=agent), agent=agent)


@pytest.mark.parametrize("devices", [1, 2])
def test_the_program_is_lowered_once(devices, monkeypatch):
    """Arrays of a checkpoint are placed otherwise than new ones: what is compiled for these would not be theirs."""
    lowered = []

    def note(event, duration_secs, **told):
        del duration_secs
        if "jaxpr_to_mlir_module" in event and "_run" in told["fun_name"]:
            lowered.append(told["fun_name"])

    settings = {"steps": 400, "checkpoint_every": 200, "out": "run", "eval_episodes": 0, "devices": devices}
    ks.train("a2c", "CartPole-v1", num_envs=4, num_steps=5, hidden=(4,), **settings)
    program._compiled.cache_clear()
    monkeypatch.setattr(program, "is_far_from_full", lambda *_: False)
    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        ks.resume("run", steps=800)
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert len(lowered) == 1
