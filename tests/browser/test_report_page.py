"""The report in a real browser: it draws, obeys its own policy, and treats what a user typed as text."""

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import figures
import pytest
import records

from kousoku.viz import offline, report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("KOUSOKU_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome found; set KOUSOKU_CHROMIUM to its path")

PROBE = """
const probe = {};
const at = (selector) => document.querySelector(selector);
const text = (selector) => at(selector)?.textContent ?? null;
const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const finish = () => {
  at("body").dataset.probe = JSON.stringify(probe);
};
"""


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


def test_curve_is_read_with_keys_and_the_episode_plays(probed):
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
          at("#path .playbar button[aria-label='one step on']").click();
          probe.step = text("#path output");
          at("#path .primary").click();
          setTimeout(() => { probe.end = text("#path output"); finish(); }, 3000);
        };
        setTimeout(read, 200);
        """,
    )
    record = records.sweep()
    order = [1, 0, 2, 3, 4, 5]
    lanes = record.curves["return"][11, record.lane_point == order[0]]
    assert found["at"] == f"at step {record.curves['step'][11]:,}"
    assert found["value"].startswith(f"{lanes.mean(dtype=float):.3f}")
    assert (found["lines"], found["bands"], found["best"]) == (6, 6, 1)
    assert found["step"] == "step 1 of 14"
    assert int(found["end"].split()[1]) > 3


def test_fits_a_phone(tmp_path):
    """In a frame, since no window of the browser is that narrow."""
    pages = [report.report_html(records.ALL[name]()) for name in ("hostile", "sweep", "taxi", "bandit")]
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
    assert [ready for ready, _, _ in sizes] == ["yes"] * 4
    assert all(360 < width <= 390 and needed <= width for _, width, needed in sizes), sizes


def test_an_episode_in_three_dimensions_has_a_still_that_leads_to_its_page(tmp_path):
    record = records.replaced(records.grid(), film=figures.walk(8), path=tmp_path)
    dom, log = browse(report.report_html(record), tmp_path)
    assert log == ""
    section = dom.split('<section id="path"')[1].split("</section>")[0]
    assert 'href="film.html"' in section
    assert 'src="data:image/png;base64,' in section
    assert "the best agent" in section
