"""Compiles LLVM IR to machine code, and loads machine code into memory."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from functools import cache

import llvmlite.binding as llvm

from .target import LEAST_EFFORT, Target, host, prepare

LONG_LINES = 4000


def optimise(text: str, target: Target, checked: Callable[[], None] | None = None) -> llvm.ModuleRef:
    """Checks and optimises the module; `checked` is called in between."""
    prepare()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.verify()
    if checked is not None:
        checked()
    machine = target.machine()
    module.data_layout = str(machine.target_data)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
    tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    pipeline = _short() if is_long(text) or target.effort == LEAST_EFFORT else builder.getModulePassManager()
    pipeline.run(module, builder)
    return module


def is_long(text: str) -> bool:
    """Returns whether the module is so long that compiling is felt: thousands of operations, as of robots."""
    return text.count("\n") > LONG_LINES


def _short() -> llvm.ModulePassManager:
    """Returns the few passes that long code needs.

    The reader has folded constants and merged equal operations, so LLVM's many passes, which take most of the time,
    find little to do in it; and they spread what is live over more of it than there are registers for. Sinking does the
    opposite: it moves operations to where they are needed, into branches that are seldom taken. Vectorising is never
    among them: lanes are vectors already.
    """
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_dead_code_elimination_pass()
    passes.add_sinking_pass()
    return passes


def object_code(text: str, target: Target, checked: Callable[[], None] | None = None) -> bytes:
    """Compiles the module to machine code, as an object file."""
    module = optimise(text, target, checked)
    return target.machine().emit_object(module)


def optimised_code(text: str, target: Target) -> str:
    """Returns the module as LLVM's optimiser leaves it."""
    return str(optimise(text, target))


def assembly_code(text: str, target: Target) -> str:
    """Returns the module's machine code as text, with LLVM's remarks."""
    machine = target.machine()
    machine.set_asm_verbosity(True)
    return machine.emit_assembly(optimise(text, target))


@cache
def _linker() -> llvm.LLJIT:
    """Returns LLVM's loader, one for the process; on Windows the older one, as there is no other."""
    prepare()
    return llvm.create_lljit_compiler(host().machine(), use_jit_link=sys.platform != "win32")


_numbers = itertools.count()


class LoadedCode:
    """Object code in executable memory, for as long as this object lives.

    JITLink puts code and constants into one piece of memory. LLVM's older loader does not: in a process with little
    room in between they may be farther from one another than the code's 32-bit distances reach, and it aborts. Where
    there is no other, code has distances of 64 bits (see `Target.machine`).
    """

    def __init__(self, code: bytes, exported: Sequence[str], imported: dict[str, int] | None = None) -> None:
        library = llvm.JITLibraryBuilder()
        library.add_object_img(code)
        for name in exported:
            library.export_symbol(name)
        for name, address in (imported or {}).items():
            library.import_symbol(name, address)
        self.tracker = library.link(_linker(), f"kernel {next(_numbers)}")

    def address(self, name: str) -> int:
        """Returns where an exported function or variable lies."""
        return self.tracker[name]
