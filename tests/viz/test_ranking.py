"""Numbers that are told: the same ones, by the same rule, in the shell, the report and Python."""

import re
import warnings

import numpy as np
import pytest
import records

from kousoku.cli.notices import tell
from kousoku.core.choice import held_out_episodes
from kousoku.run import Run
from kousoku.viz import curve_data, plot_returns, ranking
from kousoku.viz.estimates import summary_statistic
from kousoku.viz.headline import headline_numbers, sentence
from kousoku.viz.learning import loss_names
from kousoku.viz.lines import evaluation_lines, result_lines
from kousoku.viz.payload import payload
from kousoku.viz.reports import is_flat
from kousoku.viz.text import ascii_only, point_words


def some(members: int, episodes: int = 10, deep: bool = False, seed: int = 0):
    record = records.make(records.grid_env(), members=members, reports=20)
    returns = np.random.default_rng(seed).normal(5, 2, (members, episodes)).astype(np.float32)
    record = records.replaced(record, evaluation=record.evaluation | {"return": returns, "length": returns})
    return records.replaced(record, tables={}) if deep else record


def of_sweep(levels, members: int = 5, noise: float = 0.1, episodes: int = 10):
    points = tuple({"learning_rate": 0.1 * (i + 1)} for i in range(len(levels)))
    record = records.make(records.grid_env(), members=members, points=points, reports=20)
    rng = np.random.default_rng(1)
    returns = np.asarray(levels)[record.member_point][:, None] + noise * rng.normal(size=(record.num_members, episodes))
    return records.replaced(record, evaluation=record.evaluation | {"return": returns, "length": returns})


def test_settings_that_agree_in_six_digits_are_told_apart():
    points = ({"learning_rate": 0.1234561}, {"learning_rate": 0.1234562})
    lines = "\n".join(evaluation_lines(records.replaced(of_sweep([1.0, 2.0]), points=points)))
    assert all(f"return at learning_rate = {rate}: " in lines for rate in (0.1234561, 0.1234562))
    assert [point_words(point, points) for point in points] == ["learning_rate 0.1234561", "learning_rate 0.1234562"]
    assert point_words(points[0]) == "learning_rate 0.123456"


@pytest.mark.by_default("1-False", "1-True", "2-False", "2-True", "3-False", "3-True", "30-False", "4-False", "4-True")
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("members", [1, 2, 3, 4, 30])
def test_shell_report_and_last_dot_tell_the_same_number(members, deep, capsys):
    record = some(members, deep=deep)
    tell(Run(records.replaced(record, facts=record.facts | {"failure": None}), None, []))
    shell = capsys.readouterr().out
    (number,) = (number for number in headline_numbers(record) if number.label == "Greedy return")
    (line,) = re.findall(r"greedy return: (.*)", shell)
    assert line == ascii_only(f"{number.value} ({number.note})")
    data = payload(record)
    (dot,) = data["curves"]["charts"][0]["evals"]["series"]
    found = ranking.point_summary(record, 0)
    assert dot["mean"][-1] == pytest.approx(found.value, rel=1e-4)
    assert f"{number.value}" in sentence(record)
    if members < 4 and members > 1:
        assert "interval" not in number.note
        assert f"{members} agents from" in number.note
    else:
        assert ("95% interval" in number.note) == ("[" in sentence(record).split(";")[0])
        assert ("over 10 episodes" if members == 1 else f"over {members} agents") in number.note
    assert number.note.startswith("interquartile mean" if deep and members >= 4 else "mean")


def test_python_tells_the_same_as_the_report():
    record = some(6, deep=True)
    found = ranking.point_summary(record, 0)
    own = summary_statistic(record.evaluation["return"].mean(axis=1), "agent", "IQM")
    assert (found.low, found.high) == pytest.approx((own.low, own.high))


@pytest.mark.parametrize("episodes", [2, 5, 10])
def test_the_best_agent_is_told_by_the_episodes_that_did_not_choose_it(episodes):
    record = some(30, episodes)
    best = ranking.best_summary(record)
    assert best.value == pytest.approx(held_out_episodes(record.evaluation["return"])[record.best_member].mean())
    assert f"the best agent has {best.number} in episodes that did not choose it" in sentence(record)
    assert f"best agent: seed {record.best_member}: " in result_lines(record)[1]


def test_the_best_agent_has_no_number_where_its_one_episode_chose_it():
    record = some(30, episodes=1)
    assert ranking.best_summary(record) is None
    assert "did not choose" not in sentence(record)
    assert result_lines(record)[1] == f"best agent: seed {record.best_member}"


def test_the_best_sweep_point_is_told_without_the_luck_of_the_choice():
    """Forty sweep points, all alike: the first is no better than the others in the episodes that judge."""
    record = of_sweep([0.0] * 40, members=1, noise=1.0, episodes=20)
    order = ranking.point_order(record)
    returns = record.evaluation["return"][order]
    assert returns[0, :10].mean() > 0.5
    assert ranking.point_summary(record, order[0]).value == pytest.approx(returns[0, 10:].mean())
    assert ranking.point_summary(record, order[0]).over == "10 episodes"


@pytest.mark.parametrize(("reports", "said"), [
    (1, "over the whole of training"),
    (2, "over the last 10,000 of 20,000 steps"),
    (15, "over the last 1,334 of 20,000 steps"),
    (20, "over the last tenth of training"),
    (205, "over the last tenth of training"),
])  # fmt: skip
def test_the_part_of_training_that_is_told_is_named(reports, said):
    """Few reports have no tenth: half of training, or all of it, must not be called one."""
    record = records.make(records.grid_env(), members=1, reports=reports)
    step, returns = record.curves["step"], np.arange(reports)[:, None] + np.float32(1)
    record = records.replaced(record, evaluation={}, curves={"step": step, "return": returns})
    assert said in sentence(record)
    assert ranking.score(record).members == pytest.approx(returns[-max(1, reports // 10) :].mean())


def test_the_reason_why_a_run_was_stopped_is_told():
    record = some(1)
    facts = record.facts | {"status": "diverged", "failure": "the reward became nan between steps 1 and 10"}
    assert ": the reward became nan between steps 1 and 10. Its greedy return" in sentence(
        records.replaced(record, facts=facts)
    )


def test_ties_are_called_ties():
    record = of_sweep([1.0, 3.0, 3.0, 2.0, 3.0], noise=0.0)
    assert ranking.point_order(record) == [1, 2, 4, 3, 0]
    assert ranking.tied_points(record) == 3
    assert "3 sweep points tie for the best; the first (learning_rate 0.2) has a mean" in sentence(record)
    assert "15 agents tie for the best, and the first has 3.00" in sentence(record)
    lines = result_lines(record)
    assert [line.endswith(", tied best") for line in lines[:5]] == [True] * 3 + [False] * 2
    assert "(15 agents tie, this is the first)" in lines[6]
    sweep = payload(record)["sweep"]
    assert sweep["tied"] == 3
    assert [row["alike"] for row in sweep["rows"]] == [True] * 3 + [False] * 2


def test_lines_on_an_evaluation_call_a_tie_one_as_those_on_training_do():
    record = some(5)
    returns = np.full((5, 10), 500.0)
    tied = records.replaced(record, evaluation=record.evaluation | {"return": returns})
    found, best = evaluation_lines(tied), summary_statistic(returns[0, 5:], "episode").words
    assert found[1] == f"return of the best agent, seed 0: {best}; 5 agents tie, this is the first"
    assert "5 agents tie, this is the first" in result_lines(tied)[1]
    assert not any("tie" in line for line in evaluation_lines(record))
    alone = evaluation_lines(some(1))
    assert not any("best" in line for line in alone)
    assert [line.split(":")[0] for line in alone] == ["return", "length"]


@pytest.mark.parametrize("levels", [(1.0, 3.0, 2.98, 2.0), (1.0, 3.0, 3.0, 2.0)])
def test_lines_on_an_evaluation_tell_settings_as_those_on_training_do(levels):
    """Sweep points are other agents: a mean over all of them is what none returns."""
    record = of_sweep(levels, noise=0.1 if len(set(levels)) == 4 else 0.0)
    found, trained = evaluation_lines(record), result_lines(record)
    told = [line.removeprefix("greedy ") for line in trained if line.startswith("greedy return at")]
    assert told == found[:4]
    assert len([line for line in found if line.startswith("length at learning_rate")]) == 4
    assert not any(line.startswith(("return:", "length:")) for line in found)
    assert trained[4] in found, "which episodes chose the order"


def test_lines_on_single_episodes_give_the_best_agent_no_number():
    """The episode that chose it would tell it, which is too high."""
    record = some(30, episodes=1)
    best = record.best_member
    found = evaluation_lines(record)
    assert f"best agent: seed {best}, by its only episode, so that none tells how good it is" in found
    assert not any("of the best agent" in line for line in found)
    assert "too high" in " ".join(evaluation_lines(of_sweep([1.0, 2.0], episodes=1)))


def test_sweep_points_whose_interval_overlaps_the_best_are_marked():
    record = of_sweep([1.0, 3.0, 2.98, 2.0])
    order = ranking.point_order(record)
    assert ranking.overlapping(record, order).tolist() == [True, True, False, False]
    assert ranking.tied_points(record) == 1
    assert "whose interval one other overlaps, has" in sentence(record)
    assert [line.rsplit(", ", 1)[-1] for line in result_lines(record)[:2]] == ["best", "overlaps"]


def test_a_setting_that_broke_is_last():
    record = of_sweep([1.0, 3.0, 2.0])
    returns = record.evaluation["return"].copy()
    returns[record.member_point == 1, 3] = np.nan
    record = records.replaced(record, evaluation=record.evaluation | {"return": returns})
    assert ranking.point_order(record) == [2, 0, 1]
    assert "nan" not in " ".join(result_lines(record)).replace("finance", "")


@pytest.mark.by_default("False")
@pytest.mark.parametrize("deep", [False, True])
def test_the_optimum_stands_beside_the_results(deep):
    record = some(5, deep=deep)
    known = records.replaced(record, tables=record.tables | {"optimal_return": np.asarray(7.93)})
    assert ", where 7.93 is the optimum" in sentence(known)
    assert "optimum: 7.93, the largest expected return of an episode" in result_lines(known)
    chart = payload(known)["curves"]["charts"][0]
    assert (chart["title"], chart["optimum"]) == ("Return", 7.93)
    labels = [text.get_text() for text in plot_returns(known).axes[0].get_legend().get_texts()]
    assert "optimum 7.93" in labels
    assert payload(record)["curves"]["charts"][0]["optimum"] is None
    assert not any("optimum" in line for line in result_lines(record))


def test_the_evaluation_after_training_is_the_last_dot():
    record = some(5)
    end = int(record.curves["step"][-1])
    chart = payload(record)["curves"]["charts"][0]
    assert chart["evals"]["step"] == [end]
    assert chart["evals"]["series"][0]["name"] == f"greedy evaluation at step {end:,}"
    on_the_way = {
        "eval_step": np.array([end // 2, end]), "eval_return": np.full((2, 5), 3.0), "eval_length": np.full((2, 5), 3.0)
    }  # fmt: skip
    chart = payload(records.replaced(record, curves=record.curves | on_the_way))["curves"]["charts"][0]
    assert chart["evals"]["step"] == [end // 2, end]
    mean = chart["evals"]["series"][0]["mean"]
    assert mean == pytest.approx([3.0, ranking.point_summary(record, 0).value], rel=1e-4)
    assert payload(records.replaced(record, evaluation={}))["curves"]["charts"][0]["evals"] is None


class TestFewReturns:
    """Episodes that end together, at the time limit: two reports of forty see a return."""

    @staticmethod
    def record(lengths=(1000.0, 1000.0), seen=(19, 39)):
        record = records.network(members=5, reports=40)
        curves = {name: np.full((40, 5), np.nan) for name in ("return", "length")}
        curves["reward"] = np.linspace(0.0, 4.0, 40)[:, None] + np.zeros((1, 5))
        curves["episodes"] = np.zeros((40, 5), int)
        for report, length in zip(seen, lengths, strict=True):
            curves["return"][report], curves["length"][report], curves["episodes"][report] = 3000.0, length, 64
        return records.replaced(record, curves=record.curves | curves)

    def test_the_reward_of_so_many_steps_is_the_curve(self):
        record = self.record()
        first, second, *_ = payload(record)["curves"]["charts"]
        assert first["title"] == "Return, from the reward"
        np.testing.assert_allclose(first["series"][0]["mean"], np.linspace(0, 4000, 40), rtol=1e-4)
        assert first["evals"] is not None
        assert (second["title"], second["step"]) == ("Return", record.curves["step"][[19, 39]].tolist())
        assert "reward per step" in plot_returns(record).axes[0].get_title(loc="left")

    @pytest.mark.full("covered")
    def test_not_where_episodes_end_by_themselves(self):
        assert (
            payload(self.record(lengths=(400.0, 1000.0)))["curves"]["charts"][0]["title"] != "Return, from the reward"
        )

    @pytest.mark.parametrize(
        ("limit", "seen", "estimated"),
        [(1000, (19,), True), (None, (19, 39), True), (None, (19,), False), (2000, (19, 39), False)],
    )
    def test_not_where_they_need_not_have_ended_at_the_time_limit(self, limit, seen, estimated):
        """A single episode is as long as itself: where no limit is told, each agent has had several."""
        record = self.record(lengths=(1000.0,) * len(seen), seen=seen)
        facts = record.facts if limit is None else record.facts | {"time_limit": limit}
        curves = curve_data.with_derived_curves(records.replaced(record, facts=facts)).curves
        assert (curve_data.ESTIMATED in curves) == estimated

    @pytest.mark.parametrize(("steps", "estimated"), [(999, False), (1000, True)])
    def test_not_where_a_report_is_a_piece_of_an_episode(self, steps, estimated):
        """A single environment's: an upright pendulum's reward for 20 steps is not what an episode returns."""
        record = self.record()
        alone = {"episodes": np.minimum(record.curves["episodes"], 1), "step": steps * np.arange(1, 41)}
        curves = curve_data.with_derived_curves(records.replaced(record, curves=record.curves | alone)).curves
        assert (curve_data.ESTIMATED in curves) == estimated

    @pytest.mark.parametrize(("first", "estimated"), [(0, False), (2, False), (3, True), (20, True)])
    def test_not_where_nearly_all_reports_see_a_return(self, first, estimated):
        seen = tuple(range(first, 40))
        record = self.record(lengths=(1000.0,) * len(seen), seen=seen)
        assert (curve_data.ESTIMATED in curve_data.with_derived_curves(record).curves) == estimated


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_an_agent_with_a_return_that_is_not_finite_is_left_out_and_told_everywhere(broken, capsys):
    record = some(5)
    returns = record.evaluation["return"].copy()
    returns[2, 0] = broken
    record = records.replaced(record, evaluation=record.evaluation | {"return": returns})
    others = np.delete(returns, 2, axis=0).astype(np.float64)
    assert ranking.point_summary(record, 0).value == pytest.approx(others.mean())
    assert ranking.point_summary(record, 0).over == "4 agents"
    assert ranking.point_summary(record, 0, "length").over == "5 agents"
    assert ranking.best_member(record) != 2
    said = "1 of 5 agents broke: greedy returns of theirs are not finite"
    assert said in sentence(record)
    assert said in evaluation_lines(record)
    tell(Run(records.replaced(record, facts=record.facts | {"failure": None}), None, []))
    assert said in capsys.readouterr().out


def test_one_agent_that_broke_has_no_return_and_says_how_many_of_its_episodes_did():
    record = some(1)
    returns = record.evaluation["return"].copy()
    returns[0, 3:5] = np.nan
    record = records.replaced(record, evaluation=record.evaluation | {"return": returns})
    assert np.isnan(ranking.point_summary(record, 0).value)
    assert "It broke: 2 of its 10 greedy returns are not finite" in sentence(record)
    assert not any(number.label == "Greedy return" for number in headline_numbers(record))
    assert ranking.broken_agents(some(3)) == ranking.broken_agents(records.bare()) == ""


@pytest.mark.parametrize(
    ("values", "flat"),
    [
        ([1e-29, 1.1e-29], False),
        ([1e9, 1e9 + 10.0], True),
        ([1e9, 1e9 + 1e5], False),
        ([0.0, 0.0], True),
        ([np.inf, np.inf, np.nan], True),
        ([np.inf, 1.0], False),
        ([-np.inf, np.inf], False),
    ],
)
def test_what_is_the_same_depends_on_the_size_of_it(values, flat):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_flat(np.array(values)) is flat


def test_greedy_episodes_that_return_more_are_seen_at_any_size():
    record = records.make(records.grid_env(), members=2, reports=5)
    flat = np.full((5, 2), 1e-29)
    for greedy, primary in ((2e-29, "return"), (1e-29, "length")):
        curves = record.curves | {"return": flat}
        evaluation = {"return": np.full((2, 3), greedy), "length": np.ones((2, 3))}
        assert curve_data.primary_curve(records.replaced(record, curves=curves, evaluation=evaluation)) == primary


def test_swept_numbers_that_differ_a_little_stay_apart_in_the_table():
    points = tuple({"learning_rate": rate} for rate in (0.1, 0.1000001, 0.10000002))
    record = records.make(records.grid_env(), members=2, points=points, reports=5)
    rows = payload(record)["sweep"]["rows"]
    assert sorted(row["values"][0] for row in rows) == sorted(point["learning_rate"] for point in points)


def test_a_metric_of_ones_own_that_is_named_as_candidates_are_is_shown():
    record = records.deep()
    curves = {name: values for name, values in record.curves.items() if name not in ("return_max", "return_min")}
    own = records.replaced(record, curves=curves | {"return_max": np.ones_like(record.curves["reward"])})
    assert "return_max" in loss_names(own)
    both = records.replaced(own, curves=own.curves | {"return_min": np.ones_like(record.curves["reward"])})
    assert "return_max" not in loss_names(both)


@pytest.mark.parametrize(
    ("cut", "episodes", "limit", "said"),
    [
        (1, 1, 20, "1 of 1 greedy episode was cut by the evaluation at 20 steps"),
        (1, 3, 1, "1 of 3 greedy episodes was cut by the evaluation at 1 step"),
        (2, 3, 1000, "2 of 3 greedy episodes were cut by the evaluation at 1,000 steps"),
        (0, 3, 20, ""),
    ],
)
def test_one_episode_was_cut_and_more_were(cut, episodes, limit, said):
    record = some(1, episodes)
    facts, config = record.facts | {"cut_evaluations": cut}, record.config | {"eval_max_steps": limit}
    told = ranking.cut_episodes(records.replaced(record, facts=facts, config=config))
    assert told == (f"{said} (eval_max_steps)" if said else "")
