"""Names of curves, in memory and in the metrics file."""

import re
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

from kousoku.training.metrics.curves import CHARTS, COUNTS, _scalars, metric_name

ONE = np.zeros(3)


class Info(eqx.Module):
    optimal: np.ndarray
    inner: dict


@pytest.mark.parametrize(
    ("info", "names"),
    [
        ({"tenth": ONE, "it's": ONE}, ["it's", "tenth"]),
        (Info(ONE, {"left": ONE}), ["optimal", "inner.left"]),
        ({"arm": Info(ONE, {})}, ["arm.optimal"]),
        ({"both": (ONE, ONE)}, ["both.0", "both.1"]),
        ({"mask": np.zeros((3, 2))}, []),
    ],
)
def test_what_an_info_has_is_named_without_marks_whatever_holds_it(info, names):
    found = [name for name, _ in _scalars(info)]
    assert found == names
    assert [metric_name(f"info.{name}") for name in found] == [f"info/{name}" for name in names]


def test_the_table_of_names_is_that_of_the_code():
    page = (Path(__file__).parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`.*?) \| (`.*?) \| ", page.partition("| in `run.curves` |")[2].partition("\n\n")[0], re.MULTILINE
    )
    told = {
        name: other
        for row in rows
        for name, other in zip(*(re.findall("`([^`]+)`", cell) for cell in row), strict=False)
    }
    told = {name: other for name, other in told.items() if name not in ("step", "seconds", *COUNTS)}
    assert set(CHARTS) < set(told)
    assert told == {name: metric_name(name) for name in told}
