"""Programs that somebody would write by hand for speed: what a kernel is measured against."""
