"""Runs beside each other: the table, the page, and what cannot be compared."""

import itertools
import re
from html import escape

import equinox as eqx
import numpy as np
import pytest
import records
from matplotlib.backends.backend_agg import FigureCanvasAgg

import kousoku as ks
from kousoku.cli import main
from kousoku.cli.compare import _named
from kousoku.ops.statistics import MeanInterval, iqm_interval
from kousoku.run import Run
from kousoku.saved_runs import _defaults
from kousoku.training.io.env_config import env_json
from kousoku.training.io.rebuild import rebuild_env
from kousoku.viz import comparison_figures as figures
from kousoku.viz.comparison import chance_words, compare_records
from kousoku.viz.comparison_checks import MOST
from kousoku.viz.comparison_page import comparison_html
from kousoku.viz.entrant_names import LONGEST


def run_with(level: float, members: int = 6, env_id: str = "GridWorld-v0", **changes):
    record = records.make(records.grid_env("S..G"), members=members, reports=12, env_id=env_id)
    returns = level + np.random.default_rng(0).normal(size=(members, 10)).astype(np.float32)
    seconds = np.linspace(1.0, 5.0, 12)
    curves = record.curves | {"seconds": seconds}
    return records.replaced(record, evaluation={"return": returns, "length": returns}, curves=curves, **changes)


def two(**changes):
    return compare_records({"PPO": [run_with(3.0, **changes)], "A2C": [run_with(1.0, **changes)]})


def test_table_has_the_statistics_of_each_run():
    first, second = two().groups[0].entrants
    found = iqm_interval(run_with(3.0).evaluation["return"].mean(axis=1, dtype=np.float64))
    assert [float(x) for x in first.iqm] == pytest.approx([float(x) for x in found])
    assert float(first.better_than(second).mean) == 1.0
    text = str(two())
    assert text.isascii()
    assert re.search(r"PPO +6 +\d\.\d\d \[\d\.\d\d, \d\.\d\d\]", text)
    assert re.search(r"A2C +0\.00 \[0\.00, 0\.00\]", text)


@pytest.mark.parametrize("p", [0.0, 0.285, 0.125, 0.375, 0.5, 0.3333, 0.005])
def test_chances_of_opposites_add_up_to_one_as_they_are_written(p):
    def written(p):
        return chance_words(MeanInterval(*(np.asarray(x) for x in (p, p, p, 9))))

    there, back = written(p), written(1.0 - p)
    assert [
        float(a) + float(b) for a, b in zip(re.findall(r"[\d.]+", there), re.findall(r"[\d.]+", back), strict=True)
    ] == [1.0] * 3
    assert float(there.split()[0]) == pytest.approx(p, abs=0.00501)


def test_runs_are_grouped_by_environment_and_its_options():
    slippery = {"env": {"id": "GridWorld-v0", "options": {"slip": 0.1}}}
    other = run_with(9.0)
    other = records.replaced(other, config=other.config | slippery)
    found = compare_records({"PPO": [run_with(3.0), other], "A2C": [run_with(1.0)]})
    assert [group.env for group in found.groups] == ["GridWorld-v0", "GridWorld-v0 (slip 0.1)"]
    assert [len(group.entrants) for group in found.groups] == [2, 1]
    assert "no other run on this environment" in str(found)
    assert "grouped by environment; returns of different environments are not added up" in comparison_html(found)


def with_options(run, **options):
    return records.replaced(run, config=run.config | {"env": {"id": "GridWorld-v0", "options": options}})


def test_an_option_at_its_default_is_no_other_environment():
    plain, given = run_with(3.0), with_options(run_with(1.0), slip=0, time_limit=None)
    found = compare_records({"PPO": [plain], "A2C": [given]}, defaults=_defaults)
    assert [group.env for group in found.groups] == ["GridWorld-v0"]
    config = plain.config | {"env": {"id": "Mine-v0", "options": {"slip": 0.0}}}
    unknown = records.replaced(plain, config=config)
    assert len(compare_records({"PPO": [unknown], "A2C": [unknown]}, defaults=_defaults).groups) == 1


def test_a_map_is_told_by_its_size_and_two_of_a_size_by_numbers():
    first, second = "S.G\n...", "S..\n..G"
    runs = [with_options(run_with(level), map=text) for level, text in ((1.0, first), (2.0, second))]
    found = compare_records({"a": runs, "b": runs})
    assert [group.env for group in found.groups] == [
        "GridWorld-v0 (map of 2 x 3) (1)",
        "GridWorld-v0 (map of 2 x 3) (2)",
    ]


def test_long_names_become_numbers_over_columns_and_a_count_in_the_title():
    names = [f"q_learning-GridWorld-v0-20261129-03{i}228" for i in range(3)]
    found = compare_records({name: [run_with(float(i))] for i, name in enumerate(names)})
    assert found.title == "3 runs or sweep points on GridWorld-v0"
    assert found.groups[0].columns == ["1", "2", "3"]
    text, page = str(found), comparison_html(found)
    assert max(map(len, text.splitlines())) < 120
    for i, name in enumerate(names, 1):
        assert f"\n{i}: {name}" in text
        assert f'<th scope="row">{i}: {name}</th>' in page
    assert "<h1>3 runs or sweep points on GridWorld-v0</h1>" in page
    assert two().title == "PPO and A2C"
    assert two().groups[0].columns == ["PPO", "A2C"]


def test_names_in_figures_are_never_alike():
    record = run_with(1.0, members=12)
    points = tuple({"learning_rate": a, "epsilon": 0.1, "discount": b} for a in (0.1, 0.3) for b in (0.95, 0.99))
    swept = records.replaced(record, points=points, member_point=np.arange(12) % 4)
    found = compare_records({"q_learning": [swept], "sarsa": [run_with(0.0)]})
    names = [one.name for one in found.groups[0].entrants]
    assert names[0] == "q_learning: learning_rate 0.1, discount 0.95", "what no sweep point differs in is not told"
    drawn = figures._names(found.groups[0])
    assert len(set(drawn)) == len(names)
    assert max(map(len, drawn)) <= LONGEST


def test_every_point_of_a_sweep_stands_by_itself():
    points = ({"epsilon": 0.1}, {"epsilon": 0.3})
    sweep = records.make(records.grid_env("S..G"), members=4, points=points, reports=6)
    (group,) = compare_records({"sweep": [sweep]}).groups
    assert [one.name for one in group.entrants] == ["sweep: epsilon 0.1", "sweep: epsilon 0.3"]
    assert [len(one.scores) for one in group.entrants] == [4, 4]
    expected = sweep.evaluation["return"][4:].mean(axis=1, dtype=np.float64)
    np.testing.assert_allclose(group.entrants[1].scores, expected)


def test_a_sweep_of_the_environments_numbers_is_on_several_environments():
    points = tuple({"epsilon": e, "env.slip": s} for e in (0.1, 0.3) for s in (0, 0.5))
    sweep = records.make(records.grid_env("S..G"), members=4, points=points, reports=6)
    fixed = run_with(3.0)
    fixed = records.replaced(fixed, config=fixed.config | {"env": sweep.config["env"] | {"options": {"slip": 0.5}}})
    found = compare_records({"sweep": [sweep], "fixed": [fixed]})
    names = {group.env: [one.name for one in group.entrants] for group in found.groups}
    both = ["sweep: epsilon 0.1", "sweep: epsilon 0.3"]
    assert names == {"GridWorld-v0 (slip 0)": both, "GridWorld-v0 (slip 0.5)": [*both, "fixed"]}
    of_env = records.replaced(sweep, points=tuple({"env.slip": p["env.slip"] + p["epsilon"]} for p in points))
    found = compare_records({"sweep": [of_env], "again": [of_env]})
    assert [[one.name for one in group.entrants] for group in found.groups] == [["sweep", "again"]] * 4
    own = {"id": "Drift", "options": {}, "registered": False, "fields": {"slip": 0, "late": 3}}
    mine = records.replaced(of_env, config=of_env.config | {"env": own}, points=points)
    alone = records.replaced(fixed, config=fixed.config | {"env": own | {"fields": {"slip": 0.5, "late": 3}}})
    groups = compare_records({"sweep": [mine], "fixed": [alone]}).groups
    assert [(group.env, len(group.entrants)) for group in groups] == [("Drift (slip 0)", 2), ("Drift (slip 0.5)", 3)]


def swept(**numbers):
    """A run that was swept over all combinations of numbers, two agents each."""
    points = tuple(dict(zip(numbers, point, strict=True)) for point in itertools.product(*numbers.values()))
    return records.make(records.grid_env("S..G"), members=2 * len(points), points=points, reports=6)


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ({"epsilon": 0.1}, ["epsilon 0.1, discount 0.9", "epsilon 0.1, discount 0.8"]),
        ({"epsilon": 0.1, "discount": np.float32(0.8).item()}, ["epsilon 0.1, discount 0.8"]),
        ({"epsilon": [0.3, 0.1], "discount": (0.9,)}, ["epsilon 0.1, discount 0.9", "epsilon 0.3, discount 0.9"]),
        ({"epsilon": 1}, ["epsilon 1, discount 0.9", "epsilon 1, discount 0.8"]),
    ],
)
def test_points_of_a_sweep_are_chosen_by_their_numbers(where, names):
    """A run without these numbers takes part."""
    named = {"sweep": [swept(epsilon=(0.1, 0.3, 1.0), discount=(0.9, 0.8))], "plain": [run_with(1.0)]}
    (group,) = compare_records(named, where).groups
    assert [one.name for one in group.entrants] == [*(f"sweep: {name}" for name in names), "plain"]


def test_sweep_points_of_environments_are_chosen_likewise():
    both = {"a": [swept(**{"env.slip": (0.0, 0.2)})], "b": [swept(epsilon=(0.1, 0.3), **{"env.slip": (0.0, 0.2)})]}
    (group,) = compare_records(both, {"env.slip": 0.2}).groups
    assert group.env == "GridWorld-v0 (slip 0.2)"
    assert [one.name for one in group.entrants] == ["a", "b: epsilon 0.1", "b: epsilon 0.3"]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"epsilonn": 0.1}, "where: got 'epsilonn'; did you mean 'epsilon'?"),
        ({"epsilon": 0.2}, "where: got 'epsilon: 0.2'; sweep has epsilon 0.1, 0.3; choose among these"),
        (
            {"epsilon": [0.1, 0.7, 0.2]},
            "where: got 'epsilon: 0.7, 0.2'; sweep has epsilon 0.1, 0.3; choose among these",
        ),
        ({"epsilon": "0.1"}, "where: got \"epsilon: '0.1'\"; give a number, or a list of numbers"),
        ({"epsilon": []}, "give a number, or a list of numbers"),
        ({"epsilon": True}, "give a number, or a list of numbers"),
    ],
)
def test_sweep_points_that_there_are_not_are_refused(where, message):
    with pytest.raises(ks.ConfigError) as error:
        compare_records({"sweep": [swept(epsilon=(0.1, 0.3))]}, where)
    assert message in str(error.value)
    with pytest.raises(ks.ConfigError, match="none of these runs is a sweep"):
        compare_records({"a": [run_with(1.0)], "b": [run_with(1.0)]}, where)


def test_a_value_that_one_of_several_runs_has_is_chosen_and_one_that_none_has_refused():
    both = {"a": [swept(epsilon=(0.1, 0.3))], "b": [swept(epsilon=(0.1, 0.7))]}
    (group,) = compare_records(both, {"epsilon": [0.3, 0.7]}).groups
    assert [one.name for one in group.entrants] == ["a: epsilon 0.3", "b: epsilon 0.7"]
    told = "where: got 'epsilon: 0.5'; a has epsilon 0.1, 0.3 and b has epsilon 0.1, 0.7; choose among these"
    with pytest.raises(ks.ConfigError, match=re.escape(told)):
        compare_records(both, {"epsilon": [0.3, 0.5]})


def cut_at(limit: int, cut: int, longest: int, **changes):
    """A run whose evaluation would have ended episodes at a limit, and did so for some."""
    record = run_with(1.0, **changes)
    lengths = np.full((6, 10), 3)
    lengths[0, :] = longest
    evaluation = record.evaluation | {"length": lengths}
    config, facts = record.config | {"eval_max_steps": limit}, record.facts | {"cut_evaluations": cut}
    return records.replaced(record, evaluation=evaluation, config=config, facts=facts)


def test_evaluations_that_were_cut_differently_are_compared_with_a_warning():
    runs = {"long": [cut_at(1000, 0, 30)], "other": [cut_at(1000, 0, 30)], "short": [cut_at(20, 10, 20)]}
    told = (
        "eval_max_steps: got 1000 (long, other) and 20 (short) on GridWorld-v0, where episodes were cut; "
        "train these runs with the same"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(told)}$") as warned:
        found = compare_records(runs)
    assert len(warned) == 1
    assert told in str(found)
    assert escape(told) in found._repr_html_()
    assert escape(told) in comparison_html(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [((1000, 0, 30), (20, 0, 19)), ((20, 10, 20), (20, 0, 19)), ((20, 4, 19), (30, 0, 29))],
    ids=["nothing cut", "cut alike", "other points of the sweep were cut"],
)
def test_evaluations_that_were_cut_alike_or_not_at_all_are_compared_without_a_word(one, other):
    assert len(compare_records({"a": [cut_at(*one)], "b": [cut_at(*other)]}).groups) == 1


@pytest.mark.parametrize(
    ("one", "other", "groups"),
    [
        (["time_limit:50"], "time_limit:50", 1),
        (["clip_reward:-1:1", "time_limit:50"], "clip_reward:-1:1, time_limit:50", 1),
        ([], None, 1),
        (["time_limit:50"], "time_limit:20", 2),
        (["clip_reward:-1:1", "time_limit:50"], "time_limit:50,clip_reward:-1:1", 2),
    ],
)
def test_the_same_wrappers_are_the_same_environment_however_they_were_given(one, other, groups):
    """A third run keeps the second environment company: one alone is refused."""
    given = [{"wrap": one}, {} if other is None else {"wrap": other}]
    runs = [records.replaced(run_with(1.0), config=_config(options)) for options in (*given, given[1])]
    found = compare_records({name: [run] for name, run in zip("abc", runs, strict=True)})
    assert len(found.groups) == groups


def _config(options):
    return run_with(1.0).config | {"env": {"id": "GridWorld-v0", "options": options}}


@pytest.mark.parametrize("wrap", ["clip_reward:-1:1, time_limit:7", ["clip_reward:-1:1", "time_limit:7"]])
def test_a_config_names_wrappers_one_by_one_and_they_are_made_again(wrap):
    config = env_json("CartPole-v1", {"wrap": wrap})
    assert config["options"] == {"wrap": ["clip_reward:-1:1", "time_limit:7"]}
    assert eqx.tree_equal(rebuild_env(config), ks.make("CartPole-v1", wrap=wrap))
    assert env_json("CartPole-v1", {"wrap": ""})["options"] == {"wrap": ""}


def test_learning_curves_reach_the_optimum():
    runs = {"a": [run_with(1.0)], "b": [run_with(2.0)]}
    best = {name: [records.replaced(run, tables={"optimal_return": np.array(9.0)})] for name, (run,) in runs.items()}
    (group,) = compare_records(best).groups
    (ax,) = figures.learning(group, "steps").axes
    assert "optimum 9.00" in ax.get_legend_handles_labels()[1]
    assert ax.get_ylim()[1] > 9.0


def test_bars_end_where_the_intervals_do():
    (group,) = two().groups
    for figure in (figures.intervals(group, "IQM"), figures.improvement(group)):
        bars = [line for line in figure.axes[0].get_lines() if line.get_linewidth() == 5]
        assert bars
        assert {bar.get_solid_capstyle() for bar in bars} == {"butt"}


def test_one_agent_is_told_as_one():
    found = compare_records({"PPO": [run_with(3.0, members=1)], "A2C": [run_with(1.0, members=2)]})
    assert [": 1 agent, IQM" in repr(one) for one in found.groups[0].entrants] == [True, False]


def test_agents_that_broke_are_left_out_and_counted():
    broken = run_with(3.0)
    returns = broken.evaluation["return"].copy()
    returns[2, 0] = np.nan
    broken = records.replaced(broken, evaluation={"return": returns, "length": returns})
    found = compare_records({"PPO": [broken], "A2C": [run_with(1.0)]})
    assert len(found.groups[0].entrants[0].scores) == 5
    assert "5 (1 broke)" in str(found)


def test_agents_that_train_on_the_beginnings_of_episodes_are_compared_by_their_evaluations():
    """The return of 250 steps is not that of the 1,000 of the other."""
    group = compare_records({"whole": [records.network()], "cut": [records.cut_short()]}).groups[0]
    ax = figures.learning(group, "steps").axes[0]
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_allclose(lines["cut: greedy evaluations"], figures.returns_of(group.entrants[1]).mean[:, 0])
    assert len(lines["cut: greedy evaluations"]) == 3
    assert len(lines["whole"]) > 50


def test_what_cannot_be_compared_is_refused():
    one = run_with(1.0)
    for named, message in [
        ({"a": [one]}, "got '1 run'; give at least two runs on the same environment: a is on GridWorld-v0"),
        (
            {"a": [one], "a" * 40: [run_with(1.0, env_id="Maze-v0")]},
            f"2 environments'; give at least two runs on the same environment: a is on GridWorld-v0, {'a' * 40} is on",
        ),
        ({}, "give at least two runs"),
        ({"a": [one, one], "b": [one]}, "it has two runs on GridWorld-v0; give each a name of its own"),
        ({"a": [one], "b": [records.replaced(one, evaluation={})]}, "b'; it was not evaluated"),
        (
            {str(i): [one] for i in range(MOST + 1)},
            f"got '{MOST + 1} runs or sweep points'; on GridWorld-v0 at most {MOST} are compared, and a sweep counts "
            "once for each of its sweep points: leave runs out, or choose sweep points by `where` (--where)",
        ),
        ({str(i): [run_with(1.0, env_id=f"Maze{i}-v0")] for i in range(MOST + 2)}, "7 is on Maze7-v0, and 2 more"),
    ]:
        with pytest.raises(ks.ConfigError) as error:
            compare_records(named)
        assert message in str(error.value)
    nothing = np.full((6, 10), np.nan)
    with pytest.raises(ks.ConfigError, match="none of its agents has a finite return"):
        compare_records({"a": [records.replaced(one, evaluation={"return": nothing, "length": nothing})], "b": [one]})
    with pytest.raises(ks.ConfigError, match="give runs by name"):
        ks.compare({"": Run(one, None, []), "b": Run(one, None, [])})


def test_runs_side_by_side_are_named_by_their_agents_or_their_folders(tmp_path):
    first, second = run_with(1.0), run_with(2.0)
    other = records.replaced(second, config=second.config | {"agent": {"id": "sarsa"}})
    runs = [Run(record, None, []) for record in (first, other)]
    assert [one.name for one in ks.compare(*runs).groups[0].entrants] == ["q_learning", "sarsa"]
    runs = [Run(records.replaced(first, path=tmp_path / name), None, []) for name in ("a", "b")]
    assert [one.name for one in ks.compare(*runs).groups[0].entrants] == ["a", "b"]
    with pytest.raises(ks.ConfigError, match="it has two runs on GridWorld-v0; give each a name of its own"):
        ks.compare(Run(first, None, []), Run(second, None, []))
    with pytest.raises(ks.ConfigError, match=r"give runs by name, .*, or side by side"):
        ks.compare({"a": runs[0]}, runs[1])


def test_a_prompt_shows_one_line_and_a_notebook_the_table():
    found = two()
    names = [one.name for one in found.groups[0].entrants]
    for shown in (found, found.groups[0], found.groups[0].entrants[0], found.groups[0].entrants[0].record):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 400
    assert repr(found) == f"<Comparison: {', '.join(names)} on {found.groups[0].env}>"
    html = found._repr_html_()
    for cell in (line for word in str(found).splitlines() for line in re.split(r"  +", word.strip()) if line):
        assert escape(cell) in html
    assert set(re.findall(r"<(\w+)", html)) <= {"div", "b", "table", "tr", "th", "td"}
    assert not re.search(r"#[0-9a-f]{3}|rgb|http|class=|on[a-z]+=", html)


def test_names_in_a_notebook_are_never_markup():
    html = compare_records({"<i>": [run_with(1.0)], "<b>": [run_with(2.0)]})._repr_html_()
    assert "<i>" not in html
    assert "&lt;i&gt;" in html


def test_page_is_one_file_without_a_script_and_names_stay_text(tmp_path):
    hostile = records.HOSTILE[0]
    found = compare_records({hostile: [run_with(3.0)], "$x^2$ & b": [run_with(1.0, members=2)]})
    path = found.save(tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "://" not in re.sub(r"base64,[^\"]*", "", page)
    assert page.count('<img class="light"') == page.count('<img class="dark"') == 6
    assert "Fewer than four agents have no interval." in page
    assert found.save(tmp_path / "again.html").read_text(encoding="utf-8") == page
    with pytest.raises(ks.ConfigError, match="there is no folder"):
        found.save(tmp_path / "nowhere" / "page.html")


@pytest.mark.full("covered")
def test_page_says_what_is_decided():
    assert 'class="number decided">1.00 [1.00, 1.00]' in comparison_html(two())
    assert (
        "decided" not in comparison_html(compare_records({"a": [run_with(1.0)], "b": [run_with(1.0)]})).split("main")[1]
    )


@pytest.mark.full("covered")
@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_page_in_a_browser(browser, tmp_path, scheme, width):
    media = {"prefers-color-scheme": scheme}
    page = browser.open(two().save(tmp_path / "p.html"), size=(width, 900), media=media, before="", mobile=width < 500)
    found = page.run(
        "const images = [...document.images]; await Promise.all(images.map((image) => image.decode()));"
        "return [images.every((image) => image.naturalWidth > 100), document.documentElement.scrollWidth <= innerWidth,"
        "images.map((image) => image.checkVisibility())];"
    )
    assert found == [True, True, [scheme == "light", scheme == "dark"] * 6], "each picture is there for paper, too"
    assert page.log == []
    assert [address.partition(":")[0] for address in page.requests] == ["file", *["data"] * 12]
    page.close()


@pytest.mark.by_default("34")
@pytest.mark.parametrize("letters", [5, 34, 200])
def test_names_of_any_length_leave_room_for_what_is_drawn(letters):
    """34 letters have the folders that runs make by themselves; matplotlib warns where axes have no room left."""
    names = [f"{agent:->{letters}}" for agent in ("PPO", "A2C", "DQN")]
    (group,) = compare_records(
        {name: [run_with(level)] for name, level in zip(names, (3.0, 2.0, 1.0), strict=True)}
    ).groups
    for figure in (figures.intervals(group, "IQM"), figures.improvement(group)):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        (ax,) = figure.axes
        assert ax.get_position().width > 0.4
        rows = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert all(above.y0 >= below.y1 for above, below in itertools.pairwise(rows)), "no label lies on the next"
        assert ax.get_yticklabels()[0].get_text().splitlines()[0].endswith("PPO")


@pytest.mark.parametrize("words", [
    ["--where", "epsilon=0.1,epsilon=0.3,discount=0.9"],
    ["--where", "epsilon=0.1", "--where=epsilon=0.3", "--where", "discount=0.9"],
])  # fmt: skip
def test_choices_that_are_given_one_by_one_all_count(words, monkeypatch, capsys):
    asked: list = []

    def compare(runs, where):
        asked.append((runs, where))
        raise ks.ConfigError("runs", ..., "seen")

    monkeypatch.setattr("kousoku.saved_runs.compare", compare)
    assert main(["compare", "one", "two", *words, "--out", "p.html"]) == 2
    assert asked[0][1] == {"epsilon": [0.1, 0.3], "discount": [0.9]}


@pytest.mark.parametrize("given", [None, 3, {"x": 1}])
def test_what_is_neither_a_run_nor_a_list_is_named(given):
    said = re.escape(f"runs: got {f'b: {given!r}'!r}; give a run, its folder, or a list of these")
    with pytest.raises(ks.ConfigError, match=said):
        ks.compare({"a": Run(run_with(1.0), None, []), "b": given})


def test_folders_are_named_as_they_were_or_as_they_lie(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("a/ppo", "b/ppo", "sac", "x=y"):
        (tmp_path / folder).mkdir(parents=True)
    found = _named(["a/ppo", "b/ppo", "sac", "mine=sac", "x=y", "mine=a/ppo"])
    names = {name: [str(path) for path in paths] for name, paths in found.items()}
    assert names == {
        "a/ppo": ["a/ppo"], "b/ppo": ["b/ppo"], "sac": ["sac"], "mine": ["sac", "a/ppo"], "x=y": ["x=y"]
    }  # fmt: skip


@pytest.mark.slow_because("two trainings and the page of both")
def test_the_shell_compares_two_runs(capsys):
    for agent in ("q_learning", "sarsa"):
        ks.train(agent, "FrozenLake-v1", steps=2000, seeds=4, out=agent)
    assert main(["compare", "q_learning", "SARSA=sarsa", "--out", "page.html"]) == 0
    printed = capsys.readouterr().out
    assert "FrozenLake-v1: greedy return" in printed
    assert "optimum: 0.744" in printed
    assert printed.endswith("page: page.html\n")
    assert str(ks.compare({"q_learning": "q_learning", "SARSA": ks.load("sarsa")})) in printed


@pytest.mark.by_default(
    "words0-runs: got nothing; name at least two",
    "words1-runs: got ?one?; name at least two",
    "words2-run: got ?one?; name a folder that `kousoku train` has made",
    "words3---where: got ?epsilon?; write NAME=VALUE",
    "words4---where: got ?much?; use a number",
    "words5-option: got ?--outt?; did you mean ?--out?[?]",
)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "runs: got nothing; name at least two"),
        (["one"], "runs: got 'one'; name at least two"),
        (["one", "two"], "run: got 'one'; name a folder that `kousoku train` has made"),
        (["one", "two", "--where", "epsilon"], "--where: got 'epsilon'; write NAME=VALUE"),
        (["one", "two", "--where", "epsilon=much"], "--where: got 'much'; use a number"),
        (["one", "two", "--outt", "x"], "option: got '--outt'; did you mean '--out'?"),
        (["one", "two", "--out", "nowhere/x.html"], "--out: got 'nowhere/x.html'; there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_line(words, message, capsys):
    assert main(["compare", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_setting_whose_agents_all_broke_is_left_out_with_a_word():
    points = ({"learning_rate": 0.1}, {"learning_rate": 9.0})
    record = records.make(records.grid_env("S..G"), members=3, reports=12, points=points)
    returns = np.random.default_rng(0).normal(size=(6, 10)).astype(np.float32)
    returns[record.member_point == 1] = np.nan
    swept = records.replaced(record, evaluation={"return": returns, "length": np.ones((6, 10), np.int32)})
    with pytest.warns(UserWarning, match="sweep is compared without learning_rate 9: none of its agents has a finite"):
        found = compare_records({"sweep": [swept], "b": [run_with(1.0)]})
    assert [one.name for one in found.groups[0].entrants] == ["sweep: learning_rate 0.1", "b"]
