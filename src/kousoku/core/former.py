"""Fields that agents and networks have gained: in a run that was begun before, they are what there was instead."""

from __future__ import annotations

import dataclasses
from typing import Any

FORMERLY = "formerly"
"""In a field's metadata: its value in runs that were begun before there was the field, if that is not its default."""


def values_before(kind: Any) -> dict[str, Any]:
    """Returns {field: its value before there was the field} of a dataclass; nothing of a function."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {field.name: field.metadata[FORMERLY] for field in fields if FORMERLY in field.metadata}
