"""Pictures as files: a GIF by Pillow, an MP4 by ffmpeg, a PNG of one of them."""

from __future__ import annotations

import importlib
import io
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int, UInt8
from PIL import Image
from scipy.spatial import KDTree

from ..core.errors import ConfigError
from ..core.whole_file import UNFINISHED

Picture = UInt8[np.ndarray, "H W 3"]

GIF_COLORS, FLAT_COLORS = 256, 128
FLAT_SHARE = 0.97
SAMPLES = 12
RATE = 30.0
LAST = 1.0
LONGEST = 600.0


def chosen(count: int, seconds: float, rate: float = RATE) -> tuple[list[int], float]:
    """Chooses which of `count` frames to show, and for how long each: all, or as many as `rate` a second allows.

    The last is among them in either case: it shows how things ended.

    Examples:
        >>> chosen(4, 0.05)
        ([0, 1, 2, 3], 0.05)
        >>> chosen(12, 0.01)
        ([0, 4, 8, 11], 0.04)
    """
    each = max(1, int(np.ceil(1.0 / (rate * seconds) - 1e-6)))
    return [*range(0, count - 1, each), count - 1], each * seconds


def png_bytes(picture: Picture) -> bytes:
    """Returns one picture as the contents of a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def write_gif(
    target: Path, draw: Callable[[Sequence[int]], Iterable[Picture]], frames: Sequence[int], seconds: float
) -> None:
    """Writes all pictures with one palette, so that colours do not flicker; the last is shown a second longer.

    Some are drawn twice, first for the palette: all of them at once may not fit in memory.

    Args:
        target: the file.
        draw: draws frames one after the other.
        frames: those to show.
        seconds: how long each is shown.

    Raises:
        ConfigError: if a picture is to be shown longer than the format can say.
    """
    if seconds > LONGEST:
        fix = f"a .gif shows a picture for at most {LONGEST:g} s; use .html, .mp4 or a shorter dt"
        raise ConfigError("dt", seconds, fix)
    palette = _palette(draw(frames[:: max(1, len(frames) // SAMPLES)]))
    shown = _in_palette(draw(frames), palette)
    durations = _durations(len(frames), seconds)
    durations[-1] += round(1000 * LAST) if len(frames) > 1 else 0
    next(shown).save(
        target, format="GIF", save_all=True, append_images=shown, duration=durations, loop=0, optimize=False
    )


def _in_palette(pictures: Iterable[Picture], palette: UInt8[np.ndarray, "colors 3"]) -> Iterator[Image.Image]:
    """Yields pictures in the nearest colours of a palette."""
    tree = KDTree(palette)
    for picture in pictures:
        frame = Image.fromarray(_nearest(picture, tree))
        frame.putpalette(palette.reshape(-1).tolist())
        yield frame


def _durations(count: int, seconds: float) -> list[int]:
    """Returns milliseconds, in tens as the format has them, at least two (or browsers slow down), of the right sum."""
    ends = np.rint(100.0 * max(0.02, seconds) * np.arange(count + 1))
    return (10 * np.diff(ends)).astype(int).tolist()


def write_mp4(target: Path, pictures: Iterable[Picture], seconds: float) -> None:
    """Writes H.264, which every browser and player shows.

    Raises:
        ConfigError: if there is no ffmpeg, or it refuses.
    """
    program = _ffmpeg(target)
    frames = iter(pictures)
    first = _even(next(frames))
    height, width = first.shape[:2]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{1 / seconds:.6g}", "-i", "-"]
    made = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart", "-f", "mp4"]
    command = [program, "-y", "-loglevel", "error", *given, *made, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(first.tobytes())
            for picture in frames:
                process.stdin.write(_even(picture).tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended by itself, and says why
        errors = process.stderr.read().decode(errors="replace")
    if process.returncode:
        raise ConfigError("path", _asked(target), f"ffmpeg says: {' '.join(errors.split()) or 'nothing'}")


def _ffmpeg(target: Path) -> str:
    """Finds the program: on the path, or that of the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        return importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        fix = "an .mp4 needs ffmpeg: install it, or `pip install imageio-ffmpeg`; .gif and .html need neither"
        raise ConfigError("path", _asked(target), fix) from None


def _asked(target: Path) -> str:
    """Returns the name of the file that was asked for, of one that is written beside it."""
    return str(target).removesuffix(UNFINISHED)


def _even(picture: Picture) -> UInt8[np.ndarray, "h w 3"]:
    """Cuts to even sides, which video needs."""
    height, width = picture.shape[:2]
    return picture[: height - height % 2, : width - width % 2]


def _palette(pictures: Iterable[Picture]) -> UInt8[np.ndarray, "colors 3"]:
    """Chooses the colours that cover most where areas are flat, which keep theirs exactly; else fair ones."""
    counts: Counter[int] = Counter()
    for picture in pictures:
        colors, areas = np.unique(_in_one_number(picture), return_counts=True)
        counts.update(dict(zip(colors.tolist(), areas.tolist(), strict=True)))
    common = counts.most_common(FLAT_COLORS)
    if sum(area for _, area in common) > FLAT_SHARE * sum(counts.values()):
        return _channels(np.array([color for color, _ in common]))
    # by the root of the area: the sky is large and has few colours, a figure is small and has many
    colors, areas = (np.array(part) for part in zip(*counts.items(), strict=True))
    sheet = Image.fromarray(np.repeat(_channels(colors), np.ceil(np.sqrt(areas)).astype(int), axis=0)[None])
    found = sheet.quantize(GIF_COLORS, method=Image.Quantize.MEDIANCUT).getpalette()
    return np.array(found, np.uint8).reshape(-1, 3)


def _nearest(picture: Picture, tree: KDTree) -> UInt8[np.ndarray, "H W"]:
    """Returns the index of the nearest colour, worked out once for each colour of the picture."""
    colors, where = np.unique(_in_one_number(picture), return_inverse=True)
    nearest = np.asarray(tree.query(_channels(colors))[1], np.uint8)
    return nearest[where].reshape(picture.shape[:2])


def _in_one_number(picture: Picture) -> Int[np.ndarray, "H W"]:
    red, green, blue = np.moveaxis(picture.astype(np.int64), -1, 0)
    return red << 16 | green << 8 | blue


def _channels(colors: Int[np.ndarray, " n"]) -> UInt8[np.ndarray, "n 3"]:
    return np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=1).astype(np.uint8)
