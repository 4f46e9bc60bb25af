"""Programs of earlier tests are forgotten before a process has no place left for another one."""

import jax
import mapped_programs
import pytest


@pytest.mark.skipif(not mapped_programs.MAPPINGS.exists(), reason="only Linux tells its mappings")
@pytest.mark.parametrize(("most", "forgets"), [("10", 1), ("100000000", 0)])
def test_they_are_forgotten_once_half_of_the_mappings_are_taken(tmp_path, monkeypatch, most, forgets):
    calls = []
    (tmp_path / "most").write_text(most, encoding="utf-8")
    monkeypatch.setattr(mapped_programs, "MOST", tmp_path / "most")
    monkeypatch.setattr(mapped_programs, "_tests", 0)
    monkeypatch.setattr(jax, "clear_caches", lambda: calls.append(None))
    for _ in range(mapped_programs.EVERY):
        mapped_programs.pytest_runtest_teardown()
    assert len(calls) == forgets
