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
from functools import partial
from typing import Any

import jax

from ...core.cache_folder import cache_root
from .. import trace_config as settings
from ..ir import Program, Summary, digest
from ..primitive.kernel_primitive import Traced
from ..runtime.object_cache import ObjectCache
from .fingerprint import agree, identity, modules

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
    """A function that was traced in an earlier process, and is traced again only for its operations.

    Should they be others than those that were kept, the record is removed, and the function refused.

    Args:
        record: what was kept.
        forget: removes it.
        name, in_avals, trace: as for any.
    """

    def __init__(
        self,
        record: Record,
        forget: Callable[[], None],
        name: str,
        in_avals: Sequence[Any],
        trace: Callable[[], Any],
    ) -> None:
        out_avals = [jax.typeof(leaf) for leaf in jax.tree.leaves(record.results)]
        super().__init__(name, in_avals, out_avals, lambda: self._checked(trace()))
        self.summary, self.forget = record.summary, forget

    def read(self) -> Program:
        """Make the program.

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
        found = Recalled(record, partial(self.cache.remove, self.key), name, in_avals, trace)
        return found, jax.tree.structure(record.results)

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
