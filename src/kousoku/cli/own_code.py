"""A person's own file or module, which registers environments and agents: imported before a command reads its ids."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import ConfigError
from . import IMPORT


def import_all(named: Sequence[str]) -> list[str]:
    """Imports files and modules; several may stand together, with commas between. Returns each of them.

    Only who types a command says what is imported: no run folder does.

    Raises:
        ConfigError: for no name, a file or module that is not there, or one that raises.
    """
    names = [name for text in named for name in ([text] if Path(text).is_file() else text.split(","))]
    for name in names:
        _import(name)
    return names


def _import(name: str) -> None:
    is_path = any(separator in name for separator in {"/", os.sep})
    if not name or (name.startswith(("-", ".")) and not is_path):
        raise ConfigError(IMPORT, name or ..., "give a file, such as ./walk.py, or the name of a module")
    try:
        if name.endswith(".py") or is_path:
            _import_file(name)
        else:
            _look_in(Path.cwd())
            importlib.import_module(name)
    except ConfigError:
        raise
    except SystemExit as error:
        raise ConfigError(IMPORT, name, "it ends the process (SystemExit) when it is imported") from error
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(IMPORT, name, _said(error)) from error
        raise ConfigError(IMPORT, name, f"there is no such module; a file is written ./{name}.py") from error
    except Exception as error:  # the person's code
        raise ConfigError(IMPORT, name, _said(error)) from error


def _look_in(folder: Path) -> None:
    """Lets modules be imported from a folder, as those beside a script are."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import_file(name: str) -> None:
    """Imports a file under its own name, as `import` in its folder would.

    Raises:
        ConfigError: if it is not there, or its name is another module's.
    """
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise ConfigError(IMPORT, name, "there is no such file")
    if not path.stem.isidentifier():
        raise ConfigError(IMPORT, name, "a module's name has letters, digits and underscores; rename the file")
    known = sys.modules.get(path.stem)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path:
        return
    if known is not None or path.stem in sys.stdlib_module_names:
        raise ConfigError(IMPORT, name, f"another module is called {path.stem}; rename the file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(IMPORT, name, "it is no file of Python's; it has to end in .py")
    _look_in(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise


def _said(error: Exception) -> str:
    """Returns what an error says, and in which line of which file it was raised."""
    if isinstance(error, SyntaxError):
        place = f"{error.filename}, line {error.lineno}"
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename}, line {last.lineno}"
    return f"{place}, raises {type(error).__name__}: {' '.join(str(error).split())}"
