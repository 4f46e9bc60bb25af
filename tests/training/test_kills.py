"""Runs of every kind of agent, killed at random moments and gone on with, in a folder with an odd name."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fast_compile import fast_compile_flags
from same_runs import lines, same

import kousoku as ks
from kousoku.training.io import checkpoints, run_folder
from kousoku.training.io.folder_lock import LOCK

DATA = "data of [1] %20 ü.npz"
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
    "rollouts without a buffer": f"train pqn CartPole-v1 {NETWORK} --num-steps 8",
    "differentiated": "train apg Pendulum-v1 --hidden 8 --num-envs 2 --num-steps 8",
    "data set": f"train iql Pendulum-v1 --hidden 8 --batch-size 16 --dataset '{DATA}'",
    "expert": "train dagger FrozenLake-v1 --hidden 8 --num-envs 4 --batch-size 16 --capacity 256",
    "generations": "train ars CartPole-v1 --num-directions 4 --env.time-limit 20",
    "episodes": "train monte_carlo FrozenLake-v1",
    "sweep": "sweep q_learning FrozenLake-v1 --learning-rate 0.1,0.5",
    "sweep of the environment": "sweep q_learning GridWorld-v0 --env.slip 0.1,0.3",
    "host": "train q_learning gymnasium:FrozenLake-v1",
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


def make_dataset(place: Path) -> None:
    """Writes random actions in Pendulum, and what they led to, as a data set."""
    agent = ks.make_agent("ppo", num_envs=4, num_steps=8, minibatches=1, epochs=1, hidden=(8,))
    run = ks.train(agent, "Pendulum-v1", steps=32, out="", eval_episodes=0, progress=False)
    ks.save_dataset(run.collect(800, greedy=False), place / DATA)


def killed_at_random(place: Path, kind: str, words: list[str], agree: Callable[[Path, Path], None]) -> None:
    """Kills runs as often as told while they work, and sees each end in agreement with the uninterrupted one.

    A run that ends before it was killed so often is followed by another one.
    """
    whole, moments = place / "whole", np.random.default_rng(list(KINDS).index(kind))
    assert ended(shell(place, *words, "--out", "whole"), PATIENCE)
    process = shell(place, *words, "--out", "again")  # which finds all that is compiled
    at_work(place / "again", process)
    began = time.monotonic()
    assert ended(process, PATIENCE)
    took = time.monotonic() - began
    same(place / "again", whole)
    kills, runs = 0, 0
    while kills < KILLS:
        name, runs = f"{runs} {ODD}", runs + 1
        begin, folder = (*words, "--out", name), place / name
        while kills < KILLS and not is_whole(folder):
            process = shell(place, *begin)
            at_work(folder, process)
            ended(process, moments.uniform(0, took if "--resume" not in begin else took / 2))
            kills += not is_whole(folder)
            begin = "train", "--resume", name
        if not is_whole(folder):
            assert ended(shell(place, *begin), PATIENCE)
        agree(folder, whole)
    print(f"{kind}: {kills} kills of {runs} runs of {took:.1f} s, all in agreement with the uninterrupted one")


@pytest.mark.full("processes")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "host"])
def test_killed_at_random_moments_it_ends_as_the_uninterrupted_one(tmp_path, kind):
    if kind == "data set":
        make_dataset(tmp_path)
    killed_at_random(tmp_path, kind, [*shlex.split(KINDS[kind]), *OFTEN.split(" ")], same)


def nothing_is_missing(run: Path, other: Path) -> None:
    """A run has every report and every step of another one, and its checkpoints can be read."""
    assert [line["step"] for line in lines(run)] == [line["step"] for line in lines(other)]
    assert ks.load(run).record.facts["status"] == "finished"
    ends = [checkpoints.newest(folder) for folder in (run, other)]
    assert ends[0].paths == ends[1].paths


@pytest.mark.full("processes")
def test_killed_at_random_moments_a_run_on_the_host_ends_whole(tmp_path):
    """Its bits are others: no checkpoint holds the state of objects, so that a resumed run begins new episodes."""
    killed_at_random(tmp_path, "host", [*KINDS["host"].split(" "), *OFTEN.split(" ")], nothing_is_missing)
