"""The page of results has the recorded table, and the record has every preset with a goal, with five seeds."""

import json
import re
from pathlib import Path

from kousoku.training.presets import presets

ROOT = Path(__file__).parents[2]
PAGE, TABLE, RECORD = (
    ROOT / name for name in ("docs/results.md", "benchmarks/learning.md", "benchmarks/learning.json")
)


def table(page: Path) -> list[str]:
    """The lines of a page's table."""
    return [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]


def test_the_page_has_the_recorded_table():
    assert table(PAGE) == table(TABLE)


def test_every_preset_with_a_goal_is_in_the_record():
    (section,) = json.loads(RECORD.read_text(encoding="utf-8"))["sections"]
    rows = {row["name"]: row for row in section["rows"]}
    assert set(rows) == {f"{agent} {env}" for (agent, env), preset in presets().items() if preset.solved is not None}
    assert all(row["agents"] >= 5 for row in rows.values())


def test_what_minatars_presets_reach_is_told_for_each_game():
    """They name no goal, for training them takes hours on a processor; their table is of a GPU."""
    lines = table(ROOT / "docs/minatar.md")
    first = next(at for at, line in enumerate(lines) if "| goal |" in line)
    header, _, *rows = [[cell.strip() for cell in line.split("|")] for line in lines[first : first + 7]]
    reached = {(title.split(",")[0].lower(), row[1].replace(" ", "")): row[place]
               for row in rows for place, title in enumerate(header)}  # fmt: skip
    for agent, env in presets():
        if env.startswith("MinAtar/"):
            game = env.removeprefix("MinAtar/").removesuffix("-v1")
            assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", reached[agent, game]), (agent, env)
