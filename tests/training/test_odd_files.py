"""Something else in the place of a file that a run keeps and that is read: one line that names it, and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.training.io import run_folder

MOVE = "it lies in the place of a file that the run writes: move it away, and resume"
BACK = "it lies in the place of what the run was asked to do: move it away, and put that back from a copy"
AGAIN = "`kousoku resume` makes it again"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that came to its end."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    asked = {"steps": 200, "eval_episodes": 2, "checkpoint_every": 100, "progress": False}
    ks.train("q_learning", "GridWorld-v0", out=folder, **asked)
    return folder


@pytest.fixture
def run(whole, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "kept").touch()


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def text(written: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(written)


APIS: dict[str, Callable[[str], object]] = {
    "load": ks.load,
    "load_policy": ks.load_policy,
    "evaluation": lambda run: ks.evaluate(run, episodes=1),
}
COMMANDS = {
    "evaluate": (),
    "compare": ("OTHER",),
    "view": ("--rebuild", "--no-open"),
    "export": ("--out", "policy.py"),
}


CONFIG, FACTS, TABLES, PICTURE = run_folder.CONFIG, run_folder.FACTS, run_folder.TABLES, run_folder.PICTURE
OBJECT = "restore it or train again: it should hold an object"
ODD = {
    (CONFIG, "folder"): (folder, f"{CONFIG}: got 'a folder'; {BACK}"),
    (CONFIG, "link"): (link, f"{CONFIG}: got 'a link to nothing'; {BACK}"),
    (CONFIG, "loop"): (loop, f"{CONFIG}: got 'a link to nothing'; {BACK}"),
    (CONFIG, "empty"): (text(""), f"{CONFIG}: got 'a damaged file'; restore it or train again (Expecting value"),
    (CONFIG, "null"): (text("null"), f"{CONFIG}: got None; {OBJECT}"),
    (CONFIG, "list"): (text("[]"), f"{CONFIG}: got []; {OBJECT}"),
    (CONFIG, "number"): (text("3"), f"{CONFIG}: got 3; {OBJECT}"),
    (CONFIG, "deep"): (text("[" * 100_000), f"{CONFIG}: got 'a damaged file'; restore it or train again ("),
    **{(name, "folder"): (folder, f"{name}: got 'a folder'; {MOVE}") for name in (FACTS, TABLES, PICTURE)},
    **{
        (name, "empty"): (text(""), f"{name}: got 'a damaged file'; {AGAIN}, from") for name in (FACTS, TABLES, PICTURE)
    },
    **{(name, "null"): (text("null"), f"{name}: got 'a damaged file'; {AGAIN}, from") for name in (FACTS, PICTURE)},
    **{(name, "loop"): (loop, f"{name}: got 'a damaged file'; {AGAIN}, from") for name in (FACTS, TABLES, PICTURE)},
    (TABLES, "link"): (link, f"{TABLES} is missing; {AGAIN}"),
}


@pytest.mark.by_default(*(f"{name}-{kind}-load" for name, kind in ODD), "config.json-folder-*", "run.json-folder-*")
@pytest.mark.parametrize("reads", [*APIS, *COMMANDS])
@pytest.mark.parametrize(("name", "kind"), ODD)
def test_something_else_in_the_place_of_a_file_is_one_line(name, kind, reads, run, whole, capsys):
    damage, told = ODD[name, kind]
    damage(run / name)
    if reads in APIS:
        with pytest.raises(ks.ConfigError) as caught:
            APIS[reads](str(run))
        line = str(caught.value)
    else:
        words = [str(whole) if word == "OTHER" else word for word in COMMANDS[reads]]
        assert main([reads, str(run), *words]) == 2
        line = capsys.readouterr().err.removeprefix("kousoku: ").rstrip("\n")
    assert line.endswith(f"; {told}") if " is missing" in told else line.startswith(f"{run / told}")
    assert "\n" not in line


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_run_without_its_configuration_is_not_gone_on_with_until_that_is_back(kind, run, capsys):
    before = (run / CONFIG).read_bytes()
    ODD[CONFIG, kind][0](run / CONFIG)
    assert main(["resume", str(run), "--steps", "300"]) == 2
    assert capsys.readouterr().err == f"kousoku: {run / ODD[CONFIG, kind][1]}\n"
    if kind == "folder":
        assert (run / CONFIG / "kept").is_file()
        shutil.rmtree(run / CONFIG)
    else:
        (run / CONFIG).unlink()
    (run / CONFIG).write_bytes(before)
    assert ks.resume(run, steps=300, progress=False).record.facts["steps"] == 300
