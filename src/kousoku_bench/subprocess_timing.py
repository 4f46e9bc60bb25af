"""A measurement in a process of its own: with some of the cores only, or stopped when it takes too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

PROGRAM = """
import json, os, sys
module, function, cores, arguments = json.loads(sys.argv[1])
if cores is not None:
    os.sched_setaffinity(0, cores)
import importlib
print(json.dumps(getattr(importlib.import_module(module), function)(*arguments)))
"""


class SubprocessFailed(RuntimeError):
    """The error of a process that printed something other than numbers, or nothing in time."""


def run_in_subprocess(
    module: str, function: str, *arguments: Any, cores: int | None = None, limit: float = 300.0
) -> Any:
    """Calls a function of a module in a new process with plain arguments, and returns what it returns.

    Args:
        module: its full name.
        function: its name in there.
        arguments: for it, as JSON has them.
        cores: how many cores the process may use, from before it starts JAX; None for all.
        limit: seconds for all of it.

    Raises:
        SubprocessFailed: with the reason.
    """
    chosen = None if cores is None else first_cores(cores)
    given = json.dumps([module, function, chosen, arguments])
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, given],
            env={**os.environ, "JAX_TRACEBACK_FILTERING": "off"},  # else the last line is not the exception's
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise SubprocessFailed(f"stopped after {limit:g} s") from None
    if done.returncode:
        raise SubprocessFailed((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def first_cores(count: int) -> list[int]:
    """Returns that many of the cores that this process may use.

    Raises:
        SubprocessFailed: if there are not so many, or the system does not let one choose.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise SubprocessFailed("this system does not let a process choose its cores")
    available = sorted(os.sched_getaffinity(0))
    if len(available) < count:
        raise SubprocessFailed(f"only {len(available)} here")
    return available[:count]
