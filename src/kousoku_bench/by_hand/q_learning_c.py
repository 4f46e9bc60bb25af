"""Q-learning in C: compiled with the machine's own compiler, called through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
Learn = Callable[[np.ndarray, int, float, int], np.ndarray]


class NoCompiler(RuntimeError):
    """The error where there is no C compiler, or where it does not understand the program."""


@cache
def program() -> Learn:
    """Returns a function (Q [N, 96, 4], steps, epsilon, seed) -> episodes [N] that trains N agents in place, on one
    core.

    Groups of eight agents share vectors; what is left over runs one by one.

    Raises:
        NoCompiler: with the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q_learning.so"
        compile_to(path)
        library = ctypes.CDLL(str(path))
    pointer, word = ctypes.c_void_p, ctypes.c_uint32
    library.learn.argtypes = (pointer, pointer, ctypes.c_int64, ctypes.c_int64, word, word)
    library.learn.restype = None

    def learn(q: np.ndarray, steps: int, epsilon: float, seed: int) -> np.ndarray:
        episodes = np.zeros(len(q), np.int64)
        chance = round(epsilon * 65536)
        library.learn(q.ctypes.data, episodes.ctypes.data, len(q), steps, chance, seed)
        return episodes

    return learn


def compiler() -> str:
    """Finds the C compiler: $CC, or cc.

    Raises:
        NoCompiler: if there is none.
    """
    name = os.environ.get("CC", "cc")
    found = shutil.which(name)
    if found is None:
        raise NoCompiler("no C compiler")
    return found


def compiler_version() -> str:
    """Returns the last word of the first line that the C compiler prints about its version.

    Raises:
        NoCompiler: if there is none.
    """
    said = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    return (said.splitlines() or ["unknown"])[0].split()[-1]


def compile_to(path: Path) -> None:
    """Compiles the program to a shared library."""
    source = resources.files("kousoku_bench.by_hand").joinpath("q_learning.c").read_text(encoding="utf-8")
    command = [compiler(), *FLAGS, "-x", "c", "-", "-o", str(path)]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise NoCompiler(f"{command[0]} does not compile it: {lines[0] if lines else 'no reason given'}")
