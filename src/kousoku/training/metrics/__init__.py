"""Metrics that are recorded while training: sums on the devices, curves on the host, logs and the progress bar."""
