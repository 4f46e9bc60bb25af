"""Keeps on disk what a function amounted to: the next process asks before it traces, and often need not trace at all.

Of a function whose identity is known, three things suffice to call its kernel: the types of its results, their tree,
and the digest of its program, by which the machine code is found. Its operations are traced only when somebody looks
at them: to differentiate it, or to compile it for another number of lanes.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax

from ...core.cache_folder import cache_root
from .. import jax_config
from ..backends import current
from ..ir import Graph, GraphSummary, digest
from ..llvm.object_cache import ObjectCache
from .fingerprint import agree, fingerprint, modules
from .traced import Traced

FOLDER = "traces"


@dataclass(frozen=True)
class TraceRecord:
    """The facts that are kept of a function.

    Attributes:
        results: the tree that it returns, of types.
        summary: of its program.
        modules: what the library's modules held when it was traced; see `fingerprint.modules`.
    """

    results: Any
    summary: GraphSummary
    modules: dict[str, str | None]


class CachedTrace(Traced):
    """A function that an earlier process traced, and that is traced again only for its operations.

    Should they be others than those that were kept, the record is removed, and the function refused.

    Args:
        record: what was kept.
        forget: removes it.
        name, in_avals, trace: as for any.
    """

    def __init__(
        self,
        record: TraceRecord,
        forget: Callable[[], None],
        name: str,
        in_avals: Sequence[Any],
        trace: Callable[[], Any],
    ) -> None:
        out_avals = [jax.typeof(leaf) for leaf in jax.tree.leaves(record.results)]
        super().__init__(name, in_avals, out_avals, lambda: self._checked(trace()))
        self.summary, self.forget = record.summary, forget

    def read(self) -> Graph:
        """Makes the graph.

        Raises:
            RuntimeError: if it is another than that which was kept.
        """
        found = super().read()
        self._expect(digest(found) == self.summary.digest)
        return found

    def _checked(self, jaxpr: Any) -> Any:
        self._expect(list(map(_type, jaxpr.out_avals)) == list(map(_type, self.out_avals)))
        return jaxpr

    def _expect(self, same: bool) -> None:
        if not same:
            self.forget()
            raise RuntimeError(f"{self.name} is not what it was when the cache was filled: run it again")


class TraceCacheEntry:
    """The place of one function's record on disk, for arguments of certain types."""

    def __init__(self, cache: ObjectCache, key: str) -> None:
        self.cache, self.key, self.settings = cache, key, jax_config.all_config()

    @classmethod
    def of(cls, *things: Any) -> TraceCacheEntry | None:
        """Returns the entry of the function that these things determine.

        None if that is not known, or if nothing is kept.
        """
        root = cache_root()
        if root is None or current().backend is None:
            return None
        try:
            return cls(ObjectCache(root / FOLDER), fingerprint(*things))
        except Exception:  # a thing may raise anything when it is asked what it is: then it is traced, as ever
            return None

    def recall(self, name: str, in_avals: Sequence[Any], trace: Callable[[], Any]) -> tuple[Traced, Any] | None:
        """Returns the function, if it was kept and all still holds, and the tree of its results.

        Args:
            name: its name.
            in_avals: the types of its arguments.
            trace: gives its jaxpr, if its operations are asked for.
        """
        kept = self.cache.get(self.key)
        if kept is None:
            return None
        try:
            record: TraceRecord = pickle.loads(kept)
            holds = agree(record.modules, modules())
        except Exception:  # as above
            return None
        if not holds:
            return None
        found = CachedTrace(record, partial(self.cache.remove, self.key), name, in_avals, trace)
        return found, jax.tree.structure(record.results)

    def keep(self, results: Any, held: dict[str, str | None], summary: GraphSummary) -> None:
        """Keeps the function, unless something in it is not the library's, or will not last.

        Args:
            results: the tree that it returns, of types.
            held: what the library's modules held when it was traced.
            summary: of its program.
        """
        record = TraceRecord(results, summary, held)
        if not agree(held, held) or jax_config.all_config() != self.settings:
            return
        with contextlib.suppress(Exception):  # what cannot be pickled is traced, as ever
            kept = pickle.dumps(record)
            if jax.tree.structure(pickle.loads(kept).results) == jax.tree.structure(results):
                self.cache.put(self.key, kept)


def _type(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype, aval.weak_type
