"""Our environments with EnvPool's methods: numbers of environments, batches, resets with the next step."""

import numpy as np
import pytest
from counting import Counting

import kousoku as ks

NO = np.zeros(3, int)


@pytest.mark.full("covered")
def test_it_steps_as_gymnasiums_vector_does():
    pool, envs = ks.to_envpool("CartPole-v1", 3, seed=7), ks.to_gymnasium_vec("CartPole-v1", 3)
    assert np.array_equal(pool.reset()[0], envs.reset(seed=7)[0])
    for _ in range(40):  # episodes end on the way
        got, wanted = pool.step(NO), envs.step(NO)
        for one, other in zip(got[:4], wanted[:4], strict=True):
            assert np.array_equal(one, other)


@pytest.mark.full("covered")
def test_infos_tell_numbers_and_how_old_episodes_are():
    pool = ks.to_envpool(Counting(length=2), 3)
    _, info = pool.reset()
    assert info["elapsed_step"].tolist() == [0, 0, 0]
    told = [pool.step(NO)[4] for _ in range(4)]
    assert [info["elapsed_step"].tolist()[0] for info in told] == [1, 2, 0, 1]
    assert told[0]["env_id"].tolist() == told[0]["players"]["env_id"].tolist() == [0, 1, 2]
    assert told[1]["count"].tolist() == [2, 2, 2]


@pytest.mark.full("covered")
def test_some_environments_step_and_the_others_stay():
    pool = ks.to_envpool(Counting(length=9), 4)
    start, _ = pool.reset()
    obs, reward, _, _, info = pool.step(np.array([0, 1]), np.array([3, 1]))
    assert info["env_id"].tolist() == [3, 1]
    assert obs.tolist() == [[start[3, 0], 1], [start[1, 0], 0]]
    assert reward.tolist() == [1, 0]
    assert pool.step(np.zeros(4, int))[0][:, 1].tolist() == [1, 1, 1, 2]
    again, info = pool.reset(np.array([2]))
    assert info["env_id"].tolist() == [2]
    assert again[0, 1] == 0
    assert again[0, 0] != start[2, 0]
    assert pool.step(np.zeros(4, int))[0][:, 1].tolist() == [2, 2, 1, 3]


def test_batches_are_received_in_the_order_in_which_they_were_sent():
    pool = ks.to_envpool(Counting(length=9), 5, batch_size=2)
    assert pool.is_async
    assert len(pool) == 5
    pool.async_reset()
    numbers = [pool.recv()[4]["env_id"].tolist() for _ in range(2)]
    assert numbers == [[0, 1], [2, 3]]
    pool.send(np.array([0, 1]), np.array([0, 1]))
    obs, _, _, _, info = pool.recv()  # one that waits since the reset, one that was sent
    assert info["env_id"].tolist() == [4, 0]
    assert info["elapsed_step"].tolist() == [0, 1]
    assert obs[:, 1].tolist() == [0, 1]
    assert pool.recv()[4]["env_id"].tolist() == [1]
    with pytest.raises(ks.ConfigError, match="nothing was sent"):
        pool.recv()


def test_a_reset_of_some_leaves_what_waits_of_the_others():
    pool = ks.to_envpool(Counting(length=9), 3, batch_size=1)
    pool.reset()
    pool.send(NO)
    pool.send(np.array([0]), np.array([1]))
    obs, info = pool.reset(np.array([2, 0]))
    assert (info["env_id"].tolist(), info["elapsed_step"].tolist(), obs[:, 1].tolist()) == ([2, 0], [0, 0], [0, 0])
    pool.send(np.array([0]), np.array([0]))
    got = [pool.recv() for _ in range(3)]
    assert [told[4]["env_id"].tolist() for told in got] == [[1], [1], [0]]
    assert [told[0][0, 1] for told in got] == [1, 2, 1]
    with pytest.raises(ks.ConfigError, match="nothing was sent"):
        pool.recv()


def test_a_reset_of_all_leaves_nothing_to_receive():
    for reset in ("reset", "async_reset"):
        pool = ks.to_envpool(Counting(length=9), 3, batch_size=3)
        pool.reset()
        pool.send(NO)
        getattr(pool, reset)()
        if reset == "async_reset":
            assert pool.recv()[4]["elapsed_step"].tolist() == [0, 0, 0]
        with pytest.raises(ks.ConfigError, match="nothing was sent"):
            pool.recv()


def test_episodes_are_as_old_as_when_they_were_sent():
    pool = ks.to_envpool(Counting(length=2), 3, batch_size=2)
    pool.async_reset()
    for _ in range(3):  # the third step begins the next episode
        pool.send(NO)
    pool.send(np.array([0]), np.array([1]))
    got = [pool.recv() for _ in range(6)] + [pool.recv()]
    ids = np.concatenate([told[4]["env_id"] for told in got]).tolist()
    elapsed = np.concatenate([told[4]["elapsed_step"] for told in got]).tolist()
    assert ids == [0, 1, 2] * 4 + [1]
    assert elapsed == [0] * 3 + [1] * 3 + [2] * 3 + [0] * 3 + [1]
    assert np.concatenate([told[0][:, 1] for told in got]).tolist() == elapsed


def test_numbers_that_are_told_are_the_callers():
    pool = ks.to_envpool(Counting(length=9), 3)
    for told in (pool.reset()[1], pool.step(NO)[4]):
        told["env_id"][:] = 7
        told["elapsed_step"][:] = 7
    assert pool.all_env_ids.tolist() == [0, 1, 2]
    assert pool.step(NO)[4]["env_id"].tolist() == [0, 1, 2]
    assert pool.step(NO)[4]["elapsed_step"].tolist() == [3, 3, 3]


@pytest.mark.parametrize("env_id", [[0, 0], [3], [-1], [0.5], [[0, 1]], []])
def test_numbers_of_no_environments_are_refused(env_id):
    pool = ks.to_envpool(Counting(), 3)
    pool.reset()
    with pytest.raises(ks.ConfigError, match="env_id"):
        pool.send(np.zeros(np.size(env_id), int), env_id)


@pytest.mark.parametrize(
    "options", [{"batch_size": 4}, {"batch_size": -1}, {"seed": -1}, {"seed": 2**64 - 2}, {"num_envs": 0}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(ks.ConfigError, match=next(iter(options))):
        ks.to_envpool(Counting(), **{"num_envs": 3, **options})


def test_actions_before_a_reset_are_refused():
    with pytest.raises(ks.ConfigError, match="reset"):
        ks.to_envpool(Counting(), 3).step(NO)
