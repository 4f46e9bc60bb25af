"""The report of a small sweep in a real browser: two numbers that were swept together are a heat map from 2 x 2 on."""

import itertools

import pytest
import records

from kousoku.viz.report import report_html

pytestmark = pytest.mark.browser

READ = """
    const all = (selector) => [...document.querySelectorAll(`#sweep .pairgrid ${selector}`)];
    const box = document.querySelector("#sweep .pairgrid")?.getBoundingClientRect();
    return {
        ticks: all(".ticks text").map((node) => node.textContent),
        numbers: all("text.on").length,
        inside: all("text").every((node) => {
            const own = node.getBoundingClientRect();
            return box.left <= own.left && own.right <= box.right && box.top <= own.top && own.bottom <= box.bottom;
        }),
        fits: document.documentElement.scrollWidth <= innerWidth,
    };
"""
RATES, EPSILONS = ("0.1", "0.2", "0.5"), ("0.05", "0.1")


@pytest.mark.by_default("2x2", "a hole")
@pytest.mark.parametrize(
    ("columns", "rows", "cells", "width"), [(2, 2, 4, 390), (3, 2, 6, 1200), (2, 2, 3, 1200), (3, 1, 3, 390)],
    ids=["2x2", "3x2", "a hole", "a row"],
)  # fmt: skip
def test_two_numbers_that_were_swept_together_are_a_heat_map(browser, tabs, tmp_path, columns, rows, cells, width):
    pairs = list(itertools.product(RATES[:columns], EPSILONS[:rows]))[:cells]
    points = tuple({"learning_rate": float(a), "epsilon": float(e)} for a, e in pairs)
    page = tmp_path / "report.html"
    page.write_text(report_html(records.make(records.grid_env(), members=4, reports=12, points=points)), "utf-8")
    tabs.append(browser.open(page, size=(width, 900), media={}, before="", mobile=width < 500))
    found = tabs[-1].run(READ)
    ticks = [*RATES[:columns], *EPSILONS[:rows], "learning_rate", "epsilon"]
    assert (found["ticks"], found["numbers"]) == ((ticks, cells) if cells >= 4 else ([], 0))
    assert found["inside"]
    assert found["fits"]
