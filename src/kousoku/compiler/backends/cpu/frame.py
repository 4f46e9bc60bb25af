"""Places a kernel's buffers: on the stack, or in one allocation where they are too large for it."""

from __future__ import annotations

from ...codegen.memory import ALIGN, KernelMemory

STACK_BYTES = 32 << 10


def frame(memory: KernelMemory) -> tuple[list[str], list[str]]:
    """Returns instructions that make the buffers at the function's start, and those that give them back at its end."""
    if memory.bytes <= STACK_BYTES:
        return [f"  {text} = alloca [{size} x i8], align {ALIGN}" for text, size in memory.slots], []
    total = sum(size for _, size in memory.slots) + ALIGN
    lines = [
        f"  %arena = call ptr @malloc(i64 {total})",
        "  %arena.int = ptrtoint ptr %arena to i64",
        f"  %arena.up = add i64 %arena.int, {ALIGN - 1}",
        f"  %arena.at = and i64 %arena.up, {-ALIGN}",
        "  %arena.base = inttoptr i64 %arena.at to ptr",
    ]
    offset = 0
    for text, size in memory.slots:
        lines.append(f"  {text} = getelementptr i8, ptr %arena.base, i64 {offset}")
        offset += size
    memory.b.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
    memory.b.declarations["free"] = "declare void @free(ptr)"
    return lines, ["  call void @free(ptr %arena)"]
