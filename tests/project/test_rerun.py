"""A failing test tells the command that runs it alone, and that command makes it fail in the same way."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from rerun import SWITCHES

from kousoku.core import cache_folder

ROOT = pathlib.Path(__file__).parents[2]
TESTS = """
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.parametrize("seed", [3, 4])
def test_of_a_seed(seed):
    assert seed == 3

@pytest.fixture
def broken():
    raise RuntimeError

def test_with_a_fixture(broken):
    pass

@settings(database=None)
@given(st.integers(0, 10**18))
def test_at_random(number):
    with open("drawn.txt", "a") as file:
        print(number, file=file)
    assert number == 0
"""


def run(words, **variables):
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[1] / "support"), os.environ.get("PYTHONPATH", "")])
    environment = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    environment |= {"PYTHONPATH": path, "PYTEST_ADDOPTS": "-p rerun -p no:jaxtyping"} | variables
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment).stdout


def told(output):
    lines = output.splitlines()
    (at,) = (i for i, line in enumerate(lines) if "to run a failed test alone" in line)
    return [line for line in lines[at + 1 :] if "::" in line and " -m pytest " in line]


@pytest.mark.full("processes")
def test_a_failing_test_says_how_to_run_it_alone(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    output = run([sys.executable, "-m", "pytest", "-n", "1"], KOUSOKU_TESTS="full")
    assert "2 failed, 1 passed, 1 error" in output
    by_name = {line.partition("::")[2].partition(" ")[0].rstrip("'"): line for line in told(output)}
    assert sorted(by_name) == ["test_at_random", "test_of_a_seed[4]", "test_with_a_fixture"]
    switch, python, *words = shlex.split(by_name["test_of_a_seed[4]"])
    assert (switch, python, words) == (
        "KOUSOKU_TESTS=full",
        "python",
        ["-m", "pytest", "test_it.py::test_of_a_seed[4]"],
    )
    drawn = pathlib.Path("drawn.txt").read_text()
    pathlib.Path("drawn.txt").unlink()
    (line,) = told(run([sys.executable, *shlex.split(by_name["test_at_random"])[2:]]))
    assert pathlib.Path("drawn.txt").read_text() == drawn
    assert f"KOUSOKU_TESTS=full {line}" == by_name["test_at_random"], "it says the same again"


def test_what_the_tests_look_at_is_in_the_command():
    """Every variable of ours that tests read, but for the one that the library itself reads."""
    read = r'(?:environ(?:\.get\(|\[)|SWITCH = )"(KOUSOKU_\w+)"'
    paths = ROOT / "conftest.py", *(ROOT / "tests").rglob("*.py")
    names = {name for path in paths for name in re.findall(read, path.read_text(encoding="utf-8"))}
    assert names - {cache_folder.SWITCH} == {*SWITCHES}
