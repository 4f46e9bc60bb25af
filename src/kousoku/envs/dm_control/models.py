"""The suite's model files, read from the installed package `dm_control`, which is not imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ...core.errors import ConfigError
from ...physics import Model, load
from ...physics.mjcf.compiler import captured_warnings, mujoco

DOMAIN = "domain of dm_control"
GROUND = ".15 .25 .35 1"
"""The mean colour of the package's chequered ground, as pictures have no textures."""

Edit = Callable[[ElementTree.Element], None]


def install_command(python: tuple[int, ...]) -> str:
    """Returns what installs the package for a version of Python.

    From 3.13 on labmaze, which it asks for, has no wheels. Files that are only read need none of what it asks for.
    """
    return "pip install -U 'kousoku[dm-control]'" if python < (3, 13) else "pip install -U --no-deps dm-control"


INSTALL = install_command(sys.version_info[:2])


def suite_model(domain: str, edit: Edit | None = None) -> Model:
    """Loads the mechanism of a domain.

    Args:
        domain: the name of its file, without ".xml".
        edit: changes the document before it is compiled, as the package does for some tasks.

    Raises:
        ConfigError: if dm_control is not installed, has no such file, or MuJoCo or the engine cannot take it.
    """
    spec = importlib.util.find_spec("dm_control")
    if spec is None or spec.origin is None:
        raise ConfigError(DOMAIN, domain, f"it needs dm_control, which has its file: {INSTALL}")
    folder = Path(spec.origin).parent / "suite"
    path = folder / f"{domain}.xml"
    if not path.is_file():
        raise ConfigError(DOMAIN, domain, f"there is no {path}; another version has it: {INSTALL}")
    try:
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        included = {
            name: (folder / name).read_bytes() for name in (tag.get("file", "") for tag in root.iter("include"))
        }
    except (ElementTree.ParseError, OSError) as error:
        raise ConfigError(DOMAIN, domain, f"its file {path} cannot be read: {error}") from error
    for geom in root.iter("geom"):
        if geom.get("material") == "grid":
            geom.set("rgba", GROUND)
    if edit is not None:
        edit(root)
    return load(_compiled(domain, ElementTree.tostring(root, "unicode"), included))


def _compiled(domain: str, text: str, included: Mapping[str, bytes]) -> Any:
    """Returns MuJoCo's model of a document and what it includes.

    Raises:
        ConfigError: if MuJoCo cannot compile it.
    """
    with captured_warnings():
        try:
            return mujoco().MjModel.from_xml_string(text, included)
        except ValueError as error:
            said = " ".join(str(error).split())
            raise ConfigError(DOMAIN, domain, f"MuJoCo cannot compile its file: {said}") from error


def named(root: ElementTree.Element, tag: str, name: str) -> ElementTree.Element:
    """Returns the element of a tag and a name.

    Raises:
        ConfigError: if the file has none.
    """
    found = root.find(f".//{tag}[@name='{name}']")
    if found is None:
        raise ConfigError(
            f"{tag} of dm_control", name, f"its file has none of this name; another version has: {INSTALL}"
        )
    return found


def without(root: ElementTree.Element, tag: str, names: Collection[str] | None = None) -> None:
    """Removes the elements of a tag that have one of these names, or all, with all that is in them."""
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag == tag and (names is None or child.get("name") in names)]:
            parent.remove(child)


def mark(parent: ElementTree.Element, site: ElementTree.Element, **others: str) -> None:
    """Adds a geom that weighs and touches nothing, where and as large as a site, which is not drawn.

    Args:
        parent: the element that carries it, the site's own.
        site: the site; the geom has its name.
        others: attributes that are not the site's.
    """
    looks = {part: site.get(part, "") for part in ("name", "type", "size", "pos") if part in site.attrib}
    ghost = {"mass": "0", "contype": "0", "conaffinity": "0", "material": "target"}
    ElementTree.SubElement(parent, "geom", ghost | looks | others)
