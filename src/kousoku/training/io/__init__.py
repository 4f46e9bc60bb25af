"""Files that a run leaves on disk and is read back from: its folder, checkpoints, lock, provenance."""
