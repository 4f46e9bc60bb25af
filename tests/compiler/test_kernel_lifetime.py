"""Kernels live as long as somebody may run them, and no longer."""

import gc
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import in_a_forked_process

import kousoku as ks
from kousoku.compiler.backends.cpu.ffi import registry


def step(i: int):
    return lambda x: x * jnp.float32(0.5) + jnp.float32(i)


def settle() -> int:
    """Kernels that are in memory when nobody in Python or XLA needs more."""
    jax.clear_caches()
    gc.collect()
    return len(registry())


@pytest.mark.full("larger")
@pytest.mark.parametrize("count", [40, 1000])
def test_small_functions_in_a_row_leave_nothing(count):
    """Neither code nor records: those of kernels that are gone are used again."""
    before = settle()
    records = len(registry().records)
    x = np.arange(8, dtype=np.float32)
    for i in range(count):
        y = jax.jit(jax.vmap(ks.kernel(step(i))))(x)
        np.testing.assert_array_equal(y, x * np.float32(0.5) + np.float32(i))
    assert settle() == before
    assert len(registry().records) <= records + count // 4


@pytest.mark.full("processes")
def test_a_computation_runs_on_when_its_function_is_gone():
    """XLA runs it in a thread of its own, when what it waits for is there: here after everything was let go of."""
    wait = jax.jit(lambda x: jax.lax.fori_loop(0, 40, lambda _, c: jnp.tanh(c @ x), x)[0, :64])
    x = np.eye(700, dtype=np.float32)
    jax.block_until_ready(wait(x))
    results = []
    for i in range(3):
        late = wait(x)
        results.append(jax.jit(jax.vmap(ks.kernel(step(i))))(late))
        del late
        settle()
    expected = np.asarray(wait(x)) * np.float32(0.5)
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, expected + np.float32(i))


ONE_FOR_ALL = """
import gc, json
import jax, jax.numpy as jnp, numpy as np
import kousoku as ks
from kousoku.compiler.backends.cpu.ffi import registry

x = np.arange(8, dtype=np.float32)
functions = [jax.jit(jax.vmap(ks.kernel(lambda x: x * jnp.float32(0.5) + jnp.float32(3)))) for _ in range(4)]
results = [f(x) for f in functions]
counts = [len(registry())]
del functions[1:], results
jax.block_until_ready(functions[0](x))
counts.append(len(registry()))
del functions
jax.clear_caches()
gc.collect()
print(json.dumps([*counts, len(registry())]))
"""


def test_one_kernel_serves_all_who_need_the_same():
    """In a process of its own, so that nothing that other tests have compiled is thrown away."""
    assert in_a_forked_process(ONE_FOR_ALL) == [1, 1, 0]


FAR = """
import ctypes, mmap
from kousoku.compiler.llvm.compile import LoadedCode, object_code
from kousoku.compiler.llvm.target import host
text = '''
@table = private constant [64 x float] zeroinitializer, align 64
@number = global i32 5
define float @function(i64 %i) {
  %place = getelementptr float, ptr @table, i64 %i
  %read = load float, ptr %place
  %whole = load i32, ptr @number
  %other = sitofp i32 %whole to float
  %sum = fadd float %read, %other
  ret float %sum
}
'''
code = object_code(text, host())
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
kept = []
for i in range(200):
    kept.append(LoadedCode(code, ["function"]))
    assert ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(kept[-1].address("function"))(3) == 5.0
    libc.mmap(None, 3 << 30, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reserves addresses as Linux does")
def test_code_reaches_its_constants_in_a_crowded_process():
    """Three gigabytes of addresses are taken after each kernel: the next one finds only small gaps near by."""
    subprocess.run([sys.executable, "-c", FAR], check=True, timeout=120)
