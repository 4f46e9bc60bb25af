"""The paths of the model files: those of Gymnasium's tasks are read from the installed package."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ...physics import Model, load
from ...physics.mjcf.document import is_text

OWN = Path(__file__).parent


def as_text(xml_file: Any) -> str:
    """Reads a path, the name of a file that comes with a package, or MJCF text; a `Path` is always a path.

    Raises:
        ConfigError: if it is none of these.
    """
    if isinstance(xml_file, os.PathLike):
        path = str(Path(os.fsdecode(xml_file)))
        return path if path.startswith(("/", "~")) else os.path.join(".", path)
    if not isinstance(xml_file, str) or not xml_file:
        raise ConfigError("xml_file", xml_file, "give the path of an MJCF file, or its text")
    return xml_file


def robot(xml_file: Any) -> Model:
    """Loads the mechanism of a file.

    Args:
        xml_file: MJCF text; a path: a `pathlib.Path`, or what begins with ".", "/" or "~" or has a folder in it; or the
            name of a file that comes with Gymnasium or Kousoku.

    Raises:
        ConfigError: if there is no such file, or the engine lacks what it uses.
    """
    text = as_text(xml_file)
    return load(text if is_text(text) else str(located(text)))


def located(xml_file: str) -> Path:
    """Finds the path of a model file.

    Raises:
        ConfigError: if it is one of Gymnasium's and Gymnasium is not installed, or is not there.
    """
    path = Path(xml_file).expanduser()
    if path.is_absolute() or xml_file.startswith(".") or path.name != xml_file:
        if not path.is_file():
            packaged = "; one that comes with Gymnasium is given by its name alone, such as ant.xml"
            raise ConfigError("xml_file", xml_file, f"there is no such file; give an MJCF file, or its text{packaged}")
        return path
    if (OWN / xml_file).is_file():
        return OWN / xml_file
    assets = gymnasium_assets()
    if assets is None:
        raise ConfigError("xml_file", xml_file, f"it comes with Gymnasium: pip install gymnasium, or give ./{xml_file}")
    if not (assets / xml_file).is_file():
        known = ", ".join(sorted(found.name for found in assets.glob("*.xml")))
        raise ConfigError("xml_file", xml_file, f"use a path, such as ./{xml_file}, or one of Gymnasium's: {known}")
    return assets / xml_file


def gymnasium_assets() -> Path | None:
    """Finds the folder of Gymnasium's model files, if it is installed; it is not imported."""
    spec = find_spec("gymnasium")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "envs" / "mujoco" / "assets"
