"""Benchmarks: this library beside others, as ratios within one run. They come with the repository, not the wheel."""
