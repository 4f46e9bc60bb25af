"""Writes LLVM IR: operands, the builder, values of arrays, memory."""
