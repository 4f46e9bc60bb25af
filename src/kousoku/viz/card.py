"""Cards: small tables of what matters, as HTML for notebooks; no script, and the colours of the page around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from ..core.record import RunRecord
from . import headline
from .headline import HeadlineNumber
from .text import END_OF_ISOLATE, ISOLATE, well_formed

CELL = "text-align:left;padding:2px 14px 2px 0;border:0;background:none;color:inherit"
"""A notebook has rules of its own for tables; these stand over them, in its light scheme and in its dark one."""

FAINT = "font-weight:normal;opacity:.7"


def card(title: str, rows: Iterable[HeadlineNumber]) -> str:
    """Returns a table with a title and a row for each number; text is never markup.

    Examples:
        >>> "<b>q &lt; 1</b>" in card("q < 1", [HeadlineNumber("Agents", "4", "seeds 0 to 3")])
        True
    """
    told = "".join(
        f'<tr style="background:none"><th scope="row" style="{CELL};{FAINT}">{_text(row.label)}</th>'
        f'<td style="{CELL}">{_text(row.value)}</td><td style="{CELL};{FAINT}">{_text(row.note)}</td></tr>'
        for row in rows
    )
    return f"<div><b>{_text(title)}</b>{_table(told)}</div>"


def table(title: str, rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """Returns a table with a title, names in its first row and column, and notes below it; text is never markup.

    Examples:
        >>> "<b>returns</b>" in table("returns", [["", "mean"], ["PPO", "4.00"]])
        True
    """
    cells = ("".join(_cell(cell, head=not i or not j) for j, cell in enumerate(row)) for i, row in enumerate(rows))
    told = "".join(f'<tr style="background:none">{row}</tr>' for row in cells)
    below = "".join(f'<div style="opacity:.7">{_text(note)}</div>' for note in notes)
    return f"<div><b>{_text(title)}</b>{_table(told)}{below}</div>"


def _cell(text: str, head: bool) -> str:
    return f'<th style="{CELL};{FAINT}">{_text(text)}</th>' if head else f'<td style="{CELL}">{_text(text)}</td>'


def _table(rows: str) -> str:
    return f'<table style="border:0;margin:4px 0 0;color:inherit">{rows}</table>'


def run_card(record: RunRecord) -> str:
    """Returns the card of a run: its headline numbers, how it ended, and where it lies."""
    failure = record.facts.get("failure") or ""
    ended = [] if headline.finished(record) else [HeadlineNumber("Status", headline.status(record), str(failure))]
    best = [] if len(record.points) == 1 else [headline.best_point(record)]
    where = HeadlineNumber("Folder", "not saved" if record.path is None else str(record.path), "")
    return card(headline.title(record), [*ended, *headline.headline_numbers(record), *best, where])


def _text(text: str) -> str:
    """Returns text for HTML; names in it that are isolated stay so."""
    parts = re.split(f"([{ISOLATE}{END_OF_ISOLATE}])", text)
    return escape("".join(part if part in (ISOLATE, END_OF_ISOLATE) else well_formed(part) for part in parts))
