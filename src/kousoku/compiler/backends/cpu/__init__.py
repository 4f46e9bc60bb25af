"""How XLA calls kernels: one handler for all of them, a table of kernels, XLA's own thread pool."""
