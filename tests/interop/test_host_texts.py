"""Texts that environments on the host say: observed as the indices of their characters, whoever steps them."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from host_worlds import FORMS, TEXT, Spoken

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.core.spaces import Box, Dict, Discrete
from kousoku.interop.host import texts
from kousoku.interop.host.spaces import our_space
from kousoku.interop.host.values import leaves_of, observed, written

ROW = Box(0, 11, (6,), np.int32)
PLACE = {"whole": 0, "dict": 1, "tuple": 1}
SMALL = {"num_envs": 2, "num_steps": 8, "minibatches": 2, "hidden": (8,), "out": "", "progress": False}


def rows(*words):
    return [spaces.flatten(TEXT, word).tolist() for word in words]


@pytest.mark.parametrize(
    ("form", "ours"),
    [
        ("whole", ROW),
        ("dict", Dict({"at": Box(0, 9, (1,)), "told": ROW})),
        ("tuple", Dict({"0": Discrete(2), "1": ROW})),
    ],
)
def test_its_space_is_that_of_gymnasiums_flattened_text(form, ours):
    assert our_space("observation_space", FORMS[form][0]) == ours
    flat = spaces.flatten_space(TEXT)
    assert (ROW.low, ROW.high, ROW.shape, ROW.dtype) == (flat.low[0], flat.high[0], flat.shape, flat.dtype)


def vector_of(form):
    return SyncVectorEnv([lambda: Spoken(form)] * 3, autoreset_mode=AutoresetMode.DISABLED)


HOSTS = {
    "here": lambda form: ks.from_gymnasium(lambda: Spoken(form)),
    "worker": lambda form: ks.from_gymnasium(lambda: Spoken(form), workers=2),
    "vector": lambda form: ks.from_gymnasium(vector_of(form)),
}


@pytest.mark.by_default("here-*", "worker-dict", "vector-*")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_text_is_the_indices_that_gymnasium_gives_its_characters(host, form):
    slots = HostSlots(HOSTS[host](form), [3, 4, 5])
    try:
        assert slots.obs[PLACE[form]].tolist() == rows("wait", "left", "right")
        for _ in range(5):
            slots.step([np.zeros(3, np.int32)])
        last = slots.step([np.array([2, 0, 1])])
        assert last.reward.tolist() == [1, 1, 1]
        assert last.truncated.all()
        assert last.next_obs[PLACE[form]].tolist() == rows("wait", "left", "right")
        assert slots.step([np.zeros(3, np.int32)]).next_obs[PLACE[form]].tolist() == rows("left", "right", "wait")
    finally:
        slots.close()


@pytest.mark.by_default("True")
@pytest.mark.parametrize("shared", [True, False])
def test_a_vector_of_processes_gives_texts_anew_where_they_share_no_memory(shared):
    """Where they do, Gymnasium reads the texts once, before there are any."""
    options = {"autoreset_mode": AutoresetMode.DISABLED, "context": "spawn", "shared_memory": shared}
    vector = AsyncVectorEnv([Spoken] * 3, **options)
    try:
        if shared:
            with pytest.raises(ks.ConfigError, match=r"renew texts in memory that is shared; make it with sha"):
                ks.from_gymnasium(vector)
        else:
            slots = HostSlots(ks.from_gymnasium(vector), [3, 4, 5])
            assert slots.obs[1].tolist() == rows("wait", "left", "right")
            assert slots.step([np.zeros(3, np.int32)]).next_obs[1].tolist() == rows("left", "right", "wait")
    finally:
        vector.close()


def test_what_a_text_lacks_is_the_index_behind_the_last():
    (row,) = written(leaves_of(TEXT), ["", "fetal"])
    assert row.tolist() == [[11] * 6, [*map("wait lefrgh".index, "fetal"), 11]]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("wörter", r"has the character 'ö' in 'wörter', which its space's charset has not"),
        ("a\nb", r"has the character '\\n' in 'a\\nb', which its space's charset has not"),
        ("leftright" * 9, r"has 81 characters, 'leftrightleft.*\.\.\., and its space at most 6"),
        (3, "has 3, and has to be a text"),
        (b"left", "has b'left', and has to be a text"),
        (None, "has None, and has to be a text"),
        (np.zeros((2, 2)), r"has array\(\[\[0., 0.\], \[0., 0.\]\]\), and has to be a text"),
    ],
    ids=repr,
)
def test_what_is_no_text_of_the_space_is_told_in_one_line(said, told):
    for form, place in (("dict", r"\['told'\]"), ("tuple", r"\[1\]"), ("whole", "")):
        with pytest.raises(ks.EnvError, match=rf"^environment Spoken raised ValueError: an observation{place} {told}$"):
            HostSlots(ks.from_gymnasium(lambda form=form: Spoken(form, words=(said,))), [0])


def test_texts_that_come_together_are_as_many_as_there_are_environments():
    leaves = leaves_of(FORMS["dict"][0])
    together = {"at": np.zeros((2, 1)), "told": ("left", "wait")}
    assert observed(leaves, 2, together)[1].tolist() == rows("left", "wait")
    assert observed(leaves, 2, together | {"told": np.array(["left", "wait"])})[1].tolist() == rows("left", "wait")
    for said, shape in ((("left",) * 3, r"\(3, 6\)"), ("at", r"\(1, 6\)")):
        with pytest.raises(
            ValueError, match=rf"its observation\['told'\] has the shape {shape}, and \(2, 6\) is needed"
        ):
            observed(leaves, 2, together | {"told": said})
    with pytest.raises(ValueError, match=r"an observation\['told'\] has 3, and has to be a text"):
        observed(leaves, 2, together | {"told": 3})


def test_characters_of_a_set_have_the_same_order_in_every_process(monkeypatch):
    assert texts.codes_of(spaces.Text(2, charset=frozenset("hgfedcba"))) == {c: i for i, c in enumerate("abcdefgh")}
    monkeypatch.setattr(texts, "ORDERED", False)  # as before Gymnasium 1.4
    assert texts.codes_of(spaces.Text(2, charset="hgfedcba")) == {c: i for i, c in enumerate("abcdefgh")}


class Writes(Spoken):
    action_space = spaces.Tuple([spaces.Discrete(2), TEXT])


def test_an_action_is_no_text():
    told = r"^action_space of Writes: got 'Tuple'; no agent writes a Text: use a MultiDiscrete, of which a gymnasium."
    with pytest.raises(ks.ConfigError, match=told):
        ks.from_gymnasium(Writes)
    with pytest.raises(ks.ConfigError, match="no agent writes a Text"):
        ks.from_gymnasium(SyncVectorEnv([Writes], autoreset_mode=AutoresetMode.DISABLED))


def test_agents_learn_from_it_and_their_policies_take_the_indices():
    run = ks.train("ppo", ks.from_gymnasium(Spoken), steps=64, eval_episodes=1, **SMALL)
    policy, seen = ks.load_policy(run), {"at": np.zeros(1), "told": spaces.flatten(TEXT, "left")}
    assert policy(seen) in (0, 1, 2)
    with pytest.raises(ks.ConfigError, match=r"^observation\['told'\]: got 'left'; use an array of shape \(6,\)"):
        policy(seen | {"told": "left"})


MINIGRID = """
import gymnasium
from gymnasium import spaces
from .core.mission import MissionSpace

class Goes(gymnasium.Env):
    action_space = spaces.Discrete(2)
    def __init__(self, words=(["red", "blue"], ["a", "ball"])):
        self.observation_space = spaces.Dict({"mission": MissionSpace(lambda *named: "to " + " ".join(named), words)})
    def reset(self, *, seed=None, options=None):
        return {"mission": "to red ball"}, {}
    def step(self, action):
        return {"mission": "to blue a"}, 1.0, True, False, {}

gymnasium.register("MiniGrid-Goes-v0", "minigrid:Goes")
"""
MISSION = """
import gymnasium

class MissionSpace(gymnasium.Space):
    def __init__(self, mission_func, ordered_placeholders):
        super().__init__(dtype=str)
        self.mission_func, self.ordered_placeholders = mission_func, ordered_placeholders

class AnyMission(MissionSpace):
    pass
"""


@pytest.fixture
def minigrid(tmp_path, monkeypatch):
    """A package with MiniGrid's name and space, which registers one environment when it is imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "minigrid"]:
        monkeypatch.delitem(sys.modules, name)
    files = {
        "minigrid/__init__.py": MINIGRID,
        "minigrid/core/__init__.py": "",
        "minigrid/core/mission.py": MISSION,
        "minigrid-3.2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: minigrid\nVersion: 3.2.0\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    gymnasium.registry.pop("MiniGrid-Goes-v0", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "minigrid"]:
        del sys.modules[name]


@pytest.mark.by_default("1")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_mission_of_minigrids_is_a_text_of_all_that_it_may_say(minigrid, workers):
    """Its package, which registers its ids, is imported for them, in worker processes too."""
    env = ks.make("gymnasium:MiniGrid-Goes-v0", workers=workers)
    characters = sorted(set("to red blue a ball"))
    assert env.observation_space == Dict({"mission": Box(0, len(characters), (12,), np.int32)})
    slots = HostSlots(env, [0, 1])
    step = slots.step([np.zeros(2, np.int32)])
    slots.close()
    said = [*map(characters.index, "to blue a"), *[len(characters)] * 3]
    assert step.next_obs[0].tolist() == [said] * 2


def test_ids_of_packages_that_are_installed_are_listed(minigrid):
    assert "MiniGrid-Goes-v0" in ks.interop.host.from_gymnasium.ids()


def test_texts_of_which_nothing_is_told_are_refused(minigrid):
    from minigrid.core.mission import AnyMission, MissionSpace

    many = [[str(number) for number in range(100)]] * 3
    for space in (AnyMission(str, []), MissionSpace(str, many), gymnasium.Space(dtype=str)):
        with pytest.raises(ks.ConfigError) as caught:
            our_space("observation_space", spaces.Dict({"mission": space}))
        assert f"its {type(space).__name__} does not say which characters its texts have" in str(caught.value)
        assert "use Text, or leave it out, as gymnasium.wrappers.FilterObservation does" in str(caught.value)


def test_one_whose_package_is_not_installed_names_it(monkeypatch):
    monkeypatch.setattr(gymnasium, "registry", {})
    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(ks.ConfigError, match=r"^env: got 'gymnasium:ALE/Pong-v5'; it needs ale-py, which is not inst"):
        ks.make("gymnasium:ALE/Pong-v5")


def missing(name):
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(name)


HERE = """
import sys
from host_worlds import Spoken

def here():
    return Spoken(words=["right" if "jax" in sys.modules else "left"])
"""


def test_an_id_that_is_registered_here_alone_is_made_in_worker_processes_without_jax(tmp_path, monkeypatch):
    (tmp_path / "spoken_here.py").write_text(HERE)
    monkeypatch.syspath_prepend(tmp_path)
    gymnasium.register("SpokenHere-v0", "spoken_here:here")
    try:
        slots = HostSlots(ks.make("gymnasium:SpokenHere-v0", workers=1), [1])
        slots.close()
    finally:
        del gymnasium.registry["SpokenHere-v0"]
    assert slots.obs[1].tolist() == rows("left")
