"""The program of a worker process: it makes environments and steps them, as the process that started it asks.

Messages are pickles, each after its length in 8 bytes: a request on the standard input, its answer on what was the
standard output. It ends when its input does, so that it never outlives who started it, whatever happened there.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
import time
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")
SECONDS_TO_END = 10.0
"""How long environments may take to close."""


def send(stream: BinaryIO, message: Any) -> None:
    """Writes a message."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Reads a message.

    Raises:
        EOFError: if the other side has ended.
    """
    (length,) = LENGTH.unpack(_read(stream, LENGTH.size))
    return pickle.loads(_read(stream, length))


def _read(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests, (name of a method, its arguments), by (True, result) or (False, what was raised, in words)."""
    group: Any = None
    while True:
        try:
            name, arguments = receive(requests)
        except EOFError:
            break
        try:
            if name == "make":
                factory, seeds = arguments
                from .group import EnvGroup

                group, answer = EnvGroup(pickle.loads(factory), seeds), None
            else:
                answer = getattr(group, name)(*arguments)
        except (Exception, SystemExit) as error:  # the environment is others' code: whoever asked is told
            said = (str(error).splitlines() or [""])[0]
            send(answers, (False, f"{type(error).__name__}: {said}"))
        else:
            send(answers, (True, answer))
    if group is not None:
        group.close()


def end_with(parent: int) -> None:
    """Ends this process some seconds after the one that started it, also in the midst of an environment's step.

    Where nothing is under way the requests end at once, and this process with them.
    """
    while os.getppid() == parent:
        time.sleep(1.0)
    time.sleep(SECONDS_TO_END)
    os._exit(1)


def main() -> None:
    """Serves; what environments print goes to the standard error, and Ctrl-C is for who started this process.

    They, and the processes that they start, find nothing to read on the standard input: it has the requests.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers, open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        serve(requests, answers)


if __name__ == "__main__":
    main()
