"""The folder where compiled programs are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path

SWITCH = "KOUSOKU_COMPILATION_CACHE"


def chosen_folder() -> Path | None:
    """Returns the folder that the user names by `KOUSOKU_COMPILATION_CACHE`, or None."""
    setting = os.environ.get(SWITCH, "")
    named = setting and setting.lower() not in ("1", "on", "yes", "true")
    return Path(setting).expanduser() if named and not is_off() else None


def is_off() -> bool:
    """Tells whether the user wants nothing kept: `KOUSOKU_COMPILATION_CACHE` is "off" (or "0")."""
    return os.environ.get(SWITCH, "").lower() in ("0", "off", "no", "false")


def cache_root() -> Path | None:
    """Returns the folder below which everything lies, or None if the user wants nothing kept."""
    if is_off():
        return None
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return chosen_folder() or users / "kousoku"
