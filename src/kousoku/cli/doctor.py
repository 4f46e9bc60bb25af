"""`kousoku doctor`: what this machine is, and what may go wrong on it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ..training.devices import use_all_cores
from .options import Option, parse
from .platforms import unusable_platforms

OPTIONS: tuple[Option, ...] = ()


def run(words: Sequence[str]) -> int:
    """Prints versions, devices, the cache and known problems; status 1 if nothing can run."""
    parse("doctor", "Show versions, devices, caches and known problems.", OPTIONS, words)
    import jax

    from ..compiler import backends
    from ..core.cache_folder import SWITCH
    from ..training.io import compile_cache, provenance

    with contextlib.suppress(RuntimeError, AssertionError):  # of platforms that are not here, which is told below
        use_all_cores()
    wrong = unusable_platforms()
    print("versions: " + ", ".join(f"{name} {version}" for name, version in provenance.versions().items()))
    device = provenance.device()
    print(f"device:   {device['count']} x {device['kind']} ({device['platform']}), {device['cores']} cores, ", end="")
    print(f"{device['machine']} {device['system']}")
    print(f"kernels:  {_kernels()}")
    compile_cache.enable()
    kept = [f"{kind} {len(files)} files in {folder}" for kind, (folder, files) in compile_cache.kept_files().items()]
    print(f"cache:    {'; '.join(kept) or 'off'}; `kousoku cache` shows and clears it, {SWITCH}=off switches it off")
    answer = float(jax.jit(lambda x: x + 1.0)(1.0))
    print(f"compiler: {'works' if answer == 2.0 else 'gives wrong results'}")
    for problem in (*backends.current().problems(), *([wrong] if wrong else [])):
        print(f"note:     {problem}")
    return 0 if answer == 2.0 and not wrong else 1


def _kernels() -> str:
    """Says what the kernel compiler makes code for, and whether that code gives right results."""
    import llvmlite
    import llvmlite.binding as llvm

    from ..compiler import backends
    from ..compiler.config import why_off

    off = why_off()
    if off is not None:
        return f"off: {off}"
    current = backends.current()
    if current.backend is None:
        return f"none: functions are plain JAX on {current.name}"
    target = current.backend.target()
    version = ".".join(map(str, llvm.llvm_version_info))
    return (
        f"{target.cpu} ({target.triple}), vectors of {target.bits} bits, gangs of {target.lanes} lanes, "
        f"LLVM {version} of llvmlite {llvmlite.__version__}; {_check()}"
    )


def _check() -> str:
    """Compiles a function with the kernel, compares its results with JAX's, and says how that went."""
    import warnings

    import jax
    import jax.numpy as jnp

    from ..compiler import KernelWarning, kernel

    def function(x: jax.Array) -> jax.Array:
        return jnp.where(x > 2, x * 3, x + 1)

    x = jnp.arange(5, dtype=jnp.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelWarning)
        try:
            right = (jax.vmap(kernel(function))(x) == jax.vmap(function)(x)).all()
        except KernelWarning as reason:
            return f"not working: {reason}"
    return "works" if right else "gives wrong results"
