"""An MJCF document, checked before MuJoCo reads it: which file and line an element is in, and whether it is safe.

MuJoCo's reader takes what it is given: it follows every path, makes as many bodies as a number says, and models that
attach one another without end end the process. Here all of that is refused in one line. No entity is ever expanded,
for a DOCTYPE is refused; nothing outside the model's folder is opened.

References:
    MuJoCo documentation, XML reference: include, asset/model, attach, replicate, compiler/meshdir.
"""

from __future__ import annotations

import math
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard
from xml.parsers import expat

from ...core.errors import ConfigError, shorten
from .bounds import MAX_DEPTH, MAX_ELEMENTS, MAX_FILE_BYTES, MAX_FILES, attribute_product, too_large

COPIED = ("replicate", "composite", "flexcomp")
OTHER_KINDS = {
    b"\x31\xd4\0\0": "it is compiled (MJB): give the XML that it was made from; kousoku.physics.load takes "
    "mujoco.MjModel.from_binary_path of it, too",
    b"PK\x03\x04": "it is an archive: unpack it, and give the MJCF file in it",
    b"\x1f\x8b": "it is an archive: unpack it, and give the MJCF file in it",
    b"PXR-USDC": "it is USD: convert it to MJCF, and give that",
    b"#usda": "it is USD: convert it to MJCF, and give that",
    b"\xff\xfe": "it is in UTF-16: save it as UTF-8",
    b"\xfe\xff": "it is in UTF-16: save it as UTF-8",
}
"""What to do with files of other kinds, by their first bytes."""
FOLDERS = {"texture": ("texturedir", "assetdir"), "model": (), "include": ()}


@dataclass(frozen=True)
class Element:
    """An element and where it stands.

    Attributes:
        tag, attributes: its own.
        file: relative to the model's folder; empty in a text.
        line: its number, from 1.
        parents: tags above it, the root first.
        copies: how many of it there will be.
        body: which body of the document it stands in, counted from 1; 0 in none.
    """

    tag: str
    attributes: Mapping[str, str]
    file: str
    line: int
    parents: tuple[str, ...]
    copies: int = 1
    body: int = 0

    @property
    def location(self) -> str:
        """File, line, tag and name, on one line whatever they are.

        >>> Element("geom", {"name": "foot"}, "ant.xml", 12, ("mujoco", "worldbody")).location
        "ant.xml, line 12, <geom name='foot'>"
        """
        name = self.attributes.get("name")
        tag = shorten(self.tag)[1:-1]
        return format_location(self.file, self.line) + f", <{tag}{'' if name is None else f' name={shorten(name)}'}>"

    @property
    def text(self) -> str:
        """The element as it is written, more or less."""
        return f"<{self.tag}{''.join(f' {name}={value!r}' for name, value in self.attributes.items())}>"


@dataclass(frozen=True)
class Document:
    """The XML that a model is read from.

    Attributes:
        path: the path of its main file; None for a text.
        text: the text of its main file.
        elements: all elements in the order of the text, those of included files in their places.
        models: those that it may attach, by name.
        size: how many elements there will be when all is copied and attached.
    """

    path: Path | None
    text: str
    elements: tuple[Element, ...]
    models: Mapping[str, Document]
    size: int

    def all_elements(self) -> list[Element]:
        """Returns its elements, and those of the models that it attaches."""
        documents = [self]
        for document in documents:
            documents += [m for m in document.models.values() if not any(m is other for other in documents)]
        return [element for document in documents for element in document.elements]

    def find(self, tags: str, attribute: str | None = None) -> Element | None:
        """Returns the last element of one of the tags, with the attribute if one is named: the one that counts."""
        return last_element(self.all_elements(), tags, attribute)


def last_element(elements: Sequence[Element], tags: str, attribute: str | None = None) -> Element | None:
    """Returns the last element of one of the tags, with the attribute if one is named."""
    found = [e for e in elements if e.tag in tags.split() and (not attribute or attribute in e.attributes)]
    return found[-1] if found else None


def format_location(file: str, line: int) -> str:
    """Returns a file and a line, on one line.

    >>> format_location("", 3), format_location("arm.xml", 3)
    ('line 3', 'arm.xml, line 3')
    """
    return f"{shorten(file)[1:-1]}, line {line}" if file else f"line {line}"


def is_text(source: Any) -> TypeGuard[str]:
    """Tells MJCF text from a path.

    >>> is_text(" <mujoco/>"), is_text("ant.xml")
    (True, False)
    """
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def read_document(source: str | os.PathLike[str] | Any) -> Document:
    """Reads the document of a path or a text.

    Raises:
        ConfigError: if it is not MJCF, or asks for what the module's first lines refuse.
    """
    if is_text(source):
        return _Reader(Path(), "", (), {}).document(source)
    try:
        path = Path(source)
        found = path.is_file()
    except (TypeError, ValueError, OSError):
        raise ConfigError("model", source, "give the path of an MJCF file, its text, or a compiled MjModel") from None
    if not found or not os.fspath(source):
        what = "not a file" if os.fspath(source) and path.exists() else "no such file"
        raise ConfigError("model", os.fspath(source), f"{what}; give the path of an MJCF file, or its text")
    return _Reader(path.absolute().parent, path.name, (), {}).document(_content(path, path.name), path)


def _content(path: Path, shown: str) -> str:
    try:
        with path.open("rb") as file:
            beginning = file.read(max(map(len, OTHER_KINDS)))
        for other, fix in OTHER_KINDS.items():
            if beginning.startswith(other):
                raise ConfigError("model", shown, fix)
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError("model", shown, f"a file may have {MAX_FILE_BYTES} bytes at most")
        # MuJoCo takes every byte that it does not know for a letter.
        return path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise ConfigError("model", shown, f"it cannot be read: {error.strerror}") from None


class _Reader:
    """The reader of one document: its main file and those that it includes."""

    def __init__(
        self, folder: Path, main: str, above: tuple[str, ...], known: dict[str, Document], strips: bool = False
    ) -> None:
        self.folder, self.main, self.above, self.known, self.strips = folder, main, above, known, strips
        self.elements: list[Element] = []
        self.included = {main}
        self.size = self.bodies = 0

    def document(self, text: str, path: Path | None = None) -> Document:
        """Reads and checks everything.

        Raises:
            ConfigError: for what `read_document` refuses.
        """
        if len(text) > MAX_FILE_BYTES:
            raise ConfigError("model", text, f"a text may have {MAX_FILE_BYTES} letters at most")
        _Parser(self, self.main).parse(text)
        if not self.above:  # MuJoCo asks the outermost model's compiler alone.
            last = last_element(self.elements, "compiler", "strippath")
            self.strips = last is not None and last.attributes["strippath"] == "true"
        self._check_files()
        models = [e for e in self.elements if e.tag == "model" and "file" in e.attributes]
        named = {e.attributes.get("name", f"model {i}"): self._model(e) for i, e in enumerate(models)}
        sizes = {name: model.size for name, model in named.items()}
        largest = max(sizes.values(), default=0)
        attached = (
            e.copies * sizes.get(e.attributes.get("model", ""), largest) for e in self.elements if e.tag == "attach"
        )
        size = self.size + sum(attached)
        if size > MAX_ELEMENTS:
            raise ConfigError(self.main or "model", f"{size} elements", f"at most {MAX_ELEMENTS} can be read")
        return Document(path, text, tuple(self.elements), named, size)

    def add(self, element: Element) -> None:
        """Adds an element.

        Raises:
            ConfigError: if it asks for too much, or there are too many.
        """
        if problem := too_large(element.tag, element.attributes):
            raise ConfigError(element.location, *problem)
        self.size += element.copies
        if self.size > MAX_ELEMENTS:
            raise ConfigError(element.location, f"more than {MAX_ELEMENTS} elements", "make fewer, or fewer copies")
        self.elements.append(element)

    def include(self, element: Element, parser: _Parser) -> None:
        """Adds the elements of another file in the place of this one.

        Raises:
            ConfigError: if the file is not there, or is included already.
        """
        name = element.attributes.get("file", "")
        file = self._resolved(element, name)
        if file in self.included:
            raise ConfigError(element.location, name, "it is included already, here or by itself; include a file once")
        self.included.add(file)
        _Parser(self, file, parser).parse(_content(self.folder / file, file))

    def _resolved(self, element: Element, name: str) -> str:
        """Finds a file as MuJoCo does: from the main file's folder, then from that of the file that names it.

        So the first may lead out of the model's folder, if nothing is there that MuJoCo would take.
        """
        main, own = posixpath.dirname(self.main), posixpath.dirname(element.file)
        for near in (main, own):
            try:
                file = resolve_inside(element, near, name)
            except ConfigError:
                if near == own or os.path.exists(self.folder / near / name.replace("\\", "/")):
                    raise
                continue
            if os.path.isfile(self.folder / file):
                return file
        raise ConfigError(element.location, name, "there is no such file in the model's folder")

    def _model(self, element: Element) -> Document:
        """Reads a model that may be attached."""
        file = self._resolved(element, element.attributes["file"])
        above = (*self.above, self.main)
        if file in above or len(above) > MAX_FILES:
            raise ConfigError(
                element.location, file, "models may not attach one another in a circle, nor in a long chain"
            )
        if file not in self.known:
            path = self.folder / file
            reader = _Reader(self.folder, file, above, self.known, self.strips)
            self.known[file] = reader.document(_content(path, file), path)
        return self.known[file]

    def _check_files(self) -> None:
        """Refuses files of meshes, textures and the like outside the model's folder.

        Of models to attach, `_resolved` looks at the folders that `strippath` does not strip.
        """
        home = posixpath.dirname(self.main)
        compilers = [e for e in self.elements if e.tag == "compiler"]
        folders = {key: value for e in compilers for key, value in e.attributes.items() if key.endswith("dir")}
        for element in compilers:
            for key in folders.keys() & element.attributes.keys():
                resolve_inside(element, home, element.attributes[key])
        for element in self.elements:
            named = [folders[key] for key in FOLDERS.get(element.tag, ("meshdir", "assetdir")) if key in folders]
            folder = posixpath.join(home, *(name.replace("\\", "/") for name in named[:1]))
            for attribute, value in element.attributes.items():
                if attribute.startswith("file"):
                    resolve_inside(element, folder, re.split(r"[/\\]", value)[-1] if self.strips else value)


class _Parser:
    """The reader of one file."""

    def __init__(self, reader: _Reader, file: str, above: _Parser | None = None) -> None:
        self.reader, self.file = reader, file
        # Of the elements around this one: tags, copies that are made of each, and the body that they stand in.
        self.parents = [*above.parents, "include"] if above else []
        self.copies = [*above.copies, 1] if above else []
        self.bodies = [*above.bodies, above.bodies[-1]] if above else [0]
        self.above = len(self.parents)
        self.expat: Any = expat.ParserCreate("utf-8")
        self.expat.StartDoctypeDeclHandler = self._doctype
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end

    def parse(self, text: str) -> None:
        """Gives all elements of a text to the reader.

        Raises:
            ConfigError: if it is not XML, not MJCF, or asks for what is refused.
        """
        # MuJoCo takes every text for UTF-8, and lets comments have "--" within, which XML does not.
        declared = re.compile(r"\A\s*<\?xml.*?\?>", re.DOTALL)
        text = declared.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text.lstrip("\ufeff"))
        try:
            self.expat.Parse(_strict(text).encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            what = expat.errors.messages[error.code]
            fix = "the file ends too soon" if what in ("no element found", "unclosed token") else "this is not XML"
            raise ConfigError(
                format_location(self.file, error.lineno), what, f"{fix}; MJCF is <mujoco> ... </mujoco>"
            ) from None

    def _doctype(self, name: str, *_: Any) -> None:
        line = self.expat.CurrentLineNumber
        raise ConfigError(
            format_location(self.file, line), f"<!DOCTYPE {name}>", "remove it; MJCF has none, nor entities"
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        copies = math.prod(self.copies)
        parents = tuple(self.parents)
        line, body = self.expat.CurrentLineNumber, self.bodies[-1]
        element = Element(tag, attributes, self.file, line, parents, copies, body)
        if not parents and tag != "mujoco":
            compiled = "; compile it with mujoco.MjModel, and load that" if tag == "robot" else ""
            raise ConfigError(element.location, f"<{tag}>", f"an MJCF file is <mujoco> ... </mujoco>{compiled}")
        if len(parents) >= MAX_DEPTH:
            raise ConfigError(element.location, f"{MAX_DEPTH} elements, one within the other", "nest fewer")
        own = 1
        if tag == "include":
            self.reader.include(element, self)
        elif len(parents) > self.above or not self.above:
            self.reader.add(element)
            own = max(1, int(attribute_product(attributes, "count"))) if tag in COPIED else 1
        if tag == "body":
            self.reader.bodies += 1
        self.parents.append(tag)
        self.copies.append(own)
        self.bodies.append(self.reader.bodies if tag == "body" else body)

    def _end(self, tag: str) -> None:
        for stack in (self.parents, self.copies, self.bodies):
            stack.pop()


def _strict(text: str) -> str:
    """Returns the text with comments that have no "--" within."""
    parts, at = [], 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        parts += [text[at : begin + 4], text[begin + 4 : end].replace("-", " ")]
        at = end
    return "".join(parts) + text[at:]


def resolve_inside(element: Element, folder: str, name: str) -> str:
    """Returns a file relative to the model's folder.

    Raises:
        ConfigError: if it is not in it. Links are followed: they are the owner's doing, not the file's.
    """
    name = name.replace("\\", "/")
    file = posixpath.normpath(posixpath.join(folder, name))
    if file.startswith(("/", "../")) or file == ".." or re.match(r"[A-Za-z][\w+.-]*:", name):
        fix = "keep it in the model's folder; kousoku.physics.load takes a compiled MjModel, too"
        raise ConfigError(element.location, name, fix)
    return file
