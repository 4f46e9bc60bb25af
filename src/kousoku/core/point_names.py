"""Names of a sweep's points: no two numbers that differ are called the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

FEWEST, MOST = 6, 17
"""Significant digits: usual ones, and those that tell any two floats apart."""


def distinct_texts(values: Iterable[float]) -> dict[float, str]:
    """Returns each number as text, all of them with as few digits (of at least six) as tell every two apart.

    Examples:
        >>> distinct_texts([0.1, 1 / 3])
        {0.1: '0.1', 0.3333333333333333: '0.333333'}
        >>> distinct_texts([0.1234561, 0.1234562])
        {0.1234561: '0.1234561', 0.1234562: '0.1234562'}
    """
    distinct = list(dict.fromkeys(values))
    for digits in range(FEWEST, MOST + 1):
        texts = [f"{value:.{digits}g}" for value in distinct]
        if len(set(texts)) == len(distinct):
            return dict(zip(distinct, texts, strict=True))
    return {value: repr(value) for value in distinct}


def point_texts(points: Sequence[Mapping[str, float]]) -> list[dict[str, str]]:
    """Returns the numbers of every sweep point as texts, by their names, told apart among all points.

    Examples:
        >>> point_texts([{"discount": 0.9, "epsilon": 0.1}, {"discount": 0.9000001, "epsilon": 0.1}])
        [{'discount': '0.9', 'epsilon': '0.1'}, {'discount': '0.9000001', 'epsilon': '0.1'}]
    """
    names = dict.fromkeys(name for point in points for name in point)
    texts = {name: distinct_texts(point[name] for point in points if name in point) for name in names}
    return [{name: texts[name][value] for name, value in point.items()} for point in points]
