"""Recordings of another package's episodes: files of JSON, with a checksum in the place of each observation."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np


def checksum(obs: Any) -> str:
    """Returns four digits of a checksum of an observation."""
    return f"{zlib.crc32(np.ascontiguousarray(obs, np.uint8).tobytes()) & 0xFFFF:04x}"


def first_other(observations: Any, checksums: str) -> int | None:
    """Returns the number of the first observation that is another than the recorded one; None if there is none."""
    found = "".join(map(checksum, observations))
    places = range(0, max(len(found), len(checksums)), 4)
    return next((i // 4 for i in places if found[i : i + 4] != checksums[i : i + 4]), None)


def write(path: Path, made: dict[str, Any]) -> None:
    """Writes recordings by name."""
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
