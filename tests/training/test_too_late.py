"""What comes too late in a session that is under way is told in one line: devices, and another JAX."""

import os
import sys
import warnings
from importlib import metadata

import jax
import pytest

import kousoku as ks
from kousoku.training import devices
from kousoku.training.io import provenance


@pytest.fixture
def started(monkeypatch):
    """JAX as it has started: so many devices of a platform, for so many cores."""

    def make(count, platform, cores):
        monkeypatch.delenv("XLA_FLAGS", raising=False)
        monkeypatch.setattr(jax, "device_count", lambda: count)
        monkeypatch.setattr(jax, "default_backend", lambda: platform)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)

    jax.devices()
    return make


def test_use_all_cores_too_late_says_so(started):
    started(1, "cpu", 8)
    with pytest.warns(UserWarning, match=r"^JAX has started already, with one device for 8 cores: call") as told:
        assert ks.use_all_cores() == 1
    assert len(told) == 1
    assert "\n" not in str(told[0].message)


@pytest.mark.parametrize(("count", "platform", "cores"), [(1, "cpu", 1), (8, "cpu", 8), (2, "cpu", 8), (1, "gpu", 8)])
def test_where_it_changes_nothing_it_says_nothing(started, count, platform, cores):
    started(count, platform, cores)
    assert devices.use_all_cores() == count


def installed(monkeypatch, **versions):
    known = metadata.version
    monkeypatch.setattr(provenance.metadata, "version", lambda name: versions.get(name) or known(name))


@pytest.mark.by_default("jaxlib")
@pytest.mark.parametrize("name", ["jax", "jaxlib"])
def test_a_package_upgraded_under_a_session_is_one_line(monkeypatch, name):
    installed(monkeypatch, **{name: "99.1.0"})
    with pytest.warns(UserWarning, match=rf"^{name} .* is in use, but 99\.1\.0 was installed since: restart") as told:
        ks.train("q_learning", "GridWorld-v0", steps=20, out="", eval_episodes=0)
    assert len(told) == 1
    assert "\n" not in str(told[0].message)


@pytest.mark.full("covered")
def test_both_upgraded_are_one_line_and_a_resumed_run_says_it_too(monkeypatch):
    ks.train("q_learning", "GridWorld-v0", steps=20, out="run", eval_episodes=0, on_report=lambda report: True)
    installed(monkeypatch, jax="99.1.0", jaxlib="99.1.0")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ks.resume("run")
    lines = [str(warning.message) for warning in told if "is in use" in str(warning.message)]
    assert len(lines) == 1
    assert lines[0].startswith("jax ")


@pytest.mark.parametrize("build", ["{}", "{}.dev20261125", "{}+local.3", "{}rc1"])
def test_a_build_of_the_same_release_is_no_upgrade(monkeypatch, build):
    release = ".".join(jax.__version__.split(".")[:3])
    installed(monkeypatch, jax=build.format(release))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        provenance.warn_upgraded()


def test_a_run_tells_the_versions_in_use_and_not_those_installed_since(monkeypatch):
    installed(monkeypatch, jax="99.1.0", jaxlib="99.1.0", numpy="99.1.0")
    told = provenance.versions()
    assert told["jax"] == jax.__version__
    assert "99.1.0" not in told.values()


def test_a_package_that_is_not_imported_has_the_installed_version(monkeypatch):
    monkeypatch.delitem(sys.modules, "optax", raising=False)
    installed(monkeypatch, optax="99.1.0")
    assert provenance.versions()["optax"] == "99.1.0"
