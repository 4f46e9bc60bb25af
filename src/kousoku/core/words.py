"""Counts in words, for what people read: messages, the shell and pictures."""

from __future__ import annotations


def plural(count: int, word: str) -> str:
    """Writes a count and its noun.

    Examples:
        >>> plural(1, "agent"), plural(4096, "agent")
        ('1 agent', '4,096 agents')
    """
    return f"{count:,} {noun(count, word)}"


def noun(count: float, word: str) -> str:
    """Returns a noun as it stands after a count.

    Examples:
        >>> noun(1, "episode"), noun(2, "episode")
        ('episode', 'episodes')
    """
    return word if count == 1 else f"{word}s"
