"""`kousoku cache`: what is kept between runs, and how to throw it away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core.errors import check_choice
from .options import Option, parse

KINDS = ("xla", "kernels", "traces", "all")
OPTIONS = (
    Option("clear", None, "KIND", f"throw away what is kept: one of {', '.join(KINDS)}; all if no kind is given"),
)


def run(words: Sequence[str]) -> int:
    """Prints what is kept, or clears it."""
    words = [*words, "all"] if words and words[-1] == OPTIONS[0].flag else words
    given = parse("cache", "Show or clear the compiled programs that are kept between runs.", OPTIONS, words)
    if "clear" in given:
        check_choice("--clear", given["clear"], KINDS)
    from ..core.cache_folder import SWITCH, is_off
    from ..training.io.compile_cache import kept_files

    kept = kept_files()
    if not kept:
        print(f"nothing is kept: {f'{SWITCH} is off' if is_off() else f'there is no home folder, and no {SWITCH}'}")
    for kind, (folder, files) in kept.items():
        count, size = len(files), _bytes(files)
        if given.get("clear") in (kind, "all"):
            for file in files:
                file.unlink(missing_ok=True)
            print(f"{kind:<8} cleared {count} files, {size / 2**20:.1f} MiB, in {folder}")
        else:
            print(f"{kind:<8} {count} files, {size / 2**20:.1f} MiB, in {folder}")
    return 0


def _bytes(files: list[Path]) -> int:
    """Returns the size of all files together; another process may remove some meanwhile."""
    sizes = []
    for file in files:
        try:
            sizes.append(file.stat().st_size)
        except FileNotFoundError:
            continue
    return sum(sizes)
