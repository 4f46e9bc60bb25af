"""Completion: scripts for three shells, of one table of words; each is sourced and asked."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kousoku.agents import AGENTS
from kousoku.agents.options import option_names, used_options
from kousoku.cli import COMMANDS, main
from kousoku.cli.completion import words_by_place
from kousoku.cli.completion_scripts import SCRIPTS
from kousoku.envs import ENVS

UTF8 = {"LC_ALL": "C.UTF-8"}
"""Under which a shell reads letters beyond ASCII as such, whatever the locale of who runs the tests."""
ASK = """
source ./completion
while IFS= read -r line; do
    read -ra COMP_WORDS <<< "$line"
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _kousoku
    printf '%s\\t' "${COMPREPLY[@]}"
    echo
done
"""
ASK_ZSH = """
compdef() { }
compadd() { shift; print -rn -- "${(pj:\\t:)${(M)@:#${current}*}}"; (($# > 0)) }
_files() { print -rn -- files }
source ./completion
while IFS= read -r line; do
    words=(${(z)line})
    [[ $line == *" " ]] && words+=("")
    CURRENT=${#words}
    _kousoku
    print
done
"""
ASK_FISH = """
source ./completion
while read --line line
    echo (complete -C $line | string join \\t)
end
"""


@pytest.fixture(scope="module")
def places():
    return words_by_place()


@pytest.fixture
def complete(places):
    """Returns a function: from lines that are typed to the words that Bash offers for each."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    Path("completion").write_text(SCRIPTS["bash"](places))

    def ask(*lines):
        typed = "".join(f"{line}\n" for line in lines)
        done = subprocess.run(
            ["bash", "-c", ASK], input=typed, capture_output=True, encoding="utf-8", check=True, env=os.environ | UTF8
        )
        assert done.stderr == ""
        return [[word for word in line.split("\t") if word] for line in done.stdout.splitlines()]

    return ask


def offered(shell, places, lines):
    """The words that one of the shells offers for each of some lines."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    Path("completion").write_text(SCRIPTS[shell](places))
    command = {"bash": ["bash", "-c", ASK], "zsh": ["zsh", "-fc", ASK_ZSH], "fish": ["fish", "-c", ASK_FISH]}[shell]
    typed = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        command, input=typed, capture_output=True, encoding="utf-8", check=True, env=os.environ | UTF8
    )
    assert done.stderr == ""
    return [sorted(word for word in line.split("\t") if word) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_offers_the_words_of_a_place(shell, places):
    start = "kousoku train q_learning GridWorld-v0"
    lines = "kousoku ev", "kousoku sweep pp", "kousoku train ppo Cart", f"{start} --learn", f"{start} --env.sl"
    found = offered(shell, places, [*lines, "kousoku train ppo CartPole-v1 --loop p", "kousoku --v"])
    carts = sorted(id for id in ENVS.ids() if id.startswith("Cart"))
    assert found == [["evaluate"], ["ppo"], carts, ["--learning-rate"], ["--env.slip"], ["python"], ["--version"]]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_offers_run_folders_whatever_their_names(shell, places):
    names = ["runs/first", "runs/lr=[0.1,0.5] %20 x", "runs/ü"]
    for name in names:
        Path(name).mkdir(parents=True)
        (Path(name) / "config.json").touch()
    written = [r"runs/lr=\[0.1\,0.5\]\ %20\ x" if shell == "bash" and " " in name else name for name in names]
    start = "kousoku train ppo CartPole-v1"
    lines = "kousoku resume ", "kousoku compare runs/first ", "kousoku train --resume ", f"{start} --init-from "
    assert offered(shell, places, lines) == [sorted(written)] * 4
    assert offered(shell, places, ["kousoku evaluate runs/f"]) == [["runs/first"]]


def test_bash_completes_commands_and_ids(complete):
    found = complete("kousoku ", "kousoku ev", "kousoku train ", "kousoku sweep pp", "kousoku train ppo Cart")
    assert set(COMMANDS) < set(found[0])
    assert found[1] == ["evaluate"]
    assert found[2] == AGENTS.ids()
    assert found[3] == ["ppo"]
    assert found[4] == [id for id in ENVS.ids() if id.startswith("Cart")]
    found = complete(
        "kousoku list Maz", "kousoku list en", "kousoku bench ta", "kousoku completion ", "kousoku help res"
    )
    assert found == [["Maze-v0"], ["envs"], ["tabular"], list(SCRIPTS), ["resume"]]
    assert complete("kousoku nix ", "kousoku train ppo CartPole-v1 ", "kousoku train nix --epsil") == [[], [], []]


def test_bash_completes_options_of_the_command_the_agent_and_the_environment(complete):
    start = "kousoku train q_learning GridWorld-v0 --seed 3"
    found = complete(f"{start} --learn", f"{start} --env.sl", f"{start} --st", f"{start} --no-p", "kousoku train --re")
    assert found == [
        ["--learning-rate"],
        ["--env.slip"],
        ["--steps", "--stop-on-nan"],
        ["--no-progress"],
        ["--resume", "--record", "--record-every"],
    ]
    found = complete("kousoku train ppo --gae", "kousoku evaluate --", "kousoku resume run --", "kousoku doctor --")
    assert found[0] == ["--gae-lambda"]
    assert found[1] == ["--episodes", "--seed", "--max-steps", "--checkpoint", "--import", "--help"]
    assert found[2] == ["--dataset", "--steps", "--devices", "--progress", "--no-progress", "--import", "--help"]
    assert found[3] == ["--import", "--help"]
    found = complete(f"{start} --loop p", f"{start} --exploration s", "kousoku cache --clear t", f"{start} --out run")
    assert found == [["python"], ["softmax"], ["traces"], []]


def test_bash_completes_run_folders(complete):
    for name in ("runs/first", "runs/second"):
        Path(name).mkdir(parents=True)
        (Path(name) / "config.json").touch()
    Path("runs/no-run").mkdir()
    both = ["runs/first", "runs/second"]
    for command in ("evaluate", "export", "resume", "train --resume"):
        assert complete(f"kousoku {command} ", f"kousoku {command} runs/s") == [both, ["runs/second"]]
    assert complete("kousoku view ", "kousoku view runs/f") == [[*ENVS.ids(), *both], ["runs/first"]]
    assert complete("kousoku train ") == [AGENTS.ids()]


def test_every_option_of_every_id_is_in_the_table(places):
    for id in AGENTS.ids():
        flags = {name: f"--{name.rstrip('_').replace('_', '-')}" for name in option_names(id) if name != "network"}
        known = {name for name, flag in flags.items() if flag in places[f"{id} --"]}
        assert known == {*used_options(id)} - {"network"}, id
    for id in ENVS.ids():
        assert {f"--env.{name.replace('_', '-')}" for name in ENVS.options(id)} <= set(places[f"{id} --"]), id
    assert all(f"{command} --" in places for command in COMMANDS)


def test_every_word_may_stand_in_a_script_as_it_is(places):
    assert all(re.fullmatch(r"[\w.\-/]+", word) for words in places.values() for word in words)
    assert all(words for words in places.values())


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_hold_the_table_and_are_what_the_shell_reads(shell, places, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert script == SCRIPTS[shell](places) + "\n"
    for place, words in places.items():
        assert f'"{place}"' in script
        assert f"printf '%s\\n' {' '.join(words)}" in script
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} to read it")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


PAGE = Path(__file__).parents[2] / "docs" / "start.md"
FOUND = {
    "bash": "source ~/.local/share/bash-completion/completions/kousoku && complete -p kousoku",
    "zsh": "fpath+=~/.zfunc; autoload -Uz compinit; compinit -u; print $_comps[kousoku]",
    "fish": "complete -C 'kousoku eval'",
}
"""What shows that a shell has found the script where the page puts it."""


@pytest.mark.parametrize(
    ("shell", "told"), [("bash", "-F _kousoku kousoku"), ("zsh", "_kousoku"), ("fish", "evaluate")]
)
def test_the_page_puts_each_script_where_its_shell_finds_it(shell, told, places, tmp_path):
    """In a home that is empty; `kousoku` is a program that prints what was printed before."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / "script").write_text(SCRIPTS[shell](places))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kousoku").write_text(f'#!/bin/sh\n[ "$*" = "completion {shell}" ] && cat {tmp_path}/script\n')
    (tmp_path / "bin" / "kousoku").chmod(0o755)
    row = re.search(rf"^\| {shell} \| `([^`]+)`", PAGE.read_text(), re.M | re.I)
    assert row is not None
    home = {"HOME": str(tmp_path / "home"), "PATH": f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "home").mkdir()
    for words in (row[1], FOUND[shell]):
        done = subprocess.run([shell, "-c", words], capture_output=True, text=True, check=True, env=UTF8 | home)
        assert done.stderr == ""
    assert told in done.stdout


def test_shells_that_there_are_not(capsys):
    assert main(["completion"]) == 2
    assert "shell: got nothing; name one of bash, zsh, fish: kousoku completion bash" in capsys.readouterr().err
    assert main(["completion", "powershell"]) == 2
    assert "use one of 'bash', 'zsh', 'fish'" in capsys.readouterr().err
