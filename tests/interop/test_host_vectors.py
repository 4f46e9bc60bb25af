"""A VectorEnv of one's own, written as Gymnasium's base class says: what it is given, what is told of its faults."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from host_worlds import Counter

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots


class Lines(VectorEnv):
    """Points that walk to 5, where an episode ends; `late` makes what it says of the steps from the third on."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012 (as Gymnasium's are)

    def __init__(self, count=4, late=None):
        self.num_envs, self.late, self.steps, self.seeds = count, late, 0, []
        self.single_observation_space, self.single_action_space = spaces.Discrete(6), spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self.at = np.zeros(count, np.int64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        self.at[mask] = 0
        return self.at.copy(), {}

    def step(self, actions):
        self.at, self.steps = np.minimum(self.at + actions, 5), self.steps + 1
        ends = self.at == 5
        said = [self.at.copy(), ends.astype(float), ends, np.zeros(self.num_envs, bool)]
        if self.late is not None and self.steps > 2:
            place, make = self.late
            said[place] = make(said[place])
        return *said, {}


def test_it_is_given_one_seed_and_learned_in():
    vector = Lines()
    run = ks.train("q_learning", ks.from_gymnasium(vector), steps=2000, seeds=4, out="", eval_episodes=0)
    assert (run.q_values[:, :5].argmax(-1) == 1).all()
    first, *others = vector.seeds
    assert isinstance(first, int)
    assert set(others) == {None}


def test_vectors_of_gymnasiums_are_given_a_seed_for_each():
    vector = SyncVectorEnv([Counter] * 3, autoreset_mode=AutoresetMode.DISABLED)
    slots = HostSlots(ks.from_gymnasium(vector), [7, 8, 9])
    assert slots.obs[0][:, 0].tolist() == [7.0, 8.0, 9.0]


@pytest.mark.by_default("0-*(2,*", "1-*(4, 1*", "3-*")
@pytest.mark.parametrize(
    ("place", "make", "told"),
    [
        (0, lambda obs: obs[:2], r"its observation has the shape \(2,\), and \(4,\) is needed"),
        (0, lambda obs: obs[:, None], r"its observation has the shape \(4, 1\), and \(4,\) is needed"),
        (1, lambda reward: 1.0, r"its reward has the shape \(\), and \(4,\) is needed"),
        (1, lambda reward: reward[:, None], r"its reward has the shape \(4, 1\), and \(4,\) is needed"),
        (2, lambda ends: ends[:3], r"its terminated has the shape \(3,\), and \(4,\) is needed"),
        (3, lambda ends: False, r"its truncated has the shape \(\), and \(4,\) is needed"),
    ],
)
def test_a_wrong_shape_is_told_in_one_line_and_what_was_learned_is_kept(place, make, told):
    env = ks.from_gymnasium(Lines(late=(place, make)))
    with pytest.raises(ks.EnvError, match=rf"^environment Lines raised ValueError: {told}"):
        ks.train("q_learning", env, steps=20, seeds=4, out="run", eval_episodes=0, record_every=1)
    run = ks.load("run", env=ks.from_gymnasium(Lines()))
    assert (run.record.facts["status"], run.record.facts["steps"]) == ("interrupted", 2)


def test_a_part_of_a_dict_is_named():
    class Parts(Lines):
        def __init__(self):
            super().__init__(2)
            self.single_observation_space = spaces.Dict({"near": spaces.Discrete(6), "far": spaces.Box(-1, 1, (3,))})

        def reset(self, *, seed=None, options=None):
            return {"near": self.at, "far": np.zeros((2, 2), np.float32)}, {}

    with pytest.raises(ks.EnvError, match=r"its observation\['far'\] has the shape \(2, 2\), and \(2, 3\) is needed"):
        HostSlots(ks.from_gymnasium(Parts()), [0, 1])


def test_a_gymnasium_wrapper_around_it_is_given_one_seed_too():
    vector = Lines()
    HostSlots(ks.from_gymnasium(gymnasium.wrappers.vector.RecordEpisodeStatistics(vector)), range(4))
    assert vector.seeds == [0]
