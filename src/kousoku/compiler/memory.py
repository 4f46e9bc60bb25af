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
from typing import Any

import jax

from ..core.cache_folder import cache_root
from .call import Traced
from .identity import Unknown, agree, identity, modules
from .machine.object_cache import ObjectCache
from .program import Summary

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


class Memory:
    """The place of one function, for arguments of certain types."""

    def __init__(self, cache: ObjectCache, key: str) -> None:
        self.cache, self.key = cache, key

    @classmethod
    def of(cls, *things: Any) -> Memory | None:
        """The place of the function that these things determine; None if that is not known, or if nothing is kept."""
        root = cache_root()
        if root is None or jax.default_backend() != "cpu":
            return None
        try:
            return cls(ObjectCache(root / FOLDER), identity(*things))
        except Unknown:
            return None

    def recall(self) -> Record | None:
        """What was kept, if it still holds."""
        kept = self.cache.get(self.key)
        if kept is None:
            return None
        record = pickle.loads(kept)
        return record if agree(record.modules, modules()) else None

    def keep(self, results: Any, summary: Summary) -> None:
        """Keep it, unless its tree is of a kind that does not last."""
        record = Record(results, summary, modules())
        if not agree(record.modules, record.modules):
            return
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            kept = pickle.dumps(record)
            if jax.tree.structure(pickle.loads(kept).results) == jax.tree.structure(results):
                self.cache.put(self.key, kept)


def recalled(record: Record, name: str, in_avals: Sequence[Any], trace: Callable[[], Any]) -> Traced:
    """The function that was kept.

    Args:
        record: what was kept.
        name: its name.
        in_avals: the types of its arguments.
        trace: gives its jaxpr, if its operations are asked for.
    """
    out_avals = [jax.typeof(leaf) for leaf in jax.tree.leaves(record.results)]

    def checked() -> Any:
        jaxpr = trace()
        if list(map(_type, jaxpr.out_avals)) != list(map(_type, out_avals)):
            raise RuntimeError(f"{name} is not what the cache says; clear it: kousoku cache --clear all")
        return jaxpr

    return Traced(name, in_avals, out_avals, checked, record.summary)


def _type(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype, aval.weak_type
