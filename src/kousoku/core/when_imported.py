"""A function to call when another package is imported: at once if it is, else right after it has been."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def when_imported(name: str, module: str, function: str) -> None:
    """Calls `module.function()` once the module `name` is imported; neither is imported for that.

    Args:
        name: of a top-level module.
        module: of the function, imported when it is called.
        function: its name.
    """
    if name in sys.modules:
        _call(module, function)
    else:
        sys.meta_path.insert(0, _Finder(name, module, function))  # pyright: ignore[reportArgumentType]


def _call(module: str, function: str) -> None:
    getattr(importlib.import_module(module), function)()


class _Finder:
    """A finder of one module, which asks the finders after it, has the function called once the module is imported, and
    is then gone.

    To look for the module without importing it, as `importlib.util.find_spec` does, changes nothing.

    It and its loader are not of `importlib.abc`'s classes, whose import takes longer than that of this whole package.
    """

    def __init__(self, name: str, module: str, function: str) -> None:
        self.name, self.module, self.function = name, module, function

    def find_spec(
        self, fullname: str, path: Iterable[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns how the module is loaded; None for every other module."""
        if fullname != self.name:
            return None
        others: list[Any] = sys.meta_path[sys.meta_path.index(self) + 1 :]  # pyright: ignore[reportArgumentType]
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec

    def imported(self) -> None:
        """Leaves the finders, and calls the function."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
        _call(self.module, self.function)


class _Loader:
    """A loader that loads as another one does, and tells the finder afterwards."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self.loader, self.finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Makes the module as the other loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module, under its own loader again, and then the function."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.finder.imported()
