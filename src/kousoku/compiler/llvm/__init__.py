"""Runs LLVM: the processor's features, the optimiser, object code and its place in memory."""
