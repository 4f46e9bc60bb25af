"""What tests write need not outlive a power cut: no test waits for the disk, but those that are about that.

Each checkpoint waits four times; on a slow disk that is most of what many a test takes. `make test-full` and what a
test starts in a new process wait as for users.
"""

import os

import pytest
from fast_compile import is_quick


@pytest.fixture(autouse=True, scope="session")
def _without_fsync():
    """Comes before what a test itself puts in the place of `os.fsync`."""
    with pytest.MonkeyPatch.context() as patch:
        if is_quick():
            patch.setattr(os, "fsync", _check_descriptor)
        yield


def _check_descriptor(descriptor: int) -> None:
    """Refuses what `os.fsync` would refuse, and waits for nothing."""
    os.fstat(descriptor)
