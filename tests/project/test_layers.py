"""Imports point down only; the code is formatted; no file or function grows out of hand."""

import ast
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from sources import tree_of

ROOT = pathlib.Path(__file__).parents[2]
CACHE = [] if os.access(ROOT, os.W_OK) else ["--no-cache"]
"""What a tool is told that keeps a cache beside the sources, where it cannot."""
SOURCES = sorted((ROOT / "src").rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def run(*words: str) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_point_down_only():
    run(str(pathlib.Path(sys.executable).parent / "lint-imports"), *CACHE)


def test_style():
    run(sys.executable, "-m", "ruff", "check", *CACHE, ".")
    run(sys.executable, "-m", "ruff", "format", "--check", *CACHE, ".")


@pytest.mark.full("processes")
def test_types():
    run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)


def test_private_functions_read_their_parameters():
    """Of those that are only called: whoever is handed one as a value may call it with more than it needs."""
    found = []
    for path in SOURCES:
        tree = tree_of(path)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Call)]
        called = {id(node.func) for node in names if isinstance(node, ast.Call)}
        handed = {node.id for node in names if isinstance(node, ast.Name) and id(node) not in called}
        for node in tree.body:
            private = isinstance(node, Function) and node.name.startswith("_") and not node.decorator_list
            if private and node.name not in handed:
                read = {name.id for part in node.body for name in ast.walk(part) if isinstance(name, ast.Name)}
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                found += [f"{path}:{node.lineno}: {node.name}, {each.arg}" for each in given if each.arg not in read]
    assert not found, "\n".join(found)


def test_names_that_modules_give_to_something_are_read():
    read, given = set(), []
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read.add(node.id)
            elif isinstance(node, ast.Attribute | ast.alias):
                read.add(node.attr if isinstance(node, ast.Attribute) else node.name)
        targets = [each for node in tree_of(path).body if isinstance(node, ast.Assign) for each in node.targets]
        given += [(path, each) for each in targets if isinstance(each, ast.Name) and not each.id.startswith("__")]
    dead = [f"{path}:{name.lineno}: {name.id}" for path, name in given if name.id not in read]
    assert not dead, "\n".join(dead)


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(ROOT / "src")) for path in SOURCES])
def test_files_and_functions_stay_small(path):
    """Without its docstring a function has 60 lines at most; it is within two others at most."""
    assert path.read_text().count("\n") <= 500
    for name, node in functions(tree_of(path)):
        documentation = ast.get_docstring(node, clean=False)
        text = 0 if documentation is None else node.body[0].end_lineno - node.body[0].lineno + 1
        assert node.end_lineno - node.lineno + 1 - text <= 60, name
        assert name.count(".") <= 2, name


def functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, Function]]:
    """Functions of a tree, each with the names of those that it is within before its own."""
    for node in ast.iter_child_nodes(tree):
        name = f"{within}.{node.name}".strip(".") if isinstance(node, Function) else within
        if isinstance(node, Function):
            yield name, node
        yield from functions(node, name)


def test_nothing_outside_a_back_end_asks_for_a_platform():
    names = {"cpu", "gpu", "cuda", "rocm", "tpu", "metal"}
    backends = ROOT / "src" / "kousoku" / "compiler" / "backends"
    found = []
    for path in (ROOT / "src" / "kousoku").rglob("*.py"):
        if not path.is_relative_to(backends):
            nodes = ast.walk(tree_of(path))
            asked = (node for node in nodes if isinstance(node, ast.Constant) and node.value in names)
            found += [
                f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}; let `compiler.backends` say" for node in asked
            ]
    assert not found, "\n".join(found)
