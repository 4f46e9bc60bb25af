"""Runs LLVM in a process of its own, for text that takes seconds.

Within a process llvmlite lets one thread at a time into LLVM: a short kernel would wait for a long one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable

from .compile import object_code
from .target import Target

CHECKED = b"\0kousoku: LLVM has checked it\n"
START = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__name__} import serve; serve()"


class ProcessError(Exception):
    """The error of a process that ended without code."""


def can_start() -> bool:
    """Returns whether there is a Python to start, and not a program that has one built in."""
    return os.path.basename(sys.executable or "").lower().startswith("python")


def object_code_in_subprocess(text: str, target: Target, checked: Callable[[], None]) -> bytes:
    """Compiles as `object_code` does, in another process.

    Raises:
        ProcessError: if LLVM refuses the text, with its words, or brings the process down.
        OSError: if no process can be started, or somebody stops it.
    """
    asked = json.dumps({"text": text, "target": dataclasses.asdict(target)}).encode()
    path = [folder for folder in sys.path if isinstance(folder, str)]
    with tempfile.TemporaryFile() as told:
        with subprocess.Popen(
            [sys.executable, "-P", "-c", START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=told,
            start_new_session=True,  # Ctrl-C is not meant for it
        ) as process:
            answer = _exchange(process, asked, checked)
        told.seek(0)
        words = told.read().decode(errors="replace").strip().splitlines()
    if process.returncode in (-signal.SIGTERM, getattr(signal, "SIGKILL", 9) * -1):
        raise InterruptedError(f"LLVM's process was stopped by signal {-process.returncode}")
    seal, code = answer[:_SEAL], answer[_SEAL:]
    if process.returncode or seal != hashlib.sha256(code).digest():
        raise ProcessError(words[-1] if words else f"it ended with {process.returncode}")
    return code


_SEAL = hashlib.sha256().digest_size


def _exchange(process: subprocess.Popen[bytes], asked: bytes, checked: Callable[[], None]) -> bytes:
    """Asks, and hears the answer; what others print while Python starts comes before it."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it ended early, and says why
        process.stdin.write(asked)
        process.stdin.close()
    for line in process.stdout:
        if line.endswith(CHECKED):
            checked()
            break
    return process.stdout.read()


def serve() -> None:
    """Serves one request, on the process's side: text in, machine code out.

    Whatever else is printed goes to the errors.
    """
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        asked = json.loads(sys.stdin.buffer.read())

        def checked() -> None:
            out.write(CHECKED)
            out.flush()

        try:
            code = object_code(asked["text"], Target(**asked["target"]), checked)
        except Exception as error:
            sys.exit(" ".join(str(error).split()))
        out.write(hashlib.sha256(code).digest() + code)
