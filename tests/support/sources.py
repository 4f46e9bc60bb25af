"""Source files as text and as trees, each read and parsed once for all tests that look at them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function


@cache
def text_of(path: Path) -> str:
    """What stands in a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """What a file of Python says."""
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a file's tree."""
    return list(ast.walk(tree_of(path)))


@cache
def files_below(folder: str, *endings: str) -> list[Path]:
    """Files of a folder of the repository, by their endings, without what others wrote."""
    paths = (path for ending in endings for path in (ROOT / folder).rglob(f"*.{ending}"))
    return sorted(path for path in paths if "node_modules" not in path.parts)


@cache
def documented() -> list[tuple[Path, Documented]]:
    """Modules, classes and functions of the code, each with its file below the repository."""
    return [
        (path.relative_to(ROOT), node)
        for path in files_below("src", "py")
        for node in nodes_of(path)
        if isinstance(node, Documented)
    ]


def name_of(path: Path, node: Documented) -> str:
    """The name of a class or a function; of a module its file's."""
    return path.stem if isinstance(node, ast.Module) else node.name


def place(path: Path, node: Documented) -> str:
    """File and line, and the name that stands there."""
    return f"{path}:{getattr(node, 'lineno', 1)}: {name_of(path, node)}"


def docstrings() -> Iterator[tuple[Path, Documented, str]]:
    """What is documented, with its docstring."""
    for path, node in documented():
        if text := ast.get_docstring(node):
            yield path, node, text
