"""MuJoCo's own compiler: from a document to its model, errors as one line, and the location of each of its elements."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ...core.errors import ConfigError, nearest, shorten
from .document import Document, Element, format_location

ELEMENT_KINDS = {
    "body": ("bodies", "body", "worldbody"),
    "jnt": ("joints", "joint freejoint", "worldbody"),
    "geom": ("geoms", "geom", "worldbody"),
    "site": ("sites", "site", "worldbody"),
    "actuator": ("actuators", "", "actuator"),
    "sensor": ("sensors", "", "sensor"),
    "tendon": ("tendons", "fixed spatial", "tendon"),
    "eq": ("equalities", "", "equality"),
    "pair": ("pairs", "pair", "contact"),
}
"""By the prefix of mjModel's fields: MjSpec's list, the tags, and a tag around them."""
COUNT_FIELDS = {"body": "nbody", "jnt": "njnt", "actuator": "nactuator", "eq": "neq"}
ALIASES = {"jnt": "joint", "eq": "equality"}
WORDS = ("name", "class", "childclass", "prefix")
BODIES = ("worldbody", "body", "frame", "replicate")

KEYWORDS = {
    ("joint", "type"): ["free", "ball", "slide", "hinge"],
    ("geom", "type"): ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"],
    ("site", "type"): ["sphere", "capsule", "ellipsoid", "cylinder", "box"],
    ("", "integrator"): ["Euler", "RK4", "implicit", "implicitfast"],
    ("", "solver"): ["PGS", "CG", "Newton"],
    ("", "cone"): ["pyramidal", "elliptic"],
    ("", "jacobian"): ["dense", "sparse", "auto"],
    ("", "angle"): ["degree", "radian"],
    ("", "dyntype"): ["none", "integrator", "filter", "filterexact", "muscle", "user"],
    ("", "gaintype"): ["fixed", "affine", "muscle", "user"],
    ("", "biastype"): ["none", "affine", "muscle", "user"],
    ("", "limited"): ["false", "true", "auto"],
    ("", "ctrllimited"): ["false", "true", "auto"],
    ("", "forcelimited"): ["false", "true", "auto"],
}
"""The words that attributes take, by element; of any where none is named. MuJoCo's messages do not tell them."""
NAMED = {
    "body": "body",
    "joint": "joint freejoint",
    "geom": "geom",
    "site": "site",
    "tendon": "fixed spatial",
    "actuator": "",
    "mesh": "mesh",
    "hfield": "hfield",
    "material": "material",
    "texture": "texture",
    "class": "default",
}
"""The tags whose names an attribute takes, by what its own name ends with; "" for all within such an element."""


def mujoco() -> Any:
    """Imports MuJoCo, which is done when a model is loaded; type checkers know nothing of its names."""
    return importlib.import_module("mujoco")


def enum_names(enum: str) -> dict[int, str]:
    """Returns MuJoCo's names for the numbers of one of its enumerations, in small letters.

    >>> enum_names("mjtJoint")[3]
    'hinge'
    """
    return {int(value): name.split("_", 1)[-1].lower() for name, value in getattr(mujoco(), enum).__members__.items()}


@contextmanager
def captured_warnings() -> Iterator[list[str]]:
    """Collects MuJoCo's warnings, which it would print, and write to a file in the current folder."""
    m, heard = mujoco(), []
    before = m.get_mju_user_warning()
    m.set_mju_user_warning(heard.append)
    try:
        yield heard
    finally:
        m.set_mju_user_warning(before)


def compile_document(document: Document) -> Any:
    """Returns MuJoCo's model of a document.

    Raises:
        ConfigError: if MuJoCo cannot make one, or has read a NaN.
    """
    m = mujoco()
    with captured_warnings() as warnings:
        try:
            if document.path is None:
                model = m.MjModel.from_xml_string(document.text)
            else:
                model = m.MjModel.from_xml_path(str(document.path))
        except (ValueError, RuntimeError, MemoryError, m.FatalError) as error:
            _refuse(document, " ".join(str(error).split()))
    if any("'NaN'" in warning for warning in warnings):
        for element in document.all_elements():
            for name, value in element.attributes.items():
                if name not in WORDS and any(word.lower().lstrip("+-") == "nan" for word in value.split()):
                    raise ConfigError(element.location, f"{name}={value}", "use numbers, not NaN")
    return model


def _refuse(document: Document, message: str) -> NoReturn:
    """Raises MuJoCo's message, with the location of the element that it speaks of.

    Raises:
        ConfigError: always.
    """
    where = re.search(r",? ?(?:Element|Object) (?:name )?'([^']*)'(?:, id \d+)?(?:, line (\d+))?", message)
    said = re.sub(r"(XML )?Error: |Schema violation: ", "", message.replace(where[0] if where else "", "")).strip()
    if where is None:
        _refuse_missing_file(document, said)
        raise ConfigError("model", document.path.name if document.path else document.text, said)
    name, line = where[1], where[2]
    if line is None and (at := re.search(r" in \w+ -?\d+, id -?\d+, line (\d+)$", said)):
        said, line = said.replace(at[0], ""), at[1]
    here = _likeliest(document, said, name, None if line is None else int(line))
    if not here:
        raise ConfigError(format_location("", int(line)) if line else "model", name, said)
    found = here[0]
    said = _with_what_would_do(document, found, said)
    if any(other.text != found.text for other in here):
        several = "one of " + ", ".join(dict.fromkeys(e.text for e in here))
        raise ConfigError(format_location(found.file, found.line), several, said)
    raise ConfigError(found.location, found.text, said)


def _refuse_missing_file(document: Document, said: str) -> None:
    """Refuses the element that names a file which MuJoCo says that it cannot open.

    Raises:
        ConfigError: if there is such an element.
    """
    missing = re.search(r"Error opening file '([^']*)'", said)
    if missing is None:
        return
    for element in document.all_elements():
        for name, value in element.attributes.items():
            if name.startswith("file") and value and missing[1].endswith(value):
                fix = f"there is no file {missing[1]} that can be read"
                raise ConfigError(element.location, f"{name}={shorten(value)}", fix)


def _likeliest(document: Document, said: str, name: str, line: int | None) -> list[Element]:
    """Returns the elements that MuJoCo's message may be about: several where lines and names do not tell them apart.

    Args:
        document: what it read.
        said: what it says.
        name: the element's name or tag; without a line it is a name.
        line: in the main file or an included one; None where it does not say.
    """
    every = document.all_elements()
    if line is None:
        here = [e for e in every if name and e.attributes.get("name") == name]
    else:
        here = [e for e in every if e.line == line and name in (e.tag, e.attributes.get("name", ""))]
    # Where names are empty, the message has a word for the tag.
    words = re.findall(r"\w+", said.replace("bodies", "body").replace("keyframe", "key"))
    scores = [(e.tag in words, e.tag != "mujoco") for e in here]
    likely = [e for e, score in zip(here, scores, strict=True) if score == max(scores)]
    attribute, keyword, unknown = (
        re.search(rf"{what}'([^']*)'", said)
        for what in (r"(?:unrecognized attribute:|\battribute) ", "invalid keyword: ", "unknown .*?")
    )
    naming = [e for e in likely if attribute and attribute[1] in e.attributes]
    mistyped = [e for e in likely if keyword and _attributes_with(e, keyword[1])]
    return naming or mistyped or [e for e in here if unknown and unknown[1] in e.attributes.values()] or likely


def _attributes_with(element: Element, keyword: str) -> list[str]:
    """Returns the attributes of an element that have this for a keyword, those first of which the words are known."""
    may_be = [(name, value) for name, value in element.attributes.items() if name not in WORDS]
    names = [name for name, value in may_be if " ".join(value.split()) == keyword.strip()]
    return sorted(names, key=lambda name: not _keywords(element, name))


def _keywords(element: Element, attribute: str) -> list[str]:
    """Returns the words that an attribute takes, as far as they are known."""
    return KEYWORDS.get((element.tag, attribute), KEYWORDS.get(("", attribute), []))


def _with_what_would_do(document: Document, found: Element, said: str) -> str:
    """Returns what MuJoCo said of an element, with the words or names that it would have taken."""
    if "unrecognized element" in said:
        return _suggest(found.tag, schema(found.parents[-1])[0])
    if unrecognized := re.search(r"unrecognized attribute: '([^']*)'", said):
        parent = found.parents[-1] if found.parents else ""
        known = schema(found.tag, parent)[1]
        if unrecognized[1] in schema(found.tag)[1]:
            return f"no {unrecognized[1]} within <{parent}>: there may be {', '.join(known)}"
        return _suggest(unrecognized[1], known)
    if keyword := re.search(r"invalid keyword: '([^']*)'", said):
        attribute = next(iter(_attributes_with(found, keyword[1])), "")
        return _suggest(f"{attribute} {keyword[1].strip()!r}".lstrip(), _keywords(found, attribute))
    if unknown := re.search(r"unknown .*?'([^']*)'|'([^']*)' not found", said):
        word = unknown[1] or unknown[2] or ""
        close = nearest(word, sorted(_names_for(document, found, word) - {"", word}), 1)
        return said + (f"; did you mean {close[0]!r}?" if close else "")
    return said


def _names_for(document: Document, found: Element, word: str) -> set[str]:
    """Returns the names that may stand where an element has a word: of the kind that the attribute is called after."""
    attributes = [name.rstrip("12") for name, value in found.attributes.items() if value == word]
    kinds = {kind: tags for kind, tags in NAMED.items() if any(name.endswith(kind) for name in attributes)}
    elements = document.all_elements()
    if "class" in kinds:
        return {e.attributes.get("class", "") for e in elements if e.tag == "default"}
    tags = " ".join(kinds.values()).split() if kinds else {e.tag for e in elements}
    within = [kind for kind in kinds if not kinds[kind]]
    return {e.attributes.get("name", "") for e in elements if e.tag in tags or any(k in e.parents for k in within)}


def _suggest(word: str, known: list[str]) -> str:
    close = nearest(word.split()[-1].strip("'"), known, 1) if word else []
    may_be = f"there may be {', '.join(known)}" if known else "look it up in MuJoCo's XML reference"
    return f"no {word}: " + (f"did you mean {close[0]}? " if close else "") + may_be


def schema(tag: str, within: str = "") -> tuple[list[str], list[str]]:
    """Returns the elements and attributes that MuJoCo knows of an element, within another or wherever it may be.

    >>> schema("compiler")[0], schema("freejoint")[1], schema("joint", "fixed")[1]
    (['lengthrange'], ['align', 'group', 'name'], ['coef', 'joint'])
    """
    # A body may have what the world may have, and so may what copies or moves bodies.
    bodies = tag in BODIES
    wanted, parent = "body" if bodies else tag, "body" if within in BODIES else within
    anywhere = bodies or not within or tag == within
    elements, attributes = {"body", "frame", "replicate"} if bodies else set(), set()
    path: list[str] = []
    for line in mujoco().mj_printSchema(False, False).splitlines():
        match = re.match(r"( *)(?:\(world\))?(\w+) \(.\)(.*)", line)
        if match:
            path = [*path[: len(match[1]) // 3], match[2]]
            if path[-2:-1] == [wanted]:
                elements.add(match[2])
        if path[-1:] == [wanted] and (anywhere or path[-2:-1] == [parent]):
            attributes.update((match[3] if match else line).split())
    return sorted(elements), sorted(attributes)


def label(model: Any, kind: str, number: int) -> str:
    """Returns an element's kind and name, or its number if it has none: what tells it from others without a file."""
    name, kind = element_name(model, kind, number), ALIASES.get(kind, kind)
    return f"{kind} {shorten(name)}" if name else f"{kind} {number}"


def element_name(model: Any, kind: str, number: int) -> str:
    """Returns an element's name, as `read_document` reads it: MuJoCo takes any bytes, of whatever encoding, for one."""
    first = int(getattr(model, f"name_{kind}adr")[number])
    return model.names[first : model.names.index(b"\0", first)].decode("utf-8", errors="replace")


class ElementLocator:
    """The locations of a compiled model's elements in its document, for those who are to mend them."""

    def __init__(self, model: Any, document: Document | None) -> None:
        self.model, self.document = model, document

    def of(self, kind: str, number: int) -> str:
        """Returns an element's file, line, tag and name if there is a document, else its kind and name or number."""
        element = self._element(kind, number, element_name(self.model, kind, number)) if self.document else None
        return element.location if element else label(self.model, kind, number)

    def find(self, tags: str, attribute: str | None = None) -> str:
        """Returns the location of the last element of one of the tags, with the attribute if one is named."""
        element = self.document.find(tags, attribute) if self.document else None
        return element.location if element else "model"

    def _element(self, kind: str, number: int, name: str) -> Element | None:
        plural, tags, parent = ELEMENT_KINDS[kind]
        assert self.document is not None
        mine = [e for e in self.document.all_elements() if _is_of(e, tags, parent)]
        named = [e for e in mine if name and e.attributes.get("name") == name]
        if len(named) == 1:
            return named[0]
        # MuJoCo numbers what stands in bodies body by body. Where it has made copies, it knows lines of the main file.
        ordered, first = sorted(mine, key=lambda e: e.body), int(kind == "body")
        if len(ordered) == getattr(self.model, COUNT_FIELDS.get(kind, f"n{kind}")) - first:
            found = ordered[number - first]
            return found if found.attributes.get("name", "") == name else None
        line = self._line(plural, number)
        here = [e for e in mine if e.line == line]
        return here[0] if len({e.file for e in here}) == 1 else None

    def _line(self, plural: str, number: int) -> int:
        """Returns the line that MuJoCo read an element from; copies have their original's; 0 in an included file."""
        assert self.document is not None
        with captured_warnings():
            reader, path = mujoco().MjSpec, self.document.path
            spec = reader.from_string(self.document.text) if path is None else reader.from_file(str(path))
            spec.compile()
        lines = [element.info for element in getattr(spec, plural) if element.id == number]
        match = re.fullmatch(r"line (\d+)", "".join(lines))
        return int(match[1]) if match else 0


def _is_of(element: Element, tags: str, parent: str) -> bool:
    """Returns whether an element is of some tags within another, or of any just within it."""
    return parent in element.parents and element.tag in tags.split() if tags else element.parents[-1:] == (parent,)
