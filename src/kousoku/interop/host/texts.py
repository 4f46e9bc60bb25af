"""Texts among observations, as the indices of their characters.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.errors import shorten

MISSIONS = "minigrid.core.mission.MissionSpace"
"""MiniGrid's space of an instruction and the words in it that vary, which is no `Text`."""
MOST_MISSIONS = 100_000
ORDERED = spaces.Text(1).character_list == tuple(spaces.Text(1).characters)
"""Whether Gymnasium gives a set of characters the same order in every process, which it does from 1.4 on."""


def is_text(space: Any) -> bool:
    """Returns whether a space's elements are texts."""
    return getattr(getattr(space, "dtype", None), "kind", "") == "U"


def text_of(space: Any) -> spaces.Text:
    """Returns a space of texts as a `Text`; of MiniGrid's missions the one with their characters and lengths.

    Raises:
        TypeError: for one that does not say which texts it holds.
    """
    if isinstance(space, spaces.Text):
        return space
    kind = type(space)
    if f"{kind.__module__}.{kind.__qualname__}" == MISSIONS:
        words = space.ordered_placeholders or []
        if np.prod([float(len(choices)) for choices in words]) <= MOST_MISSIONS:
            missions = {space.mission_func(*chosen) for chosen in itertools.product(*words)}
            lengths = list(map(len, missions))
            return spaces.Text(max(lengths), min_length=min(lengths), charset="".join(sorted(set().union(*missions))))
    fix = "use Text, or leave it out, as gymnasium.wrappers.FilterObservation does"
    raise TypeError(f"its {kind.__name__} does not say which characters its texts have, and how many: {fix}")


def codes_of(text: spaces.Text) -> dict[str, int]:
    """Returns the index of each character, as `gymnasium.spaces.flatten` has it.

    Examples:
        >>> codes_of(spaces.Text(5, charset="no"))
        {'n': 0, 'o': 1}
    """
    characters = text.character_list if ORDERED else text.characters
    return {character: index for index, character in enumerate(dict.fromkeys(characters))}


def coded(where: str, texts: Any, codes: Mapping[str, int], most: int) -> np.ndarray:
    """Returns the indices of the characters of V texts, int32 [V, most]; of those that a text lacks the next one.

    Args:
        where: what they are, for messages.
        texts: V of them.
        codes: the index of each character.
        most: how many characters a text may have.

    Raises:
        ValueError: for what is no text, is longer, or has another character.
    """
    found = np.full((len(texts), most), len(codes), np.int32)
    for row, text in zip(found, texts, strict=True):
        _check(where, text, codes, most)
        row[: len(text)] = [codes[character] for character in text]
    return found


def _check(where: str, text: Any, codes: Mapping[str, int], most: int) -> None:
    if not isinstance(text, str):
        raise ValueError(f"{where} has {shorten(text)}, and has to be a text")
    if len(text) > most:
        raise ValueError(f"{where} has {len(text)} characters, {shorten(text)}, and its space at most {most}")
    if not codes.keys() >= set(text):
        other = next(character for character in text if character not in codes)
        raise ValueError(f"{where} has the character {other!r} in {shorten(text)}, which its space's charset has not")


def as_texts(texts: Any) -> list[Any]:
    """Returns what V environments say together: one text alone is that of one."""
    return [texts] if isinstance(texts, str) or np.ndim(texts) == 0 else list(texts)
