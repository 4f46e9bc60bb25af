"""Random numbers of tests come from keys, generators with a seed, and hypothesis."""

import ast
from pathlib import Path

import pytest
from sources import tree_of

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("folder", sorted(folder.name for folder in TESTS.iterdir() if folder.is_dir()))
def test_nothing_draws_from_pythons_own_generator(folder):
    """A strategy that did would not be seen: hypothesis's warning is ignored, as other threads may draw from it."""
    for file in (TESTS / folder).rglob("*.py"):
        for node in ast.walk(tree_of(file)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert "random" not in names, f"{file}:{node.lineno}"
