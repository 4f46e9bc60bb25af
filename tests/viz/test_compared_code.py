"""Runs of other code beside each other: they are compared, and a line says so."""

from html import escape

import pytest
import records

from kousoku.viz.comparison import compare_records
from kousoku.viz.comparison_checks import check_asked
from kousoku.viz.comparison_page import comparison_html

RUN = records.make(records.grid_env("S..G"), members=6, reports=12)


def made_by(versions, **env):
    """A run of these versions, on an environment of which this is told besides."""
    facts = RUN.facts | {"versions": {"python": "3.11.7", **versions}}
    return records.replaced(RUN, facts=facts, config=RUN.config | {"env": RUN.config["env"] | env})


OWN = {"registered": False, "fields": {}}


@pytest.mark.parametrize(
    ("new", "old", "third", "told"),
    [
        (
            *(made_by({"kousoku": "0.1.0", "code": code}) for code in ("aa11", "bb22", "aa11")),
            "code aa11 (new, third) and bb22 (old)",
        ),
        (
            *(made_by({"kousoku": release}) for release in ("0.2.0", "0.1.0")),
            made_by({"kousoku": "0.2.0", "code": "aa11"}),
            "kousoku 0.2.0 (new, third) and 0.1.0 (old)",
        ),
        (
            *(made_by({}, **OWN, code=code, functions="cc33") for code in ("aa11", "bb22", None)),
            "code of GridWorld-v0 aa11 (new) and bb22 (old)",
        ),
        (
            *(made_by({"code": "ee55"}, code=code, functions=held) for code, held in ("ab", "cd", "ad")),
            "code of GridWorld-v0 a (new, third) and c (old), functions of GridWorld-v0 b (new) and d (old, third)",
        ),
    ],
    ids=["library", "release", "environment", "functions"],
)
def test_runs_of_other_code_are_compared_with_a_line_that_names_them(new, old, third, told):
    """What resuming one would warn of: the library's code, and that of an environment, which is the same one."""
    runs = {"new": [new], "old": [old], "third": [third]}
    check_asked(runs)
    found = compare_records(runs)
    line = f"made by other versions: {told}; returns may differ by that alone"
    assert [group.warnings for group in found.groups] == [(line,)]
    assert line in str(found).splitlines()
    assert escape(line) in found._repr_html_()
    assert f'<p class="note">{escape(line)}</p>' in comparison_html(found)


def test_runs_of_the_same_code_or_on_other_environments_are_compared_without_a_word():
    tells, other = {"kousoku": "0.1.0", "code": "aa11"}, {"kousoku": "0.2.0", "code": "bb22"}
    runs = {
        "a": [made_by(tells)],
        "b": [made_by(tells)],
        "c": [made_by({})],
        "d": [made_by(other, options={"slip": 1})],
    }
    assert [group.warnings for group in compare_records(runs).groups] == [(), ()]
