"""Code in another process, as a user runs it: no types checked, warnings as errors; a new one, or one that stays."""

import atexit
import contextlib
import functools
import json
import subprocess
import sys
from typing import Any


def in_a_new_process(script: str) -> Any:
    """What a script prints as JSON."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SERVER = """
import contextlib, io, json, sys, traceback
for line in sys.stdin:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        try:
            exec(json.loads(line), {"__name__": "__main__"})
            error = None
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([told.getvalue(), error]), flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Returns the process that stays, which has imported what the scripts before have."""
    server = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(end, server)
    return server


def end(server: subprocess.Popen[str]) -> None:
    """Lets a process that reads what to do come to its end, and waits for it."""
    with contextlib.suppress(BrokenPipeError):
        server.communicate(timeout=60)


def without_types_checked(script: str) -> Any:
    """What a script prints as JSON; it has its own names, and shares what is imported with those before it."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(script) + "\n")
    server.stdin.flush()
    printed, error = json.loads(server.stdout.readline())
    assert error is None, error
    return json.loads(printed)


def refusals(calls: dict[str, str], setup: str) -> dict[str, str]:
    """Each call's ConfigError as text, by name; anything else that a call raises or returns ends with an error."""
    script = f"""
import json
from kousoku import ConfigError
{setup}
messages = {{}}
for name, call in {calls!r}.items():
    try:
        print(eval(call))
        raise SystemExit(name + " was accepted")
    except ConfigError as error:
        messages[name] = str(error)
    except Exception as error:
        raise SystemExit(f"{{name}}: {{error!r}}")
print(json.dumps(messages))
"""
    return without_types_checked(script)


def check_refusals(cases: dict[str, str], setup: str) -> None:
    """Asserts that each call is refused in one line, which says what was given and has one of the words "a|b" told."""
    messages = refusals({call: call for call in cases}, setup)
    for call, fixes in cases.items():
        assert ": got " in messages[call], messages[call]
        assert any(words in messages[call] for words in fixes.split("|")), messages[call]
        assert "\n" not in messages[call]
