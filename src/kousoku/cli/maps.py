"""A map as the shell takes it: typed in place, or a file's name."""

from __future__ import annotations

import os
import re

from ..core.errors import ConfigError

CELLS = ".#SGPC "
"""What a map of ours is made of: few of a file's name are among these."""


def map_text(field: str, text: str) -> str:
    """Returns a map as lines: what a file holds, or what is typed in place with / between the rows.

    Raises:
        ConfigError: for a folder, or a file that is not there, cannot be read or is no text in UTF-8.
    """
    if os.path.isdir(text):
        raise ConfigError(field, text, "that is a folder; name a file, or type the rows with / between them")
    if not os.path.isfile(text):  # False, too, for what no disk would take as a path
        if os.path.islink(text) or _names_file(text):
            raise ConfigError(field, text, "there is no such file; name one, or type the rows with / between them")
        return text.replace("/", "\n")
    try:
        with open(text, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError as error:
        place = f"byte {error.object[error.start]:#04x} at {error.start}"
        raise ConfigError(field, text, f"save it as UTF-8: {place} is none") from error
    except OSError as error:
        raise ConfigError(field, text, f"it cannot be read ({error.strerror}); name another file") from error


def _names_file(text: str) -> bool:
    """Returns whether a text looks like a file's name, with its ending or in folders, and not like the rows of a map.

    Examples:
        >>> [_names_file(text) for text in ("maze.txt", "maps/maze1", "~/maze", "S.G", "S../..G", "ab/cd")]
        [True, True, True, False, False, False]
    """
    rows = text.split("/")
    if "\n" in text or (len(rows) > 1 and len(set(map(len, rows))) == 1):
        return False
    ending = re.search(r"[^./]\.[a-z][a-z0-9]{1,4}$", text) is not None
    letters = text.replace("/", "")
    return ending or (len(rows) > 1 and 2 * sum(letter in CELLS for letter in letters) < len(letters))
