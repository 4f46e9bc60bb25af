"""One offline HTML file: a style sheet, a script and data, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from . import style
from .encode import to_json

GENERATOR = '<meta name="generator" content="Kousoku">'
"""What the head of each of our pages has."""


def page_html(
    title: str, scripts: Sequence[str], start: str, data: Any, without_script: str, css: str | None = None
) -> str:
    """Returns a self-contained page: no network, no frame, no inline handler; its policy forbids them.

    Args:
        title: any text; it stays text.
        scripts: names of files in the folder `page`, in the order in which they become one script; they are built from
            the folder `viewer` of the repository.
        start: the call that fills the page, the script's last line.
        data: what the script reads as JSON.
        without_script: HTML that is shown where scripts are off; it has to be safe already.
        css: the style sheet; None for the report's.
    """
    css = style.css() + asset("report.css") if css is None else css
    script = "".join(asset(name) for name in scripts) + start
    parts = {
        "policy": policy(css, script),
        "generator": GENERATOR,
        "title": escape(title),
        "style": css,
        "script": script,
        "data": to_json(data),
        "noscript": without_script,
    }
    pieces = asset("report.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (piece.split("}}", 1) for piece in pieces[1:]))


def is_our_page(path: Path) -> bool:
    """Returns whether a file is a page of ours; what cannot be read may be anybody's."""
    try:
        with path.open("rb") as file:
            return GENERATOR.encode() in file.read(2048)
    except OSError:
        return False


def policy(css: str, script: str) -> str:
    """Returns the content security policy: this one style sheet, this one script, and pictures in the file."""
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def asset(name: str) -> str:
    """Returns the text of a file in the folder `page`."""
    return files("kousoku.viz").joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
