"""A policy's function for batches of any size: a kernel that the host calls where it is short, else XLA's program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ...compiler import HostFunction, few_lanes, host_may_call
from ...compiler.frontend.keys import is_key

KEPT = 16
"""Sizes of batches whose kernels are at hand."""


class PolicyFunctions:
    """The function of a policy, called with NumPy's arrays.

    Args:
        apply: (leaves of what was learned, parts of an observation and of a carry) -> (action, parts of the carry).
        learned: those leaves.
    """

    def __init__(self, apply: Callable[..., Any], learned: list[Any]) -> None:
        self._learned = learned
        self._program = jax.jit(jax.vmap(apply, in_axes=(None, 0)))
        self._kernel_of = few_lanes(apply)
        self._of_size = functools.lru_cache(maxsize=KEPT)(self._of_like)

    def __call__(self, xs: list[np.ndarray]) -> tuple[Any, ...]:
        """Returns (action, *parts of the carry) of a batch, [N, ...] each."""
        function = self._of_size(len(xs[0]), tuple((x.shape[1:], x.dtype) for x in xs)) if host_may_call() else None
        if function is not None:
            return function(xs)
        with jax.transfer_guard_host_to_device("allow"):  # meant, and in a fraction of the time of `jax.device_put`
            return jax.device_get(self._program(self._learned, xs))

    def _of_like(self, count: int, kinds: Sequence[tuple[tuple[int, ...], np.dtype]]) -> HostFunction | None:
        """Returns the function of a batch of so many, whose parts are of these shapes and dtypes; None for XLA's."""
        if count == 0 or any(map(is_key, self._learned)):
            return None
        learned = jax.device_get(self._learned)
        of_one = [np.zeros(shape, dtype) for shape, dtype in kinds]
        made = self._kernel_of(count, (None, 0), learned, of_one)
        return None if made is None else HostFunction(made, learned)
