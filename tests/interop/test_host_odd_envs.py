"""Environments on the host that keep Gymnasium's protocol loosely, or not at all: what is taken, what is told."""

import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from host_worlds import Loose

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.interop.host import workers as workers_module
from kousoku.interop.host.spaces import our_space
from kousoku.interop.host.values import batched, leaves_of, single, written
from kousoku.training.io.env_config import check_same, env_json

for module in (__name__, "host_worlds"):
    cloudpickle.register_pickle_by_value(sys.modules[module])


def stepped(make, workers=0):
    slots = HostSlots(ks.from_gymnasium(make, workers=workers), [0, 1])
    try:
        return slots.step([np.zeros(2, np.int32)])
    finally:
        slots.close()


@pytest.mark.parametrize("reward", [2, np.float64(2), np.array(2.0), np.array([2]), np.array([[2.0]]), Fraction(2)])
def test_a_reward_may_be_an_array_of_one_number(reward):
    assert stepped(lambda: Loose(reward=reward)).reward.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("flag", [True, np.bool_(True), np.array([True]), 1])
def test_so_may_flags(flag):
    step = stepped(lambda: Loose(terminated=flag, truncated=flag))
    assert (step.terminated.tolist(), step.truncated.tolist()) == ([True, True], [True, True])


REFUSED = {
    "two rewards": (lambda: Loose(reward=np.zeros(2)), r"its reward has the shape \(2,\), and has to be one number"),
    "no reward": (lambda: Loose(reward=None), "its reward is None, and has to be a number"),
    "two flags": (lambda: Loose(terminated=np.zeros(2, bool)), r"its terminated has the shape \(2,\)"),
    "an index too large": (lambda: Loose(obs=5), r"an observation has 5, which is not in Discrete\(5\)"),
    "an index too small": (lambda: Loose(obs=-1), r"an observation has -1, which is not in Discrete\(5\)"),
    "a fraction": (lambda: Loose(obs=2.5), r"an observation has 2.5, which is not in Discrete\(5\)"),
    "below its start": (
        lambda: Loose(spaces.Discrete(3, start=7), obs=6),
        r"an observation has 6, which is not in Discrete\(3, start=7\)",
    ),
    "one of several": (
        lambda: Loose(spaces.MultiDiscrete([2, 3]), obs=[1, 3]),
        r"an observation has 3, which is not in MultiDiscrete\(\[2 3\]\)",
    ),
    "no bit": (lambda: Loose(spaces.MultiBinary(2), obs=[0, 2]), r"an observation has 2, which is not in MultiBinary"),
}


@pytest.mark.parametrize(("make", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_number_or_outside_its_space_is_told_in_one_line(make, told):
    with pytest.raises(ks.EnvError, match=rf"^environment Loose raised ValueError: {told}") as caught:
        stepped(make)
    assert "\n" not in str(caught.value)


def test_a_vector_whose_index_lies_outside_is_told_too():
    vector = SyncVectorEnv([lambda: Loose(obs=5)] * 2, autoreset_mode=AutoresetMode.DISABLED)
    slots = HostSlots(ks.from_gymnasium(vector), [0, 1])
    with pytest.raises(ks.EnvError, match="an observation has 5"):
        slots.step([np.zeros(2, np.int32)])


def test_what_is_single_is_a_vector():
    assert single("reward", (1, np.ones(1, np.float64)[0]), np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="None"):
        single("reward", (1.0, None), np.float32)


def test_numbers_beyond_32_bits_are_the_largest():
    leaves = leaves_of(spaces.Box(-(2**40), 2**40, (3,), np.int64))
    far = np.array([-(2**40), 5, 2**40])
    for (ours,) in (written(leaves, [far]), batched(leaves, far[None])):
        assert (ours.dtype, ours.tolist()) == (np.int32, [[-(2**31), 5, 2**31 - 2]])


def test_truth_values_are_bytes_here_and_truth_there():
    space = spaces.Dict({"seen": spaces.Box(np.zeros((2, 2), bool), np.ones((2, 2), bool), dtype=bool)})
    assert our_space("observation_space", space) == Dict({"seen": Box(0, 1, (2, 2), np.uint8)})
    seen = np.array([[True, False], [False, True]])
    step = stepped(lambda: Loose(space, {"seen": seen}))
    assert (step.next_obs[0].dtype, step.next_obs[0][1].tolist()) == (np.uint8, [[1, 0], [0, 1]])


@pytest.mark.by_default("0")
@pytest.mark.parametrize("workers", [0, 1])
def test_one_that_ends_the_program_is_one_that_fails(workers):
    class Closed(Loose):
        def step(self, action):
            sys.exit(3)

    with pytest.raises(ks.EnvError, match=r"^environment Closed raised RuntimeError: it called sys.exit\(3\)$"):
        stepped(Closed, workers)


def raised_by(error):
    """A class of environments that raise an error in a step, or at the beginning of the second episode."""

    class Own(Loose):
        episodes = 0

        def reset(self, *, seed=None, options=None):
            self.episodes += 1
            if self.episodes > 1:
                raise error
            return self.first, {}

        def step(self, action):
            if not self.told[2]:
                raise error
            return self.told

    return Own


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("error", [ks.ConfigError("speed", 3, "use 2"), ks.EnvError("no wind"), ValueError("no wind")])
def test_errors_of_ours_that_it_raises_itself_are_its_own(error, ends):
    with pytest.raises(ks.EnvError) as caught:
        stepped(lambda: raised_by(error)(terminated=ends))
    assert str(caught.value) == f"environment Own raised {type(error).__name__}: {error}"


def test_an_error_of_a_worker_names_its_environment_once():
    with pytest.raises(ks.EnvError, match=r"^environment Own raised EnvError: no wind$"):
        stepped(raised_by(ks.EnvError("no wind")), workers=1)


def test_what_was_learned_is_kept_where_it_raises_an_error_of_ours(tmp_path):
    class Soon(Loose):
        steps = 0

        def step(self, action):
            Soon.steps += 1
            if Soon.steps > 60:
                raise ks.ConfigError("speed", 3, "use 2")
            return self.told

    with pytest.raises(ks.EnvError, match="environment Soon raised ConfigError: speed: got 3; use 2"):
        ks.train("q_learning", ks.from_gymnasium(Soon), steps=400, out=str(tmp_path / "run"))
    assert ks.load(tmp_path / "run").record.facts["steps"] == 60


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterator_of_its_own_that_has_come_to_its_end_is_told(workers):
    """A generator that a StopIteration leaves would let it out as it is."""

    class Reads(Loose):
        def step(self, action):
            return next(iter(()))

    with pytest.raises(ks.EnvError, match=r"^environment Reads raised StopIteration: "):
        stepped(Reads, workers)


def test_workers_close_their_environments(tmp_path):
    class Writes(Loose):
        def close(self):
            (tmp_path / str(id(self))).write_text("closed")

    slots = HostSlots(ks.from_gymnasium(Writes, workers=2), [0, 1, 2])
    before = len(list(tmp_path.iterdir()))  # the one that told the spaces is closed already
    slots.close()
    assert len(list(tmp_path.iterdir())) >= before + 2, "of two processes; places in memory may be the same"


@pytest.mark.full("processes")
def test_a_worker_in_the_midst_of_a_step_ends_with_the_process_that_started_it(tmp_path):
    """One that is killed can tell nobody, and an environment that hangs reads nothing."""
    script = f"""
import os, time
from pathlib import Path
import gymnasium, numpy as np
import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
class Hangs(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return 0, {{}}
    def step(self, action):
        Path({str(tmp_path)!r}, "worker").write_text(str(os.getpid()))
        time.sleep(600)
slots = HostSlots(ks.from_gymnasium(Hangs, workers=1), [0])
slots.step([np.zeros(1, np.int32)])
"""
    started = subprocess.Popen([sys.executable, "-c", script])
    told = tmp_path / "worker"
    wait_until(lambda: told.exists() and told.read_text(), 60)
    worker = int(told.read_text())
    started.kill()
    started.wait()
    wait_until(lambda: not is_alive(worker), 60)


@pytest.mark.parametrize("interrupted", [False, True])
def test_processes_that_hang_are_ended_together(interrupted, monkeypatch, tmp_path):
    """After one wait for all of them; or none, where somebody interrupts it."""

    class Stays(Loose):
        def close(self):
            time.sleep(600)

    monkeypatch.setattr(workers_module, "SECONDS_TO_END", 0.5)
    vector = workers_module.Workers("Stays", Stays, [0, 1, 2], 3)
    processes = list(vector._processes)
    if interrupted:

        def wait(self, timeout=None):
            if timeout is not None:
                raise KeyboardInterrupt
            return begun(self)

        begun = subprocess.Popen.wait
        monkeypatch.setattr(subprocess.Popen, "wait", wait)
        with pytest.raises(KeyboardInterrupt):
            vector.close()
    else:
        vector.close()
    assert [process.returncode for process in processes] == [-9, -9, -9]


def wait_until(holds, seconds):
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def is_alive(process):
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_one_that_ends_the_program_as_it_is_made_is_one_that_fails():
    made = []

    def make():
        made.append(None)
        return Loose() if len(made) == 1 else sys.exit(3)  # the first one tells the spaces

    with pytest.raises(ks.EnvError, match=r"^environment Loose raised SystemExit: 3$"):
        stepped(make)


def test_what_it_starts_does_not_read_what_its_worker_is_asked():
    class Starts(Loose):
        def step(self, action):
            code = "import sys; sys.exit(len(sys.stdin.read()))"
            read = subprocess.run([sys.executable, "-c", code], timeout=20).returncode
            return len(sys.stdin.read()), float(read), False, False, {}

    step = stepped(Starts, workers=1)
    assert (step.reward.tolist(), step.next_obs[0].tolist()) == ([0.0, 0.0], [0, 0])


def test_one_that_cannot_be_closed_is_told_and_the_others_are_closed():
    closed = []

    class Stays(Loose):
        def close(self):
            closed.append(self)
            raise OSError("it is in use")

    with pytest.raises(ks.ConfigError, match=r"^env: got 'Stays'; it cannot be closed: it is in use$"):
        ks.from_gymnasium(Stays)
    closed.clear()
    env = ks.from_gymnasium(Stays())
    with pytest.raises(ks.EnvError, match="environment Stays raised OSError: it is in use"):
        HostSlots(env, [0, 1, 2]).close()
    assert len(closed) == 3


def test_those_that_were_made_are_closed_where_one_cannot_be():
    closed, made = [], []

    class Few(Loose):
        def __init__(self):
            made.append(self)
            if len(made) > 3:
                raise MemoryError("no more than two")
            super().__init__()

        def close(self):
            closed.append(self)

    env = ks.from_gymnasium(Few)
    with pytest.raises(ks.EnvError, match="environment Few raised MemoryError: no more than two"):
        HostSlots(env, range(9))
    assert closed == made[:3]


@dataclass(frozen=True)
class Spec:
    """A spec of dm_env's, by what it has."""

    shape: tuple[int, ...]
    dtype: Any
    minimum: Any = -1
    maximum: Any = 1


@dataclass(frozen=True)
class Index:
    """A DiscreteArray of dm_env's, by what it has."""

    num_values: int
    shape: tuple[int, ...] = ()
    dtype: Any = np.int32


class OfSpec:
    """An environment with dm_env's protocol that notes its actions."""

    def __init__(self, spec: Any, reward: Any = 1.0) -> None:
        self.spec, self.reward, self.seen = spec, reward, []

    def reset(self) -> Any:
        return SimpleNamespace(observation=np.zeros(1), reward=None, discount=None, last=lambda: False)

    def step(self, action: Any) -> Any:
        self.seen.append(action)
        ends = {"first": lambda: False, "last": lambda: True}
        return SimpleNamespace(observation=np.zeros(1), reward=self.reward, discount=np.zeros(1), **ends)

    def action_spec(self) -> Any:
        return self.spec

    def observation_spec(self) -> Any:
        return Spec((1,), np.float64)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("spec", "ours"),
    [
        (Index(3), Discrete(3)),
        (Index(3, dtype=np.int64), Discrete(3)),
        (Spec((), np.int32, 2, 4), Discrete(3)),
        (Spec((2,), np.int32, 1, np.array([3, 4])), MultiDiscrete((3, 4))),
        (Spec((1,), np.uint8, 0, 255), MultiDiscrete((256,))),
        (Spec((), bool, False, True), Discrete(2)),
        (Spec((2,), np.float16), Box(-1.0, 1.0, (2,))),
        (Spec((2,), np.float64), Box(-1.0, 1.0, (2,))),
        (Spec((2, 2), np.int64, 0, 3), Box(0, 3, (2, 2), np.int32)),
        (Spec((), np.int32, 0, 256), Box(0, 256, (), np.int32)),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_actions_of_dm_env_are_in_the_dtypes_of_their_specs(spec, ours, nested):
    """Whole numbers are chosen among, from the least one on, where they are few."""
    it = OfSpec({"parts": (spec, Index(2))} if nested else spec)
    env = ks.from_dm_env(lambda: it)
    whole: Any = env.action_space
    assert (whole.spaces["parts"].spaces["0"] if nested else whole) == ours
    vector = env.make_vector([0])
    vector.reset()
    zeros = jax.tree.map(lambda x: np.zeros((1, *x.shape), x.dtype), env.action_space.sample(jax.random.key(0)))
    vector.step(jax.tree.leaves(zeros))
    (action,) = it.seen
    action = action["parts"][0] if nested else action
    assert (action.dtype, action.shape) == (spec.dtype, spec.shape)
    low = spec.minimum if isinstance(spec, Spec) and not isinstance(ours, Box) else 0
    assert np.array_equal(action, np.full(spec.shape, low))


@pytest.mark.parametrize("reward", [2, np.array([2.0]), np.array(2.0), np.float32(2)])
def test_a_reward_of_dm_env_may_be_an_array_of_one_number(reward):
    slots = HostSlots(ks.from_dm_env(OfSpec(Index(2), reward)), [0, 1])
    step = slots.step([np.zeros(2, np.int32)])
    slots.close()
    assert step.reward.tolist() == [2.0, 2.0]
    assert step.terminated.tolist() == [True, True]


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (np.array([0.0, 2.0]), r"its reward has the shape \(2,\), and has to be one number"),
        (None, "its reward is None, and has to be a number"),
    ],
)
def test_several_rewards_of_dm_env_and_none_are_told_apart_from_one(reward, told):
    slots = HostSlots(ks.from_dm_env(OfSpec(Index(2), reward)), [0, 1])
    with pytest.raises(ks.EnvError, match=told):
        slots.step([np.zeros(2, np.int32)])
    slots.close()


def test_the_first_step_of_dm_env_has_no_reward():
    """Also where an environment begins the next episode by itself."""
    it = OfSpec(Index(2), None)
    told = SimpleNamespace(observation=np.zeros(1), reward=None, discount=None, first=lambda: True, last=lambda: False)
    it.step = lambda action: told
    slots = HostSlots(ks.from_dm_env(lambda: it), [0])
    step = slots.step([np.zeros(1, np.int32)])
    slots.close()
    assert step.reward.tolist() == [0.0]


def make_one():
    return OfSpec(Index(2))


def make_another():
    return OfSpec(Index(2), 2.0)


def test_functions_that_make_one_of_dm_env_are_told_as_gymnasiums_are():
    begun = env_json(ks.from_dm_env(make_one), {})
    check_same(ks.from_dm_env(lambda: OfSpec(Index(2))), begun)
    with pytest.raises(ks.ConfigError) as caught:
        check_same(ks.from_dm_env(make_another), begun)
    assert str(caught.value) == "what makes env: got 'make_another'; the run was started with 'make_one'"
