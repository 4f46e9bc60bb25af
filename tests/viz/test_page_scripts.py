"""The scripts that pages carry: built from the sources that are here, able to stand in a page, with their licences."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from kousoku.viz.offline import asset

VIEWER = Path(__file__).parents[2] / "viewer"
SETTINGS = ("build.mjs", "package-lock.json", "package.json", "tsconfig.json")


def digest_of_sources() -> str:
    """SHA-256 of names and contents in the order of the names, as build.mjs computes it."""
    files = [path for path in (VIEWER / "src").rglob("*") if path.is_file()]
    names = sorted([*SETTINGS, *(path.relative_to(VIEWER).as_posix() for path in files)])
    texts = ((name, (VIEWER / name).read_text(encoding="utf-8")) for name in names)
    return hashlib.sha256("".join(f"{name}\0{text}\0" for name, text in texts).encode()).hexdigest()


@pytest.mark.parametrize("name", ["report.js", "solid.js", "flat.js"])
class TestBuiltScript:
    def test_it_was_built_from_the_sources_that_are_here(self, name):
        first, script = asset(name).split("\n", 1)
        built = hashlib.sha256(script.encode()).hexdigest()
        assert first == f"/* sources {digest_of_sources()}, script {built} */", "run `make viewer`"

    def test_it_can_stand_in_a_page(self, name):
        script = asset(name).lower()
        assert "</script" not in script
        assert "<!--" not in script
        assert "sourcemappingurl" not in script


@pytest.mark.parametrize(
    ("name", "contained", "left_out"),
    [
        ("report.js", ["Leon Sorokin"], ["three.js"]),
        ("solid.js", ["three.js authors"], ["uPlot"]),
        ("flat.js", [], ["three.js", "uPlot"]),
    ],
)
def test_a_script_names_the_licences_of_what_it_contains_and_contains_no_more(name, contained, left_out):
    notice = asset(name)[: 1500 * len(contained)]
    assert notice.count("MIT License") == len(contained)
    assert all(holder in notice for holder in contained)
    licences = re.findall(r"/\*\nThis script contains .*?:\n\n(.*?)\n\*/", notice, re.DOTALL)
    with_the_wheel = (VIEWER / "LICENSES").read_text(encoding="utf-8")
    assert len(licences) == len(contained)
    assert all(licence in with_the_wheel for licence in licences)
    assert not any(library in asset(name) for library in left_out)


def test_the_lock_file_names_no_address():
    lock = (VIEWER / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "://" not in lock
    packages = json.loads(lock)["packages"]
    assert all("integrity" in package for name, package in packages.items() if name)
