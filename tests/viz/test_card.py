"""Cards of runs and evaluations, as a notebook shows them, and what a prompt shows in their place."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import records

import kousoku as ks
from kousoku.run import Evaluation, Run


class Cells(HTMLParser):
    """The cells of a card by row, of HTML whose elements are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.rows, self.tags = [], [], set()
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] in (["td"], ["th"]):
            self.rows[-1].append(data)


@pytest.fixture(scope="module")
def run():
    return ks.train("q_learning", "GridWorld-v0", steps=300, seeds=2, out="", eval_episodes=4)


def evaluation(returns, statistic="mean"):
    returns = np.asarray(returns, np.float32)
    return Evaluation(returns, np.full(returns.shape, 8), returns > 2, statistic)


@pytest.mark.full("covered")
def test_a_runs_card_tells_what_the_report_does_first(run):
    rows = dict(row[:2] for row in Cells(run._repr_html_()).rows)
    assert rows["Agents"] == "2"
    assert rows["Steps each"] == "300"
    assert rows["Folder"] == "not saved"
    assert "Status" not in rows
    assert "<b>q_learning on GridWorld-v0</b>" in run._repr_html_()


@pytest.mark.full("covered")
def test_a_run_that_did_not_come_to_its_end_says_so(run):
    facts = run.record.facts | {"status": "diverged", "failure": "the reward became nan"}
    rows = Cells(Run(replace(run.record, facts=facts), None, [])._repr_html_()).rows
    assert rows[0] == ["Status", "diverged", "the reward became nan"]


@pytest.mark.parametrize("returns", [[[1, 2, 3, 4]], [[1, 2], [3, 4]], np.arange(20).reshape(5, 4), [[1.0]]])
def test_cards_are_plain_tables_in_the_colours_of_the_page(run, returns):
    for html in (run._repr_html_(), evaluation(returns)._repr_html_()):
        cells = Cells(html)
        assert cells.tags <= {"div", "b", "table", "tr", "th", "td"}
        assert not re.search(r"#[0-9a-f]{3}|rgb|http|class=|on[a-z]+=", html)
        assert len(html) < 6000


def test_text_is_never_markup(run):
    record = replace(run.record, path=Path("<script>alert(1)</script>"), config={"agent": {"id": "<i>"}, "env": {}})
    html = Run(record, None, [])._repr_html_()
    assert "<script" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;" in html


def test_an_evaluations_card():
    rows = {row[0]: row[1:] for row in Cells(evaluation([[1, 2], [3, 4]])._repr_html_()).rows}
    assert rows["Return, mean"] == ["2.50", "2 agents from 1.50 to 3.50"]
    assert rows["Best agent"] == ["4.00", "agent 1, in episodes that did not choose it"]
    assert rows["Steps of an episode"] == ["8.00", "50% ended by a time limit"]


def test_an_evaluations_card_calls_a_tie_one():
    rows = {row[0]: row[1:] for row in Cells(evaluation(np.full((3, 4), 7))._repr_html_()).rows}
    assert rows["Best agent"] == ["7.00", "agent 0, the first of 3 that tie, in episodes that did not choose it"]


def swept(levels):
    """A sweep of two points, three agents each, whose greedy returns are these."""
    points = tuple({"learning_rate": 0.1 * (i + 1)} for i in range(2))
    record = records.make(records.grid_env(), members=3, points=points, reports=20)
    returns = np.asarray(levels)[record.member_point][:, None] + np.zeros((record.num_members, 4))
    return replace(record, evaluation={"return": returns, "length": returns, "truncated": returns > 9})


@pytest.mark.parametrize(("levels", "said"), [
    ((0.0, 5.0), "the best sweep point (learning_rate 0.2)"),
    ((5.0, 5.0), "2 sweep points tie for the best; the first (learning_rate 0.1)"),
])  # fmt: skip
def test_an_evaluation_of_a_sweep_shows_its_best_point(levels, said):
    record = swept(levels)
    returns = record.evaluation["return"]
    found = Evaluation(returns, returns, returns > 9, record=record)
    rows = {row[0]: row[1:] for row in Cells(found._repr_html_()).rows}
    assert rows["Return, mean"] == ["5.00", f"{said}, 3 agents"]
    assert repr(found) == f"<Evaluation: 6 agents x 4 episodes, return of {said} 5.00 (mean, 3 agents)>"


@pytest.mark.parametrize(("levels", "best"), [
    ((0.0, 5.0), ["learning_rate 0.2"]),
    ((5.0, 5.0), ["learning_rate 0.1", "the first of 2 that tie"]),
])  # fmt: skip
def test_a_sweeps_card_names_its_best_point(levels, best):
    record = swept(levels)
    rows = {row[0]: row[1:] for row in Cells(Run(record, None, [])._repr_html_()).rows}
    assert rows["Best sweep point"] == best
    alone = replace(record, points=({},), member_point=0 * record.member_point)
    assert "Best sweep point" not in Run(alone, None, [])._repr_html_()


@pytest.mark.parametrize("agents", [1, 2, 20])
def test_an_evaluations_best_has_no_number_where_its_one_episode_chose_it(agents):
    best = evaluation(np.arange(agents)[:, None] + 1).best
    assert int(best.n) == (1 if agents == 1 else 0)
    assert np.isnan(best.mean) == (agents > 1)


@pytest.mark.parametrize("returns", [[[1, 2, 3]], [[1], [2]]])
def test_an_agent_that_nothing_chose_or_judges_is_not_the_best(returns):
    assert "Best agent" not in evaluation(returns)._repr_html_()


@pytest.mark.full("covered")
def test_a_prompt_shows_one_short_line_without_arrays(run):
    for shown in (run, run.evaluate(episodes=100), evaluation(np.zeros((50, 300)), "IQM")):
        text = repr(shown)
        assert text.startswith("<")
        assert "\n" not in text
        assert len(text) < 120
    text = repr(evaluation([[1, 2], [3, 4]]))
    assert text == "<Evaluation: 2 agents x 2 episodes, return 2.50 (mean, 2 agents from 1.50 to 3.50)>"
    assert repr(evaluation([[1]])) == "<Evaluation: 1 agent x 1 episode, return 1.00 (mean, 1 episode)>"


def test_an_agent_with_a_return_that_is_not_finite_is_left_out_and_told():
    for broken in (np.inf, -np.inf, np.nan):
        found = evaluation([[broken, 1], [1, 2]])
        assert repr(found).endswith("return 1.50 (mean, 1 agent); 1 of 2 agents broke>")
        assert "1 of 2 agents broke" in found._repr_html_()
        assert (float(found.population.mean), int(found.population.n)) == (1.5, 1)
        assert (found.best_member, float(found.best.mean)) == (1, 2.0)
        alone = evaluation([[broken, 1, 1]])
        assert (int(alone.population.n), int(alone.best.n)) == (0, 0)
        assert "1 of 1 agent broke" in repr(alone)
    assert "–" in evaluation([[np.nan, np.nan]])._repr_html_()
