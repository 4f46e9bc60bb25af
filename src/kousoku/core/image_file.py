"""Pictures as the text that pages show, and back: a small PNG, WebP or SVG file in a data URL."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np
from jaxtyping import UInt8

from .errors import ConfigError

LONGEST = 400
"""Pixels of an image's longer side at most; a larger one is made smaller."""
EXACT = 4096
"""Bytes of a PNG up to which it is kept; a longer one becomes a WebP, whose colours are near, if that is shorter."""
QUALITY, EFFORT = 80, 0

DRAWING = "data:image/svg+xml;base64,"

_URL = re.compile(r"data:image/(png|webp|jpeg|svg\+xml);base64,([A-Za-z0-9+/]+={0,2})")
_KINDS: Mapping[str, Callable[[bytes], bool]] = {
    "png": lambda data: data.startswith(b"\x89PNG\r\n"),
    "webp": lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP",
    "jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "svg+xml": lambda data: data.lstrip().startswith(b"<"),
}
_LENGTH = re.compile(r"\s*([0-9.]+)\s*(|px|pt)\s*")
_UNITS = {"": 1.0, "px": 1.0, "pt": 4.0 / 3.0}


def data_url(pixels: Any) -> str:
    """Returns pixels as a data URL.

    Args:
        pixels: uint8 [height, width, 3]; also [height, width] and [height, width, 1] for greys.

    Raises:
        ConfigError: for anything else.

    Examples:
        >>> data_url(np.zeros((2, 2, 3), np.uint8))[:22]
        'data:image/png;base64,'
    """
    from PIL import Image

    image = Image.fromarray(_colors(pixels))
    image.thumbnail((LONGEST, LONGEST))
    kind, data = "png", _file(image, format="png")
    if len(data) > EXACT:
        other = _file(image, format="webp", quality=QUALITY, method=EFFORT)
        kind, data = min((kind, data), ("webp", other), key=lambda made: len(made[1]))
    return f"data:image/{kind};base64,{_text(data)}"


def svg_url(svg: str) -> tuple[str, float, float]:
    """Returns a drawing as a data URL, and its width and height in pixels.

    Raises:
        ConfigError: for what is no SVG, or tells no size.

    Examples:
        >>> svg_url('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10px"></svg>')[1:]
        (20.0, 10.0)
    """
    try:
        root = ElementTree.fromstring(svg)
        sizes = [_LENGTH.fullmatch(root.attrib[name]) for name in ("width", "height")]
        width, height = (float(size[1]) * _UNITS[size[2]] for size in sizes if size is not None)
    except (ElementTree.ParseError, KeyError, TypeError, ValueError):
        raise ConfigError(
            "svg", str(svg)[:40], "give the text of an SVG whose width and height are in px or pt"
        ) from None
    return DRAWING + _text(svg.encode()), width, height


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _colors(pixels: Any) -> UInt8[np.ndarray, "H W 3"]:
    """Returns pixels in red, green and blue."""
    given = np.asarray(pixels)
    if given.dtype == np.uint8 and given.size:
        if given.ndim == 2:
            given = given[..., None]
        if given.ndim == 3 and given.shape[-1] in (1, 3):
            return np.ascontiguousarray(np.broadcast_to(given, (*given.shape[:2], 3)))
    told = f"{given.dtype}{list(given.shape)}"
    raise ConfigError("pixels", told, "give uint8 [height, width, 3], or [height, width] for greys")


def _file(image: Any, **options: Any) -> bytes:
    """Returns an image as a file's bytes."""
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def is_data_url(text: Any) -> bool:
    """Returns whether a text is an image in a data URL and nothing else: whose bytes begin as those of its kind do."""
    found = _URL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return False
    try:
        data = base64.b64decode(found[2], validate=True)
    except ValueError:
        return False
    return _KINDS[found[1]](data)


def pixels_of(url: str) -> UInt8[np.ndarray, "H W 3"]:
    """Returns the pixels of an image in a data URL, in red, green and blue.

    Raises:
        ConfigError: for a drawing, of which only a browser makes pixels.
    """
    from PIL import Image

    if url.startswith(DRAWING):
        raise ConfigError(
            "picture", "an SVG drawing", "pages (.html) and .svg files show it, and nothing makes pixels of it"
        )
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])), formats=("PNG", "WEBP", "JPEG")) as image:
        return np.asarray(image.convert("RGB"))
