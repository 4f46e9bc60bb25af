"""One palette for everything that is drawn, in a light and a dark scheme: the page, the plots and the heat maps.

The colour scales run evenly in lightness (they were laid out in OKLCH), so they also work in grey and for colour-blind
readers. The colours of the curves follow Okabe and Ito's, darkened where a thin line on white would be too faint.

References:
    Ottosson, A perceptual color space for image processing (2020). Okabe and Ito, Color Universal Design (2008).
"""

from __future__ import annotations

from typing import Literal

Scheme = Literal["light", "dark"]
Hex = str

BINS = 24
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")

COLORS: dict[Scheme, dict[str, Hex]] = {
    "light": {
        "paper": "#ffffff", "raised": "#f5f6f8", "ink": "#1b1f27", "muted": "#596070", "line": "#dfe2e8",
        "wall": "#3b3f48", "blank": "#eceef2", "accent": "#0b6e99", "good": "#1a7046", "warn": "#9a4a08",
        "focus": "#c2330c",
    },
    "dark": {
        "paper": "#14171d", "raised": "#1d2129", "ink": "#e9ebf0", "muted": "#a3aab8", "line": "#323844",
        "wall": "#565c69", "blank": "#242933", "accent": "#63c0ea", "good": "#6fd3a0", "warn": "#f0ae6c",
        "focus": "#ff9a6b",
    },
}  # fmt: skip

SERIES: dict[Scheme, tuple[Hex, ...]] = {
    "light": ("#0072b2", "#d55e00", "#00916a", "#c2639a", "#9c7000", "#3292c9", "#6a51a3", "#6b6f78"),
    "dark": ("#4ba3e3", "#f07b2e", "#2fc496", "#e29ac4", "#f2bb40", "#8fd0f7", "#a894e0", "#a8a8a8"),
}

SCALES: dict[str, dict[Scheme, tuple[Hex, ...]]] = {
    "value": {
        "light": ("#f6f7e1", "#c4e9c1", "#81d6bb", "#40b9b9", "#2297b2", "#2376a8", "#31559a"),
        "dark": ("#1c263d", "#204262", "#126582", "#008b96", "#39b09f", "#81d09e", "#cfeaa1"),
    },
    "error": {
        "light": ("#fcf5e3", "#f6deb6", "#f2bf86", "#ed9658", "#de6f3c", "#c44c32", "#a12f2f"),
        "dark": ("#342120", "#5c2c29", "#863b2d", "#b34f2a", "#d27228", "#e7a04c", "#f3d392"),
    },
    "visits": {
        "light": ("#f8f3fb", "#e3d7f1", "#cbb8e6", "#b096d9", "#9575c8", "#7854b1", "#593392"),
        "dark": ("#292333", "#42335b", "#5f4685", "#815caf", "#a67ecf", "#cba6e7", "#edd3fa"),
    },
}

SCENE: dict[Scheme, dict[str, Hex]] = {
    "light": {"skytop": "#cfdbea", "skylow": "#f3f6fa", "ground": "#e3e8ef", "gridline": "#b9c2d0"},
    "dark": {"skytop": "#0b0e14", "skylow": "#1b212c", "ground": "#1a1f29", "gridline": "#3d4757"},
}

DRAWN_IN_DARK: dict[Hex, Hex] = {"#f4f1ea": "#1b212c", "#2b2d42": "#d6dbe6", "#d8c3a5": "#54493a"}
"""Colours that environments draw sheets, ink and ground with, and what a dark page shows in their place."""

TRAIL_IN_DARK: Hex = "#7f8aa0"

THIN: dict[Scheme, float] = {"light": 1.0, "dark": 2.2}
"""How much of the colour of thin lines is seen, as multiples of what is enough on a light page."""

MANY_POINTS = 6
"""Sweep points of which each has a colour of its own; bands of more of them hide each other."""
BEST_POINTS = 4
"""Sweep points with a colour of their own where there are more than that."""

DARK_INK, LIGHT_INK = "#000000", "#ffffff"


def to_rgb(color: Hex) -> tuple[float, float, float]:
    """Returns red, green and blue in [0, 1] of "#rrggbb"."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def luminance(color: Hex) -> float:
    """Returns relative luminance, 0 for black and 1 for white.

    References:
        Web Content Accessibility Guidelines 2.2, definition of relative luminance.
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: Hex, b: Hex) -> float:
    """Returns (L1 + 0.05) / (L2 + 0.05) of the brighter and the darker colour: 1 to 21; text needs 4.5.

    Examples:
        >>> round(contrast("#000000", "#ffffff"), 1)
        21.0
    """
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def ink_on(color: Hex) -> Hex:
    """Returns black or white, whichever is easier to read on a colour."""
    return max((DARK_INK, LIGHT_INK), key=lambda ink: contrast(ink, color))


def scale_colors(name: str, scheme: Scheme) -> tuple[Hex, ...]:
    """Returns `BINS` colours of a scale, from its low to its high end."""
    anchors = [to_rgb(color) for color in SCALES[name][scheme]]
    colors: list[Hex] = []
    for i in range(BINS):
        position = i / (BINS - 1) * (len(anchors) - 1)
        k = min(int(position), len(anchors) - 2)
        mixed = (a + (b - a) * (position - k) for a, b in zip(anchors[k], anchors[k + 1], strict=True))
        colors.append("#" + "".join(f"{round(255 * channel):02x}" for channel in mixed))
    return tuple(colors)


def colored(points: int) -> int:
    """Returns how many of the sweep points, the best first, are drawn in a colour of their own; the others are grey."""
    return points if points <= MANY_POINTS else BEST_POINTS


def css() -> str:
    """Returns the palette as CSS: variables of both schemes and the classes that use them.

    Print is always light; the page sets the attribute `data-print` while it draws canvases for it.

    `.value7` fills with the 8th colour of the scale "value", `.value7i` draws in a colour that is readable on it;
    `.series2` strokes with the third colour of the curves.
    """
    rules = [f":root{{color-scheme:light dark;{_variables('light')}}}"]
    rules.append(f"{_DARK_SCREEN}{{:root:not([data-print]){{{_variables('dark')}}}}}")
    for name in SCALES:
        for i in range(BINS):
            rules.append(f".{name}{i}{{fill:var(--{name}{i})}}.{name}{i}i{{--on:var(--{name}{i}i)}}")
    rules += [f".series{i}{{--series:var(--series{i})}}" for i in range(len(SERIES["light"]))]
    return "\n".join(rules)


_DARK_SCREEN = "@media screen and (prefers-color-scheme:dark)"
_SCREEN = "@media screen"
_UNCHOSEN, _CHOSEN = ":root:not([data-theme=light]):not([data-print])", ":root[data-theme=dark]:not([data-print])"


def _drawn(root: str) -> str:
    """Returns the rules for pictures of environments on a dark page, which is what `root` selects.

    Letters stay as they are: they stand on coloured fields. The way of an agent crosses light fields and dark ones.
    """
    rules = ((part, light, dark) for light, dark in DRAWN_IN_DARK.items() for part in ("fill", "stroke"))
    drawn = "".join(f'{root} .scene :not(text)[{part}="{light}"]{{{part}:{dark}}}' for part, light, dark in rules)
    return f"{drawn}{root} .scene .trail{{stroke:{TRAIL_IN_DARK};stroke-opacity:0.9}}"


def embedded_pictures() -> str:
    """Returns the rules for pictures of environments in a player within another page, for the player's own sheet.

    The page's sheet does not reach into it: of that, a player inherits variables and nothing else.
    """
    return f"{_DARK_SCREEN}{{{_drawn(':host')}}}\n"


def player_palette() -> str:
    """Returns the colours of a player's page as CSS variables: the system's scheme, or the one the reader chose.

    Print is always light, as in `css`.
    """
    light, dark = (_player_variables(scheme) for scheme in SCHEMES)
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"{_DARK_SCREEN}{{{_UNCHOSEN}{{color-scheme:dark;{dark}}}{_drawn(_UNCHOSEN)}}}\n"
        f"{_SCREEN}{{{_CHOSEN}{{color-scheme:dark;{dark}}}{_drawn(_CHOSEN)}}}\n"
    )


def _player_variables(scheme: Scheme) -> str:
    series = {f"series{i}": color for i, color in enumerate(SERIES[scheme])}
    return "".join(f"--{key}:{value};" for key, value in {**COLORS[scheme], **SCENE[scheme], **series}.items())


def _variables(scheme: Scheme) -> str:
    pairs = {**COLORS[scheme], **SCENE[scheme], **{f"series{i}": color for i, color in enumerate(SERIES[scheme])}}
    pairs["thin"] = f"{THIN[scheme]:g}"
    for name in SCALES:
        for i, color in enumerate(scale_colors(name, scheme)):
            pairs[f"{name}{i}"] = color
            pairs[f"{name}{i}i"] = ink_on(color)
    return "".join(f"--{key}:{value};" for key, value in pairs.items())
