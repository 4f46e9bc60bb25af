"""Imports point down only; the code is formatted; no file or function grows out of hand."""

import ast
import pathlib
import subprocess
import sys

import pytest
from sources import tree_of

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def run(*words: str) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_point_down_only():
    run(str(pathlib.Path(sys.executable).parent / "lint-imports"))


def test_style():
    run(sys.executable, "-m", "ruff", "check", ".")
    run(sys.executable, "-m", "ruff", "format", "--check", ".")


@pytest.mark.full("processes")
def test_types():
    run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(ROOT / "src")) for path in SOURCES])
def test_files_and_functions_stay_small(path):
    assert path.read_text().count("\n") <= 500
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            documentation = ast.get_docstring(node, clean=False) or ""
            assert node.end_lineno - node.lineno - documentation.count("\n") <= 80, node.name


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
