"""The best checkpoint: chosen by the first half of each evaluation's episodes, judged by others."""

import jax
import numpy as np
import pytest

import kousoku as ks
from kousoku.training.evaluation.evaluate import Episodes
from kousoku.training.io.run_progress import RunProgress


def episodes(returns) -> Episodes:
    values = np.asarray(returns, np.float32)
    return Episodes(values, np.full(values.shape, 5), np.zeros(values.shape, bool))


def evaluated(*evaluations) -> RunProgress:
    progress = RunProgress()
    for step, returns in enumerate(evaluations, start=1):
        progress.step = step * 100
        progress.add_evaluation(episodes(returns))
    return progress


def test_episodes_that_judge_choose_nothing():
    progress = evaluated([[1.0, 1.0, 9.0]], [[3.0, 1.0, 0.0]], [[1.0, 1.0, 90.0]])
    assert (progress.best_at, progress.best_score) == (200, 2.0)
    judging = progress.all_curves()["eval_held_out"]
    np.testing.assert_array_equal(judging, [[9.0], [0.0], [90.0]])
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


def test_it_is_kept_in_checkpoints_and_a_former_one_does_not_know():
    progress = evaluated([[1.0, 2.0]], [[3.0, 4.0]])
    progress.curves.steps = [100, 200]
    arrays = progress.arrays() | {"curves/step": np.array([100, 200])}
    again = RunProgress.of(progress.told(), arrays)
    assert (again.best_at, again.best_score) == (200, 3.0)
    np.testing.assert_array_equal(again.all_curves()["eval_held_out"], [[2.0], [4.0]])
    former = RunProgress.of(progress.told(), {k: v for k, v in arrays.items() if k != "curves/eval_held_out"})
    assert np.isnan(former.all_curves()["eval_held_out"]).all()
    np.testing.assert_array_equal(former.all_curves()["eval_return"], progress.all_curves()["eval_return"])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("runs") / "run")
    how = {"steps": 600, "record_every": 100, "eval_every": 100, "eval_episodes": 4, "progress": False}
    return ks.train("q_learning", ks.make("FrozenLake-v1"), seeds=2, out=folder, **how)


def test_the_checkpoint_that_is_read_is_the_one_with_the_best_choosing_half(run):
    best = ks.load(run.path, env=ks.make("FrozenLake-v1"), checkpoint="best")
    curves = run.record.curves
    choosing = 2 * curves["eval_return"].mean(axis=1) - curves["eval_held_out"].mean(axis=1)
    at = int(curves["eval_step"][np.argmax(choosing.round(6))])
    assert best.record.facts["steps"] == at
    np.testing.assert_array_equal(best.record.curves["eval_held_out"], curves["eval_held_out"][: at // 100])


def test_no_evaluation_afterwards_plays_the_episodes_that_chose(run):
    keys = run._trained.population.keys
    chose = {tuple(words) for words in np.asarray(jax.random.key_data(keys)).tolist()}
    for seed in range(20):
        later = jax.vmap(lambda key, seed=seed: jax.random.fold_in(key, seed))(keys)
        assert chose.isdisjoint(tuple(words) for words in np.asarray(jax.random.key_data(later)).tolist())
