"""What is made from the code is what the code says now."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("generated_docs", ROOT / "tools" / "generated_docs.py")
assert SPEC
assert SPEC.loader
docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs)


@pytest.mark.parametrize("page", docs.PAGES)
def test_pages_are_what_the_code_says(page):
    assert docs.filled(page) == (ROOT / page).read_text(encoding="utf-8"), "run: python tools/generated_docs.py"


@pytest.mark.slow_because("every robot is made, and every agent tried, to know their spaces")
def test_the_index_is_what_environments_and_agents_say():
    assert docs.index() == docs.INDEX.read_text(encoding="utf-8"), "run: python tools/generated_docs.py"


def test_every_room_says_what_it_is_for():
    silent = [line for line in docs.house_map().splitlines() if line.endswith("|  |")]
    assert not silent, "give these packages a docstring"
