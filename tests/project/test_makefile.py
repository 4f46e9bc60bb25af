"""`make` alone tells what can be made."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_make_alone_prints_every_target_with_what_it_does():
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    # A `make` that runs within a `make`, as this test does in `make test`, would tell its folder too.
    outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    env = {name: value for name, value in os.environ.items() if name not in outer}
    told = subprocess.run(["make"], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    lines = [line.split(maxsplit=1) for line in told.splitlines()[1:]]
    assert [name for name, what in lines if what] == phony.split()
