"""The guard of transfers, and compilation switched off: the two cannot be had together."""

from __future__ import annotations

import jax

from ...core.errors import ConfigError


def check_transfers() -> None:
    """Refuses to train without compilation under a guard that disallows transfers.

    Compiled code holds its constants; operation by operation, each number in it is moved to the device by itself.

    Raises:
        ConfigError: saying which of the two to leave out.
    """
    guard = jax.config.jax_transfer_guard_host_to_device  # pyright: ignore[reportAttributeAccessIssue]
    uncompiled = jax.config.jax_disable_jit  # pyright: ignore[reportAttributeAccessIssue]
    if uncompiled and guard in ("disallow", "disallow_explicit"):
        fix = "under jax.disable_jit() every number in the code is a transfer; allow them there, or compile"
        raise ConfigError("jax.transfer_guard", guard, fix)
