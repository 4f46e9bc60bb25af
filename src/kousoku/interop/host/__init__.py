"""Environments of other libraries that are Python objects: stepped on the host, in this process or in others."""
