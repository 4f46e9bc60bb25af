"""Words of a command as one would type them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence


def command_line(words: Sequence[str]) -> str:
    """Returns words as one would type them: quoted for POSIX shells, on Windows for its programs.

    Examples:
        >>> command_line(["kousoku", "resume", "runs/on slopes"])
        "kousoku resume 'runs/on slopes'"
    """
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
