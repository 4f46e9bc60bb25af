"""Source files as trees, each read and parsed once for all tests that look at them."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """What a file of Python says."""
    return ast.parse(path.read_text(encoding="utf-8"))
