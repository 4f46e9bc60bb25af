"""The report in a real browser: it draws, obeys its own policy, and treats what a user typed as text."""

import json
import os
import re
import shutil
import subprocess
import time
from html import escape, unescape
from pathlib import Path

import figures
import numpy as np
import pytest
import records
from chromium import Chromium

from kousoku.viz import offline, report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("KOUSOKU_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome found; set KOUSOKU_CHROMIUM to its path")

KEY = 'const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));'
PROBE = (
    f"{KEY}\n"
    + """
const probe = {};
const at = (selector) => document.querySelector(selector);
const text = (selector) => at(selector)?.textContent ?? null;
const finish = () => {
  at("body").dataset.probe = JSON.stringify(probe);
};
"""
)


def browse(page: str, folder: Path) -> tuple[str, str]:
    """The page's document after its script has run, and what the browser logged about it."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [
        str(BROWSER), "--headless", "--disable-gpu", "--disable-background-networking", "--disable-extensions",
        "--no-first-run", f"--user-data-dir={folder / 'profile'}", "--window-size=1280,1200",
        "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000", "--dump-dom", file.as_uri(),
    ]  # fmt: skip
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.fixture
def probed(monkeypatch, tmp_path):
    """Browse a record's page with a few more lines of script at its end; returns what they put into `probe`."""
    asset = offline.asset

    def run(record, script: str) -> dict:
        more = f"{PROBE}{script}"
        monkeypatch.setattr(offline, "asset", lambda name: asset(name) + (more if name == "main.js" else ""))
        dom, log = browse(report.report_html(record), tmp_path)
        assert log == ""
        (found,) = re.findall(r'<body data-probe="([^"]*)"', dom)
        return json.loads(unescape(found))

    return run


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Chromium(str(BROWSER), tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


def sections(dom: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', dom)


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
def test_page_is_drawn_without_a_complaint(name, expected, tmp_path):
    dom, log = browse(report.report_html(records.ALL[name]()), tmp_path)
    assert log == ""
    assert 'data-ready="yes"' in dom
    assert sections(dom) == expected


def test_hostile_names_stay_text(tmp_path):
    dom, log = browse(report.report_html(records.hostile()), tmp_path)
    assert log == ""
    assert 'data-ready="yes"' in dom
    assert dom.count("<script") == 2
    assert "<img" not in dom
    assert "&lt;script&gt;alert(1)&lt;/script&gt;</h1>" in dom
    assert not re.search(r"<[^>]*\sonerror=", dom)


def test_policy_refuses_everything_else(tmp_path):
    evil = (
        "<script>document.documentElement.dataset.evil = 'script'</script>"
        '<img src="x" onerror="document.documentElement.dataset.evil = \'handler\'">'
        "<style>main { display: none }</style>"
    )
    dom, log = browse(report.report_html(records.single()).replace("</body>", evil + "</body>"), tmp_path)
    assert "data-evil" not in dom
    assert 'data-ready="yes"' in dom
    assert log.count("Content Security Policy") >= 3


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
        finish();
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
        const read = () => {
          const chart = at("#curves svg.chart");
          if (!chart) { setTimeout(read, 100); return; }
          chart.focus();
          key(chart, "Home"); key(chart, "PageDown"); key(chart, "ArrowRight");
          probe.at = text("#curves .at");
          probe.value = text("#curves .curvekey .value");
          probe.lines = chart.querySelectorAll("path.mean").length;
          probe.bands = chart.querySelectorAll("path.band").length;
          probe.best = document.querySelectorAll("#sweep tr.best").length;
          finish();
        };
        setTimeout(read, 200);
        """,
    )
    record = records.sweep()
    order = [1, 0, 2, 3, 4, 5]
    told = np.flatnonzero(np.isfinite(record.curves["return"]).any(axis=1))  # reports in which an episode ended
    lanes = record.curves["return"][told[11], record.lane_point == order[0]]
    assert found["at"] == f"at step {record.curves['step'][told[11]]:,}"
    assert found["value"].startswith(f"{lanes.mean(dtype=float):.3f}")
    assert (found["lines"], found["bands"], found["best"]) == (6, 6, 1)


def test_time_instead_of_steps_in_every_chart(probed):
    found = probed(
        records.network(),
        """
        const labels = () => [...document.querySelectorAll(".xlabel")].map((label) => label.textContent);
        const read = () => {
          if (labels().length < 2) { setTimeout(read, 100); return; }
          probe.before = labels();
          at("#axis-seconds").click();
          probe.after = labels();
          const chart = at("#curves svg.chart");
          probe.at = text("#curves .at");
          probe.first = chart.querySelector("path.mean").getAttribute("d").match(/M([0-9.]+)/)[1];
          probe.dots = chart.querySelectorAll("circle.spot").length;
          probe.names = [...document.querySelectorAll("#curves .curvekey .name")].slice(0, 2).map((n) => n.textContent);
          finish();
        };
        setTimeout(read, 200);
        """,
    )
    assert set(found["before"]) == {"steps of each agent"}
    assert set(found["after"]) == {"training time in seconds, compiling included"}
    assert found["at"] == "after 55.0 s"
    assert 60 < float(found["first"]) < 120, "the axis begins after 40 seconds of compiling"
    assert found["dots"] == 10
    assert found["names"] == ["IQM of 5 agents", "greedy evaluations, IQM of 5 agents"]


def test_losses_are_read_together(probed):
    found = probed(
        records.network(),
        """
        const read = () => {
          const charts = [...document.querySelectorAll("#losses .third")];
          if (!charts.every((chart) => chart.querySelector("svg"))) { setTimeout(read, 100); return; }
          const values = () => charts.map((chart) => chart.querySelector(".at").textContent);
          probe.names = charts.map((chart) => chart.querySelector("h3").firstChild.textContent);
          probe.last = values();
          const chart = charts[2].querySelector("svg");
          chart.focus();
          key(chart, "Home");
          probe.first = values();
          probe.rules = document.querySelectorAll("#losses .rule.shown").length;
          probe.words = charts.every((chart) => chart.querySelector(".note").textContent.length > 20);
          finish();
        };
        setTimeout(read, 200);
        """,
    )
    assert found["names"][:3] == ["Policy loss", "Value loss", "Entropy"]
    assert len(found["names"]) == found["rules"] == 9
    assert found["words"]
    assert (found["first"][7], found["last"][7]) == ("0.000300", "0.000300")
    assert 0.6 < float(found["first"][2]) < 0.75
    assert 0.15 < float(found["last"][2]) < 0.25


def test_fits_a_phone(tmp_path):
    """In a frame, since no window of the browser is that narrow."""
    pages = [report.report_html(records.ALL[name]()) for name in ("hostile", "sweep", "taxi", "bandit", "network")]
    frames = "".join(f'<iframe width="390" height="900" srcdoc="{escape(page)}"></iframe>' for page in pages)
    script = """
    <script>setTimeout(() => {
      const wide = [...document.querySelectorAll("iframe")].map((f) => f.contentDocument.documentElement)
        .map((root) => [root.dataset.ready, root.clientWidth, root.scrollWidth]);
      document.body.replaceChildren(JSON.stringify(wide));
    }, 2500)</script>
    """
    dom, _ = browse(f"<!doctype html><body>{frames}{script}", tmp_path)
    (found,) = re.findall(r"<body>(\[.*\])</body>", dom)
    sizes = json.loads(unescape(found))
    assert [ready for ready, _, _ in sizes] == ["yes"] * 5
    assert all(360 < width <= 390 and needed <= width for _, width, needed in sizes), sizes


def test_an_episode_in_the_plane_plays_in_the_report(tmp_path, browser):
    """It waits for the reader, and hears keys only once it has the focus."""
    (tmp_path / "page.html").write_text(report.report_html(records.network()), encoding="utf-8")
    page = browser.open(tmp_path / "page.html", size=(1000, 900), media={}, before="", mobile=False)
    found = page.run(f"""
        const player = document.querySelector("#path .film").shadowRoot.querySelector("main");
        const time = () => player.querySelector(".time").textContent;
        const frame = () => new Promise((done) => requestAnimationFrame(done));
        const probe = {{}};
        {KEY}
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
    assert page.log == []
    page.close()


def test_an_episode_in_three_dimensions_plays_in_the_report(tmp_path, browser):
    """It waits for the reader, leaves the wheel to the page, and hears keys only once it has the focus."""
    record = records.replaced(records.network(), film=figures.walk(40))
    (tmp_path / "page.html").write_text(report.report_html(record), encoding="utf-8")
    page = browser.open(tmp_path / "page.html", size=(1000, 900), media={}, before="", mobile=False)
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
    assert page.log == []
    assert len(page.requests) == 1
    page.close()


@pytest.mark.parametrize("name", ["network", "grid"])
def test_the_players_style_and_the_reports_leave_each_other_alone(name, tmp_path, browser):
    (tmp_path / "page.html").write_text(report.report_html(records.ALL[name]()), encoding="utf-8")
    page = browser.open(tmp_path / "page.html", size=(1000, 900), media={}, before="", mobile=False)
    found = page.run("""
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
    assert page.log == []
    page.close()
