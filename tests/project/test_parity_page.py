"""The page about exactness has the numbers of the recorded benchmark, and the benchmark has all models."""

import json
from pathlib import Path
from typing import Any

import pytest

from kousoku_bench.exactness import FAR, KINDS, RUNNERS, STAGES
from kousoku_bench.rigid import MODELS

ROOT = Path(__file__).parents[2]
PAGE, RECORD = ROOT / "docs" / "physics-parity.md", ROOT / "benchmarks" / "physics_exactness.json"
SHARES = ("median", "p99.9", "max")
# Of each table: its heading's words, and what its columns are: a kind of row of the benchmark and a figure of it.
STEP = [("float64", f"{what}_{share}") for what in ("qpos", "qvel") for share in SHARES]
SINGLE = [(kind, f"qvel_{share}") for kind in ("float32", "C, rounded", "MJX, float32") for share in SHARES]
TABLES = {
    "A step in float64": STEP,
    "A step in float32: velocities": SINGLE,
    "A step in float32: positions": [(kind, figure.replace("qvel", "qpos")) for kind, figure in SINGLE],
    "Stages in float64": [("float64", f"{stage}_max") for stage in STAGES],
    "Stages in float32": [("float32", f"{stage}_max") for stage in STAGES],
    "The humanoids' own solver": [("C, PGS", figure) for _, figure in STEP],
}


def recorded() -> dict[str, dict[str, Any]]:
    """Figures by the names of rows."""
    sections = json.loads(RECORD.read_text(encoding="utf-8"))["sections"]
    return {row["name"]: row for section in sections for row in section["rows"]}


def lines(title: str, rows: dict[str, dict[str, Any]]) -> list[str]:
    """The rows of a table as the page has them; a dash where something did not run."""
    found = []
    for model in MODELS:
        figures = [rows.get(f"{model}, {kind}", {}).get(figure) for kind, figure in TABLES[title]]
        if any(figure is not None for figure in figures):
            cells = [model, *("-" if figure is None else f"{figure:.1e}" for figure in figures)]
            found.append("| " + " | ".join(cells) + " |")
    return found


@pytest.mark.parametrize("title", TABLES)
def test_a_table_has_the_numbers_of_the_benchmark(title):
    sections = PAGE.read_text(encoding="utf-8").split("\n### ")
    (text,) = [section for section in sections if section.startswith(f"{title}\n")]
    assert [line for line in text.splitlines() if line.startswith("| ")][1:] == lines(title, recorded())


def test_the_page_says_what_was_not_measured():
    """Every row, MJX beside ours, is recorded, or named on the page as missing."""
    rows, page = recorded(), PAGE.read_text(encoding="utf-8")
    for model in MODELS:
        for kind in KINDS:
            measured = rows.get(f"{model}, {kind}", {}).get("qvel_median") is not None
            assert measured != (f"`{model}, {kind}`" in page), (model, kind)


@pytest.mark.parametrize("model", MODELS)
def test_velocities_in_float64_are_cs(model):
    largest = recorded().get(f"{model}, float64", {}).get("qvel_max")
    assert largest is None or largest < 1e-8


def test_the_distances_from_the_origin_are_those_of_the_benchmark():
    rows, page = recorded(), PAGE.read_text(encoding="utf-8")
    for model in RUNNERS:
        cells = (f"{rows[f'{model}, {far} m']['qvel_p99']:.1e}" for far in FAR)
        assert f"| {model} | {' | '.join(cells)} |" in page
