"""Names of files that somebody wants to have written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .errors import ConfigError

LONGEST = 255
"""Bytes of a file's name, in nearly all file systems."""


def is_elsewhere(name: str) -> bool:
    """Returns whether a name is an address of another machine or service, as gs://bucket/runs."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", name) is not None  # a single letter is a drive


def file_stem(id: str) -> str:
    """Returns what files of an id are called: in it slashes and colons have other meanings.

    >>> file_stem("dm_control/walker-walk-v0"), file_stem("gymnax:CartPole-v1")
    ('dm_control-walker-walk-v0', 'gymnax-CartPole-v1')
    """
    return re.sub("[/:]", "-", id)


def output_file(field: str, given: Any) -> Path:
    """Returns the file of this name, with ~ for a home, in a folder that exists.

    Args:
        field: what the name was written for, for the message.
        given: the name.

    Raises:
        ConfigError: for what is no name, a folder, or a file in a folder that does not exist.
    """
    if not isinstance(given, (str, os.PathLike)) or not isinstance(name := os.fspath(given), str):
        raise ConfigError(field, given, "give the name of a file")
    path = Path(os.path.expanduser(name))
    if not name or "\0" in name:
        raise ConfigError(field, name, "give the name of a file")
    if os.path.isdir(path):  # False for a name that is too long, or in a folder that is closed
        raise ConfigError(field, name, "that is a folder; name a file in it")
    if not os.path.isdir(path.parent):
        raise ConfigError(field, name, f"there is no folder {path.parent}; make it first")
    if len(os.fsencode(path.name)) > LONGEST:
        raise ConfigError(field, name, f"give the file a name of at most {LONGEST} bytes")
    return path
