"""LLVM in a process of its own, for text that takes seconds.

Within a process llvmlite lets one thread at a time into LLVM: a short kernel would wait for a long one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable

from .code import object_code
from .target import Target

CHECKED = b"checked\n"
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from kousoku.compiler.machine.apart import serve; serve()"
)


class ProcessError(Exception):
    """The process ended without code."""


def object_code_apart(text: str, target: Target, checked: Callable[[], None]) -> bytes:
    """As `object_code`.

    Raises:
        ProcessError: if LLVM refuses the text, with its words, or the process dies.
        OSError: if no process can be started.
    """
    asked = json.dumps({"text": text, "target": dataclasses.asdict(target)}).encode()
    command = [sys.executable, "-c", START, json.dumps(sys.path)]
    with tempfile.TemporaryFile() as told:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=told,
            start_new_session=True,  # Ctrl-C is not meant for it
        ) as process:
            code = _exchange(process, asked, checked)
        told.seek(0)
        words = told.read().decode(errors="replace").strip().splitlines()
    if process.returncode or not code:
        raise ProcessError(words[-1] if words else f"it ended with {process.returncode}")
    return code


def _exchange(process: subprocess.Popen[bytes], asked: bytes, checked: Callable[[], None]) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it ended early, and says why
        process.stdin.write(asked)
        process.stdin.close()
    if process.stdout.readline() == CHECKED:
        checked()
    return process.stdout.read()


def serve() -> None:
    """The process's side: text in, machine code out."""
    asked = json.loads(sys.stdin.buffer.read())
    out = sys.stdout.buffer

    def checked() -> None:
        out.write(CHECKED)
        out.flush()

    try:
        out.write(object_code(asked["text"], Target(**asked["target"]), checked))
    except Exception as error:
        sys.exit(" ".join(str(error).split()))
    out.flush()
