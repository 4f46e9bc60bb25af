"""Pages, docstrings and comments are spelled alike, and lists on pages are whole."""

import re
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, files_below, text_of

BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`|^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
SAID = re.compile(r'"""(?:\\.|[^\\])*?"""|(?<!&)#[^\n"]*$', re.MULTILINE)
"""Docstrings and comments."""

REFUSED = {
    r"learnt": "learned",
    r"oftener": "more often",
    r"more seldom": "less often",
    r"unlearnt": "not learned",
    r"\d+(?:\.\d+)? us": "µs",
    r"Nm": "N m",
    r"(?<![\d.,-] )(?<![\d.,-])[1-9]\d{0,2}(?: 000)+(?! ?[\d.])": "commas between thousands, as in 10,000",
}
"""Spellings, and those in their place."""

ITEM = re.compile(r"^( *)(?:[-*]|\d+\.) ")


def pages() -> list[Path]:
    """Returns the pages that people read."""
    front = ("README.md", "README.ja.md", "CONTRIBUTING.md", "CHANGELOG.md", "viewer/README.md")
    return [*files_below("docs", "md"), *(ROOT / name for name in front)]


def prose() -> Iterator[tuple[str, str]]:
    """Returns the texts of pages, docstrings and comments without code, each with its place."""
    for page in pages():
        yield str(page.relative_to(ROOT)), CODE.sub("", BLOCK.sub("", text_of(page)))
    for path in (path for folder in ("src", "tests", "tools", "examples") for path in files_below(folder, "py")):
        for match in SAID.finditer(text_of(path)):
            if "<" not in match[0]:  # a model's text
                yield str(path.relative_to(ROOT)), CODE.sub("", match[0])


def test_words_and_numbers_are_spelled_in_one_way():
    refused = re.compile("|".join(rf"\b(?:{form})\b" for form in REFUSED))
    found = []
    for where, text in prose():
        for match in refused.finditer(text):
            use = next(use for form, use in REFUSED.items() if re.search(rf"\b(?:{form})\b", match[0]))
            found.append(f"{where}: {match[0]!r}; use {use}")
    assert not found, "\n".join(found)


def cut_lists(text: str) -> Iterator[str]:
    """Finds items after a gap line in lists whose other items stand close: the list falls into two."""
    lines = BLOCK.sub(lambda block: "\n" * block[0].count("\n") + "x", text).split("\n")
    close = gap = None
    for before, line in zip(["", *lines], lines, strict=False):
        item = ITEM.match(line)
        if item:
            if before.strip():
                close = True
            elif gap and close:
                yield line
            gap = None
        elif not line.strip():
            gap = True
        elif not line.startswith(" "):
            close = gap = None


def test_lists_are_not_cut_in_two():
    found = [f"{page.relative_to(ROOT)}: {line[:60]}" for page in pages() for line in cut_lists(text_of(page))]
    assert not found, "\n".join(found)
