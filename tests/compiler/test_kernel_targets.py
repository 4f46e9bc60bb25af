"""Code for processors that the tests do not run on: that LLVM makes it, and makes vectors of it."""

import re
from importlib import resources

import jax
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.compiler.backends.cpu.entry import emit_module
from kousoku.compiler.frontend import from_jaxpr
from kousoku.compiler.llvm.compile import assembly_code, object_code
from kousoku.compiler.llvm.target import Target, prepare
from kousoku.compiler.passes import run_passes

WINDOWS = Target("x86_64-pc-windows-msvc", "haswell", "+avx2,+fma", 8, 256)
TARGETS = {
    "NEON": (Target("aarch64-unknown-linux-gnu", "cortex-a76", "+neon", 4, 128), "v0.4s"),
    "AVX2": (Target("x86_64-unknown-linux-gnu", "haswell", "+avx2,+fma", 8, 256), "%ymm0"),
    "AVX-512": (Target("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx512f,+avx512vl,+avx512dq", 16, 512), "%zmm0"),
    "PTX": (Target("nvptx64-nvidia-cuda", "sm_80", "+ptx75", 1, 32), ".visible .func kousoku_kernel"),
}


def program(id: str):
    """A step with auto-reset, and random numbers: arrays, branches, elementary functions."""
    env = ks.make(id)
    lane = begin(env, jax.random.key(0))
    action = jnp.zeros(env.action_space.shape, env.action_space.dtype)
    step = jax.make_jaxpr(lambda lane, action, key: advance(env, lane, action, key)[0])
    return run_passes(from_jaxpr(step(lane, action, jax.random.key(0))))


@pytest.mark.by_default("FrozenLake-v1-PTX")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("id", ["Acrobot-v1", "FrozenLake-v1"])
def test_assembly(target, id):
    prepare()
    processor, sign = TARGETS[target]
    step = program(id)
    text = emit_module(step, processor.lanes, (True,) * len(step.inputs), processor, False).text
    assert sign in assembly_code(text, processor)


@pytest.mark.by_default("AVX-512")
@pytest.mark.parametrize("target", ["AVX2", "AVX-512"])
def test_vectors_lie_on_the_stack_as_they_lie_in_cache(target):
    """Of a kernel with more numbers at hand than registers, and with buffers too large for the stack."""
    prepare()
    processor, _ = TARGETS[target]

    def many(x, i):
        table = jnp.outer(x, x)
        parts = [x[k] * x[k - 1] for k in range(48)]
        picked = table[i, i] * table[i, 0]
        return sum(parts[k] * parts[-k] * picked for k in range(48)), jnp.prod(jnp.stack(parts))

    step = run_passes(from_jaxpr(jax.make_jaxpr(many)(jnp.ones(48), jnp.int32(0))))
    text = assembly_code(emit_module(step, processor.lanes, (True, True), processor, False).text, processor)
    spills = re.findall(rf"^\s+(vmov\w+)\s.*# {processor.bits // 8}-byte Spill$", text, re.MULTILINE)
    assert len(spills) > 10
    assert set(spills) <= {"vmovaps", "vmovapd", "vmovdqa", "vmovdqa64"}


def _walk(key, x):
    """Draws numbers in a loop whose count keys are made of."""

    def step(at):
        n, x = at
        return n + 1, x + jax.random.uniform(jax.random.fold_in(key, n), (3,)).sum()

    return jax.lax.while_loop(lambda at: at[0] < 99, step, (0, x))[1]


def _walk_emitted(processor, lanes, varying):
    graph = run_passes(from_jaxpr(jax.make_jaxpr(_walk)(jax.random.key(0), jnp.float32(0))))
    return emit_module(graph, lanes, varying, processor, False).text


def test_keys_of_a_loops_counter_are_short_in_one_lane():
    """LLVM's loop strength reduction would write their sums in every way: of an evaluation's episode in ten seconds."""
    prepare()
    processor, _ = TARGETS["AVX2"]
    one, many = (
        assembly_code(_walk_emitted(processor, lanes, (True, True)), processor).count("\n")
        for lanes in (1, processor.lanes)
    )
    assert one < many  # 414 and 867 lines; 1,304 where the counter is seen


@pytest.mark.parametrize("own_keys", [False, True])
def test_llvm_sees_the_counter_where_each_lane_has_a_key(own_keys):
    """Strength reduction leaves vectors alone, and Q-learning takes a sixth longer where the counter is hidden."""
    processor, _ = TARGETS["AVX2"]
    text = _walk_emitted(processor, processor.lanes, (own_keys, True))
    assert ('asm ""' in text) != own_keys


def test_for_windows_code_has_long_distances_and_nothing_to_unwind_it_by():
    """LLVM's older loader, the only one there, aborts at distances of 32 bits, to other code as to what unwinds it."""
    prepare()
    handler = resources.files("kousoku.compiler.backends.cpu").joinpath("handler.ll").read_text(encoding="utf-8")
    table = jnp.arange(40.0)
    step = run_passes(from_jaxpr(jax.make_jaxpr(lambda x, i: table[i] * jnp.sin(x))(jnp.float32(1.0), jnp.int32(0))))
    kernel = emit_module(step, WINDOWS.lanes, (True, True), WINDOWS, False).text
    assert "movabsq" in assembly_code(kernel, WINDOWS)
    for text in (kernel, handler):
        code = object_code(text, WINDOWS)
        assert b".text" in code
        assert b".pdata" not in code
        assert b".xdata" not in code
