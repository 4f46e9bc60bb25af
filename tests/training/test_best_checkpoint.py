"""The best checkpoint: chosen by the first half of each evaluation's episodes, scored by others."""

import dataclasses
import json
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.record import RunRecord
from kousoku.training.evaluation.evaluate import Episodes
from kousoku.training.io.files import json_text
from kousoku.training.io.run_progress import RunProgress
from kousoku.viz.headline import headline_numbers, sentence
from kousoku.viz.lines import result_lines
from kousoku.viz.ranking import best_checkpoint_summary, score


class Lottery(ks.Env):
    """One step, whatever the action, and a reward that is drawn."""

    time_limit: int | None = eqx.field(static=True, default=1)

    @property
    def observation_space(self) -> ks.Discrete:
        return ks.Discrete(1)

    @property
    def action_space(self) -> ks.Discrete:
        return ks.Discrete(2)

    def reset(self, key: Any) -> Any:
        del key
        return jnp.int32(0), ks.Timestep(jnp.int32(0), jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> Any:
        del action
        return state, ks.Timestep(jnp.int32(0), jax.random.normal(key), jnp.array(False), jnp.array(False))


def episodes(returns) -> Episodes:
    values = np.asarray(returns, np.float32)
    return Episodes(values, np.full(values.shape, 5), *[np.zeros(values.shape, bool)] * 2)


def evaluated(*evaluations) -> RunProgress:
    progress = RunProgress()
    for step, returns in enumerate(evaluations, start=1):
        progress.step = step * 100
        progress.add_evaluation(episodes(returns), ends=False)
    return progress


def test_of_equal_checkpoints_the_first_is_the_best_but_for_the_end():
    progress = evaluated([[2.0]], [[3.0]], [[3.0]])
    assert progress.best_at == 200
    progress.step = 400
    progress.add_evaluation(episodes([[3.0]]), ends=True)
    assert progress.best_at == 400
    progress.step = 500
    progress.add_evaluation(episodes([[2.5]]), ends=True)
    assert progress.best_at == 400


def test_episodes_that_are_held_out_choose_nothing():
    progress = evaluated([[1.0, 1.0, 9.0]], [[3.0, 1.0, 0.0]], [[1.0, 1.0, 90.0]])
    assert (progress.best_at, progress.best_score) == (200, 2.0)
    held_out = progress.all_curves()["eval_held_out"]
    np.testing.assert_array_equal(held_out, [[9.0], [0.0], [90.0]])
    np.testing.assert_allclose(progress.all_curves()["eval_return"][:, 0], [11 / 3, 4 / 3, 92 / 3], rtol=1e-6)


def test_the_choice_is_by_all_agents():
    progress = evaluated([[1.0, 0.0], [1.0, 0.0]], [[0.0, 9.0], [1.5, 9.0]])
    assert (progress.best_at, progress.score) == (100, 0.75)


def test_one_episode_chooses_and_nothing_judges():
    progress = evaluated([[1.0]], [[2.0]])
    assert progress.best_at == 200
    assert np.isnan(progress.all_curves()["eval_held_out"]).all()


def test_an_evaluation_that_is_not_finite_is_never_better():
    progress = evaluated([[1.0, 1.0]], [[np.nan, 1.0]], [[2.0, 0.0]])
    assert progress.best_at == 300
    assert evaluated([[np.nan, 1.0]], [[1.0, 1.0]]).best_at == 200


@pytest.mark.parametrize("mean", [np.nan, np.inf, -np.inf])
def test_an_evaluation_that_is_not_finite_gives_no_score_and_can_be_saved(mean):
    progress = evaluated([[1.0, 1.0]], [[mean, 1.0]])
    assert (progress.score, progress.best_score, progress.best_at) == (None, 1.0, 100)
    assert json.loads(json_text(progress.to_json()))["score"] is None
    np.testing.assert_array_equal(progress.all_curves()["eval_return"][1], np.asarray([mean], np.float32))


def test_it_is_kept_in_checkpoints_and_a_former_one_does_not_know():
    progress = evaluated([[1.0, 2.0]], [[3.0, 4.0]])
    progress.curves.steps = [100, 200]
    arrays = progress.arrays() | {"curves/step": np.array([100, 200])}
    again = RunProgress.of(progress.to_json(), arrays)
    assert (again.best_at, again.best_score) == (200, 3.0)
    np.testing.assert_array_equal(again.all_curves()["eval_held_out"], [[2.0], [4.0]])
    former = RunProgress.of(progress.to_json(), {k: v for k, v in arrays.items() if k != "curves/eval_held_out"})
    assert np.isnan(former.all_curves()["eval_held_out"]).all()
    np.testing.assert_array_equal(former.all_curves()["eval_return"], progress.all_curves()["eval_return"])


@pytest.mark.full("covered")
def test_of_pure_luck_no_luck_is_told():
    """Returns that no policy has a part in: the best of 30 evaluations is lucky by what chose it alone."""
    rng, told, chose = np.random.default_rng(0), [], []
    for _ in range(300):
        progress = evaluated(*rng.normal(size=(30, 1, 16)))
        at = progress.all_curves()["eval_step"].tolist().index(progress.best_at)
        told.append(progress.all_curves()["eval_held_out"][at, 0])
        chose.append(progress.best_score)
    error = 1 / np.sqrt(8 * len(told))
    assert abs(np.mean(told)) < 3 * error
    assert np.mean(chose) > 30 * error


def recorded(best: int, steps=(100, 200, 300), held_out=((1.0, 2.0), (5.0, 6.0), (3.0, 3.0)), **facts) -> Any:
    scores = np.asarray(held_out)
    curves = {"eval_step": np.asarray(steps), "eval_held_out": scores, "eval_return": scores + 50.0}
    curves |= {"step": np.asarray(steps), "return": scores + 90.0, "reward": scores}
    facts = {"steps": steps[-1], "seconds": 1.0, "status": "unfinished", "best_step": best} | facts
    members = np.arange(2), np.zeros(2, int)
    return RunRecord(None, {"agent": {"id": "ppo"}, "env": {"id": "luck"}}, facts, ({},), *members, curves, {})


def test_the_best_checkpoint_is_told_by_episodes_that_did_not_choose_it():
    step, found = best_checkpoint_summary(recorded(200))
    assert (step, found.value, found.least, found.most) == (200, 5.5, 5.0, 6.0)
    evaluated = dataclasses.replace(recorded(200), evaluation={"return": np.zeros((2, 4)), "length": np.ones((2, 4))})
    line = "best checkpoint: step 200: 5.50 (mean, 2 agents from 5.00 to 6.00), no episode of which chose it"
    assert line in result_lines(evaluated)
    told = [number for number in headline_numbers(evaluated) if number.label == "Best checkpoint"]
    note = "greedy return at step 200, 2 agents from 5.00 to 6.00, in episodes that did not choose it"
    assert told == [("Best checkpoint", "5.50", note)]


@pytest.mark.parametrize(
    "without",
    [
        recorded(300),  # which is the end
        recorded(-1),
        recorded(100, steps=(100,), held_out=((1.0, 2.0),)),
        recorded(200, held_out=((np.nan,) * 2,) * 3),
        recorded(150),
    ],
)
def test_where_there_is_none_nothing_is_told(without):
    assert best_checkpoint_summary(without) is None


def test_a_checkpoint_is_told_by_episodes_that_did_not_choose_it():
    """And not by the reports or the evaluation that did."""
    found = score(recorded(300))
    assert (found.name, found.members.tolist(), found.unbiased) == ("greedy return", [3.0, 3.0], True)
    assert "mean greedy return is 3.00 over the second half of the last evaluation" in sentence(recorded(300))
    elsewhere = dataclasses.replace(recorded(300), facts={"steps": 350, "seconds": 1.0})
    assert score(elsewhere).name == "return"
    assert score(recorded(300, held_out=((np.nan,) * 2,) * 3)).name == "return"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("runs") / "run")
    how = {"steps": 6000, "record_every": 1000, "eval_every": 1000, "eval_episodes": 8, "progress": False}
    return ks.train("q_learning", ks.make("FrozenLake-v1"), learning_rate=1.0, seeds=3, out=folder, **how)


@pytest.mark.full("covered")
def test_the_checkpoint_that_is_read_is_the_one_with_the_best_choosing_half(run):
    best = ks.load(run.path, env=ks.make("FrozenLake-v1"), checkpoint="best")
    curves = run.record.curves
    selection = 2 * curves["eval_return"].mean(axis=1) - curves["eval_held_out"].mean(axis=1)
    at = int(curves["eval_step"][np.argmax(selection.round(6))])
    assert best.record.facts["steps"] == at < 6000
    np.testing.assert_array_equal(best.record.curves["eval_held_out"], curves["eval_held_out"][: at // 1000])


@pytest.mark.full("covered")
def test_of_equal_ones_the_end_is_read(tmp_path):
    how = {"steps": 300, "record_every": 100, "eval_every": 100, "eval_episodes": 4, "progress": False}
    run = ks.train("q_learning", "FrozenLake-v1", out=str(tmp_path / "run"), **how)  # no goal is found so soon
    assert (run.record.curves["eval_return"] == 0.0).all()
    assert run.record.facts["best_step"] == ks.load(run.path, checkpoint="best").record.facts["steps"] == 300


@pytest.mark.full("covered")
def test_it_is_read_and_told_by_those_episodes(run):
    best = ks.load(run.path, env=ks.make("FrozenLake-v1"), checkpoint="best").record
    np.testing.assert_array_equal(score(best).members, best.curves["eval_held_out"][-1])
    assert best.facts["best_step"] == best.facts["steps"] == run.record.facts["best_step"]


@pytest.mark.full("covered")
@pytest.mark.parametrize("stops", [True, False])
def test_a_run_that_a_program_ended_is_judged_by_episodes_that_it_was_not_told_of(stops):
    told = []

    def is_enough(report):
        told.append(report.evaluation)
        return stops and report.step == 300

    env = Lottery()
    how = {"steps": 600, "record_every": 100, "eval_every": 100, "eval_episodes": 64, "progress": False}
    run = ks.train("q_learning", env, out="run", on_report=is_enough, **how)
    assert run.interrupted == stops
    same = np.array_equal(run.record.evaluation["return"], told[-1].episode_return)
    assert same != stops
    if stops:
        again = ks.resume("run", env=env)
        whole = ks.train("q_learning", env, out="", **how)
        np.testing.assert_array_equal(again.record.evaluation["return"], whole.record.evaluation["return"])


def test_no_evaluation_afterwards_plays_the_episodes_that_chose(run):
    keys = run._trained.population.keys
    chose = {tuple(words) for words in np.asarray(jax.random.key_data(keys)).tolist()}
    for seed in range(20):
        later = jax.vmap(lambda key, seed=seed: jax.random.fold_in(key, seed))(keys)
        assert chose.isdisjoint(tuple(words) for words in np.asarray(jax.random.key_data(later)).tolist())
