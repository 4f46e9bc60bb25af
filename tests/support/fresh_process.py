"""Code in a new process, as a user runs it: nothing imported yet, no types checked, warnings as errors."""

import atexit
import functools
import json
import os
import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-W", "error", "-c"]

ANSWER = """
import json, os, sys
from kousoku import ConfigError

def message(name, call, names):
    try:
        given = eval(call, names)
    except ConfigError as error:
        return str(error)
    except Exception as error:
        raise SystemExit(f"{name}: {error!r}")
    raise SystemExit(f"{name} was accepted: {given!r}")

for line in sys.stdin:
    asked = json.loads(line)
    os.chdir(asked["folder"])
    names = {}
    exec(asked["setup"], names)
    messages = {name: message(name, call, names) for name, call in asked["calls"].items()}
    print(json.dumps(messages), flush=True)
"""


def in_a_new_process(script: str) -> Any:
    """What a script prints as JSON."""
    done = subprocess.run([*COMMAND, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refusals(calls: dict[str, str], setup: str) -> dict[str, str]:
    """Each call's ConfigError as text, by name; anything else that a call raises or returns ends with an error.

    All are made in one process, which begins with the first of them: what is refused changes nothing.
    """
    process = _answering()
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps({"folder": os.getcwd(), "setup": setup, "calls": calls}), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        _answering.cache_clear()
        _, told = process.communicate()
        raise AssertionError(told)
    return json.loads(answer)


@functools.cache
def _answering() -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*COMMAND, ANSWER], text=True, **pipes)
    atexit.register(process.communicate)
    return process
