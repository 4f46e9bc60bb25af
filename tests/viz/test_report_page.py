"""The report in a real browser: it draws, obeys its own policy, and treats what a user typed as text."""

import base64
import dataclasses
import re
import time

import figures
import numpy as np
import pytest
import records
from browser import assert_quiet
from chromium import Page
from scipy import ndimage

from kousoku.viz import ranking, report, style
from kousoku.viz.learning import LOSSES
from kousoku.viz.payload import payload
from kousoku.viz.text import short

pytestmark = pytest.mark.browser

PROBE = """
const probe = {};
const at = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const text = (selector) => at(selector)?.textContent ?? null;
const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const frame = () => new Promise((done) => requestAnimationFrame(done));
const until = async (test) => {
  while (!test()) await frame();
};
"""


@pytest.fixture
def show(browser, tmp_path):
    """Open a page in a tab of its own."""
    opened: list[Page] = []

    def run(page: str, size=(1280, 1200), mobile=False, scheme="light") -> Page:
        file = tmp_path / f"page{len(opened)}.html"
        file.write_text(page, encoding="utf-8")
        media = {"prefers-color-scheme": scheme}
        opened.append(browser.open(file, size=size, media=media, before="", mobile=mobile))
        return opened[-1]

    yield run
    for page in opened:
        page.close()


@pytest.fixture
def drawn(show):
    """Open a record's page; afterwards nothing was logged and the page alone was asked for."""
    opened: list[Page] = []

    def run(record, size=(1280, 1200), mobile=False, scheme="light") -> Page:
        page = show(report.report_html(record), size, mobile, scheme)
        assert page.run("return document.documentElement.dataset.ready") == "yes"
        opened.append(page)
        return page

    yield run
    for page in opened:
        assert_quiet(page)


@pytest.fixture
def probed(drawn):
    """What a script puts into `probe` on a record's page."""

    def run(record, script: str, scheme="light") -> dict:
        return drawn(record, scheme=scheme).run(f"{PROBE}{script}\nreturn probe;")

    return run


@pytest.mark.by_default("sweep-expected1")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("grid", ["learned", "curves", "visits", "path", "config"]),
        ("sweep", ["learned", "curves", "sweep", "visits", "path", "config"]),
        ("bandit", ["learned", "curves", "config"]),
        ("interrupted", ["learned", "curves", "visits", "config"]),
        ("bare", ["learned", "config"]),
        ("deep", ["curves", "path", "config"]),
        ("network", ["curves", "losses", "path", "config"]),
        ("taxi", ["learned", "curves", "visits", "config"]),
    ],
)
def test_page_is_drawn_without_a_complaint(name, expected, probed):
    found = probed(records.ALL[name](), 'probe.sections = all("section[id]").map((section) => section.id);')
    assert found["sections"] == expected


def test_hostile_names_stay_text(probed):
    found = probed(
        records.hostile(),
        """
        probe.scripts = all("script").length;
        probe.hostile = all("img, [onerror]").length;
        probe.title = text("h1");
        """,
    )
    assert (found["scripts"], found["hostile"]) == (2, 0)
    assert found["title"].endswith("<script>alert(1)</script>")


def test_policy_refuses_everything_else(show):
    evil = (
        "<script>document.documentElement.dataset.evil = 'script'</script>"
        '<img src="x" onerror="document.documentElement.dataset.evil = \'handler\'">'
        "<style>main { display: none }</style>"
    )
    page = show(report.report_html(records.single()).replace("</body>", evil + "</body>"))
    assert page.run("return { ...document.documentElement.dataset }") == {"ready": "yes"}
    assert page.run('return getComputedStyle(document.querySelector("main")).display') != "none"
    refused = [logged["entry"]["text"] for logged in page.log]
    assert all("Content Security Policy" in text for text in refused)
    for what in ("inline script", "inline event handler", "inline style", "image"):
        assert any(what in text for text in refused), what


def test_map_answers_to_keys_and_controls(probed):
    found = probed(
        records.grid(),
        """
        const map = at("#learned .map");
        probe.start = text("#learned .readout .where");
        map.focus();
        key(map, "ArrowUp"); key(map, "ArrowLeft"); key(map, "ArrowDown");
        probe.moved = text("#learned .readout .where");
        probe.actions = document.querySelectorAll("#learned .actions tbody tr").length;
        for (let i = 0; i < 20; i += 1) key(map, "ArrowUp");
        probe.wall = text("#learned .readout .where");
        at("#layer-error").click();
        probe.error = text("#learned .legend span");
        probe.cells = at("#learned .map path.error0, #learned .map path[class^=error]") !== null;
        at("#layer-value").click();
        probe.before = text("#learned .readout td");
        const select = at("#agent");
        select.value = 1;
        select.dispatchEvent(new Event("change"));
        probe.after = text("#learned .readout td");
        probe.arrows = document.querySelectorAll("#learned .map path.arrows").length > 0;
        """,
    )
    assert found["start"] == "row 7, column 7"
    assert found["moved"] == "row 7, column 6"
    assert found["wall"] == "row 0, column 6"
    assert found["actions"] == 4
    assert found["error"] == "distance between learned and exact value"
    assert found["cells"]
    assert found["arrows"]
    assert found["before"] != found["after"]


def test_curve_is_read_with_keys(probed):
    found = probed(
        records.sweep(),
        """
        await until(() => at("#curves .chart canvas"));
        const chart = at("#curves .chart");
        probe.role = [chart.getAttribute("role"), chart.getAttribute("aria-label")];
        chart.focus();
        key(chart, "Home"); key(chart, "PageDown"); key(chart, "ArrowRight");
        probe.at = text("#curves .at");
        probe.value = text("#curves .curvekey .value");
        probe.key = at("#curves .curvekey").querySelectorAll("li").length;
        probe.best = all("#sweep tr.best").length;
        """,
    )
    record = records.sweep()
    order = [1, 0, 2, 3, 4, 5]
    told = np.flatnonzero(np.isfinite(record.curves["return"]).any(axis=1))  # reports in which an episode ended
    members = record.curves["return"][told[11], record.member_point == order[0]]
    assert found["at"] == f"at step {record.curves['step'][told[11]]:,}"
    assert found["value"].startswith(f"{members.mean(dtype=float):.3f}")
    assert found["role"] == ["application", "Return over steps; arrow keys move along the curve"]
    assert (found["key"], found["best"]) == (7, 1)  # six sweep points, and what the dots are


def drawing(page: Page, selector: str = "#curves .chart") -> np.ndarray:
    """[height, width, 3] of a chart as a reader sees it."""
    left, top, width, height = page.run(f"""
        {PROBE}
        await until(() => at("{selector} canvas"));
        at("{selector}").scrollIntoView({{ block: "center" }});
        await frame(); await frame();
        const box = at("{selector}").getBoundingClientRect();
        return [box.left, box.top, box.width, box.height].map(Math.round);
    """)
    return page.screenshot()[top : top + height, left : left + width]


def near(picture: np.ndarray, color: np.ndarray | list[float], tolerance: int = 10) -> np.ndarray:
    """Where a picture has a colour."""
    return (np.abs(picture - np.asarray(color)) <= tolerance).all(axis=-1)


def rgb(name: str, scheme: str = "light", share: float = 1.0) -> np.ndarray:
    """A colour of the palette, so much of it over the paper."""
    palette = style.COLORS[scheme] | {f"series{i}": color for i, color in enumerate(style.SERIES[scheme])}
    ink, paper = (255 * np.array(style.to_rgb(palette[color])) for color in (name, "paper"))
    return share * ink + (1 - share) * paper


def dots(picture: np.ndarray, color: np.ndarray) -> int:
    """How many spots of a colour are wider than a line."""
    return ndimage.label(ndimage.binary_opening(near(picture, color, 40), np.ones((4, 4))))[1]


@pytest.mark.full("covered")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_intervals_agents_and_evaluations_are_drawn(scheme, drawn):
    picture = drawing(drawn(records.network(), scheme=scheme))
    assert near(picture, rgb("series0", scheme)).sum() > 400, "the interquartile mean"
    assert near(picture, rgb("series0", scheme, 0.2), 4).sum() > 1000, "its interval"
    assert near(picture, rgb("series1", scheme, 0.2), 4).sum() > 200, "the evaluations' interval"
    assert dots(picture, rgb("series1", scheme)) == 10, "the evaluations"
    assert near(picture, rgb("line", scheme), 6).sum() > 1000, "the grid"
    assert near(picture[:, :58], rgb("muted", scheme), 40).sum() > 30, "numbers at the axis"


def test_evaluations_far_above_what_is_seen_while_training_are_drawn(drawn):
    page = drawn(records.cut_short())
    assert dots(drawing(page), rgb("series1")) == 3
    assert "beyond the axis" not in page.run("return document.querySelector('#curves .chart').textContent")


def test_an_optimum_far_above_the_returns_is_drawn(drawn):
    record = records.grid()
    page = drawn(records.replaced(record, tables=record.tables | {"optimal_return": np.asarray(9.0)}))
    inside = drawing(page)[:200, 70:-20]
    shares = (rgb("paper") - inside) / (rgb("paper") - rgb("muted"))  # of the colour, over the paper
    share = np.where(np.ptp(shares, axis=-1) < 0.1, shares.min(axis=-1), 0)
    a_row_thick = share[1:] + share[:-1] > 1  # between two rows, it is faint in both
    assert a_row_thick.sum(axis=1).max() > 0.4 * inside.shape[1]
    assert "beyond the axis" not in page.run("return document.querySelector('#curves .chart').parentNode.textContent")


READ_TICKS = """
    await until(() => at("#curves .chart canvas"));
    const canvas = at("#curves .chart canvas");
    const fill = CanvasRenderingContext2D.prototype.fillText;
    const ticks = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...others) {
      if (this.canvas === canvas && this.textAlign === "right") ticks.push([text, x - this.measureText(text).width]);
      fill.call(this, text, x, ...others);
    };
    dispatchEvent(new Event("beforeprint"));  // draws again
    await until(() => ticks.length);
    probe.texts = ticks.map(([text]) => text);
    probe.left = Math.min(...ticks.map(([_, left]) => left));
"""


@pytest.mark.by_default("12340-*", "0-1e+37-*")
@pytest.mark.parametrize(
    ("level", "scale", "some"),
    [(12_340, 3, "12.341 k"), (1e8, 9e3, "100.004 M"), (0, 8e12, "6 T"), (0, 1e37, "8e36"), (9.99e5, 1e3, "1 M")],
)
def test_numbers_at_the_value_axis_are_told_apart_and_none_is_cut(probed, level, scale, some):
    record = records.grid()
    curves, evaluation = (x | {"return": level + scale * x["return"]} for x in (record.curves, record.evaluation))
    found = probed(records.replaced(record, curves=curves, evaluation=evaluation), READ_TICKS)
    assert some in found["texts"]
    assert len(set(found["texts"])) == len(found["texts"]) >= 3
    assert found["left"] >= 0


@pytest.mark.full("covered")
def test_a_lone_evaluation_has_its_interval_as_a_whisker(drawn):
    page = drawn(records.evaluated_once())
    picture = drawing(page)
    assert dots(picture, rgb("series1")) == 1
    orange = (picture[..., 0] > 180) & (picture[..., 2] < 160)
    rows = np.flatnonzero(orange.any(axis=1))
    assert np.ptp(rows) > 80
    said = "The large dot is the greedy evaluation, the bar through it its 95% interval."
    assert said in page.run("return document.querySelector('#curves').textContent")


@pytest.mark.full("covered")
def test_lines_of_single_agents_are_seen_on_a_dark_page(drawn):
    picture = drawing(drawn(records.network(), scheme="dark"), "#losses .chart").astype(int)
    blue = picture[..., 2] - picture[..., 0]
    assert (abs(blue - 72) < 12).sum() > 1000


@pytest.mark.full("more cases")
def test_what_is_said_of_equal_returns_is_of_training_and_not_of_better_evaluations(probed):
    record = records.grid()
    equal = np.where(np.isnan(record.curves["return"]), np.nan, 0.0)
    record = records.replaced(record, curves=record.curves | {"return": equal})
    lead = "probe.said = at('#curves').textContent;"
    told = "Every episode while training returned 0, so their lengths, which differ, are shown first."
    for greedy, first in ((0.0, True), (0.125, False)):
        evaluation = record.evaluation | {"return": np.full_like(record.evaluation["return"], greedy)}
        said = probed(records.replaced(record, evaluation=evaluation), lead)["said"]
        assert (told in said) is first
        assert "short" not in said, "which way is better is the task's to say"


@pytest.mark.full("covered")
def test_every_point_of_a_sweep_has_its_line(drawn):
    picture = drawing(drawn(records.sweep()))
    assert [near(picture, rgb(f"series{i}")).sum() > 150 for i in range(6)] == [True] * 6


@pytest.mark.full("covered")
def test_arrows_stay_clear_of_the_label_in_the_corner(probed):
    record = records.grid()
    tied = records.replaced(record, tables=record.tables | {"q": np.ones_like(record.tables["q"])})
    script = """
    const box = at("#learned .map text.corner").getBBox();
    const numbers = (path) => path.getAttribute("d").match(/-?[\\d.]+/g).map(Number);
    const ends = all("#learned .map path.arrows").flatMap(numbers);
    const far = (i) => Math.hypot(
      Math.max(0, box.x - ends[i], ends[i] - box.x - box.width),
      Math.max(0, box.y - ends[i + 1], ends[i + 1] - box.y - box.height),
    );
    probe.apart = Math.min(...ends.keys().filter((i) => i % 2 === 0).map(far));
    """
    for each in (record, tied):
        assert probed(each, script)["apart"] > 2.5


READ_NUMBERS = """
    const numbers = all("#learned .map text.number");
    probe.numbers = numbers.map((node) => node.textContent);
    probe.sizes = [...new Set(numbers.map((node) => node.getAttribute("font-size")))];
    probe.widest = Math.max(...numbers.map((node) => node.getBBox().width));
    const boxes = (bar) => [...bar.querySelectorAll("text")].map((node) => node.getBoundingClientRect());
    const gaps = (bar) => {
      const sorted = boxes(bar).sort((a, b) => a.left - b.left);
      const own = bar.getBoundingClientRect();
      const within = [sorted[0].left - own.left, own.right - sorted.at(-1).right];
      return [...within, ...sorted.slice(1).map((box, i) => box.left - sorted[i].right)];
    };
    probe.gap = Math.min(...all(".colorbar").flatMap(gaps));
    probe.ends = [...at(".colorbar").querySelectorAll("text")].slice(0, 2).map((node) => node.textContent);
"""


@pytest.mark.by_default("9e-07-*", "700000000.0-*")
@pytest.mark.parametrize(
    ("scale", "ends"), [(1.0, r"\d\.\d\d"), (0.0035, r"0\.00\d\d"), (9e-7, r"\d.*e-7"), (7e8, r"\d{3} M")]
)
def test_values_of_any_size_stay_in_their_cells_and_apart_on_the_bar_of_colours(probed, scale, ends):
    record = records.grid()
    scaled = {name: record.tables[name] * np.float32(scale) for name in ("q", "exact_q", "exact_v")}
    found = probed(records.replaced(record, tables=record.tables | scaled), READ_NUMBERS)
    assert len(found["numbers"]) > 40
    assert found["widest"] < 40
    assert found["gap"] > 0
    assert all(re.fullmatch(ends, end) for end in found["ends"]), found["ends"]
    if scale == 1:
        assert found["sizes"] == ["8.6"]
        assert all(re.fullmatch(r"\d\.\d{2,3}", number) for number in found["numbers"])


def test_walls_between_cells_are_on_the_map(probed):
    record = records.grid()
    (panel,) = record.panels
    walled = records.replaced(record, panels=(dataclasses.replace(panel, walls=((2.0, 0.0, 2.0, 1.0),)),))
    script = """
    const ends = (line) => ["x1", "y1", "x2", "y2"].map((name) => line.getAttribute(name));
    probe.lines = all("#learned .map line.between").map(ends);
    """
    assert probed(walled, script)["lines"] == [["80", "0", "80", "40"]]
    assert probed(record, script)["lines"] == []


def of_many_points(points, agents=4):
    """Nine sweep points in which the middle one is best, and the one after it overlaps it."""
    record = records.make(records.grid_env(), members=agents, points=points)
    levels = np.where(np.arange(len(points)) == 4, 5.0, np.where(np.arange(len(points)) == 5, 4.9, 1.0))
    noise = np.random.default_rng(0).normal(size=(record.num_members, 10))
    returns = (levels[record.member_point][:, None] + noise).astype(np.float32)
    return records.replaced(record, evaluation=record.evaluation | {"return": returns, "length": returns})


MANY = tuple({"learning_rate": 0.01 * (i + 1)} for i in range(60))
HALFWAY = (-825.4988, 824.5, 100.5, -0.0010005, 9.9951, 1.125, 1.1349, 123456.7, 5e29, 0.0, 0.00009996, 2.5e-7)


def test_the_page_writes_numbers_as_the_sentence_does_and_says_which_sweep_points_it_draws(probed):
    """It has them rounded, and rounds them again; a line of a sweep point is drawn up to some number of them."""
    record = records.make(records.grid_env(), members=1, points=MANY, reports=20)
    returns = np.zeros((60, 2))
    returns[: len(HALFWAY)] = np.asarray(HALFWAY)[:, None]
    record = records.replaced(record, evaluation={"return": returns, "length": returns})
    found = probed(
        record,
        """
        probe.scores = all("#sweep table tbody tr").map((row) => row.querySelectorAll("td.number")[2].textContent);
        probe.lead = text("#curves .lead");
        probe.legend = all("#curves .curvekey")[0].textContent;
    """,
    )
    told = [short(ranking.point_summary(record, point).value) for point in ranking.point_order(record)]
    assert found["scores"] == told
    assert "The best 4 sweep points are in colour, the next 40 thin and grey, the last 16 not drawn." in found["lead"]
    assert "40 more sweep points; 16 are not drawn" in found["legend"]


@pytest.mark.full("more cases")
def test_where_all_settings_are_drawn_none_is_said_to_be_missing(probed):
    record = records.make(records.grid_env(), members=1, points=MANY[:44], reports=20)
    found = probed(
        record, 'probe.lead = text("#curves .lead"); probe.legend = all("#curves .curvekey")[0].textContent;'
    )
    assert "The best 4 sweep points are in colour, the others thin and grey." in found["lead"]
    assert "40 more sweep points" in found["legend"]
    assert "not drawn" not in found["lead"] + found["legend"]


def test_where_most_settings_tie_the_page_says_so_and_marks_none_of_them(probed):
    points = tuple(point | {"discount": d} for point in PAIRS for d in (0.9, 1.0))
    script = """
        probe.lead = text("#curves .lead");
        probe.note = text("#sweep .pairs .note");
        probe.thick = all("#sweep .parallel .best").length;
    """
    for tied, lead, thick in (
        (17, "Of the 17 sweep points that tie for the best the first 4 are in colour, the others thin and grey.", 0),
        (5, "Of the 5 sweep points that tie for the best the first 4 are in colour, the others thin and grey.", 5),
        (3, "The best 4 sweep points are in colour, the others thin and grey.", 3),
    ):
        record = records.make(records.grid_env(), members=1, points=points, reports=20)
        returns = np.where(np.arange(len(points)) < tied, 1.0, 0.5)[:, None] + np.zeros((1, 2))
        found = probed(records.replaced(record, evaluation={"return": returns, "length": returns}), script)
        assert lead in found["lead"]
        assert found["thick"] == thick
        assert ("thick: those that tie" in found["note"]) == bool(thick)


PAIRS = tuple({"learning_rate": a, "epsilon": e} for a in (0.1, 0.2, 0.5) for e in (0.05, 0.1, 0.3))
READ_GRID = """
    probe.ticks = all("#sweep .pairgrid .ticks text").map((node) => node.textContent);
    probe.numbers = all("#sweep .pairgrid text.on").map((node) => node.textContent);
    probe.frames = ["best", "alike"].map((name) => all(`#sweep .frame.${name}`).length);
    const [best] = all("#sweep .frame.best");
    probe.best = best?.parentNode.querySelector("text").textContent;
    probe.inside = all("#sweep .pairgrid text").every((node) => {
      const [box, own] = [at("#sweep .pairgrid").getBoundingClientRect(), node.getBoundingClientRect()];
      return box.left <= own.left && own.right <= box.right && own.bottom <= box.bottom;
    });
"""


@pytest.mark.full("covered")
def test_two_numbers_swept_together_are_a_heat_map(probed):
    record = of_many_points(PAIRS)
    rows = payload(record)["sweep"]["rows"]
    found = probed(record, READ_GRID)
    assert found["ticks"] == ["0.1", "0.2", "0.5", "0.05", "0.1", "0.3", "learning_rate", "epsilon"]
    assert len(found["numbers"]) == 9
    assert found["frames"] == [1, sum(row["alike"] for row in rows) - 1]
    assert found["frames"][1] >= 1
    assert found["best"] == f"{rows[0]['score'][0]:.2f}"
    assert found["inside"]


RATES = tuple({"learning_rate": float(a), "epsilon": e} for a in np.logspace(-5, 0, 12) for e in (0.05, 0.1))
READ_LABELS = """
    const boxes = all("#sweep .pairgrid .ticks text").slice(0, 12).map((node) => node.getBoundingClientRect());
    probe.apart = boxes.every((box, i) => i === 0 || box.left - boxes[i - 1].right > 1);
    probe.height = Math.min(...boxes.map((box) => box.height));
    const grid = at("#sweep .pairgrid");
    probe.scrolled = grid.getBoundingClientRect().width > grid.parentNode.clientWidth;
    probe.fits = document.documentElement.scrollWidth <= innerWidth;
"""


@pytest.mark.parametrize(("width", "mobile"), [(1200, False), (390, True)])
def test_labels_of_a_heat_map_are_short_and_legible_on_a_phone(drawn, width, mobile):
    page = drawn(of_many_points(RATES), size=(width, 900), mobile=mobile)
    found = page.run(f"{PROBE}{READ_GRID}{READ_LABELS}return probe;")
    assert found["ticks"][:4] == ["1e-5", "2.85e-5", "8.11e-5", "0.000231"]
    assert found["apart"]
    assert found["inside"]
    assert found["height"] > 9
    assert (found["scrolled"], found["fits"]) == (mobile, True)


def test_whole_numbers_are_labels_in_full_and_others_in_the_digits_that_tell_them_apart(probed):
    points = tuple({"batch_size": a, "epsilon": e} for a in (1024.0, 2048.0, 65536.0) for e in (0.1, 0.1001, 1 / 3))
    found = probed(of_many_points(points), READ_GRID)
    assert found["ticks"][:6] == ["1024", "2048", "65536", "0.1", "0.1001", "0.3333"]


SAID_OF_POINTS = """
    probe.note = text("#sweep .note");
    probe.lead = text("#sweep .lead");
    const place = (node) => [node.getBoundingClientRect().left, node.getBoundingClientRect().top];
    const ring = at("#sweep .frame.best");
    const [inner, cell] = [place(ring), place(ring.parentNode.querySelector("rect"))];
    const thick = parseFloat(getComputedStyle(ring).strokeWidth);
    probe.border = Math.min(inner[0] - cell[0], inner[1] - cell[1]) - thick / 2;
"""


@pytest.mark.by_default("few")
@pytest.mark.parametrize(("agents", "distance"), [(4, 0.0), (4, 9.0), (2, 0.0)], ids=["overlaps", "distant", "few"])
def test_only_marks_that_are_there_are_explained(probed, agents, distance):
    record = of_many_points(PAIRS, agents)
    returns = record.evaluation["return"] + np.float32(distance) * (record.member_point == 4)[:, None]
    record = records.replaced(record, evaluation=record.evaluation | {"return": returns})
    marked, few = agents == 4 and not distance, agents < 4
    found = probed(record, SAID_OF_POINTS)
    assert ("Broken frame" in found["note"]) == ("Overlaps" in found["lead"]) == marked
    assert ("give no interval" in found["lead"]) == few
    assert "Thick frame: the best." in found["note"]
    assert found["border"] > 1.5  # the cell's colour is seen around the frame, whatever the page's is


@pytest.mark.by_default("diagonal")
@pytest.mark.parametrize(
    "points",
    [
        (*PAIRS[:2], PAIRS[3]),
        tuple({"epsilon": 0.1 * i} for i in range(9)),
        tuple({"epsilon": 0.1 * i, "learning_rate": 0.1 * i} for i in range(9)),
    ],
    ids=["few", "one", "diagonal"],
)
def test_other_sweeps_have_no_heat_map(probed, points):
    found = probed(
        of_many_points(points), "probe.grids = all('.pairgrid').length; probe.rows = all('#sweep tbody tr').length;"
    )
    assert found == {"grids": 0, "rows": len(points)}


THREE = tuple(
    {"learning_rate": a, "epsilon": e, "discount": d} for a in (0.1, 0.2, 0.5) for e in (0.05, 0.1) for d in (0.9, 1.0)
)
READ_LINES = """
    const texts = (name) => all(`#sweep .parallel .${name}`).map((node) => node.textContent);
    probe.names = texts("name");
    probe.values = texts("value");
    const paths = all("#sweep .parallel path");
    const end = (path) => Number(path.getAttribute("d").split(" ").at(-1));
    probe.lines = paths.length;
    const highest = Math.min(...paths.map(end));
    probe.best = all("#sweep .parallel .best").map((path) => [paths.indexOf(path), end(path) === highest]);
    probe.color = getComputedStyle(at("#sweep .parallel .best")).stroke;
    probe.starts = new Set(paths.map((path) => path.getAttribute("d").split("C")[0])).size;
    const box = at("#sweep .parallel").getBoundingClientRect();
    probe.inside = all("#sweep .parallel text").every((node) => {
      const own = node.getBoundingClientRect();
      return box.left <= own.left && own.right <= box.right && box.top <= own.top && own.bottom <= box.bottom;
    });
"""


@pytest.mark.full("covered")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_three_numbers_swept_together_are_lines_through_their_values(probed, scheme):
    """The best one is drawn last, above the others, in the colour of the highest score; no two lines are one."""
    found = probed(of_many_points(THREE), READ_LINES, scheme=scheme)
    assert found["names"] == ["learning_rate", "epsilon", "discount", "mean greedy return"]
    assert found["values"] == ["0.1", "0.2", "0.5", "0.05", "0.1", "0.9", "1"]
    assert (found["lines"], found["starts"]) == (12, 12)
    assert found["best"] == [[11, True]]
    red, green, blue = (round(255 * part) for part in style.to_rgb(style.scale_colors("value", scheme)[-1]))
    assert found["color"] == f"rgb({red}, {green}, {blue})"
    assert found["inside"]


@pytest.mark.full("covered")
def test_a_number_of_one_value_is_no_axis_and_a_few_settings_are_no_lines(probed):
    script = "probe.names = all('#sweep .parallel .name').map((node) => node.textContent);"
    one = tuple(point | {"step_size": 1.0} for point in THREE)
    assert probed(of_many_points(one), script)["names"][:-1] == ["learning_rate", "epsilon", "discount"]
    assert probed(of_many_points(THREE[:6]), script)["names"] == []


@pytest.mark.full("more cases")
def test_of_many_points_the_best_are_coloured_and_the_others_grey(drawn):
    page = drawn(of_many_points(PAIRS))
    picture = drawing(page)
    assert [near(picture, rgb(f"series{i}")).sum() > 150 for i in range(5)] == [True] * 4 + [False]
    assert "The best 4 sweep points are in colour" in page.run(
        'return document.querySelector("#curves .lead").textContent'
    )


@pytest.mark.full("more cases")
def test_the_time_axis_begins_after_compiling(drawn):
    page = drawn(records.network())
    first = {}
    for name in ("step", "seconds"):
        page.run(f'document.querySelector("#axis-{name}").click()')
        columns = near(drawing(page), rgb("series0"), 30).any(axis=0)
        first[name] = int(np.flatnonzero(columns)[0])
    assert 60 < first["seconds"] < 120, "the axis begins after 40 seconds of compiling"
    assert first["step"] != first["seconds"]


@pytest.mark.full("more cases")
def test_the_pointer_reads_the_nearest_report(drawn):
    page = drawn(records.network())
    drawing(page)
    box = page.run("""
        const box = document.querySelector("#curves .chart .u-over").getBoundingClientRect();
        return [box.left, box.top, box.width, box.height];
    """)
    read = """
        const at = (name) => document.querySelector(`#curves ${name}`);
        const box = (name) => at(name).getBoundingClientRect();
        return { at: at(".at").textContent, value: at(".value").textContent,
                 rule: box(".rule").width && (box(".rule").left - box(".u-over").left) / box(".u-over").width };
    """
    page.mouse("mouseMoved", box[0] + 0.5 * box[2], box[1] + 0.5 * box[3])
    middle = page.run(read)
    page.mouse("mouseMoved", 5, 5)
    away = page.run(read)
    record = records.network()
    i = int(np.abs(record.curves["step"] - 10_000).argmin())
    assert middle["at"] == f"at step {record.curves['step'][i]:,}"
    assert middle["rule"] == pytest.approx(record.curves["step"][i] / record.curves["step"][-1], abs=0.01)
    assert (away["at"], away["rule"]) == (f"at step {record.curves['step'][-1]:,}", 0)
    assert middle["value"] != away["value"]


@pytest.mark.full("more cases")
def test_print_is_light_and_as_wide_as_the_paper(drawn):
    page = drawn(records.network(), scheme="dark")
    drawing(page)
    data = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    assert data.startswith(b"%PDF")
    page.run('window.dispatchEvent(new Event("beforeprint"));')
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.call("Emulation.setDeviceMetricsOverride", width=700, height=1000, deviceScaleFactor=1, mobile=False)
    picture = drawing(page)
    assert near(picture, rgb("series0")).sum() > 100
    assert near(picture, [255, 255, 255], 1).mean() > 0.5
    assert page.run("return document.documentElement.scrollWidth") <= 700
    page.run('window.dispatchEvent(new Event("afterprint"));')
    assert page.run('return document.documentElement.hasAttribute("data-print")') is False


@pytest.mark.full("covered")
def test_time_instead_of_steps_in_every_chart(probed):
    found = probed(
        records.network(),
        """
        const labels = () => all(".xlabel").map((label) => label.textContent);
        await until(() => labels().length >= 2 && at("#curves .chart canvas"));
        probe.before = labels();
        at("#axis-seconds").click();
        probe.after = labels();
        probe.at = text("#curves .at");
        probe.names = all("#curves .curvekey .name").slice(0, 2).map((name) => name.textContent);
        """,
    )
    assert set(found["before"]) == {"steps of each agent"}
    assert set(found["after"]) == {"training time in seconds, compiling included"}
    assert found["at"] == "after 55.0 s"
    assert found["names"] == ["while training, IQM of 5 agents", "greedy evaluations, the last at step 20,000"]


@pytest.mark.full("covered")
def test_losses_are_read_together(probed):
    found = probed(
        records.network(),
        """
        const charts = all("#losses .third");
        await until(() => charts.every((chart) => chart.querySelector("canvas")));
        const values = () => charts.map((chart) => chart.querySelector(".at").textContent);
        probe.names = charts.map((chart) => chart.querySelector("h3").firstChild.textContent);
        probe.last = values();
        const chart = charts[2].querySelector(".chart");
        chart.focus();
        key(chart, "Home");
        probe.first = values();
        probe.rules = all("#losses .rule.shown").length;
        probe.words = charts.every((chart) => chart.querySelector(".note").textContent.length > 20);
        """,
    )
    assert found["names"][:3] == ["Policy loss", "Value loss", "Entropy"]
    assert len(found["names"]) == found["rules"] == len(LOSSES) + 1
    assert found["words"]
    assert (found["first"][7], found["last"][7]) == ("0.000300", "0.000300")
    assert 0.6 < float(found["first"][2]) < 0.75
    assert 0.15 < float(found["last"][2]) < 0.25


def test_of_many_metrics_of_ones_own_most_are_folded_away(probed):
    record = records.network(members=1)
    own = {f"own{i}": record.curves["of_my_own"] for i in (1, 10, 100, *range(2, 10))}
    found = probed(
        records.replaced(record, curves=record.curves | own),
        """
        const names = (where) => all(where + " > .thirds h3").map((node) => node.firstChild.textContent);
        probe.shown = names("#losses");
        probe.folded = names("#losses details");
        probe.summary = text("#losses summary");
        probe.lead = text("#losses .lead");
        at("#losses details").open = true;
        await until(() => all("#losses .third").every((chart) => chart.querySelector("canvas")));
        """,
    )
    names = found["shown"] + found["folded"]
    assert names[len(LOSSES) :] == ["Of my own", *(f"Own{i}" for i in (*range(1, 11), 100))]
    assert len(found["shown"]) == 24
    assert found["summary"] == f"{len(names) - 24} more"
    assert "where that is known, what is usual" in found["lead"]


@pytest.mark.parametrize(("width", "mobile"), [(1200, False), (390, True)])
def test_a_name_that_does_not_end_makes_no_page_wider(width, mobile, drawn):
    record = records.network(members=1)
    record = records.replaced(record, curves=record.curves | {f"info.{'a' * 120}": record.curves["reward"]})
    page = drawn(record, size=(width, 900), mobile=mobile)
    page.run(f'{PROBE} await until(() => at("#curves .half .chart canvas")); await frame(); await frame();')
    across = page.run(
        "const { scrollWidth, clientWidth } = document.documentElement; return [scrollWidth, clientWidth]"
    )
    assert across[0] == across[1]


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", ["hostile", "sweep", "taxi", "bandit", "network"])
def test_fits_a_phone(name, drawn):
    page = drawn(records.ALL[name](), size=(390, 900), mobile=True)
    page.run(f'{PROBE} await until(() => at("#curves .chart canvas, #curves svg")); await frame(); await frame();')
    assert page.run("return [document.documentElement.scrollWidth, innerWidth]") == [390, 390]


@pytest.mark.full("covered")
def test_an_episode_in_the_plane_plays_in_the_report(drawn):
    """It waits for the reader, and hears keys only once it has the focus."""
    page = drawn(records.network(), size=(1000, 900))
    found = page.run(f"""
        {PROBE}
        const player = document.querySelector("#path .film").shadowRoot.querySelector("main");
        const time = () => player.querySelector(".time").textContent;
        key(document.body, "ArrowRight"); await frame(); await frame(); probe.deaf = time();
        key(player, "ArrowRight"); await frame(); await frame(); probe.step = time();
        probe.words = player.querySelector(".primary").textContent;
        player.querySelector(".primary").click();
        while (!time().startsWith("3 ")) await frame();
        player.querySelector(".primary").click();
        const scene = player.querySelector("svg.scene").getBoundingClientRect();
        const stage = player.querySelector(".stage").getBoundingClientRect();
        probe.inside = scene.top > stage.top && scene.bottom < stage.bottom && scene.height > 0.7 * stage.height;
        return probe;
    """)
    assert found == {"deaf": "0 / 14 steps", "step": "1 / 14 steps", "words": "Play", "inside": True}


@pytest.mark.full("more cases")
def test_an_episode_in_three_dimensions_plays_in_the_report(drawn):
    """It waits for the reader, leaves the wheel to the page, and hears keys only once it has the focus."""
    page = drawn(records.replaced(records.network(), film=figures.walk(40)), size=(1000, 900))
    begin = """
        const host = document.querySelector("#path .film");
        const player = host.shadowRoot.querySelector("main");
        const frame = () => new Promise((done) => requestAnimationFrame(done));
        const text = (name) => player.querySelector(name)?.textContent;
    """
    found = page.run(f"""{begin}
        host.scrollIntoView({{ block: "center" }});
        await frame(); await frame();
        const box = player.querySelector("canvas").getBoundingClientRect();
        return {{ time: text(".time"), box: [box.left, box.top, box.width, box.height], title: text("h1") ?? null,
                 inside: box.right <= innerWidth, buttons: player.querySelectorAll(".view .round").length }};
    """)
    left, top, width, height = found["box"]
    assert (found["time"], found["title"], found["inside"], found["buttons"]) == ("0.00 / 1.95 s", None, True, 2)
    assert 800 < width < 1000
    assert 300 < height <= 460
    picture = page.screenshot()[int(top) : int(top + height), int(left) : int(left + width)]
    red = (picture[..., 0] > 150) & (picture[..., 1] < 60) & (picture[..., 2] < 60)
    assert red.sum() > 2000
    centre = (left + width / 2, top + height / 2)
    before = page.run("return scrollY")
    page.mouse("mouseWheel", *centre, deltaX=0, deltaY=-300)
    end = time.monotonic() + 20
    while page.run("return scrollY") == before and time.monotonic() < end:
        time.sleep(0.05)
    assert page.run("return scrollY") < before
    page.key("ArrowRight")
    page.run(f"{begin} player.focus(); await frame(); await frame();")
    for _ in range(3):
        page.key("ArrowRight")
    assert page.run(f"{begin} await frame(); await frame(); return text('.time')") == "0.15 / 1.95 s"


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", ["network", "grid"])
def test_the_players_style_and_the_reports_leave_each_other_alone(name, drawn):
    found = drawn(records.ALL[name](), size=(1000, 900)).run("""
        const player = document.querySelector("#path .film").shadowRoot.querySelector("main");
        const style = (node) => getComputedStyle(node);
        return {
          section: style(document.querySelector("#path")).marginTop,
          main: style(document.querySelector("#page")).position,
          player: style(player).display, inner: style(player.querySelector("footer")).paddingLeft,
          ink: style(player).color, paper: style(document.body).color,
        };
    """)
    assert (found["section"], found["main"]) == ("64px", "static")
    assert (found["player"], found["inner"]) == ("flex", "20px")
    assert found["ink"] == found["paper"]
