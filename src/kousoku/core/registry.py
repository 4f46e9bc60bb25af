"""Names for things that can be made: environments and agents by id."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from .errors import ConfigError, check_keys, nearest
from .ours import is_ours
from .synonyms import LIBRARIES, elsewhere

Factory = Callable[..., Any]


class Registry:
    """Ids and how to make what they name.

    A built-in entry is a "module:name" string that is imported when it is first asked for, so that importing the
    library costs nothing. An id that a user types is only ever looked up, never imported.

    An id such as 'gymnax:Catch-bsuite' names a thing of another library: the factory that is registered for the prefix
    (`register_library`) makes it from the rest.
    """

    def __init__(self, kind: str, beside: str | None = None, how: str = "") -> None:
        """Makes a registry without entries.

        Args:
            kind: what its entries are, in a word.
            beside: "module:name" of another registry, whose ids may be taken for ids of this one.
            how: its entries are made, for whoever takes them for another one's.
        """
        self.kind = kind
        self.how = how
        self._beside = beside
        self._libraries: dict[str, str] = {}
        self._entries: dict[str, tuple[str | Factory, dict[str, Any]]] = {}
        self._summaries: dict[str, str] = {}
        self._requirements: dict[str, str] = {}

    def register(self, id: str, factory: str | Factory, **defaults: Any) -> None:
        """Registers a factory under an id; `defaults` are arguments that a caller may override.

        Raises:
            ConfigError: if the id is taken, or is not made of letters, digits, dots, dashes and underscores, with at
                most one slash after the name of a suite; if the factory cannot be called.
        """
        if not isinstance(id, str) or not re.fullmatch(rf"({_WORD}/)?{_WORD}", id):
            fix = "use letters, digits, '.', '-' and '_', as in 'MyGrid-v0' or 'MySuite/MyGrid-v0'"
            raise ConfigError(f"{self.kind} id", id, fix)
        if id in self._entries:
            raise ConfigError(f"{self.kind} id", id, "it is registered already; choose another name or version")
        if not callable(factory) and not (isinstance(factory, str) and factory.count(":") == 1):
            raise ConfigError(f"factory of {id}", factory, "use a function or a class")
        self._entries[id] = (factory, defaults)

    def register_library(self, prefix: str, factory: str) -> None:
        """Registers how another library's things are made: by "module:name", a function of the id behind the colon."""
        self._libraries[prefix] = factory

    def library_of(self, id: object) -> str | None:
        """Returns the prefix of an id of another library; None for any other."""
        prefix, colon, _ = id.partition(":") if isinstance(id, str) else ("", "", "")
        return prefix if colon and prefix in self._libraries else None

    def libraries(self) -> list[str]:
        """Returns the prefixes of other libraries' ids, sorted."""
        return sorted(self._libraries)

    def library_ids(self, prefix: str) -> list[str]:
        """Returns the ids that another library has, as they are given here: by the `ids` of its factory's module.

        Raises:
            ConfigError: as that does, if the library is not installed.
        """
        return [f"{prefix}:{id}" for id in _imported(f"{self._libraries[prefix].partition(':')[0]}:ids")()]

    def require(self, suite: str, module: str) -> None:
        """Says that a suite, the ids 'suite/...', or a single id needs a module that need not be installed."""
        self._requirements[suite] = module

    def requirement(self, id: str) -> str | None:
        """Returns the module that the id, or its suite, needs; None if it needs none."""
        return self._requirements.get(id.partition("/")[0])

    def is_installed(self, id: str) -> bool:
        """Returns whether the module that the id, or its suite, needs is installed; nothing is imported."""
        module = self.requirement(id)
        return module is None or importlib.util.find_spec(module) is not None

    def ids(self) -> list[str]:
        """Returns all ids, sorted; those of other libraries are not among them."""
        return sorted(self._entries)

    def id_of(self, factory: Factory) -> str | None:
        """Returns the first id that names this factory; None if it has none. Nothing is imported."""
        written = f"{factory.__module__}:{getattr(factory, '__qualname__', None)}"
        return next((id for id, (target, _) in self._entries.items() if target in (factory, written)), None)

    def factory(self, id: str) -> Factory:
        """Returns what makes the thing that `id` names.

        Raises:
            ConfigError: for an unknown id, with the versions or the nearest names that exist.
        """
        if prefix := self.library_of(id):
            return partial(_imported(self._libraries[prefix]), id.partition(":")[2])
        if not isinstance(id, str) or id not in self._entries:
            raise ConfigError(f"{self.kind} id", id, self.suggest(id))
        target, defaults = self._entries[id]
        if isinstance(target, str):
            target = _imported(target)
            self._entries[id] = (target, defaults)
        return target

    def options(self, id: str) -> dict[str, inspect.Parameter]:
        """Returns the arguments that `make(id, ...)` takes, with the defaults that the id has.

        Of another library's id these are also the numbers that its factory's module tells, by its function `numbers`.
        """
        factory = self.factory(id)
        parameters, defaults = dict(inspect.signature(factory).parameters), self._defaults(id)
        if isinstance(factory, partial):
            named = {n: p for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
            tell = getattr(sys.modules[factory.func.__module__], "numbers", lambda id: {})
            numbers = tell(*factory.args).items()
            return named | {n: inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=v) for n, v in numbers}
        return {n: p.replace(default=defaults[n]) if n in defaults else p for n, p in parameters.items()}

    def make(self, id: str, **options: Any) -> Any:
        """Makes the thing that `id` names.

        Raises:
            ConfigError: for an unknown id or option, an option that is missing, or a bad value.
        """
        known, given = self.options(id), self._defaults(id) | options
        taken = inspect.signature(self.factory(id)).parameters.values()
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken):
            check_keys(f"option of {id}", options, known)
        for name, parameter in known.items():
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.default is parameter.empty and name not in given and not variadic:
                raise ConfigError(f"option {name!r} of {id}", ..., "give it a value, it has no default")
        return self.factory(id)(**given)

    def _defaults(self, id: str) -> dict[str, Any]:
        """Returns the arguments that an id has by itself; another library's has none."""
        return self._entries[id][1] if id in self._entries else {}

    def summarise(self, id: str, summary: str) -> None:
        """Says in one line what an id names, where the docstring of what makes it says less."""
        self._summaries[id] = summary

    def summary(self, id: str) -> str:
        """Returns in one line what an id names: the first line of its module's docstring.

        Of what a user has registered it is that of the function or class; nothing where there is none.

        Raises:
            ConfigError: for an unknown id.
        """
        factory = self.factory(id)
        if isinstance(factory, partial):
            return self._summaries.get(id, "")
        documented = sys.modules[factory.__module__] if is_ours(factory) else factory
        return self._summaries.get(id) or (inspect.getdoc(documented) or "").partition("\n")[0]

    def _other(self) -> Registry | None:
        """Returns the registry beside this one."""
        if self._beside is None:
            return None
        module, name = self._beside.split(":")
        return getattr(sys.modules.get(module) or importlib.import_module(module), name, None)

    def suggest(self, id: object) -> str:
        """Suggests what an unknown id may have meant: its versions, another kind of thing, what is near it, or all."""
        if not isinstance(id, str) or not id:
            return f"name one of the {len(self._entries)} {self.kind}s; `kousoku list` shows them"
        if prefix := self._prefix_like(id):
            return f"did you mean '{prefix}:{id.partition(':')[2]}'?"
        folded = {known.casefold(): known for known in self._entries}
        if id.casefold() in folded:
            return f"did you mean {folded[id.casefold()]}?"
        versions = [known for known in self.ids() if "-v" in known and _stem(known) == _stem(id)]
        if versions:
            return f"the versions that exist are {', '.join(versions)}"
        if (other := self._other()) and id in other.ids():
            return f"that is an {other.kind}: {other.how} makes it"
        if instead := elsewhere(self.kind, id):
            return instead
        if close := nearest(id, self._entries):
            return f"did you mean {' or '.join(close)}?"
        return "no such name; `kousoku list` shows what there is"

    def _prefix_like(self, id: str) -> str | None:
        """Returns the prefix that an id's may have meant; None of an id without a colon, or far from all."""
        word, colon, _ = id.partition(":")
        if not colon:
            return None
        known = LIBRARIES.get(re.sub(r"[\W_]", "", word.casefold()))
        return known if known in self._libraries else next(iter(nearest(word, self._libraries, 1, least=0.75)), None)


_WORD = r"[A-Za-z0-9][A-Za-z0-9_.\-]*"


def _imported(target: str) -> Factory:
    """Returns what "module:name" names."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)


def _stem(id: str) -> str:
    """Returns an id without its version, in small letters."""
    return id.casefold().rsplit("-v", 1)[0]
