"""Names of compared runs that run from right to left, or would turn the order of what stands beside them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import records

from kousoku.viz import comparison_figures as figures
from kousoku.viz.comparison import compare_records
from kousoku.viz.comparison_page import comparison_html
from kousoku.viz.text import isolated

HEBREW, ARABIC = "\u05d0\u05d1\u05d2", "\u0645\u0631\u062d\u0628\u0627"
CONTROLS = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]


def run_with(level: float, env_id: str = "GridWorld-v0"):
    record = records.make(records.grid_env("S..G"), members=4, reports=12, env_id=env_id)
    returns = level + np.random.default_rng(0).normal(size=(4, 10)).astype(np.float32)
    return records.replaced(record, evaluation={"return": returns, "length": returns})


def compared(*names: str, env_id: str = "GridWorld-v0"):
    return compare_records({name: [run_with(float(i), env_id)] for i, name in enumerate(names)})


def labels(group) -> list[str]:
    """All that figures say of entrants."""
    ticks = [figures.intervals(group, "IQM"), figures.improvement(group)]
    found = [label.get_text() for figure in ticks for label in figure.axes[0].get_yticklabels()]
    return found + [text.get_text() for text in figures.profile(group).legends[0].get_texts()]


@pytest.mark.by_default("arabic", "latin first")
@pytest.mark.parametrize(
    "name",
    [HEBREW, ARABIC, f"{HEBREW} 12", f"12: {ARABIC}", f"ppo, {HEBREW}", f"{HEBREW}-ppo"],
    ids=["hebrew", "arabic", "number last", "number first", "latin first", "latin last"],
)
def test_a_name_from_right_to_left_turns_nothing_beside_it(name):
    found, kept = compared(name, "sac"), f"\u2068{name}\u2069"
    assert found.groups[0].entrants[0].name == name
    assert found.title == f"{kept} and sac"
    assert f"{kept}, sac on GridWorld-v0" in repr(found)
    for text in (str(found), comparison_html(found), *labels(found.groups[0])):
        assert text.count(name) == text.count(kept)
    assert labels(found.groups[0])[:3] == [kept, "sac", f"{kept}\n> sac"]
    rows = [line.translate({0x2068: None, 0x2069: None}) for line in str(found).splitlines()[1:4]]
    assert len({len(row) for row in rows}) == 1  # columns stand below each other


@pytest.mark.by_default("202e", "2067")
@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: f"{ord(control):x}")
def test_what_turns_the_order_of_letters_is_shown_as_a_question_mark(control):
    found = compared(f"ppo{control}0.1", f"{control}{HEBREW}", env_id=f"Grid{control}World-v0")
    assert [one.name for one in found.groups[0].entrants] == ["ppo?0.1", f"?{HEBREW}"]
    assert found.groups[0].env == "Grid?World-v0"
    own = re.compile(f"\u2068\\?{HEBREW}\u2069")
    for text in (str(found), repr(found), found._repr_html_(), comparison_html(found), *labels(found.groups[0])):
        assert not set(own.sub("", text)) & set(CONTROLS)


def test_two_names_from_right_to_left_keep_their_order_and_long_ones_are_cut_inside():
    found = compared(HEBREW, ARABIC, env_id=f"{HEBREW}-v0")
    assert found.title == f"{isolated(HEBREW)} and {isolated(ARABIC)}"
    assert f"<h2>{isolated(f'{HEBREW}-v0')}</h2>" in comparison_html(found)
    assert f"<b>{isolated(f'{HEBREW}-v0')}: greedy return</b>" in found._repr_html_()
    long = compared(20 * HEBREW, 20 * ARABIC)
    for label in labels(long.groups[0]):
        assert label.count("\u2068") == label.count("\u2069") == label.count("…")


@pytest.mark.parametrize("name", ["ppo", "größer", "强化学习", "12", "\u03b1=0.1", "a\u200eb"])
def test_other_names_are_as_they_were(name):
    assert isolated(name) == name
    assert compared(name, "sac").title == f"{name} and sac"
