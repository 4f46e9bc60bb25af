"""What a function amounted to, kept on disk: the next process asks before it traces, and often need not trace at all.

Of a function whose identity is known, three things suffice to call its kernel: the types of its results, their tree,
and the digest of its program, by which the machine code is found. Its operations are traced only when somebody looks
at them: to differentiate it, or to compile it for another number of lanes.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax

from ..core.cache_folder import cache_root
from . import settings
from .call import Traced
from .identity import agree, identity, modules
from .machine.object_cache import ObjectCache
from .pause import without_collection
from .program import Program, Summary, digest
from .reading import read

FOLDER = "traces"


@dataclass(frozen=True)
class Record:
    """What is kept of a function.

    Attributes:
        results: the tree that it returns, of types.
        summary: of its program.
        modules: what the library's modules held when it was traced; see `identity.modules`.
    """

    results: Any
    summary: Summary
    modules: dict[str, str | None]


class Recalled(Traced):
    """A function that was traced in an earlier process, and is traced again only for its operations."""

    forget: Callable[[], None]

    @cached_property
    def jaxpr(self) -> Any:
        """Its jaxpr, closed.

        Raises:
            RuntimeError: if it is not what was kept, which is then forgotten.
        """
        found = self._trace()
        if list(map(_type, found.out_avals)) != list(map(_type, self.out_avals)):
            self.forget()
            raise RuntimeError(f"{self.name} is not what it was when the cache was filled: run it again")
        return found

    @cached_property
    def program(self) -> Program:
        """What the compiler reads.

        Raises:
            RuntimeError: if it is not what was kept, which is then forgotten.
        """
        with without_collection():
            found = read(self.jaxpr)
        if digest(found) != self.summary.digest:
            self.forget()
            raise RuntimeError(f"{self.name} is not what it was when the cache was filled")
        return found


class Memory:
    """The place of one function, for arguments of certain types."""

    def __init__(self, cache: ObjectCache, key: str) -> None:
        self.cache, self.key, self.settings = cache, key, settings.every()

    @classmethod
    def of(cls, *things: Any) -> Memory | None:
        """The place of the function that these things determine; None if that is not known, or if nothing is kept."""
        root = cache_root()
        if root is None or jax.default_backend() != "cpu":
            return None
        try:
            return cls(ObjectCache(root / FOLDER), identity(*things))
        except Exception:  # a thing may raise anything when it is asked what it is: then it is traced, as ever
            return None

    def recall(self, name: str, in_avals: Sequence[Any], trace: Callable[[], Any]) -> tuple[Traced, Any] | None:
        """The function, if it was kept and all still holds, and the tree of its results.

        Args:
            name: its name.
            in_avals: the types of its arguments.
            trace: gives its jaxpr, if its operations are asked for.
        """
        kept = self.cache.get(self.key)
        if kept is None:
            return None
        try:
            record: Record = pickle.loads(kept)
            holds = agree(record.modules, modules())
        except Exception:  # as above
            return None
        if not holds:
            return None
        leaves, tree = jax.tree.flatten(record.results)
        found = Recalled(name, in_avals, [jax.typeof(leaf) for leaf in leaves], trace, record.summary)
        found.forget = partial(self.cache.remove, self.key)
        return found, tree

    def keep(self, results: Any, held: dict[str, str | None], summary: Summary) -> None:
        """Keep it, unless something in it is not the library's, or will not last.

        Args:
            results: the tree that it returns, of types.
            held: what the library's modules held when it was traced.
            summary: of its program.
        """
        record = Record(results, summary, held)
        if not agree(held, held) or settings.every() != self.settings:
            return
        with contextlib.suppress(Exception):  # what cannot be pickled is traced, as ever
            kept = pickle.dumps(record)
            if jax.tree.structure(pickle.loads(kept).results) == jax.tree.structure(results):
                self.cache.put(self.key, kept)


def _type(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype, aval.weak_type
