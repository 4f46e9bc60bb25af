"""`kousoku sweep AGENT ENV --learning-rate 0.1,0.5`: every combination, in one program."""

from __future__ import annotations

from collections.abc import Sequence

from . import train


def run(words: Sequence[str]) -> int:
    """Trains with every combination of the numbers that are listed."""
    return train.run(words, sweep=True)
