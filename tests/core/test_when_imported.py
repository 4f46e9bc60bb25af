"""Waiting for the import of a package leaves all other imports as they are."""

import importlib
import sys

from kousoku.core.when_imported import when_imported


def test_modules_of_a_namespace_package_are_imported_while_another_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "a_namespace").mkdir()
    (tmp_path / "a_namespace" / "a_module.py").write_text("number = 3\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    when_imported("a_package_that_is_never_imported", "json", "loads")
    assert importlib.import_module("a_namespace.a_module").number == 3
