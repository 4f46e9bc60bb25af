"""`kousoku compare RUN RUN ...`: runs beside each other, as a table and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core.errors import ConfigError
from ..training.io.files import typed
from .options import Option, parse, target
from .values import number

PAGE = "comparison.html"
OPTIONS = (
    Option("runs", None, "RUN RUN ...", "run folders, or NAME=FOLDER to name them", positional=True),
    Option("where", None, "NAME=VALUE,...", "points of sweeps that take part (default: all)", joined=True),
    Option("out", None, "FILE", f"where the page goes (default: {PAGE})"),
)


def run(words: Sequence[str]) -> int:
    """Compares runs: prints the table, writes the page."""
    from .. import saved_runs

    count = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    given = parse("compare", "Compare runs by their greedy episodes, by environment.", OPTIONS, words[count:])
    if "runs" in given:
        raise ConfigError("runs", str(given["runs"]), "name the runs before the options: kousoku compare RUN RUN ...")
    if count < 2:
        raise ConfigError("runs", words[0] if count else ..., "name at least two: kousoku compare RUN RUN ...")
    written, where = target(given, PAGE), _where(str(given.get("where", "")))
    found = saved_runs.compare(_named(words[:count]), where=where)
    print(found)
    print(f"\npage: {found.save(written)}")
    return 0


def _where(text: str) -> dict[str, list[float]]:
    """Returns values by name; a name that is there several times has several.

    Raises:
        ConfigError: for what is no NAME=NUMBER.

    Examples:
        >>> _where("learning-rate=0.1,learning-rate=0.5,env.slip=0.2")
        {'learning_rate': [0.1, 0.5], 'env.slip': [0.2]}
    """
    found: dict[str, list[float]] = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError("--where", text, "write NAME=VALUE, and commas between several of these")
        found.setdefault(name.strip().replace("-", "_"), []).append(number("--where", value))
    return found


def _named(words: Sequence[str]) -> dict[str, list[str | Path]]:
    """Returns the folders by name: as it was given, or else the folder's own, or its path where two have the same."""
    pairs: list[tuple[str, Path]] = []
    for word in words:
        name, equals, folder = word.partition("=")
        path = typed(folder if equals and name and not typed(word).exists() else word)
        pairs.append((name if str(path) != str(typed(word)) else path.resolve().name, path))
    names = [name for name, _ in pairs]
    found: dict[str, list[str | Path]] = {}
    for word, (name, path) in zip(words, pairs, strict=True):
        own = "=" in word and name == word.partition("=")[0]
        found.setdefault(name if own or names.count(name) == 1 else str(path), []).append(path)
    return found
