"""Data sets: what is taken, what is refused with which words, and what comes back from a file."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest
from fresh_process import refusals

import kousoku as ks
from kousoku.core.dataset import Dataset, DatasetFile, alike
from kousoku.core.dataset_file import as_dataset, load_dataset, of_described, save_dataset, with_numbers
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete

BOX = ks.Box(-1.0, 1.0, (2,))


def arrays(n: int = 6) -> dict[str, Any]:
    """Two episodes, of four steps and of two; the first terminates, the second is cut."""
    obs = np.linspace(-0.5, 0.5, 2 * (n + 1)).reshape(-1, 2)
    after = obs[1:].copy()
    after[3] += 0.01  # the true successor; row 4 begins another episode
    return {
        "obs": obs[:-1],
        "action": np.arange(n) % 3,
        "reward": np.arange(n, dtype=np.float64),
        "terminated": np.arange(n) == 3,
        "truncated": np.arange(n) == n - 1,
        "next_obs": after,
        "observation_space": BOX,
        "action_space": ks.Discrete(3),
    }


def made(**changes: Any) -> ks.Dataset:
    return ks.Dataset(**arrays() | changes)


def test_arrays_are_kept_as_the_spaces_say_and_cannot_be_written_to():
    given = arrays()
    data = ks.Dataset(**given)
    assert (data.obs.dtype, data.action.dtype, data.reward.dtype) == (np.float32, np.int32, np.float32)
    np.testing.assert_allclose(data.episode_returns, [0 + 1 + 2 + 3, 4 + 5])
    given["reward"][0] = 9.0
    assert data.reward[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        data.obs[0] = 0.0
    assert repr(data) == "<Dataset: 6 transitions, 2 episodes, mean return 7.5>"
    mean, variance = data.moments
    np.testing.assert_allclose(mean, data.obs.mean(0), atol=1e-6)
    np.testing.assert_allclose(variance, data.obs.var(0), atol=1e-6)


def with_entry(name: str, place: Any, value: float) -> dict[str, Any]:
    array = np.array(arrays()[name])
    array[place] = value
    return {name: array}


NOT_CLIPPED = "leave the row out, or give the space that has it"
REFUSED = {
    "nan": (with_entry("obs", (4, 1), np.nan), "dataset.obs[4, 1]: got nan; use finite numbers"),
    "infinite": (with_entry("reward", 2, np.inf), "dataset.reward[2]: got inf; use finite numbers"),
    "too large for its dtype": (
        with_entry("reward", 2, 1e39),
        "dataset.reward[2]: got 1e+39; float32 holds numbers up to 3.4e+38; scale them",
    ),
    "action": (with_entry("action", 1, 3), f"dataset.action[1]: got 3; it is not in 0..2; {NOT_CLIPPED}"),
    "negative": (with_entry("action", 1, -1), f"dataset.action[1]: got -1; it is not in 0..2; {NOT_CLIPPED}"),
    "several actions": (
        {"action": np.full((6, 2), 3), "action_space": ks.MultiDiscrete((4, 3))},
        f"dataset.action[0, 1]: got 3; it is not in 0..n-1, n of (4, 3); {NOT_CLIPPED}",
    ),
    "counted observation": (
        {"obs": np.full(6, 5), "next_obs": np.full(6, 5), "observation_space": ks.Discrete(5)},
        f"dataset.obs[0]: got 5; it is not in 0..4; {NOT_CLIPPED}",
    ),
    "action of a box": (
        {"action": np.full((6, 1), 2.0), "action_space": ks.Box(-1.0, 1.0, (1,))},
        "dataset.action[0, 0]: got 2.0; it is not in [-1.0, 1.0]; clip it as the environment does",
    ),
    "fraction": ({"action": np.zeros(6)}, "dataset.action: got 'float64'; give whole numbers"),
    "shape": ({"obs": np.zeros((6, 3))}, "dataset.obs: got [6, 3]; its shape has to be [6, 2]"),
    "short": ({"terminated": np.zeros(5, bool)}, "dataset.terminated: got bool[5]; give truth values [6]"),
    "done": ({"truncated": np.zeros(6)}, "dataset.truncated: got float64[6]; give truth values [6]"),
    "empty": ({"reward": np.zeros(0)}, "dataset.reward: got (0,); give one number for each of at least one"),
    "space": (
        {"action_space": 3},
        "dataset.action_space: got 3; give the space that the arrays are in, one of kousoku's, such as ks.Box",
    ),
    "broken": (with_entry("next_obs", (1, 0), 0.9), "dataset.next_obs[1]: got 'another observation'; it is not obs[2]"),
    "reset": (
        {"next_obs": np.concatenate([arrays()["obs"][1:], arrays()["next_obs"][-1:]])},
        "dataset.next_obs[3]: got \"the next episode's first observation\"; after every episode's end it is obs[4]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_recording_is_refused_in_one_line(name):
    changes, said = REFUSED[name]
    with pytest.raises(ks.ConfigError) as caught:
        made(**changes)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


RAGGED = {
    "reward": [0.0, [1.0, 2.0], 3.0],
    "terminated": [[False], [True, False], [False]],
    "truncated": [False, [False], True],
    "obs": [[0.0], [0.1, 0.2], [0.5]],
    "next_obs": [[[0.1]], [0.2], [0.6]],
    "action": [0, [1], 0],
    "broken_off": [False, [False, True], True],
    "begun_before": [True, [], False],
}


@pytest.mark.parametrize("name", RAGGED)
def test_rows_of_different_lengths_are_refused_in_one_line(name):
    shape = r"\[N\]" if name == "reward" else r"\[3(, 1)?\]"
    with pytest.raises(ConfigError, match=rf"^dataset\.{name}: got nothing; give one array {shape} \(") as caught:
        broken(**{name: RAGGED[name]})
    assert "\n" not in str(caught.value)


def test_actions_of_a_box_lie_in_it():
    space, actions = ks.Box((-1.0, 0.0), (1.0, 2.0), (2,)), np.zeros((6, 2))
    made(action=actions, action_space=space)
    actions[2, 1] = 2.5
    with pytest.raises(ks.ConfigError, match=r"dataset.action\[2, 1\]: got 2.5; .* clip it"):
        made(action=actions, action_space=space)


def test_a_break_is_no_fault_where_an_episode_ends_and_one_observation_for_all_is_none_either():
    made(**with_entry("next_obs", (3, 0), 0.9))
    one = np.zeros(6, np.int32)
    made(obs=one, next_obs=one, observation_space=ks.Discrete(1))


def test_the_hash_is_of_the_numbers_and_spaces_alone():
    data = made()
    assert data == made(env="CartPole-v1", path="x.npz")
    assert hash(data) == hash(made())
    for changes in (with_entry("reward", 0, 0.5), {"action_space": ks.Discrete(4)}, {"truncated": np.arange(6) >= 3}):
        assert made(**changes) != data
    assert pickle.loads(pickle.dumps(data)) == data


@pytest.mark.parametrize("kind", ["discrete", "dict", "bounds"])
def test_a_file_gives_back_the_same(kind, tmp_path):
    data = made(env="CartPole-v1")
    if kind == "dict":
        space = ks.Dict({"a": ks.Dict({"b": BOX}), "c": ks.MultiDiscrete((2, 3))})
        wrap = lambda x: {"a": {"b": x}, "c": np.zeros((6, 2), np.int32)}  # noqa: E731
        data = made(obs=wrap(data.obs), next_obs=wrap(data.next_obs), observation_space=space)
    if kind == "bounds":
        box = ks.Box((-np.inf, -1.0), (np.inf, 2.0), (2,))
        data = made(action=np.zeros((6, 2)), action_space=box, observation_space=ks.Box(-np.inf, np.inf, (2,)))
    saved = ks.save_dataset(data, tmp_path / "data.npz")
    found = ks.load_dataset(tmp_path / "data.npz")
    assert found == data == saved
    assert (found.env, found.observation_space, found.action_space) == (
        data.env, data.observation_space, data.action_space,
    )  # fmt: skip
    assert found.path == saved.path == str(tmp_path / "data.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]


def test_what_is_no_file_of_a_data_set_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("no zip")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name, said in {
        "none.npz": "no such file",
        "text.npz": "damaged or none",
        "other.npz": "damaged or none",
    }.items():
        with pytest.raises(ks.ConfigError, match=said):
            ks.load_dataset(tmp_path / name)
    arrays = dict.fromkeys(("observations", "actions", "rewards", "terminals", "timeouts"), np.zeros(3))
    np.savez(tmp_path / "elsewhere.npz", **arrays)
    (tmp_path / "elsewhere.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(99))
    np.savez(tmp_path / "objects.npz", about=np.array({}, object))
    for name, said in {
        "elsewhere.npz": r"the arrays \['observations', .*'timeouts'\]; make .*kousoku.Dataset\(.*`timeouts` are trunc",
        "elsewhere.hdf5": r"it is an HDF5 file; .* kousoku.Dataset\(.*`terminals` elsewhere are.*next_obs has to",
        "objects.npz": "about is damaged, or an array of Python objects, which are not read",
    }.items():
        with pytest.raises(ks.ConfigError, match=said) as caught:
            ks.load_dataset(tmp_path / name)
        assert "allow_pickle" not in str(caught.value)
    with pytest.raises(ks.ConfigError, match=r"use a name that ends in \.npz"):
        ks.save_dataset(made(), tmp_path / "data.h5")
    with pytest.raises(ks.ConfigError, match="there is no folder"):
        ks.save_dataset(made(), tmp_path / "none" / "data.npz")
    with pytest.raises(ks.ConfigError, match=r"give a kousoku\.Dataset"):
        as_dataset(3)


def test_a_description_leads_back_to_the_same_numbers_or_says_why_not(tmp_path):
    data = ks.save_dataset(made(), tmp_path / "data.npz")
    told = of_described(data.described())
    assert isinstance(told, DatasetFile)
    assert with_numbers(told) == data
    ks.save_dataset(made(**with_entry("reward", 0, 7.0)), tmp_path / "data.npz")
    with pytest.raises(ks.ConfigError, match="the run learned from other numbers"):
        with_numbers(told)
    (tmp_path / "data.npz").unlink()
    with pytest.raises(ks.ConfigError, match="the file is not there; give the agent, with its data set, again"):
        with_numbers(told)
    with pytest.raises(ks.ConfigError, match="it was made in Python"):
        with_numbers(dataclasses.replace(told, path=None))


def test_spaces_are_alike_where_one_stands_for_the_other():
    double = ks.Box(-1.0, 1.0, (2,), np.float64)
    assert alike(BOX, double, bounds=True)
    assert alike(BOX, ks.Box((-1.0, -1.0), (1.0, 1.0), (2,)), bounds=True)
    wide = ks.Box(-2.0, 1.0, (2,))
    assert alike(BOX, wide, bounds=False)
    assert not alike(BOX, wide, bounds=True)
    assert not alike(BOX, ks.Box(-1.0, 1.0, (3,)), bounds=False)
    assert not alike(BOX, ks.Discrete(2), bounds=False)
    assert not alike(ks.Discrete(3), ks.Discrete(2), bounds=False)
    assert alike(ks.Dict({"a": BOX}), ks.Dict({"a": wide}), bounds=False)
    assert not alike(ks.Dict({"a": BOX}), ks.Dict({"b": BOX}), bounds=False)


@pytest.mark.parametrize(("kind", "bad"), [("uint8", 256), ("uint8", -1), ("int8", 200), ("int32", 2**32)])
def test_whole_numbers_that_their_dtype_cannot_hold_are_refused_and_do_not_wrap_around(kind, bad):
    space, ends = ks.Box(0, 1, (1,), kind), ([False, False], [False, True])
    with pytest.raises(ks.ConfigError, match=rf"^dataset\.obs\[0, 0\]: got {bad}; {kind} holds whole numbers in"):
        ks.Dataset([[bad], [1]], [0, 1], [0.0, 1.0], *ends, [[1], [0]], space, ks.Discrete(2))
    with pytest.raises(ks.ConfigError, match=r"^dataset\.action\[1\]: got 4294967296; int32 holds"):
        ks.Dataset([[0], [1]], [0, 2**32], [0.0, 1.0], *ends, [[1], [0]], space, ks.Discrete(2))


def test_a_file_of_another_format_is_refused_naming_both(tmp_path):
    one = ks.Dataset([[0.0]], [0], [0.0], [True], [False], [[1.0]], ks.Box(0.0, 1.0, (1,)), ks.Discrete(2))
    data = ks.save_dataset(one, tmp_path / "a.npz")
    assert data.path is not None
    with np.load(data.path) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"])) | {"format": 9}
    np.savez(data.path, **(arrays | {"about": np.array(json.dumps(about))}))
    with pytest.raises(ks.ConfigError, match="it has format 9, and this version of Kousoku reads format 1"):
        ks.load_dataset(data.path)


def test_what_is_no_name_and_no_data_set_is_refused_in_one_line():
    calls = {call: call for call in ("load_dataset(5)", "load_dataset(None)", "save_dataset(None, 'a.npz')")}
    messages = refusals(calls, "from kousoku import load_dataset, save_dataset")
    assert messages["load_dataset(5)"].startswith("dataset: got 5; give a kousoku.Dataset, or the .npz file")
    assert messages["load_dataset(None)"].startswith("dataset: got None; give a kousoku.Dataset, or the .npz file")
    assert messages["save_dataset(None, 'a.npz')"] == "data: got None; give a kousoku.Dataset"


def test_what_is_no_name_of_an_environment_or_a_file_is_refused():
    ends = "[True], [False], [[1.0]], ks.Box(0.0, 1.0, (1,)), ks.Discrete(2)"
    calls = {more: f"ks.Dataset([[0.0]], [0], [0.0], {ends}, {more})" for more in ("env=3", "path=['x.npz']")}
    messages = refusals(calls, "import kousoku as ks")
    assert messages["env=3"] == "dataset.env: got 3; give the environment's id, or None"
    assert messages["path=['x.npz']"] == "dataset.path: got ['x.npz']; give a file's name, or None"


def broken(**more):
    """Three rows: a whole episode of two steps, and a piece of one."""
    ends = np.array([False, True, False])
    arrays = {
        "obs": [[0.0], [0.1], [0.5]], "action": [0, 1, 0], "reward": [1.0, 2.0, 4.0], "terminated": ends,
        "truncated": [False, False, True], "next_obs": [[0.1], [0.2], [0.6]], "observation_space": Box(-1.0, 1.0, (1,)),
        "action_space": Discrete(2),
    }  # fmt: skip
    return Dataset(**arrays | more)


def test_a_piece_that_a_recording_broke_off_has_no_return(tmp_path):
    plain, told = broken(), broken(broken_off=[False, False, True])
    assert plain.episode_returns.tolist() == [3.0, 4.0]
    assert told.episode_returns.tolist() == [3.0]
    assert repr(told) == "<Dataset: 3 transitions, 1 episode, mean return 3, 1 broken off>"
    assert told.hash == plain.hash, "runs that learned from such numbers before know them still"
    read = load_dataset(save_dataset(told, tmp_path / "data.npz").path)
    assert read == told
    assert read.broken_off.tolist() == [False, False, True]
    for copied in (pickle.loads(pickle.dumps(told)), copy.deepcopy(told)):
        assert copied == told
        assert not copied.broken_off.flags.writeable


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"broken_off": [True, False, False]},
            r"dataset.broken_off\[0\]: got True; a recording breaks off where its row",
        ),
        ({"broken_off": [0, 0, 1]}, r"dataset.broken_off: got int64\[3\]; give truth values \[3\]"),
        ({"broken_off": [True]}, r"dataset.broken_off: got bool\[1\]; give truth values \[3\]"),
    ],
)
def test_what_says_where_a_data_set_is_from_is_looked_at(more, told):
    with pytest.raises(ConfigError, match=f"^{told}"):
        broken(**more)


def test_a_piece_without_its_beginning_has_no_return(tmp_path):
    plain, told = broken(), broken(begun_before=[True, False, False])
    assert told.episode_returns.tolist() == [4.0]
    assert broken(begun_before=[True, False, True]).episode_returns.size == 0
    both = broken(begun_before=[True, False, False], broken_off=[False, False, True])
    assert repr(both) == "<Dataset: 3 transitions, 0 episodes, 1 broken off, 1 begun before>"
    assert told.hash == plain.hash, "the numbers that are learned from are the same"
    read = load_dataset(save_dataset(both, tmp_path / "data.npz").path)
    assert read == both
    assert read.begun_before.tolist() == [True, False, False]
    assert read.broken_off.tolist() == [False, False, True]
    assert not copy.deepcopy(told).begun_before.flags.writeable
    with pytest.raises(
        ConfigError, match=r"^dataset.begun_before\[1\]: got True; a piece of a recording begins in row 0"
    ):
        broken(begun_before=[False, True, False])


KEYS = [("a/b", "a"), ("a~b", "a~0b"), ("a/b", "a~1b"), ("x.npy", "x"), ("~", "/"), ("", "a")]


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_a_file_gives_back_the_arrays_of_any_keys(keys, tmp_path):
    one = ks.Box(-1.0, 1.0, (1,))
    spaces: dict[str, Any] = dict.fromkeys(keys, one)
    arrays: dict[str, Any] = {key: np.full((3, 1), i / 4) for i, key in enumerate(spaces)}
    if "a" in keys:  # another way to the name a/b
        spaces["a"], arrays["a"] = ks.Dict({"b": one}), {"b": np.full((3, 1), 0.9)}
    ends = {"terminated": np.ones(3, bool), "truncated": np.zeros(3, bool)}
    data = broken(obs=arrays, next_obs=arrays, observation_space=ks.Dict(spaces), **ends)
    read = load_dataset(save_dataset(data, tmp_path / "data.npz").path)
    assert read == data


def test_keys_without_a_slash_are_named_in_files_as_ever(tmp_path):
    space = ks.Dict({"a": ks.Dict({"b": Box(-1.0, 1.0, (1,))})})
    obs = {"a": {"b": np.zeros((3, 1))}}
    data = broken(obs=obs, next_obs=obs, observation_space=space)
    with np.load(save_dataset(data, tmp_path / "data.npz").path or "") as file:
        names, about = file.files, json.loads(str(file["about"]))
    assert names == ["about", "obs/a/b", "action", "reward", "terminated", "truncated", "next_obs/a/b"]
    assert sorted(about) == ["action_space", "env", "format", "observation_space"]


def test_keys_with_a_tilde_are_read_from_files_of_before(tmp_path):
    space, obs = ks.Dict({"a~b": Box(-1.0, 1.0, (1,))}), {"a~b": np.zeros((3, 1))}
    data = save_dataset(broken(obs=obs, next_obs=obs, observation_space=space), tmp_path / "data.npz")
    with np.load(data.path or "") as file:
        arrays = {name.replace("~0", "~"): file[name] for name in file.files}
    about = json.loads(str(arrays.pop("about")))
    assert about.pop("keys_spelt")
    np.savez(tmp_path / "before.npz", about=np.array(json.dumps(about)), **arrays)
    assert load_dataset(tmp_path / "before.npz") == data


def test_entries_that_are_masked_out_are_refused():
    masked = np.ma.masked_array([[0.0], [0.1], [0.5]], mask=[[False], [True], [False]])
    for name, given in {
        "obs": masked,
        "reward": masked[:, 0],
        "terminated": masked[:, 0] > 1,
        "action": [*masked[:, 0]],
    }.items():
        with pytest.raises(ConfigError, match=rf"^dataset.{name}: got .*masked out, 1 of .*leave the rows out"):
            broken(**{name: given})
    assert len(broken(obs=np.ma.masked_array([[0.0], [0.1], [0.5]]))) == 3


def test_who_says_where_it_broke_off_knows_how_episodes_end():
    """Of a recording that ends where episodes begin, the next piece begins with what would have followed."""
    same = {"obs": [[0.0], [0.1], [0.2]], "next_obs": [[0.1], [0.2], [0.6]]}
    with pytest.raises(ConfigError, match="the next episode's first observation"):
        broken(**same)
    assert len(broken(**same, broken_off=[False, False, True])) == 3


def test_the_hash_is_of_whole_spaces_and_the_same_as_in_saved_runs():
    """It is made of every bound, however short a space is shown."""
    n, bounds = 2, (tuple([-1.0] * 30), tuple(map(float, range(30))))
    obs = {"seen": np.zeros((n, 30)), "at": np.zeros((n, 2), np.int32)}

    def hash_with(high: tuple[float, ...]) -> str:
        seen = ks.Box(bounds[0], high, (30,))
        return Dataset(
            obs=obs,
            action=np.zeros((n, 17)),
            reward=np.zeros(n),
            terminated=np.arange(n) == 1,
            truncated=np.zeros(n, bool),
            next_obs=obs,
            observation_space=ks.Dict({"seen": seen, "at": ks.MultiDiscrete((2, 3))}),
            action_space=ks.Box((-0.4,) * 17, (0.4,) * 17, (17,)),
        ).hash

    assert hash_with(bounds[1]) == "ab6f016d3af47f65"
    assert hash_with((*bounds[1][:-1], 29.5)) != "ab6f016d3af47f65"
