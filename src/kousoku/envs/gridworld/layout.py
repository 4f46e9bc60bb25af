"""Reading a map: from characters to arrays, refusing what is no map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from ...core.errors import ConfigError, check_number

FLOOR, WALL, START, GOAL, PIT, CLIFF = ".", "#", "S", "G", "P", "C"
MEANING = {FLOOR: "floor", WALL: "wall", START: "start", GOAL: "goal", PIT: "pit", CLIFF: "cliff"}
GLYPHS = ", ".join(f"{glyph!r} {name}" for glyph, name in MEANING.items())
MAX_CELLS = 1 << 20

Map = str | Sequence[str] | np.ndarray


@dataclass(frozen=True)
class GridLayout:
    """A map as characters, one for each cell.

    Attributes:
        rows: equally long strings of the glyphs in `MEANING`.
    """

    rows: tuple[str, ...]

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return len(self.rows[0])

    @property
    def num_cells(self) -> int:
        return self.height * self.width

    def where(self, glyph: str) -> Bool[np.ndarray, "H W"]:
        """Tells which cells hold a glyph."""
        return np.array([[cell == glyph for cell in row] for row in self.rows])

    def cells(self, glyph: str) -> list[tuple[int, int]]:
        """Returns (row, column) of every cell that holds a glyph."""
        return [(int(r), int(c)) for r, c in np.argwhere(self.where(glyph))]


def parse_layout(field: str, grid: Map) -> GridLayout:
    """Reads a map from one string of lines, a list of strings, or an array of one-character strings.

    A space counts as floor. Leading and trailing blank lines and common indentation are dropped, so that a map can
    be written in a triple-quoted string.

    Raises:
        ConfigError: for an empty, ragged or huge map, or an unknown glyph (with its row and column).

    Examples:
        >>> parse_layout("map", "S.G").width
        3
    """
    rows = _rows(field, grid)
    if not rows or not rows[0]:
        raise ConfigError(field, grid, "give at least one row with at least one cell")
    _check_even(field, grid, rows)
    if len(rows) * len(rows[0]) > MAX_CELLS:
        raise ConfigError(field, f"{len(rows)} x {len(rows[0])} cells", f"use at most {MAX_CELLS} cells")
    for r, row in enumerate(rows):
        for c, glyph in enumerate(row):
            if glyph not in MEANING:
                raise ConfigError(f"{field} row {r} column {c}", glyph, f"use {GLYPHS}")
    return GridLayout(tuple(rows))


def check_layout(field: str, layout: GridLayout, *, continuing: bool) -> None:
    """Refuses a map on which no episode can begin or end.

    Raises:
        ConfigError: no start; no goal (unless `continuing`); several starts and a cliff.
    """
    starts, goals = layout.cells(START), layout.cells(GOAL)
    if not starts:
        raise ConfigError(field, "a map without a start", f"mark at least one cell with {START!r}")
    if len(starts) > 1 and layout.cells(CLIFF):
        raise ConfigError(field, f"{len(starts)} starts and a cliff", "a cliff leads back to the start: mark just one")
    if not goals and not continuing:
        raise ConfigError(field, "a map without a goal", f"mark a cell with {GOAL!r}, or pass continuing=True")


def reachable(layout: GridLayout, start: tuple[int, int], moves: np.ndarray) -> Bool[np.ndarray, "H W"]:
    """Finds cells that moves can reach from a start without wind and slip, stepping on no pit and no cliff."""
    blocked = layout.where(WALL) | layout.where(PIT) | layout.where(CLIFF)
    seen = np.zeros((layout.height, layout.width), bool)
    frontier = [start]
    seen[start] = True
    while frontier:
        r, c = frontier.pop()
        for dr, dc in moves:
            cell = (r + int(dr), c + int(dc))
            inside = 0 <= cell[0] < layout.height and 0 <= cell[1] < layout.width
            if inside and not seen[cell] and not blocked[cell]:
                seen[cell] = True
                frontier.append(cell)
    return seen


def check_wind(field: str, wind: Sequence[float], width: int) -> tuple[int, ...]:
    """Returns the wind of each column as whole cells, positive upwards.

    Raises:
        ConfigError: if there is not one whole number for each column.
    """
    if not is_list(wind):
        raise ConfigError(field, wind, f"give one number for each of the {width} columns")
    if len(wind) == 0:
        return (0,) * width
    if len(wind) != width:
        raise ConfigError(field, tuple(wind), f"give one number for each of the {width} columns")
    for column, strength in enumerate(wind):
        check_number(f"{field}[{column}]", strength, low=-MAX_CELLS, high=MAX_CELLS)
        if strength % 1 != 0:
            raise ConfigError(f"{field}[{column}]", strength, "use a whole number of cells, positive upwards")
    return tuple(int(strength) for strength in wind)


def is_list(value: object) -> bool:
    """Returns whether something holds values in an order: a list, a tuple or an array with axes, and no text.

    Examples:
        >>> is_list((0, 1)), is_list(np.zeros(2)), is_list(np.zeros(())), is_list("01"), is_list({0, 1})
        (True, True, False, False, False)
    """
    return bool(getattr(value, "shape", ())) or (isinstance(value, Sequence) and not isinstance(value, (str, bytes)))


def _check_even(field: str, grid: Map, rows: list[str]) -> None:
    """Refuses tabs, and rows of several lengths: the first one with blanks that nobody sees, or that is unlike row 0.

    Raises:
        ConfigError: naming the row.
    """
    if len({len(row) for row in rows}) == 1 and not any("\t" in row for row in rows):
        return
    for r, line in enumerate(_lines(grid) if isinstance(grid, str) else grid):
        blanks = len(line) - len(line.rstrip())
        if "\t" in line.strip() or "\t" in line[len(line) - blanks :]:
            raise ConfigError(f"{field} row {r}", line, "there is a tab in it, which is no cell; write each cell")
        if blanks and len(rows[r]) > min(map(len, rows)):
            raise ConfigError(f"{field} row {r}", line, "it ends in spaces, which count as floor; leave them out")
    for r, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ConfigError(f"{field} row {r}", row, f"every row needs {len(rows[0])} cells like row 0")


def _lines(text: str) -> list[str]:
    """Returns the lines of a map without blank ones before and after it."""
    lines = text.splitlines()
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _rows(field: str, grid: Map) -> list[str]:
    if isinstance(grid, str):
        lines = [_with_indent_of_spaces(line) for line in _lines(grid)]
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        rows = [line[indent:] for line in lines]
    elif isinstance(grid, np.ndarray) and grid.ndim == 2:
        cells = grid.astype(str)
        for r, c in np.argwhere(np.char.str_len(cells) != 1).tolist():
            raise ConfigError(f"{field}[{r}, {c}]", str(cells[r, c]), "a cell is one character")
        rows = ["".join(row) for row in cells]
    elif isinstance(grid, Sequence) and all(isinstance(row, str) for row in grid):
        rows = list(grid)
    else:
        raise ConfigError(field, grid, "give a string of lines, a list of strings or a 2-d array of characters")
    return [row.replace(" ", FLOOR) for row in rows]


def _with_indent_of_spaces(line: str) -> str:
    """Returns a line whose indent has no tabs; one between cells stays, and is refused as any other character."""
    cells = line.lstrip()
    return line[: len(line) - len(cells)].expandtabs() + cells
