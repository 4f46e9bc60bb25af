"""Runs of every kind of agent, killed at random moments and gone on with, in a folder with an odd name."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fast_compile import fast_compile_flags
from same_runs import same

from kousoku.training.io import run_folder
from kousoku.training.io.folder_lock import LOCK

ODD = r"lr=[0.1,0.5] %20 ü\x"
KILLS = 15
PATIENCE = 300.0
OFTEN = "--record-every 64 --checkpoint-every 64 --eval-every 320 --eval-episodes 2 --seeds 2 --steps 640"
NETWORK = "--hidden 8 --num-envs 4"
ROLLOUTS = f"{NETWORK} --num-steps 8 --minibatches 2 --epochs 2"
KINDS = {
    "table": "train q_learning GridWorld-v0 --record returns,metrics,visits,q_values",
    "model": "train dyna_q GridWorld-v0",
    "bandit": "train bandit_ucb DriftingBandit-v0",
    "rollouts": f"train ppo Pendulum-v1 {ROLLOUTS}",
    "recurrent": f"train ppo Pendulum-v1 {ROLLOUTS} --recurrent gru",
    "replay": f"train dqn CartPole-v1 {NETWORK} --learning-starts 128 --batch-size 16 --capacity 256",
    "actor and critics": (
        f"train sac Pendulum-v1 {NETWORK} --learning-starts 128 --batch-size 16 --capacity 256 --update-ratio 1/4 "
        "--policy-delay 2 --n-step 2 --prioritised true"
    ),
    "running moments": (
        f"train sac Pendulum-v1 {NETWORK} --learning-starts 128 --batch-size 16 --capacity 256 --update-ratio 1/4 "
        "--policy-delay 3 --actor-body crossq --critic-body crossq"
    ),
    "dropout": (
        f"train td3 Pendulum-v1 {NETWORK} --learning-starts 128 --batch-size 16 --capacity 256 --update-ratio 1/4 "
        "--actor-body simba --critic-body droq --dropout 0.1"
    ),
    "generations": "train ars CartPole-v1 --num-directions 4 --env.time-limit 20",
    "sweep": "sweep q_learning FrozenLake-v1 --learning-rate 0.1,0.5",
}


def shell(place: Path, *words: str) -> subprocess.Popen[str]:
    """A shell command in a process of its own: XLA rounds as its options say, and those of this process are others."""
    return subprocess.Popen(
        [sys.executable, "-m", "kousoku", *words], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "XLA_FLAGS": fast_compile_flags()},
    )  # fmt: skip


def ended(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether a process comes to its end by itself within so many seconds; it is killed after them."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    _, told = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), told
    return process.returncode == 0


def at_work(folder: Path, process: subprocess.Popen[str]) -> None:
    """Waits until a process holds the folder, or has ended."""
    while process.poll() is None:
        with contextlib.suppress(FileNotFoundError, ValueError):
            if json.loads((folder / LOCK).read_text())["pid"] == process.pid:
                return
        time.sleep(0.005)


def is_whole(folder: Path) -> bool:
    """Whether nothing is missing of a run."""
    return run_folder.has_ended(folder) and (folder / "report.html").is_file()


@pytest.mark.full("processes")
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_moments_it_ends_as_the_uninterrupted_one(tmp_path, kind):
    """As often as told, while it works; a run that ends before it was killed so often is followed by another one."""
    words = [*KINDS[kind].split(" "), *OFTEN.split(" ")]
    whole, moments = tmp_path / "whole", np.random.default_rng(list(KINDS).index(kind))
    assert ended(shell(tmp_path, *words, "--out", "whole"), PATIENCE)
    process = shell(tmp_path, *words, "--out", "again")  # which finds all that is compiled
    at_work(tmp_path / "again", process)
    began = time.monotonic()
    assert ended(process, PATIENCE)
    took = time.monotonic() - began
    same(tmp_path / "again", whole)
    kills, runs = 0, 0
    while kills < KILLS:
        name, runs = f"{runs} {ODD}", runs + 1
        begin, folder = (*words, "--out", name), tmp_path / name
        while kills < KILLS and not is_whole(folder):
            process = shell(tmp_path, *begin)
            at_work(folder, process)
            ended(process, moments.uniform(0, took if "--resume" not in begin else took / 2))
            kills += not is_whole(folder)
            begin = "train", "--resume", name
        if not is_whole(folder):
            assert ended(shell(tmp_path, *begin), PATIENCE)
        same(folder, whole)
    print(f"{kind}: {kills} kills of {runs} runs of {took:.1f} s, all as the uninterrupted one")
