"""Files of data sets with any damage: one line each, and what is whole is read as ever."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kousoku.core.dataset import Dataset
from kousoku.core.dataset_file import load_dataset, save_dataset
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete

OF_FIRST_ENTRY = b"PK\x01\x02"
"""What the archive's list begins with."""
METHOD, FLAGS, VERSION = 10, 8, 6
"""Places of fields in it."""


@pytest.fixture
def saved() -> Path:
    ends = [False, True], [False, False]
    data = Dataset([[0.0], [0.1]], [0, 1], [0.0, 1.0], *ends, [[0.1], [0.2]], Box(-1.0, 1.0, (1,)), Discrete(2))
    return Path(save_dataset(data, "data.npz").path or "")


def refused(path: Path) -> str:
    with pytest.raises(ConfigError, match=r"^dataset: got '.*; it is damaged or none") as caught:
        load_dataset(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_byte(path: Path, place: int, value: int) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(OF_FIRST_ENTRY) + place] = value
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (METHOD, 99, "compression method is not supported"),
        (METHOD, 8, ""),
        (METHOD, 12, ""),
        (METHOD, 14, ""),
        (FLAGS, 1, "encrypted"),
        (VERSION, 255, "version"),
    ],
)
def test_an_archive_with_a_damaged_entry_is_refused(saved, place, value, told):
    with_byte(saved, place, value)
    assert told in refused(saved)


def test_a_compressed_file_is_read_and_refused_where_a_byte_of_it_is_another_one(saved):
    before = load_dataset(saved)
    with np.load(saved) as file:
        np.savez_compressed(saved, **dict(file))
    assert load_dataset(saved) == before
    content = bytearray(saved.read_bytes())
    content[content.index(b"about.npy") + len("about.npy") + 20] = 255  # the entry's first byte, after 20 of its size
    saved.write_bytes(content)
    assert "Error -3 while decompressing" in refused(saved)


def told(**more: Any) -> str:
    space = {"type": "Box", "low": -1.0, "high": 1.0, "shape": [1], "dtype": "float32"}
    about = {"format": 1, "env": None, "observation_space": space, "action_space": {"type": "Discrete", "n": 2}}
    return json.dumps(about | more)


ABOUT = {
    "as ever": told(),
    "a list of spaces": told(observation_space={"type": "Dict", "spaces": []}),
    "no spaces": told(observation_space={"type": "Dict"}),
    "a space that is a list": told(action_space=[]),
    "a space that is a word": told(action_space="Discrete"),
    "another type": told(action_space={"type": "Foo"}),
    "another dtype": told(observation_space={"type": "Box", "low": 0, "high": 1, "shape": [1], "dtype": "foo"}),
    "no bound": told(observation_space={"type": "Box", "low": "a", "high": 1, "shape": [1], "dtype": "float32"}),
    "no whole number": told(action_space={"type": "Discrete", "n": 0}),
    "a part that is no space": told(action_space={"type": "Dict", "spaces": {"a": 3}}),
    "deep": "[" * 100_000,
    "a list": "[1]",
    "a word": '"about"',
    "nothing": "null",
    "no JSON": "{",
}


@pytest.mark.parametrize("name", ABOUT)
def test_a_damaged_description_is_refused(saved, name):
    before = load_dataset(saved)
    with np.load(saved) as file:
        arrays = dict(file)
    np.savez(saved, **arrays | {"about": np.array(ABOUT[name])})
    if name == "as ever":
        assert load_dataset(saved) == before
    else:
        refused(saved)


@pytest.mark.parametrize(
    ("shape", "said"), [((10**16, 1), "larger than this machine's memory"), ((3, 1), "damaged"), ((-3, 1), "damaged")]
)
def test_an_array_that_claims_another_size_than_it_has_is_refused(saved, shape, said):
    with zipfile.ZipFile(saved) as file:
        content = {name: file.read(name) for name in file.namelist()}
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(saved, "w") as file:
        for name, data in (content | {"obs.npy": head.getvalue()}).items():
            file.writestr(name, data)
    assert said in refused(saved)


def test_a_file_that_is_cut_or_has_another_bit_is_refused_or_reads_the_same(saved):
    before, content = load_dataset(saved), saved.read_bytes()
    rng = np.random.default_rng(0)
    for length in rng.integers(0, len(content), 10):
        saved.write_bytes(content[:length])
        refused(saved)
    for place, bit in zip(rng.integers(0, len(content), 200), rng.integers(0, 8, 200), strict=True):
        other = bytearray(content)
        other[place] ^= 1 << bit
        saved.write_bytes(other)
        try:
            assert load_dataset(saved) == before
        except ConfigError as error:
            assert "\n" not in str(error)  # noqa: PT017
