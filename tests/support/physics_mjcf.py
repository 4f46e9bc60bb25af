"""How the tests write MJCF: the frame that all models share, and the names of their features."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SMOOTH = "smooth"
"""No constraint is ever active."""
CONSTRAINED = "constrained"
"""Limits, friction loss or equalities are active; no contact."""
CONTACT = "contact"
"""Contacts are active."""


class Model(NamedTuple):
    features: frozenset[str]
    xml: str


def model(features: str, world: str, tail: str = "", option: str = "", head: str = "") -> Model:
    """A model from what stands in its worldbody, after it and before it; `features` is a list of words."""
    return Model(frozenset(features.split()), mjcf(world, tail, option, head))


def mjcf(world: str, tail: str = "", option: str = "", head: str = "") -> str:
    """The text of a model whose solver is Newton run to convergence."""
    return f"""<mujoco>
  <compiler angle="radian"/>
  <option solver="Newton" tolerance="1e-10" iterations="100" {option}/>
  {head}
  <worldbody>{world}</worldbody>
  {tail}
</mujoco>"""


def write(folder: Path, **files: str) -> Path:
    """The main file of a folder with these files, by name without .xml; two underscores are a folder's end."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.xml"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    return folder / "main.xml"
