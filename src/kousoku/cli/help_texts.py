"""Texts of the help: what docstrings say of attributes and arguments."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping

import docstring_parser

REFERENCE = re.compile(r"(?:see )?`(\w+)\.(\w+)`")
"""What a docstring refers to: a name in a module beside its own."""


def described(documented: object) -> dict[str, str]:
    """Returns what a docstring says of each attribute or argument, by name, on one line.

    Of a class that is what its bases say where it says nothing itself, or "as of" one of them. A table that is referred
    to is told by its words, a function by what it says of an argument of that name.
    """
    told: dict[str, str] = {}
    for each in inspect.getmro(documented)[::-1] if inspect.isclass(documented) else (documented,):
        own = {name: _spelled_out(text, name, each) for name, text in _own_described(each).items()}
        told |= {name: text for name, text in own.items() if not (name in told and text.startswith("as of `"))}
    return told


def _spelled_out(text: str, name: str, documented: object) -> str:
    """Returns what a docstring says of a name, with what the text refers to in its place."""
    package = documented.__module__.rpartition(".")[0]

    def meant(reference: re.Match[str]) -> str:
        found = getattr(sys.modules.get(f"{package}.{reference[1]}"), reference[2], None)
        if inspect.isfunction(found):
            return _own_described(found).get(name, reference[0])
        return ", ".join(map(str, found)) if isinstance(found, (Mapping, tuple)) else reference[0]

    return REFERENCE.sub(meant, text)


def _own_described(documented: object) -> dict[str, str]:
    """Returns the same of one docstring alone."""
    parsed = docstring_parser.parse(inspect.cleandoc(documented.__doc__ or ""))
    return {
        name.strip(): " ".join(entry.description.split()).rstrip(".")
        for entry in parsed.params
        for name in entry.arg_name.split(",")
        if entry.description
    }
