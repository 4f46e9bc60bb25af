"""Selection of the best of several by their episodes, and its score in episodes that had no part in it.

The highest of many noisy means is too high: the member that was lucky in its episodes is chosen because of them. So
each member's episodes are split: the first half selects, the second is held out for the score. A member by itself is
not selected, and its score is of all of its episodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

TIE_TOLERANCE = 1e-6
"""Scores that differ by less, in units of the best one, tie: sums in another order round otherwise."""


class EpisodeSplit(NamedTuple):
    """The episodes that select, and those that are held out for the score.

    Attributes:
        selection, held_out: of each member's episodes.
        unbiased: whether no episode of a selection is of the score; False with a single episode.
    """

    selection: slice
    held_out: slice
    unbiased: bool


def split_episodes(members: int, episodes: int) -> EpisodeSplit:
    """Splits the episodes of each member: the larger half selects; one member, or one episode, cannot be split.

    Examples:
        >>> split = split_episodes(30, 5)
        >>> list(range(5))[split.selection], list(range(5))[split.held_out]
        ([0, 1, 2], [3, 4])
    """
    if members == 1:
        return EpisodeSplit(slice(0, episodes), slice(0, episodes), True)
    return halves(episodes)


def halves(episodes: int) -> EpisodeSplit:
    """Splits episodes where something is chosen whatever the number of members, such as a time of the training."""
    everything = slice(0, episodes)
    if episodes < 2:
        return EpisodeSplit(everything, everything, False)
    half = (episodes + 1) // 2
    return EpisodeSplit(slice(0, half), slice(half, episodes), True)


def broken_members(returns: Shaped[np.ndarray, "N E"]) -> Bool[np.ndarray, " N"]:
    """Marks the members of which a return is not finite: nothing is said of how good they are."""
    return np.asarray(~np.isfinite(np.asarray(returns, np.float64)).all(axis=1))


def mean_returns(returns: Shaped[np.ndarray, "N E"]) -> Float[np.ndarray, " N"]:
    """Returns each member's mean over its episodes; NaN where one of them is not finite.

    Examples:
        >>> mean_returns(np.array([[1.0, 2.0], [1.0, np.nan], [np.inf, 2.0]])).tolist()
        [1.5, nan, nan]
    """
    broken = broken_members(returns)
    means = np.where(broken[:, None], 0.0, np.asarray(returns, np.float64)).mean(axis=1)
    return np.where(broken, np.nan, means)


def selection_scores(returns: Shaped[np.ndarray, "N E"]) -> Float[np.ndarray, " N"]:
    """Returns each member's mean over the episodes that select; -inf where one of all its episodes is not finite."""
    selection = mean_returns(returns[:, split_episodes(*returns.shape).selection])
    return np.where(broken_members(returns), -np.inf, selection)


def held_out_episodes(returns: Shaped[np.ndarray, "N E"]) -> Shaped[np.ndarray, "N J"]:
    """Returns of each member the episodes that are held out."""
    return returns[:, split_episodes(*returns.shape).held_out]


def tied_for_best(scores: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Marks all that have the highest finite score; nothing if there is none.

    Examples:
        >>> tied_for_best(np.array([np.nan, 9.0, 7.0, 9.0, -np.inf])).tolist()
        [False, True, False, True, False]
    """
    finite = np.isfinite(scores)
    if not finite.any():
        return finite
    best = scores[finite].max()
    return finite & (np.where(finite, scores, -np.inf) >= best - TIE_TOLERANCE * abs(best))


def first_best(scores: Float[np.ndarray, " N"]) -> int:
    """Returns the first of those with the highest finite score; 0 if there is none."""
    return int(np.argmax(tied_for_best(scores)))
