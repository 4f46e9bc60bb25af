"""What is made from the code: the map of the house, the list of settings, and the index that `kousoku list` reads.

`python tools/generated_docs.py` writes them anew; a test compares them with the files.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"


def house_map() -> str:
    """Returns the rooms in the order of the import contract, top first, as a Markdown table."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = ["| room | what lives there |", "|---|---|"]
    for layer in layers:
        for name in (part.strip() for part in layer.split("|")):
            place, short = SOURCE / name.replace(".", "/"), name.removeprefix("kousoku.")
            rows += [f"| `{short}` | {_said(place)} |"]
            rows += [f"| &nbsp;&nbsp;`{short}/{room.name}` | {_said(room)} |" for room in _rooms(place)]
    order = "  ->  ".join(layer.replace("kousoku.", "") for layer in layers)
    return f"Imports point down only; the tests hold it:\n\n    {order}\n\n" + "\n".join(rows)


def _rooms(folder: Path) -> list[Path]:
    """Returns the packages in a folder."""
    return sorted(path.parent for path in folder.glob("*/__init__.py")) if folder.is_dir() else []


def _said(path: Path) -> str:
    """Returns the first paragraph of a module's or a package's docstring."""
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def settings_table() -> str:
    """Returns every setting of a run as a Markdown table: Python, shell, default, what it does, on resume."""
    from kousoku.cli.help_texts import described
    from kousoku.training.config import Kind, TrainConfig, settings

    told = described(TrainConfig)
    rows = ["| setting | shell | default | what | when resumed |", "|---|---|---|---|---|"]
    for field in dataclasses.fields(TrainConfig):
        known = settings()[field.name]
        flag = "" if known.kind is Kind.PYTHON else f"`--{field.name.replace('_', '-')}`"
        default = "`{}`" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        rows.append(f"| `{field.name}` | {flag} | {default} | {told[field.name]} | {known.on_resume.value} |")
    return "\n".join(rows)


PAGES: dict[str, tuple[str, Any]] = {
    "CONTRIBUTING.md": ("house", house_map),
    "docs/runs.md": ("settings", settings_table),
}


def filled(page: str) -> str:
    """Returns a page with its generated part made anew, between `<!-- NAME -->` and `<!-- end of NAME -->`."""
    name, make = PAGES[page]
    text = (ROOT / page).read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"{page} needs one {begin} and one {end}")
    return re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n\n{make()}\n\n{end}", text, flags=re.S)


def index() -> str:
    """Returns our environments' spaces and the agents that learn in them, as JSON with a line for each."""
    from kousoku.cli.index import computed

    parts = computed()
    lines = {
        part: ",\n".join(f"    {json.dumps(name)}: {json.dumps(told)}" for name, told in parts[part].items())
        for part in ("environments", "fits")
    }
    rows = [f'  "{part}": {{\n{told}\n  }}' for part, told in lines.items()]
    return "{\n" + ",\n".join([*rows, f'  "agents": {json.dumps(parts["agents"])}']) + "\n}\n"


INDEX = SOURCE / "kousoku" / "cli" / "index.json"


def main() -> int:
    """Writes the pages and the index."""
    INDEX.write_text(index(), encoding="utf-8")
    for page in PAGES:
        (ROOT / page).write_text(filled(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
