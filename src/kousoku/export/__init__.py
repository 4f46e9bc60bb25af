"""JAX functions as files that need no JAX: one NumPy file, or an ONNX model.

`program.trace` reads a function into a flat list of array operations with a batch axis of any size; `numpy_file` and
`onnx_file` write that list down. Nothing here knows of agents.
"""
