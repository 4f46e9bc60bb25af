"""Curves as a tidy table: every number once, in the row that says what it is."""

import csv
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import records

from kousoku.core.errors import ConfigError
from kousoku.core.tidy import tidy_columns, write_csv
from kousoku.run import Run


def rows_of(record) -> list[dict]:
    columns = tidy_columns(record)
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def test_every_number_is_in_the_row_that_says_what_it_is():
    points = ({"learning_rate": 0.1, "epsilon": 0.2}, {"learning_rate": 0.5, "epsilon": 0.2})
    record = records.network(members=3, reports=12, evaluations=4, points=points)
    found = {(r["metric"], r["step"], r["seed"], r["learning_rate"]): r for r in rows_of(record)}
    matrices = {name: values for name, values in record.curves.items() if values.ndim == 2}
    assert len(found) == sum(values.size for values in matrices.values()) == len(rows_of(record))
    for name, values in matrices.items():
        steps = record.curves["eval_step" if name.startswith("eval_") else "step"]
        for (report, member), value in np.ndenumerate(values):
            learning_rate = points[record.member_point[member]]["learning_rate"]
            row = found[name, int(steps[report]), int(record.member_seed[member]), learning_rate]
            np.testing.assert_equal(row["value"], float(value))
            assert row["epsilon"] == 0.2
            at = np.flatnonzero(record.curves["step"] == steps[report])[0]
            assert row["seconds"] == record.curves["seconds"][at]


def test_without_times_a_sweep_or_a_curve():
    record = records.grid()
    columns = tidy_columns(record)
    assert list(columns) == ["step", "seconds", "seed", "metric", "value"]
    assert np.isnan(columns["seconds"]).all()
    assert tidy_columns(records.bare())["value"].size == 0


def test_a_setting_that_is_called_like_a_column_has_another_name():
    record = records.make(records.grid_env(), members=2, points=({"seed": 1.0}, {"seed": 2.0}), reports=3)
    columns = tidy_columns(record)
    assert set(columns["setting_seed"]) == {1.0, 2.0}
    assert set(columns["seed"]) == {0, 1}


def test_csv_has_the_same_and_nothing_for_nan(tmp_path):
    record = records.network(members=2, reports=8, points=({"a,b": 0.1}, {"a,b": 1e-7}))
    path = write_csv(record, tmp_path / "curves.csv")
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    expected = rows_of(record)
    assert len(read) == len(expected)
    for got, row in zip(read, expected, strict=True):
        assert got["metric"] == row["metric"]
        assert (got["value"] == "") == np.isnan(row["value"])
        assert got["value"] == "" or float(got["value"]) == row["value"]
        assert (int(got["step"]), float(got["a,b"])) == (row["step"], row["a,b"])


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"path: got .*; there is no folder .*nowhere; make it first"):
        write_csv(records.grid(), tmp_path / "nowhere" / "x.csv")


def test_a_frame_is_made_of_the_columns(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: ("frame", columns)))
    kind, columns = Run(records.grid(), None, []).to_frame()
    assert kind == "frame"
    assert list(columns) == ["step", "seconds", "seed", "metric", "value"]


def test_without_pandas_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match=r"to_frame: got 'no pandas'; pip install 'kousoku\[pandas\]', or use to_csv"):
        Run(records.grid(), None, []).to_frame()


def test_a_metric_that_begins_as_evaluations_do_has_the_steps_of_reports():
    record = records.network(members=2, reports=6, evaluations=2)
    own = np.arange(12.0, dtype=np.float32).reshape(6, 2)
    record = records.replaced(record, curves=record.curves | {"eval_loss": own})
    found = [row for row in rows_of(record) if row["metric"] == "eval_loss"]
    assert [row["value"] for row in found] == own.reshape(-1).tolist()
    assert [row["step"] for row in found[::2]] == record.curves["step"].tolist()
