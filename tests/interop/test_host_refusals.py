"""What is refused of environments on the host, each in one line that says what would do."""

import dataclasses
import importlib
import sys
import threading

import gymnasium
import jax
import numpy as np
import pytest
from fresh_process import check_refusals
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from host_worlds import Counter, Push, Rooms

import kousoku as ks
from kousoku.core.env_shapes import check_shapes
from kousoku.training.evaluation.host_film import host_film


def refused(function, *args, **options):
    with pytest.raises(ks.ConfigError) as caught:
        function(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("agent", ["ars", "apg"])
def test_agents_that_need_the_environment_in_a_program_are_refused(agent):
    said = refused(ks.train, agent, ks.from_gymnasium(Push), steps=10_000, out="")
    assert said.endswith("it needs an environment in its program, and Push runs on the host; use 'ppo', 'sac' or 'dqn'")


def test_the_readable_loop_and_what_is_drawn_are_refused():
    assert "there is one loop" in refused(ks.train, "q_learning", ks.from_gymnasium(Rooms), steps=9, loop="python")
    assert "to be drawn" in refused(ks.animate, ks.from_gymnasium(Counter))


def test_its_methods_give_shapes_alone():
    env, key = ks.from_gymnasium(Counter), jax.random.key(0)
    assert "it lives on the host" in refused(env.reset, key)
    with pytest.raises(ks.ContractError, match="Counter runs on the host"):
        ks.check_env(env)


class ManyInOne(gymnasium.vector.VectorEnv, gymnasium.Env):
    """A vector that is an environment, too, as EnvPool's are."""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (3, "give a gymnasium.Env, a function that makes one"),
        (lambda: 3, "the function has to return a gymnasium.Env"),
        (lambda: 1 / 0, "it cannot be made: division by zero"),
        (lambda: sys.exit(3), "it cannot be made: it called sys.exit(3)"),
        (lambda: SyncVectorEnv([Counter]), "the function has to return a gymnasium.Env; give a vector itself"),
        (lambda: ManyInOne(), "the function has to return a gymnasium.Env; give a vector itself"),
        (lambda: gymnasium.Wrapper(ManyInOne()), "the function has to return a gymnasium.Env; give a vector itself"),
        (lambda: ks.to_envpool("CartPole-v1", 4), "env: got 'EnvPoolLike'; it is a pool of EnvPool's: give it to kou"),
        (lambda: gymnasium.Wrapper(ks.to_envpool("CartPole-v1", 4)), "it is a pool of EnvPool's: give it to kousoku"),
    ],
)
def test_what_is_no_environment(given, told):
    assert told in refused(ks.from_gymnasium, given)


class Bare(gymnasium.Env):
    """Tells its spaces later, or never."""

    def __init__(self, **told):
        vars(self).update(told)


class BareVector(gymnasium.vector.VectorEnv):
    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(self, **told):
        vars(self).update(told)


class Leaves(gymnasium.Env):
    """Ends the program where it is asked for a space, closed or copied."""

    action_space = Discrete(2)

    def __init__(self, at="space"):
        self.at = at

    @property
    def observation_space(self):
        return sys.exit("no display") if self.at == "space" else DONE

    def close(self):
        sys.exit(4)

    def __deepcopy__(self, memo):
        sys.exit(5)


class Broken(gymnasium.Env):
    """Fails where it is asked for a space."""

    @property
    def observation_space(self):
        raise KeyError("not yet")


SEEN, DONE = Box(-1, 1, (2,)), Discrete(2)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Bare, "env: got 'Bare'; it has no observation_space; set self.observation_space in its __init__"),
        (Bare(), "env: got 'Bare'; it has no observation_space; set"),
        (lambda: Bare(observation_space=SEEN), "it has no action_space; set"),
        (Bare(observation_space=None, action_space=DONE), "it has no observation_space; set"),
        (gymnasium.Wrapper(Bare(observation_space=SEEN)), "it has no action_space; set"),
        (Leaves, "env: got 'Leaves'; it cannot be asked for its observation_space: it called sys.exit('no display')"),
        (lambda: Leaves("close"), "it cannot be closed: it called sys.exit(4)"),
        (
            Leaves("copy"),
            "env: got 'Leaves'; every slot needs a copy, which it does not allow (SystemExit); give a func",
        ),
        (Broken, "env: got 'Broken'; it cannot be asked for its observation_space: 'not yet'"),
        (BareVector(), "env: got 'BareVector'; it has no single_observation_space; set"),
        (BareVector(single_observation_space=SEEN), "it has no single_action_space; set"),
        (BareVector(single_observation_space=SEEN, single_action_space=DONE), "it has no num_envs; set"),
    ],
)
def test_what_an_environment_does_not_tell_is_named(given, told):
    assert told in refused(ks.from_gymnasium, given)


def test_a_name_is_a_text():
    cases = {f"ks.from_gymnasium(make, name={name})": "use a text" for name in (3, [1])}
    check_refusals(cases, "import gymnasium\nimport kousoku as ks\nmake = lambda: gymnasium.make('CartPole-v1')")


def test_ids_that_gymnasium_does_not_know_and_what_it_misses():
    assert "gymnasium:NoSuch-v0" in refused(ks.make, "gymnasium:NoSuch-v0")
    assert "workers" in refused(ks.make, "gymnasium:CartPole-v1", workers=-1)
    assert "unexpected keyword argument 'gravityy'" in refused(ks.make, "gymnasium:CartPole-v1", gravityy=1)


def test_what_a_missing_module_is_installed_with_is_told(monkeypatch):
    """Gymnasium's robots import glfw; `None` in the place of a module is Python's way to have none."""
    for name in [each for each in sys.modules if each.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("glfw", "cv2"):
        monkeypatch.setitem(sys.modules, name, None)
    robots = "; pip install 'gymnasium[mujoco]'"
    assert refused(ks.make, "gymnasium:Ant-v5").endswith(f"{robots}, or use our own 'Ant-v5'")
    assert refused(ks.from_gymnasium, lambda: gymnasium.make("Ant-v5")).endswith(robots)
    assert refused(ks.from_gymnasium, lambda: importlib.import_module("cv2")).endswith("; pip install opencv-python")
    assert refused(ks.from_gymnasium, lambda: importlib.import_module("no_such.at_all")).endswith(
        "; pip install no_such"
    )
    assert "pip install" not in refused(ks.from_gymnasium, lambda: importlib.import_module("kousoku.no_such_one"))
    assert "pip install" not in refused(ks.from_gymnasium, lambda: gymnasium.make("no_such_one:Ant-v5"))


_METHODS = dict.fromkeys(("reset", "step", "observation_spec"), print)
_THEIRS = type("Theirs", (), _METHODS | {"__module__": "dm_env_like.core"})


def test_other_libraries_environments_are_pointed_to_the_doors():
    assert "give kousoku.from_gymnasium(...) of it" in refused(check_shapes, gymnasium.make("CartPole-v1"))
    assert "it is dm_env_like's: give kousoku.from_dm_env(...) of it" in refused(check_shapes, _THEIRS())
    assert "gymnasium:LunarLander-v3" in refused(ks.make, "LunarLander-v3")
    assert "gymnasium:ALE/Pong-v5" in refused(ks.make, "ALE/Pong-v5")


def test_a_vector_is_as_large_as_all_slots_and_resets_by_masks():
    small = {"num_envs": 2, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,), "out": ""}
    vector = SyncVectorEnv([Counter] * 4, autoreset_mode=AutoresetMode.DISABLED)
    env = ks.from_gymnasium(vector)
    assert "is a vector of 4 environments, and 1 agent x 2 is not as many" in refused(
        ks.train, "ppo", env, steps=64, **small
    )
    assert "has the vector" in refused(ks.train, "ppo", env, steps=64, seeds=2, eval_every=16, **small)
    same = SyncVectorEnv([Counter] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    assert "make it with gymnasium.vector.AutoresetMode.DISABLED" in refused(ks.from_gymnasium, same)
    assert "the vector has its own" in refused(ks.from_gymnasium, vector, workers=2)


def test_a_factory_that_cannot_be_sent_is_refused():
    lock = threading.Lock()
    env = ks.from_gymnasium(lambda: (lock, Rooms())[1], workers=1)
    assert "cannot be sent to another process" in refused(ks.train, "q_learning", env, steps=10, out="")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: ks.wrappers.FrameStackObservation(env, 2),
        lambda env: ks.wrappers.TimeLimit(env, 5),
        lambda env: ks.wrappers.ClipReward(env, -1, 1),
    ],
)
def test_our_wrappers_are_for_what_programs_step(wrap):
    env = ks.from_gymnasium(lambda: gymnasium.make("CartPole-v1"))
    assert "it runs on the host: put its own library's wrappers around it" in refused(wrap, env)


def test_a_pool_is_as_large_as_all_slots_and_gives_all_at_once():
    small = {"num_envs": 2, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,), "out": ""}
    env = ks.from_envpool(ks.to_envpool("CartPole-v1", 4))
    assert "is a vector of 4 environments, and 1 agent x 2 is not as many" in refused(
        ks.train, "ppo", env, steps=64, **small
    )
    assert "num_envs of the pool: got 4; the agents have 3 slots" in refused(env.make_vector, [0, 1, 2])
    assert "make it with batch_size=4" in refused(ks.from_envpool, ks.to_envpool("CartPole-v1", 4, batch_size=2))
    assert "give a pool of envpool.make_gymnasium" in refused(ks.from_envpool, gymnasium.make("CartPole-v1"))
    pool = ks.to_envpool("CartPole-v1", 4)
    for given in (pool, gymnasium.Wrapper(pool)):
        assert "give it to kousoku.from_envpool" in refused(ks.from_gymnasium, given)
    assert "kousoku.from_envpool(...) of it" in refused(check_shapes, pool)
    many = type("Many", (type(pool),), {"config": property(lambda pool: {"max_num_players": 2})})
    assert "it has several players" in refused(ks.from_envpool, many(ks.make("CartPole-v1"), 4))


@pytest.mark.parametrize("failing", ["reset", "step", "pixels", "close"])
def test_whatever_fails_while_a_film_is_made_is_told_as_the_environments(failing):
    class Drawn:
        dt = 0.1

        def _asked(self, what):
            if what == failing:
                sys.exit(3)

        def reset(self):
            self._asked("reset")
            return [np.zeros((1, 2), np.float32)]

        def step(self, actions):
            self._asked("step")
            return [np.zeros((1, 2), np.float32)], np.zeros(1), np.array([True]), np.array([False])

        def pixels(self):
            self._asked("pixels")
            return np.zeros((4, 4, 3), np.uint8)

        def close(self):
            self._asked("close")

    env = dataclasses.replace(ks.from_gymnasium(Counter), make_drawn=lambda seeds: Drawn())
    with pytest.raises(ks.EnvError, match=r"^environment Counter raised SystemExit"):
        host_film(env, lambda obs, t: [np.zeros(1)], 0, "film", 5, 10.0)
