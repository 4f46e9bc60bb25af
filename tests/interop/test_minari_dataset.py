"""Minari's data sets as ours: by objects with its attributes, and beside the package itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from forked import in_a_forked_process
from gymnasium import spaces

import kousoku as ks

HIDDEN = """
import json, sys
sys.modules["minari"] = None
import kousoku as ks
try:
    ks.from_minari("mujoco/hopper/medium-v0")
except ks.ConfigError as error:
    print(json.dumps(str(error)))
"""


def episode(start: float, steps: int, terminated: bool) -> Any:
    """What Minari gives of an episode: one observation more than steps."""
    ends = np.arange(steps) == steps - 1
    return SimpleNamespace(
        observations={"x": start + np.arange(steps + 1.0)[:, None], "k": np.arange(steps + 1)},
        actions=np.full((steps, 2), 0.5),
        rewards=np.arange(steps, dtype=np.float64),
        terminations=ends & terminated,
        truncations=np.zeros(steps, bool),
    )


def recording(*episodes: Any) -> Any:
    """What a `minari.MinariDataset` has."""
    observations = spaces.Dict({"x": spaces.Box(-np.inf, np.inf, (1,)), "k": spaces.Discrete(9)})
    box, spec = spaces.Box(-1.0, 1.0, (2,), np.float64), SimpleNamespace(env_spec=SimpleNamespace(id="Some-v0"))
    return SimpleNamespace(
        id="some/data-v0", observation_space=observations, action_space=box, spec=spec,
        iterate_episodes=lambda: iter(episodes),
    )  # fmt: skip


def test_episodes_follow_each_other_with_true_successors_and_ends():
    data = ks.from_minari(recording(episode(0.0, 3, terminated=True), episode(50.0, 2, terminated=False)))
    np.testing.assert_array_equal(data.obs["x"][:, 0], [0, 1, 2, 50, 51])
    np.testing.assert_array_equal(data.next_obs["x"][:, 0], [1, 2, 3, 51, 52])
    np.testing.assert_array_equal(data.obs["k"], [0, 1, 2, 0, 1])
    np.testing.assert_array_equal(data.terminated, [False, False, True, False, False])
    np.testing.assert_array_equal(data.truncated, [False, False, False, False, True])
    assert data.env == "Some-v0"
    assert data.action_space == ks.Box(-1.0, 1.0, (2,))


def test_a_data_set_without_episodes_what_is_none_and_a_missing_package_have_one_line_each():
    with pytest.raises(ks.ConfigError, match=r"dataset: got 'dict'; give a minari\.MinariDataset, or the id of one"):
        ks.from_minari({"observations": []})
    with pytest.raises(ks.ConfigError, match="dataset: got 'some/data-v0'; it has no episode"):
        ks.from_minari(recording())
    assert in_a_forked_process(HIDDEN) == "from_minari: got 'no minari'; pip install 'kousoku[minari]'"


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore::UserWarning:minari", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # its folder of temporary files
def test_a_data_set_that_minari_wrote(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    gymnasium = pytest.importorskip("gymnasium")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(gymnasium.make("CartPole-v1"))
    for seed in range(3):
        env.reset(seed=seed)
        env.action_space.seed(seed)
        while not any(env.step(env.action_space.sample())[2:4]):
            pass
    theirs = env.create_dataset(dataset_id="cartpole/test-v0", algorithm_name="any", eval_env="CartPole-v1")
    env.close()
    data = ks.from_minari("cartpole/test-v0")
    assert len(data) == theirs.total_steps
    assert data.ends.sum() == 3
    assert data.env == "CartPole-v1"
    run = ks.train("bc", "CartPole-v1", dataset=data, steps=20, hidden=(8,), out="", eval_episodes=1)
    assert run.record.facts["status"] == "finished"
    with pytest.raises(ks.ConfigError, match=r"minari: .*`minari download cartpole/none-v0` fetches it"):
        ks.from_minari("cartpole/none-v0")


def test_indices_begin_at_zero_and_a_tuple_is_a_dict():
    made = SimpleNamespace(
        id="some/data-v0",
        observation_space=spaces.Tuple((spaces.Discrete(5, start=1), spaces.Box(-9.0, 9.0, (1,)))),
        action_space=spaces.Discrete(2, start=1),
        spec=SimpleNamespace(env_spec=None),
    )
    piece = SimpleNamespace(
        observations=(np.array([1, 2, 5]), np.array([[0.0], [1.0], [2.0]])), actions=np.array([1, 2]),
        rewards=np.ones(2), terminations=np.zeros(2, bool), truncations=np.zeros(2, bool),
    )  # fmt: skip
    empty = SimpleNamespace(
        observations=(np.array([1]), np.zeros((1, 1))), actions=np.zeros(0, int), rewards=np.zeros(0),
        terminations=np.zeros(0, bool), truncations=np.zeros(0, bool),
    )  # fmt: skip
    made.iterate_episodes = lambda: iter([empty, piece])
    data = ks.from_minari(made)
    assert data.action.tolist() == [0, 1]
    assert data.obs["0"].tolist() == [0, 1]
    assert data.next_obs["0"].tolist() == [1, 4]
    assert data.next_obs["1"][:, 0].tolist() == [1.0, 2.0]
    assert data.broken_off.tolist() == [False, True]
    assert not data.episode_returns.size
    piece.actions = np.array([0, 2])
    with pytest.raises(ks.ConfigError, match=r"dataset's action_space: .*0, which is not in Discrete"):
        ks.from_minari(made)


def with_rows(rows: int, shape: tuple[int, ...] = (), dtype: type = float) -> Any:
    return np.zeros((rows, *shape), dtype)


SHIFTED = {
    "an action less": ({"actions": with_rows(2, (2,))}, r"action_space: .*its action has the shape \(2, 2\), and"),
    "an action more": ({"actions": with_rows(4, (2,))}, r"action_space: .*its action has the shape \(4, 2\), and"),
    "another action": ({"actions": with_rows(3, (3,))}, r"action_space: .*its action has the shape \(3, 3\), and"),
    "no actions": ({"actions": None}, "action_space: .*action has the shape"),
    "an observation less": (
        {"observations": {"x": with_rows(3, (1,)), "k": with_rows(4, (), int)}},
        r"observation_space: .*observation\['x'\] has the shape \(3, 1\), and \(4, 1\) is needed",
    ),
    "a part longer": (
        {"observations": {"x": with_rows(4, (1,)), "k": with_rows(5, (), int)}},
        r"observation_space: .*observation\['k'\] has the shape \(5,\), and \(4,\) is needed",
    ),
    "a part wider": (
        {"observations": {"x": with_rows(4, (2,)), "k": with_rows(4, (), int)}},
        r"observation_space: .*observation\['x'\] has the shape \(4, 2\), and \(4, 1\) is needed",
    ),
    "a part less": ({"observations": {"x": with_rows(4, (1,))}}, r"observation_space: .*KeyError\('k'\)"),
    "an end less": ({"terminations": with_rows(2, (), bool)}, r"terminations: .*shape is \(2,\), and \(3,\) is needed"),
    "a cut more": ({"truncations": with_rows(4, (), bool)}, r"truncations: .*shape is \(4,\), and \(3,\) is needed"),
    "rewards with an axis": ({"rewards": with_rows(3, (1,))}, r"rewards: .*shape is \(3, 1\), and \(3,\) is needed"),
    "no rewards": ({"rewards": None}, "^dataset: .*it cannot be read, TypeError"),
    "rewards of none": ({"rewards": with_rows(0)}, r"terminations: .*shape is \(3,\), and \(0,\) is needed"),
    "a fraction": (
        {"observations": {"x": with_rows(4, (1,)), "k": np.full(4, 0.5)}},
        "observation_space: .*an observation has 0.5, which is not in Discrete",
    ),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_each_array_of_each_episode_has_as_many_rows_as_its_steps_need(name):
    """Also where another episode makes up for it, so that all are as many as they should be."""
    changes, said = SHIFTED[name]
    wrong, other = episode(10.0, 3, terminated=True), episode(20.0, 3, terminated=True)
    vars(wrong).update(changes)
    if name == "an action less":
        other.actions = with_rows(4, (2,))
    with pytest.raises(ks.ConfigError, match=said) as caught:
        ks.from_minari(recording(episode(0.0, 3, terminated=True), wrong, other))
    assert "got 'some/data-v0'; episode 1: " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [OSError("cut\nfile"), KeyError("rewards"), ValueError("shapes"), AssertionError()])
def test_what_minari_cannot_read_is_told_in_one_line_with_the_episode(error):
    def episodes() -> Any:
        yield episode(0.0, 3, terminated=True)
        raise error

    made = recording()
    made.iterate_episodes = episodes
    told = rf"^dataset: got 'some/data-v0'; episode {{}}: it cannot be read, {type(error).__name__}\("
    with pytest.raises(ks.ConfigError, match=told.format(1)) as caught:
        ks.from_minari(made)
    assert "\n" not in str(caught.value)
    made.episode_indices = np.array([4, 7])  # as of a data set that was filtered
    with pytest.raises(ks.ConfigError, match=told.format(7)):
        ks.from_minari(made)


def test_actions_outside_their_space_are_called_actions():
    made, wrong = recording(), episode(0.0, 3, terminated=True)
    made.action_space, wrong.actions = spaces.Discrete(2), np.full(3, 0.5)
    made.iterate_episodes = lambda: iter([wrong])
    with pytest.raises(ks.ConfigError, match=r"action_space: .*: an action has 0\.5, which is not in") as caught:
        ks.from_minari(made)
    assert "observation" not in str(caught.value)
