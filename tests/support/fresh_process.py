"""Code in a new process, as a user runs it: nothing imported yet, no types checked, warnings as errors."""

import json
import subprocess
import sys
from typing import Any


def in_a_new_process(script: str) -> Any:
    """What a script prints as JSON."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
    return in_a_new_process(script)


def check_refusals(cases: dict[str, str], setup: str) -> None:
    """Asserts that each call is refused in one line, which says what was given and has one of the words "a|b" told."""
    messages = refusals({call: call for call in cases}, setup)
    for call, fixes in cases.items():
        assert ": got " in messages[call], messages[call]
        assert any(words in messages[call] for words in fixes.split("|")), messages[call]
        assert "\n" not in messages[call]
