"""Two runs that should have left the same behind."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

import kousoku as ks
from kousoku.training.io import checkpoints

TIMES = ("seconds", "steps_per_second", "charts/SPS", "first_block_seconds", "started", "resumed_at", "memory")


def lines(folder: str | Path) -> list[dict[str, Any]]:
    """The metrics file without times."""
    read = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in TIMES} for line in read]


def same(run: str | Path, other: str | Path, but: Collection[str] = ()) -> None:
    """All that two runs leave behind is equal bit for bit, times excepted, and these facts."""
    mine, its = ks.load(run).record, ks.load(other).record
    for group in ("curves", "tables", "evaluation"):
        parts = getattr(mine, group), getattr(its, group)
        assert parts[0].keys() == parts[1].keys()
        for name, array in parts[0].items():
            if name not in TIMES:
                np.testing.assert_array_equal(array, parts[1][name], err_msg=name)
    scenes = [None if record.film is None else record.film.scenes for record in (mine, its)]
    assert scenes[0] == scenes[1]
    assert lines(run) == lines(other)
    known = [{k: v for k, v in record.facts.items() if k not in (*TIMES, *but)} for record in (mine, its)]
    assert known[0] == known[1]
    ends = [checkpoints.newest(Path(folder)) for folder in (run, other)]
    assert ends[0].paths == ends[1].paths
    for path, one, two in zip(ends[0].paths, ends[0].leaves, ends[1].leaves, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=path)
