"""What is left to `make test-full` says why, and the page for contributors lists the same reasons."""

import re
from pathlib import Path

import pytest
from selection import REASONS, check_reason

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


def test_the_page_lists_the_reasons():
    heading = "| reason | what is left to `make test-full` |\n|---|---|\n"
    rows = CONTRIBUTING.read_text(encoding="utf-8").partition(heading)[2].partition("\n\n")[0]
    assert dict(re.findall(r"^\| `(.+)` \| (.+) \|$", rows, re.MULTILINE)) == REASONS


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_of_the_list_is_taken(reason):
    check_reason("test", pytest.mark.full(reason).mark)


@pytest.mark.parametrize("mark", [pytest.mark.full, pytest.mark.full("it is slow"), pytest.mark.full(reason="larger")])
def test_any_other_is_refused_with_the_list(mark):
    with pytest.raises(pytest.UsageError, match="test_x: full takes the reason, one of more cases, covered, larger, "):
        check_reason("test_x", mark.mark)
