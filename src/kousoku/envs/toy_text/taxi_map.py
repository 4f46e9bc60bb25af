"""The taxi's map: walls, places, how a state is numbered, and pictures."""

from __future__ import annotations

from typing import Any

from ...core.panel import Panel
from ...core.scene import Circle, Line, Rect, Scene, Shape, Text
from .moves import arrows

SIZE = 5
PLACES = ((0, 0), (0, 4), (4, 0), (4, 3))
LETTERS = ("R", "G", "Y", "B")
IN_TAXI = len(PLACES)
EAST_WALLS = frozenset({(0, 1), (1, 1), (3, 0), (3, 2), (4, 0), (4, 2)})  # cells with a wall on their east side
WALL_LINES = tuple((c + 1.0, float(r), c + 1.0, r + 1.0) for r, c in sorted(EAST_WALLS))
MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
NAMES = ("south", "north", "east", "west", "pickup", "dropoff")

FLOOR_COLOR, WALL_COLOR, TAXI_COLOR, PASSENGER_COLOR = "#f4f1ea", "#2b2d42", "#f2b632", "#7b2d8b"
PLACE_COLORS = ("#f2b8b5", "#bfe3c0", "#f7e8a4", "#bcd4f0")


def encode(row: int, column: int, passenger: int, destination: int) -> int:
    """Returns the number of a state."""
    return ((row * SIZE + column) * (len(PLACES) + 1) + passenger) * len(PLACES) + destination


def decode(state: Any) -> tuple[Any, Any, Any, Any]:
    """Returns (row, column, passenger, destination) of a state, or of an array of states."""
    rest, destination = divmod(state, len(PLACES))
    rest, passenger = divmod(rest, len(PLACES) + 1)
    row, column = divmod(rest, SIZE)
    return row, column, passenger, destination


def drive(state: int, move: tuple[int, int]) -> int:
    """Returns the state after a move; a wall or the edge of the map stops the taxi where it is.

    Examples:
        >>> decode(drive(encode(0, 1, 0, 1), (0, 1))), decode(drive(encode(2, 1, 0, 1), (0, 1)))
        ((0, 1, 0, 1), (2, 2, 0, 1))
    """
    row, column, passenger, destination = decode(state)
    new_row, new_column = row + move[0], column + move[1]
    inside = 0 <= new_row < SIZE and 0 <= new_column < SIZE
    if not inside or (move[1] and (row, min(column, new_column)) in EAST_WALLS):
        return state
    return encode(new_row, new_column, passenger, destination)


def taxi_panels() -> tuple[Panel, ...]:
    """Draws a map for each pair of passenger and destination that an agent can act in: 4 x 3 waiting, 4 in the taxi."""
    pairs = [(p, d) for p in range(IN_TAXI + 1) for d in range(len(PLACES)) if p != d]
    return tuple(_panel(passenger, destination) for passenger, destination in pairs)


def _panel(passenger: int, destination: int) -> Panel:
    place = "in taxi" if passenger == IN_TAXI else f"at {LETTERS[passenger]}"
    return Panel(
        title=f"passenger {place}, to {LETTERS[destination]}",
        states=tuple(tuple(encode(r, c, passenger, destination) for c in range(SIZE)) for r in range(SIZE)),
        labels=tuple((*cell, letter) for cell, letter in zip(PLACES, LETTERS, strict=True)),
        walls=WALL_LINES,
        action_names=NAMES,
        action_arrows=(*arrows(MOVES), None, None),
    )


def taxi_scene(state: int) -> Scene:
    """Draws the map; the taxi is a square, the passenger a disc, the destination has a frame."""
    row, column, passenger, destination = decode(state)
    at_row, at_column = (row, column) if passenger == IN_TAXI else PLACES[passenger]
    goal_row, goal_column = PLACES[destination]
    foreground: list[Shape] = [
        *_frame(goal_row, goal_column),
        Rect(column + 0.2, row + 0.28, 0.6, 0.44, TAXI_COLOR, radius=0.1),
        Circle(at_column + 0.5, at_row + 0.5, 0.15, PASSENGER_COLOR),
    ]
    return Scene(float(SIZE), float(SIZE), _background(), tuple(foreground))


def _background() -> tuple[Shape, ...]:
    shapes: list[Shape] = []
    for r in range(SIZE):
        for c in range(SIZE):
            color = PLACE_COLORS[PLACES.index((r, c))] if (r, c) in PLACES else FLOOR_COLOR
            shapes.append(Rect(c + 0.02, r + 0.02, 0.96, 0.96, color, radius=0.08))
    shapes += [Line(*ends, 0.08, WALL_COLOR) for ends in WALL_LINES]
    for (r, c), letter in zip(PLACES, LETTERS, strict=True):
        shapes.append(Text(c + 0.24, r + 0.27, letter, 0.26, WALL_COLOR))
    return tuple(shapes)


def _frame(row: int, column: int) -> tuple[Line, ...]:
    left, top, right, bottom = column + 0.06, row + 0.06, column + 0.94, row + 0.94
    corners = ((left, top), (right, top), (right, bottom), (left, bottom))
    return tuple(Line(*corners[i], *corners[(i + 1) % 4], 0.06, PASSENGER_COLOR) for i in range(4))
