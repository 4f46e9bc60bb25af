"""Doors to other libraries: their environments as ours, ours as theirs. Each module imports its library when used."""
