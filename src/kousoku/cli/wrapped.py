"""Text as wide as the terminal that it is for."""

from __future__ import annotations

import shutil
import textwrap


def fill(text: str, start: str = "") -> str:
    """Returns a text on as many lines as it needs, below its beginning, which stands behind a start.

    Examples:
        >>> fill("told in few words", "name: ")
        'name: told in few words'
    """
    rest = " " * len(start)
    return textwrap.fill(
        text, width(), initial_indent=start, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def width() -> int:
    """Returns the columns that `COLUMNS` asks for, or else those of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns
