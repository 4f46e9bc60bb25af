"""Names between backticks, in docstrings and on pages, are names that there are."""

import builtins
import keyword
import re
import sys
from functools import cache
from pathlib import Path

from sources import ROOT, docstrings, files_below, place, text_of

REFERENCE = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
NO_CODE = re.compile(r'"""(?:\\.|[^\\])*?"""|#[^\n]*')
FILES = (".css", ".html", ".js", ".json", ".jsonl", ".md", ".mjs", ".npz", ".png", ".py", ".toml", ".ts")

LIBRARIES = """
    craftax dm_control dm_env envpool equinox evosax gymnasium gymnax jax jnp jumanji ks lax minari mujoco np numpy
    optax orbax players suite
"""
"""Roots of names that are looked up in other libraries, or in ours by the name that pages give it."""

ELSEWHERE = """
    FullyObsWrapper ImgObsWrapper FlatObsWrapper MultiToSingleWrapper OneHotPartialObsWrapper
    NormalizeObservation RecordEpisodeStatistics RecordVideo Autoreset ThreadPoolExecutor
    DungeonMazeScaled Full ObstaclesAngular ObstaclesBlackdots ObstaclesHogs3 RoomsFabric S9 S11 S13 S13Random S17Random
    CMAAnchoredLES LM_MA_ES RandomSearch SV_CMA_ES SV_Open_ES
    actor_hidden_dim critic_hidden_dim init_scale obs_normalization policy_noise std_max std_min
    initial_state_distrib mjData mjModel process_vis sensordata
    cho_solve inv io_callback ppermute rbg unsafe_rbg
    ff_ppo make_gymnax_env compinit nohup
    carry_0 next_carry_0
    ledger
"""
"""Names of other libraries, of the shell, with a number that our code counts, and of files of former versions."""
EXAMPLES = ("a.b", "ppo_continuous_action.py")
"""Names that stand for those that users have, and a file of CleanRL's."""


@cache
def words_of(path: Path) -> frozenset[str]:
    """Returns the words of a file's code and of its texts, but for docstrings and comments."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", NO_CODE.sub("", text_of(path))))


@cache
def known() -> frozenset[str]:
    """Returns all words that are names somewhere: in the code, of files, in Python, elsewhere."""
    code = frozenset().union(*(words_of(path) for path in files_below("src", "py")))
    viewer = frozenset(re.findall(r"\w+", "\n".join(text_of(path) for path in files_below("viewer/src", "ts"))))
    tests = words_of(ROOT / "tests/support/selection.py") | set(re.findall(r"\w+", text_of(ROOT / "pyproject.toml")))
    files = {part for path in all_files() for part in (path.stem, *path.relative_to(ROOT).parts)}
    endings = {ending[1:] for ending in FILES}
    return code | viewer | tests | files | endings | frozenset({*dir(builtins), *keyword.kwlist, *ELSEWHERE.split()})


@cache
def all_files() -> list[Path]:
    """Returns the files that names of files may be of."""
    folders = ("src", "tests", "tools", "examples", "docs", "benchmarks", "viewer")
    return [path for folder in folders for path in files_below(folder, *(ending[1:] for ending in FILES))]


@cache
def modules() -> dict[str, list[Path]]:
    """Returns the files of modules and packages, by name."""
    found: dict[str, list[Path]] = {}
    for path in files_below("src", "py"):
        found.setdefault(path.parent.name if path.stem == "__init__" else path.stem, []).append(path)
    return found


def is_there(name: str, own: frozenset[str]) -> bool:
    """Tells whether there is such a name; `own` are the words of the code beside it."""
    root, *rest = name.split(".")
    if root in LIBRARIES.split() or root in sys.stdlib_module_names or name in EXAMPLES:
        return True
    if name.endswith((".py", ".ts", ".mjs", ".css", ".md")):
        return any(path.name == name for path in all_files())
    if not all(part in known() or part in own or part.isupper() for part in (root, *rest) if part):
        return False
    if not rest or name.endswith(FILES) or root in own or root in ("env", "file", "info", "obs") or not root.islower():
        return True
    return any(holds(path, rest[0]) for path in modules().get(root, ()))


def holds(path: Path, name: str) -> bool:
    """Tells whether a module says a name, or a package has a module of it."""
    below = path.parent / name
    return name in words_of(path) or (path.stem == "__init__" and (below.is_dir() or below.with_suffix(".py").exists()))


FIX = "mend it, or put another library's name into LIBRARIES or ELSEWHERE"


def test_names_in_docstrings_are_there():
    found = [
        f"{place(path, node)}: there is no {name!r}; {FIX}"
        for path, node, text in docstrings()
        for name in REFERENCE.findall(text)
        if not is_there(name, words_of(ROOT / path))
    ]
    assert not found, "\n".join(found)


def test_names_on_pages_are_there():
    pages = [*files_below("docs", "md"), *(ROOT / name for name in ("README.md", "README.ja.md", "CONTRIBUTING.md"))]
    found = []
    for page in [*pages, ROOT / "viewer" / "README.md"]:
        code = frozenset(re.findall(r"\w+", "\n".join(BLOCK.findall(text_of(page)))))
        prose = BLOCK.sub("", text_of(page))
        found += [
            f"{page.relative_to(ROOT)}: there is no {name!r}; {FIX}"
            for name in REFERENCE.findall(prose)
            if not is_there(name, code)
        ]
    assert not found, "\n".join(dict.fromkeys(found))
