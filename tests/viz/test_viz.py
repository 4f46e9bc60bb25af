"""What is drawn: the numbers behind the pictures, the palette, SVG and plots."""

import dataclasses
import itertools
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import records
from forked import forked
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from scipy import stats

from kousoku import viz
from kousoku.core.errors import ConfigError
from kousoku.core.panel import Panel
from kousoku.core.scene import Line, Polygon, Polyline, Rect, Scene, Text
from kousoku.viz import curve_data, ranking, style, summary, svg
from kousoku.viz.canvas import colormap
from kousoku.viz.headline import headline_numbers, sentence
from kousoku.viz.heat import Heat, arrow_lines, draw_panel
from kousoku.viz.payload import payload


class TestSummary:
    def test_all_tied_actions_are_greedy(self):
        q = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0], [-5.0, -5.0 - 1e-7, -6.0], [0.9, 0.9001, 0.0]])
        assert summary.greedy(q).tolist() == [
            [True, True, True],
            [False, True, True],
            [True, True, False],
            [False, True, False],
        ]

    def test_greedy_of_what_is_no_number(self):
        q = np.array([[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf], [np.nan, np.nan]])
        assert summary.greedy(q).tolist() == [[False, True], [True, False], [True, True], [False, False]]

    def test_state_values_ignore_nan(self):
        values = summary.state_values(np.array([[np.nan, -1.0], [np.nan, np.nan], [2.0, 3.0]]))
        np.testing.assert_array_equal(values, [-1.0, np.nan, 3.0])

    def test_mean_over_members_ignores_a_member_that_broke(self):
        tables = np.array([[[1.0, 2.0]], [[3.0, np.nan]], [[5.0, np.nan]]], np.float32)
        np.testing.assert_allclose(summary.mean_over_members(tables), [[3.0, 2.0]])

    def test_curve_has_the_interval_of_each_point(self):
        record = records.sweep()
        curve = curve_data.curve(record, "td_error")
        members = record.curves["td_error"][17, record.member_point == 2].astype(np.float64)
        low, high = stats.t.interval(0.95, len(members) - 1, loc=members.mean(), scale=stats.sem(members))
        np.testing.assert_allclose(
            [curve.mean[17, 2], curve.low[17, 2], curve.high[17, 2]], [members.mean(), low, high], rtol=1e-6
        )

    def test_thinned_returns_are_means_over_episodes(self):
        record = records.single()
        curves = {
            "step": np.array([10, 20, 30, 40]),
            "return": np.array([[1.0], [4.0], [np.nan], [2.0]]),
            "episodes": np.array([[1], [3], [0], [5]]),
            "td_error": np.array([[1.0], [3.0], [5.0], [7.0]]),
        }
        record = records.replaced(record, curves=curves)
        thin = curve_data.curve(record, "return", limit=2)
        assert thin.step.tolist() == [20, 40]
        assert thin.mean[:, 0].tolist() == [(1 + 3 * 4) / 4, 2.0]
        assert curve_data.curve(record, "td_error", limit=2).mean[:, 0].tolist() == [2.0, 6.0]

    def test_reports_without_a_single_episode_are_passed_over_so_that_the_curve_is_a_line(self):
        """Environments that begin together end their episodes together: most reports know of no return."""
        curves = {
            "step": np.array([10, 20, 30, 40, 50]),
            "seconds": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
            "return": np.array([[np.nan], [4.0], [np.nan], [2.0], [np.nan]]),
            "episodes": np.array([[0], [3], [0], [5], [0]]),
        }
        curve = curve_data.curve(records.replaced(records.single(), curves=curves), "return")
        assert curve.step.tolist() == [20, 40, 50]
        assert curve.seconds.tolist() == [2.0, 4.0, 5.0]
        np.testing.assert_array_equal(curve.mean[:, 0], [4.0, 2.0, np.nan])

    def test_between_two_reports_of_a_member_its_last_return_stands(self):
        """Four agents, two sweep points: where episodes end seldom, a line has no gaps and does not jump."""
        nan = np.nan
        record = records.make(records.grid_env(), members=4, reports=5)
        returns = [
            [1.0, nan, nan, 7.0],
            [nan, 3.0, nan, 8.0],
            [5.0, nan, nan, nan],
            [nan, 9.0, nan, 9.0],
            [6.0, nan, nan, nan],
        ]
        curves = dict(record.curves) | {"return": np.array(returns), "td_error": np.array(returns)}
        record = records.replaced(record, curves=curves, member_point=np.array([0, 0, 1, 1]), points=({}, {"x": 1.0}))
        curve = curve_data.curve(record, "return")
        expected = [
            [1.0, nan, nan, 7.0],
            [1.0, 3.0, nan, 8.0],
            [5.0, 3.0, nan, 8.0],
            [5.0, 9.0, nan, 9.0],
            [6.0, 9.0, nan, 9.0],
        ]
        np.testing.assert_array_equal(curve.members, expected)
        np.testing.assert_array_equal(curve.mean[:, 0], [1.0, 2.0, 4.0, 7.0, 7.5])
        np.testing.assert_array_equal(curve_data.curve(record, "td_error").members, returns)

    def test_thinning_keeps_the_limit_and_the_last_step(self):
        record = records.make(records.grid_env(), members=2, reports=1001)
        thin = curve_data.curve(record, "td_error", limit=400)
        assert thin.mean.shape == (400, 1)
        assert thin.step[-1] == record.curves["step"][-1]

    def test_errors_count_reachable_states_only(self):
        record = records.grid()
        errors = summary.value_errors(record)
        assert errors is not None
        np.testing.assert_array_equal(np.isnan(errors).all(axis=0), ~record.tables["reachable"])
        s = int(np.flatnonzero(record.tables["reachable"])[5])
        expected = abs(record.tables["q"][3, s].max() - record.tables["exact_q"][s].max())
        assert errors[3, s] == pytest.approx(expected, abs=1e-6)

    def test_typical_error_is_weighted_by_visits(self):
        record = records.grid()
        errors = summary.value_errors(record)
        assert errors is not None
        s = int(np.flatnonzero(record.tables["reachable"])[5])
        visits = np.zeros_like(record.tables["visits"])
        visits[:, s, 1] = 7
        visits[:, ~record.tables["reachable"], 0] = 1000
        once = records.replaced(record, tables=record.tables | {"visits": visits})
        np.testing.assert_allclose(summary.typical_errors(once), errors[:, s])

    def test_score_falls_back_to_training_and_to_reward(self):
        record = records.grid()
        assert ranking.score(record).name == "greedy return"
        record = records.replaced(record, evaluation={})
        assert ranking.score(record).name == "return"
        assert ranking.score(records.bandit()).name == "reward per step"

    def test_points_are_ordered_best_first_and_unknown_last(self):
        record = records.sweep()
        returns = record.evaluation["return"].copy()
        for point, value in enumerate((3.0, np.nan, 5.0, 1.0, 4.0, 2.0)):
            returns[record.member_point == point] = value
        record = records.replaced(record, evaluation={"return": returns})
        assert ranking.point_order(record) == [2, 4, 0, 5, 3, 1]
        assert record.member_point[ranking.best_member(record)] == 2

    def test_lengths_come_first_where_every_return_is_the_same(self):
        record = records.grid()
        assert curve_data.primary_curve(record) == "return"
        same = np.where(np.isnan(record.curves["return"]), np.nan, 1.0)
        record = records.replaced(record, curves=record.curves | {"return": same}, evaluation={})
        assert curve_data.primary_curve(record) == "length"
        for greedy, first in ((0.5, "length"), (1.0, "length"), (1.125, "return")):
            after = records.replaced(record, evaluation={"return": np.full((record.num_members, 8), greedy)})
            assert curve_data.primary_curve(after) == first
            on_the_way = record.curves | {"eval_return": np.full((3, record.num_members), greedy)}
            assert curve_data.primary_curve(records.replaced(record, curves=on_the_way)) == first
        assert curve_data.returns_curve(record) == "return"
        alike = records.replaced(record, curves=record.curves | {"length": np.full_like(same, 500.0)})
        assert curve_data.primary_curve(alike) == "return", "lengths that are all the same tell no more"
        assert curve_data.primary_curve(records.bandit()) == "reward"
        assert curve_data.primary_curve(records.bare()) is None

    def test_the_mean_of_one_report_is_no_return_that_every_episode_had(self):
        """As of a run that diverged in its first iteration."""
        record = records.make(records.grid_env(), members=1, reports=1)
        curves = record.curves | {"return": np.array([[19.6]]), "length": np.array([[19.6]])}
        record = records.replaced(record, curves=curves, evaluation={})
        assert curve_data.primary_curve(record) == "return"
        assert "all are" not in viz.plot_returns(record).axes[0].get_title(loc="left")
        again = {name: np.repeat(values, 2, axis=0) for name, values in curves.items()}
        record = records.replaced(record, curves=again | {"step": np.array([10, 20])})
        assert "; all are 19.6" in viz.plot_returns(record).axes[0].get_title(loc="left")

    def test_error_curve_from_the_history(self):
        record = records.grid()
        wrong = np.stack([record.tables["exact_q"][None] + c for c in (0.5, 0.25)]).repeat(30, axis=1)
        record = records.replaced(record, tables=record.tables | {"q_history": wrong})
        curve = curve_data.with_derived_curves(record).curves["value_error"]
        np.testing.assert_allclose(curve, np.array([[0.5], [0.25]]).repeat(30, axis=1), rtol=1e-5)

    def test_states_without_a_picture_lie_in_reading_order(self):
        (panel,) = summary.panels_of(records.bare())
        shown = [s for row in panel.states for s in row if s >= 0]
        assert shown == list(range(64))
        assert len({len(row) for row in panel.states}) == 1


class TestHeadline:
    def test_says_what_happened(self):
        text = sentence(records.grid())
        assert text.startswith("30 agents learned in 0.41 s. Their mean greedy return is 0.948 [0.920, 0.976];")
        assert "The best agent’s state values are off by" in text

    def test_of_one_agent_and_of_an_interrupted_run(self):
        assert sentence(records.single()).startswith("One agent learned in 0.41 s. Its greedy return is 0.99")
        text = sentence(records.interrupted())
        assert text.startswith("4 agents were stopped early, after 9,000 of 20,000 steps and 0.41 s.")

    def test_of_a_run_on_its_way_and_of_one_that_diverged(self):
        record = records.interrupted()
        said = [
            sentence(records.replaced(record, facts=record.facts | {"status": s})) for s in ("unfinished", "diverged")
        ]
        assert said[0].startswith("4 agents have come to 9,000 of 20,000 steps in 0.41 s.")
        assert said[1].startswith("4 agents were stopped early, after 9,000 of 20,000 steps and 0.41 s.")

    def test_of_a_sweep_names_the_best_sweep_point(self):
        text = sentence(records.sweep())
        assert (
            "The best sweep point (learning_rate 0.5, epsilon 0.3), whose interval 2 others overlap, has a mean" in text
        )
        assert "in episodes that did not choose it" in text

    def test_of_a_bandit_speaks_of_its_one_value(self):
        assert sentence(records.bandit()).endswith(
            "The best agent’s estimate of the best action’s value is off by 0.000917."
        )

    @pytest.mark.by_default(
        "bandit",
        "bare",
        "blackjack",
        "cliff",
        "deep",
        "grid",
        "hostile",
        "interrupted",
        "network",
        "single",
        "sweep",
        "taxi",
    )
    @pytest.mark.parametrize("name", records.ALL)
    def test_never_shows_what_is_no_number(self, name):
        record = records.ALL[name]()
        words = sentence(record) + str(headline_numbers(record))
        assert "nan" not in words.lower()
        assert "None" not in words


class TestStyle:
    @pytest.mark.parametrize("scheme", style.SCHEMES)
    def test_text_is_readable(self, scheme):
        colors = style.COLORS[scheme]
        for ground in ("paper", "raised", "blank"):
            for ink in ("ink", "muted", "accent", "good", "warn", "focus"):
                assert style.contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)

    @pytest.mark.parametrize("scheme", style.SCHEMES)
    def test_curves_and_arrows_stand_out(self, scheme):
        paper = style.COLORS[scheme]["paper"]
        assert all(style.contrast(color, paper) >= 3 for color in style.SERIES[scheme])
        for name in style.SCALES:
            assert all(style.contrast(style.ink_on(c), c) >= 4.5 for c in style.scale_colors(name, scheme))

    @pytest.mark.parametrize("name", style.SCALES)
    def test_scales_run_one_way_in_lightness(self, name):
        for scheme, sign in (("light", -1), ("dark", 1)):
            steps = np.diff([style.luminance(color) for color in style.scale_colors(name, scheme)])
            assert (sign * steps > 0).all()

    def test_the_page_has_a_class_for_every_colour(self):
        css = style.css()
        for name in style.SCALES:
            assert f".{name}{style.BINS - 1}{{fill:var(--{name}{style.BINS - 1})}}" in css
            assert css.count(f"--{name}0:") == 2


class TestSvg:
    def test_text_and_colours_cannot_become_markup(self):
        shapes = (Text(0.5, 0.5, records.HOSTILE[2], 0.3, '"/><script>x</script>'), Rect(0, 0, 1, 1, "url(#x)"))
        text = svg.scene_svg(Scene(1.0, 1.0, foreground=shapes))
        root = ET.fromstring(text)
        assert [node.tag.split("}")[1] for node in root.iter()] == ["svg", "g", "g", "text", "rect"]
        assert root[1][0].text == records.HOSTILE[2]
        assert root[1][0].get("fill") == root[1][1].get("fill") == "gray"

    def test_shapes(self):
        assert svg.shape_svg(Line(0, 1, 2, 3, 0.1, "#123456")) == (
            '<line x1="0" y1="1" x2="2" y2="3" stroke="#123456" stroke-width="0.1" stroke-linecap="round"/>'
        )
        assert svg.shape_svg(Rect(0, 1, 2, 3, "red", 0.5)) == (
            '<rect x="0" y="1" width="2" height="3" rx="0.5" fill="red"/>'
        )

    def test_shapes_of_many_points(self):
        corners = ((0.0, 0.5), (1.0, 2.0), (3.0, 0.0))
        assert svg.shape_svg(Polygon(corners, "red")) == '<polygon points="0,0.5 1,2 3,0" fill="red"/>'
        assert svg.shape_svg(Polyline(corners, 0.2, "url(#x)")) == (
            '<polyline points="0,0.5 1,2 3,0" fill="none" stroke="gray" stroke-width="0.2" stroke-linecap="round" '
            'stroke-linejoin="round"/>'
        )

    def test_size(self):
        root = ET.fromstring(svg.scene_svg(Scene(8.0, 4.0)))
        assert (root.get("viewBox"), root.get("width"), root.get("height")) == ("0 0 8 4", "480", "240")


def drawn(figure: Figure) -> Figure:
    figure.canvas.draw()
    return figure


class TestPlots:
    def test_walls_between_cells_are_drawn(self):
        record = records.grid()
        (panel,) = record.panels
        walled = dataclasses.replace(panel, walls=((2.0, 0.0, 2.0, 1.0), (0.0, 1.0, 1.0, 1.0)))
        for walls, plot in itertools.product((panel, walled), (viz.plot_values, viz.plot_visits)):
            axes = plot(records.replaced(record, panels=(walls,))).axes[0]
            drawn = [c for c in axes.collections if c.get_zorder() == 2.7]
            segments = [segment.tolist() for c in drawn for segment in c.get_segments()]
            ends = [[[1.5, -0.5], [1.5, 0.5]], [[-0.5, 0.5], [0.5, 0.5]]]
            assert segments == (ends if walls is walled else [])

    def test_arms_of_bandits_that_differ_are_not_averaged(self):
        record = records.bandit(members=4)
        differ = records.replaced(record, tables={k: v for k, v in record.tables.items() if not k.startswith("exact")})
        best = ranking.best_member(differ)
        for plot, table in ((viz.plot_values, "q"), (viz.plot_visits, "visits")):
            (axes,) = plot(differ).axes
            assert f"the best agent, seed {record.member_seed[best]}" in axes.get_title(loc="left")
            heights = sorted(bar.get_height() for bar in axes.patches)
            np.testing.assert_allclose(heights, np.sort(differ.tables[table][best, 0]), rtol=1e-6)
            assert "mean of 4 agents" in plot(record).axes[0].get_title(loc="left")
        names = [[agent["name"] for agent in payload(each)["tables"]["agents"]] for each in (differ, record)]
        assert names[0][0].startswith("best agent")
        assert not any(name.startswith("mean") for name in names[0])
        assert names[1][0] == "mean of all 4 agents"

    @pytest.mark.by_default("interrupted")
    @pytest.mark.parametrize("name", ["grid", "sweep", "bandit", "interrupted", "blackjack", "cliff", "hostile"])
    def test_every_plot_of_every_kind_of_run(self, name):
        record = records.ALL[name]()
        plots = [viz.plot_values, viz.plot_returns, viz.plot_visits]
        for plot in plots if name == "bandit" else [*plots, viz.plot_error]:
            assert drawn(plot(record)).axes

    def test_many_panels_stand_in_full_rows(self):
        figure = viz.plot_values(records.taxi_like())
        panels = [ax for ax in figure.axes if ax.get_title(loc="left")]
        assert len(panels) == 20
        assert len({round(ax.get_subplotspec().get_position(figure).x0, 3) for ax in panels}) == 5

    def test_values_of_one_agent_and_of_the_mean(self):
        record = records.grid()
        assert "agent 3 (seed 3)" in viz.plot_values(record, member=3).axes[0].get_title(loc="left")
        assert "mean of 30 agents" in viz.plot_values(record).axes[0].get_title(loc="left")
        assert "learning_rate 0.5" in viz.plot_values(records.sweep()).axes[0].get_title(loc="left")
        points = ({"epsilon": 0.1}, {"epsilon": 0.3})
        single = records.make(records.grid_env("S..G"), members=1, points=points, reports=6)
        assert "learned values, the agent with epsilon" in viz.plot_values(single).axes[0].get_title(loc="left")

    def test_into_given_axes(self):
        for record in (records.grid(), records.blackjack_like(), records.bandit()):
            figure = Figure(figsize=(6, 5))
            assert viz.plot_values(record, ax=figure.add_subplot()) is figure
            drawn(figure)
        figure = Figure()
        assert viz.plot_returns(records.grid(), ax=figure.add_subplot()) is figure

    def test_returns_are_plotted_where_all_are_the_same_too(self):
        record = records.grid()
        assert "all are" not in viz.plot_returns(record).axes[0].get_title(loc="left")
        same = np.where(np.isnan(record.curves["return"]), np.nan, 1.0)
        record = records.replaced(record, curves=record.curves | {"return": same})
        ax = viz.plot_returns(record).axes[0]
        assert "return of the episodes that ended" in ax.get_title(loc="left")
        assert ax.get_title(loc="left").endswith("; all are 1.00")
        learned = next(line for line in ax.get_lines() if line.get_label() == "while training")
        assert set(learned.get_ydata()[np.isfinite(learned.get_ydata())].tolist()) == {1.0}

    def test_lengths_have_a_plot_of_their_own(self):
        record = records.grid()
        evaluated = {
            "return": np.full((record.num_members, 4), 0.5),
            "length": np.full((record.num_members, 4), 9000.0),
        }
        longest = records.replaced(record, evaluation=evaluated)
        assert viz.plot_lengths(longest).axes[0].get_ylim()[1] > 9000.0, "also where greedy episodes are the longest"
        ax = viz.plot_lengths(record).axes[0]
        assert "steps per episode" in ax.get_title(loc="left")
        assert "all are" not in ax.get_title(loc="left")
        for other in (records.bare(), records.bandit()):
            with pytest.raises(ConfigError, match=r"plot_lengths: .*; no episode's length was recorded"):
                viz.plot_lengths(other)

    def test_lengths_whose_interval_reaches_below_zero_have_a_logarithmic_axis(self):
        record = records.make(records.grid_env(), members=4)
        lengths = np.array([18.0, 18.0, 18.0, 1000.0], np.float32)[:, None].repeat(4, axis=1)
        record = records.replaced(record, evaluation={"return": np.full((4, 4), 0.5), "length": lengths})
        ax = viz.plot_lengths(record).axes[0]
        low, high = ax.get_ylim()
        assert ax.get_yscale() == "log"
        assert 0.0 < low < 18.0
        assert high > 1000.0

    def test_a_lone_evaluation_has_its_interval_as_a_whisker(self):
        record = records.evaluated_once()
        ax = viz.plot_returns(record).axes[0]
        found = ranking.score(record).members
        (whisker,) = [line for line in ax.get_lines() if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2]
        low, high = whisker.get_ydata()
        assert found.min() <= low < found.mean() < high <= found.max()
        assert ax.get_ylim()[1] > high
        several = viz.plot_returns(records.network()).axes[0]
        assert not [line for line in several.get_lines() if len(set(line.get_xdata())) == 1]

    def test_evaluations_far_above_what_is_seen_while_training_are_on_the_axis(self):
        record = records.cut_short()
        ax = viz.plot_returns(record).axes[0]
        assert ax.get_ylim()[1] > record.curves["eval_return"].mean(axis=1).max()
        assert "return of the first 250 steps of each episode" in ax.get_title(loc="left")

    @pytest.mark.parametrize("limit", [None, 1000, 2000])
    def test_whole_episodes_are_not_told_as_cut(self, limit):
        record = records.cut_short()
        agent = record.config["agent"] | {"max_episode_steps": limit}
        record = records.replaced(record, config=record.config | {"agent": agent})
        assert "return of the episodes that ended" in viz.plot_returns(record).axes[0].get_title(loc="left")

    def test_ties_have_an_arrow_each(self):
        panel = Panel(
            "",
            ((0, 1, -1),),
            action_names=("up", "right", "down", "left"),
            action_arrows=((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)),
        )
        greedy = summary.greedy(np.array([[1.0, 1.0, 0.0, 0.5], [0.0, 0.0, 2.0, 0.0]]))
        ax = Figure().add_subplot()
        draw_panel(
            ax, panel, Heat("value", np.array([1.0, 2.0]), Normalize(1, 2), "", greedy), cell_points=40, alone=True
        )
        lines = [c for c in ax.collections if isinstance(c, LineCollection)]
        arrows = max(lines, key=lambda c: c.get_zorder()).get_segments()
        shafts = [np.asarray(stroke) for stroke in arrows if len(stroke) == 2]
        directions = [tuple(np.round(np.sign(stroke[1] - stroke[0]), 6)) for stroke in shafts]
        assert directions == [(0, -1), (1, 0), (0, 1)]
        assert [round(float(stroke[0, 0])) for stroke in shafts] == [0, 0, 1]

    def test_each_cell_has_the_colour_of_its_value(self):
        """An end's beyond the ends; where there is no value, one that no value has."""
        panel = Panel("", ((0, 1, 2), (3, 4, -1)), action_names=(), action_arrows=())
        values = np.array([1.0, 2.0, 4.0, np.inf, np.nan])
        ax = Figure().add_subplot()
        draw_panel(ax, panel, Heat("value", values, Normalize(1, 3), ""), cell_points=40, alone=False)
        shade = np.asarray(ax.images[0].get_array())
        palette = colormap("value")
        np.testing.assert_allclose(shade[0], [palette(0.0), palette(0.5), palette(1.0)])
        np.testing.assert_allclose(shade[1, 0], palette(1.0))
        assert len({tuple(colour) for colour in (*shade[0], shade[1, 1])}) == 4

    @pytest.mark.parametrize("cell", [20, 50])
    @pytest.mark.parametrize("chosen", [*range(8), None], ids=str)
    def test_arrows_stay_clear_of_a_label(self, chosen, cell):
        ways = tuple((x, y) for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0) if (x, y) != (0.0, 0.0))
        panel = Panel("", ((0,),), labels=((0, 0, "S"),), action_names=tuple("abcdefgh"), action_arrows=ways)
        greedy = np.ones((1, 8), bool) if chosen is None else np.arange(8)[None] == chosen
        figure = Figure(figsize=(1.0, 1.0), dpi=100)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        heat = Heat("value", np.array([1.0]), Normalize(0, 1), "", greedy)
        draw_panel(ax, panel, heat, cell_points=cell, alone=True)
        figure.set_size_inches(cell / 72, cell / 72)
        figure.draw_without_rendering()
        (label,) = [text for text in ax.texts if text.get_text() == "S"]
        box = label.get_window_extent()
        lines = max((c for c in ax.collections if isinstance(c, LineCollection)), key=lambda c: c.get_zorder())
        ends = np.array([ax.transData.transform(end) for stroke in lines.get_segments() for end in stroke])
        gap = np.maximum(0.0, np.maximum([box.x0, box.y0] - ends, ends - [box.x1, box.y1]))
        assert np.hypot(*gap.T).min() > 0.03 * cell / 72 * 100

    def test_an_arrow_alone_is_centred(self):
        shaft, head = arrow_lines(2.0, 3.0, (0.0, -2.0), True, 0.4)
        np.testing.assert_allclose(shaft, [(2.0, 3.3), (2.0, 2.7)])
        np.testing.assert_allclose(head[1], shaft[1])

    def test_says_what_is_missing(self):
        with pytest.raises(ConfigError, match="member: got 30; use a whole number of at least 0 and at most 29"):
            viz.plot_values(records.grid(), member=30)
        with pytest.raises(ConfigError, match="no table"):
            viz.plot_values(records.deep())
        with pytest.raises(ConfigError, match="visits"):
            viz.plot_visits(records.bare())
        with pytest.raises(ConfigError, match="exact model"):
            viz.plot_error(records.bare())
        with pytest.raises(ConfigError, match="returns"):
            viz.plot_returns(records.bare())

    def test_a_figure_shows_itself_in_a_notebook(self):
        assert viz.plot_returns(records.single())._repr_png_().startswith(b"\x89PNG")

    @pytest.mark.full("covered")
    def test_dollars_are_no_mathematics(self):
        record = records.sweep()
        points = tuple({"$\\frac{a$": point["learning_rate"], "epsilon": point["epsilon"]} for point in record.points)
        drawn(viz.plot_returns(records.replaced(record, points=points)))
        drawn(viz.plot_values(records.replaced(record, points=points)))

    def test_nothing_global_is_touched(self):
        code = (
            "import sys; from kousoku import viz; assert 'matplotlib' not in sys.modules; import records; "
            "before = None; import matplotlib; before = dict(matplotlib.rcParams); "
            "viz.plot_values(records.single()).canvas.draw(); viz.plot_returns(records.single()); "
            "assert 'matplotlib.pyplot' not in sys.modules; assert dict(matplotlib.rcParams) == before"
        )
        path = [p for p in sys.path if p.endswith("support")]
        done = forked(f"import sys; sys.path += {path!r}; {code}", strict=True)
        assert done.returncode == 0, done.stderr

    def test_cells_too_small_for_arrows_have_none(self):
        record = records.replaced(records.bare(), tables={"q": np.random.default_rng(0).normal(size=(8, 40_000, 4))})
        figure = drawn(viz.plot_values(record))
        assert all(not c.get_segments() for c in figure.axes[0].collections if isinstance(c, LineCollection))
