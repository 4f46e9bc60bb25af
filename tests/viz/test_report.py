"""The report's file: complete, self-contained, safe against what a user may have typed, and small."""

import base64
import hashlib
import json
import re
from html import escape, unescape

import figures
import numpy as np
import pytest
import records
from scipy import stats

from kousoku.agents import AGENTS
from kousoku.core.choice import tied_for_best
from kousoku.core.scene import Scene, Text, Trajectory2d
from kousoku.ops.statistics import iqm_interval
from kousoku.viz import headline, offline, report, style, tables, write_report
from kousoku.viz.curves import plot_returns
from kousoku.viz.encode import numbers, to_json
from kousoku.viz.film import MAX_FRAMES
from kousoku.viz.learning import LOSSES, LOSSES_OF
from kousoku.viz.payload import payload
from kousoku.viz.text import short

MEGABYTE = 1 << 20


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


def without_text(page: str) -> str:
    """The page's code, without what a user may have written: the title and the data."""
    text = page.split('id="data">', 1)[1].split("</script>", 1)[0]
    return re.sub(r"<title>[^<]*</title>", "", page.replace(text, ""))


@pytest.fixture(scope="module", params=["grid", "bandit", "taxi", "hostile", "deep", "network"])
def page(request) -> str:
    return report.report_html(records.ALL[request.param]())


class TestFiles:
    @pytest.mark.full("covered")
    def test_lengths_have_a_picture_where_every_return_is_the_same(self, tmp_path):
        record = records.grid()
        same = np.where(np.isnan(record.curves["return"]), np.nan, 1.0)
        path = report.write_report(records.replaced(record, curves=record.curves | {"return": same}), tmp_path)
        assert {"lengths", "returns"} <= {p.stem for p in path.parent.glob("*.png")}

    @pytest.mark.by_default("bare-pictures2")
    @pytest.mark.parametrize(
        ("name", "pictures"),
        [
            ("grid", {"values", "returns", "visits", "error"}),
            ("bandit", {"values", "returns", "visits"}),
            ("bare", {"values"}),
            ("deep", {"returns"}),
        ],
    )
    def test_pictures_as_far_as_there_is_data(self, name, pictures, tmp_path):
        path = write_report(records.ALL[name](), tmp_path / "new" / "folder")
        assert path == tmp_path / "new" / "folder" / "report.html"
        assert {p.stem for p in path.parent.glob("*.png")} == pictures
        assert all(p.read_bytes().startswith(b"\x89PNG") for p in path.parent.glob("*.png"))
        assert {p.suffix for p in path.parent.iterdir()} == {".png", ".html"}

    @pytest.mark.full("covered")
    def test_can_be_written_again(self, tmp_path):
        first = write_report(records.single(), str(tmp_path)).read_bytes()
        assert write_report(records.single(), tmp_path).read_bytes() == first


class TestSelfContained:
    @pytest.mark.by_default("bandit")
    def test_no_address_but_the_names_of_svg(self, page):
        code = without_text(page)
        assert set(re.findall(r"\w+://[^\"'\s]*", code)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(
            r"@import|<link|<iframe|<object|<embed|\bsrc\s*=|\bhref\s*=|\bfetch\(|XMLHttp|import\(", code
        )
        assert "url(" not in code

    def test_nothing_inline_that_the_policy_would_refuse(self, page):
        code = without_text(page)
        assert not re.search(r"<[^>]*\sstyle=|<[^>]*\son\w+=", code)
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|DOMParser", code
        )

    def test_policy_names_exactly_the_style_and_the_script_of_the_page(self, page):
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        (css,), (script,) = (re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S) for tag in ("style", "script"))
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script)]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["style-src"] == f"'sha256-{digests[0]}'"
        assert rules["script-src"] == f"'sha256-{digests[1]}'"
        assert rules["img-src"] == "data:"
        assert "unsafe" not in policy

    def test_no_placeholder_is_left(self, page):
        assert "{{" not in without_text(page)

    def test_there_is_no_line_that_ends_the_script_early(self, page):
        assert page.count("</script>") == 2
        assert page.count("<script") == 2


class TestEscaping:
    def test_json_cannot_leave_its_element(self):
        text = to_json({"a": "</script><!--&\u2028\u2029", records.HOSTILE[0]: records.HOSTILE})
        assert not set(text) & set("<>&\u2028\u2029")
        assert json.loads(text) == {"a": "</script><!--&\u2028\u2029", records.HOSTILE[0]: list(records.HOSTILE)}

    def test_what_json_does_not_know(self):
        value = {"nan": np.float32("nan"), "inf": [float("inf"), np.int64(3)], 5: (True, None), "path": {1}}
        assert json.loads(to_json(value)) == {"nan": None, "inf": [None, 3], "5": [True, None], "path": "{1}"}

    def test_numbers_have_five_digits_and_a_tenth(self):
        found = numbers(np.array([1.0, 1 / 3, 123456.78, -2.5e-9, np.nan, np.inf, 0.0, 0.1 + 0.2, 5e29]))
        assert found == [1, 0.33333, 123456.8, -2.5e-9, None, None, 0, 0.3, 5e29]
        assert to_json(found) == "[1,0.33333,123456.8,-2.5e-09,null,null,0,0.3,5e+29]"

    @pytest.mark.parametrize("halfway", [824.5, 825.5, 0.12345, 9.995, 0.0010005, 99.95, 1.125, 1234567.5])
    @pytest.mark.parametrize("off", [0.0, 1e-16, -1e-16, 3e-8, -3e-8, 2e-6, -2e-6, 1.4e-6, -1.4e-6])
    def test_what_is_rounded_twice_is_what_is_rounded_once(self, halfway, off):
        """The sentence rounds a number itself, the page what it was sent of it."""
        for value in (halfway * (1 + off), -halfway * (1 + off), float(np.float32(halfway * (1 + off)))):
            (sent,) = numbers([value])
            assert short(float(sent)) == short(value)

    def test_hostile_names_stay_text(self):
        page = report.report_html(records.hostile())
        assert f"<title>{escape(records.HOSTILE[2])} on {escape(records.HOSTILE[0])}</title>" in page
        for text in records.HOSTILE:
            assert text not in page
        data = data_of(page)
        assert data["tables"]["panels"][0]["title"] == records.HOSTILE[0]
        assert [0, 1, records.HOSTILE[2]] in data["tables"]["panels"][0]["labels"]
        assert records.HOSTILE[0] in data["sweep"]["names"]

    @pytest.mark.full("covered")
    def test_text_that_is_no_unicode(self, tmp_path):
        record = records.single()
        config = record.config | {"env": {"id": "half a pair \ud800"}, "command": "x \udfff"}
        page = write_report(records.replaced(record, config=config), tmp_path).read_text(encoding="utf-8")
        assert data_of(page)["command"] == "x \udfff"

    def test_nan_and_infinity_survive(self):
        data = data_of(report.report_html(records.interrupted()))
        assert data["status"] == "interrupted"
        agents = {agent["name"]: agent for agent in data["tables"]["agents"]}
        assert agents["seed 2"]["q"] == [None] * 256
        assert agents["seed 1"]["q"][20:24] == [None, None, None, 0]
        assert data["curves"]["charts"][0]["title"] == "Reward"


class TestContent:
    def test_greedy_bits_hold_every_tie(self):
        record = records.single()
        q = record.tables["q"].copy()
        q[0, 4] = [1.0, 1.0, 0.0, 1.0]
        q[0, 8] = 0.0
        agent = payload(records.replaced(record, tables=record.tables | {"q": q}))["tables"]["agents"][0]
        assert agent["greedy"][4] == 0b1011
        assert agent["greedy"][8] == 0b1111

    def test_mean_of_the_agents_comes_first(self):
        record = records.grid()
        first, second, *_ = payload(record)["tables"]["agents"]
        assert first["name"] == "mean of all 30 agents"
        np.testing.assert_allclose(first["q"], record.tables["q"].mean(axis=0).reshape(-1), rtol=1e-4)
        np.testing.assert_allclose(first["visits"], record.tables["visits"].sum(-1).mean(axis=0), rtol=1e-4)
        ties = int(tied_for_best(record.scores).sum())
        assert ties > 1
        assert second["name"] == f"best agent (seed {record.best_member}; {ties} agents tie)"
        np.testing.assert_allclose(second["q"], record.tables["q"][record.best_member].reshape(-1), rtol=1e-4)

    def test_a_sweep_shows_every_setting_best_first(self):
        record = records.sweep()
        data = payload(record)
        halves = record.evaluation["return"].reshape(6, 5, 2, 10).mean(axis=(1, 3), dtype=np.float64)
        order = np.argsort(-halves[:, 0], kind="stable")
        np.testing.assert_allclose([row["score"][0] for row in data["sweep"]["rows"]], halves[order, 1], rtol=1e-4)
        assert data["sweep"]["heldOut"]
        assert data["sweep"]["names"] == ["learning_rate", "epsilon"]
        assert len(data["sweep"]["rows"]) == len(data["curves"]["charts"][0]["series"]) == 6
        names = [agent["name"] for agent in data["tables"]["agents"]]
        assert names[0] == "best sweep point: learning_rate 0.5, epsilon 0.3"
        assert names[1:6] == ["mean of " + series["name"] for series in data["curves"]["charts"][0]["series"]][1:]

    def test_more_settings_than_colours_are_grey(self):
        points = tuple({"epsilon": i / 100} for i in range(60))
        series = payload(records.make(records.grid_env(), members=2, points=points))["curves"]["charts"][0]["series"]
        assert [s["color"] for s in series] == [*range(style.BEST_POINTS), *[-1] * 40]

    @pytest.mark.by_default("2-2")
    @pytest.mark.parametrize(("count", "best"), [(2, 2), (6, 6), (7, 4), (9, 4)])
    def test_of_many_sweep_points_only_the_best_few_have_a_band_and_single_agents(self, count, best):
        points = tuple({"epsilon": i / 100} for i in range(count))
        data = payload(records.make(records.grid_env(), members=5, points=points))
        (chart, *_) = data["curves"]["charts"]
        assert data["colored"] == best
        assert [s["color"] for s in chart["series"]] == [*range(best), *[-1] * (count - best)]
        assert [s["low"] is not None for s in chart["series"]] == [i < best for i in range(count)]
        assert sorted(m["color"] for m in chart["members"]) == [i for i in range(best) for _ in range(5)]

    def test_frames_share_their_background(self):
        record = records.grid()
        player = payload(record)["player"]["film"]["runs"][0]
        assert len(player["backgrounds"]) == 1
        assert len(player["frames"]) == len(record.film.scenes)
        assert player["frames"][0]["shapes"] == [["c", "#e4572e", 7.5, 7.5, 0.3]]

    def test_a_long_episode_is_cut(self):
        scenes = tuple(Scene(1.0, 1.0, (), (Text(0.5, 0.5, str(i), 0.5, "black"),)) for i in range(MAX_FRAMES + 7))
        player = payload(records.replaced(records.single(), film=Trajectory2d(scenes)))["player"]["film"]
        assert (len(player["runs"][0]["frames"]), player["left"]) == (MAX_FRAMES, 7)

    def test_the_command_is_given_as_it_is(self):
        record = records.grid()
        assert payload(record)["command"] == record.config["command"]

    def test_configuration_is_flat_and_complete(self):
        groups = {group["title"]: dict(group["rows"]) for group in payload(records.grid())["config"]}
        assert groups["Agent"]["exploration.epsilon"] == "0.1"
        assert groups["Run"]["steps"] == "20,000"
        assert groups["Versions"]["jax"] == "0.10.2"
        assert list(groups) == ["Agent", "Environment", "Run", "Versions", "Device"]

    def test_an_environments_numbers_are_told_once_and_a_digest_is_no_setting(self):
        record = records.grid()
        env = {"id": "Own-v0", "options": {"scale": 2.0}, "registered": True, "code": "6440b190bb29", "functions": None}
        sources = {"agent": {}, "env": {"scale": "given"}, "run": {}}
        config = record.config | {"env": env | {"fields": {"scale": 2.0, "time_limit": 20}}, "sources": sources}
        groups = {
            group["title"]: dict(group["rows"]) for group in payload(records.replaced(record, config=config))["config"]
        }
        assert groups["Environment"] == {
            "id": "Own-v0",
            "options.scale": "2 (given)",
            "code": "6440b190bb29",
            "fields.time_limit": "20 (default)",
        }

    def test_the_spacing_of_reports_that_nobody_asked_for_is_the_real_one(self):
        record = records.grid()
        reports = np.arange(1, 4) * 8192
        curves = {"step": reports, "return": np.ones((3, record.num_members), np.float32)}
        for given, said in (({}, "every 8,192 steps (default)"), ({"record_every": "given"}, "166 (given)")):
            config = record.config | {"sources": {"agent": {}, "env": {}, "run": given}}
            found = payload(records.replaced(record, config=config, curves=curves))["config"]
            assert {group["title"]: dict(group["rows"]) for group in found}["Run"]["record_every"] == said

    def test_memory_is_told_in_words_and_mebibytes(self):
        record = records.grid()
        memory = {"state_mib": 0.0583, "process_peak_mib": 512.25}
        record = records.replaced(record, facts=record.facts | {"memory": memory})
        groups = {group["title"]: dict(group["rows"]) for group in payload(record)["config"]}
        assert groups["Memory"] == {"training state": "0.0583 MiB", "peak of the process": "512 MiB"}

    @pytest.mark.parametrize(
        ("record", "name"), [(records.single, "replay buffer"), (records.grid, "replay buffer of each agent")]
    )
    def test_how_full_replay_buffers_are_is_told_after_the_memory_of_all(self, record, name):
        found = record()
        facts = found.facts | {"memory": {"state_mib": 2.0}}
        use = {"transitions": 1000, "capacity": 5000, "mib": 0.15349}
        for more, told in (({"replay_buffer": use}, {name: "1,000 of 5,000 transitions, 0.153 MiB"}), ({}, {})):
            groups = payload(records.replaced(found, facts=facts | more))["config"]
            rows = {group["title"]: dict(group["rows"]) for group in groups}["Memory"]
            assert rows == {"training state": "2.00 MiB"} | told

    def test_what_was_swept_has_the_values_of_the_sweep(self):
        record = records.sweep()
        schedule = {"type": "Linear", "start": 0.9, "end": 0.0, "steps": 20_000}  # a preset's
        agent = record.config["agent"] | {"learning_rate": schedule}
        told = {"agent": {"learning_rate": "swept", "epsilon": "swept"}}
        record = records.replaced(record, config=record.config | {"agent": agent, "sources": told})
        groups = {group["title"]: dict(group["rows"]) for group in payload(record)["config"]}
        assert groups["Agent"]["learning_rate"] == "0.5, 0.1, 0.02 (swept)"
        assert groups["Agent"]["exploration.epsilon"] == "0.1, 0.3 (swept)"
        assert "Agent: learning_rate" not in groups

    def test_so_has_a_number_of_the_environment(self):
        record = records.sweep()
        config = {
            "env": {"id": "Mine", "options": {}, "fields": {"p": 0.5, "q": 2.0}},
            "sweep": {"env.p": [0.0, 0.5, 1.0]},
            "sources": {"env": {"p": "swept"}},
        }
        record = records.replaced(record, config=record.config | config)
        (rows,) = [dict(group["rows"]) for group in payload(record)["config"] if group["title"] == "Environment"]
        assert rows["fields.p"] == "0, 0.5, 1 (swept)"
        assert rows["fields.q"] == "2 (default)"

    def test_a_reader_without_scripts_is_told_what_came_out_and_which_pictures_there_are(self, tmp_path):
        record = records.grid()
        write_report(record, tmp_path)
        told = (tmp_path / "report.html").read_text(encoding="utf-8").split("<noscript>")[1].split("</noscript>")[0]
        assert "needs JavaScript" in told
        assert str(headline.sentence(record))[:40] in unescape(told)
        named = set(re.findall(r"\w+\.png", told))
        assert named == {path.name for path in tmp_path.glob("*.png")}


class TestNetwork:
    """What a run of agents with networks has beside the others."""

    @pytest.mark.full("covered")
    def test_the_interquartile_mean_of_four_agents_and_more(self):
        record = records.network(members=9)
        curves = payload(record)["curves"]
        assert (curves["statistic"], curves["interval"], curves["agents"]) == ("IQM", True, 9)
        (series,) = curves["charts"][0]["series"]
        assert series["name"] == "while training, IQM of 9 agents"
        told = np.flatnonzero(np.isfinite(record.curves["return"]).any(axis=1))  # reports in which an episode ended
        returns = record.curves["return"][told[30]].astype(np.float64)
        found = iqm_interval(returns)
        got = [series[part][30] for part in ("mean", "low", "high")]
        assert got == pytest.approx([stats.trim_mean(returns, 0.25), float(found.low), float(found.high)], rel=1e-4)
        assert got[1] < got[0] < got[2]

    def test_fewer_agents_have_no_interval(self):
        curves = payload(records.network(members=3))["curves"]
        assert (curves["statistic"], curves["interval"]) == ("mean", False)
        (series,) = curves["charts"][0]["series"]
        assert series["name"] == "while training, mean of 3 agents"
        assert set(series["low"]) == set(series["high"]) == {None}
        assert len(curves["charts"][0]["members"]) == 3

    def test_agents_with_tables_keep_the_mean(self):
        assert payload(records.grid())["curves"]["statistic"] == "mean"

    @pytest.mark.full("covered")
    def test_evaluations_lie_in_the_figure_of_the_return(self):
        record = records.network()
        first, *others = payload(record)["curves"]["charts"]
        assert first["evals"]["step"] == record.curves["eval_step"].tolist()
        mean = stats.trim_mean(record.curves["eval_return"].astype(np.float64), 0.25, axis=1)
        mean[-1] = stats.trim_mean(record.evaluation["return"].mean(axis=1, dtype=np.float64), 0.25)
        np.testing.assert_allclose(first["evals"]["series"][0]["mean"], mean, rtol=1e-4)
        assert first["evals"]["series"][0]["color"] != first["series"][0]["color"]
        assert all(chart["evals"] is None for chart in others)

    @pytest.mark.full("covered")
    def test_evaluations_are_shown_where_no_episode_of_training_ended(self):
        """Long episodes and many environments: after a short run there is no return but theirs."""
        record = records.network()
        none = {name: np.full_like(record.curves[name], np.nan) for name in ("return", "length")}
        first, second, *others = payload(records.replaced(record, curves=record.curves | none))["curves"]["charts"]
        assert (first["title"], second["title"]) == ("Reward", "Greedy return")
        assert second["step"] == record.curves["eval_step"].tolist()
        mean = stats.trim_mean(record.curves["eval_return"].astype(np.float64), 0.25, axis=1)
        mean[-1] = stats.trim_mean(record.evaluation["return"].mean(axis=1, dtype=np.float64), 0.25)
        np.testing.assert_allclose(second["series"][0]["mean"], mean, rtol=1e-4)
        assert "Greedy return" not in [chart["title"] for chart in others]

    @pytest.mark.full("covered")
    def test_rewards_of_recorded_data_stand_behind_the_evaluations_and_are_named_so(self):
        record = records.network()
        left = {name: values for name, values in record.curves.items() if name not in ("return", "length")}
        acted = records.replaced(record, curves=left | {"reward": record.curves["return"]})
        agent = record.config["agent"] | {"dataset": {"path": "data.npz"}}
        offline = records.replaced(acted, config=acted.config | {"agent": agent})
        told = [[chart["unit"] for chart in payload(each)["curves"]["charts"][:2]] for each in (acted, offline)]
        greedy = "return of the greedy evaluations"
        assert told == [["reward per step", greedy], [greedy, "mean reward of the minibatches"]]
        for each in (acted, offline):
            (chart,) = (chart for chart in payload(each)["curves"]["charts"] if chart["unit"] == greedy)
            assert chart["series"][0]["name"].startswith("greedy evaluations, ")
        assert "mean reward of the minibatches" in plot_returns(offline).axes[0].get_title(loc="left")

    def test_where_training_plays_the_beginnings_of_episodes_the_curve_says_so(self):
        told = [payload(each())["curves"]["charts"][0]["unit"] for each in (records.cut_short, records.network)]
        cut = "return of the first 250 steps of each episode: training plays no more"
        assert told == [cut, "return of the episodes that ended"]

    @pytest.mark.full("covered")
    def test_time_of_reports_and_evaluations(self):
        record = records.network()
        first = payload(record)["curves"]["charts"][0]
        told = np.isfinite(record.curves["return"]).any(axis=1)  # reports in which an episode ended
        np.testing.assert_allclose(first["seconds"], record.curves["seconds"][told], rtol=1e-4)
        index = np.searchsorted(record.curves["step"], record.curves["eval_step"])
        np.testing.assert_allclose(first["evals"]["seconds"], record.curves["seconds"][index], rtol=1e-4)
        assert payload(records.grid())["curves"]["charts"][0]["seconds"] is None

    @pytest.mark.full("covered")
    def test_every_other_curve_is_a_loss(self):
        charts = payload(records.network())["losses"]["charts"]
        assert [chart["name"] for chart in charts] == [*LOSSES, "of_my_own"]
        assert charts[-1]["title"] == "Of my own"
        assert all(chart["series"][0]["low"] is None for chart in charts)
        assert payload(records.grid())["losses"] is None

    def test_of_errors_without_a_known_meaning_the_mean_is_of_absolute_values(self):
        record = records.network()
        curves = record.curves | {"bias_error": record.curves["of_my_own"]}
        told = {
            chart["name"]: chart["healthy"]
            for chart in payload(records.replaced(record, curves=curves))["losses"]["charts"]
        }
        assert told["bias_error"] == "Mean of absolute values over the updates since the last report."
        assert told["of_my_own"] == "Mean over the updates since the last report."

    @pytest.mark.full("covered")
    def test_losses_of_an_agent_are_explained_by_what_they_are_there(self):
        record = records.network()
        curves = record.curves | {"advantage": record.curves["of_my_own"]}
        record = records.replaced(record, curves=curves, config=record.config | {"agent": {"id": "iql"}})
        told = {chart["name"]: chart["healthy"] for chart in payload(record)["losses"]["charts"]}
        assert told["advantage"].startswith("Of recorded actions")
        assert "does not act" in told["entropy"]
        assert told["qf_loss"] == LOSSES["qf_loss"][1]
        assert set(LOSSES_OF) <= set(AGENTS.ids())

    @pytest.mark.by_default("1-Values and returns")
    @pytest.mark.parametrize(("count", "title"), [(1, "Values and returns"), (2, "Bias of values")])
    def test_a_loss_points_at_another_chart_only_where_there_is_one(self, count, title):
        record = records.network(members=2, points=tuple({"tau": 0.1 * i} for i in range(count)))
        known = dict.fromkeys(("value_estimate", "discounted_return"), record.curves["entropy"])
        for each, there in ((record, False), (records.replaced(record, curves=record.curves | known), True)):
            told = payload(each)
            (hint,) = (chart["healthy"] for chart in told["losses"]["charts"] if chart["name"] == "qf_values")
            assert (f"{title}, above" in hint) == there == (title in [c["title"] for c in told["curves"]["charts"]])
            assert ("above" in hint) == there

    def test_candidates_of_generations_are_a_band_from_the_worst_to_the_best(self):
        record = records.network()
        ends = {name: record.curves["return"] + offset for name, offset in (("return_min", -2.0), ("return_max", 3.0))}
        told = payload(records.replaced(record, curves=record.curves | ends))
        charts = [chart for chart in told["curves"]["charts"] if chart["title"] == "Return of the candidates"]
        (series,) = charts[0]["series"]
        mean, low, high = (np.asarray(series[name], np.float64) for name in ("mean", "low", "high"))
        known = np.isfinite(mean)
        np.testing.assert_allclose(mean[known] - low[known], 2.0, rtol=1e-3)
        np.testing.assert_allclose(high[known] - mean[known], 3.0, rtol=1e-3)
        assert not {"return_min", "return_max"} & {chart["name"] for chart in told["losses"]["charts"]}
        assert "Return of the candidates" not in [chart["title"] for chart in payload(record)["curves"]["charts"]]

    @pytest.mark.full("covered")
    def test_what_was_expected_is_one_picture_with_what_followed(self):
        record = records.network()
        followed = np.abs(record.curves["entropy"])
        known = {"value_estimate": followed + 2.0, "discounted_return": followed}
        told = payload(records.replaced(record, curves=record.curves | known))
        (chart,) = (chart for chart in told["curves"]["charts"] if chart["title"] == "Values and returns")
        expected, after = (np.asarray(series["mean"], np.float64) for series in chart["series"])
        np.testing.assert_allclose(expected - after, 2.0, rtol=1e-2)
        assert [series["color"] for series in chart["series"]] == [0, 1]
        assert [member["color"] for member in chart["members"]] == [0] * 5 + [1] * 5
        assert all(series["low"] is not None for series in chart["series"])
        assert not {*known} & {chart["name"] for chart in told["losses"]["charts"]}
        titles = [chart["title"] for chart in payload(record)["curves"]["charts"]]
        assert not {"Values and returns", "Bias of values"} & {*titles}

    def test_of_several_settings_the_picture_is_of_the_bias(self):
        record = records.network(members=2, points=tuple({"tau": 0.01 * i} for i in range(3)))
        followed = np.abs(record.curves["entropy"])
        known = {"value_estimate": followed - record.member_point, "discounted_return": followed}
        charts = payload(records.replaced(record, curves=record.curves | known))["curves"]["charts"]
        (chart,) = (chart for chart in charts if chart["title"] == "Bias of values")
        for series in chart["series"]:
            at = [str(0.01 * i) in series["name"] for i in (1, 2)]
            np.testing.assert_allclose(series["mean"], -(at[0] + 2 * at[1]), atol=1e-5)

    @pytest.mark.full("covered")
    def test_nothing_is_compared_where_no_episode_told_anything(self):
        record = records.network()
        empty = dict.fromkeys(("value_estimate", "discounted_return"), np.full_like(record.curves["entropy"], np.nan))
        told = payload(records.replaced(record, curves=record.curves | empty))
        assert "Values and returns" not in [chart["title"] for chart in told["curves"]["charts"]]

    def test_candidates_of_many_sweep_points_have_bands_where_these_have_colours(self):
        record = records.network(members=2, points=tuple({"noise_std": 0.01 * i} for i in range(9)))
        ends = {name: record.curves["return"] + offset for name, offset in (("return_min", -2.0), ("return_max", 3.0))}
        charts = payload(records.replaced(record, curves=record.curves | ends))["curves"]["charts"]
        (chart,) = (chart for chart in charts if chart["title"] == "Return of the candidates")
        banded = [series["low"] is not None for series in chart["series"]]
        assert banded == [series["color"] >= 0 for series in chart["series"]]
        assert True in banded
        assert False in banded

    @pytest.mark.full("covered")
    def test_curves_without_a_number_are_left_out(self):
        record = records.network()
        empty = np.full_like(record.curves["entropy"], np.nan)
        record = records.replaced(record, curves=record.curves | {"entropy": empty})
        assert "entropy" not in [chart["name"] for chart in payload(record)["losses"]["charts"]]

    @pytest.mark.full("covered")
    def test_many_settings_of_a_group_are_a_group_of_their_own(self):
        groups = {group["title"]: dict(group["rows"]) for group in payload(records.network())["config"]}
        assert list(groups)[:2] == ["Agent", "Agent: network"]
        assert groups["Agent: network"]["critic_hidden"] == "none"
        assert "network.critic_hidden" not in groups["Agent"]

    @pytest.mark.full("covered")
    def test_the_player_is_the_one_that_the_film_needs(self):
        flat, solid = (offline.asset(name) for name in ("flat.js", "solid.js"))
        record = records.network()
        for film, used, unused in ((record.film, flat, solid), (figures.walk(8), solid, flat)):
            page = report.report_html(records.replaced(record, film=film))
            assert used in page
            assert unused not in page
        page = report.report_html(records.replaced(record, film=None))
        assert flat not in page
        assert solid not in page


class TestSize:
    @pytest.mark.full("larger")
    def test_of_4096_agents(self):
        record = records.make(records.grid_env(), members=4096, reports=1000)
        page = report.report_html(record)
        data = data_of(page)
        assert len(page.encode()) < 2 * MEGABYTE
        assert len(data["tables"]["agents"]) == tables.MAX_AGENTS
        names = [agent["name"] for agent in data["tables"]["agents"]]
        worst = int(np.argmin(record.evaluation["return"].mean(axis=1)))
        assert names[1].startswith(f"best agent (seed {record.best_member}; 1,")
        assert names[2] == f"weakest agent (seed {worst})"
        assert {"seed 0", "seed 4095"} <= set(names)
        assert data["curves"]["charts"][0]["members"] == []

    @pytest.mark.full("covered")
    def test_of_a_large_maze(self):
        assert len(report.report_html(records.large_maze(members=24)).encode()) < 4 * MEGABYTE

    @pytest.mark.full("covered")
    def test_of_many_settings(self):
        points = tuple({"learning_rate": 0.01 * i} for i in range(512))
        assert (
            len(report.report_html(records.make(records.grid_env(), members=2, points=points)).encode()) < 3 * MEGABYTE
        )

    def test_a_table_that_is_too_large_is_said_to_be(self):
        record = records.single()
        q = np.zeros((1, 70_000, 4), np.float32)
        record = records.replaced(record, tables={"q": q}, panels=())
        assert "70,000 states with 4 actions" in payload(record)["tables"]["tooLarge"]
